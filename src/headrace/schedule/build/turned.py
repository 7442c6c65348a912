"""Tiles turned in the registers of the vector unit, block by block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, SSAValue

from headrace.schedule.build import mlir, rows
from headrace.schedule.build.emitter import Emitter, Slot
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.nests import Loops
from headrace.schedule.phases.shape import Operand
from headrace.schedule.phases.turned import Turned

if TYPE_CHECKING:
    from headrace.schedule.build.vector import Phase


def _transposed(emit: Emitter, value: SSAValue, kind: Any) -> SSAValue:
    """Append the transposition of a tensor of rank 2; the hidden region yields the element, as MLIR's."""
    empty = emit.add(mlir.make("tensor.empty", (), (kind,)))
    block = Block(arg_types=[kind.element_type] * 2)
    block.add_op(mlir.make("linalg.yield", [block.args[0]]))
    order = {"permutation": mlir.dense((1, 0))}
    return emit.add(mlir.make("linalg.transpose", [value, empty], [kind], order, body=block))


def build_turned(
    phase: Phase,
    block: Turned,
    tile: Mapping[str, int],
    sources: Mapping[Operand, Buffered],
    targets: Mapping[str, Buffered],
) -> None:
    """Emit the work on one tile: runs of the operand in, turned, runs of the result out."""
    emit, units = phase.emit, phase.units
    sizes = {block.lane: block.lanes, block.run: block.runs}
    taken = Slot(units.reader, phase.plan.unit, block.elements, block.dtype)
    given = Slot(phase.plan.unit, units.writer, block.elements, block.dtype)
    (source,) = phase.shape.inputs
    results = dict.fromkeys(o.value for o in phase.shape.outputs)
    point = {d: extent // sizes.get(d, 1) for d, extent in tile.items()}
    with emit.corelets(phase.corelets) as cl:
        loops = Loops(phase, point, block.lane, sizes)
        loops.shared_by(cl)
        with emit.pipeline([taken, given]) as pipe:
            with pipe.stage(units.reader), loops.nest() as at:
                box = sources[source].box(at, sizes, (block.lane, block.run))
                emit.transfer(box, (pipe.slot(taken), taken.count))
            with pipe.stage(phase.plan.unit), loops.nest():
                found = rows.receive(emit, pipe, taken, (block.lanes, block.runs))
                made = _transposed(emit, found, mlir.tensor((block.runs, block.lanes), block.dtype))
                for _ in results:
                    rows.send(emit, pipe, given, made)
            with pipe.stage(units.writer), loops.nest() as at:
                for value in results:
                    box = targets[value].box(at, sizes, (block.run, block.lane))
                    emit.transfer((pipe.slot(given), given.count), box)
