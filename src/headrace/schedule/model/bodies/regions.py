"""Regions of linalg and tensor ops become scalar bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.spyreop.undefined import why_undefined
from headrace.ir.text import location
from headrace.schedule.graph import Axis
from headrace.schedule.model.algebra import affine
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.attributes import dtype_of, literal
from headrace.schedule.model.bodies.body import Body, Operand
from headrace.schedule.model.bodies.scalar_ops import SCALAR_OPS, attribute, constant
from headrace.schedule.model.bodies.scalars import fold
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import Constant, Filled, Integer, Tensor

Locals = dict[SSAValue, Operand]


def evaluate(state: State, body: Body, block: Block, local: Locals, skip: Collection[Operation] = ()) -> None:
    """Enter every op of a region but the terminator and `skip` into the body; note results in `local`."""
    for op in block.ops:
        if op is not block.last_op and op not in skip:
            local[op.results[0]] = _entry(state, body, op, local)


def operand(state: State, body: Body, ssa: SSAValue, local: Locals) -> Operand:
    """The body operand an SSA value stands for, from inside or outside the region."""
    if ssa in local:
        return local[ssa]
    bound = state.get(ssa)
    if isinstance(bound, Integer | Constant):
        return bound
    if isinstance(bound, Tensor | Filled) and bound.shape == ():
        return state.element(body, bound, ())
    raise Refused(
        "the body uses a value that is no scalar", "pass the tensor as an operand with an indexing map"
    )


def _entry(state: State, body: Body, op: Operation, local: Locals) -> Operand:
    if op.name in ("arith.constant", "spyreop.constant"):
        value = constant(literal(op, "value"))
        assert not isinstance(value, list)
        return value
    if op.name == "linalg.index":
        number = literal(op, "dim")
        assert isinstance(number, IntegerAttr)
        return Integer(Num(0, {body.dims[number.value.data].name: 1}), "index")
    if op.name == "tensor.extract":
        return _extract(state, body, op, local)
    args = [operand(state, body, v, local) for v in op.operands]
    if op.name == "affine.apply":
        return _apply(body, op, args)
    if op.name not in SCALAR_OPS:
        raise Refused(f"{op.name} is not supported in a scalar body", why_undefined(op.name))
    return scalar(body, op.name, args, dtype_of(op.results[0].type), attribute(op), op)


def scalar(
    body: Body,
    name: str,
    args: Iterable[Operand],
    dtype: str,
    attr: object = None,
    op: Operation | None = None,
) -> Operand:
    """The result of a scalar op: folded when its operands are known, else an entry of the body."""
    operands = list(args)
    known = [a for a in operands if not isinstance(a, int)]
    if len(known) == len(operands):
        try:
            folded = fold(name, known, dtype, attr, body.ranges)
        except (NotLinear, ZeroDivisionError):
            folded = None
        if folded is not None:
            return folded
    return body.apply(name, operands, dtype, attr, location(op) if op is not None else None)


def _apply(body: Body, op: Operation, args: list[Operand]) -> Operand:
    amap = literal(op, "map")
    if not all(isinstance(a, Integer) for a in args) or amap is None:
        raise Refused("affine.apply on values read from memory is not supported", "use arith ops")
    numbers = [a.value for a in args if isinstance(a, Integer)]
    try:
        return Integer(affine.apply(amap.data, numbers, body.ranges)[0], "index")
    except NotLinear:
        raise Refused("this affine.apply is not linear", "use arith ops in the body") from None


def _extract(state: State, body: Body, op: Operation, local: Locals) -> Operand:
    tensor = state.tensor(op.operands[0])
    walk = [coordinate(body, operand(state, body, v, local)) for v in op.operands[1:]]
    return state.element(body, tensor, walk)


def coordinate(body: Body, index: Operand) -> Axis:
    """A tensor coordinate computed in a body, when it is one dim plus a number."""
    if isinstance(index, Integer) and not index.value.arg and isinstance(index.value.const, int):
        terms = dict(index.value.terms)
        if not terms:
            return Axis(None, index.value.const)
        (name, factor), *more = terms.items()
        if factor == 1 and not more and name in {d.name for d in body.dims}:
            return Axis(name, index.value.const)
    raise Refused(
        "a tensor element chosen by a computed index cannot be scheduled",
        "store the tensor and gather it through an indirect access tile",
    )
