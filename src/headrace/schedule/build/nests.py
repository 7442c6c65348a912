"""The loops over the steps of a tile in the scratchpad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from math import prod
from typing import TYPE_CHECKING

from headrace.schedule.build.indices import Index
from headrace.schedule.build.share import Share
from headrace.schedule.ring import nearest

if TYPE_CHECKING:
    from headrace.schedule.build.vector import Phase


class Loops:
    """The point loops of a tile, one of them split over the corelets; a step along a dim of `steps` takes so
    many elements, along others one.
    """

    def __init__(self, phase: Phase, point: Mapping[str, int], lane: str, steps: Mapping[str, int]) -> None:
        self.emit, self.steps = phase.emit, steps
        self.corelets = phase.corelets
        count, kind = prod(point.values()), phase.units.vector
        self.alone = nearest(phase.shape.group.computes, count, phase.device, kind)
        self.extents = {d: e for d, e in point.items() if e > 1}
        wide = [d for d, e in self.extents.items() if e >= self.corelets]
        even = [d for d in wide if self.extents[d] % self.corelets == 0]
        best = max(self.extents, key=lambda d: self.extents[d], default=lane)
        self.split = even[0] if even else wide[0] if wide else best
        self.extents.setdefault(self.split, 1)

    def shared_by(self, cl: Index) -> None:
        """Give each corelet floor(cl * extent / corelets) up to the next one's share of the split dim; all to
        the one that is nearer to the cores it sends to.
        """
        extent = self.extents[self.split]
        if self.alone is None:
            self.first, self.count = Share(self.emit, cl, self.corelets).of(extent)
        else:
            self.first = Index(0)
            self.count = cl * extent if self.alone else cl * -extent + extent

    @contextmanager
    def nest(self) -> Iterator[dict[str, Index]]:
        """Open the loops; yields in-tile coordinates (of dims with steps: of the first element of a step)."""
        with ExitStack() as stack:
            at: dict[str, Index] = {}
            for dim, extent in self.extents.items():
                is_split = dim == self.split
                number = stack.enter_context(
                    self.emit.loop(self.count if is_split else extent, "r", "parallel_loop")
                )
                where = number + self.first if is_split else number
                at[dim] = where * self.steps.get(dim, 1)
            yield at
