"""Plans of contraction phases: tile sizes, loop order, which operand stays in the scratchpad, what the
corelets split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, prod

from headrace.arch.cost import matrix_cycles
from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.contraction import Roles, accumulator, contracting_unit, roles
from headrace.schedule.multicast import is_shared
from headrace.schedule.passes import compute_ops
from headrace.schedule.plan import PhasePlan
from headrace.schedule.pricing import Traffic, memory_cycles, rounded
from headrace.schedule.search_vector import Limits, describe, key, run_of
from headrace.schedule.shape import Operand, Shape
from headrace.schedule.units import units

STAGE_ROWS = (64, 32, 128, 16, 8, 4, 2, 1)
"""Rows of a result stage that are tried: results leave the core stage by stage."""


@dataclass(frozen=True)
class Choice:
    """One candidate: extents of row, column and depth tiles, loop order, what the corelets split."""

    row: int
    column: int
    depth: int
    order: str
    split: str


@dataclass(frozen=True)
class Space:
    """What all candidates of a phase share."""

    shape: Shape
    roles: Roles
    device: Device
    cores: int
    unit: str
    sums: str
    limits: Limits

    def extent(self, dim: str) -> int:
        """Return a dim's extent, 1 for no dim."""
        return self.shape.extents.get(dim, 1)


