"""How close two results have to be: units in the last place, and the bound of a sum whose order is free."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.numbers.dtypes import dtype_name, is_float, precision_bits
from headrace.numbers.rounding import round_to

Array = np.ndarray[Any, Any]

FAR = 2**62
"""The distance between a NaN and a number."""


def ulp_distance(actual: Array, expected: Array) -> Array:
    """How many representable values lie between the elements of two float arrays of one type (int64).

    Both NaN or +0 against -0 is 0, one NaN is `FAR`.
    """
    if actual.dtype != expected.dtype:
        raise TypeError(f"cannot count ulps between {actual.dtype} and {expected.dtype}")
    a, b = _ordered(actual), _ordered(expected)
    low, high = np.minimum(a, b).view(np.uint64), np.maximum(a, b).view(np.uint64)
    apart = np.minimum(high - low, np.uint64(FAR)).astype(np.int64)
    nan_a, nan_b = np.isnan(actual), np.isnan(expected)
    return np.where(nan_a | nan_b, np.where(nan_a & nan_b, 0, FAR), apart)


def ulp_size(array: Array, dtype: str) -> Array:
    """The spacing of `dtype` numbers at the magnitude of every element (f64; at 0 the smallest subnormal)."""
    smallest = float(_tiny(dtype))
    exponent = np.frexp(np.maximum(np.abs(array.astype(np.float64)), smallest))[1]
    return np.asarray(np.maximum(np.ldexp(1.0, exponent - precision_bits(dtype)), smallest))


def reduction_bound(terms: int, magnitude: Array, result: Array, dtype: str) -> Array:
    """The largest error of a sum of `terms` products taken in f32 in any order, rounded once to `dtype`.

    2 sqrt(K) 2^-24 sum |a_i b_i| + 1 ulp of the result; `magnitude` is that sum, shaped like `result`.
    """
    return 2.0 * math.sqrt(terms) * 2.0**-24 * magnitude.astype(np.float64) + ulp_size(result, dtype)


def assert_close(
    actual: Array,
    expected: Array,
    *,
    max_ulp: int = 1,
    terms: int = 0,
    magnitude: Array | None = None,
    name: str = "",
) -> None:
    """Raises AssertionError unless the arrays agree; integers, shapes, types and NaN positions exactly.

    Floats may differ by `max_ulp` units of `actual`'s type or, when `magnitude` (sum of |a_i b_i|) and
    `terms` are given, by `reduction_bound`. `expected` may be wider than `actual` (an f64 reference).
    """
    assert actual.shape == expected.shape, f"{name}: shape {actual.shape}, expected {expected.shape}"
    dtype = dtype_name(actual.dtype)
    if not is_float(dtype):
        assert actual.dtype == expected.dtype, f"{name}: type {actual.dtype}, expected {expected.dtype}"
        _raise_where(actual != expected, actual, expected, name, "must be equal")
        return
    a = actual.astype(np.float64)
    narrow = round_to(np.asarray(expected), dtype) if expected.dtype != actual.dtype else expected
    far = ulp_distance(actual, narrow) > max_ulp
    if magnitude is not None:
        wide = expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            within = np.abs(a - wide) <= reduction_bound(terms, magnitude, wide, dtype)
        far &= ~(within & np.isfinite(wide))
    limit = f"within {max_ulp} ulp" if magnitude is None else f"within the bound of a sum of {terms} terms"
    _raise_where(far, actual, expected, name, limit)


def max_ulp(actual: Array, expected: Array) -> int:
    """The largest `ulp_distance`, 0 for empty arrays; 0 or `FAR` for integers (equal or not)."""
    if actual.size == 0:
        return 0
    if not is_float(dtype_name(actual.dtype)):
        return 0 if np.array_equal(actual, expected) else FAR
    return int(ulp_distance(actual, expected).max())


def _ordered(array: Array) -> Array:
    """The bits of a float array as integers in the order of the numbers, both zeros being 0."""
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"i{width}").astype(np.int64)
    lowest = -(2 ** (8 * width - 1))
    return np.where(bits < 0, lowest - bits, bits)


def _tiny(dtype: str) -> float:
    return {"f64": 5e-324, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133, "f8E4M3FN": 2.0**-9}[dtype]


def _raise_where(wrong: Array, actual: Array, expected: Array, name: str, limit: str) -> None:
    if not wrong.any():
        return
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    raise AssertionError(
        f"{name or 'arrays'}: {int(wrong.sum())} of {wrong.size} elements are not {limit}; "
        f"first at {list(at)}: {actual[at]} but expected {expected[at]}"
    )
