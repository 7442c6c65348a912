"""scf.if: the branch a tile takes, or a select between both where data decides."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation

from headrace.schedule.graph import Handover, Loop, Store
from headrace.schedule.model.ops.pointwise import apply
from headrace.schedule.model.state import Binding, Refused, State
from headrace.schedule.model.tensors import Constant, Filled, Integer, Tensor

Run = Callable[[State, Block], None]


def if_op(state: State, op: Operation, run: Run) -> list[Binding]:
    """The results of an scf.if: one branch where the tile decides, a select where data does."""
    condition = state.get(op.operands[0])
    if isinstance(condition, Integer):
        branch = op.regions[0 if state.fixed(condition.value) else 1]
        return _branch(state, branch.blocks[0] if branch.blocks else None, run) if branch.blocks else []
    if not isinstance(condition, Tensor) or condition.shape:
        raise Refused("the condition is not known")
    before = len(state.block)
    results = [_branch(state, r.blocks[0] if r.blocks else None, run) for r in op.regions]
    if any(isinstance(s, Store | Loop | Handover) for s in state.block[before:]):
        raise Refused(
            "a branch decided by data may not store or loop", "compute both values, select, and store once"
        )
    chosen: list[Binding] = []
    for a, b in zip(*results, strict=True):
        left, right = (Filled((), v.dtype, v) if isinstance(v, Integer | Constant) else v for v in (a, b))
        if not isinstance(left, Tensor | Filled) or not isinstance(right, Tensor | Filled):
            raise Refused("a branch decided by data can yield tensors and numbers only")
        chosen.append(
            apply(state, "arith.select", [condition, left, right], left.shape, left.dtype, None, op)
        )
    return chosen


def _branch(state: State, block: Block | None, run: Run) -> list[Binding]:
    if block is None:
        return []
    run(state, block)
    return [state.get(v) for v in block.last_op.operands] if block.last_op is not None else []
