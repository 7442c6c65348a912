"""What the benchmark kernels compute, as one writes it in NumPy on whole tensors: f16 in, f32 inside, f16
out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.numbers.special import erf

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]


def _f32(array: Array) -> Array:
    return array.astype(np.float32)


def _softmax(given: Arrays) -> Array:
    x = _f32(given["x"])
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).astype(np.float16)


def _rmsnorm(given: Arrays) -> Array:
    x = _f32(given["x"])
    scale = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return (x * scale * _f32(given["w"])).astype(np.float16)


def _layernorm(given: Arrays) -> Array:
    x = _f32(given["x"])
    centred = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return (centred * scale * _f32(given["w"]) + _f32(given["b"])).astype(np.float16)


def _gelu(given: Arrays) -> Array:
    z = _f32(given["x"]) @ _f32(given["w"]) + _f32(given["b"])
    return (np.float32(0.5) * z * (1 + erf(z * np.float32(0.5**0.5)))).astype(np.float16)


DIRECT: dict[str, Callable[[Arrays], Any]] = {
    "vector_add": lambda g: g["a"] + g["b"],
    "broadcast_add": lambda g: g["x"] + g["b"],
    "transpose": lambda g: np.ascontiguousarray(g["x"].T),
    "embedding": lambda g: g["table"][g["ids"]],
    "softmax": _softmax,
    "rmsnorm": _rmsnorm,
    "layernorm": _layernorm,
    "matmul": lambda g: (_f32(g["a"]) @ _f32(g["b"])).astype(np.float16),
    "matmul_bias_gelu": _gelu,
}
"""By kernel name; a function of the arrays by argument name."""
