"""The blocks of one contraction tile: weights become resident, rows stream past them, partial sums loop
through LX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import builtin
from xdsl.ir import SSAValue

from headrace.numbers.dtypes import is_float
from headrace.schedule.build import bodies, mlir, rows
from headrace.schedule.build.beside import Guest, Rows, walk
from headrace.schedule.build.emitter import Box, Emitter, Pipeline, Slot
from headrace.schedule.build.epilogues import alike
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.share import Share
from headrace.schedule.build.vector import Phase
from headrace.schedule.phases.contraction import Roles, result_dtype
from headrace.schedule.phases.passes import Pass, Step, covers, has_lane
from headrace.schedule.phases.peaks import GRAIN, peaks_of
from headrace.schedule.phases.shape import Operand


@dataclass(frozen=True)
class Blocks:
    """A tile of factors in the scratchpad and what its blocks read and write besides."""

    phase: Phase
    roles: Roles
    columns: int
    sums: str
    rows: Buffered
    weights: Buffered
    psum: SSAValue | None
    extras: Mapping[Operand, Buffered]
    outs: Mapping[str, Buffered]
    origin: Mapping[str, Index]
    guest: Guest | None = None
    complete: tuple[SSAValue, ...] = ()
    """The sums of other products that the epilogue reads."""


@dataclass(frozen=True)
class Block:
    """Depth [at, at + extent) of the tile against rows [first, first + count); flags as in `Run`; it is chunk
    `number` of the depth.
    """

    at: Index
    extent: int
    first: Index
    count: int
    is_first: bool
    is_last: bool
    number: Index = Index(0)


def emit_blocks(tile: Blocks, block: Block) -> None:
    """Emit all column blocks of a chunk; the corelets take column blocks if the plan says so, else rows."""
    emit, width = tile.phase.emit, min(tile.phase.plan.blocks["columns"], tile.columns)
    whole, rest = divmod(tile.columns, width)
    with emit.corelets(tile.phase.corelets) as cl:
        by_columns = tile.phase.plan.split == "columns"
        share = Share(emit, cl, tile.phase.corelets)
        all_rows = Rows(Index(0), Index(block.count))
        some_rows = all_rows if by_columns else Rows(*share.of(block.count))
        first, count = share.of(whole) if by_columns else (Index(0), Index(whole))
        for part, begin, times in alike(tile, block, width, (first, count), cl):
            with _blocks(emit, begin, times) as number:
                found = some_rows
                if tile.guest is not None:
                    found = tile.guest.among(block.count, block.number, block.is_last, number * width, cl)
                _pipeline(part, block, number * width, width, found)
        if rest:
            found = Rows(*share.of(block.count)) if by_columns else some_rows
            _pipeline(tile, block, Index(whole * width), rest, found)


@contextmanager
def _blocks(emit: Emitter, first: Index, count: Index) -> Iterator[Index]:
    if not count.terms and count.const == 1:
        yield first
        return
    with emit.loop(count, "nb") as number:
        yield number + first


@dataclass(frozen=True)
class Message:
    """What a reader sends: through a slot, from a box that may depend on the row."""

    slot: Slot
    source: Buffered
    sizes: Mapping[str, int]
    fixed: Mapping[str, Index]
    rows: tuple[str, Index] | None = None
    order: tuple[str, ...] | None = None

    def box(self, row: Index) -> Box:
        """Return the box for a row of the nest."""
        at = dict(self.fixed)
        if self.rows is not None:
            dim, start = self.rows
            at[dim] = start + row
        return self.source.box(at, self.sizes, self.order)


class _Plumbing:
    """Slots and messages of one block."""

    def __init__(self, tile: Blocks, block: Block, column: Index, width: int) -> None:
        self.tile, self.block, self.column, self.width = tile, block, column, width
        units, unit = tile.phase.units, tile.phase.plan.unit
        self.is_matrix = unit != units.vector
        feeds = units.feeds
        self.readers = (
            (feeds.weights.kind, feeds.activations.kind, feeds.partial_sums.kind)
            if self.is_matrix and feeds is not None
            else (units.reader,) * 3
        )
        self.unit, self.vector, self.writer = unit, units.vector, units.writer
        depth, dtypes = block.extent, (tile.roles.rows.dtype, tile.roles.weights.dtype)
        self.row_slot = Slot(self.readers[1], unit, depth, dtypes[0])
        self.weight_slot = Slot(self.readers[0], unit, depth * width, dtypes[1])
        self.sum_slot = Slot(self.readers[2], unit, width, tile.sums)
        self.between = Slot(unit, self.vector, width, tile.sums)
        self.back = Slot(self.vector, self.writer, width, tile.sums)
        self.complete = Slot(units.reader, self.vector, width, tile.sums)
        self.peaks = peaks_of(tile.phase.shape.group)

    def extra_slot(self, operand: Operand) -> Slot:
        """Return the slot of an epilogue operand."""
        wide = has_lane(operand, self.tile.roles.column)
        return Slot(self.tile.phase.units.reader, self.vector, self.width if wide else 1, operand.dtype)

    def out_slot(self, value: str) -> Slot:
        """Return the slot of a result."""
        found = next(o for o in self.tile.phase.shape.outputs if o.value == value)
        return Slot(self.vector, self.writer, 1 if value in self.peaks else self.width, found.dtype)

    def resident(self) -> list[Operand]:
        """Epilogue operands equal for all rows."""
        row = self.tile.roles.row
        return [o for o in self.tile.extras if not row or not o.surface.stride(row)]

    def streamed(self) -> list[Operand]:
        """Epilogue operands received once a row."""
        kept = self.resident()
        return [o for o in self.tile.extras if o not in kept]

    def once(self) -> list[Message]:
        """Messages before the row loop."""
        roles, block = self.tile.roles, self.block
        fixed = {roles.depth: block.at, roles.column: self.column}
        sizes = {roles.depth: block.extent, roles.column: self.width}
        order = (roles.depth, roles.column)
        found = [Message(self.weight_slot, self.tile.weights, sizes, fixed, order=order)]
        return found + [self._extra(o, None) for o in (self.resident() if block.is_last else [])]

    def each_row(self) -> list[Message]:
        """Messages of one row, in the order of the receiving units."""
        roles, block = self.tile.roles, self.block
        fixed = {roles.depth: block.at}
        found = [
            Message(
                self.row_slot, self.tile.rows, {roles.depth: block.extent}, fixed, (roles.row, block.first)
            )
        ]
        if not block.is_first:
            found.append(
                Message(self.sum_slot, self.sums(), {"n": self.width}, {"n": self.column}, ("m", block.first))
            )
        for memory in self.tile.complete:
            sums, at = self._sums(memory), {"n": self.column}
            found.append(Message(self.complete, sums, {"n": self.width}, at, ("m", block.first)))
        return found + [
            self._extra(o, (roles.row, Index(0))) for o in (self.streamed() if block.is_last else [])
        ]

    def _extra(self, operand: Operand, row: tuple[str, Index] | None) -> Message:
        column = self.tile.roles.column
        slot = self.extra_slot(operand)
        return Message(slot, self.tile.extras[operand], {column: slot.count}, {column: self.column}, row)

    def sums(self) -> Buffered:
        """Return the partial sums as a buffer of rows and columns."""
        assert self.tile.psum is not None
        return self._sums(self.tile.psum)

    def _sums(self, memory: SSAValue) -> Buffered:
        return Buffered(memory, ("m", "n"), (Index(0), Index(0)))

    def slots(self) -> list[Slot]:
        """Return every slot of the block."""
        found = [m.slot for m in (*self.once(), *self.each_row())]
        if self.is_matrix:
            found.append(self.between)
        if self.block.is_last:
            return [*found, *(self.out_slot(v) for v in self.tile.outs)]
        return [*found, self.back]


def _pipeline(tile: Blocks, block: Block, column: Index, width: int, found: Rows) -> None:
    emit = tile.phase.emit
    work = _Plumbing(tile, block, column, width)
    once, each = work.once(), work.each_row()
    guest = found.guest
    slots = [*work.slots(), *(guest.slots if guest is not None else ())]
    readers = [m.slot.source for m in (*once, *each)]
    if guest is not None:
        readers = [tile.phase.units.reader, *readers]
    with emit.pipeline(slots) as pipe:
        for unit in dict.fromkeys(readers):
            with pipe.stage(unit):
                _read(emit, pipe, unit, tile.phase, once, each, found)
        if work.is_matrix:
            with pipe.stage(work.unit):
                _matrix(emit, pipe, work, found)
        with pipe.stage(work.vector):
            _vector(emit, pipe, work, found)
        with pipe.stage(work.writer):
            walk(
                emit,
                found,
                lambda row: _write(emit, pipe, work, row),
                lambda guest, at, section: guest.write(pipe, at, section),
            )


def _read(
    emit: Emitter,
    pipe: Pipeline,
    unit: str,
    phase: Phase,
    once: list[Message],
    each: list[Message],
    found: Rows,
) -> None:
    """What one reader sends; partial sums go ahead of the guest's row, for the products made beside it, what
    their epilogues read behind it, as the vector unit takes both.
    """
    for message in once:
        if message.slot.source == unit:
            emit.transfer(message.box(Index(0)), (pipe.slot(message.slot), message.slot.count))
    mine = [m for m in each if m.slot.source == unit]

    def sending(messages: list[Message]) -> Callable[[Index], None] | None:
        def send(row: Index) -> None:
            for message in messages:
                emit.transfer(message.box(row), (pipe.slot(message.slot), message.slot.count))

        return send if messages else None

    if found.guest is None or unit != phase.units.reader:
        if mine:
            walk(emit, found, sending(mine))
        return
    ahead = [m for m in mine if m.slot.target != phase.units.vector]
    behind = sending([m for m in mine if m not in ahead])
    lead = found.guest.plan.lead if ahead else 0
    read = lambda guest, at, section: guest.read(pipe, at, section)  # noqa: E731
    walk(emit, found, sending(ahead), read, "last", lead=lead, behind=behind)


def _write(emit: Emitter, pipe: Pipeline, work: _Plumbing, row: Index) -> None:
    roles = work.tile.roles
    if not work.block.is_last:
        at = {"m": work.block.first + row, "n": work.column}
        emit.transfer((pipe.slot(work.back), work.width), work.sums().box(at, {"n": work.width}))
        return
    for value, target in work.tile.outs.items():
        slot = work.out_slot(value)
        at = {roles.row: row, roles.column: work.column}
        if value in work.peaks:
            first = work.tile.origin.get(roles.column, Index(0)) + work.column
            target = target.moved(first // GRAIN)
        emit.transfer((pipe.slot(slot), slot.count), target.box(at, {roles.column: work.width}))


def _product(emit: Emitter, pipe: Pipeline, work: _Plumbing, weights: SSAValue) -> SSAValue:
    """Append one row's contraction; returns tensor<1 x width>."""
    row = rows.receive(emit, pipe, work.row_slot, (1, work.block.extent))
    sums = work.tile.sums
    shape = (1, work.width)
    if work.block.is_first:
        empty = emit.add(mlir.op("tensor.empty")([], mlir.tensor(shape, sums)))
        zero = bodies.constant(emit, 0.0 if is_float(sums) else 0, sums)
        start = emit.add(mlir.op("linalg.fill")([zero], [empty], [empty.type]))
    else:
        start = rows.receive(emit, pipe, work.sum_slot, shape)
    return bodies.matmul(emit, row, weights, start)


