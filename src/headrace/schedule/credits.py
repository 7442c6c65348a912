"""Credits that one loop passes on to the next: how many signals lie between accesses of both, at least.

The receiver's wait number i takes the sender's signal number i - n while n credits are on their way. As long
as every signal it takes comes after what it waits for, nothing has to be taken back between two loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from headrace.schedule.signals import Conflict, Path

LONGEST = 64
"""Credits on their way at most where the pairs of accesses near the border of two loops are looked at."""


@dataclass(frozen=True)
class Signal:
    """One signal a run of a block: positions in it after which the sender signals and before which the
    receiver waits.
    """

    send: int
    receive: int


@dataclass(frozen=True)
class Repeated:
    """The signals of a loop at a position of its block, in order."""

    position: int
    trips: int
    body: tuple[Signal | Repeated, ...]

    @property
    def each(self) -> int:
        """Signals of one iteration."""
        return sum(1 if isinstance(item, Signal) else item.count for item in self.body)

    @property
    def count(self) -> int:
        """Signals of all iterations."""
        return self.trips * self.each


@dataclass(frozen=True)
class Pass:
    """What a loop passes on to the next loop of its block that signals: so many credits, one of them at each
    of the positions `leaves` on the way; the sender grants further ones at `grant` at the earliest.
    """

    credits: int
    leaves: tuple[int, ...] = ()
    grant: int = 0


def passing(
    before: tuple[Repeated, int], after: tuple[Repeated, int], conflicts: Sequence[Conflict], depth: int
) -> Pass | None:
    """Return what a loop passes on to the next one, each given with its credits, so that this orders all
    conflicts of accesses before the second loop with accesses behind the first; None if it does not.

    `depth` loops are around the block of both.
    """
    (first, granted), (second, wanted) = before, after
    if not granted < first.count or not wanted < second.count:
        return None
    begin, end = first.position, second.position
    places = [(c.first[depth], c.second[depth]) for c in conflicts]
    if any(begin < i and j < end for i, j in places):
        return None
    leaves = tuple(sorted({j for i, j in places if i == begin and j < end}))
    most = min(granted, wanted + len(leaves), LONGEST)
    for conflict, (i, j) in zip(conflicts, places, strict=True):
        if begin <= i and j <= end:
            earlier = leaves.index(j) if j < end else len(leaves)
            most = min(most, _between(conflict, depth, first, second, earlier, most))
    if most < max(1, len(leaves)):
        return None
    return Pass(most - len(leaves), leaves, 1 + max((i for i, _ in places if i < end), default=-1))


def _between(
    conflict: Conflict, depth: int, before: Repeated, after: Repeated, earlier: int, most: int
) -> int:
    """Return the fewest credits, up to `most`, with which two meeting accesses would not be in order.

    `earlier` are the waits between both loops before the later access.
    """
    first, second = conflict.first[depth:], conflict.second[depth:]
    left: list[tuple[int, Path]] = [(0, ())]
    if first[0] == before.position:
        done = _Number.of(before, first, is_sender=True)
        left = list(done.near(before.count, most))
    waits: list[tuple[int, Path]] = [(earlier + 1, ())]
    if second[0] == after.position:
        waits = [(earlier + n, at) for n, at in _Number.of(after, second, is_sender=False).near(None, most)]
    pairs = [(a + b - 1, u, v) for (a, u), (b, v) in product(left, waits) if a + b - 1 < most]
    for credits in sorted({n for n, _, _ in pairs}):
        firsts, seconds = ([p[k] for p in pairs if p[0] == credits] for k in (1, 2))
        if conflict.crosses(depth, np.array(firsts), np.array(seconds)):
            return credits
    return most


@dataclass(frozen=True)
class _Number:
    """How many signals of a loop come before an access: `start` and `each` for every iteration of the loops
    around it that run `trips` times.
    """

    start: int
    each: tuple[int, ...]
    trips: tuple[int, ...]

    @staticmethod
    def of(loop: Repeated, path: Path, *, is_sender: bool) -> _Number:
        """Return the signals sent before the access at `path`, or those waited for up to it: all or none
        where the whole loop is the access.
        """
        if len(path) == 1:
            return _Number(loop.count if is_sender else 0, (), ())
        at = path[1]
        start, inner = 0, _Number(0, (), ())
        for item in loop.body:
            if isinstance(item, Signal):
                start += item.send < at if is_sender else item.receive <= at
            elif item.position < at:
                start += item.count
            elif item.position == at:
                inner = _Number.of(item, path[1:], is_sender=is_sender)
        return _Number(start + inner.start, (loop.each, *inner.each), (loop.trips, *inner.trips))

    def near(self, total: int | None, most: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the accesses with at most `most` signals behind them of `total`, or before them without it:
        how many, and the iterations.
        """
        left = most - (self.start if total is None else total - self.start)
        if total is not None:
            left += sum(n * (t - 1) for n, t in zip(self.each, self.trips, strict=True))
        for steps in _steps(self.each, self.trips, left):
            moved = sum(n * k for n, k in zip(self.each, steps, strict=True))
            if total is None:
                yield self.start + moved, steps
            else:
                at = tuple(t - 1 - k for t, k in zip(self.trips, steps, strict=True))
                yield most - left + moved, at


def _steps(each: Sequence[int], trips: Sequence[int], left: int) -> Iterator[tuple[int, ...]]:
    """Yield the iterations of a nest up to which at most `left` signals come."""
    if left < 0:
        return
    if not each:
        yield ()
        return
    for k in range(min(trips[0], left // each[0] + 1)):
        for rest in _steps(each[1:], trips[1:], left - k * each[0]):
            yield (k, *rest)
