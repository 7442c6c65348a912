"""Element types: MLIR names and the NumPy types that hold them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

DType = np.dtype[Any]

_NUMPY: dict[str, DType] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
}
_UNSIGNED: dict[str, DType] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.uint8),
    "i16": np.dtype(np.uint16),
    "i32": np.dtype(np.uint32),
    "i64": np.dtype(np.uint64),
    "index": np.dtype(np.uint64),
}
_NAMES: dict[DType, str] = {dtype: name for name, dtype in reversed(_NUMPY.items())}
_FLOATS = frozenset({"f64", "f32", "f16", "bf16", "f8E4M3FN"})
_PRECISION_BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8E4M3FN": 4}

names: tuple[str, ...] = tuple(_NUMPY)


def numpy_dtype(name: str) -> DType:
    """The NumPy type that stores elements of an MLIR type ("i1" is a byte 0/1); KeyError if unknown."""
    return _NUMPY[name]


def unsigned_dtype(name: str) -> DType:
    """The NumPy type that reads the bits of an integer type as unsigned."""
    return _UNSIGNED[name]


def dtype_name(dtype: Any) -> str:
    """The MLIR name of a NumPy type; int64 is "i64". KeyError when there is none."""
    return _NAMES[np.dtype(dtype)]


def is_known(name: str) -> bool:
    """Whether `name` is an element type Headrace stores and computes with."""
    return name in _NUMPY


def itemsize(name: str) -> int:
    """Bytes of one element in memory."""
    return int(_NUMPY[name].itemsize)


def is_float(name: str) -> bool:
    """Whether the type is a floating-point type."""
    return name in _FLOATS


def is_integer(name: str) -> bool:
    """Whether the type is an integer type, i1 and index included."""
    return name in _UNSIGNED


def is_narrow_float(name: str) -> bool:
    """Whether arithmetic of the type is done in f32 and rounded once (f16, bf16, fp8)."""
    return name in _FLOATS and name not in ("f32", "f64")


def bit_width(name: str) -> int:
    """Bits of one value ("i1" is 1)."""
    return 1 if name == "i1" else 8 * itemsize(name)


def precision_bits(name: str) -> int:
    """Significant bits of a floating-point type, the hidden one included."""
    return _PRECISION_BITS[name]