def candidates(name: str, shape: Shape, device: Device, cores: int, limits: Limits) -> Iterator[PhasePlan]:
    """Yield priced plans of a contraction that fit."""
    for swapped in (False, True):
        found = roles(shape, swapped)
        if swapped and found.rows.surface.stride(found.depth) > 1:
            continue
        if not found.column:
            continue
        unit = contracting_unit(device, found.rows.dtype)
        sums = accumulator(shape.group.computes[0], device.unit(unit).matrix, found.rows.dtype)
        space = Space(shape, found, device, cores, unit, sums, limits)
        for choice in _choices(space):
            plan = _plan(name, space, choice, swapped)
            if plan is not None:
                yield plan


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
    depth, width = block(space)
    corelets = space.device.corelets
    columns = sorted(
        {n, *(w for w in (width * corelets * f for f in (1, 2, 4, 8, 16)) if w < n)}, reverse=True
    )
    rows = sorted({min(m, s) for s in (m, 1024, 512, 256, 128, 96, 64, 48, 32, 16, 8)}, reverse=True)
    depths = sorted(
        {k, *(s for s in (depth * 4, depth * 2, depth, depth // 2, depth // 4) if 0 < s < k)}, reverse=True
    )
    if not space.limits.retiling:
        rows, columns = rows[:1] + rows[-1:], columns[:1] + columns[-1:]
    for nt in columns:
        for mt in rows:
            for kt in depths:
                orders = ["column"] if mt >= m and nt >= n else ["column", "row"]
                for order in orders:
                    for split in ("columns", "rows"):
                        if (
                            split == "columns"
                            and nt // width < corelets
                            or split == "rows"
                            and min(mt, m) < corelets
                        ):
                            if corelets > 1 and not (nt // width < corelets and mt < corelets):
                                continue
                        yield Choice(mt, nt, kt, order, split)


def _plan(name: str, space: Space, choice: Choice, swapped: bool) -> PhasePlan | None:
    shape, r = space.shape, space.roles
    tile = {d: 1 for d in shape.extents}
    for dim, size in ((r.row, choice.row), (r.column, choice.column), (r.depth, choice.depth)):
        if dim:
            tile[dim] = size
    depth, width = block(space)
    depth = min(depth, choice.depth)
    stage = next((s for s in STAGE_ROWS if s <= choice.row and choice.row % s == 0), choice.row)
    if choice.row <= 128:
        stage = choice.row
    blocks = {"depth": depth, "columns": width, "rows": stage}
    order = choice.order + ("-swapped" if swapped else "")
    for copies in range(space.limits.copies, 0, -1):
        size = _lx_bytes(space, tile, choice, stage, copies)
        if size <= space.limits.lx_bytes:
            break
    else:
        return None
    inputs = [o for o in shape.inputs if o.storage.kind != "lx"]
    shared = tuple(
        key(o)
        for o in inputs
        if space.limits.multicast and is_shared(o.surface.base, space.cores, space.device)
    )
    made = PhasePlan(
        name, "contract", tuple(describe(c) for c in shape.group.computes), space.unit, r.column, width, tile,
        dict(shape.extents), 0, 1, {"in": copies, "out": min(copies, 2)}, blocks, choice.split, order,
        multicast=shared, lx_bytes=size,
    )  # fmt: skip
    return _priced(made, space, choice)


def _trips(space: Space, tile: dict[str, int], dims: tuple[str, ...]) -> int:
    return prod(ceil(space.extent(d) / tile[d]) for d in dims if d)


def _elements(operand: Operand, tile: dict[str, int]) -> int:
    return prod(tile[d] for d in operand.surface.dims)


def _lx_bytes(space: Space, tile: dict[str, int], choice: Choice, stage: int, copies: int) -> int:
    """Scratchpad bytes: factors (first and last depth steps have buffers of their own), sums, stages."""
    r, total = space.roles, 0
    steps = _trips(space, tile, (r.depth,))
    row_trips, column_trips = _trips(space, tile, (r.row,)), _trips(space, tile, (r.column,))
    for operand, trips in ((r.rows, row_trips), (r.weights, column_trips)):
        if operand.storage.kind == "lx":
            continue
        size = rounded(_elements(operand, tile) * itemsize(operand.dtype))
        inner = (choice.order == "column") == (operand is r.rows)
        times = min(copies, max(1, steps - 2)) + min(2, steps - 1) if steps > 1 else min(copies, trips)
        if steps == 1 and not inner:
            times = min(copies, trips, 2)
        total += size * times
    chunks = ceil(space.extent(r.depth) / min(block(space)[0], choice.depth))
    if chunks > 1 or r.outer_depth:
        total += rounded(choice.row * choice.column * itemsize(space.sums))
    staged = dict(tile) | ({r.row: stage} if r.row else {})
    stages = max(1, choice.row // stage) * row_trips
    out_copies = min(copies, 2, stages)
    for operand in {o.value: o for o in reversed(space.shape.outputs)}.values():
        if operand.storage.kind != "lx":
            total += rounded(_elements(operand, staged) * itemsize(operand.dtype)) * out_copies
    for operand in space.shape.inputs:
        if operand not in (r.rows, r.weights) and operand.storage.kind != "lx":
            total += rounded(_elements(operand, staged) * itemsize(operand.dtype)) * out_copies
    return total


def _priced(plan: PhasePlan, space: Space, choice: Choice) -> PhasePlan:
    r, device, tile = space.roles, space.device, dict(plan.tile)
    outer = _trips(space, tile, r.outer)
    traffic = Traffic()
    for operand in space.shape.inputs:
        if operand.storage.kind != "lx":
            size = _loaded(space, operand, tile, choice)
            run = run_of(operand, tile)
            shared = key(operand) in plan.multicast
            traffic = traffic.reading(
                size, run, itemsize(operand.dtype), operand.surface.base, shared, space.cores
            )
    for operand in space.shape.outputs:
        if operand.storage.kind != "lx":
            run = run_of(operand, tile)
            traffic = traffic.writing(space.shape.volume(operand), run, itemsize(operand.dtype), space.cores)
    memory = memory_cycles(traffic, device)
    busy, last = _compute_cycles(space, plan, choice)
    busy *= outer * prod(space.extent(d) for d in r.outer_depth)
    first = _first_load(space, tile, plan)
    drain = memory_cycles(_stage_traffic(space, plan), device) + device.cycles(
        device.memory("global").latency_ns
    )
    setup = device.unit(units(device).loader).setup_cycles
    overlap = plan.copies["in"] > 1
    steady = max(memory + last, first + busy) if overlap else memory + busy
    total = steady + drain * (0 if memory + last >= first + busy else 1) + 2 * setup + 300
    parts = {
        space.unit: round(busy, 1),
        "ddr": round(memory, 1),
        "fill": round(first, 1),
        "drain": round(drain, 1),
    }
    return replace(plan, cycles=total, parts=parts)


def _loaded(space: Space, operand: Operand, tile: dict[str, int], choice: Choice) -> int:
    """Elements one core loads of an operand: its volume times the trips of loops inside which it is loaded
    again.
    """
    r = space.roles
    volume = space.shape.volume(operand)
    own = set(operand.surface.dims)
    loops = [*r.outer, *((r.column, r.row) if choice.order == "column" else (r.row, r.column))]
    if operand in (r.rows, r.weights):
        loops += [*r.outer_depth, r.depth]
    elif operand.surface.stride(r.row):
        loops = list(loops)
    moving = [d for d in loops if d and _trips(space, tile, (d,)) > 1]
    level = max((i for i, d in enumerate(moving) if d in own), default=-1)
    again = prod(_trips(space, tile, (d,)) for i, d in enumerate(moving) if i < level and d not in own)
    return volume * again


def _compute_cycles(space: Space, plan: PhasePlan, choice: Choice) -> tuple[float, float]:
    """Cycles of the contracting unit of one corelet for the whole phase, and for its last stage of rows."""
    r, device = space.roles, space.device
    depth, width = plan.blocks["depth"], plan.blocks["columns"]
    corelets = device.corelets
    m, n, k = (space.extent(d) for d in (r.row, r.column, r.depth))
    per_row = _row_cycles(space, depth, width)
    fill = _fill_cycles(space, depth, width)
    matrix = device.unit(space.unit).matrix
    swap = (
        (matrix.swap_cycles + matrix.latency_cycles if matrix is not None else 8)
        + 3 * device.signal_cycles
        + 60
    )
    chunks = ceil(k / depth)
    epilogue = _epilogue_cycles(space, width)

    def blocks(rows: int, columns: int) -> tuple[int, int]:
        count = ceil(columns / width)
        return (ceil(count / corelets), rows) if choice.split == "columns" else (count, ceil(rows / corelets))

    def cycles(rows: int, columns: int, sums: int) -> float:
        count, each = blocks(rows, columns)
        normal = max(each * per_row, fill) + swap
        return count * (sums * normal)

    tiles_m, tiles_n = ceil(m / choice.row), ceil(n / choice.column)
    stage = plan.blocks["rows"]
    stages = ceil(choice.row / stage)
    one = cycles(choice.row, choice.column, chunks - 1)
    count, each = blocks(stage, choice.column)
    last = count * (max(each * max(per_row, epilogue), fill) + swap)
    return (one + stages * last) * tiles_m * tiles_n * (m / (tiles_m * choice.row)), last


def _row_cycles(space: Space, depth: int, width: int) -> float:
    unit = space.device.unit(space.unit)
    dtype = space.roles.rows.dtype
    if unit.matrix is not None:
        link = space.device.find_link(space.unit, units(space.device).vector)
        feeds = units(space.device).feeds
        cycles = matrix_cycles(
            depth, width, dtype, unit.matrix, width * itemsize(space.sums), link.bandwidth if link else None
        )
        source = space.device.find_link(feeds.activations.kind, space.unit) if feeds else None
        if space.roles.rows.surface.stride(space.roles.depth) > 1:
            return max(cycles, depth)
        return (
            max(cycles, depth * itemsize(dtype) / source.bandwidth) if source and source.bandwidth else cycles
        )
    return depth * ceil(width / space.device.lanes(space.unit, dtype)) * 2.0


def _fill_cycles(space: Space, depth: int, width: int) -> float:
    """Cycles to bring one block of weights to the unit."""
    feeds = units(space.device).feeds
    reader = feeds.weights if feeds is not None else space.device.unit(units(space.device).reader)
    if space.roles.weights.surface.stride(space.roles.column) > 1:
        return depth * width / reader.strided_accesses_per_cycle
    link = space.device.find_link(reader.kind, space.unit)
    return depth * width * itemsize(space.roles.weights.dtype) / ((link.bandwidth if link else None) or 128)


def _epilogue_cycles(space: Space, width: int) -> float:
    from headrace.arch.cost import Port, step_cycles

    vector = units(space.device).vector
    ops = [op for c in space.shape.group.computes[1:] for op in compute_ops(c, width, space.device, vector)]
    ports = [Port(width, space.sums), *(Port(width, o.dtype) for o in space.shape.outputs)]
    return step_cycles(ops, ports, space.device, vector)


def _first_load(space: Space, tile: dict[str, int], plan: PhasePlan) -> float:
    """Cycles until the first tile of both factors is there."""
    traffic = Traffic()
    for operand in (space.roles.rows, space.roles.weights):
        if operand.storage.kind != "lx":
            shared = key(operand) in plan.multicast
            traffic = traffic.reading(
                _elements(operand, tile),
                run_of(operand, tile),
                itemsize(operand.dtype),
                operand.surface.base,
                shared,
                space.cores,
            )
    return memory_cycles(traffic, space.device) + space.device.cycles(
        space.device.memory("global").latency_ns
    )


def _stage_traffic(space: Space, plan: PhasePlan) -> Traffic:
    staged = dict(plan.tile) | ({space.roles.row: plan.blocks["rows"]} if space.roles.row else {})
    traffic = Traffic()
    for operand in space.shape.outputs:
        if operand.storage.kind != "lx":
            traffic = traffic.writing(
                _elements(operand, staged), run_of(operand, staged), itemsize(operand.dtype), space.cores
            )
    return traffic
