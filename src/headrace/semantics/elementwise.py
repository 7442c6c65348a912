"""The meaning of every arith and math op on arrays of any one shape, by op name.

A float op of f16, bf16 or fp8 computes in f32 and rounds once; transcendental functions are evaluated in
f64 and rounded to f32 first, the correctly rounded f32 function. Integers wrap, an i1 is a bool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.numbers.dtypes import bit_width, numpy_dtype, unsigned_dtype
from headrace.numbers.rounding import round_to, widen
from headrace.numbers.special import erf, erfc

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def maximum(a: Array, b: Array) -> Array:
    """The larger of two floats, NaN if either is NaN, +0 above -0."""
    best: Array = np.asarray(np.maximum(a, b))
    if best.all():  # no zero among them: the usual case, and a quick one
        return best
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), best)


def minimum(a: Array, b: Array) -> Array:
    """The smaller of two floats, NaN if either is NaN, -0 below +0."""
    best: Array = np.asarray(np.minimum(a, b))
    if best.all():
        return best
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), best)


def _but_nan(of: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """`of` with a NaN operand counting as missing."""
    return lambda a, b: np.where(np.isnan(a), b, np.where(np.isnan(b), a, of(a, b)))


def _half_away_from_zero(x: Array) -> Array:
    whole = np.trunc(x)
    return np.asarray(np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)).astype(x.dtype)


EXACT: dict[str, Function] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.maximumf": maximum,
    "arith.minimumf": minimum,
    "arith.maxnumf": _but_nan(maximum),
    "arith.minnumf": _but_nan(minimum),
    "math.absf": np.abs,
    "math.ceil": np.ceil,
    "math.copysign": np.copysign,
    "math.floor": np.floor,
    "math.round": _half_away_from_zero,
    "math.roundeven": np.rint,
    "math.sqrt": np.sqrt,
    "math.trunc": np.trunc,
}
"""Float ops whose f32 result is correctly rounded when computed in f32."""

FUNCTIONS: dict[str, Function] = {
    "math.acos": np.arccos,
    "math.acosh": np.arccosh,
    "math.asin": np.arcsin,
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.atan2": np.arctan2,
    "math.atanh": np.arctanh,
    "math.cbrt": np.cbrt,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": erf,
    "math.erfc": erfc,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.fpowi": np.power,
    "math.powf": np.power,
    "math.rsqrt": lambda x: 1.0 / np.sqrt(x),
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "spyreop.exp": np.exp,
    "spyreop.gelu": lambda x: 0.5 * x * (1.0 + erf(x * 0.5**0.5)),
    "spyreop.realdiv": np.divide,
    "spyreop.reciprocal": lambda x: 1.0 / x,
    "spyreop.rsqrt": lambda x: 1.0 / np.sqrt(x),
    "spyreop.sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "spyreop.silu": lambda x: x / (1.0 + np.exp(-x)),
    "spyreop.sqrt": np.sqrt,
}
"""Float functions evaluated in f64."""

TESTS: dict[str, Function] = {
    "math.isfinite": np.isfinite,
    "math.isinf": np.isinf,
    "math.isnan": np.isnan,
    "math.isnormal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
}


_NARROW = (np.float16, np.float32)


def float_op(name: str, operands: Sequence[Array], dtype: str) -> Array:
    """The value of a float op of `EXACT`, `FUNCTIONS` or "math.fma" in element type `dtype`."""
    wide = [widen(x) for x in operands]
    with np.errstate(all="ignore"):
        if name in EXACT:
            return round_to(np.asarray(EXACT[name](*wide)), dtype)
        exact = [x.astype(np.float64) for x in wide]
        result = fused(*exact) if name == "math.fma" else np.asarray(FUNCTIONS[name](*exact))
        return round_to(result if dtype == "f64" else result.astype(np.float32), dtype)


def float_into(out: Array, name: str, operands: Sequence[Array], dtype: str) -> None:
    """`float_op` with its value written to `out`, an array of that type."""
    of = EXACT.get(name)
    if isinstance(of, np.ufunc) and dtype in ("f16", "f32") and all(x.dtype in _NARROW for x in operands):
        with np.errstate(all="ignore"):
            if dtype == "f32":
                of(*map(widen, operands), out=out)
            else:
                out[...] = of(*map(widen, operands))
        return
    out[...] = float_op(name, operands, dtype)


def fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c for f32 values held in f64, rounded to odd so that the rounding to f32 is the only one."""
    product = a * b
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    is_even = (total.view(np.int64) & 1) == 0
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error)
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact & is_even, np.nextafter(total, toward), total)


INTEGERS: dict[str, Function] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "math.absi": np.abs,
    "spyreop.addi32toi32": np.add,
    "spyreop.addi64toi64": np.add,
    "spyreop.muli32toi32": np.multiply,
}
UNSIGNED: dict[str, Function] = {"arith.maxui": np.maximum, "arith.minui": np.minimum}


def integer_op(name: str, operands: Sequence[Array], dtype: str) -> Array:
    """The value of an integer op; division by 0 gives 0, a shift by the width or more sign bits or zeros."""
    if dtype == "i1":
        return _bit_op(name, operands)
    target = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        if name in INTEGERS:
            return np.asarray(INTEGERS[name](*operands)).astype(target)
        if name in UNSIGNED:
            unsigned = [x.view(unsigned_dtype(dtype)) for x in operands]
            return np.asarray(UNSIGNED[name](*unsigned)).view(target)
        if name in _DIVISIONS:
            return np.asarray(_DIVISIONS[name](*operands, unsigned_dtype(dtype))).astype(target)
        if name in _SHIFTS:
            return np.asarray(_SHIFTS[name](*operands, unsigned_dtype(dtype))).astype(target)
        if name == "math.ipowi":
            return _integer_power(*operands)
        return _bits(name, operands[0], dtype)


