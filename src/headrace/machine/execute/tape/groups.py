"""Rows of the compiled machine in groups, run part by part: what passes between them stays in the cache.

A part is that of one instance; it is cut again into the rows of a tile where all rows of the group allow it.
Rows stay together as long as no part needs or destroys bytes of another. A value that nobody outside its
group touches lies in one place for all parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, prod

from headrace.machine.execute.tape.views import Dims, View

DIMS = 5
"""Dimensions of a row: two that the group runs through, two of the row, the innermost one."""
_PARTS = (64, 32)
"""Parts that rows are cut into which touch no value; others into the instances of their team."""
_SHORTEST = 256
"""Elements below which a part is not worth a group of its own."""
_FEW = 1 << 14
"""Elements of a row up to which it may be cut into short parts."""
_MOST_ROWS = 96
Reach = tuple[int, int, int, int, bool]
"""Region, first byte, the one behind the last, bytes from part to part, whether it is written."""


@dataclass(frozen=True)
class Row:
    """A function on views: `dims` has the extent and a stride for every view, outer first.

    `values`: for every view the number of the value it lies in, None for other memory.
    """

    function: str
    dims: Dims
    views: tuple[View, ...]
    values: tuple[int | None, ...]


def grouped(rows: Sequence[Row], uses: dict[int, int]) -> Iterator[list[Row]]:
    """Groups of rows with exactly `DIMS` dimensions, which agree in the first two; `uses` of every value."""
    for group in _groups(rows):
        yield _in_place(_cut(group), uses)


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    reaches: list[Reach] = []
    for row in rows:
        split = _split(row, group[0].dims[0][0], 1) if group else None
        alone = _start(row)
        if split is not None and len(group) < _MOST_ROWS and alone.dims[0][0] <= split.dims[0][0]:
            found = _reaches(split, 0)
            if _are_apart(found, reaches, split.dims[0][0]):
                group.append(split)
                reaches += found
                continue
        if group:
            yield group
        group = [alone]
        reaches = _reaches(group[0], 0)
    if group:
        yield group


def _start(row: Row) -> Row:
    """The first row of a group, cut into parts."""
    own = [
        v.shape[0] for v, value in zip(row.views, row.values, strict=True) if value is not None and v.shape
    ]
    least = 1 if prod(d[0] for d in row.dims) <= _FEW else _SHORTEST
    for parts in (*own, *_PARTS):
        found = _split(row, parts, least) if parts > 1 else None
        if found is not None:
            return found
    return _split(row, 1, 1) or _padded(row)


def _padded(row: Row) -> Row:
    """The row with exactly `DIMS` dimensions."""
    return _row(row, *(_one(row),) * (DIMS - len(row.dims)), *row.dims)


def _one(row: Row) -> tuple[int, ...]:
    return (1, *(0,) * len(row.views))


def _row(row: Row, *dims: tuple[int, ...]) -> Row:
    return Row(row.function, dims, row.views, row.values)


def _split(row: Row, parts: int, least: int) -> Row | None:
    """The row with a first dimension of `parts`, a second one of 1 and the others behind them."""
    found = _divided(row, row.dims, parts, least)
    if found is None or len(found) > DIMS - 1:
        return None
    return _row(row, found[0], *(_one(row),) * (DIMS - len(found)), *found[1:])


def _divided(row: Row, dims: Dims, parts: int, least: int) -> Dims | None:
    """Dimensions with a first one of `parts`; None if the parts had fewer than `least` elements in a run."""
    n, *strides = dims[0]
    if parts == 1:
        return (_one(row), *dims)
    if n % parts or (len(dims) == 1 and (n < parts * least or row.function.startswith("row_"))):
        return None
    inner = n // parts
    rest = ((inner, *strides), *dims[1:]) if inner > 1 or len(dims) == 1 else dims[1:]
    return (parts, *(s * inner for s in strides)), *rest


def _cut(group: list[Row]) -> list[Row]:
    """The group with its parts cut into the rows of a tile, if no row keeps that from being right."""
    inside = [tuple(d for d in row.dims[2:-1] if d[0] > 1) + row.dims[-1:] for row in group]
    parts = gcd(*(dims[0][0] for dims in inside if len(dims) > 1))
    if len(group) < 2 or parts < 2 or any(row.dims[1][0] > 1 for row in group):
        return group
    found = []
    for row, dims in zip(group, inside, strict=True):
        divided = _divided(row, dims, parts, 1)
        if divided is None:
            return group
        rest = divided[1:]
        found.append(_row(row, row.dims[0], divided[0], *(_one(row),) * (DIMS - 2 - len(rest)), *rest))
    reaches: list[Reach] = []
    for row in found:
        more = _reaches(row, 1)
        if not _are_apart(more, reaches, parts):
            return group
        reaches += more
    return found


def _are_apart(some: Sequence[Reach], others: Sequence[Reach], parts: int) -> bool:
    """Whether no part of some accesses touches what another part of the others writes, and vice versa."""
    for region, low, high, step, is_written in some:
        for other, start, end, stride, was_written in others:
            if region != other or not (is_written or was_written):
                continue
            if low >= end + (parts - 1) * stride or start >= high + (parts - 1) * step:
                continue
            if step != stride or step <= 0 or max(high, end) - min(low, start) > step:
                return False
    return True


def _reaches(row: Row, level: int) -> list[Reach]:
    """What the first part of every view of a row reaches."""
    out = []
    for k, v in enumerate(row.views):
        size = 1 if row.function == "move" else v.dtype.itemsize
        last = sum((d[0] - 1) * d[k + 1] for d in row.dims[level + 1 :])
        out.append((v.region, v.offset, v.offset + last + size, row.dims[level][k + 1], k == 0))
    return out


def _in_place(group: list[Row], uses: dict[int, int]) -> list[Row]:
    """The group with strides of 0 from part to part for values that nothing else uses.

    Not where a value that outlives the group takes over the place: the next part would write over it.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for row in group:
        for k, value in enumerate(row.values):
            if value is not None:
                found.setdefault(value, []).append((row.dims[0][k + 1], row.dims[1][k + 1]))
    own = {v for v, steps in found.items() if len(steps) == uses[v] and len(set(steps)) == 1}
    lasting = [row.views[0].ends for row in group if row.values[0] is not None and row.values[0] not in own]
    for row in group:
        low, high = row.views[0].ends
        if row.values[0] in own and any(low < end and start < high for start, end in lasting):
            own.discard(row.values[0])
    out = []
    for row in group:
        kept = [1, *(value not in own for value in row.values)]
        outer = (tuple(x * keep for x, keep in zip(d, kept, strict=True)) for d in row.dims[:2])
        out.append(_row(row, *outer, *row.dims[2:]))
    return out
