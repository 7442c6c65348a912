"""Compiled functions of f32: exp in f32, the others in f64 inside the loop, rounding what NumPy gives in f64.

NumPy's own f32 `exp` is up to 2.5 ulp off, and going through f64 arrays triples the memory traffic. Import
this file only when there is much to compute (see `convert.pays`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from headrace.machine.execute import half
from headrace.machine.execute.half import compiled
from headrace.numbers import exponential
from headrace.numbers.exponential import (
    DOWN,
    EXPONENT,
    HIGHEST,
    LESS,
    LN2_HIGH,
    LN2_LOW,
    LOG2E,
    LOWEST,
    MORE,
    ROUND,
    UP,
    Q,
)

Array = np.ndarray[Any, Any]
Q0, Q1, Q2, Q3, Q4 = Q
_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_ROUND_F64 = 6755399441055744.0
"""1.5 x 2^52: adding and subtracting it rounds a small f64 to an integer."""


@intrinsic
def _bits(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _float(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def _bits_f32(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def _float_f32(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def _fma(_: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@register_jitable
def _exp(x: float) -> float:
    """e^x in f64, relative error some 3e-16, for any x that is not NaN; beyond ±700 as at the end."""
    return _exp_inside(min(max(x, -700.0), 700.0))  # type: ignore[no-any-return]


@register_jitable
def _exp_inside(x: float) -> float:
    """e^x between -700 and 700: 2^n e^r, |r| <= ln 2 / 2, by the Chebyshev polynomial of degree 10 of e^r.

    Powers by fours: no long chain of operations that wait for each other.
    """
    shifted = _fma(x, _LOG2E, _ROUND_F64)
    n = shifted - _ROUND_F64
    r = _fma(n, -_LN2_LOW, _fma(n, -_LN2_HIGH, x))
    r2 = r * r
    r4 = r2 * r2
    low = _fma(_fma(0.16666666666554303, r, 0.5000000000000019), r2, _fma(1.0000000000000067, r, 1.0))
    p = _fma(0.00019841170226646184, r, 0.0013888888952356135)
    middle = _fma(p, r2, _fma(0.008333333385702748, r, 0.04166666666648794))
    high = _fma(2.763265575933203e-07, r2, _fma(2.7640198843428347e-06, r, 2.480148543844738e-05))
    p = _fma(high, r4 * r4, _fma(middle, r4, low))
    return _float(_bits(p) + (_bits(shifted) << 52))  # type: ignore[no-any-return]


@register_jitable
def _exp_f32(x: Any) -> Any:
    """e^x in f32, to the bit as `numbers.exponential.exp`, which says how."""
    v = LOWEST if x < LOWEST else x
    v = HIGHEST if v > HIGHEST else v
    shifted = v * LOG2E + ROUND
    n = shifted - ROUND
    high, low = v - n * LN2_HIGH, n * LN2_LOW
    r = high - low
    q = (((Q4 * r + Q3) * r + Q2) * r + Q1) * r + Q0
    p = (high + (r * r * q - low)) + np.float32(1)
    is_small = v < np.float32(0)
    bits = (_bits_f32(shifted) << EXPONENT) + (MORE if is_small else LESS)
    return p * _float_f32(np.int32(bits)) * (DOWN if is_small else UP)


@register_jitable
def _sigmoid(x: Any) -> Any:
    v = np.float64(x)
    y = 1.0 / (1.0 + _exp(-v))
    return np.float32(v if v != v else y)


@register_jitable
def _tanh(x: Any) -> Any:
    v = np.float64(x)
    far = 1.0 - 2.0 / (_exp(2.0 * v) + 1.0)
    s = v * v
    series = -1382.0 / 155925.0
    series = series * s + 62.0 / 2835.0
    series = series * s - 17.0 / 315.0
    series = series * s + 2.0 / 15.0
    series = series * s - 1.0 / 3.0
    near = v * (1.0 + s * series)
    y = near if abs(v) < 0.1 else far
    return np.float32(v if v != v else y)


def _loop(f: Any, stamp: int) -> Any:
    """The loop of a function; the cache on disk tells those of different `stamp` apart."""

    def loop(x: Array, out: Array) -> None:
        for k in range(x.size if stamp >= 0 else 0):
            out[k] = f(x[k])

    return compiled(loop)


STAMP = crc32(b"".join(Path(str(m.__file__)).read_bytes() for m in (exponential, half)))
"""Of the files that the loops depend on besides this one."""
_LOOPS = {name: _loop(f, STAMP) for name, f in (("exp", _exp_f32), ("sigmoid", _sigmoid), ("tanh", _tanh))}
NAMES = frozenset(_LOOPS)


def apply(name: str, x: Array) -> Array:
    """The function of every element of a contiguous f32 array."""
    out = np.empty(x.shape, np.float32)
    _LOOPS[name](x.reshape(-1), out.reshape(-1))
    return out
