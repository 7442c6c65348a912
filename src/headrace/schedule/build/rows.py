"""The vector unit's side of a vector phase: receive a row, evaluate the passes, send the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects import builtin
from xdsl.ir import SSAValue

from headrace.numbers.dtypes import is_float
from headrace.schedule.build import bodies, mlir
from headrace.schedule.build.emitter import INDEX, Emitter, Pipeline, Slot
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.graph import Compute, Scalar
from headrace.schedule.phases.bodyops import coordinate
from headrace.schedule.phases.combiners import ring_combiner
from headrace.schedule.phases.passes import Step, accumulator_dtype, has_lane, leaving
from headrace.schedule.phases.shape import Operand
from headrace.schedule.ring import by_corelet, hops, ring_entry

if TYPE_CHECKING:
    from headrace.schedule.build.vector import Phase


def selected(emit: Emitter, buffers: Sequence[Buffered], *loops: Index) -> Buffered:
    """Return the copy of a rotating buffer that is used in this iteration of the loops of these variables."""
    if len(buffers) == 1:
        return buffers[0]
    phases = builtin.IntegerAttr(len(buffers), builtin.i64)
    phase = emit.add(
        mlir.make("ktdf.buffer_phase", [*map(emit.value, loops)], (INDEX,), {"num_phases": phases}), "phase"
    )
    memories = [b.memory for b in buffers]
    made = emit.add(mlir.make("ktdf.select_memref", [phase, *memories], [memories[0].type]), "copy")
    indices = [b.index for b in buffers if b.index is not None]
    return Buffered(
        made, buffers[0].dims, buffers[0].base, selected(emit, indices, *loops) if indices else None
    )


class Slots:
    """The FIFO slots of a vector phase: one for each (channel, message type)."""

    def __init__(self, phase: Phase, lane: str, step: int, made: Step) -> None:
        self.units, self.device, self.shape = phase.units, phase.device, phase.shape
        self.lane, self.step, self.made = lane, step, made

    def input(self, operand: Operand) -> Slot:
        """Return the slot of an operand's messages."""
        return Slot(
            self.units.reader,
            self.units.vector,
            self.step if has_lane(operand, self.lane) else 1,
            operand.dtype,
        )

    def output(self, value: str) -> Slot:
        """Return the slot of a result's messages."""
        found = next(o for o in self.shape.outputs if o.value == value)
        return Slot(
            self.units.vector, self.units.writer, self.step if has_lane(found, self.lane) else 1, found.dtype
        )

    def ring(self, number: int, compute: Compute) -> Slot | None:
        """Return the slot on which a Compute passes values between cores, None if it does not."""
        entry = ring_entry(compute)
        if entry is None:
            return None
        count = self.step if self.made.is_vector[number] else 1
        kind = self.units.vector
        return Slot(kind, kind, count, entry.dtype, by_corelet(entry, self.device, kind))

    def all(self) -> list[Slot]:
        """Return every slot once."""
        computes = enumerate(self.shape.group.computes)
        passed = [slot for n, c in computes if (slot := self.ring(n, c)) is not None]
        reads = [*self.made.resident, *(o for p in self.made.passes for o in p.reads)]
        return list(
            dict.fromkeys(
                [*map(self.input, reads), *(self.output(o.value) for o in self.shape.outputs), *passed]
            )
        )


def receive(emit: Emitter, pipe: Pipeline, slot: Slot, shape: tuple[int, ...] | None = None) -> SSAValue:
    """Append a read_from_fifo."""
    result = mlir.tensor(shape or (slot.count,), slot.dtype)
    return emit.add(mlir.make("ktdf.read_from_fifo", [pipe.slot(slot)], [result]))


def send(emit: Emitter, pipe: Pipeline, slot: Slot, value: SSAValue) -> None:
    """Append a write_to_fifo."""
    emit.block.add_op(mlir.make("ktdf.write_to_fifo", [value, pipe.slot(slot)]))


def compute(
    phase: Phase, made: Step, slots: Slots, pipe: Pipeline, loops: Nest, origin: Mapping[str, Index]
) -> None:
    """Emit the stage of the vector unit."""
    emit = phase.emit
    known: dict[Operand, SSAValue] = {o: receive(emit, pipe, slots.input(o)) for o in made.resident}
    with loops.nest() as at:
        row = Row(
            phase, made, slots.step, known, lambda dim: origin.get(dim, Index(0)) + at.get(dim, Index(0))
        )
        row.ring = Ring(phase.emit, pipe, slots)
        early, late = leaving(phase.shape, made)

        def send_early(values: Iterable[str]) -> None:
            for value in values:
                if value in early:
                    send(emit, pipe, slots.output(value), row.values[value])

        for number, one in enumerate(made.passes, 1):
            done = send_early if number == len(made.passes) else None
            row.run(one.reads, one.computes, lambda o: receive(emit, pipe, slots.input(o)), done)
        for value in late:
            send(emit, pipe, slots.output(value), row.values[value])


