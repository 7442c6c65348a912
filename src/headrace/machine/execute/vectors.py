"""Evaluates one vector node on arrays of shape [instance, iteration, *vector]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.machine.execute.arithmetic import (
    BINARY,
    COMPARE,
    UNARY,
    UNSIGNED,
    Array,
    binary,
    compare,
    unary,
)
from headrace.machine.execute.convert import cast, round_to, widen
from headrace.machine.execute.lanes import LEAD, MOVES, flat, lane_table, shaped
from headrace.machine.image import Constant, Reduce, VectorOp
from headrace.numbers.dtypes import is_float, is_integer, numpy_dtype

_UNSIGNED_CASTS = ("uitofp", "fptoui", "extui", "index_castui")
_CASTS = frozenset(
    ("cast", "extf", "truncf", "sitofp", "fptosi", "extsi", "trunci", "index_cast", *_UNSIGNED_CASTS)
)
_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and0": np.bitwise_and,
    "or0": np.bitwise_or,
}


def constant(node: Constant) -> Array:
    """The constant as an array with leading axes of 1, a splat as a broadcast view."""
    value = node.result
    flat = np.frombuffer(node.raw, numpy_dtype(value.dtype))
    if flat.size == 1:
        return np.broadcast_to(flat.reshape((1,) * (LEAD + len(value.shape))), (1, 1, *value.shape))
    return flat.reshape(1, 1, *value.shape)


def is_supported(node: VectorOp) -> bool:
    """Whether `evaluate` knows the function of a node."""
    known = (BINARY, UNARY, UNSIGNED, COMPARE, _CASTS, _SPECIAL, _FLOAT_PREDICATES)
    return node.function == "multiply" or any(node.function in names for names in known)


def evaluate(
    node: VectorOp, inputs: Sequence[Array], indices: Sequence[Any], scalars: dict[str, Any]
) -> Array:
    """The result of an op; `indices` are its integer operands, per instance or plain."""
    if node.function == "multiply":
        return _multiply(node, inputs)
    if node.detail("mask"):
        return _masked(node, inputs, scalars)
    return _plain(node, inputs, [leading(i) for i in indices], scalars)


def leading(value: Any) -> Array:
    """An integer, or integers by instance (and iteration), with both leading axes."""
    array = np.asarray(value)
    return array if array.ndim == LEAD else array.reshape(-1, 1)


def _plain(node: VectorOp, inputs: Sequence[Array], indices: Sequence[Any], scalars: dict[str, Any]) -> Array:
    function, result = node.function, node.result
    special = _SPECIAL.get(function)
    if node.name == "vectorchain.scan_with_gap":
        return scan(function, inputs[0], result.dtype, node.detail("gap"), node.detail("backwards"))
    if special is not None:
        found: Array = special(node, inputs, indices, scalars)
        return found
    source = node.operands[0].dtype if node.operands else result.dtype
    if function in _CASTS:
        return _cast(function, inputs[0], source, result.dtype)
    if len(inputs) == 1 and function in UNARY:
        return estimated(unary(function, inputs[0], result.dtype), node)
    if function in COMPARE or function in _FLOAT_PREDICATES:
        return compare(function, inputs[0], inputs[1], source)
    if function in BINARY or function in UNSIGNED:
        return binary(function, inputs[0], inputs[1], result.dtype)
    raise HeadraceError(Diagnostic(f"function {function} is not implemented", node.where, node.name))


def _masked(node: VectorOp, inputs: Sequence[Array], scalars: dict[str, Any]) -> Array:
    """Masked-off lanes give the second operand of a binary op, 0 for others."""
    *values, mask = inputs
    details = tuple(d for d in node.details if d[0] != "mask")
    plain = VectorOp(
        node.name, node.function, node.operands[:-1], node.result, details, node.indices, node.where
    )
    found = _plain(plain, values, (), scalars)
    lanes = mask.reshape(*mask.shape[:LEAD], *node.result.shape)
    rest = values[1] if node.name == "vectorchain.binary" else np.zeros((), found.dtype)
    return np.where(lanes, found, rest)


def _cast(function: str, x: Array, source: str, target: str) -> Array:
    if function == "extsi" and source == "i1":
        return (-x.astype(np.int8)).astype(numpy_dtype(target))
    return cast(x, source, target, unsigned=function in _UNSIGNED_CASTS)


def scan(function: str, x: Array, dtype: str, gap: int, backwards: bool) -> Array:
    """Running combination with step `gap`: O[i] = I[i] op I[i - gap] op …, in the vector's type."""
    if backwards:
        return scan(function, x[..., ::-1], dtype, gap, False)[..., ::-1]
    out = np.empty_like(x)
    for start in range(min(gap, x.shape[-1])):
        out[..., start::gap] = _accumulate(function, x[..., start::gap], dtype)
    return out


def _accumulate(function: str, x: Array, dtype: str) -> Array:
    if function in _UFUNCS and function not in ("max", "min"):
        return _UFUNCS[function].accumulate(x, axis=-1, dtype=numpy_dtype(dtype))
    if function in ("max", "min"):
        return (
            round_to(_UFUNCS[function].accumulate(widen(x), axis=-1), dtype)
            if is_float(dtype)
            else (_UFUNCS[function].accumulate(x, axis=-1))
        )
    out = np.array(x)
    for i in range(1, x.shape[-1]):
        out[..., i] = binary(function, out[..., i - 1], x[..., i], dtype)
    return out


