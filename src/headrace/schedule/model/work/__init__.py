"""The work of a graph, for the bound."""
