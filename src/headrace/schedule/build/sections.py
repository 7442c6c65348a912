"""A long row of the vector unit in sections, so that other work fits between: every pass runs section by
section, reductions go on from the section before.

All passes but the last run whole before the first section of the last, in pieces of several sections: nothing
comes between, and every piece begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from xdsl.ir import SSAValue

from headrace.schedule.build import bodies
from headrace.schedule.build.emitter import Pipeline
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.rows import Row, Slots, receive, send
from headrace.schedule.build.vector import Phase
from headrace.schedule.phases.passes import Pass, Step, accumulator_dtype, has_lane, leaving
from headrace.schedule.phases.shape import Operand

At = Mapping[str, Index]


class Sections:
    """The emission of rows in `count` sections of `elements` lanes; passes before the last take `joined`
    sections at once.
    """

    def __init__(
        self, phase: Phase, made: Step, lane: str, elements: int, count: int, joined: int = 1
    ) -> None:
        self.phase, self.made, self.lane = phase, made, lane
        self.elements, self.count, self.joined = elements, count, joined
        self.slots = Slots(phase, lane, elements, made)
        self.wide = Slots(phase, lane, elements * joined, made)
        self.early, self.late = leaving(phase.shape, made)
        self._row: Row | None = None

    def _passes(self, section: int) -> Iterator[tuple[Pass, int, Slots]]:
        """The passes that run at a turn, with the section at which each stands and the slots of its size."""
        *front, last = self.made.passes
        if section == 0:
            yield from ((one, s, self.wide) for one in front for s in range(0, self.count, self.joined))
        yield last, section, self.slots

    def _moved(self, at: At, section: int) -> dict[str, Index]:
        return {**at, self.lane: at.get(self.lane, Index(0)) + section * self.elements}

    def _reads(self, one: Pass, section: int) -> list[Operand]:
        return [o for o in one.reads if section == 0 or has_lane(o, self.lane)]

    def read(self, pipe: Pipeline, at: At, section: int, sources: Mapping[Operand, Buffered]) -> None:
        """Emit what the reader sends for a section."""
        for one, number, slots in self._passes(section):
            for operand in self._reads(one, number):
                slot = slots.input(operand)
                box = sources[operand].box(self._moved(at, number), {self.lane: slots.step})
                self.phase.emit.transfer(box, (pipe.slot(slot), slot.count))

    def write(self, pipe: Pipeline, at: At, section: int, targets: Mapping[str, Buffered]) -> None:
        """Emit what the writer takes for a section, in the order in which it leaves."""
        is_last = section == self.count - 1
        for name in (*self.early, *(self.late if is_last else ())):
            slot = self.slots.output(name)
            box = targets[name].box(self._moved(at, section), {self.lane: slot.count})
            self.phase.emit.transfer((pipe.slot(slot), slot.count), box)

    def compute(self, pipe: Pipeline, at: At, section: int) -> None:
        """Emit the work of the vector unit on a section."""
        emit, slots = self.phase.emit, self.slots

        def give(values: Iterable[str]) -> None:
            for value in values:
                if value in self.early:
                    send(emit, pipe, slots.output(value), row.values[value])

        for one, number, size in self._passes(section):
            row = self._section(at, number, size.step)
            is_last = one is self.made.passes[-1]
            take = partial(self._take, pipe, size)
            self._run(row, one, number, take, give if is_last else None)
        if section == self.count - 1:
            for value in self.late:
                send(emit, pipe, slots.output(value), row.values[value])

    def _take(self, pipe: Pipeline, slots: Slots, operand: Operand) -> SSAValue:
        return receive(self.phase.emit, pipe, slots.input(operand))

    def _section(self, at: At, section: int, elements: int) -> Row:
        """The row that is being emitted, standing at a section."""
        moved = self._moved(at, section)
        made = Row(self.phase, self.made, elements, {}, lambda dim: moved.get(dim, Index(0)))
        if self._row is not None and section:
            made.received, made.values = self._row.received, self._row.values
        elif self._row is not None:
            made.values = self._row.values
        self._row = made
        return made

    def _run(
        self,
        row: Row,
        one: Pass,
        section: int,
        take: Callable[[Operand], SSAValue],
        give: Callable[[Iterable[str]], None] | None,
    ) -> None:
        """Emit a pass on a section; what it reduces is combined with what the sections before gave."""
        computes = [self.phase.shape.group.computes[c] for c in one.computes]
        reduced = [(o, c) for c in computes for o in c.outs if any(d.kind == "reduction" for d in c.dims)]
        before = {o.value: row.values[o.value] for o, _ in reduced} if section else {}
        row.run(self._reads(one, section), one.computes, take, give)
        for out, compute in reduced if section else ():
            dtype = accumulator_dtype(out, compute)

            def joined(args: list[SSAValue], out=out, dtype=dtype) -> list[SSAValue]:  # type: ignore[no-untyped-def]
                return [bodies.combine(self.phase.emit, out.combiner or "", dtype, *args)]

            pair = [before[out.value], row.values[out.value]]
            row.values[out.value] = bodies.generic(self.phase.emit, pair, [(1, dtype)], joined)[0]
