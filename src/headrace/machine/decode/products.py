"""Contractions: products summed over a map, recognised as einsums whatever ops spell them."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from headrace.ir.text import location
from headrace.machine.decode.operands import Operands
from headrace.machine.decode.patterns import expect_mask, lane_sources
from headrace.machine.decode.reading import affine_map, fault, name_of, shape_of
from headrace.machine.image import Constant, Contract, Node, Value, VectorOp
from headrace.numbers.dtypes import is_float, numpy_dtype

_LETTERS = "abcdefgh"


def contraction(op: Operation, result: Value, look: Operands) -> list[Node]:
    """`vectorchain.multiply` and `multiply_and_accumulate`.

    An einsum where every map is a projection, the plain op otherwise. A mask over the products leaves
    products out; one over the results gives the addend (or 0) where it is off.
    """
    count = 3 if name_of(op).endswith("accumulate") else 2
    values = [look.value(v) for v in op.operands[:count]]
    space = values[0].shape
    reduction = affine_map(op, "reduction_map")
    _check(op, values, result, reduction)
    if len(op.operands) == count:
        return [_contract(op, result, look, reduction, values)]
    mask = look.value(op.operands[count])
    if mask.lanes == prod(space):
        expect_mask(op, mask, prod(space))
        details = (("map", reduction), ("mask", True))
        operands = (*values, mask)
        return [VectorOp(name_of(op), "multiply", operands, result, details, where=location(op))]
    expect_mask(op, mask, result.lanes)
    return _with_result_mask(op, result, look, reduction, values, mask)


def _with_result_mask(
    op: Operation, result: Value, look: Operands, reduction: AffineMap, values: list[Value], mask: Value
) -> list[Node]:
    whole = look.register(result.shape, result.dtype)
    where, nodes = location(op), []
    if len(values) == 3 and values[2].dtype == result.dtype:
        other = values[2]
    elif len(values) == 3:
        other = look.register(result.shape, result.dtype)
        nodes.append(VectorOp("vectorchain.cast", "cast", (values[2],), other, where=where))
    else:
        other = look.register(result.shape, result.dtype)
        zero = np.zeros(1, numpy_dtype(result.dtype)).tobytes()
        return [
            Constant(other, zero, where),
            _contract(op, whole, look, reduction, values),
            VectorOp(_SELECT, "selection", (mask, whole, other), result, where=where),
        ]
    return [
        *nodes,
        _contract(op, whole, look, reduction, values),
        VectorOp(_SELECT, "selection", (mask, whole, other), result, where=where),
    ]


_SELECT = "vectorchain.element_wise_selection"


def _check(op: Operation, values: list[Value], result: Value, reduction: AffineMap) -> None:
    left, right = values[:2]
    if left.shape != right.shape:
        fault(op, f"operands of shapes {list(left.shape)} and {list(right.shape)}")
    if len(values) == 3 and values[2].lanes != result.lanes:
        fault(op, f"an addend of {values[2].lanes} lanes for a result of {result.lanes}")
    if len({is_float(v.dtype) for v in (*values, result)}) != 1:
        fault(op, "integers and floats in one contraction")
    lane_sources(op, "reduction_map", reduction, left.shape, result.shape)


def _contract(
    op: Operation, result: Value, look: Operands, reduction: AffineMap, values: list[Value]
) -> Node:
    """An einsum where every map is a projection, the plain op otherwise."""
    space = values[0].shape
    kept = _projection(reduction, zeros=True)
    is_whole = kept is not None and prod(space[d] for d in kept) == result.lanes
    if kept is None or not is_whole or len(space) > len(_LETTERS):
        details = (("map", reduction),)
        return VectorOp(name_of(op), "multiply", tuple(values), result, details, where=location(op))
    left, left_letters = _through_select(op.operands[0], space)
    right, right_letters = _through_select(op.operands[1], space)
    if len({*left_letters, *right_letters}) < len(space):  # one of them has to walk the dims both repeat
        right, right_letters = op.operands[1], _LETTERS[: len(space)]
    out = "".join(_LETTERS[d] for d in kept)
    a, b = look.value(left), look.value(right)
    equation = f"{left_letters},{right_letters}->{out}"
    if b.lanes < a.lanes:
        a, b = b, a
        equation = f"{right_letters},{left_letters}->{out}"
    addend = values[2] if len(values) == 3 else None
    n = prod(space[d] for d in kept)
    return Contract(equation, a, b, addend, result, prod(space) // max(n, 1), n, location(op))


def _through_select(value: SSAValue, space: tuple[int, ...]) -> tuple[SSAValue, str]:
    """(source, letters): a select that only repeats dims is looked through, other operands have all dims."""
    owner = value.owner
    if isinstance(owner, Operation) and name_of(owner) == "vectorchain.select":
        dims = _projection(affine_map(owner, "selection_map"), zeros=False)
        source = shape_of(owner.operands[0].type)
        if dims is not None and tuple(space[d] for d in dims) == tuple(source):
            return owner.operands[0], "".join(_LETTERS[d] for d in dims)
    return value, _LETTERS[: len(space)]


def _projection(map_: AffineMap, *, zeros: bool) -> list[int] | None:
    """The dims that the results name, each at most once; constant results 0 are skipped if `zeros`."""
    out: list[int] = []
    for expr in map_.results:
        if isinstance(expr, AffineDimExpr) and expr.position not in out:
            out.append(expr.position)
        elif not (zeros and isinstance(expr, AffineConstantExpr) and expr.value == 0):
            return None
    return out