class Nest(Protocol):
    """The loops around a row."""

    def nest(self) -> AbstractContextManager[Mapping[str, Index]]:
        """Open the loops; yields the coordinates of the row."""


def read(
    phase: Phase,
    made: Step,
    slots: Slots,
    pipe: Pipeline,
    loops: Nest,
    sources: Mapping[Operand, Buffered],
) -> None:
    """Emit what the reader sends for every row: its operands, pass by pass."""
    with loops.nest() as at:
        for one in made.passes:
            for o in one.reads:
                target = (pipe.slot(slots.input(o)), slots.input(o).count)
                phase.emit.transfer(sources[o].box(at, {slots.lane: slots.step}), target)


def write(
    phase: Phase,
    made: Step,
    slots: Slots,
    pipe: Pipeline,
    loops: Nest,
    targets: Mapping[str, Buffered],
) -> None:
    """Emit what the writer takes for every row, in the order in which it leaves."""
    early, late = leaving(phase.shape, made)
    with loops.nest() as at:
        for name in (*early, *late):
            slot = slots.output(name)
            target = targets[name].box(at, {slots.lane: slot.count})
            phase.emit.transfer((pipe.slot(slot), slot.count), target)


class Ring:
    """The vector unit's side of what passes between cores."""

    def __init__(self, emit: Emitter, pipe: Pipeline, slots: Slots) -> None:
        self.emit, self.pipe, self.slots = emit, pipe, slots

    def passed(self, number: int, compute: Compute, own: SSAValue) -> SSAValue:
        """Emit a Compute of one entry "ring.NAME": send on what came last, add it to the own sum."""
        slot, entry = self.slots.ring(number, compute), ring_entry(compute)
        assert slot is not None and entry is not None and len(compute.body) == 2
        combining = ring_combiner(entry, entry.dtype)
        wide = "f32" if entry.op in ("ring.add", "ring.mul") and is_float(entry.dtype) else entry.dtype
        send(self.emit, self.pipe, slot, own)
        total = self._cast(own, slot.count, entry.dtype, wide)
        for left in reversed(range(hops(entry))):
            visitor = receive(self.emit, self.pipe, slot)
            if left:  # the next core waits for it
                send(self.emit, self.pipe, slot, visitor)
            if combining is None:
                return visitor
            total = self._combined(combining, total, visitor, slot.count, entry.dtype, wide)
        return self._cast(total, slot.count, wide, entry.dtype)

    def _cast(self, value: SSAValue, count: int, source: str, target: str) -> SSAValue:
        if source == target:
            return value
        wanted = [(count, target)]
        return bodies.generic(
            self.emit, [value], wanted, lambda args: [bodies.converted(self.emit, args[0], source, target)]
        )[0]

    def _combined(
        self, name: str, total: SSAValue, other: SSAValue, count: int, dtype: str, wide: str
    ) -> SSAValue:
        def fill(args: list[SSAValue]) -> list[SSAValue]:
            arrived = bodies.converted(self.emit, args[1], dtype, wide)
            return [bodies.apply(self.emit, name, [args[0], arrived], wide)]

        return bodies.generic(self.emit, [total, other], [(count, wide)], fill)[0]


