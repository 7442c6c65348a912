"""The tensor dialect: slices, reshapes, inserts; most are views, the rest Reshape and Insert statements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.schedule.graph import Axis, Out
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.attributes import dtype_of, literal, static_shape
from headrace.schedule.model.bodies.body import Body
from headrace.schedule.model.bodies.regions import Locals, evaluate, operand
from headrace.schedule.model.bodies.scalars import integer
from headrace.schedule.model.ops import slices
from headrace.schedule.model.ops.layout import insert, reshape
from headrace.schedule.model.ops.pointwise import apply
from headrace.schedule.model.state import Binding, Refused, State
from headrace.schedule.model.tensors import AnyTensor, Constant, Filled, Integer, select, whole


def tensor_op(state: State, op: Operation) -> Binding:
    """The result of an op of the tensor dialect; Refused for one that is not known."""
    handler = _HANDLERS.get(op.name.removeprefix("tensor."))
    if handler is None:
        raise Refused("this tensor op is not supported")
    return handler(state, op)


def _to_type(state: State, op: Operation) -> AnyTensor:
    """collapse_shape, expand_shape, reshape, cast: the shape is the result type's."""
    tensor, shape = state.tensor(op.operands[0]), static_shape(op.results[0].type)
    missing = [k for k, n in enumerate(shape) if n is None]
    known = prod(n for n in shape if n is not None)
    if len(missing) > 1:
        raise Refused("two unknown extents cannot be told apart", "give static extents")
    return reshape(state, tensor, tuple(prod(tensor.shape) // known if n is None else n for n in shape), op)


def _empty(state: State, op: Operation) -> AnyTensor:
    dynamic = iter(op.operands)
    kind = op.results[0].type
    shape = [state.fixed(state.integer(next(dynamic))) if n is None else n for n in static_shape(kind)]
    return Filled(tuple(shape), dtype_of(kind), None)


def _splat(state: State, op: Operation) -> AnyTensor:
    tensor = state.tensor(op.operands[0])
    empty = _empty(state, op) if not op.operands[1:] else None
    dynamic = iter(op.operands[1:])
    shape = (
        empty.shape
        if empty
        else tuple(
            state.fixed(state.integer(next(dynamic))) if n is None else n
            for n in static_shape(op.results[0].type)
        )
    )
    return select(tensor, (), shape)


def _from_elements(state: State, op: Operation) -> AnyTensor:
    kind = op.results[0].type
    shape = tuple(n or 0 for n in static_shape(kind))
    elements = [state.tensor(v) for v in op.operands]
    if all(e == elements[0] for e in elements):
        return select(elements[0], (), shape)
    flat: AnyTensor = Filled((prod(shape),), dtype_of(kind), None)
    for i, e in enumerate(elements):
        flat = insert(state, select(e, (), (1,)), flat, [i], op)
    return reshape(state, flat, shape, op)


def _concat(state: State, op: Operation) -> AnyTensor:
    attr = literal(op, "dim")
    assert isinstance(attr, IntegerAttr)
    axis, parts = attr.value.data, [state.tensor(v) for v in op.operands]
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    result: AnyTensor = Filled(tuple(shape), parts[0].dtype, None)
    at = 0
    for part in parts:
        result = insert(state, part, result, [at if k == axis else 0 for k in range(len(shape))], op)
        at += part.shape[axis]
    return result


def _bitcast(state: State, op: Operation) -> Binding:
    tensor = state.tensor(op.operands[0])
    return apply(state, "arith.bitcast", [tensor], tensor.shape, dtype_of(op.results[0].type), None, op)


def _rank(state: State, op: Operation) -> Binding:
    return integer(len(state.tensor(op.operands[0]).shape), "index")


def _dim(state: State, op: Operation) -> Binding:
    return integer(state.tensor(op.operands[0]).shape[state.fixed(state.integer(op.operands[1]))], "index")


def _generate(state: State, op: Operation) -> AnyTensor:
    """tensor.generate: its block arguments are the coordinates."""
    out, block = _empty(state, op), op.regions[0].block
    body = Body(state.dims(out.shape), state.ranges)
    local: Locals = {
        argument: Integer(Num(0, {d.name: 1}), "index")
        for argument, d in zip(block.args, body.dims, strict=True)
    }
    evaluate(state, body, block, local)
    assert block.last_op is not None
    result = operand(state, body, block.last_op.operands[0], local)
    if isinstance(result, Constant) or (isinstance(result, Integer) and result.value.fixed is not None):
        return Filled(out.shape, out.dtype, result)
    name = state.value(out.shape, out.dtype, location(op))
    walk = tuple(Axis(d.name) for d in body.dims)
    state.compute(body, [Out(name, walk, body.place(result))], location(op), op.name)
    if isinstance(result, Integer):
        state.note_formula(name, body.dims, result)
    return whole(name, out.shape, out.dtype)


_HANDLERS: dict[str, Callable[[State, Operation], Binding]] = {
    "empty": _empty,
    "splat": _splat,
    "extract": slices.extract,
    "insert": slices.insert_element,
    "extract_slice": slices.extract_slice,
    "insert_slice": slices.insert_slice,
    "collapse_shape": _to_type,
    "expand_shape": _to_type,
    "reshape": _to_type,
    "cast": _to_type,
    "from_elements": _from_elements,
    "concat": _concat,
    "pad": slices.pad,
    "bitcast": _bitcast,
    "dim": _dim,
    "rank": _rank,
    "generate": _generate,
}
