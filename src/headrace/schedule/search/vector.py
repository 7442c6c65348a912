"""Plans of vector phases: which dim is the lane, how large steps and tiles are, what the phase costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, prod

from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Compute
from headrace.schedule.phases.halves import halves
from headrace.schedule.phases.multicast import is_shared
from headrace.schedule.phases.part import KEEP
from headrace.schedule.phases.passes import cost, has_lane, point_dims, row_bytes, step_of
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.phases.straight import straight
from headrace.schedule.phases.turned import turned
from headrace.schedule.plan import PhasePlan
from headrace.schedule.ring import apart_entry, exchanged, message_lanes, nearest
from headrace.schedule.search.pricing import Traffic, phase_cycles, rounded
from headrace.schedule.units import units

TILE_BYTES = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
"""Bytes of one tile of the widest operand that are tried."""


@dataclass(frozen=True)
class Limits:
    """What a phase may use: bytes of the scratchpad, copies of streamed buffers, whether loads are shared
    and kept, whether results may leave while the next tile is computed. `is_repeated`: it runs again and
    again between other phases, its loads and stores beside theirs.
    """

    lx_bytes: int
    copies: int = 3
    multicast: bool = True
    residency: bool = True
    retiling: bool = True
    pacing: bool = True
    is_repeated: bool = False


def key(operand: Operand) -> str:
    """Return the name of an operand in a plan."""
    return f"{operand.value}#{operand.use}"


def lane_of(shape: Shape) -> str | None:
    """Return the lane dim, "" if there are no dims, None if the reduction has no single dim."""
    if shape.reduced:
        return next(iter(shape.reduced)) if len(shape.reduced) == 1 else None
    if not shape.extents:
        return ""
    missing = set(shape.extents)
    for compute in shape.group.computes:
        missing &= {shape.merged[d.name] for d in compute.dims}
    partial = set(shape.extents) - missing

    is_kept = all(compute.source == KEEP for compute in shape.group.computes)

    def weight(dim: str) -> tuple[bool, int, bool, int]:
        size = sum(
            shape.volume(o) * itemsize(o.dtype)
            for o in (*shape.inputs, *shape.outputs)
            if o.surface.stride(dim) == 1
        )
        is_turned = is_kept and all(o.surface.stride(dim) == 1 for o in shape.outputs)
        return not partial or dim in partial, size, is_turned, shape.extents[dim]

    return max(shape.extents, key=weight)


def step_size(shape: Shape, lane: str, device: Device) -> int:
    """Return the lanes of a step: the whole row of a reduction, else what the registers take, a divisor if
    one is near.
    """
    extent = shape.extents.get(lane, 1)
    if shape.reduced:
        return extent
    unit = device.unit(units(device).vector)
    widest = max((s.dtype for c in shape.group.computes for s in c.body), key=itemsize, default="f32")
    grain = unit.lanes.get(widest, 1) if unit.lanes else 1
    grain = max([grain, *(unit.lanes.get(o.dtype, 1) for o in shape.inputs)])
    each = sum(itemsize(o.dtype) for o in (*shape.inputs, *shape.outputs) if has_lane(o, lane)) or 1
    room = unit.registers_bytes or 16384
    most, grain = whole_vectors(room // each, grain)
    most = min(most, message_lanes(shape.group.computes, device, unit.kind) or most)
    return extent if extent <= most else even_step(extent, most, grain)


def whole_vectors(most: int, grain: int) -> tuple[int, int]:
    """Return the largest multiple of the grain not above `most` lanes, and the grain: halved until `most`
    holds one.
    """
    while grain > most and grain > 1:
        grain //= 2
    return max(grain, most // grain * grain), grain


def even_step(extent: int, most: int, grain: int) -> int:
    """Return a divisor of the extent not above `most` that wastes few lanes of the last granule, else
    `most`.
    """
    issues = [(ceil(s / grain) * (extent // s), -s) for s in range(most, most // 4, -1) if extent % s == 0]
    if issues and min(issues)[0] * 8 <= ceil(extent / grain) * 9:
        return -min(issues)[1]
    return most


def tilings(shape: Shape, lane: str, step: int, corelets: int) -> Iterator[dict[str, int]]:
    """Yield tiles of growing size, dims in loop order; every operand's contiguous dim gets its share of the
    tile.
    """
    widest = max((itemsize(o.dtype) for o in (*shape.inputs, *shape.outputs)), default=1)
    runs = {d for o in (*shape.inputs, *shape.outputs) for d, s in o.surface.strides if s == 1} - {lane}
    seen: set[tuple[int, ...]] = set()
    for size in TILE_BYTES:
        left = max(1, size // widest)
        tile = {d: 1 for d in shape.extents}
        if lane:
            share = left if not runs else max(step, ceil(left**0.5))
            extent = shape.extents[lane]
            tile[lane] = extent if shape.reduced else min(extent, max(step, share // step * step))
            left = max(1, left // tile[lane])
        if not lane or tile[lane] <= step:
            left = max(left, corelets)
        inner = [
            *(d for d in runs),
            *(d for d in reversed(list(shape.extents)) if d != lane and d not in runs),
        ]
        for dim in inner:
            tile[dim] = _near_divisor(shape.extents[dim], left)
            left = left // tile[dim] if tile[dim] == shape.extents[dim] else 1
        found = tuple(tile.values())
        if found not in seen:
            seen.add(found)
            yield tile


def _near_divisor(extent: int, size: int) -> int:
    """The largest divisor of the extent in (size/2, size], else min(extent, size)."""
    if extent <= size:
        return extent
    return next((k for k in range(size, size // 2, -1) if extent % k == 0), size)


def candidates(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield priced plans of a vector phase, None for one that does not fit."""
    lane = lane_of(shape)
    assert lane is not None
    if straight(shape):
        yield _straight(name, shape, lane, device, cores, limits)
        return
    if apart_entry(shape.group.computes[0]) is not None:
        yield exchange(name, shape, lane, device, cores, limits)
        return
    step = step_size(shape, lane, device)
    room = device.unit(units(device).vector).registers_bytes or 1 << 60
    split = halves(shape, lane, room)
    chunk = step_size(split.back, lane, device) if split is not None else 0
    for tile in tilings(shape, lane, step, device.corelets):
        for copies in range(limits.copies, 0, -1):
            plan = _plan(name, shape, lane, step, chunk, tile, copies, device, cores, limits)
            if plan.lx_bytes <= limits.lx_bytes:
                yield _priced(plan, shape, device, cores)
                break
        else:
            yield None