def reduce(node: Reduce, x: Array) -> Array:
    """A row reduction to one lane, in the vector's type, order free."""
    found = reduce_axis(node.function, x, node.operand.dtype, -1)
    return found[..., None] if len(node.result.shape) == 1 else found


def reduce_axis(function: str, x: Array, dtype: str, axis: int) -> Array:
    """`x` combined along an axis with an associative function, in MLIR type `dtype`."""
    if function.startswith("abs_"):
        return reduce_axis(function[4:], np.abs(x), dtype, axis)
    ufunc = _UFUNCS.get(function)
    if ufunc is None:
        lanes = np.moveaxis(x, axis, -1)
        return _accumulate(function, lanes, dtype)[..., -1]
    if is_float(dtype):
        return round_to(_signed(function, ufunc.reduce(widen(x), axis=axis), x, axis), dtype)
    return np.asarray(ufunc.reduce(x, axis=axis, dtype=numpy_dtype(dtype)))


def _signed(function: str, found: Array, x: Array, axis: int) -> Array:
    """The sign of a zero that is the greatest or the least of many, +0 above -0; NumPy leaves it open."""
    if not function.startswith(("max", "min")) or not (found == 0).any():
        return found
    is_greatest, negative = function.startswith("max"), np.signbit(x)
    has_other = np.any((x == 0) & (negative != is_greatest), axis=axis)
    return np.where(found == 0, np.where(has_other == is_greatest, 0.0, -0.0), found).astype(found.dtype)


def _selection(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    return np.where(inputs[0].astype(np.bool_, copy=False), inputs[1], inputs[2])


def _fma(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    a, b, c = (x.astype(np.float64) for x in inputs)
    return round_to(a * b + c, node.result.dtype)


def _bitcast(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    return np.ascontiguousarray(inputs[0]).view(numpy_dtype(node.result.dtype))


def _argument(node: VectorOp, _: Sequence[Array], __: Any, scalars: dict[str, Any]) -> Array:
    value = np.array(scalars[node.detail("argument")], numpy_dtype(node.result.dtype))
    return np.broadcast_to(value, (1, 1, *node.result.shape))


def _index(node: VectorOp, _: Sequence[Array], indices: Sequence[Any], *__: Any) -> Array:
    """An integer of the program as a vector; it may differ by instance and by iteration."""
    lead = indices[0]
    dtype = node.result.dtype
    found = (
        lead.astype(numpy_dtype(dtype)) if is_integer(dtype) else cast(lead.astype(np.int64), "i64", dtype)
    )
    found = found.reshape(*found.shape, *(1,) * len(node.result.shape))
    return np.broadcast_to(found, (*found.shape[:LEAD], *node.result.shape))


def estimated(x: Array, node: VectorOp) -> Array:
    """The values with the significant bits that an estimate has; as they are where it is exact."""
    bits = node.detail("bits")
    if not bits:
        return x
    mantissa, exponent = np.frexp(x.astype(np.float64))
    near = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return round_to(np.where(np.isfinite(mantissa), near, mantissa), node.result.dtype)


def _exp(node: VectorOp, inputs: Sequence[Array], *_: Any) -> Array:
    """The function, or one of the two vectors whose combination it is: f(x) and 1, or 0 and f(x)."""
    version = node.detail("version")
    if version in ("b", "slope"):
        return np.full_like(inputs[0], 1 if version == "b" else 0)
    return estimated(unary(node.function, inputs[0], node.result.dtype), node)


def _multiply(node: VectorOp, inputs: Sequence[Array]) -> Array:
    """A contraction that is no einsum: products added up lane by lane, those masked off left out."""
    values = inputs[:-1] if node.detail("mask") else inputs
    wide = [_widest(flat(x, v)) for x, v in zip(values, node.operands, strict=False)]
    products = wide[0] * wide[1]
    if node.detail("mask"):
        products = np.where(flat(inputs[-1], node.operands[-1]), products, 0).astype(products.dtype)
    table = lane_table(node.detail("map"), node.operands[0].shape, node.result.shape)
    lead = np.broadcast_shapes(*(w.shape[:LEAD] for w in wide), products.shape[:LEAD])
    out = np.zeros((*lead, node.result.lanes), products.dtype)
    every: Any = (Ellipsis, table)
    np.add.at(out, every, np.broadcast_to(products, (*lead, products.shape[-1])))
    if len(wide) > 2:
        out = out + wide[2]
    dtype = node.result.dtype
    rounded = round_to(out, dtype) if is_float(dtype) else out.astype(numpy_dtype(dtype))
    return shaped(rounded, node.result)


def _widest(x: Array) -> Array:
    """The array in the type sums of products are kept in: f32, or i64."""
    return x.astype(np.int64) if x.dtype.kind in "iub" else widen(x)


_SPECIAL: dict[str, Any] = {
    **MOVES,
    "selection": _selection,
    "fma": _fma,
    "bitcast": _bitcast,
    "argument": _argument,
    "index": _index,
    "exp": _exp,
    "sigmoid": _exp,
    "tanh": _exp,
}
_FLOAT_PREDICATES = frozenset(
    (
        "false",
        "oeq",
        "ogt",
        "oge",
        "olt",
        "ole",
        "one",
        "ord",
        "ueq",
        "ugt",
        "uge",
        "ult",
        "ule",
        "une",
        "uno",
        "true",
    )
)
