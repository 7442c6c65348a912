"""One function evaluated for one group of tiles: ops are dispatched, findings collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from headrace.ir.arguments import argument_name, functions, grid
from headrace.schedule.model.algebra import affine
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.attributes import literal
from headrace.schedule.model.bodies.scalar_ops import SCALAR_OPS
from headrace.schedule.model.branches import if_op
from headrace.schedule.model.loops import for_op
from headrace.schedule.model.ops import indirect, intertile, pointwise, shapes, transfers, views
from headrace.schedule.model.ops.named import linalg_op
from headrace.schedule.model.state import Binding, Blocks, Refused, State, Undelivered, Unknown
from headrace.schedule.model.tensors import Constant, Integer
from headrace.schedule.ring import Use

Handler = Callable[[State, Operation], Sequence[Binding]]


def evaluate(
    module: ModuleOp,
    function: FuncOp,
    coordinates: np.ndarray,
    bindings: Mapping[str, Constant | Integer],
    ring: Use,
    blocks: Blocks = "joined",
) -> State:
    """The state after the function ran for the tiles with these grid coordinates (one row a tile).

    Split: the tiles do not all do the same.
    """
    state = State(module, coordinates, grid(function), ring, blocks)
    block = function.body.block
    for k, argument in enumerate(block.args):
        state.env[argument] = bindings[argument_name(function, k)]
    _run(state, block)
    return state


def _run(state: State, block: Block) -> None:
    """Evaluate the ops of a block up to its terminator."""
    for op in block.ops:
        if op.name in _TERMINATORS:
            return
        _step(state, op)


def _step(state: State, op: Operation) -> None:
    inputs = [*op.operands, *_captured(op)]
    if any(isinstance(state.env.get(v), Unknown) for v in inputs):
        _bind(state, op, [Unknown()] * len(op.results))
        return
    if any(isinstance(state.env.get(v), Undelivered) for v in inputs):
        hint = "guard it with scf.if on the tile id"
        state.report(op, "reads a value that is not delivered to every tile that gets here", hint)
        _bind(state, op, [Unknown()] * len(op.results))
        return
    try:
        _bind(state, op, _results(state, op))
    except Refused as why:
        state.report(op, why.message, why.hint)
        _bind(state, op, [Unknown()] * len(op.results))
    except NotLinear as why:
        if any(name in state.ranges for name in why.loops):
            raise
        hint = "numbers come from constants, tile ids, loops and scalar arguments; to addresses only add"
        state.report(op, "this integer is not known when scheduling", hint)
        _bind(state, op, [Unknown()] * len(op.results))
    except ZeroDivisionError:
        state.report(op, "division by zero")
        _bind(state, op, [Unknown()] * len(op.results))


def _captured(op: Operation) -> list:  # type: ignore[type-arg]
    """Values that regions of a linalg or tensor op use from outside."""
    if op.name.startswith("scf.") or not op.regions:
        return []
    return [v for inner in op.walk() if inner is not op for v in inner.operands]


def _bind(state: State, op: Operation, bindings: Sequence[Binding]) -> None:
    for result, binding in zip(op.results, bindings, strict=True):
        state.env[result] = binding


def _results(state: State, op: Operation) -> Sequence[Binding]:
    handler = _HANDLERS.get(op.name)
    if handler is not None:
        return handler(state, op)
    if op.name.startswith("linalg."):
        return linalg_op(state, op)
    if op.name.startswith("tensor."):
        return [shapes.tensor_op(state, op)]
    if op.name in SCALAR_OPS:
        return [pointwise.elementwise(state, op)]
    raise Refused(
        "this op cannot be scheduled", "rewrite it with linalg, arith, math, tensor, scf.for and scf.if"
    )


def _tile_id(state: State, op: Operation) -> list[Binding]:
    rank = state.coordinates.shape[1]
    if len(op.results) > rank and not state.coordinates.size:
        raise Refused("more results than the grid has dims")
    columns = [state.coordinates[:, k] if k < rank else np.zeros(1, np.int64) for k in range(len(op.results))]
    return [Integer(nm.number(c), "index") for c in columns]


def _store(state: State, op: Operation) -> list[Binding]:
    transfers.store(state, op)
    return []


def _affine_apply(state: State, op: Operation) -> list[Binding]:
    amap = literal(op, "map")
    assert amap is not None
    return [
        Integer(n, "index")
        for n in affine.apply(amap.data, [state.integer(v) for v in op.operands], state.ranges)
    ]


def _affine_extreme(choose: Callable[[Num, Num, nm.Ranges], Num]) -> Handler:
    def handler(state: State, op: Operation) -> list[Binding]:
        amap = literal(op, "map")
        assert amap is not None
        values = affine.apply(amap.data, [state.integer(v) for v in op.operands], state.ranges)
        best = values[0]
        for value in values[1:]:
            best = choose(best, value, state.ranges)
        return [Integer(best, "index")]

    return handler


def _runtime_arg(state: State, op: Operation) -> list[Binding]:
    kind = literal(op, "kind")
    assert isinstance(kind, IntegerAttr)
    which = ("value", "granularity", "upperbound")[kind.value.data]
    if which == "value":
        return [state.get(op.operands[0])]
    return [Integer(Num(getattr(op.operands[0].type, which).data), "index")]


def _call(state: State, op: Operation) -> list[Binding]:
    """A call, evaluated in place."""
    name = str(literal(op, "callee"))
    target = next((f for f in functions(state.module) if f"@{f.sym_name.data}" == name), None)
    if target is None:
        raise Refused(f"no function {name} to call")
    if "grid" in target.attributes:
        raise Refused(
            "a call of a kernel with a grid of its own cannot be part of this schedule",
            "let a function that only calls run them one after the other",
        )
    block = target.body.block
    for argument, operand in zip(block.args, op.operands, strict=True):
        state.env[argument] = state.get(operand)
    _run(state, block)
    assert block.last_op is not None
    return [state.get(v) for v in block.last_op.operands]


_TERMINATORS = frozenset({"func.return", "scf.yield", "ktdp.yield_partial", "ktdp.yield_reduced"})
_HANDLERS: dict[str, Handler] = {
    "arith.constant": lambda s, op: [pointwise.constant_op(s, op)],
    "spyreop.constant": lambda s, op: [pointwise.constant_op(s, op)],
    "ktdp.get_compute_tile_id": _tile_id,
    "ktdp.construct_memory_view": lambda s, op: [views.memory_view(s, op)],
    "ktdp.construct_distributed_memory_view": lambda s, op: [views.distributed_view(s, op)],
    "ktdp.construct_access_tile": lambda s, op: [views.access_tile(s, op)],
    "ktdp.construct_indirect_access_tile": lambda s, op: [indirect.indirect_tile(s, op)],
    "ktdp.inter_tile_produce": lambda s, op: intertile.produce(s, op, _run),
    "ktdp.inter_tile_consume": lambda s, op: intertile.consume(s, op),
    "ktdp.inter_tile_reduce": lambda s, op: intertile.reduce(s, op, _run),
    "ktdp.load": lambda s, op: [transfers.load(s, op)],
    "ktdp.store": _store,
    "ktdp.runtime_arg_extract": _runtime_arg,
    "scf.for": lambda s, op: for_op(s, op, _run),
    "scf.if": lambda s, op: if_op(s, op, _run),
    "affine.apply": _affine_apply,
    "affine.min": _affine_extreme(nm.minimum),
    "affine.max": _affine_extreme(nm.maximum),
    "func.call": _call,
}