class Row:
    """One step being emitted: tensors by value name, and what is received in its passes."""

    def __init__(
        self,
        phase: Phase,
        made: Step,
        elements: int,
        known: Mapping[Operand, SSAValue],
        where: Callable[[str], Index],
    ) -> None:
        self.phase, self.made, self.elements, self.where = phase, made, elements, where
        self.received: dict[Operand, SSAValue] = dict(known)
        self.values: dict[str, SSAValue] = {}
        self.lane = phase.plan.lane
        self.ring: Ring | None = None

    def run(
        self,
        reads: Sequence[Operand],
        computes: Sequence[int],
        receive_one: Callable[[Operand], SSAValue],
        done: Callable[[Iterable[str]], None] | None = None,
    ) -> None:
        """Emit one pass; `done` hears the values of every Compute as soon as they are there."""
        for operand in reads:
            self.received[operand] = receive_one(operand)
        for number in computes:
            compute = self.phase.shape.group.computes[number]
            self.evaluate(number, compute)
            if done is not None:
                done(o.value for o in compute.outs)

    def evaluate(self, number: int, compute: Compute) -> None:
        """Emit one Compute: its pointwise part, then its reductions."""
        reduces = any(d.kind == "reduction" for d in compute.dims)
        for o, (out, row) in enumerate(zip(compute.outs, self.mapped(number, compute), strict=True)):
            self.values[out.value] = self._reduced(number, o, compute, row) if reduces else row

    def mapped(self, number: int, compute: Compute) -> list[SSAValue]:
        """Emit the pointwise part of a Compute; rows to be reduced come in the accumulator's type."""
        elements = self.elements if self.made.is_vector[number] else 1
        operands = [self.operand(number, i, compute) for i in range(len(compute.ins))]
        if ring_entry(compute) is not None:
            assert self.ring is not None
            return [self.ring.passed(number, compute, operands[0])]
        reduces = any(d.kind == "reduction" for d in compute.dims)
        if reduces and _is_plain(compute):
            return [operands[compute.body[out.result].attr] for out in compute.outs]  # type: ignore[call-overload]
        wanted = [(elements, self._pointwise_dtype(compute, o)) for o in range(len(compute.outs))]
        extra = [] if reduces else list(self._inits(number, compute).values())
        return bodies.generic(
            self.phase.emit, operands + extra, wanted, lambda args: self._body(number, compute, args)
        )

    def operand(self, number: int, position: int, compute: Compute) -> SSAValue:
        """Return the tensor of an input: received, or computed before in this row."""
        found = self.phase.shape.reads.get((number, position))
        return self.received[found] if found is not None else self.values[compute.ins[position].value]

    def _inits(self, number: int, compute: Compute) -> dict[int, SSAValue]:
        """The received initial values by result number."""
        found = {o: self.phase.shape.reads.get((number, -1 - o)) for o in range(len(compute.outs))}
        return {o: self.received[read] for o, read in found.items() if read is not None}

    def _pointwise_dtype(self, compute: Compute, position: int) -> str:
        out = compute.outs[position]
        reduces = any(d.kind == "reduction" for d in compute.dims)
        return accumulator_dtype(out, compute) if reduces else compute.body[out.result].dtype

    def _body(self, number: int, compute: Compute, args: Sequence[SSAValue]) -> list[SSAValue]:
        emit = self.phase.emit
        taken = [out.result for out in compute.outs]
        found = bodies.evaluate(emit, compute.body, dict(enumerate(args)), self.coordinate, taken)
        results = []
        reduces = any(d.kind == "reduction" for d in compute.dims)
        inits = {} if reduces else self._inits(number, compute)
        starts = dict(zip(inits, args[len(compute.ins) :], strict=True))
        for o, out in enumerate(compute.outs):
            value = found[out.result]
            own, wanted = compute.body[out.result].dtype, self._pointwise_dtype(compute, o)
            if own != wanted:
                value = bodies.apply(emit, "arith.extf", [value], wanted)
            if out.combiner is not None and not reduces and isinstance(out.init, int | float):
                start = bodies.constant(emit, out.init, wanted)
                value = bodies.combine(emit, out.combiner, wanted, start, value)
            if out.combiner is not None and not reduces and o in starts:
                value = bodies.combine(emit, out.combiner, wanted, starts[o], value)
            results.append(value)
        return results

    def coordinate(self, entry: Scalar) -> tuple[SSAValue | None, bool]:
        """Return the index an "index" entry adds up to, outside the lane number."""
        dim, offset = coordinate(entry)
        found = self.phase.memory.number(offset)
        if dim is None:
            return self.phase.emit.value(found), False
        found = found + self.where(dim)
        is_lane = dim == self.lane
        if is_lane and not found.terms and found.const == 0:
            return None, True
        return self.phase.emit.value(found), is_lane

    def _reduced(self, number: int, position: int, compute: Compute, row: SSAValue) -> SSAValue:
        out = compute.outs[position]
        wide = accumulator_dtype(out, compute)
        found = bodies.reduce_row(self.phase.emit, row, out.combiner or "", wide, bodies.start_of(out, wide))
        return self.finished(number, position, compute, found, 1)

    def finished(
        self, number: int, position: int, compute: Compute, found: SSAValue, elements: int
    ) -> SSAValue:
        """Emit what makes an accumulator the result: the initial value from memory, the result's type."""
        emit, out = self.phase.emit, compute.outs[position]
        wide, own = accumulator_dtype(out, compute), compute.body[out.result].dtype
        init = self.phase.shape.reads.get((number, -1 - position))
        if wide == own and init is None:
            return found
        operands = [found] + ([self.received[init]] if init is not None else [])

        def fill(args: list[SSAValue]) -> list[Any]:
            value = args[0]
            if init is not None:
                value = bodies.combine(
                    emit, out.combiner or "", wide, bodies.converted(emit, args[1], own, wide), value
                )
            return [bodies.converted(emit, value, wide, own)]

        return bodies.generic(emit, operands, [(elements, own)], fill)[0]


def _is_plain(compute: Compute) -> bool:
    """Whether every result of a reduction is an input as it is."""
    return all(
        compute.body[o.result].op == "in" and accumulator_dtype(o, compute) == compute.body[o.result].dtype
        for o in compute.outs
    )
