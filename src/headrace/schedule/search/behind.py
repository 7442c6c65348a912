"""Candidates of contraction phases whose results leave one tile behind: what a tile has computed is stored
while the next one is computed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import ceil

from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.shape import Operand
from headrace.schedule.search.contract_cost import Choice, Space, covering_rows, elements, least_rows, splits
from headrace.schedule.search.pricing import rounded

MOST_TILES = 8
"""Tiles of the innermost loop that are tried."""

FILLING_COPIES = 2
"""Copies of the rows while a panel is filled."""

COPIES = (6, 4, 3, 2)
"""Copies of the factors that are tried: nothing holds up their loads for long."""


def behind(space: Space, rows: Sequence[int], columns: Sequence[int]) -> Iterator[Choice]:
    """Yield choices whose inner loop runs over rows or columns; `rows` and `columns` are the extents tried
    for the other dim.
    """
    r, limits = space.roles, space.limits
    if not (_has_stores(space) and limits.pacing and limits.retiling) or limits.is_repeated or r.outer_depth:
        return
    depth, width = space.block
    corelets = space.device.corelets
    for split in ("columns", "rows"):
        group = width * (corelets if split == "columns" else 1)
        for sizes in _tilings(space.extent(r.column), group):
            yield from _fitting(space, rows, sizes, "row", split)
        for sizes in _tilings(space.extent(r.row), least_rows(space) * (corelets if split == "rows" else 1)):
            yield from _fitting(space, [n for n in columns if n % group == 0], sizes, "column", split)


def panels_behind(space: Space, columns: Sequence[int]) -> Iterator[Choice]:
    """Yield choices that keep the weights of the whole depth while equal tiles of rows pass; the first is
    larger, to compute while the weights come, or as large as the scratchpad allows, and its results leave
    during all others.
    """
    r, limits = space.roles, space.limits
    if not limits.pacing or not _has_stores(space):
        return
    least, (depth, width) = least_rows(space), space.block
    rows = space.extent(r.row)
    for nt, body in product(columns, range(2 * least, 4 * least + 1, max(1, least // 4))):
        fewest = max(2, ceil((rows - covering_rows(space, nt)) / body))
        for step in (depth, depth // 2):
            if not 0 < 3 * step <= space.extent(r.depth):
                continue
            counts = range(fewest, rows // body)
            made = partial(_panel, rows=rows, columns=nt, body=body, step=step, filling=max(1, depth // 8))
            fitting = bisect_left(counts, True, key=lambda count: _fits(space, made(count)))
            for count in counts[fitting : fitting + 2]:
                for split in splits(space, nt // width, body):
                    yield replace(made(count), split=split)


def _panel(count: int, rows: int, columns: int, body: int, step: int, filling: int) -> Choice:
    """The choice of a panel of weights beside which one tile of rows and `count` of `body` rows pass."""
    sizes = (rows - body * count, *[body] * count)
    return Choice(sizes[0], columns, step, "column", "rows", sizes, filling, behind=sizes)


def _fits(space: Space, choice: Choice) -> bool:
    r = space.roles
    tile = {d: 1 for d in space.shape.extents} | {
        d: n for d, n in ((r.row, choice.row), (r.column, choice.column), (r.depth, choice.depth)) if d
    }
    return bool(behind_bytes(space, tile, choice, stage_rows(space, choice)))


def _has_stores(space: Space) -> bool:
    """Whether all results leave for device memory: what a later phase reads cannot wait for the next tile."""
    return all(o.storage.kind != "lx" for o in space.shape.outputs)


def _fitting(
    space: Space, others: Sequence[int], sizes: tuple[int, ...], order: str, split: str
) -> Iterator[Choice]:
    """The choices of one sequence of tiles whose sums and waiting results leave half of the scratchpad to the
    factors.
    """
    depth = space.block[0]
    for other in others:
        row, column = (other, max(sizes)) if order == "row" else (max(sizes), other)
        sums = row * column * itemsize(space.sums) * len(space.roles.all_weights)
        if sums > space.limits.lx_bytes * 5 // 8:
            continue
        for step in (depth, depth // 2, depth // 4):
            if 0 < 3 * step <= space.extent(space.roles.depth):
                yield Choice(row, column, step, order, split, behind=sizes)


def _tilings(extent: int, group: int) -> Iterator[tuple[int, ...]]:
    """Extents of tiles that are multiples of `group` but for the last: all alike as far as possible, the
    larger ones first; or with a smaller one at the end, which has less to store when nothing is left to
    compute.
    """
    whole, rest = divmod(extent, group)
    for count in range(2, min(whole, MOST_TILES) + 1):
        for last in dict.fromkeys((whole // count, whole // count - 1)):
            if last:
                parts = [*_even(whole - last, count - 1), last]
                sizes = [n * group for n in parts]
                yield (*sizes[:-1], sizes[-1] + rest)


def _even(count: int, parts: int) -> list[int]:
    few, more = divmod(count, parts)
    return [few + 1] * more + [few] * (parts - more)


def stage_rows(space: Space, choice: Choice) -> int:
    """Rows of a result stage: all of a tile, unless operands of the epilogue are loaded for them."""
    r = space.roles
    late = any(o.surface.stride(r.row) for o in _extras(space))
    return min(choice.row, 2 * least_rows(space)) if late else choice.row


def behind_bytes(
    space: Space, tile: dict[str, int], choice: Choice, stage: int
) -> list[tuple[tuple[int, int], int]]:
    """Return the most copies of the factors that fit, one of the results, and their bytes in all."""
    r = space.roles
    staged = dict(tile) | ({r.row: stage} if r.row else {})
    stages = sum(rounded(elements(o, staged) * itemsize(o.dtype)) for o in _extras(space))
    results = {o.value: o for o in space.shape.outputs if o.storage.kind != "lx"}.values()
    usual = dict(tile) | ({r.row: choice.behind[-1]} if choice.taper else {})
    fixed = sum(rounded(elements(o, tile) * itemsize(o.dtype)) for o in results)
    fixed += rounded(choice.row * choice.column * itemsize(space.sums)) * len(r.all_weights)
    fixed += stages * (1 + len(set(choice.behind)))
    factors = list(r.factors)
    if choice.taper:
        fixed += sum(rounded(elements(o, usual) * itemsize(o.dtype)) for o in results)
        fixed += rounded(space.extent(r.depth) * choice.column * itemsize(r.weights.dtype))
        filled = rounded(elements(r.rows, {**tile, r.depth: choice.filling}) * itemsize(r.rows.dtype))
        fixed += filled * (FILLING_COPIES + 2)
        factors = [r.rows]
    each = sum(rounded(elements(o, usual) * itemsize(o.dtype)) for o in factors if o.storage.kind != "lx")
    steps = ceil(space.extent(r.depth) / choice.depth)
    for copies in COPIES if space.limits.copies > 1 else (1,):
        total = fixed + each * (min(copies, steps - 2) + 2)
        if total <= space.limits.lx_bytes:
            return [((copies, 1), total)]
    return []


def _extras(space: Space) -> list[Operand]:
    r = space.roles
    return [o for o in space.shape.inputs if o not in r.factors and o.storage.kind != "lx"]