def _matrix(emit: Emitter, pipe: Pipeline, work: _Plumbing, found: Rows) -> None:
    weights = rows.receive(emit, pipe, work.weight_slot, (work.block.extent, work.width))
    walk(emit, found, lambda row: rows.send(emit, pipe, work.between, _product(emit, pipe, work, weights)))


def _vector(emit: Emitter, pipe: Pipeline, work: _Plumbing, found: Rows) -> None:
    """The vector unit: partial sums pass through, the last chunk's rows run through the epilogue."""
    weights = None
    if not work.is_matrix:
        weights = rows.receive(emit, pipe, work.weight_slot, (work.block.extent, work.width))
    known: dict[Operand, SSAValue] = {}
    if work.block.is_last:
        known = {o: rows.receive(emit, pipe, work.extra_slot(o)) for o in work.resident()}

    def product(row: Index) -> None:
        if weights is None:
            sums = rows.receive(emit, pipe, work.between)
        else:
            sums = _flat(emit, _product(emit, pipe, work, weights), work)
        if not work.block.is_last:
            rows.send(emit, pipe, work.back, sums)
            return
        _epilogue(emit, pipe, work, sums, known, row)

    walk(emit, found, product, lambda guest, at, section: guest.compute(pipe, at, section), is_flat=True)