def knows_integer(name: str) -> bool:
    """Whether `integer_op` evaluates the op."""
    known = (INTEGERS, UNSIGNED, _DIVISIONS, _SHIFTS)
    return any(name in table for table in known) or name in (
        "math.ipowi",
        "math.ctlz",
        "math.cttz",
        "math.ctpop",
    )


def _bit_op(name: str, operands: Sequence[Array]) -> Array:
    """Ops on i1 (values 0 and -1 when signed): arithmetic modulo 2."""
    a, b = operands[0], operands[-1]
    if name in ("arith.addi", "arith.subi", "arith.xori"):
        return a ^ b
    if name in ("arith.muli", "arith.andi", "arith.minui", "arith.maxsi"):
        return a & b
    if name in ("arith.ori", "arith.maxui", "arith.minsi"):
        return a | b
    if name in ("arith.divui", "arith.divsi", "arith.floordivsi", "arith.ceildivui", "arith.ceildivsi"):
        return a & b
    if name in ("arith.shli", "arith.shrui"):
        return a & ~b
    if name in ("arith.remui", "arith.remsi"):
        return a & ~b & False
    return a | b if name == "math.ipowi" else a


def _divide(a: Array, b: Array) -> Array:
    """Quotient toward zero, 0 where the divisor is 0, the most negative number over -1 wrapping."""
    quotient = np.floor_divide(a, np.where(b == 0, 1, b).astype(b.dtype))
    quotient = quotient + ((a - quotient * b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)
    return np.where(b == 0, 0, np.where(b == -1, np.negative(a), quotient))


def _round_up(a: Array, b: Array) -> Array:
    quotient = _divide(a, b)
    return np.asarray(
        np.add(quotient, (b != 0) & (a - quotient * b != 0) & ((a < 0) == (b < 0)), dtype=a.dtype)
    )


def _round_down(a: Array, b: Array) -> Array:
    quotient = _divide(a, b)
    return np.asarray(
        np.subtract(quotient, (b != 0) & (a - quotient * b != 0) & ((a < 0) != (b < 0)), dtype=a.dtype)
    )


def _unsigned(of: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Any], Array]:
    def apply(a: Array, b: Array, unsigned: Any) -> Array:
        x, y = a.view(unsigned), b.view(unsigned)
        return np.where(y == 0, 0, of(x, np.where(y == 0, 1, y).astype(unsigned))).astype(unsigned)

    return apply


_DIVISIONS: dict[str, Function] = {
    "arith.divsi": lambda a, b, _: _divide(a, b),
    "arith.ceildivsi": lambda a, b, _: _round_up(a, b),
    "arith.floordivsi": lambda a, b, _: _round_down(a, b),
    "arith.remsi": lambda a, b, _: np.where(b == 0, 0, a - _divide(a, b) * b),
    "arith.divui": _unsigned(np.floor_divide),
    "arith.remui": _unsigned(np.remainder),
    "arith.ceildivui": _unsigned(lambda a, b: a // b + (a % b != 0)),
}


def _shift(of: Function, is_signed: bool) -> Callable[[Array, Array, Any], Array]:
    def apply(a: Array, b: Array, unsigned: Any) -> Array:
        width = 8 * a.dtype.itemsize
        amount = b.view(unsigned)
        x = a if is_signed else a.view(unsigned)
        near = of(x, np.minimum(amount, width - 1).astype(x.dtype))
        beyond = np.where(x < 0, -1, 0).astype(x.dtype) if is_signed else np.zeros_like(x)
        return np.where(amount >= width, beyond, near)

    return apply


_SHIFTS: dict[str, Function] = {
    "arith.shli": _shift(np.left_shift, False),
    "arith.shrui": _shift(np.right_shift, False),
    "arith.shrsi": _shift(np.right_shift, True),
}


def _integer_power(base: Array, exponent: Array) -> Array:
    """base ** exponent, wrapping; a negative exponent gives the truncated reciprocal."""
    base, exponent = np.broadcast_arrays(base, exponent)
    result, square, left = np.ones_like(base), base.copy(), np.maximum(exponent, 0)
    while left.any():
        result = np.where(left & 1, result * square, result)
        square, left = square * square, left >> 1
    minus = np.where(base == 1, 1, np.where(base == -1, np.where(exponent & 1, -1, 1), 0))
    return np.where(exponent < 0, minus, result).astype(base.dtype)


def _bits(name: str, x: Array, dtype: str) -> Array:
    """Leading zeros, trailing zeros or ones of every element."""
    width = bit_width(dtype)
    unsigned = x.view(unsigned_dtype(dtype))
    if name == "math.ctpop":
        return np.bitwise_count(unsigned).astype(x.dtype)
    count = np.zeros(x.shape, np.int64)
    is_open = np.ones(x.shape, np.bool_)
    for k in range(width):
        at = width - 1 - k if name == "math.ctlz" else k
        is_open = is_open & ((unsigned >> unsigned.dtype.type(at)) & 1 == 0)
        count += is_open
    return count.astype(x.dtype)
