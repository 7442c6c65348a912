"""Compiled conversions between f32 and 16-bit floats; import this only when there is much to convert.

NumPy converts f16 element by element (0.5 Gelem/s); LLVM's `half` becomes vector instructions. Both
round to nearest even and agree bit for bit with NumPy on every input but the payload of NaNs.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

Array = np.ndarray[Any, Any]


@intrinsic
def _extend(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


@intrinsic
def _truncate(_: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), generate


def compiled(function: Any) -> Any:
    """Compiled without the GIL, kept on disk where some cache directory can be written."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(**options, cache=True)(function)
    except RuntimeError:
        return numba.njit(**options)(function)


def _f16_to_f32(bits: Array, out: Array) -> None:
    for k in range(bits.size):
        out[k] = _extend(bits[k])


def _f32_to_f16(x: Array, out: Array) -> None:
    for k in range(x.size):
        out[k] = _truncate(x[k])


def _bf16_to_f32(bits: Array, out: Array) -> None:
    for k in range(bits.size):
        out[k] = np.uint32(bits[k]) << np.uint32(16)


def _f32_to_bf16(bits: Array, out: Array) -> None:
    for k in range(bits.size):
        b = bits[k]
        rounded = (b + np.uint32(0x7FFF) + ((b >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        is_nan = (b & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
        quiet = (b >> np.uint32(16)) | np.uint32(0x40)
        out[k] = np.uint16(quiet if is_nan else rounded)


_from_f16 = compiled(_f16_to_f32)
_to_f16 = compiled(_f32_to_f16)
_from_bf16 = compiled(_bf16_to_f32)
_to_bf16 = compiled(_f32_to_bf16)


def widen_f16(x: Array) -> Array:
    """A contiguous f16 array as f32."""
    out = np.empty(x.shape, np.float32)
    _from_f16(x.reshape(-1).view(np.uint16), out.reshape(-1))
    return out


def widen_bf16(x: Array) -> Array:
    """A contiguous bf16 array as f32."""
    out = np.empty(x.shape, np.float32)
    _from_bf16(x.reshape(-1).view(np.uint16), out.reshape(-1).view(np.uint32))
    return out


def round_f16(x: Array) -> Array:
    """A contiguous f32 array rounded to f16."""
    out = np.empty(x.shape, np.float16)
    _to_f16(x.reshape(-1), out.reshape(-1).view(np.uint16))
    return out


def round_bf16(x: Array, dtype: Any) -> Array:
    """A contiguous f32 array rounded to bf16."""
    out = np.empty(x.shape, dtype)
    _to_bf16(x.reshape(-1).view(np.uint32), out.reshape(-1).view(np.uint16))
    return out