def _flat(emit: Emitter, value: SSAValue, work: _Plumbing) -> SSAValue:
    """The row of a product as a tensor of one dim."""
    groups = builtin.ArrayAttr([builtin.ArrayAttr([builtin.IntegerAttr(k, builtin.i64) for k in range(2)])])
    kind = mlir.tensor((work.width,), work.tile.sums)
    made = mlir.op("tensor.collapse_shape").build(
        operands=[value], properties={"reassociation": groups}, result_types=[kind]
    )
    return emit.add(made)


def _epilogue(
    emit: Emitter,
    pipe: Pipeline,
    work: _Plumbing,
    sums: SSAValue,
    known: Mapping[Operand, SSAValue],
    at: Index,
) -> None:
    phase, roles = work.tile.phase, work.tile.roles
    computes = phase.shape.group.computes
    place = {roles.row: at, roles.column: work.column}
    origin = work.tile.origin
    vectors = tuple(covers(c, phase.shape, roles.column) for c in computes)
    steps = Step((), (Pass((), ()),), vectors)
    row = rows.Row(
        phase, steps, work.width, known, lambda d: origin.get(d, Index(0)) + place.get(d, Index(0))
    )
    others = [rows.receive(emit, pipe, work.complete) for _ in work.tile.complete]
    for operand in work.streamed():
        row.received[operand] = rows.receive(emit, pipe, work.extra_slot(operand))
    for number, value in enumerate([*others, sums]):
        row.values[computes[number].outs[0].value] = _result(emit, work, value, row, number)
    row.run((), range(1 + len(others), len(computes)), lambda o: row.received[o])
    for value in work.tile.outs:
        rows.send(emit, pipe, work.out_slot(value), row.values[value])


def _result(emit: Emitter, work: _Plumbing, sums: SSAValue, row: rows.Row, number: int) -> SSAValue:
    """The own result of product `number`: the initial value added, rounded to its type."""
    compute = work.tile.phase.shape.group.computes[number]
    wide, own = work.tile.sums, result_dtype(compute)
    init = compute.outs[0].init
    read = work.tile.phase.shape.reads.get((number, -1))
    is_plain = read is None and (init is None or isinstance(init, int | float) and init == 0)
    if is_plain and wide == own:
        return sums

    def fill(args: list[SSAValue]) -> list[SSAValue]:
        value = args[0]
        if read is not None:
            value = bodies.combine(emit, "add", wide, bodies.converted(emit, args[1], own, wide), value)
        elif not is_plain and isinstance(init, int | float):
            value = bodies.combine(emit, "add", wide, bodies.constant(emit, init, wide), value)
        return [bodies.converted(emit, value, wide, own)]

    operands = [sums] + ([row.received[read]] if read is not None else [])
    return bodies.generic(emit, operands, [(work.width, own)], fill)[0]
