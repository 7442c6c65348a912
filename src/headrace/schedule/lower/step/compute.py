"""Compute stages: receives, steps, sends and marked loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, Block, SSAValue

from headrace.schedule.lower.emit.ops import INDEX, attribute, body, make, vector
from headrace.schedule.lower.evaluate import Values
from headrace.schedule.lower.step.nest import tensor_shape
from headrace.schedule.lower.step.steps import Step
from headrace.schedule.lower.step.vectors import Lanes, Vectors
from headrace.schedule.lower.tree import Apply, Node, PointLoop, Slot, Stage


class ComputeProgram:
    """Emits the stages of a compute unit into its program."""

    def __init__(self, emit: Vectors, index: Values, slots: dict[Any, Slot]) -> None:
        self.emit, self.program, self.slots = emit, emit.program, slots
        self.step = Step(emit, index)

    def stage(self, stage: Stage) -> None:
        """Emit one stage at the current place."""
        self.nodes(stage.body)

    def nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, PointLoop):
                self.loop(node)
            elif isinstance(node, Apply):
                self.apply(node.op)

    def apply(self, op: Any) -> None:
        """Emit a receive, a send or a step op."""
        if op.name == "ktdf.read_from_fifo":
            slot = self.slots[op.fifo_slot]
            shape, dtype = tensor_shape(op.result.type)
            back = tuple(tuple((b, a) for a, b in pairs) for pairs in slot.ring)
            peer = self.program.peer(slot.source, ring=-slot.ring_step, pairs=back)
            received = make("dataflow.receive", [peer], [vector(dtype, shape)])
            self.step.values[op.result] = Lanes(self.program.emit(received).results[0], shape, dtype)
        elif op.name == "ktdf.write_to_fifo":
            slot = self.slots[op.fifo_slot]
            peer = self.program.peer(slot.target, ring=slot.ring_step, pairs=slot.ring)
            way = {} if not slot.ring_step else {"dir": _direction(slot.ring_step)}
            self.program.emit(make("dataflow.send", [peer, self.step.lanes(op.data).ssa], (), way))
        else:
            self.step.run(op)

    def loop(self, node: PointLoop) -> None:
        """Emit a point loop with its mark; carried tensors are carried vectors."""
        op: Any = node.op
        program = self.program
        initial = [self.step.lanes(v) for v in op.iter_args]
        bounds = [program.value(e) for e in (node.low, node.high, node.step)]
        block = Block(arg_types=[INDEX, *(v.ssa.type for v in initial)])
        outer, program.here = program.here, block
        program.loops[node.var] = block.args[0]
        carried = op.body.block.args[1:]
        for arg, value, start in zip(carried, block.args[1:], initial, strict=True):
            self.step.values[arg] = Lanes(value, start.shape, start.dtype)
        self.nodes(node.body)
        last = op.body.block.last_op
        block.add_op(make("scf.yield", [self.step.lanes(v).ssa for v in last.operands]))
        program.here = outer
        marks = {} if node.kind is None else {"loop_type": attribute(f"#ktdf.loop_type<{node.kind}>")}
        operands: list[SSAValue] = [*bounds, *(v.ssa for v in initial)]
        results = [v.ssa.type for v in initial]
        made = program.emit(make("scf.for", operands, results, {}, [body(block)], marks))
        for result, value, start in zip(op.results, made.results, initial, strict=True):
            self.step.values[result] = Lanes(value, start.shape, start.dtype)


def _direction(step: int) -> Attribute:
    """The way round the ring that leads `step` cores further on."""
    return attribute(f"#dataflow<direction {'Clockwise' if step > 0 else 'CounterClockwise'}>")
