"""Vector ops as nodes; contractions and row reductions are recognised, whatever ops spell them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from headrace.ir.text import location
from headrace.machine.decode.affine import ranges
from headrace.machine.decode.reading import (
    affine_map,
    affine_set,
    attribute,
    dtype_of,
    fault,
    integer,
    integers,
    keyword,
    name_of,
    segments,
    shape_of,
)
from headrace.machine.image import Constant, Contract, Index, Node, Reduce, Value, VectorOp
from headrace.numbers.dtypes import is_float, numpy_dtype

Lookup = Callable[[SSAValue], Value]
LookupIndex = Callable[[SSAValue], Index]

_LETTERS = "abcdefgh"
_UNARY = {
    "vectorchain.fast_exp": "exp",
    "vectorchain.floor": "floor",
    "vectorchain.rec_estimate": "reciprocal",
    "vectorchain.ln_estimate": "log",
    "vectorchain.rsqrt_estimate": "rsqrt",
    "vectorchain.neg": "neg",
}
_COMPARE_I = ("eq", "ne", "lt", "le", "gt", "ge", "ult", "ule", "ugt", "uge")
_COMPARE_F = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)


def constant_node(op: Operation, result: Value) -> Constant:
    """`arith.constant` of a vector or float scalar, or `vectorchain.constant_bitstream`."""
    dtype = numpy_dtype(result.dtype)
    if name_of(op) == "vectorchain.constant_bitstream":
        bits = np.array(integers(op, "value"), np.uint64)
        array = bits.astype(np.dtype(f"u{dtype.itemsize}"))
    else:
        value = attribute(op, "value")
        values = value.get_values() if hasattr(value, "get_values") else [value.value.data]
        array = np.array(list(values), np.float64 if is_float(result.dtype) else np.int64).astype(dtype)
    if array.size not in (1, result.lanes):
        fault(op, f"{array.size} elements for a vector of {result.lanes} lanes")
    raw = array.tobytes()
    first = raw[: array.itemsize]
    return Constant(result, first if raw == first * array.size else raw, location(op))


def vector_node(op: Operation, result: Value, look: Lookup, look_index: LookupIndex) -> Node | None:
    """The node of a vector op, or None if the op is not a vector op."""
    name = name_of(op)
    dialect, _, short = name.partition(".")
    if dialect == "vectorchain":
        return _chain(op, short, result, look, look_index)
    if dialect == "math":
        return _plain(op, short, result, look)
    if dialect == "arith":
        if short in ("cmpi", "cmpf"):
            names = _COMPARE_I if short == "cmpi" else _COMPARE_F
            return _plain(op, names[integer(op, "predicate")], result, look)
        return _plain(op, "selection" if short == "select" else short, result, look)
    if name in ("vector.broadcast", "vector.splat", "vector.shape_cast", "vector.bitcast"):
        return _plain(op, short, result, look)
    return None


def _plain(op: Operation, function: str, result: Value, look: Lookup) -> VectorOp:
    operands = tuple(look(v) for v in op.operands)
    return VectorOp(name_of(op), function, operands, result, where=location(op))


def _chain(op: Operation, short: str, result: Value, look: Lookup, look_index: LookupIndex) -> Node:
    name, where = name_of(op), location(op)
    details: tuple[tuple[str, Any], ...]
    match short:
        case "binary":
            identity = affine_map(op, "op_specific_map")
            if identity != AffineMap.identity(identity.num_dims):
                fault(op, "op_specific_map must be the identity")
            return _masked(op, keyword(op, "binary_op"), result, look)
        case "multiply" | "multiply_and_accumulate":
            return _contraction(op, result, look)
        case "select":
            return _selection(op, result, look)
        case "scan_with_gap":
            details = (
                ("gap", integer(op, "gap")),
                ("backwards", keyword(op, "eval_order") == "right_to_left"),
            )
            operand = look(op.operands[0])
            return VectorOp(name, keyword(op, "reduction_op"), (operand,), result, details, where=where)
        case "shuffle":
            parts = segments(op)
            if len(parts) > 3 and len(parts[3]):
                fault(op, "a mask on shuffle is not supported")
            operands = tuple(look(v) for part in parts[:3] for v in part)
            details = (("indices", tuple(integers(op, "indices"))), ("repetition", integer(op, "repetition")))
            return VectorOp(name, "shuffle", operands, result, details, where=where)
        case "cast":
            return _masked(op, "cast", result, look)
        case "element_wise_compare":
            return _masked(op, keyword(op, "compare_op").removeprefix("compare_"), result, look)
        case "element_wise_selection":
            return _masked(op, "selection", result, look)
        case "create_affine_mask":
            return _mask(op, result, look_index)
        case "rotate":
            right = attribute(op, "right_shift")
            details = (("right", right is None or bool(right.value.data)),)
            return VectorOp(
                name, "rotate", (look(op.operands[0]),), result, details, (look_index(op.operands[1]),), where
            )
        case "exp_estimate" | "sigmoid_estimate" | "tanh_estimate":
            details = (("version", keyword(op, "version")),)
            operands = tuple(look(v) for v in op.operands[:1])
            return VectorOp(name, short.removesuffix("_estimate"), operands, result, details, where=where)
    if name in _UNARY:
        return _masked(op, _UNARY[name], result, look)
    fault(op, "this vector op is not supported", "write it with other vectorchain, arith or math ops")


def _masked(op: Operation, function: str, result: Value, look: Lookup) -> VectorOp:
    """An element-wise op; an optional mask is the last operand and named in the details."""
    operands = tuple(look(v) for v in op.operands)
    plain = {"binary": 2, "element_wise_compare": 2, "element_wise_selection": 3}
    has_mask = len(operands) > plain.get(name_of(op).removeprefix("vectorchain."), 1)
    details = (("mask", True),) if has_mask else ()
    return VectorOp(name_of(op), function, operands, result, details, where=location(op))


def _mask(op: Operation, result: Value, look_index: LookupIndex) -> VectorOp:
    """Lanes low..high-1 are true."""
    symbols = [look_index(v) for v in op.operands]
    set_ = affine_set(op, "mask_set")
    if set_.num_dims != 1:
        fault(op, "a mask set must have one dimension")
    low, high = mask_bounds(op, symbols, result.lanes)
    return VectorOp(name_of(op), "mask", (), result, (), (low, high), location(op))


def mask_bounds(op: Operation, symbols: list[Index], lanes: int) -> tuple[Index, Index]:
    """First lane and the one behind the last of a one-dimensional mask set, cut to the vector."""
    from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineSet

    set_ = affine_set(op, "mask_set")
    d0 = AffineExpr.dimension(0)
    ends = (
        AffineConstraintExpr(AffineConstraintKind.ge, d0, AffineExpr.constant(0)),
        AffineConstraintExpr(
            AffineConstraintKind.ge, AffineExpr.constant(lanes - 1) - d0, AffineExpr.constant(0)
        ),
    )
    whole = AffineSet(1, set_.num_symbols, (*set_.constraints, *ends))
    found = ranges(op, whole, symbols, "mask_set")[0]
    return found.low, found.low + found.extent


# ---- contractions ------------------------------------------------------------------------------------------
def _contraction(op: Operation, result: Value, look: Lookup) -> Node:
    """An einsum where every map is a projection, the plain op otherwise."""
    if _has_mask(op):
        fault(op, "a mask on a contraction is not supported")
    space = shape_of(op.operands[0].type)
    left, left_letters = _through_select(op.operands[0], len(space))
    right, right_letters = _through_select(op.operands[1], len(space))
    reduction = affine_map(op, "reduction_map")
    kept = _projection(reduction, zeros=True)
    addend = look(op.operands[2]) if name_of(op).endswith("accumulate") else None
    if kept is None:
        operands = tuple(look(v) for v in op.operands)
        details = (("map", reduction),)
        return VectorOp(name_of(op), "multiply", operands, result, details, where=location(op))
    equation = f"{left_letters},{right_letters}->{''.join(_LETTERS[d] for d in kept)}"
    n = prod(space[d] for d in kept)
    a, b = look(left), look(right)
    if b.lanes < a.lanes:
        a, b = b, a
        equation = f"{right_letters},{left_letters}->{''.join(_LETTERS[d] for d in kept)}"
    return Contract(equation, a, b, addend, result, prod(space) // max(n, 1), n, location(op))


def _has_mask(op: Operation) -> bool:
    values = 3 if name_of(op).endswith("accumulate") else 2
    return len(op.operands) > values


def _through_select(value: SSAValue, rank: int) -> tuple[SSAValue, str]:
    """(source, letters): a select that only repeats dims is looked through, other operands have all dims."""
    owner = value.owner
    if isinstance(owner, Operation) and name_of(owner) == "vectorchain.select":
        dims = _projection(affine_map(owner, "selection_map"), zeros=False)
        if dims is not None and len(dims) == len(shape_of(owner.operands[0].type)):
            return owner.operands[0], "".join(_LETTERS[d] for d in dims)
    return value, _LETTERS[:rank]


def _projection(map_: AffineMap, *, zeros: bool) -> list[int] | None:
    """The dims that the results name, each at most once; constant results 0 are skipped if `zeros`."""
    out: list[int] = []
    for expr in map_.results:
        if isinstance(expr, AffineDimExpr) and expr.position not in out:
            out.append(expr.position)
        elif not (zeros and isinstance(expr, AffineConstantExpr) and expr.value == 0):
            return None
    return out


def _selection(op: Operation, result: Value, look: Lookup) -> Node:
    """A select; picking the last lane of a scan is a row reduction."""
    map_ = affine_map(op, "selection_map")
    owner = op.operands[0].owner
    if isinstance(owner, Operation) and name_of(owner) == "vectorchain.scan_with_gap" and result.lanes == 1:
        last = shape_of(op.operands[0].type)[-1] - 1
        wanted = 0 if keyword(owner, "eval_order") == "right_to_left" else last
        at = [e.value for e in map_.results if isinstance(e, AffineConstantExpr)]
        if integer(owner, "gap") == 1 and at == [wanted] and len(map_.results) == 1:
            operand = look(owner.operands[0])
            return Reduce(keyword(owner, "reduction_op"), operand, result, location(op))
    return VectorOp(
        name_of(op), "select", (look(op.operands[0]),), result, (("map", map_),), where=location(op)
    )


def scalar_value(op: Operation, value: SSAValue, number: int) -> Value:
    """The register that holds an SSA vector or float scalar."""
    return Value(number, shape_of(value.type), dtype_of(op, value.type))
