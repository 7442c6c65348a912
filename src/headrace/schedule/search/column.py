"""Plans of column phases: lanes of an accumulator, tiles of rows, what the corelets split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, prod

from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.passes import accumulator_dtype, compute_ops, has_lane
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.plan import PhasePlan
from headrace.schedule.search.pricing import Traffic, phase_cycles, rounded
from headrace.schedule.search.vector import (
    TILE_BYTES,
    Limits,
    box,
    describe,
    even_step,
    key,
    outgoing,
    read_once,
    run_of,
    shorter,
    whole_vectors,
)
from headrace.schedule.units import units


def candidates(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield priced plans of a column phase, None for one that does not fit."""
    lane = _lane(shape)
    step = _step(shape, lane, device)
    for tile in _tilings(shape, lane, step):
        for copies in range(limits.copies, 0, -1):
            plan = _plan(name, shape, lane, step, tile, copies, device, cores, limits)
            if plan.lx_bytes <= limits.lx_bytes:
                yield _priced(plan, shape, device, cores)
                break
        else:
            yield None


def least_candidates(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield priced plans in tiles of one step, shorter and shorter."""
    lane = _lane(shape)
    for step in shorter(_step(shape, lane, device)):
        tile = {d: step if d == lane else 1 for d in shape.extents}
        plan = _plan(name, shape, lane, step, tile, 1, device, cores, limits)
        yield _priced(plan, shape, device, cores) if plan.lx_bytes <= limits.lx_bytes else None


def _lane(shape: Shape) -> str:
    """The dim that is contiguous in the most bytes; with none, the last one."""

    def weight(dim: str) -> tuple[int, int]:
        size = sum(shape.volume(o) * itemsize(o.dtype) for o in shape.inputs if o.surface.stride(dim) == 1)
        return size, shape.extents[dim]

    return max(shape.extents, key=weight)


def _step(shape: Shape, lane: str, device: Device) -> int:
    """Lanes of an accumulator: the registers hold all of them beside a row, or beside what is added to all of
    them but one, in whole vectors if they hold one.
    """
    unit = device.unit(units(device).vector)
    sums = sum(4 for c in shape.group.computes for o in c.outs if o.combiner is not None)
    rows = sum(itemsize(o.dtype) for o in shape.inputs if has_lane(o, lane))
    most = (unit.registers_bytes or 8192) // max(sums + rows, 2 * sums - 4)
    grain = max((unit.lanes.get(o.dtype, 1) for o in shape.inputs), default=1)
    most, grain = whole_vectors(most, grain)
    extent = shape.extents[lane]
    return extent if extent <= most else even_step(extent, most, grain)


def _tilings(shape: Shape, lane: str, step: int) -> Iterator[dict[str, int]]:
    widest = max(itemsize(o.dtype) for o in (*shape.inputs, *shape.outputs))
    seen: set[tuple[int, ...]] = set()
    for size in TILE_BYTES:
        left = max(1, size // widest)
        for wide in (1, 4, 16):
            tile = {d: 1 for d in shape.extents}
            tile[lane] = min(shape.extents[lane], step * wide)
            room = max(1, left // tile[lane])
            inner = [d for d in reversed(list(shape.extents)) if d != lane]
            for dim in sorted(inner, key=lambda d: d not in shape.reduced):
                tile[dim] = min(shape.extents[dim], room)
                room = room // tile[dim] if tile[dim] == shape.extents[dim] else 1
            found = tuple(tile.values())
            if found not in seen:
                seen.add(found)
                yield tile


def _plan(
    name: str,
    shape: Shape,
    lane: str,
    step: int,
    tile: dict[str, int],
    copies: int,
    device: Device,
    cores: int,
    limits: Limits,
) -> PhasePlan:
    memory = [o for o in shape.inputs if o.storage.kind != "lx"]
    shared = read_once(shape, device, cores, limits)
    points = _points(shape, lane, step, tile)
    split = "points" if points >= device.corelets else "depth"
    made = PhasePlan(
        name, "column", tuple(map(describe, shape.group.computes)), units(device).vector, lane, step, tile,
        dict(shape.extents), 0, 1, {"in": copies, "out": min(2, copies)}, split=split, multicast=shared,
    )  # fmt: skip
    size = sum(rounded(_box(shape, o, tile) * itemsize(o.dtype)) for o in memory) * copies
    size += sum(rounded(box(o, tile) * itemsize(o.dtype)) for o in outgoing(shape)) * min(2, copies)
    sums = points * step * device.corelets
    size += sum(
        rounded(sums * itemsize(accumulator_dtype(o, c)))
        for c in shape.group.computes
        for o in c.outs
        if o.combiner is not None
    )
    return replace(made, lx_bytes=size)


def _box(shape: Shape, operand: Operand, tile: dict[str, int]) -> int:
    return prod(tile[d] for d in operand.surface.dims)


def _points(shape: Shape, lane: str, step: int, tile: dict[str, int]) -> int:
    count = prod(e for d, e in tile.items() if d not in shape.reduced and d != lane)
    return count if lane in shape.reduced else count * ceil(tile[lane] / step)


def _priced(plan: PhasePlan, shape: Shape, device: Device, cores: int) -> PhasePlan:
    tile = dict(plan.tile)
    trips = prod(ceil(shape.extents[d] / tile[d]) for d in tile)
    points = _points(shape, plan.lane, plan.step, tile)
    depth = prod(e for d, e in tile.items() if d in shape.reduced and d != plan.lane)
    if plan.lane in shape.reduced:
        depth *= ceil(tile[plan.lane] / plan.step)
    unit = device.unit(plan.unit)
    ops = [op for c in shape.group.computes for op in compute_ops(c, plan.step, device, plan.unit)]
    lanes = min((unit.lanes.get(o.dtype, 1) for o in shape.inputs), default=1)
    each = sum(unit.op_cycles.get(op.op_class, 1) for op in ops) * ceil(plan.step / lanes)
    share = ceil(points * depth / device.corelets)
    bandwidth = _bandwidth(device, plan.unit)
    sent = sum(plan.step * itemsize(o.dtype) / bandwidth for o in shape.inputs if has_lane(o, plan.lane))
    traffic = Traffic(device, cores)
    for o in shape.inputs:
        if o.storage.kind != "lx":
            traffic = traffic.reading(shape.volume(o), run_of(o, tile), o, key(o) in plan.multicast)
    for o in shape.outputs:
        if o.storage.kind != "lx":
            traffic = traffic.writing(shape.volume(o), run_of(o, tile), o)
    overhead = points * (4 * device.signal_cycles + 40) / (1 if plan.split == "depth" else device.corelets)
    parts = {plan.unit: (share * each + overhead) * trips, units(device).reader: share * sent * trips}
    return phase_cycles(plan, parts, traffic, trips, device)


def _bandwidth(device: Device, unit: str) -> float:
    link = device.find_link(units(device).reader, unit)
    return float((link.bandwidth if link is not None else None) or 1 << 30)
