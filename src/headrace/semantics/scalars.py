"""Ops that work element by element, on scalars, tensors and bodies alike: arith, math, spyreop, affine,
linalg.index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.numbers.dtypes import is_float, is_known, numpy_dtype, unsigned_dtype
from headrace.numbers.rounding import round_to
from headrace.semantics.affine import evaluate
from headrace.semantics.compare import CONVERSIONS, compare_floats, compare_integers, convert
from headrace.semantics.elementwise import (
    EXACT,
    FUNCTIONS,
    INTEGERS,
    TESTS,
    UNSIGNED,
    float_op,
    integer_op,
    knows_integer,
)
from headrace.semantics.frame import Frame, Handler, element_type, known_element_type, scalar
from headrace.semantics.intrinsics import INTRINSICS

Array = np.ndarray[Any, Any]


def constant(op: Operation) -> Sequence[Any]:
    """`arith.constant`, `spyreop.constant`: a Python number for index, an array otherwise."""
    value: Any = op.properties.get("value", op.attributes.get("value"))
    dtype = element_type(op.results[0].type)
    if isinstance(value, DenseIntOrFPElementsAttr) and is_known(dtype):
        return [_dense(value, dtype)]
    if not isinstance(value, IntegerAttr | FloatAttr) or not is_known(dtype):
        raise HeadraceError(Diagnostic(f"cannot read the constant {value}", location(op), op.name))
    if dtype == "index":
        return [int(value.value.data)]
    return [_number(value.value.data, dtype)]


def _number(value: float | int, dtype: str) -> Array:
    if is_float(dtype):
        return round_to(np.asarray(value, np.float64), dtype)
    if dtype == "i1":
        return np.asarray(bool(value & 1) if isinstance(value, int) else bool(value))
    bits = int(value) % (1 << (8 * numpy_dtype(dtype).itemsize))
    return np.asarray(bits, unsigned_dtype(dtype)).view(numpy_dtype(dtype))


def _dense(value: Any, dtype: str) -> Array:
    shape = value.type.get_shape()
    if value.is_splat():
        return np.broadcast_to(_number(value.get_values()[0], dtype), shape)
    elements = value.get_values()
    if is_float(dtype):
        return round_to(np.array(elements, np.float64), dtype).reshape(shape)
    return np.array(elements, np.int64).astype(numpy_dtype(dtype)).reshape(shape)


def _float(frame: Frame, op: Operation) -> Sequence[Any]:
    return [float_op(op.name, frame.arrays(op), known_element_type(frame, op, op.results[0].type))]


def _integer(frame: Frame, op: Operation) -> Sequence[Any]:
    dtype = known_element_type(frame, op, op.results[0].type)
    if dtype == "index":
        fast = _INDEX.get(op.name)
        a, b = frame.values[op.operands[0]], frame.values[op.operands[-1]]
        if fast is not None and type(a) is int and type(b) is int:
            return [fast(a, b)]
    return [scalar(integer_op(op.name, frame.arrays(op), dtype), dtype)]


_INDEX: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.minsi": min,
    "arith.maxsi": max,
}


def _test(frame: Frame, op: Operation) -> Sequence[Any]:
    wide = frame.array(op, op.operands[0])
    return [np.asarray(TESTS[op.name](wide if wide.dtype.kind == "f" else wide.astype(np.float32)))]


def _cmpi(frame: Frame, op: Operation) -> Sequence[Any]:
    a, b = frame.arrays(op)
    dtype = element_type(op.operands[0].type)
    return [compare_integers(op.properties["predicate"].value.data, a, b, dtype)]  # type: ignore[attr-defined]


def _cmpf(frame: Frame, op: Operation) -> Sequence[Any]:
    a, b = frame.arrays(op)
    return [compare_floats(op.properties["predicate"].value.data, a, b)]  # type: ignore[attr-defined]


def _select(frame: Frame, op: Operation) -> Sequence[Any]:
    condition = frame.array(op, op.operands[0])
    if condition.ndim == 0:
        return [frame.get(op.operands[1 if condition else 2])]
    a, b = frame.array(op, op.operands[1]), frame.array(op, op.operands[2])
    return [np.where(condition, a, b)]


def _convert(frame: Frame, op: Operation) -> Sequence[Any]:
    src = known_element_type(frame, op, op.operands[0].type)
    dst = known_element_type(frame, op, op.results[0].type)
    return [scalar(convert(op.name, frame.array(op, op.operands[0]), src, dst), dst)]


def _extended(frame: Frame, op: Operation) -> Sequence[Any]:
    """`arith.addui_extended`, `mulsi_extended`, `mului_extended`: the low word and the carry or high word."""
    a, b = frame.arrays(op)
    dtype = element_type(op.results[0].type)
    width, target = 8 * numpy_dtype(dtype).itemsize, numpy_dtype(dtype)
    kind = target if op.name == "arith.mulsi_extended" else unsigned_dtype(dtype)
    if op.name == "arith.addui_extended":
        x, y = a.view(kind), b.view(kind)
        low = np.asarray(x + y)
        return [low.view(target), np.asarray(low < x)]
    if width < 64:
        wide = a.view(kind).astype(np.int64) * b.view(kind).astype(np.int64)
        return [wide.astype(target), (wide >> width).astype(target)]
    x, y = a.view(np.uint64), b.view(np.uint64)
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    low_low, high_low = (x & mask) * (y & mask), (x >> half) * (y & mask)
    middle = high_low + (low_low >> half)
    other = (x & mask) * (y >> half) + (middle & mask)
    high = (x >> half) * (y >> half) + (middle >> half) + (other >> half)
    if op.name == "arith.mulsi_extended":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return [np.asarray(x * y).view(target), np.asarray(high).view(target)]


def _affine(frame: Frame, op: Operation) -> Sequence[Any]:
    """`affine.apply`, `affine.min`, `affine.max`."""
    map = op.properties["map"].data  # type: ignore[attr-defined]
    operands = [v if type(v) is int else np.asarray(v) for v in (frame.get(o) for o in op.operands)]
    dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
    values = [evaluate(e, dims, symbols) for e in map.results]
    pick = np.minimum if op.name == "affine.min" else np.maximum
    value = values[0]
    for other in values[1:]:
        value = pick(value, other)
    return [scalar(np.asarray(value, np.int64), "index")]


def _index(frame: Frame, op: Operation) -> Sequence[Any]:
    return [frame.domain[op.properties["dim"].value.data]]  # type: ignore[attr-defined]


def _softplus(frame: Frame, op: Operation) -> Sequence[Any]:
    """log(1 + exp(beta x)) / beta, x itself where beta x is above the threshold."""
    given: dict[str, Any] = {**op.attributes, **op.properties}
    beta, limit = (float(given[k].value.data) for k in ("beta", "threshold"))
    dtype = known_element_type(frame, op, op.results[0].type)
    x = frame.array(op, op.operands[0]).astype(np.float64)
    soft = np.logaddexp(0.0, beta * x) / beta
    return [round_to(np.where(beta * x > limit, x, soft).astype(np.float32), dtype)]


def _sincos(frame: Frame, op: Operation) -> Sequence[Any]:
    dtype = known_element_type(frame, op, op.results[0].type)
    return [float_op(name, frame.arrays(op), dtype) for name in ("math.sin", "math.cos")]


def _clamp(frame: Frame, op: Operation) -> Sequence[Any]:
    """`math.clampf`: NaN stays NaN."""
    value, low, high = frame.arrays(op)
    dtype = known_element_type(frame, op, op.results[0].type)
    return [float_op("arith.minimumf", [float_op("arith.maximumf", [value, low], dtype), high], dtype)]


def _address(frame: Frame, op: Operation) -> Sequence[Any]:
    """`spyreop.idx32toaddr`: base + stride * index."""
    index, *given = (x.astype(np.int64) for x in frame.arrays(op))
    dynamic = iter(given)
    base, stride = (_given(op, key, dynamic) for key in ("base", "stride"))
    return [np.asarray(base + stride * index)]


def _given(op: Operation, key: str, dynamic: Iterator[Array]) -> Any:
    fixed: Any = op.properties.get(key)
    return next(dynamic) if fixed is None else np.int64(fixed.value.data)


def _extract(frame: Frame, op: Operation) -> Sequence[Any]:
    """`tensor.extract`: one element, or one per point when the indices are arrays."""
    source = frame.array(op, op.operands[0])
    indices = [np.asarray(frame.get(v)) for v in op.operands[1:]]
    for axis, (index, size) in enumerate(zip(indices, source.shape, strict=True)):
        if index.size and (index.min() < 0 or index.max() >= size):
            raise frame.error(op, f"index {int(index.max())} of axis {axis} is outside its {size} elements")
    return [scalar(np.asarray(source[tuple(indices)]), element_type(op.results[0].type))]


SCALARS: dict[str, Handler] = {
    "arith.constant": lambda frame, op: frame.once("value", op, lambda: constant(op)),
    "spyreop.constant": lambda frame, op: frame.once("value", op, lambda: constant(op)),
    **{name: _float for name in (*EXACT, *FUNCTIONS, "math.fma")},
    **{
        name: _integer
        for name in (
            *INTEGERS,
            *UNSIGNED,
            *(f"arith.{n}" for n in "divsi ceildivsi floordivsi remsi divui remui ceildivui".split()),
            *(f"arith.{n}" for n in "shli shrui shrsi".split()),
            *(f"math.{n}" for n in "ipowi ctlz cttz ctpop".split()),
        )
        if knows_integer(name)
    },
    **{name: _test for name in TESTS},
    **{name: _convert for name in CONVERSIONS},
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    **{f"arith.{n}": _extended for n in ("addui_extended", "mulsi_extended", "mului_extended")},
    **{f"affine.{n}": _affine for n in ("apply", "min", "max")},
    "linalg.index": _index,
    "math.sincos": _sincos,
    "math.clampf": _clamp,
    "spyreop.idx32toaddr": _address,
    "spyreop.softplus": _softplus,
    "tensor.extract": _extract,
    **INTRINSICS,
}
"""The handler of every such op, by name."""
