"""Rounding and casts: one rounding to nearest even per conversion, whatever the two types are.

Float to integer goes toward zero, saturates, and turns NaN into 0; integers wrap; an i1 is 0 or 1.
Overflow of f16, bf16, f32 gives infinity, of f8E4M3FN (which has none) NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.numbers.dtypes import bit_width, is_float, numpy_dtype, unsigned_dtype

Array = np.ndarray[Any, Any]


def round_to(array: Array, name: str) -> Array:
    """`array` (f32 or f64) rounded once to float type `name`; the array itself if it has that type."""
    target = numpy_dtype(name)
    if array.dtype == target:
        return array
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if array.dtype == np.float64 and name in ("bf16", "f8E4M3FN"):
            array = _odd_f32(array)
        return array.astype(target)


def widen(array: Array) -> Array:
    """The array in the type its arithmetic is done in: f16, bf16 and fp8 become f32."""
    if array.dtype in (np.float32, np.float64) or array.dtype.kind in "biu":
        return array
    return array.astype(np.float32)


def cast(array: Array, src: str, dst: str, *, unsigned: bool = False) -> Array:
    """`array` of element type `src` converted to `dst`; `unsigned` means the integer side.

    i1 is always unsigned here; callers that want the sign of an i1 (`arith.extsi`) negate.
    """
    if src == dst:
        return array
    if is_float(src):
        return _float_to_float(array, dst) if is_float(dst) else _float_to_int(array, dst, unsigned)
    source = array.view(unsigned_dtype(src)) if unsigned and src != "i1" else array
    if is_float(dst):
        return _int_to_float(source, dst)
    if dst == "i1":
        return (array & 1).astype(np.bool_)
    return source.astype(numpy_dtype(dst))


def _float_to_float(array: Array, dst: str) -> Array:
    if array.dtype in (np.float32, np.float64):
        return round_to(array, dst)
    return round_to(array.astype(np.float32), dst)


def _float_to_int(array: Array, dst: str, unsigned: bool) -> Array:
    bits = bit_width(dst)
    low, high = (0, 2**bits - 1) if unsigned or dst == "i1" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    storage = unsigned_dtype(dst) if unsigned else numpy_dtype(dst)
    x = array.astype(np.float64)
    x = np.where(np.isnan(x), 0.0, np.trunc(x))
    below, above = x <= low, x >= high
    exact = np.where(below | above, 0.0, x).astype(storage)
    out = np.where(below, storage.type(low), np.where(above, storage.type(high), exact))
    return out.astype(storage).view(numpy_dtype(dst))


def _int_to_float(array: Array, dst: str) -> Array:
    if array.dtype.itemsize < 8 or dst in ("f32", "f64"):
        exact = array if dst in ("f32", "f64") else array.astype(np.float64)
        return exact.astype(numpy_dtype(dst)) if dst in ("f32", "f64") else round_to(exact, dst)
    sticky = (array >> array.dtype.type(10)) | (array & array.dtype.type(1023) != 0).astype(array.dtype)
    small = np.abs(array.astype(np.float64)) < 2.0**52
    return round_to(np.where(small, array.astype(np.float64), sticky.astype(np.float64) * 1024.0), dst)


def _odd_f32(array: Array) -> Array:
    """f64 to f32, rounded to odd, so that rounding it again to a narrow type rounds the f64 once."""
    near = array.astype(np.float32)
    back = near.astype(np.float64)
    inexact = (back != array) & np.isfinite(array) & np.isfinite(near)
    bits = near.view(np.int32)
    is_even = (bits & 1) == 0
    # An even neighbour beyond the value steps back, one short of it steps out: both become the odd one.
    too_far = np.abs(back) > np.abs(array)
    step = np.where(too_far, -1, 1).astype(np.int32)
    away_from_zero = np.where(
        near == 0, np.where(array < 0, np.int32(-(2**31) + 1), np.int32(1)), bits + step
    )
    return np.where(inexact & is_even, away_from_zero, bits).astype(np.int32).view(np.float32)
