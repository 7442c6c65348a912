"""Elementwise ops on tensors, and scalar ops outside of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.graph import Axis, Out
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.attributes import dtype_of, literal
from headrace.schedule.model.bodies.body import Body
from headrace.schedule.model.bodies.regions import scalar
from headrace.schedule.model.bodies.scalar_ops import attribute, constant
from headrace.schedule.model.bodies.scalars import fold, integer
from headrace.schedule.model.state import Binding, Refused, State
from headrace.schedule.model.tensors import AnyTensor, Constant, Filled, Integer, Tensor, whole

_INTEGER_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")


def elementwise(state: State, op: Operation) -> Binding:
    """The result of an arith, math or spyreop op on scalars or tensors."""
    kind = op.results[0].type
    dtype, attr = dtype_of(kind), attribute(op)
    bound = [state.get(v) for v in op.operands]
    known = [b for b in bound if isinstance(b, Integer | Constant)]
    if len(known) == len(bound):
        folded = fold(op.name, known, dtype, attr, state.ranges)
        if folded is not None:
            return folded
    operands = [state.tensor(v) for v in op.operands]
    shape = max((t.shape for t in operands), key=len) if isinstance(kind, TensorType) else ()
    result = apply(state, op.name, operands, shape, dtype, attr, op)
    if (
        op.name in _INTEGER_CASTS
        and not shape
        and isinstance(operands[0], Tensor)
        and isinstance(result, Tensor)
    ):
        state.casts[result.source] = operands[0]
    return result


def apply(
    state: State,
    name: str,
    operands: Sequence[AnyTensor],
    shape: tuple[int, ...],
    dtype: str,
    attr: object,
    op: Operation,
) -> AnyTensor:
    """One scalar op at every point; operands of rank 0 are broadcast."""
    if name == "arith.select" and isinstance(operands[0], Filled) and isinstance(operands[0].fill, Integer):
        fixed = operands[0].fill.value.fixed
        if fixed is not None:
            return operands[1] if fixed else operands[2]
    for t in operands:
        if isinstance(t, Filled) and t.fill is None:
            raise Refused("reads a tensor.empty that nothing was written to", "fill it first")
        if t.shape not in ((), shape):
            raise Refused(f"operand shapes differ: {list(t.shape)} and {list(shape)}")
    body = Body(state.dims(shape), state.ranges)
    walk = tuple(Axis(d.name) for d in body.dims)
    args = [state.element(body, t, walk if t.shape else ()) for t in operands]
    result = scalar(body, name, args, dtype, attr, op)
    if isinstance(result, Constant | Integer) and not _walks(result, body):
        return Filled(shape, dtype, result)
    value = state.value(shape, dtype, location(op))
    state.compute(body, [Out(value, walk, body.place(result))], location(op), op.name)
    if isinstance(result, Integer):
        state.note_formula(value, body.dims, result)
    return whole(value, shape, dtype)


def _walks(result: Constant | Integer, body: Body) -> bool:
    """Whether a folded result still depends on the coordinates of the nest."""
    return isinstance(result, Integer) and any(d.name in result.value.terms for d in body.dims)


def cast(state: State, tensor: AnyTensor, dtype: str, op: Operation) -> AnyTensor:
    """The tensor in another float type, rounded."""
    if tensor.dtype == dtype:
        return tensor
    if not (is_float(dtype) and is_float(tensor.dtype)):
        raise Refused(f"the view holds {tensor.dtype}, the tensor {dtype}", "cast the tensor explicitly")
    name = "arith.extf" if itemsize(dtype) > itemsize(tensor.dtype) else "arith.truncf"
    return apply(state, name, [tensor], tensor.shape, dtype, None, op)


def constant_op(state: State, op: Operation) -> Binding:
    """The binding of `arith.constant`: a scalar, a filled tensor, or a small tensor made from coordinates."""
    value = constant(literal(op, "value"))
    kind = op.results[0].type
    if not isinstance(kind, TensorType):
        assert not isinstance(value, list)
        return value
    shape = tuple(kind.get_shape())
    if not isinstance(value, list):
        return Filled(shape, dtype_of(kind), value)
    return _table(state, value, shape, dtype_of(kind), op)


def _table(
    state: State, values: list[Constant | Integer], shape: tuple[int, ...], dtype: str, op: Operation
) -> AnyTensor:
    """A dense constant as selects on the row-major position."""
    if len(values) > 64:
        raise Refused(
            "a dense constant with more than 64 elements is not supported",
            "pass it as an argument and load it",
        )
    body = Body(state.dims(shape), state.ranges)
    walk = tuple(Axis(d.name) for d in body.dims)
    strides = [prod(shape[k + 1 :]) for k in range(len(shape))]
    position = Integer(Num(0, {d.name: s for d, s in zip(body.dims, strides, strict=True)}), "index")
    result = body.place(values[-1])
    for i in range(len(values) - 2, -1, -1):
        here = body.apply("arith.cmpi", [position, integer(i, "index")], "i1", "eq")
        result = body.apply("arith.select", [here, values[i], result], dtype)
    name = state.value(shape, dtype, location(op))
    state.compute(body, [Out(name, walk, result)], location(op), op.name)
    return whole(name, shape, dtype)
