"""Plans of contraction phases: tile sizes, loop order, which operand stays in the scratchpad, what the
corelets split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import product
from math import ceil

from headrace.arch.device import Device
from headrace.arch.products import multiplying_unit, resident_block
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.contraction import accumulator, has_whole_peaks, product_count, roles
from headrace.schedule.phases.multicast import joinable
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.plan import PhasePlan
from headrace.schedule.search.behind import FILLING_COPIES as BEHIND_FILLING
from headrace.schedule.search.behind import behind, behind_bytes, panels_behind, stage_rows
from headrace.schedule.search.contract_cost import (
    Choice,
    Space,
    covering_rows,
    elements,
    least_cycles,
    least_rows,
    splits,
    tile_cost,
    trips,
    whole_cycles,
)
from headrace.schedule.search.contract_time import predicted
from headrace.schedule.search.pricing import rounded
from headrace.schedule.search.vector import Limits, describe, key, read_once, shorter

COPIES = (16, 12, 8, 6, 5, 4, 3, 2, 1)
"""Copies of streamed factors that are tried: loads issued well ahead do not wait behind stores."""

FILLING_COPIES = 3
"""Copies of the streamed factor while a panel is filled: loads set the pace then."""

STAGE_ROWS = (64, 32, 128, 16, 8, 4, 2, 1)
"""Rows of a result stage that are tried: results leave the core stage by stage."""


def candidates(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield priced plans of a contraction, None for one that does not fit."""
    for space, swapped in _spaces(shape, device, cores, limits):
        whole, best = whole_cycles(space), float("inf")
        for choice in _choices(space):
            if not limits.is_repeated and least_cycles(space, choice, whole) >= best:
                yield None
                continue
            for plan in _plans(name, space, choice, swapped):
                best = min(best, plan.cycles if plan is not None else best)
                yield plan


