"""Vector phases: tiles stream through the scratchpad, rows of a tile through the vector unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.arch.device import Device
from headrace.schedule.build import mlir, rows
from headrace.schedule.build.emitter import Box, Emitter
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered, Memory
from headrace.schedule.build.nests import Loops
from headrace.schedule.build.tiles import Part, parts, tile_loop
from headrace.schedule.build.turned import build_turned
from headrace.schedule.phases.halves import halves
from headrace.schedule.phases.multicast import groups
from headrace.schedule.phases.passes import Step, step_of
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.phases.straight import straight
from headrace.schedule.phases.turned import turned
from headrace.schedule.plan import PhasePlan
from headrace.schedule.units import Units, units


@dataclass(frozen=True)
class Turn:
    """The loop over strips around a phase, in which its buffers may rotate: its variable and its trips."""

    number: Index
    trips: int


@dataclass(frozen=True)
class Phase:
    """What building one phase needs."""

    emit: Emitter
    memory: Memory
    device: Device
    shape: Shape
    plan: PhasePlan
    cores: tuple[int, ...]
    turn: Turn | None = None

    @property
    def units(self) -> Units:
        """The units of the device."""
        return units(self.device)

    @property
    def registers(self) -> int:
        """Bytes of the vector unit's register file."""
        return self.device.unit(self.units.vector).registers_bytes or 1 << 60

    @property
    def corelets(self) -> int:
        """Corelets of a core."""
        return self.device.corelets


def build_vector(phase: Phase) -> None:
    """Emit a vector phase: operands that no tile loop moves first, then the tile loops."""
    plan = phase.plan
    way = straight(phase.shape)
    if way is not None:
        _move(phase, way == "in")
        return
    kept = {
        o: load_whole(phase, o) for o in phase.shape.inputs if key(o) in plan.once and o.storage.kind != "lx"
    }
    for part in parts(phase.shape.extents, plan.tile, {plan.lane: plan.step}):
        _part(phase, part, kept)


def _move(phase: Phase, is_load: bool) -> None:
    """Emit the loads of a value to its place in the scratchpad, or its stores from there."""
    (source,), (target,) = phase.shape.inputs, phase.shape.outputs
    home = phase.memory.operand(target if is_load else source, phase.shape.extents)
    for part in parts(phase.shape.extents, phase.plan.tile, {}):
        with tile_loop(phase.emit, part, "t") as (origin, _):
            if not is_load:
                store_tile(phase, origin, part.tile, {target.value: shifted(home, origin)})
                continue
            with phase.emit.pipeline() as pipe, pipe.stage(phase.units.loader):
                load(phase, source, shifted(home, origin), origin, part.tile)


def key(operand: Operand) -> str:
    """Return the name of an operand in a plan."""
    return f"{operand.value}#{operand.use}"


def load_whole(phase: Phase, operand: Operand) -> Buffered:
    """Emit the load of a whole operand into a buffer of its own."""
    with phase.emit.pipeline() as pipe, pipe.stage(phase.units.loader):
        made = buffers(phase, operand, phase.shape.extents, 1)[0]
        load(phase, operand, made, {}, phase.shape.extents)
    return made


def buffers(phase: Phase, operand: Operand, tile: Mapping[str, int], copies: int) -> list[Buffered]:
    """Buffers for one tile of an operand, of the rank of its view in device memory."""
    indices: list[Any] = [None] * copies
    dims: tuple[str | None, ...] = operand.surface.dims or (None,)
    if operand.index is not None:
        indices = buffers(phase, operand.index, tile, copies)
    elif operand.storage.kind != "tile":
        dims = phase.memory.operand(operand, phase.shape.extents).dims
    sizes = [1 if d is None else tile[d] for d in dims]
    zero = (Index(0),) * len(sizes)
    name = f"{operand.storage.name}_tile"
    use = f"{copies} in strips" if phase.turn is not None else f"{copies}"
    return [
        Buffered(phase.memory.alloc(sizes, operand.dtype, name, use), dims, zero, index) for index in indices
    ]


