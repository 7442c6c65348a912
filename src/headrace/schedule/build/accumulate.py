"""One tile of a column phase: loops over its results and rows, slots, and the kinds of steps accumulators
take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from headrace.schedule.build import bodies, rows
from headrace.schedule.build.emitter import Pipeline, Slot
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.share import Share
from headrace.schedule.build.tiles import Part
from headrace.schedule.graph import Compute, Out
from headrace.schedule.phases.passes import Pass, Step, accumulator_dtype, covers, has_lane
from headrace.schedule.phases.shape import Operand

if TYPE_CHECKING:
    from headrace.schedule.build.column import Accumulator, Column

Sources = Mapping[Operand, Buffered]


class Tile:
    """One tile: results of `part` from the rows of `piece` (None: only accumulators are touched)."""

    def __init__(
        self,
        column: Column,
        part: Part,
        piece: Part | None,
        sources: Sources,
        origin: Mapping[str, Index],
    ) -> None:
        self.column, self.part, self.piece, self.sources = column, part, piece, sources
        self.origin = origin
        self.emit, self.lane = column.emit, column.lane
        lanes = (piece.tile if piece is not None else {}) if column.lane_is_reduced else part.tile
        self.step = min(column.plan.step, lanes.get(self.lane, column.plan.step))
        self.points = {d: e for d, e in part.tile.items() if d != self.lane}
        if not column.lane_is_reduced:
            self.points[self.lane] = part.tile[self.lane] // self.step
        self.depth = {d: e for d, e in (piece.tile if piece is not None else {}).items() if d != self.lane}
        if column.lane_is_reduced and piece is not None:
            self.depth[self.lane] = piece.tile[self.lane] // self.step
        units = column.phase.units
        self.reader, self.unit, self.writer = units.reader, units.vector, units.writer

    def input(self, operand: Operand) -> Slot:
        """Return the slot of an operand."""
        wide = has_lane(operand, self.lane) and not (
            operand in self.column.inits and self.column.lane_is_reduced
        )
        return Slot(self.reader, self.unit, self.step if wide else 1, operand.dtype)

    def output(self, value: str) -> Slot:
        """Return the slot of a result."""
        found = next(o for o in self.column.shape.outputs if o.value == value)
        return Slot(self.unit, self.writer, 1 if self.column.lane_is_reduced else self.step, found.dtype)

    def sums_in(self, accumulator: Accumulator) -> Slot:
        """Return the slot accumulators come through."""
        return Slot(self.reader, self.unit, self.step, accumulator.dtype)

    def sums_out(self, accumulator: Accumulator) -> Slot:
        """Return the slot accumulators leave through."""
        return Slot(self.unit, self.writer, self.step, accumulator.dtype)

    @contextmanager
    def each_point(self, share: Share | None, mark: str = "") -> Iterator[dict[str, Index]]:
        """Open loops over the results of the tile, this corelet's share if `share` is given."""
        split = max(self.points, key=lambda d: self.points[d], default=None)
        with ExitStack() as stack:
            at: dict[str, Index] = {}
            for dim, extent in self.points.items():
                first, count = (
                    share.of(extent) if share is not None and dim == split else (Index(0), Index(extent))
                )
                if count.terms or count.const != 1:
                    where = stack.enter_context(self.emit.loop(count, "r", mark)) + first
                else:
                    where = first
                at[dim] = where * self.step if dim == self.lane else where
            if share is not None and split is None:
                stack.enter_context(self.emit.loop(share.of(1)[1], "r", mark))
            yield at

    def rows_of(self, share: Share | None) -> tuple[str, Index, Index]:
        """Return the depth dim the corelets split, the first row and the count of this one."""
        split = max(self.depth, key=lambda d: self.depth[d])
        if share is None:
            return split, Index(0), Index(self.depth[split])
        return (split, *share.of(self.depth[split]))

    @contextmanager
    def each_row(self, chosen: tuple[str, Index, Index]) -> Iterator[dict[str, Index]]:
        """Open the point loops over the rows to combine."""
        split, first, count = chosen
        with ExitStack() as stack:
            at: dict[str, Index] = {}
            for dim in self._order(split, count):
                number = stack.enter_context(
                    self.emit.loop(count if dim == split else self.depth[dim], "r", "parallel_loop")
                )
                where = number + first if dim == split else number
                at[dim] = where * self.step if dim == self.lane else where
            yield at

    def _order(self, split: str, count: Index) -> list[str]:
        """Return the depth dims from the outermost loop inwards: one the corelets share out comes first, so
        that the number of a row is divided by extents of whole dims alone.
        """
        is_shared = count != Index(self.depth[split])
        return sorted(self.depth, key=lambda d: is_shared and d != split)

    def moving(self) -> list[Operand]:
        """Operands that change from row to row."""
        found = [o for o in self.column.shape.inputs if o not in self.column.inits]
        return [o for o in found if set(o.surface.dims) & set(self.depth)]

    def fixed(self) -> list[Operand]:
        """Operands equal for all rows of a result."""
        found = [o for o in self.column.shape.inputs if o not in self.column.inits]
        return [o for o in found if o not in self.moving()]

    def transfer_in(self, pipe: Pipeline, operand: Operand, at: Mapping[str, Index]) -> None:
        """Emit one message of an operand."""
        slot = self.input(operand)
        self.emit.transfer(
            self.sources[operand].box(at, {self.lane: slot.count}), (pipe.slot(slot), slot.count)
        )

    def direct(self, targets: Mapping[str, Buffered]) -> None:
        """Emit the whole reduction of every result of the tile."""
        with self.emit.corelets(self.column.phase.corelets) as cl:
            share = Share(self.emit, cl, self.column.phase.corelets)
            with self.each_point(share) as at:
                self._combine(None, None, None, at, targets)

    def accumulate(self, sums: list[Buffered]) -> None:
        """Emit the combination of a tile's rows into the accumulators."""
        column = self.column
        with self.emit.corelets(column.phase.corelets) as cl:
            share = Share(self.emit, cl, column.phase.corelets)
            with self.each_point(None if column.by_depth else share) as at:
                part = cl if column.by_depth else Index(0)
                self._combine(sums, part, share if column.by_depth else None, at, None)

    def fill(self, sums: list[Buffered]) -> None:
        """Emit the start values of the accumulators."""
        column = self.column
        slots = [self.sums_out(a) for a in column.accumulators]
        with self.emit.corelets(column.phase.corelets) as cl:
            share = None if column.by_depth else Share(self.emit, cl, column.phase.corelets)
            part = cl if column.by_depth else Index(0)
            with self.emit.pipeline(slots) as pipe:
                with pipe.stage(self.unit), self.each_point(share, "parallel_loop"):
                    for a, slot in zip(column.accumulators, slots, strict=True):
                        number = bodies.neutral(a.out.combiner or "", a.dtype)
                        rows.send(
                            self.emit, pipe, slot, bodies.filled(self.emit, number, (self.step,), a.dtype)
                        )
                with pipe.stage(self.writer), self.each_point(share, "parallel_loop") as at:
                    for slot, buffer in zip(slots, sums, strict=True):
                        box = buffer.box({**at, "part": part}, {self.lane: self.step})
                        self.emit.transfer((pipe.slot(slot), self.step), box)

    def _combine(
        self,
        sums: list[Buffered] | None,
        part: Index | None,
        share: Share | None,
        at: Mapping[str, Index],
        targets: Mapping[str, Buffered] | None,
    ) -> None:
        """Emit one result's pipeline: rows of this tile into accumulators that come from and go to `sums`,
        or end.
        """
        emit, column = self.emit, self.column
        chosen = self.rows_of(share)
        moving, fixed = self.moving(), self.fixed()
        inits = column.inits if targets is not None else []
        slots = [self.input(o) for o in (*fixed, *inits, *moving)]
        if sums is not None:
            slots += [s for a in column.accumulators for s in (self.sums_in(a), self.sums_out(a))]
        slots += [self.output(v) for v in targets or {}]
        place = {**at, **({"part": part} if part is not None else {})}
        with emit.pipeline(slots) as pipe:
            with pipe.stage(self.reader):
                for operand in (*fixed, *inits):
                    self.transfer_in(pipe, operand, at)
                for a, buffer in zip(column.accumulators, sums or [], strict=False):
                    slot = self.sums_in(a)
                    emit.transfer(buffer.box(place, {self.lane: self.step}), (pipe.slot(slot), slot.count))
                if moving:
                    with self.each_row(chosen) as row:
                        for operand in moving:
                            self.transfer_in(pipe, operand, {**at, **row})
            with pipe.stage(self.unit):
                self._vector(pipe, (fixed, inits, moving), chosen, at, sums is not None, targets)
            with pipe.stage(self.writer):
                for a, buffer in zip(column.accumulators, sums or [], strict=False):
                    slot = self.sums_out(a)
                    emit.transfer((pipe.slot(slot), slot.count), buffer.box(place, {self.lane: self.step}))
                for value, target in (targets or {}).items():
                    slot = self.output(value)
                    emit.transfer((pipe.slot(slot), slot.count), target.box(at, {self.lane: slot.count}))

    def _vector(
        self,
        pipe: Pipeline,
        operands: tuple[list[Operand], list[Operand], list[Operand]],
        chosen: tuple[str, Index, Index],
        at: Mapping[str, Index],
        from_sums: bool,
        targets: Mapping[str, Buffered] | None,
    ) -> None:
        emit, column = self.emit, self.column
        fixed, inits, moving = operands
        known = {o: rows.receive(emit, pipe, self.input(o)) for o in (*fixed, *inits)}
        if from_sums:
            starts = [rows.receive(emit, pipe, self.sums_in(a)) for a in column.accumulators]
        else:
            starts = [self._start(a) for a in column.accumulators]
        before = self._row(known, at, {})
        for number in self._fixed_computes():
            before.evaluate(number, column.shape.group.computes[number])
        split, _, count = chosen
        others = prod(e for d, e in self.depth.items() if d != split)
        with emit.reduction_loop(count * others, starts) as loop:
            row = self._row(known, at, self._coordinates(loop.number, chosen))
            row.values |= before.values
            for operand in moving:
                row.received[operand] = rows.receive(emit, pipe, self.input(operand))
            loop.yielded += self._combined(row, loop.carried)
        if targets is None:
            for a, value in zip(column.accumulators, loop.results, strict=True):
                rows.send(emit, pipe, self.sums_out(a), value)
        else:
            self._results(pipe, known, loop.results, targets)

    def _fixed_computes(self) -> list[int]:
        """Computes equal for all rows of a result: they read nothing that changes from row to row."""
        found: list[int] = []
        changing: set[str] = set()
        group, reads = self.column.shape.group, self.column.shape.reads
        for number, compute in enumerate(group.computes):
            moves = any(a.value in changing for i, a in enumerate(compute.ins) if (number, i) not in reads)
            moves |= any(reads.get((number, i)) in self.moving() for i in range(len(compute.ins)))
            moves |= any(s.op == "index" for s in compute.body) or any(
                d.kind == "reduction" for d in compute.dims
            )
            if moves:
                changing |= {o.value for o in compute.outs}
            else:
                found.append(number)
        return found

    def _start(self, accumulator: Accumulator) -> SSAValue:
        number = bodies.neutral(accumulator.out.combiner or "", accumulator.dtype)
        return bodies.filled(self.emit, number, (self.step,), accumulator.dtype)

    def _coordinates(self, number: Index, chosen: tuple[str, Index, Index]) -> dict[str, Index]:
        """The tile coordinates of row `number` of the flattened rows; only "index" entries read them."""
        if not any(s.op == "index" for c in self.column.shape.group.computes for s in c.body):
            return {}
        found: dict[str, Index] = {}
        split, first, count = chosen
        outer, *others = self._order(split, count)
        inner = 1
        for dim in (*reversed(others), outer):
            rest = number if inner == 1 else self.emit.quotient(number, inner)
            if dim != outer:
                rest = self.emit.remainder(rest, self.depth[dim])
            where = rest + first if dim == split else rest
            found[dim] = where * self.step if dim == self.lane else where
            inner *= self.depth[dim]
        return found

    def _row(
        self, known: Mapping[Operand, SSAValue], at: Mapping[str, Index], row: Mapping[str, Index]
    ) -> rows.Row:
        computes = self.column.shape.group.computes
        vectors = tuple(covers(c, self.column.shape, self.lane) for c in computes)
        place = {**at, **row}
        origin = self.origin
        return rows.Row(
            self.column.phase,
            Step((), (Pass((), ()),), vectors),
            self.step,
            known,
            lambda d: origin.get(d, Index(0)) + place.get(d, Index(0)),
        )

    def _combined(self, row: rows.Row, carried: list[SSAValue]) -> list[SSAValue]:
        """Emit one row: the pointwise Computes, then every accumulator combined with what the row brings."""
        found: list[SSAValue] = []
        fixed = self._fixed_computes()
        for number, compute in enumerate(self.column.shape.group.computes):
            if number in fixed:
                continue
            if any(d.kind == "reduction" for d in compute.dims):
                found += self._folded(compute, row.mapped(number, compute), carried[len(found) :])
            else:
                row.evaluate(number, compute)
        return found

    def _folded(self, compute: Compute, values: list[SSAValue], carried: list[SSAValue]) -> list[SSAValue]:
        made: list[SSAValue] = []
        for out, value, before in zip(compute.outs, values, carried, strict=False):
            dtype = accumulator_dtype(out, compute)

            def fold(args: list[SSAValue], out: Out = out, dtype: str = dtype) -> list[SSAValue]:
                return [bodies.combine(self.emit, out.combiner or "", dtype, args[0], args[1])]

            made += bodies.generic(self.emit, [before, value], [(self.step, dtype)], fold)
        return made

    def _results(
        self,
        pipe: Pipeline,
        known: Mapping[Operand, SSAValue],
        values: list[SSAValue],
        targets: Mapping[str, Buffered],
    ) -> None:
        """Emit results from complete accumulators: lanes combined if they are reduced too, start value,
        type.
        """
        emit, column = self.emit, self.column
        row = self._row(known, {}, {})
        made: dict[str, SSAValue] = {}
        for a, value in zip(column.accumulators, values, strict=True):
            elements = self.step
            if column.lane_is_reduced:
                start = bodies.neutral(a.out.combiner or "", a.dtype)
                value, elements = bodies.reduce_row(emit, value, a.out.combiner or "", a.dtype, start), 1
            value = self._started(a, value, elements)
            compute = column.shape.group.computes[a.compute]
            made[a.out.value] = row.finished(a.compute, a.position, compute, value, elements)
        for name in targets:
            rows.send(emit, pipe, self.output(name), made[name])

    def _started(self, a: Accumulator, value: SSAValue, elements: int) -> SSAValue:
        """Combine with an initial value that is a number and not the neutral one."""
        init = a.out.init
        if not isinstance(init, int | float) or init == bodies.neutral(a.out.combiner or "", a.dtype):
            return value

        def fill(args: list[SSAValue]) -> list[SSAValue]:
            start = bodies.constant(self.emit, init, a.dtype)
            return [bodies.combine(self.emit, a.out.combiner or "", a.dtype, start, args[0])]

        return bodies.generic(self.emit, [value], [(elements, a.dtype)], fill)[0]

    def finish(self, sums: list[Buffered], targets: Mapping[str, Buffered]) -> None:
        """Emit the results from the accumulators, the parts of the corelets combined first."""
        emit, column = self.emit, self.column
        count = column.phase.corelets if column.by_depth else 1
        slots = [self.input(o) for o in column.inits] + [self.sums_in(a) for a in column.accumulators]
        slots += [self.output(v) for v in targets]
        with emit.corelets(column.phase.corelets) as cl:
            share = Share(emit, cl, column.phase.corelets)
            with self.each_point(share) as at, emit.pipeline(slots) as pipe:
                with pipe.stage(self.reader):
                    for operand in column.inits:
                        self.transfer_in(pipe, operand, at)
                    with emit.loop(count, "r", "parallel_loop") as part:
                        for a, buffer in zip(column.accumulators, sums, strict=True):
                            slot = self.sums_in(a)
                            box = buffer.box({**at, "part": part}, {self.lane: self.step})
                            emit.transfer(box, (pipe.slot(slot), slot.count))
                with pipe.stage(self.unit):
                    self._merge(pipe, count, targets)
                with pipe.stage(self.writer):
                    for value, target in targets.items():
                        slot = self.output(value)
                        emit.transfer((pipe.slot(slot), slot.count), target.box(at, {self.lane: slot.count}))

    def _merge(self, pipe: Pipeline, count: int, targets: Mapping[str, Buffered]) -> None:
        emit, column = self.emit, self.column
        known = {o: rows.receive(emit, pipe, self.input(o)) for o in column.inits}
        starts = [self._start(a) for a in column.accumulators]
        with emit.reduction_loop(count, starts) as loop:
            values = [rows.receive(emit, pipe, self.sums_in(a)) for a in column.accumulators]
            for a, value, before in zip(column.accumulators, values, loop.carried, strict=True):
                compute = column.shape.group.computes[a.compute]
                loop.yielded += self._folded(_only(compute, a.position), [value], [before])
        self._results(pipe, known, loop.results, targets)


def _only(compute: Compute, position: int) -> Compute:
    return replace(compute, outs=(compute.outs[position],))
