"""Vector ops as nodes; contractions and row reductions are recognised, whatever ops spell them."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from headrace.ir.text import location
from headrace.machine.decode.affine import ranges
from headrace.machine.decode.meanings import FloatArgument
from headrace.machine.decode.operands import Lookup, LookupIndex, Operands
from headrace.machine.decode.patterns import expect_alike, expect_mask, lane_sources, merge, pack, shuffle
from headrace.machine.decode.products import contraction
from headrace.machine.decode.reading import (
    affine_map,
    affine_set,
    attribute,
    boolean,
    fault,
    integer,
    integers,
    keyword,
    name_of,
    shape_of,
)
from headrace.machine.image import Constant, Index, Node, Reduce, Value, VectorOp
from headrace.numbers.dtypes import is_float, numpy_dtype

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


PLAIN = ("vector.shape_cast", "vector.bitcast", "vectorchain.constant_bitstream")
CHAIN = (
    *_UNARY,
    *(
        f"vectorchain.{short}"
        for short in (
            *("binary", "multiply", "multiply_and_accumulate", "select", "scan_with_gap", "shuffle", "pack"),
            *("merge", "cast", "element_wise_compare", "element_wise_selection", "create_affine_mask"),
            *("rotate", "exp_estimate", "sigmoid_estimate", "tanh_estimate"),
        )
    ),
)
"""The ops of vectorchain that `_chain` decodes."""


def argument_node(source: FloatArgument, result: Value, op: Operation) -> VectorOp:
    """The node that puts a floating-point argument of the entry function into a register."""
    return VectorOp(
        "vector.broadcast", "argument", (), result, (("argument", source.name),), (), location(op)
    )


def vector_nodes(op: Operation, result: Value, look: Operands) -> list[Node] | None:
    """The nodes of a vector op, or None if the op is not a vector op."""
    name = name_of(op)
    dialect, _, short = name.partition(".")
    if dialect == "vectorchain":
        return _chain(op, short, result, look)
    if dialect == "math":
        return [_plain(op, short, result, look)]
    if dialect == "arith":
        if short in ("cmpi", "cmpf"):
            names = _COMPARE_I if short == "cmpi" else _COMPARE_F
            number = integer(op, "predicate")
            if not 0 <= number < len(names):
                fault(op, f"there is no predicate {number}")
            return [_plain(op, names[number], result, look)]
        return [_plain(op, "selection" if short == "select" else short, result, look)]
    if name in ("vector.shape_cast", "vector.bitcast"):
        operands = tuple(look.value(v) for v in op.operands)
        if operands[0].bytes != result.bytes:
            fault(op, f"{operands[0].bytes} bytes become {result.bytes}")
        return [VectorOp(name, short, operands, result, where=location(op))]
    return None


def _plain(op: Operation, function: str, result: Value, look: Operands) -> VectorOp:
    operands = tuple(look.value(v) for v in op.operands)
    expect_alike(op, function, operands, result)
    return VectorOp(name_of(op), function, operands, result, where=location(op))


def _chain(op: Operation, short: str, result: Value, look: Operands) -> list[Node]:
    name, where = name_of(op), location(op)
    details: tuple[tuple[str, Any], ...]
    match short:
        case "binary":
            identity = affine_map(op, "op_specific_map")
            if identity != AffineMap.identity(identity.num_dims):
                fault(op, "op_specific_map must be the identity")
            return [_masked(op, keyword(op, "binary_op"), result, look)]
        case "multiply" | "multiply_and_accumulate":
            return contraction(op, result, look)
        case "select":
            return [_selection(op, result, look.value)]
        case "scan_with_gap":
            details = (
                ("gap", integer(op, "gap")),
                ("backwards", keyword(op, "eval_order") == "right_to_left"),
            )
            operand = look.value(op.operands[0])
            if integer(op, "gap") < 1:
                fault(op, "gap must be a positive number")
            expect_alike(op, short, (operand,), result)
            return [VectorOp(name, keyword(op, "reduction_op"), (operand,), result, details, where=where)]
        case "shuffle":
            return shuffle(op, result, look)
        case "pack":
            return pack(op, result, look)
        case "merge":
            return [merge(op, result, look)]
        case "cast":
            return [_masked(op, "cast", result, look)]
        case "element_wise_compare":
            return [_masked(op, keyword(op, "compare_op").removeprefix("compare_"), result, look)]
        case "element_wise_selection":
            return [_masked(op, "selection", result, look)]
        case "create_affine_mask":
            return [_mask(op, result, look.index)]
        case "rotate":
            right = attribute(op, "right_shift")
            details = (("right", right is None or boolean(op, "right_shift")),)
            operand = look.value(op.operands[0])
            expect_alike(op, short, (operand,), result)
            return [
                VectorOp(name, "rotate", (operand,), result, details, (look.index(op.operands[1]),), where)
            ]
        case "exp_estimate" | "sigmoid_estimate" | "tanh_estimate":
            details = (("version", keyword(op, "version")), *_precision(look))
            return [_masked(op, short.removesuffix("_estimate"), result, look, details)]
    if name in _UNARY:
        precision = _precision(look) if _UNARY[name] not in ("floor", "neg") else ()
        return [_masked(op, _UNARY[name], result, look, precision)]
    fault(op, "this op is not executed", "write it with other vectorchain, arith or math ops")


def _precision(look: Operands) -> tuple[tuple[str, Any], ...]:
    bits = look.options.estimate_bits
    return (("bits", bits),) if bits else ()


def _masked(
    op: Operation, function: str, result: Value, look: Operands, details: tuple[tuple[str, Any], ...] = ()
) -> VectorOp:
    """An element-wise op; an optional mask is the last operand and named in the details."""
    operands = tuple(look.value(v) for v in op.operands)
    plain = {"binary": 2, "element_wise_compare": 2, "element_wise_selection": 3}
    count = plain.get(name_of(op).removeprefix("vectorchain."), 1)
    if len(operands) > count:
        expect_mask(op, operands[-1], result.lanes)
        details = (*details, ("mask", True))
    expect_alike(op, function, operands[:count], result)
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
            if operand.dtype != result.dtype:
                fault(op, f"a selection of {operand.dtype} cannot give {result.dtype}")
            return Reduce(keyword(owner, "reduction_op"), operand, result, location(op))
    source = look(op.operands[0])
    lane_sources(op, "selection_map", map_, result.shape, source.shape)
    if source.dtype != result.dtype:
        fault(op, f"a selection of {source.dtype} cannot give {result.dtype}")
    return VectorOp(name_of(op), "select", (source,), result, (("map", map_),), where=location(op))
