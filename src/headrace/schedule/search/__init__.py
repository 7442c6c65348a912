"""The choice among candidate plans of every phase."""

from headrace.schedule.search.search import OPTIMISATIONS, Defaults, rooms, search, spare_bytes

__all__ = ["OPTIMISATIONS", "Defaults", "rooms", "search", "spare_bytes"]