def least_candidates(
    name: str, shape: Shape, device: Device, cores: int, limits: Limits
) -> Iterator[PhasePlan | None]:
    """Yield priced plans in tiles of one step, shorter and shorter where no row has to stay whole."""
    lane = lane_of(shape)
    assert lane is not None
    step = step_size(shape, lane, device)
    room = device.unit(units(device).vector).registers_bytes or 1 << 60
    split = halves(shape, lane, room)
    chunk = step_size(split.back, lane, device) if split is not None else 0
    for size in [step] if shape.reduced else shorter(step):
        tile = {d: size if d == lane else 1 for d in shape.extents}
        plan = _plan(name, shape, lane, size, chunk, tile, 1, device, cores, limits)
        yield _priced(plan, shape, device, cores) if plan.lx_bytes <= limits.lx_bytes else None


def exchange(
    name: str, shape: Shape, lane: str, device: Device, cores: int, limits: Limits
) -> PhasePlan | None:
    """The one plan of a phase by which cores of different classes exchange values: whole messages, as many a
    tile, whatever else the class does. None if it does not fit.
    """
    assert set(shape.extents) <= {lane}
    lanes = message_lanes(shape.group.computes, device, units(device).vector)
    step, size = exchanged(shape.extents.get(lane, 1), lanes)
    tile = dict.fromkeys(shape.extents, size)
    plan = _plan(name, shape, lane, step, 0, tile, 1, device, cores, limits)
    return _priced(plan, shape, device, cores) if plan.lx_bytes <= limits.lx_bytes else None


def _straight(name: str, shape: Shape, lane: str, device: Device, cores: int, limits: Limits) -> PhasePlan:
    """The plan of a phase that only moves a value to its place: all at once."""
    tile, step = dict(shape.extents), shape.extents.get(lane, 1)
    made = _plan(name, shape, lane, step, 0, tile, 1, device, cores, replace(limits, residency=False))
    (source,), (target,) = shape.inputs, shape.outputs
    if straight(shape) == "out":
        written = Traffic(device, cores).writing(shape.volume(target), run_of(target, tile), target)
        return phase_cycles(replace(made, unit=units(device).storer, lx_bytes=0), {}, written, 1, device)
    traffic = Traffic(device, cores).reading(
        shape.volume(source), run_of(source, tile), source, key(source) in made.multicast
    )
    return phase_cycles(replace(made, unit=units(device).loader, lx_bytes=0), {}, traffic, 1, device)


def shorter(size: int) -> list[int]:
    """Return a size and its halves down to 1, the largest first."""
    return [size >> k for k in range(size.bit_length())]