def load(
    phase: Phase, operand: Operand, buffer: Buffered, origin: Mapping[str, Index], tile: Mapping[str, int]
) -> None:
    """Emit the transfer of a tile from device memory, marked if several cores read the same."""
    if operand.index is not None:
        assert buffer.index is not None
        load(phase, operand.index, buffer.index, origin, tile)
        walk(phase, "headrace.gather", operand, buffer, origin, tile)
        return
    place = phase.memory.operand(operand, phase.shape.extents, [d for d in buffer.dims if d is not None])
    phase.emit.transfer(place.box(origin, tile), buffer.box({}, tile), **sharing(phase, operand))


def sharing(phase: Phase, operand: Operand) -> dict[str, Any]:
    """Return the attributes that let several cores read an operand in one transfer."""
    if key(operand) not in phase.plan.multicast:
        return {}
    found = groups(operand.surface.base, len(phase.cores), phase.device)
    return {"headrace.multicast_groups": mlir.dense(found)}


def walk(
    phase: Phase,
    template: str,
    operand: Operand,
    buffer: Buffered,
    origin: Mapping[str, Index],
    tile: Mapping[str, int],
) -> None:
    """Emit a gather into a buffer or a scatter from it, by the indices beside it."""
    assert buffer.index is not None
    table = phase.memory.table(operand, phase.shape.extents)
    box = table.box(origin, tile)
    rows_first = Box(box.memory, box.corner, (operand.storage.rows, *box.sizes[1:]))
    phase.emit.indirect(template, buffer.index.memory, phase.emit.subview(rows_first), buffer.memory)


def sources_of(phase: Phase) -> dict[Operand, Buffered]:
    """Return the inputs that lie in the scratchpad."""
    found = [o for o in phase.shape.inputs if o.storage.kind == "lx"]
    return {o: phase.memory.operand(o, phase.shape.extents) for o in found}


def targets_of(phase: Phase) -> dict[str, Buffered]:
    """Return the places of results that stay in the scratchpad."""
    found = [o for o in results_of(phase.shape) if o.storage.kind == "lx"]
    return {o.value: phase.memory.operand(o, phase.shape.extents) for o in found}


def _part(phase: Phase, part: Part, kept: Mapping[Operand, Buffered]) -> None:
    emit, plan = phase.emit, phase.plan
    streamed = [o for o in phase.shape.inputs if o not in kept and o.storage.kind != "lx"]
    results = results_of(phase.shape)
    inner = [o for o in results if o.storage.kind != "lx"]
    n_in, n_out = (min(plan.copies.get(k, 1), part.trips) for k in ("in", "out"))
    ins = {o: buffers(phase, o, part.tile, n_in) for o in streamed}
    outs = {o.value: buffers(phase, o, part.tile, n_out) for o in inner}
    with tile_loop(emit, part, "t") as (origin, number):
        at_in = {o: rows.selected(emit, b, number) for o, b in ins.items()}
        at_out = {v: rows.selected(emit, b, number) for v, b in outs.items()}
        sources = {**kept, **at_in}
        for o, place in {**kept, **sources_of(phase)}.items():
            sources[o] = shifted(place, origin)
        targets = {**at_out, **{v: shifted(place, origin) for v, place in targets_of(phase).items()}}
        scattered = [(o.index, b) for o in inner if o.index is not None and (b := at_out[o.value].index)]
        if at_in or scattered:
            with emit.pipeline() as pipe, pipe.stage(phase.units.loader):
                for o, b in [*at_in.items(), *scattered]:
                    load(phase, o, b, origin, part.tile)
        _compute(phase, part, origin, sources, targets)
        store_tile(phase, origin, part.tile, targets)


def shifted(place: Buffered, origin: Mapping[str, Index]) -> Buffered:
    base = tuple(
        b if d is None else b + origin.get(d, Index(0)) for d, b in zip(place.dims, place.base, strict=True)
    )
    return Buffered(place.memory, place.dims, base, place.index)


def results_of(shape: Shape) -> list[Operand]:
    """Return one operand for each result: the one in the scratchpad, else the scattered one, else the
    first.
    """

    def rank(operand: Operand) -> tuple[bool, bool]:
        return operand.storage.kind != "lx", operand.index is None

    best: dict[str, Operand] = {}
    for operand in shape.outputs:
        if operand.value not in best or rank(operand) < rank(best[operand.value]):
            best[operand.value] = operand
    return list(best.values())


