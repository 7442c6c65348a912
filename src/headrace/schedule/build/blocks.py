"""The blocks of one contraction tile: weights become resident, rows stream past them, partial sums loop
through LX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import SSAValue

from headrace.schedule.build import bodies, mlir, rows
from headrace.schedule.build.beside import Guest, Rows, walk
from headrace.schedule.build.emitter import Emitter, Pipeline
from headrace.schedule.build.epilogues import alike
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.plumbing import Message, Plumbing
from headrace.schedule.build.sections import At
from headrace.schedule.build.share import Share
from headrace.schedule.build.vector import Phase
from headrace.schedule.phases.contraction import Roles, result_dtype
from headrace.schedule.phases.passes import Pass, Step, covers
from headrace.schedule.phases.peaks import GRAIN
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


def _pipeline(tile: Blocks, block: Block, column: Index, width: int, found: Rows) -> None:
    emit = tile.phase.emit
    work = Plumbing(tile, block, column, width)
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

    def read(guest: Guest, at: At, section: int) -> None:
        guest.read(pipe, at, section)

    walk(emit, found, sending(ahead), read, "last", lead=lead, behind=behind)


def _write(emit: Emitter, pipe: Pipeline, work: Plumbing, row: Index) -> None:
    roles = work.tile.roles
    if not work.block.is_last:
        at = {"m": work.block.first + row, "n": work.column}
        emit.transfer((pipe.slot(work.back), work.width), work.sums().box(at, {"n": work.width}))
        return
    for value, target in work.tile.outs.items():
        slot = work.out_slot(value)
        at = {roles.row: row, roles.column: work.column}
        first = work.tile.origin.get(roles.column, Index(0)) + work.column
        places = [target]
        if value in work.peaks:
            places = [target.moved(first // GRAIN + k) for k in range(work.copies(value))]
        for place in places:
            emit.transfer((pipe.slot(slot), slot.count), place.box(at, {roles.column: work.width}))


def _product(emit: Emitter, pipe: Pipeline, work: Plumbing, weights: SSAValue) -> SSAValue:
    """Append one row's contraction; returns tensor<1 x width>."""
    row = rows.receive(emit, pipe, work.row_slot, (1, work.block.extent))
    sums = work.tile.sums
    shape = (1, work.width)
    if work.block.is_first:
        start = bodies.filled(emit, 0, shape, sums)
    else:
        start = rows.receive(emit, pipe, work.sum_slot, shape)
    return bodies.matmul(emit, row, weights, start)


def _matrix(emit: Emitter, pipe: Pipeline, work: Plumbing, found: Rows) -> None:
    weights = rows.receive(emit, pipe, work.weight_slot, (work.block.extent, work.width))
    walk(emit, found, lambda row: rows.send(emit, pipe, work.between, _product(emit, pipe, work, weights)))


def _vector(emit: Emitter, pipe: Pipeline, work: Plumbing, found: Rows) -> None:
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


def _flat(emit: Emitter, value: SSAValue, work: Plumbing) -> SSAValue:
    """The row of a product as a tensor of one dim."""
    kind = mlir.tensor((work.width,), work.tile.sums)
    return emit.add(mlir.make("tensor.collapse_shape", [value], [kind], mlir.one_group(2)))


def _epilogue(
    emit: Emitter,
    pipe: Pipeline,
    work: Plumbing,
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
        for _ in range(work.copies(value)):
            rows.send(emit, pipe, work.out_slot(value), row.values[value])


def _result(emit: Emitter, work: Plumbing, sums: SSAValue, row: rows.Row, number: int) -> SSAValue:
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
