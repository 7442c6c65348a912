"""Where the values of a tape lie: those of one group in the bytes of a part, all only while they live."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from headrace.machine.execute.tape.rows import Row, Spot

_ALIGNMENT = 64


def in_place(groups: Sequence[list[Row]]) -> list[list[Row]]:
    """The groups with one place for all parts of a value that nothing outside its group uses."""
    uses = Counter(space for group in groups for row in group for space, _ in row.spots)
    return [_in_place(_in_place(group, 0, uses), 1, uses) for group in groups]


def _in_place(group: list[Row], level: int, uses: Counter[int]) -> list[Row]:
    if group[0].kernel is not None or group[0].dims[level][0] == 1:
        return group
    parts = group[0].dims[level][0]
    found: dict[int, list[tuple[int, bool]]] = {}
    for row in group:
        for k, (space, _) in enumerate(row.spots):
            if space >= 0:
                found.setdefault(space, []).append(_slot(row, k, level))
    own = {
        space
        for space, steps in found.items()
        if len(steps) == uses[space] and len(set(steps)) == 1 and steps[0][1]
    }
    return [_narrowed(row, level, parts, own) for row in group]


def _slot(row: Row, k: int, level: int) -> tuple[int, bool]:
    """(bytes from part to part, whether a part keeps to its own of these) of a spot."""
    parts, *steps = row.dims[level]
    step = steps[k]
    if step <= 0 or any(d[k + 1] < 0 for d in row.dims):
        return step, False
    period = parts * step
    reach = row.spots[k][1] % period + row.sizes[k]
    for j, d in enumerate(row.dims):
        if j != level and d[k + 1] % period:
            reach += (d[0] - 1) * d[k + 1]
    return step, reach <= step


def _narrowed(row: Row, level: int, parts: int, own: set[int]) -> Row:
    """The row with the bytes of one part only of the values in `own`."""
    spots: list[Spot] = []
    strides = [list(d) for d in row.dims]
    for k, (space, offset) in enumerate(row.spots):
        if space not in own:
            spots.append((space, offset))
            continue
        step = row.dims[level][k + 1]
        period = parts * step
        spots.append((space, offset // period * step + offset % period))
        for j, d in enumerate(strides):
            if j == level:
                d[k + 1] = 0
            elif d[k + 1] % period == 0:
                d[k + 1] //= parts
    return replace(row, spots=tuple(spots), dims=tuple(tuple(d) for d in strides))


# ---- places ------------------------------------------------------------------------------------------------
def placed(groups: Sequence[list[Row]]) -> tuple[dict[int, int], int]:
    """(place of every value, bytes in all): no two that live at the same time have a byte in common."""
    lives, sizes = _lives(groups), dict[int, int]()
    for group in groups:
        for row in group:
            for k, (space, _) in enumerate(row.spots):
                sizes[space] = max(sizes.get(space, 0), _end(row, k))
    free: list[tuple[int, int]] = []  # (first byte, the one behind the last), in order, with gaps between
    ending: list[tuple[int, int]] = []  # (time, value)
    places: dict[int, int] = {}
    total = 0
    for start, end, space in sorted((a, b, s) for s, (a, b) in lives.items()):
        while ending and ending[0][0] < start:
            done = ending.pop(0)[1]
            _freed(free, places[done], places[done] + _rounded(sizes[done]))
        size = _rounded(sizes[space])
        places[space], total = _taken(free, size, total)
        insort(ending, (end, space))
    return places, total


def _lives(groups: Sequence[list[Row]]) -> dict[int, tuple[int, int]]:
    """The times of the first and the last use of every value.

    The bytes of a value that only one group uses are those of one part at a time; any other value lives as
    long as all parts of its groups run.
    """
    lives: dict[int, tuple[int, int]] = {}
    ends: dict[int, tuple[int, int]] = {}
    time = 0
    for group in groups:
        first, last = time, time + len(group) - 1
        for row in group:
            for space, _ in row.spots:
                begin, end = lives.get(space, (time, time))
                lives[space] = min(begin, time), max(end, time)
                begin, end = ends.get(space, (first, last))
                ends[space] = min(begin, first), max(end, last)
            time += 1
        for space in {space for row in group for space, _ in row.spots}:
            if ends[space] != (first, last):
                lives[space] = ends[space]
    return {space: life for space, life in lives.items() if space >= 0}


def _end(row: Row, k: int) -> int:
    """The byte behind the last one that a spot reaches in its space."""
    offset, size = row.spots[k][1], row.sizes[k]
    if row.kernel is not None:
        return row.views[k].ends[1] - row.views[k].offset + offset
    return offset + size + sum((d[0] - 1) * d[k + 1] for d in row.dims if d[k + 1] > 0)


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _taken(free: list[tuple[int, int]], size: int, total: int) -> tuple[int, int]:
    """(place, bytes in all) of a new value: the least gap that it fits into, or behind everything."""
    fits = [(b - a, a, b) for a, b in free if b - a >= size]
    if fits:
        _, a, b = min(fits)
        at = free.index((a, b))
        free[at : at + 1] = [(a + size, b)] if b - a > size else []
        return a, total
    if free and free[-1][1] == total:
        a, _ = free.pop()
        return a, a + size
    return total, total + size


def _freed(free: list[tuple[int, int]], a: int, b: int) -> None:
    """Adds a gap, joined with those beside it."""
    insort(free, (a, b))
    at = free.index((a, b))
    if at + 1 < len(free) and free[at + 1][0] == b:
        free[at : at + 2] = [(a, free[at + 1][1])]
    if at > 0 and free[at - 1][1] == a:
        free[at - 1 : at + 1] = [(free[at - 1][0], free[at][1])]