def store_tile(
    phase: Phase, origin: Mapping[str, Index], tile: Mapping[str, int], targets: Mapping[str, Buffered]
) -> None:
    """Emit the stores of a tile: every place in device memory a result goes to."""
    outgoing = [o for o in phase.shape.outputs if o.storage.kind != "lx"]
    if not outgoing:
        return
    with phase.emit.pipeline() as pipe, pipe.stage(phase.units.storer):
        for o in outgoing:
            source = targets[o.value]
            if o.index is not None:
                walk(phase, "headrace.scatter", o, source, origin, tile)
                continue
            order = [d for d in source.dims if d is not None]
            place = phase.memory.operand(o, phase.shape.extents, order)
            phase.emit.transfer(source.box({}, tile), place.box(origin, tile))


def _compute(
    phase: Phase,
    part: Part,
    origin: Mapping[str, Index],
    sources: Mapping[Operand, Buffered],
    targets: Mapping[str, Buffered],
) -> None:
    """Emit the work on one tile: one nest of rows, or statistics of long rows and then their chunks."""
    plan = phase.plan
    split = halves(phase.shape, plan.lane, phase.registers) if plan.chunk else None
    if split is None:
        _nest(phase, part, origin, sources, targets)
        return
    crossing = {o: targets.get(o.value) or buffers(phase, o, part.tile, 1)[0] for o in split.crossing}
    front = {**targets, **{o.value: b for o, b in crossing.items()}}
    _nest(replace(phase, shape=split.front), part, origin, sources, front)
    unit = {plan.lane: plan.chunk}
    chunked = replace(phase, shape=split.back, plan=replace(plan, step=plan.chunk))
    for piece in parts(part.tile, part.tile, unit):
        inner = {d: Index(start) for d, start, _, _ in piece.runs if d == plan.lane}
        size = Part(piece.runs, {d: n * count for d, _, count, n in piece.runs})
        moved = {o: shifted(b, inner) for o, b in {**sources, **crossing}.items()}
        at = {d: origin.get(d, Index(0)) + inner.get(d, Index(0)) for d in {**origin, **inner}}
        _nest(chunked, size, at, moved, {v: shifted(b, inner) for v, b in targets.items()})


def _nest(
    phase: Phase,
    part: Part,
    origin: Mapping[str, Index],
    sources: Mapping[Operand, Buffered],
    targets: Mapping[str, Buffered],
) -> None:
    emit, plan = phase.emit, phase.plan
    block = turned(phase.shape, plan.lane, part.tile, phase.device, plan.unit)
    if block is not None:
        build_turned(phase, block, part.tile, sources, targets)
        return
    lane, size = plan.lane, part.tile.get(plan.lane, 1)
    step = min(plan.step, size)
    point = {d: (size // step if d == lane else e) for d, e in part.tile.items()}
    moving = frozenset(d for d, e in point.items() if e > 1)
    made = step_of(phase.shape, lane, step, moving, phase.device, plan.unit)
    slots = rows.Slots(phase, lane, step, made)
    loops = Loops(phase, point, lane, {lane: step})
    with emit.corelets(phase.corelets) as cl:
        loops.shared_by(cl)
        _pipeline(phase, made, slots, loops, origin, sources, targets)


def _pipeline(
    phase: Phase,
    made: Step,
    slots: rows.Slots,
    loops: Loops,
    origin: Mapping[str, Index],
    sources: Mapping[Operand, Buffered],
    targets: Mapping[str, Buffered],
) -> None:
    emit, lane, step = phase.emit, slots.lane, slots.step
    with emit.pipeline(slots.all()) as pipe:
        with pipe.stage(phase.units.reader):
            for o in made.resident:
                emit.transfer(
                    sources[o].box({}, {lane: step}), (pipe.slot(slots.input(o)), slots.input(o).count)
                )
            if any(p.reads for p in made.passes):
                rows.read(phase, made, slots, pipe, loops, sources)
        with pipe.stage(phase.plan.unit):
            rows.compute(phase, made, slots, pipe, loops, origin)
        with pipe.stage(phase.units.writer):
            rows.write(phase, made, slots, pipe, loops, targets)