def _plan(
    name: str,
    shape: Shape,
    lane: str,
    step: int,
    chunk: int,
    tile: dict[str, int],
    copies: int,
    device: Device,
    cores: int,
    limits: Limits,
) -> PhasePlan:
    tiled = {d for d, e in tile.items() if e < shape.extents[d]}
    from_memory = [o for o in shape.inputs if o.storage.kind != "lx"]
    once = tuple(key(o) for o in from_memory if not tiled & set(o.surface.dims) and limits.residency)
    shared = read_once(shape, device, cores, limits)
    streamed = [o for o in from_memory if key(o) not in once]
    made = PhasePlan(
        name, "vector", tuple(map(describe, shape.group.computes)), units(device).vector,
        lane, step, tile, dict(shape.extents), chunk, 1, {"in": copies, "out": copies},
        once=once, multicast=shared,
    )  # fmt: skip
    trips = prod(ceil(shape.extents[d] / tile[d]) for d in tile)
    copies = copies if trips > 1 else 1
    size = sum(rounded(box(o, tile) * itemsize(o.dtype)) for o in streamed) * copies
    size += sum(rounded(shape.volume(o) * itemsize(o.dtype)) for o in from_memory if key(o) in once)
    size += sum(rounded(box(o, tile) * itemsize(o.dtype)) for o in outgoing(shape)) * copies
    return replace(made, lx_bytes=size)


def outgoing(shape: Shape) -> list[Operand]:
    """Return one operand for each result that passes through a tile buffer."""
    first = {o.value: o for o in reversed(shape.outputs)}
    return [o for o in first.values() if o.storage.kind != "lx"]


def box(operand: Operand, tile: dict[str, int]) -> int:
    """Return the elements of an operand's tile."""
    return prod(tile[d] for d in operand.surface.dims)


def run_of(operand: Operand, tile: Mapping[str, int]) -> int:
    """Return the elements of a contiguous run of an operand's tile in device memory."""
    dims = operand.surface.dims
    return tile.get(dims[-1], 1) if dims and operand.surface.stride(dims[-1]) == 1 else 1


def describe(compute: Compute) -> str:
    """Return a short name of what a Compute does."""
    if compute.source:
        return compute.source
    if compute.contraction is not None:
        return "contract"
    names = [s.op.split(".")[-1] for s in compute.body if s.op not in ("in", "const")]
    names += [f"reduce {o.combiner}" for o in compute.outs if o.combiner is not None]
    return "+".join(names) or "copy"


def _priced(plan: PhasePlan, shape: Shape, device: Device, cores: int) -> PhasePlan:
    tile = dict(plan.tile)
    trips = prod(ceil(shape.extents[d] / tile[d]) for d in tile)
    lanes = tile.get(plan.lane, 1)
    step = min(plan.step, lanes)
    point = dict(tile) | ({plan.lane: lanes // step} if plan.lane else {})
    moving = frozenset(d for d, e in point.items() if e > 1)
    made = step_of(shape, plan.lane, step, moving, device, plan.unit)
    steps = prod(point.values())
    alone = nearest(shape.group.computes, steps, device, plan.unit)
    share = ceil(steps / device.corelets) if alone is None else steps
    link = device.find_link(units(device).reader, plan.unit)
    bandwidth = (link.bandwidth if link is not None else None) or 1 << 30
    sent = sum(_message_cycles(o, plan.lane, step, bandwidth) for p in made.passes for o in p.reads)
    compute = share * cost(shape, made, plan.lane, step, device, plan.unit, alone)
    block = turned(shape, plan.lane, tile, device, plan.unit)
    if block is not None:
        share = ceil(prod(tile.values()) / block.elements / device.corelets)
        compute, sent = share * block.cycles(device, plan.unit), float(block.accesses())
    traffic = Traffic(device, cores)
    for o in shape.inputs:
        if o.storage.kind != "lx":
            size = shape.volume(o) if key(o) in plan.once else box(o, tile) * trips
            run = run_of(o, tile)
            shared, is_once = key(o) in plan.multicast, key(o) in plan.once
            traffic = traffic.reading(size, run, o, shared, is_once)
    for o in shape.outputs:
        if o.storage.kind != "lx":
            run = run_of(o, tile)
            traffic = traffic.writing(shape.volume(o), run, o)
    parts = {plan.unit: compute * trips, units(device).reader: share * sent * trips}
    return phase_cycles(replace(plan, passes=len(made.passes)), parts, traffic, trips, device)


def read_once(shape: Shape, device: Device, cores: int, limits: Limits) -> tuple[str, ...]:
    """Return the operands that several cores read in one transfer; never gathered ones, of which each core
    reads rows of its own.
    """
    inputs = [o for o in shape.inputs if o.storage.kind != "lx" and o.index is None]
    return tuple(key(o) for o in inputs if limits.multicast and is_shared(o.surface.base, cores, device))


def _message_cycles(operand: Operand, lane: str, step: int, bandwidth: int) -> float:
    if has_lane(operand, lane) and operand.surface.stride(lane) != 1 and len(operand.surface.dims) > 1:
        return float(step)
    return max(1.0, row_bytes(operand, lane, step) / bandwidth)


__all__ = ["Limits", "candidates", "key", "lane_of", "point_dims", "read_once", "step_size", "tilings"]
