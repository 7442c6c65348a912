"""What a tile of a contraction phase costs: cycles of device memory for all cores, cycles of the unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, prod

from headrace.arch.cost import Port, step_cycles
from headrace.arch.device import Device
from headrace.arch.products import fill_cycles, passing_cycles, row_cycles
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.contraction import Roles, product_count
from headrace.schedule.phases.multicast import distinct, joint_base
from headrace.schedule.phases.passes import compute_ops
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.search.pricing import rates, rounding
from headrace.schedule.search.vector import Limits, key
from headrace.schedule.units import units

BUBBLE_CYCLES = 60
"""What a block waits beside latency and signals when the sums of the block right before are its start."""


@dataclass(frozen=True)
class Choice:
    """One candidate: extents of row, column and depth tiles, loop order, what the corelets split; the rows of
    tiles in order if they are not all alike, with the weights of the whole depth kept, filled in steps of
    `filling`; how many neighbouring cores read their columns of the weights as one; the sizes of the tiles of
    the innermost loop, if the results of each leave during the next.
    """

    row: int
    column: int
    depth: int
    order: str
    split: str
    taper: tuple[int, ...] = ()
    filling: int = 0
    joined: int = 1
    behind: tuple[int, ...] = ()


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
    block: tuple[int, int] = (1, 1)
    shared: tuple[str, ...] = ()
    _known: dict[tuple[str, int, int], float] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def known(self, what: Callable[[Space, int, int], float], depth: int, width: int) -> float:
        """Return `what` of a block of that depth and width, computed once."""
        mark = (what.__name__, depth, width)
        if mark not in self._known:
            self._known[mark] = what(self, depth, width)
        return self._known[mark]

    def extent(self, dim: str) -> int:
        """Return a dim's extent, 1 for no dim."""
        return self.shape.extents.get(dim, 1)

    @property
    def places(self) -> int:
        """How often the tiled depth runs: places of the other dims of the depth."""
        return prod(self.extent(d) for d in self.roles.outer_depth)


def trips(space: Space, tile: dict[str, int], dims: tuple[str, ...]) -> int:
    """Return how many tiles there are along dims."""
    return prod(ceil(space.extent(d) / tile[d]) for d in dims if d)


def least_rows(space: Space) -> int:
    """Return the rows, a power of two, whose work on a block takes as long as the block after it comes."""
    depth, width = space.block
    rows = space.known(_fill_cycles, depth, width) / space.known(_row_cycles, depth, width)
    return 1 << max(0, ceil(rows) - 1).bit_length()


def whole_cycles(space: Space) -> tuple[float, float, float]:
    """Return the cycles device memory needs to load the rows once, the weights once, to store the results."""
    r, rate = space.roles, rates(space.device)
    m, n = space.extent(r.row), space.extent(r.column)
    depth = space.extent(r.depth) * space.places
    repeats = prod(space.extent(d) for d in r.outer)
    results = [o for o in space.shape.outputs if o.storage.kind != "lx"]
    stored = sum(m * n * itemsize(o.dtype) * space.cores for o in results) * space.known(_store_rate, 0, 0)
    weights = sum(_loaded(space, o, n * depth) for o in r.all_weights)
    return (
        _loaded(space, r.rows, m * depth) * rate.read * repeats,
        weights * rate.read * repeats,
        stored * repeats,
    )


def least_cycles(space: Space, choice: Choice, whole: tuple[float, float, float]) -> float:
    """Return the cycles device memory needs for a choice at least, given `whole_cycles`."""
    rows, weights, stored = whole
    across = ceil(space.extent(space.roles.column) / choice.column)
    down = ceil(space.extent(space.roles.row) / choice.row)
    again = reloads(space, choice)
    if choice.order == "column":
        return rows * across + weights * (down if again else 1) + stored
    return weights * down + rows * (across if again else 1) + stored


def covering_rows(space: Space, columns: int) -> int:
    """Return the rows whose work on a panel of that many columns takes as long as both take to come."""
    r, rate = space.roles, rates(space.device)
    (depth, width), k = space.block, space.extent(space.roles.depth)
    work = space.known(_row_cycles, depth, width) * k / depth * columns / width / space.device.corelets
    spare = work - _loaded(space, r.rows, k) * rate.read
    rows = space.extent(r.row)
    return min(rows, ceil(_loaded(space, r.weights, k * columns) * rate.read / spare)) if spare > 0 else rows


