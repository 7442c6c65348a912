"""What the example kernels compute, in NumPy: (inputs, exact results in f64, magnitudes and terms of the
sums)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.numbers.special import erf

Array = np.ndarray[Any, Any]


@dataclass
class Case:
    """Inputs by argument name, the output's name, its exact value; a sum of `terms` products of size
    `magnitude`."""

    inputs: dict[str, Array]
    output: str
    value: Array
    scalars: dict[str, float] = field(default_factory=dict)
    terms: int = 0
    magnitude: Array | None = None
    max_ulp: int = 1


def case(name: str, extents: dict[str, Any], seed: int = 0) -> Case:
    """Random inputs for kernel `name` and what it makes of them."""
    random = np.random.default_rng(seed)

    def f16(*shape: int) -> Array:
        return random.standard_normal(shape, np.float32).astype(np.float16)

    if "m" in extents:
        return _product(name, f16, extents["m"], extents["k"], extents["n"])
    rows, columns = extents["rows"], extents["columns"]
    if name == "embedding":
        table = f16(rows, columns)
        ids = random.integers(0, rows, extents["tokens"]).astype(
            f"i{extents.get('index', 'i64')[1:]}".replace("64", "8").replace("32", "4")
        )
        return Case({"table": table, "ids": ids}, "y", table[ids], max_ulp=0)
    x = f16(rows, columns)
    if name == "vector_add":
        y = f16(rows, columns)
        return Case({"a": x, "b": y}, "o", x + y, max_ulp=0)
    if name == "broadcast_add":
        b = f16(columns)
        return Case({"x": x, "b": b}, "o", x + b, max_ulp=0)
    if name == "transpose":
        return Case({"x": x}, "y", np.ascontiguousarray(x.T), max_ulp=0)
    return _row(name, f16, x.astype(np.float64), x, columns)


def _row(name: str, f16: Any, wide: Array, x: Array, columns: int) -> Case:
    if name == "softmax":
        e = np.exp(wide - wide.max(axis=1, keepdims=True))
        return Case({"x": x}, "y", e / e.sum(axis=1, keepdims=True))
    w = f16(columns)
    if name == "rmsnorm":
        eps = float(np.float32(1e-5))
        scale = 1 / np.sqrt((wide**2).mean(axis=1, keepdims=True) + eps)
        return Case({"x": x, "w": w}, "y", wide * scale * w, {"eps": eps})
    b = f16(columns)
    centred = wide - wide.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float32(1e-5))
    value = centred * scale * w + b
    magnitude = np.abs(centred * scale * w) + np.abs(b)
    return Case({"x": x, "w": w, "b": b}, "y", value, terms=max(columns, 4), magnitude=magnitude)


def _product(name: str, f16: Any, m: int, k: int, n: int) -> Case:
    a, b = f16(m, k), f16(k, n)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    magnitude = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    if name == "matmul":
        return Case({"a": a, "b": b}, "c", exact, terms=k, magnitude=magnitude)
    bias = f16(n)
    z = exact + bias
    value = z / 2 * (1 + erf(z * 0.5**0.5))
    # |gelu'| < 1.13, and the erf of a negative z cancels in 1 + erf.
    magnitude = 1.13 * (magnitude + np.abs(bias)) + np.abs(z)
    return Case({"x": a, "w": b, "b": bias}, "y", value, terms=max(k, 4), magnitude=magnitude)
