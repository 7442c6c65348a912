"""How pairs of accesses of one control tree meet, every kind of pair looked at once: unrolled code touches
the same boxes over and over.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

from headrace.schedule.lower.order.accesses import Access, Range, hull
from headrace.schedule.lower.order.distance import Trips, shortest
from headrace.schedule.lower.order.overlap import Meeting, meeting
from headrace.schedule.signals import Apart


class Met:
    """How two accesses meet, with the answers given so far."""

    def __init__(self, found: Meeting) -> None:
        self.found = found
        self._apart: dict[tuple[Trips, ...], Apart | None] = {}

    @cached_property
    def is_at_once(self) -> bool:
        """Whether they may meet in the same iteration of the loops around both."""
        return self.found.at({})

    def apart(self, nest: tuple[Trips, ...]) -> Apart | None:
        """The fewest iterations of a nest between two meetings; None if they never meet."""
        if nest not in self._apart:
            self._apart[nest] = shortest(self.found, nest)
        return self._apart[nest]


class Meetings:
    """The meetings of the accesses of a tree on a device with so many corelets a core."""

    def __init__(self, corelets: int) -> None:
        self.corelets = corelets
        self._numbers: dict[Hashable, int] = {}
        self._boxes: dict[tuple[int, int], int] = {}
        self._kept: list[Access] = []
        self._met: dict[Hashable, Met | None] = {}

    def met(
        self, first: Access, second: Access, shift: int, depth: int, free: tuple[Range, ...]
    ) -> Met | None:
        """Return how two accesses meet (the second on the corelet `shift` further on) whose loops below the
        first `depth` are swept over; `free` are those of the others that may differ between both.
        """
        key = (self._box(first, depth), self._box(second, depth), shift, free)
        if key not in self._met:
            loops = {r.var: r for r in free}
            found = meeting(hull(first, depth), hull(second, depth), loops, shift, self.corelets)
            self._met[key] = None if found is None else Met(found)
        return self._met[key]

    def _box(self, access: Access, depth: int) -> int:
        """A number for what a meeting depends on: equal for accesses of equal boxes that run alike."""
        mark = (id(access), depth)
        if mark not in self._boxes:
            self._kept.append(access)  # its id stays its own
            swept = hull(access, depth)
            counts = tuple(
                around.count.const if around.count.is_number else None
                for around in (*access.loops, *access.points)
            )
            what = (swept.memory, swept.low, swept.size, counts)
            self._boxes[mark] = self._numbers.setdefault(what, len(self._numbers))
        return self._boxes[mark]
