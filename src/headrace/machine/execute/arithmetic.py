"""What the element-wise vector ops compute, on whole arrays.

Narrow floats (f16, bf16, fp8) compute in f32 and round once; f32 functions that NumPy does not give within
one ulp go through f64, but for exp (`numbers.exponential`). Arrays keep two leading axes, instance and
iteration, in front of the vector's shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.machine.execute.convert import pays, round_to, widen
from headrace.numbers import exponential, special
from headrace.numbers.dtypes import is_float, numpy_dtype, unsigned_dtype

Array = np.ndarray[Any, Any]


def maximum(a: Array, b: Array) -> Array:
    """The greater value; NaN if either is NaN, -0 below +0."""
    out = np.maximum(a, b)
    return _fix_zeros(out, a, b, -1) if out.dtype.kind == "f" else out


def minimum(a: Array, b: Array) -> Array:
    """The lesser value; NaN if either is NaN, -0 below +0."""
    out = np.minimum(a, b)
    return _fix_zeros(out, a, b, 1) if out.dtype.kind == "f" else out


def _fix_zeros(out: Array, a: Array, b: Array, sign: int) -> Array:
    """Where the result is a zero, its sign: positive if either is for a maximum, negative for a minimum."""
    zero = (out == 0) & (a == b)
    if not zero.any():
        return out
    return np.where(zero, a + b if sign < 0 else -((-a) + (-b)), out)


def _logic(f: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A bitwise function, also on the bits of floats."""

    def apply(a: Array, b: Array) -> Array:
        if a.dtype.kind in "iub":
            return f(a, b)
        bits = np.dtype(f"i{a.dtype.itemsize}")
        return f(a.view(bits), b.view(bits)).view(a.dtype)

    return apply


def _truncated(a: Array, b: Array) -> Array:
    """Integer division toward zero; division by zero gives -1 (all ones), as no trap is modelled."""
    quotient = _floor_division(a, b)  # not of the absolute values: the least number has none
    is_below = (b != 0) & ((a < 0) != (b < 0)) & (quotient * b != a)
    return np.asarray(quotient + is_below).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, a, a - _truncated(a, b) * b).astype(a.dtype)