def elements(operand: Operand, tile: dict[str, int]) -> int:
    """Return the elements of an operand's tile."""
    return prod(tile[d] for d in operand.surface.dims)


@dataclass(frozen=True)
class TileCost:
    """Cycles of one tile: loads and stores of all cores, work on it, its last stage; how many stages."""

    load: float
    store: float
    work: float
    last: float
    stages: int


def reloads(space: Space, choice: Choice) -> bool:
    """Whether the stationary factor is loaded again for every tile: its depth streams and is not kept."""
    return not choice.taper and _streams(space, choice)


def _streams(space: Space, choice: Choice) -> bool:
    return choice.depth < space.extent(space.roles.depth) or bool(space.roles.outer_depth)


def tile_cost(
    space: Space, blocks: Mapping[str, int], choice: Choice, rows: int, columns: int, fresh: bool
) -> TileCost:
    """Return the cost of a tile of so many rows and columns in the blocks of a plan; a `fresh` one loads the
    factor that stays.
    """
    r, rate = space.roles, rates(space.device)
    depth = space.extent(r.depth) * space.places
    moving = _loaded(space, r.rows, rows * depth, choice)
    stationary = sum(_loaded(space, o, columns * depth, choice) for o in r.all_weights)
    if choice.order != "column":
        stationary, moving = moving, stationary
    load = moving + (stationary if fresh else 0.0)
    stored = sum(_stored(space, o, rows, columns) for o in space.shape.outputs if o.storage.kind != "lx")
    for operand in space.shape.inputs:
        if operand not in r.factors:
            count = rows * columns if operand.surface.stride(r.row) else columns
            load += _loaded(space, operand, count, choice)
    filled = blocks["filling"] if choice.taper and fresh else blocks["depth"]
    work, last = _work(space, blocks, choice, rows, columns, min(blocks["depth"], filled))
    alone = load / space.cores * rate.loader if not space.shared else 0.0
    stages = max(1, ceil(rows / blocks["rows"]))
    leaving = max(stored * space.known(_store_rate, 0, 0), stored / space.cores * rate.storer)
    return TileCost(max(load * rate.read, alone), leaving, work, last, stages)


def _store_rate(space: Space, _: int, __: int) -> float:
    """Cycles of device memory a byte stored: beside reads, as far as there are as many of those."""
    r, rate = space.roles, rates(space.device)
    m, n, depth = space.extent(r.row), space.extent(r.column), space.extent(r.depth) * space.places
    read = _loaded(space, r.rows, m * depth) + sum(_loaded(space, o, n * depth) for o in r.all_weights)
    results = [o for o in space.shape.outputs if o.storage.kind != "lx"]
    written = sum(m * n * itemsize(o.dtype) * space.cores for o in results)
    return rate.write + rate.turnaround * min(1.0, read / written if written else 1.0)


def _stored(space: Space, result: Operand, rows: int, columns: int) -> float:
    """Bytes of device memory all cores write for rows and columns of a result, whole accesses."""
    size, surface = itemsize(result.dtype), result.surface
    runs = {space.roles.row: rows, space.roles.column: columns}
    run = next((n for dim, n in runs.items() if dim and surface.stride(dim) == 1), 1)
    waste = rounding(surface.base, space.cores, run, run, size, space.device.memory("global").access_bytes)
    return rows * columns * size * space.cores * waste


def _loaded(space: Space, operand: Operand, count: int, choice: Choice | None = None) -> float:
    """Bytes of device memory all cores read for `count` elements each, in tiles of a choice."""
    if operand.storage.kind == "lx":
        return 0.0
    times = (
        distinct(operand.surface.base, space.cores, space.device)
        if key(operand) in space.shared
        else space.cores
    )
    waste = 1.0
    if choice is not None:
        r, dims = space.roles, operand.surface.dims
        tile = {r.row: choice.row, r.column: choice.column, r.depth: choice.depth}
        inner = dims[-1] if dims and operand.surface.stride(dims[-1]) == 1 else ""
        extent = space.extent(inner)
        access = space.device.memory("global").access_bytes
        base, members = operand.surface.base, 1 if operand not in r.all_weights else choice.joined
        waste = rounding(
            joint_base(base, space.cores, members),
            space.cores,
            extent * members,
            tile.get(inner, extent) * members,
            itemsize(operand.dtype),
            access,
        )
    return float(count * itemsize(operand.dtype) * times) * waste


