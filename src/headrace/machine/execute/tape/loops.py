"""Compiled loops of element-wise functions over runs of elements at raw addresses."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from headrace.machine.execute.functions import _exp_f32, _sigmoid, _tanh
from headrace.machine.execute.half import _extend, _truncate
from headrace.machine.execute.tape.raw import _as_float, _as_int, _f32, _u16


# ---- scalar functions --------------------------------------------------------------------------------------
@numba.njit(error_model="numpy")
def _add(a: Any, b: Any) -> Any:
    return a + b


@numba.njit(error_model="numpy")
def _sub(a: Any, b: Any) -> Any:
    return a - b


@numba.njit(error_model="numpy")
def _mul(a: Any, b: Any) -> Any:
    return a * b


@numba.njit(error_model="numpy")
def _div(a: Any, b: Any) -> Any:
    return a / b


@numba.njit(error_model="numpy")
def _max(a: Any, b: Any) -> Any:
    greater = a if a > b else b
    same = _as_float(_as_int(a) & _as_int(b))
    found = same if a == b else greater
    return a + b if (a != a) | (b != b) else found


@numba.njit(error_model="numpy")
def _min(a: Any, b: Any) -> Any:
    lesser = a if a < b else b
    same = _as_float(_as_int(a) | _as_int(b))
    found = same if a == b else lesser
    return a + b if (a != a) | (b != b) else found


# ---- loops over contiguous elements ------------------------------------------------------------------------
def _binary_f32(f: Any) -> Any:
    """The loop of a function of two operands, either of which may be one element."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, b: int, n: int, sa: int, sb: int) -> None:
        out = _f32(o, n)
        if sa != 0 and sb != 0:
            x, y = _f32(a, n), _f32(b, n)
            for k in range(n):
                out[k] = f(x[k], y[k])
        elif sa != 0:
            x, y0 = _f32(a, n), _f32(b, 1)[0]
            for k in range(n):
                out[k] = f(x[k], y0)
        elif sb != 0:
            x0, y = _f32(a, 1)[0], _f32(b, n)
            for k in range(n):
                out[k] = f(x0, y[k])
        else:
            z = f(_f32(a, 1)[0], _f32(b, 1)[0])
            for k in range(n):
                out[k] = z

    return loop


def _binary_f16(f: Any) -> Any:
    """The loop of a function of two operands, either of which may be one element."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, b: int, n: int, sa: int, sb: int) -> None:
        out = _u16(o, n)
        if sa != 0 and sb != 0:
            x, y = _u16(a, n), _u16(b, n)
            for k in range(n):
                out[k] = _truncate(f(_extend(x[k]), _extend(y[k])))
        elif sa != 0:
            x, y0 = _u16(a, n), _extend(_u16(b, 1)[0])
            for k in range(n):
                out[k] = _truncate(f(_extend(x[k]), y0))
        elif sb != 0:
            x0, y = _extend(_u16(a, 1)[0]), _u16(b, n)
            for k in range(n):
                out[k] = _truncate(f(x0, _extend(y[k])))
        else:
            z = _truncate(f(_extend(_u16(a, 1)[0]), _extend(_u16(b, 1)[0])))
            for k in range(n):
                out[k] = z

    return loop


def _binary_narrow(f: Any) -> Any:
    """The loop of a function of two f32 operands, either of which may be one element, with an f16 result."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, b: int, n: int, sa: int, sb: int) -> None:
        out = _u16(o, n)
        if sa != 0 and sb != 0:
            x, y = _f32(a, n), _f32(b, n)
            for k in range(n):
                out[k] = _truncate(f(x[k], y[k]))
        elif sa != 0:
            x, y0 = _f32(a, n), _f32(b, 1)[0]
            for k in range(n):
                out[k] = _truncate(f(x[k], y0))
        elif sb != 0:
            x0, y = _f32(a, 1)[0], _f32(b, n)
            for k in range(n):
                out[k] = _truncate(f(x0, y[k]))
        else:
            z = _truncate(f(_f32(a, 1)[0], _f32(b, 1)[0]))
            for k in range(n):
                out[k] = z

    return loop


@numba.njit(error_model="numpy")
def _sub_then_exp(a: Any, b: Any) -> Any:
    return _exp_f32(a - b)


_add_narrow = _binary_narrow(_add)
_sub_narrow = _binary_narrow(_sub)
_mul_narrow = _binary_narrow(_mul)
_div_narrow = _binary_narrow(_div)
_max_narrow = _binary_narrow(_max)
_min_narrow = _binary_narrow(_min)
_sub_exp = _binary_f32(_sub_then_exp)
_add_f32 = _binary_f32(_add)
_sub_f32 = _binary_f32(_sub)
_mul_f32 = _binary_f32(_mul)
_div_f32 = _binary_f32(_div)
_max_f32 = _binary_f32(_max)
_min_f32 = _binary_f32(_min)
_add_f16 = _binary_f16(_add)
_sub_f16 = _binary_f16(_sub)
_mul_f16 = _binary_f16(_mul)
_div_f16 = _binary_f16(_div)
_max_f16 = _binary_f16(_max)
_min_f16 = _binary_f16(_min)


@numba.njit(error_model="numpy")
def _widen(o: int, a: int, n: int) -> None:
    out, x = _f32(o, n), _u16(a, n)
    for k in range(n):
        out[k] = _extend(x[k])


@numba.njit(error_model="numpy")
def _narrow(o: int, a: int, n: int) -> None:
    out, x = _u16(o, n), _f32(a, n)
    for k in range(n):
        out[k] = _truncate(x[k])


@numba.njit(error_model="numpy")
def _exponential(o: int, a: int, n: int) -> None:
    out, x = _f32(o, n), _f32(a, n)
    for k in range(n):
        out[k] = _exp_f32(x[k])


@numba.njit(error_model="numpy")
def _negative(o: int, a: int, n: int) -> None:
    out, x = _f32(o, n), _f32(a, n)
    for k in range(n):
        out[k] = -x[k]


def _unary_f32(f: Any) -> Any:
    """The loop of a function of one operand."""

    @numba.njit(error_model="numpy")
    def loop(o: int, a: int, n: int) -> None:
        out, x = _f32(o, n), _f32(a, n)
        for k in range(n):
            out[k] = f(x[k])

    return loop


@numba.njit(error_model="numpy")
def _rsqrt(x: Any) -> Any:
    return np.float32(1.0 / np.sqrt(np.float64(x)))


@numba.njit(error_model="numpy")
def _sqrt(x: Any) -> Any:
    return np.sqrt(x)


@numba.njit(error_model="numpy")
def _reciprocal(x: Any) -> Any:
    return np.float32(1.0) / x


@numba.njit(error_model="numpy")
def _abs(x: Any) -> Any:
    return _as_float(_as_int(x) & np.int32(0x7FFFFFFF))


_rsqrt_loop, _sqrt_loop, _reciprocal_loop = _unary_f32(_rsqrt), _unary_f32(_sqrt), _unary_f32(_reciprocal)
_abs_loop, _sigmoid_loop, _tanh_loop = _unary_f32(_abs), _unary_f32(_sigmoid), _unary_f32(_tanh)
