"""Plans of contraction phases: tile sizes, loop order, which operand stays in the scratchpad, what the
corelets split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import ceil

from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.contraction import accumulator, contracting_unit, roles
from headrace.schedule.phases.shape import Shape
from headrace.schedule.plan import PhasePlan
from headrace.schedule.search.contract_cost import Choice, Space, elements, predicted, trips
from headrace.schedule.search.multicast import is_shared
from headrace.schedule.search.pricing import rounded
from headrace.schedule.search.vector import Limits, describe, key

COPIES = (16, 8, 4, 3, 2, 1)
"""Copies of streamed factors that are tried: loads issued well ahead do not wait behind stores."""

STAGE_ROWS = (64, 32, 128, 16, 8, 4, 2, 1)
"""Rows of a result stage that are tried: results leave the core stage by stage."""


def candidates(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield priced plans of a contraction, None for one that does not fit."""
    sides = [found for swapped in (False, True) if (found := roles(shape, swapped)).column]
    for found in sides:
        swapped = found.rows is not shape.reads[0, 0]
        if swapped and len(sides) > 1 and found.rows.surface.stride(found.depth) > 1:
            continue
        unit = contracting_unit(device, found.rows.dtype)
        sums = accumulator(shape.group.computes[0], device.unit(unit).matrix, found.rows.dtype)
        space = Space(shape, found, device, cores, unit, sums, limits)
        space = replace(space, block=block(space), shared=_shared(space))
        for choice in _choices(space):
            yield _plan(name, space, choice, swapped)


def _shared(space: Space) -> tuple[str, ...]:
    """Operands several cores read in one transfer."""
    inputs = [o for o in space.shape.inputs if o.storage.kind != "lx" and o.index is None]
    if not space.limits.multicast:
        return ()
    return tuple(key(o) for o in inputs if is_shared(o.surface.base, space.cores, space.device))


def block(space: Space) -> tuple[int, int]:
    """Return depth and columns of one resident block."""
    size = itemsize(space.roles.weights.dtype)
    matrix = space.device.unit(space.unit).matrix
    if matrix is not None:
        room, columns = matrix.resident_bytes or 32768, matrix.columns
    else:
        room = (space.device.unit(space.unit).registers_bytes or 32768) // 2
        columns = min(space.device.lanes(space.unit, space.roles.rows.dtype), room // size)
    width = min(columns, space.extent(space.roles.column))
    grain = matrix.rows if matrix is not None else 1
    depth = max(1, room // (size * width))
    depth = max(1, depth // grain * grain) if depth > grain else depth
    return min(depth, space.extent(space.roles.depth)), width


def _choices(space: Space) -> Iterator[Choice]:
    r = space.roles
    m, n, k = (space.extent(d) for d in (r.row, r.column, r.depth))
    depth, width = space.block
    group = width * space.device.corelets
    sizes = {n, *(group * f for f in (1, 2, 4, 8, 16)), n * 3 // 4 // group * group}
    columns = sorted((w for w in sizes if 0 < w <= n), reverse=True)
    rows = sorted({min(m, s) for s in (m, 1024, 512, 256, 128, 96, 64, 48, 32, 16, 8)}, reverse=True)
    depths = sorted(
        {k, *(s for s in (depth * 4, depth * 2, depth, depth // 2, depth // 4) if 0 < s < k)}, reverse=True
    )
    if not space.limits.retiling:
        rows, columns = rows[:1] + rows[-1:], columns[:1] + columns[-1:]
    for nt, mt, kt in product(columns, rows, depths):
        orders = ["column"] if mt >= m and nt >= n else ["column", "row"]
        for order, split in product(orders, _splits(space, nt // width, mt)):
            yield Choice(mt, nt, kt, order, split)


def _splits(space: Space, blocks: int, rows: int) -> list[str]:
    """What the corelets can share out: column blocks if there is one for each, rows likewise."""
    corelets = space.device.corelets
    found = [name for name, count in (("columns", blocks), ("rows", rows)) if count >= corelets]
    return found or ["rows"]


def _plan(name: str, space: Space, choice: Choice, swapped: bool) -> PhasePlan | None:
    shape, r = space.shape, space.roles
    tile = {d: 1 for d in shape.extents}
    for dim, size in ((r.row, choice.row), (r.column, choice.column), (r.depth, choice.depth)):
        if dim:
            tile[dim] = size
    depth, width = space.block
    stage = _stage(choice.row)
    fitted = _fitted(space, tile, choice, stage)
    if fitted is None:
        return None
    copies, size = fitted
    made = PhasePlan(
        name, "contract", tuple(map(describe, shape.group.computes)), space.unit, r.column, width, tile,
        dict(shape.extents), copies={"in": copies[0], "out": copies[1]},
        blocks={"depth": min(depth, choice.depth), "columns": width, "rows": stage}, split=choice.split,
        order=choice.order + ("-swapped" if swapped else ""), multicast=space.shared, lx_bytes=size,
    )  # fmt: skip
    cycles, parts = predicted(space, made, choice)
    return replace(made, cycles=cycles, parts=parts)


def _stage(rows: int) -> int:
    """Rows of a result stage: results leave the core stage by stage."""
    if rows <= 64:
        return rows
    return next((s for s in STAGE_ROWS if rows % s == 0), rows)


def _fitted(
    space: Space, tile: dict[str, int], choice: Choice, stage: int
) -> tuple[tuple[int, int], int] | None:
    """Copies of factors and of result stages that fit, and their bytes; None if not even one of each does."""
    staged = _stage_bytes(space, tile, choice, stage)
    stages = ceil(choice.row / stage)
    room, single = space.limits.lx_bytes, space.limits.copies == 1
    for copies in (1,) if single else COPIES:
        left = room - _factor_bytes(space, tile, choice, copies)
        out = min(stages, left // staged) if staged else stages
        if out >= min(1 if copies == 1 else 2, stages):
            out = 1 if single else max(1, out)
            return (copies, out), room - left + out * staged
    return None


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
    extras = [o for o in space.shape.inputs if o not in (r.rows, r.weights)]
    operands = [o for o in (*outs, *extras) if o.storage.kind != "lx"]
    size = sum(rounded(elements(o, staged) * itemsize(o.dtype)) for o in operands)
    return round(size * _parts(space, r.row, choice.row)[0] * _parts(space, r.column, choice.column)[1])


def _factor_bytes(space: Space, tile: dict[str, int], choice: Choice, copies: int) -> int:
    """Bytes of the factors' buffers (first and last depth steps have their own) and of the partial sums."""
    r, total = space.roles, 0
    steps = trips(space, tile, (r.depth,))
    row_kinds, row_scale = _parts(space, r.row, choice.row)
    column_kinds, column_scale = _parts(space, r.column, choice.column)
    scales = ((r.rows, r.row, row_scale * column_kinds), (r.weights, r.column, column_scale * row_kinds))
    for operand, own, scale in scales:
        if operand.storage.kind == "lx":
            continue
        size = rounded(elements(operand, tile) * itemsize(operand.dtype))
        if steps > 1:
            times = min(copies, max(0, steps - 2)) + 2
        else:
            times = min(copies, trips(space, tile, (own,)))
        total += round(size * times * scale)
    chunks = ceil(space.extent(r.depth) / min(space.block[0], choice.depth))
    if chunks > 1 or r.outer_depth:
        total += rounded(choice.row * choice.column * itemsize(space.sums))
    return total
