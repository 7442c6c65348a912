"""Faults put into correct DFIR programs, random interleavings that show which matter, and who finds them."""