def _floor_division(a: Array, b: Array) -> Array:
    return np.where(b == 0, -1, a // np.where(b == 0, 1, b)).astype(a.dtype)


def _ceil_division(a: Array, b: Array) -> Array:
    quotient = _floor_division(a, b)
    return np.where(b == 0, 1, quotient + (quotient * b != a)).astype(a.dtype)


def _shift(f: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A shift; amounts of the width and more give what shifting one by one would."""

    def apply(a: Array, b: Array) -> Array:
        width = 8 * a.dtype.itemsize
        over = (b < 0) | (b >= width)
        kept = f(a, np.where(over, 0, b).astype(a.dtype))
        if not over.any():
            return kept
        return np.where(
            over, -1 * (a < 0) if f is np.right_shift and a.dtype.kind == "i" else 0, kept
        ).astype(a.dtype)

    return apply


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": maximum,
    "min": minimum,
    "abs_max": lambda a, b: maximum(np.abs(a), np.abs(b)),
    "abs_min": lambda a, b: minimum(np.abs(a), np.abs(b)),
    "mul_div2": lambda a, b: a * b / 2 if a.dtype.kind == "f" else (a * b) >> a.dtype.type(1),
    "and0": _logic(np.bitwise_and),
    "or0": _logic(np.bitwise_or),
    "xnor": _logic(lambda a, b: ~(a ^ b)),
    "and_not": _logic(lambda a, b: a & ~b),
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": maximum,
    "minimumf": minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "divsi": _truncated,
    "remsi": _remainder,
    "floordivsi": _floor_division,
    "ceildivsi": _ceil_division,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "shli": _shift(np.left_shift),
    "shrsi": _shift(np.right_shift),
    "powf": np.power,
    "atan2": np.arctan2,
    "copysign": np.copysign,
    "ipowi": np.power,
    "fpowi": lambda a, b: np.power(a, b.astype(a.dtype)),
}
_LOGIC = frozenset(("and0", "or0", "xnor", "and_not"))
"""Functions of the bits of their operands, whatever these mean."""
_TRUTH: dict[str, Callable[[Array, Array], Array]] = {
    **dict.fromkeys(("add", "sub", "addi", "subi"), np.logical_xor),
    **dict.fromkeys(("mul", "muli", "maxsi", "min", "abs_min", "mul_div2"), np.logical_and),
    **dict.fromkeys(("minsi", "max", "abs_max"), np.logical_or),
}
"""Arithmetic on i1: it wraps; the signed functions of `arith` take true as -1, `vectorchain` as 1."""
UNSIGNED: dict[str, Callable[[Array, Array], Array]] = {
    "divui": lambda a, b: np.where(b == 0, np.iinfo(a.dtype).max, a // np.where(b == 0, 1, b)),
    "remui": lambda a, b: np.where(b == 0, a, a % np.where(b == 0, 1, b)),
    "ceildivui": lambda a, b: np.where(a == 0, 0, (a - 1) // np.where(b == 0, 1, b) + 1),
    "maxui": np.maximum,
    "minui": np.minimum,
    "shrui": _shift(np.right_shift),
}
UNARY: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": special.erf,
    "erfc": special.erfc,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + special.erf(x / np.sqrt(2.0))),
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "neg": np.negative,
    "negf": np.negative,
    "absf": np.abs,
    "absi": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
    "round": lambda x: np.trunc(x + np.copysign(x.dtype.type(0.5) - np.spacing(x.dtype.type(0.25)), x)),
}
EXACT = frozenset(
    ("neg", "negf", "absf", "absi", "floor", "ceil", "trunc", "roundeven", "round", "sqrt", "reciprocal")
)
"""Unary functions that are correctly rounded in the type they are computed in."""
_COMPILED = frozenset(("exp", "sigmoid", "tanh"))
"""Those of `functions.py`, which is loaded when there is much to compute."""

COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "neq": np.not_equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def binary(function: str, a: Array, b: Array, dtype: str) -> Array:
    """An element-wise function of two arrays of MLIR type `dtype`, rounded once to it."""
    if function in UNSIGNED:
        kind = unsigned_dtype(dtype)
        return UNSIGNED[function](a.view(kind), b.view(kind)).astype(kind).view(numpy_dtype(dtype))
    f = BINARY[function]
    if function in _LOGIC:
        return f(a, b)
    if a.dtype == np.bool_:
        return _TRUTH[function](a, b) if function in _TRUTH else f(a.view(np.int8), b.view(np.int8)) != 0
    if not is_float(dtype):
        return f(a, b)
    if function in ("powf", "atan2", "fpowi") and dtype == "f32":
        return round_to(f(a.astype(np.float64), b.astype(np.float64)), dtype)
    return round_to(f(widen(a), widen(b)), dtype)


def unary(function: str, x: Array, dtype: str) -> Array:
    """An element-wise function of one array of MLIR type `dtype`, rounded once to it."""
    f = UNARY[function]
    if not is_float(dtype):
        return f(x)
    if dtype == "f32" and function in _COMPILED and pays(x):
        from headrace.machine.execute import functions

        return functions.apply(function, x)
    if function == "exp" and dtype != "f64":
        return round_to(exponential.exp(widen(x)), dtype)
    if dtype == "f32" and function not in EXACT:
        return round_to(f(x.astype(np.float64)), dtype)
    return round_to(f(widen(x)), dtype)


def compare(function: str, a: Array, b: Array, dtype: str) -> Array:
    """Truth values: the vectorchain and cmpi names; ordered ("oeq") and unordered ("ueq") ones of cmpf."""
    if dtype == "i1":
        a, b = a.astype(np.int8), b.astype(np.int8)
    if not is_float(dtype):
        if function in COMPARE:
            return COMPARE[function](a, b)
        kind = unsigned_dtype(dtype)
        return COMPARE[function[1:]](a.view(kind), b.view(kind))
    a, b = widen(a), widen(b)
    if function in COMPARE:
        return COMPARE[function](a, b)
    return _float_predicate(function, a, b)


def _float_predicate(function: str, a: Array, b: Array) -> Array:
    unordered = np.isnan(a) | np.isnan(b)
    if function in ("uno", "ord"):
        return unordered if function == "uno" else ~unordered
    if function in ("false", "true"):
        return np.full_like(unordered, function == "true")
    found = COMPARE[function[1:]](a, b)
    return found | unordered if function[0] == "u" else found & ~unordered
