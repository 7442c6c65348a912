"""The choice among candidate plans of every phase."""

from headrace.schedule.search.search import OPTIMISATIONS, Defaults, search

__all__ = ["OPTIMISATIONS", "Defaults", "search"]
