"""Widening and rounding of arrays: NumPy for little data, compiled loops once there is much of it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from headrace.numbers import rounding
from headrace.numbers.dtypes import numpy_dtype

Array = np.ndarray[Any, Any]
_SMALL = 1 << 12
"""Elements below which a call into compiled code does not pay."""
_PATIENCE = 1 << 20
"""Elements converted in large arrays before the compiler is loaded (it takes some 0.3 s)."""
_BF16 = np.dtype(ml_dtypes.bfloat16)


class _Converted:
    """How many elements this process has converted in large arrays."""

    count = 0


def widen(x: Array) -> Array:
    """The array in the type its arithmetic is done in: f16, bf16 and fp8 become f32."""
    if x.dtype == np.float32 or x.dtype == np.float64 or x.dtype.kind in "biu":
        return x
    if x.dtype in (np.float16, _BF16) and pays(x):
        from headrace.machine.execute import half

        return half.widen_f16(x) if x.dtype == np.float16 else half.widen_bf16(x)
    return _unstretched(x, lambda y: rounding.widen(y))


def round_to(x: Array, name: str) -> Array:
    """The array (f32 or f64) rounded once to float type `name`."""
    if x.dtype == np.float32 and name in ("f16", "bf16") and pays(x):
        from headrace.machine.execute import half

        return half.round_f16(x) if name == "f16" else half.round_bf16(x, numpy_dtype(name))
    return rounding.round_to(x, name)


def cast(x: Array, source: str, target: str, unsigned: bool = False) -> Array:
    """The array converted between MLIR types (see `numbers.rounding.cast`)."""
    if source in ("f16", "bf16") and target == "f32":
        return widen(x)
    if source == "f32" and target in ("f16", "bf16"):
        return round_to(x, target)
    return rounding.cast(x, source, target, unsigned=unsigned)


def pays(x: Array) -> bool:
    """Whether compiled code is worth its start for this array; counts what passes by."""
    if x.size < _SMALL or not x.flags.c_contiguous:
        return False
    if _Converted.count < _PATIENCE:
        _Converted.count += x.size
        return _Converted.count >= _PATIENCE
    return True


def _unstretched(x: Array, convert: Any) -> Array:
    """Converts the stored elements of a broadcast array only, and broadcasts again."""
    if x.size > _SMALL and 0 in x.strides:
        stored = x[tuple(slice(0, 1) if s == 0 else slice(None) for s in x.strides)]
        return np.broadcast_to(convert(stored), x.shape)
    return np.asarray(convert(x))