def least_candidates(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield priced plans in tiles of one block each way, the blocks smaller and smaller."""
    for space, swapped in _spaces(shape, device, cores, limits):
        depth, width = space.block
        for columns, steps in product(shorter(width), shorter(depth)):
            small = replace(space, block=(steps, columns))
            for rows in shorter(min(4, space.extent(space.roles.row))):
                for split in splits(small, 1, rows):
                    yield from _plans(name, small, Choice(rows, columns, steps, "column", split), swapped)


def _spaces(shape: Shape, device: Device, cores: int, limits: Limits) -> Iterator[tuple[Space, bool]]:
    """The ways to feed the factors to the unit, and whether the factors change sides."""
    ways = (False, True) if product_count(shape.group) == 1 else (False,)
    sides = [found for swapped in ways if (found := roles(shape, swapped)).column]
    for found in sides:
        swapped = found.rows is not shape.reads[product_count(shape.group) - 1, 0]
        if swapped and len(sides) > 1 and found.rows.surface.stride(found.depth) > 1:
            continue
        unit = multiplying_unit(device, found.rows.dtype).kind
        sums = accumulator(shape.group.computes[0], device.unit(unit).matrix, found.rows.dtype)
        space = Space(shape, found, device, cores, unit, sums, limits)
        yield replace(space, block=block(space), shared=read_once(shape, device, cores, limits)), swapped


def block(space: Space) -> tuple[int, int]:
    """Return depth and columns of one resident block."""
    r = space.roles
    return resident_block(space.extent(r.column), space.extent(r.depth), r.weights.dtype, space.device)


def _choices(space: Space) -> Iterator[Choice]:
    r = space.roles
    m, n, k = (space.extent(d) for d in (r.row, r.column, r.depth))
    depth, width = space.block
    group = width * space.device.corelets
    sizes = {n, *(group * f for f in (1, 2, 4, 8, 16)), n * 3 // 4 // group * group}
    sizes |= {width * ceil(n / width / parts) for parts in (2, 3, 5)}
    columns = sorted((w for w in sizes if 0 < w <= n), reverse=True)
    rows = sorted({min(m, s) for s in (m, 1024, 512, 256, 128, 96, 64, 48, 32, 16, 8)}, reverse=True)
    depths = sorted(
        {k, *(s for s in (depth * 4, depth * 2, depth, depth // 2, depth // 4) if 0 < s < k)}, reverse=True
    )
    if space.limits.is_repeated:
        rows = rows[:1]
    if not space.limits.retiling:
        rows, columns = rows[:1] + rows[-1:], columns[:1] + columns[-1:]
    for nt, mt, kt in product(columns, rows, depths):
        orders = ["column"] if mt >= m and nt >= n else ["column", "row"]
        for order, split in product(orders, splits(space, nt // width, mt)):
            yield Choice(mt, nt, kt, order, split)
            if nt >= n and (members := _joinable(space)) > 1:
                yield Choice(mt, nt, kt, order, split, joined=members)
    yield from _panels(space, columns, depths)
    yield from behind(space, rows, columns)


def _joinable(space: Space) -> int:
    """How many neighbouring cores should read their columns of the weights as one."""
    found = {_members(space, weights) for weights in space.roles.all_weights}
    return found.pop() if len(found) == 1 else 1


def _members(space: Space, weights: Operand) -> int:
    column = space.roles.column
    is_alone = space.limits.multicast and key(weights) not in space.shared and weights.index is None
    if not is_alone or weights.storage.kind == "lx" or weights.surface.stride(column) != 1:
        return 1
    size = itemsize(weights.dtype)
    return joinable(weights.surface.base, space.cores, space.extent(column), size, space.device)


def _panels(space: Space, columns: list[int], depths: list[int]) -> Iterator[Choice]:
    """Choices that keep the weights of the whole depth while tiles of rows pass: the first large, to compute
    while they come, the last small, to have little left to store.
    """
    r = space.roles
    m, k = space.extent(r.row), space.extent(r.depth)
    if (
        space.limits.is_repeated
        or not space.limits.retiling
        or r.outer_depth
        or r.weights.storage.kind == "lx"
        or r.others
    ):
        return
    least = least_rows(space)
    yield from panels_behind(space, columns)
    for nt, kt in product(columns, (d for d in depths if d < k)):
        if rounded(k * nt * itemsize(r.weights.dtype)) > space.limits.lx_bytes:
            continue
        enough = least * ceil(covering_rows(space, nt) / least)
        firsts = {
            enough,
            enough - least,
            enough - 2 * least,
            *(least * ceil(enough / least / n) for n in (2, 4)),
        }
        for first, body in product(sorted(firsts), (least, 2 * least, 4 * least)):
            if body <= first < m:
                rows = taper(m, first, body, least)
                steps = {min(kt, max(1, space.block[0] // n)) for n in (4, 8)}
                for split, filling in product(splits(space, nt // space.block[1], min(rows)), sorted(steps)):
                    yield Choice(max(rows), nt, kt, "column", split, rows, filling)


def taper(extent: int, first: int, body: int, last: int) -> tuple[int, ...]:
    """Return the sizes of tiles that cover an extent: `first`, equal ones, then halves down to `last`."""
    tail = [last]
    while sum(tail) < body:
        tail.insert(0, sum(tail))
    left = extent - first
    while tail and sum(tail) > left:
        tail.pop(0)
    whole, rest = divmod(left - sum(tail), body)
    return (first, *[body] * whole, *([rest] if rest else []), *tail)


def _plans(name: str, space: Space, choice: Choice, swapped: bool) -> Iterator[PhasePlan | None]:
    """The plans of a choice by copies, None if not even one copy of each buffer fits, or for one whose blocks
    do not give the maxima wanted of them.
    """
    shape, r = space.shape, space.roles
    tile = {d: 1 for d in shape.extents}
    for dim, size in ((r.row, choice.row), (r.column, choice.column), (r.depth, choice.depth)):
        if dim:
            tile[dim] = size
    stage = stage_rows(space, choice) if choice.behind else _stage(space, choice.row)
    fitted = _fitted(space, tile, choice, stage)
    if not fitted:
        yield None
        return
    made = _plan(name, space, choice, swapped, tile, stage)
    is_whole = has_whole_peaks(made, shape)
    tiles = cache(partial(tile_cost, space, made.blocks, choice))
    for (ahead, out), size in fitted:
        copies = {"in": ahead, "out": out}
        if choice.behind:
            copies["waiting"] = 1
        if choice.filling:
            copies["filling"] = min(ahead, BEHIND_FILLING if choice.behind else FILLING_COPIES)
        cycles, parts = predicted(space, copies, choice, tiles)
        yield replace(made, copies=copies, lx_bytes=size, cycles=cycles, parts=parts) if is_whole else None


def _plan(
    name: str, space: Space, choice: Choice, swapped: bool, tile: dict[str, int], stage: int
) -> PhasePlan:
    """The plan of a choice without copies, which its tiles do not depend on."""
    shape, r, (depth, width) = space.shape, space.roles, space.block
    joined = tuple(map(key, r.all_weights)) if choice.joined > 1 else ()
    blocks = {"depth": min(depth, choice.depth), "columns": width, "rows": stage}
    return PhasePlan(
        name, "contract", tuple(map(describe, shape.group.computes)), space.unit, r.column, width, tile,
        dict(shape.extents), blocks=blocks | ({"filling": choice.filling} if choice.filling else {}),
        split=choice.split, order=choice.order + ("-swapped" if swapped else ""),
        multicast=(*space.shared, *joined), joined=dict.fromkeys(joined, choice.joined),
        kept=(key(r.weights),) if choice.taper else (), taper=choice.taper or choice.behind,
    )  # fmt: skip


def _stage(space: Space, rows: int) -> int:
    """Rows of a result stage: results leave the core stage by stage; those of strips that stay are one."""
    is_staying = all(o.storage.kind == "lx" for o in space.shape.outputs)
    if rows <= 64 or (is_staying and space.limits.is_repeated):
        return rows
    return next((s for s in STAGE_ROWS if rows % s == 0), rows)


def _fitted(
    space: Space, tile: dict[str, int], choice: Choice, stage: int
) -> list[tuple[tuple[int, int], int]]:
    """Copies of factors and of result stages that fit, and their bytes; most factors first."""
    if choice.behind:
        return behind_bytes(space, tile, choice, stage)
    staged = _stage_bytes(space, tile, choice, stage)
    stages = ceil(choice.row / stage)
    room, single = space.limits.lx_bytes, space.limits.copies == 1
    factors = _factor_bytes(space, tile, choice)
    found: dict[int, tuple[tuple[int, int], int]] = {}
    for copies in (1,) if single else COPIES:
        left = room - factors(copies)
        if left < 0:
            continue
        out = min(stages, left // staged) if staged else stages
        if out >= min(1 if copies == 1 else 2, stages):
            out = 1 if single else max(1, out)
            found.setdefault(out, ((copies, out), room - left + out * staged))
            if out >= stages or copies <= 3:
                break
    return list(found.values())


def _panel_bytes(space: Space, choice: Choice, copies: int) -> int:
    """Bytes of the weights' panel, of the rows' buffers of every size of tile and of the partial sums."""
    r = space.roles
    kinds, scale = _parts(space, r.column, choice.column)
    total = rounded(round(space.extent(r.depth) * choice.column * scale) * itemsize(r.weights.dtype))
    if r.rows.storage.kind != "lx":
        listed = [(choice.taper[0], choice.filling, min(copies, FILLING_COPIES))]
        listed += [(rows, choice.depth, copies) for rows in dict.fromkeys(choice.taper[1:])]
        for rows, depth, most in listed:
            times = min(most, max(0, ceil(space.extent(r.depth) / depth) - 2)) + 2
            total += rounded(rows * depth * itemsize(r.rows.dtype)) * times * kinds
    return total + rounded(choice.row * choice.column * itemsize(space.sums))


def _parts(space: Space, dim: str, size: int) -> tuple[int, float]:
    """How many kinds of tiles a dim has (whole, tail), and their extents together over a whole one's."""
    extent = space.extent(dim)
    rest = extent % size if extent > size else 0
    return (2, 1 + rest / size) if rest else (1, 1.0)


def _stage_bytes(space: Space, tile: dict[str, int], choice: Choice, stage: int) -> int:
    """Bytes of one copy of the buffers of a result stage, those of the tails' code included."""
    r = space.roles
    staged = dict(tile) | ({r.row: stage} if r.row else {})
    outs = {o.value: o for o in reversed(space.shape.outputs)}.values()
    extras = [o for o in space.shape.inputs if o not in r.factors]
    operands = [o for o in (*outs, *extras) if o.storage.kind != "lx"]
    size = sum(rounded(elements(o, staged) * itemsize(o.dtype)) for o in operands)
    return round(size * _parts(space, r.row, choice.row)[0] * _parts(space, r.column, choice.column)[1])


def _factor_bytes(space: Space, tile: dict[str, int], choice: Choice) -> Callable[[int], int]:
    """Bytes of so many copies of the factors' buffers (first and last depth steps have their own) and of the
    partial sums.
    """
    r = space.roles
    if choice.taper:
        return partial(_panel_bytes, space, choice)
    steps = trips(space, tile, (r.depth,)) * space.places
    row_kinds, row_scale = _parts(space, r.row, choice.row)
    column_kinds, column_scale = _parts(space, r.column, choice.column)
    scales = [(r.rows, r.row, row_scale * column_kinds)]
    scales += [(o, r.column, column_scale * row_kinds) for o in r.all_weights]
    buffers: list[tuple[int, int, float]] = []
    for operand, own, scale in scales:
        if operand.storage.kind != "lx":
            members = 1 if operand is r.rows else choice.joined
            size = rounded(elements(operand, tile) * itemsize(operand.dtype) * members)
            buffers.append((size, trips(space, tile, (own,)), scale))
    chunks = ceil(space.extent(r.depth) / min(space.block[0], choice.depth))
    sums = len(r.others) + (1 if chunks > 1 or r.outer_depth else 0)
    fixed = sums * rounded(choice.row * choice.column * itemsize(space.sums))

    def size_of(copies: int) -> int:
        middle = min(copies, max(0, steps - 2)) + 2
        each = ((size, middle if steps > 1 else min(copies, most), scale) for size, most, scale in buffers)
        return fixed + sum(round(size * times * scale) for size, times, scale in each)

    return size_of