def _work(
    space: Space, blocks: Mapping[str, int], choice: Choice, rows: int, columns: int, depth: int
) -> tuple[float, float]:
    """Cycles of the unit of one corelet for a tile in blocks of `depth`, the last of which is what is left,
    and for its last stage of rows.
    """
    width = blocks["columns"]
    corelets = space.device.corelets
    left = space.extent(space.roles.depth) % depth or depth
    per_row, fill = space.known(_row_cycles, depth, width), space.known(_fill_cycles, depth, width)
    ending, filling = space.known(_row_cycles, left, width), space.known(_fill_cycles, left, width)
    matrix = space.device.unit(space.unit).matrix
    swap = matrix.swap_cycles if matrix is not None else 8
    if not choice.behind:  # results that leave at once hold up the sums of the next block for a signal
        swap += space.device.signal_cycles
    count = ceil(columns / width)
    each = rows
    stage = min(rows, blocks["rows"])
    if choice.split == "columns":
        count = ceil(count / corelets)
    else:
        each, stage_rows = ceil(rows / corelets), ceil(stage / corelets)
    stage_rows = stage if choice.split == "columns" else stage_rows
    if count == 1:
        latency = matrix.latency_cycles if matrix is not None else 0
        swap += latency + 3 * space.device.signal_cycles + BUBBLE_CYCLES
    chunks = ceil(space.extent(space.roles.depth) / depth) * space.places
    ending = max(ending, space.known(_epilogue_cycles, left, width))
    last = count * (max(stage_rows * ending, filling) + swap)
    passing = max(per_row, space.known(_passing_cycles, depth, width))
    whole = chunks * (1 + len(space.roles.others)) - 1
    return count * whole * (max(each * passing, fill) + swap) + last * ceil(rows / stage), last


def _row_cycles(space: Space, depth: int, width: int) -> float:
    rows = space.roles.rows
    is_strided = rows.surface.stride(space.roles.depth) > 1
    return row_cycles(depth, width, rows.dtype, space.sums, is_strided, space.device)


def _fill_cycles(space: Space, depth: int, width: int) -> float:
    weights = space.roles.weights
    is_strided = weights.surface.stride(space.roles.column) > 1
    return fill_cycles(depth, width, weights.dtype, is_strided, space.device)


def _passing_cycles(space: Space, _: int, width: int) -> float:
    return passing_cycles(width, space.roles.rows.dtype, space.sums, space.device)


def _epilogue_cycles(space: Space, _: int, width: int) -> float:
    vector = units(space.device).vector
    products = product_count(space.shape.group)
    epilogue = space.shape.group.computes[products:]
    ops = [op for c in epilogue for op in compute_ops(c, width, space.device, vector)]
    ports = [*[Port(width, space.sums)] * products, *(Port(width, o.dtype) for o in space.shape.outputs)]
    return max(step_cycles(ops, ports, space.device, vector), _writing_cycles(space, width))


def _writing_cycles(space: Space, width: int) -> float:
    """Cycles to write a row of results that stay in the scratchpad if it lies across the rows of their
    buffer (element by element), 0 if not.
    """
    kept = [o for o in space.shape.outputs if o.storage.kind == "lx"]
    across = [o for o in kept if o.surface.stride(space.roles.column) > 1]
    return len(across) * width / space.device.unit(units(space.device).writer).strided_accesses_per_cycle


def splits(space: Space, blocks: int, rows: int) -> list[str]:
    """What the corelets can share out: column blocks if there is one for each, rows likewise; in strips those
    only where there are not, as nothing runs beside a product that has weights to change.
    """
    corelets = space.device.corelets
    found = [name for name, count in (("columns", blocks), ("rows", rows)) if count >= corelets]
    return found[: 1 if space.limits.is_repeated else 2] or ["rows"]
