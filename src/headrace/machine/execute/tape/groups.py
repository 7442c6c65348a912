"""Rows of the compiled machine in groups, run part by part: what passes between them stays in the cache.

A part is that of an instance or of the batch of a product; it is cut again into the rows of a tile where all
rows of the group allow it. Rows stay together as long as no part needs or destroys bytes of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from headrace.machine.execute.tape.rows import DIMS, PRODUCTS, Row, padded, row_elements, splits

_PARTS = (64, 32)
"""Parts that rows are cut into which have no dimension to run through."""
_MOST_ROWS = 1024
_AHEAD = 64
"""Rows looked at to choose the parts of a group."""
_NEAR = 1 << 19
"""Bytes of a part of a row that are in the cache when the next row reads them."""
_LONG = 256
"""Elements in a run from which it is asked for ahead."""
_SMALL = 1 << 16
"""Elements of a row that may run before the group in whose middle it stands."""


@dataclass(frozen=True)
class Reach:
    """What the first of some parts touches: `width` bytes from `start` on, again at multiples of a period.

    `low`, `high`: the ends of what all parts touch; `step`: bytes from part to part.
    """

    space: int
    start: int
    width: int
    step: int
    low: int
    high: int
    is_written: bool

    def meets(self, other: Reach) -> bool:
        """Whether one may write where the other one is."""
        is_risky = self.space == other.space and (self.is_written or other.is_written)
        return is_risky and self.low < other.high and other.low < self.high

    def disturbs(self, other: Reach, parts: int) -> bool:
        """Whether a part of one may write where another part of the other one is."""
        if not self.meets(other):
            return False
        if self.step != other.step or self.step <= 0:
            return True
        period = parts * self.step
        ahead = (other.start - self.start) % period
        ahead -= period if 2 * ahead > period else 0
        return max(self.width, ahead + other.width) - min(0, ahead) > self.step


@dataclass
class _Group:
    """Rows split into `parts` at dimension `level`."""

    parts: int
    level: int
    rows: list[Row] = field(default_factory=list)
    reaches: dict[int, list[Reach]] = field(default_factory=lambda: defaultdict(list))

    def joined(self, row: Row, cuts_runs: bool = True) -> bool:
        """Takes the row in if one of its splits keeps the parts apart."""
        for split in splits(row, self.parts, self.level, cuts_runs):
            if len(split.dims) > DIMS - 1 + self.level:
                continue
            found = reaches(split, self.level)
            if not any(
                one.disturbs(other, self.parts)
                for k, one in enumerate(found)
                for other in (*found[k:], *self.reaches[one.space])
            ):
                self.rows.append(split)
                for one in found:
                    self.reaches[one.space].append(one)
                return True
        return False

    def is_apart(self, row: Row) -> bool:
        """Whether it does not matter on which side of the group the row runs."""
        found = reaches(row, len(row.dims))
        return not any(one.meets(other) for one in found for other in self.reaches[one.space])


def reaches(row: Row, level: int) -> list[Reach]:
    """What every spot of a row touches, in parts along the dimension `level` (none: all of it is one)."""
    found = []
    for k, (space, offset) in enumerate(row.spots):
        dims = [(d[0], d[k + 1]) for d in row.dims]
        parts, step = dims[level] if level < len(dims) else (1, 0)
        low = offset + sum((n - 1) * s for n, s in dims if s < 0)
        high = offset + sum((n - 1) * s for n, s in dims if s > 0) + row.sizes[k]
        width, start = row.sizes[k], offset
        for n, s in dims[level + 1 :]:
            if step <= 0 or s % (parts * step):
                width += (n - 1) * abs(s)
                start += min(0, (n - 1) * s)
        found.append(Reach(space, start, width, step, low, high, k == 0))
    return found


# ---- groups ------------------------------------------------------------------------------------------------
def grouped(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Groups of rows with exactly `DIMS` dimensions, which agree in the first two; a kernel stands alone."""
    at = 0
    while at < len(rows):
        if rows[at].kernel is not None:
            yield [rows[at]]
            at += 1
            continue
        parts = _parts(rows, at)
        if parts == 1:
            yield [_alone(rows[at])]
            at += 1
            continue
        group, before, at = _filled(rows, at, len(rows), parts)
        for row in before:
            yield [_alone(row)]
        yield _cut(group)


def _alone(row: Row) -> Row:
    return padded(row, 1 if row.function in PRODUCTS else 0)


def _parts(rows: Sequence[Row], at: int) -> int:
    """The parts that keep most in the cache of a group that begins with a row; 1 if there is none."""
    best, most = 1, (0, 0)
    for parts in _candidates(rows, at):
        group = _filled(rows, at, min(at + _AHEAD, len(rows)), parts)[0]
        worth = sum(map(_saved, group.rows)), parts
        if group.rows and worth > most:
            best, most = parts, worth
    return best


def _filled(rows: Sequence[Row], at: int, end: int, parts: int) -> tuple[_Group, list[Row], int]:
    group, before = _Group(parts, 0), list[Row]()
    while at < end and len(group.rows) < _MOST_ROWS and rows[at].kernel is None:
        row = rows[at]
        if not group.joined(row, cuts_runs=False):
            if group.rows and row_elements(row) <= _SMALL and group.is_apart(row):
                before.append(row)
            elif not group.joined(row):
                break
        at += 1
    return group, before, at


def _candidates(rows: Sequence[Row], at: int) -> list[int]:
    """Numbers of parts that the next rows have dimensions of."""
    found: dict[int, int] = {}
    for row in rows[at : at + _AHEAD]:
        if row.kernel is not None:
            break
        own = row.dims[:1] if row.function in PRODUCTS else row.dims[:-1]
        for n in {d[0] for d in own if d[0] > 1}:
            found[n] = found.get(n, 0) + 1
    often = sorted(found, key=lambda n: -found[n])[:6]
    return often or list(_PARTS)


def _saved(row: Row) -> int:
    """Bytes of a row that are in the cache if its parts are run one by one."""
    total = sum(size * prod(d[0] for d in row.dims if d[k + 1]) for k, size in enumerate(row.sizes))
    return total if total <= row.dims[0][0] * _NEAR else 0


def _cut(group: _Group) -> list[Row]:
    """The rows of a group with its parts cut into the rows of a tile, if that keeps these apart."""
    inner = {d[0] for row in group.rows for d in row.dims[1:-1] if d[0] > 1}
    for parts in sorted(inner, reverse=True) if len(group.rows) > 1 else ():
        cut = _Group(parts, 1)
        if all(map(cut.joined, group.rows)):
            return [padded(row, 2) for row in cut.rows]
    return [padded(row, 1) for row in group.rows]


# ---- ahead -------------------------------------------------------------------------------------------------
def aheads(group: Sequence[Row]) -> list[int]:
    """Bytes from the first operand of every row to that of the next row like it, 0 where there is none.

    Only in memory that outlives the run: values are in the cache.
    """
    found, seen = [], dict[Any, int]()
    for row in reversed(group):
        ahead = 0
        if row.kernel is None and row.function not in PRODUCTS and row.dims[-1][0] >= _LONG:
            (space, offset), steps = row.spots[1], tuple((d[0], d[2]) for d in row.dims)
            if space < 0 and steps[-1][1] > 0:
                ahead = seen.get((row.function, space, steps), offset) - offset
                seen[row.function, space, steps] = offset
        found.append(ahead)
    return found[::-1]
