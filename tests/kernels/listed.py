"""What every kernel in a .mlir file of this folder computes, in NumPy: its inputs and what they become.

Written from the comment at the head of each file, not from the text below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headrace.numbers.dtypes import dtype_name, is_float
from headrace.numbers.tolerance import ulp_size

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]
FOLDER = Path(__file__).parent
SUM = 2e-6
"""Slack of an f32 sum in any order, as a part of the largest result."""


@dataclass(frozen=True)
class Wanted:
    """The exact value of one output and its `slack`: 0 for equality, else 1 ulp more than `slack` times the
    largest value."""

    value: Array
    slack: float = 0.0

    def check(self, got: Array, name: str) -> None:
        """AssertionError unless `got` is this value."""
        assert got.shape == self.value.shape, f"{name}: shape {got.shape}, expected {self.value.shape}"
        dtype = dtype_name(got.dtype)
        if not is_float(dtype) or not self.slack:
            np.testing.assert_array_equal(got, self.value.astype(got.dtype), err_msg=name)
            return
        room = ulp_size(self.value, dtype) + self.slack * np.abs(self.value).max()
        wrong = ~(np.abs(got.astype(np.float64) - self.value) <= room)
        assert not wrong.any(), f"{name}: {wrong.sum()} wrong, first at {np.argwhere(wrong)[0].tolist()}"


Case = tuple[Inputs, dict[str, Wanted]]


def normal(seed: int, *shape: int, dtype: Any = np.float16) -> Array:
    """Standard normal numbers, rounded to `dtype`."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def f64(*arrays: Array) -> list[Array]:
    return [a.astype(np.float64) for a in arrays]


def half(x: Array) -> Array:
    """Rounded to f16, as f64."""
    return x.astype(np.float32).astype(np.float16).astype(np.float64)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def swiglu() -> Case:
    given = {"x": normal(1, 16, 64), "gate": normal(2, 64, 128), "up": normal(3, 64, 128)}
    given = {n: (a * np.float16(0.25)).astype(np.float16) for n, a in given.items()} | {
        "down": normal(4, 128, 64)
    }
    x, gate, up, down = f64(*given.values())
    h = x @ gate
    return given, {"y": Wanted(half(h / (1 + np.exp(-h)) * (x @ up)) @ down, 2e-4)}


def nested_loops() -> Case:
    x = normal(1, 4, 8, 64, dtype=np.float32)
    (wide,) = f64(x)
    return {"x": x}, {"sum": Wanted(wide.sum(axis=(0, 1)), SUM), "largest": Wanted(x.max(axis=(0, 1)))}


def reduce_kinds() -> Case:
    x = normal(1, 16, 64, dtype=np.float32)
    (wide,) = f64(x)
    return {"x": x}, {
        "largest": Wanted(x.max(axis=1)),
        "smallest": Wanted(x.min(axis=1)),
        "product": Wanted(wide.reshape(2, 8, 64).prod(axis=1), SUM),
        "squares": Wanted((wide**2).sum(axis=1), SUM),
        "where": Wanted(x.argmax(axis=1).astype(np.int32)),
    }


def reduce_generic() -> Case:
    x = normal(1, 16, 64)
    (wide,) = f64(x)
    return {"x": x}, {
        "magnitude": Wanted(np.abs(wide).sum(axis=1), SUM),
        "sum": Wanted(wide.sum(axis=0), SUM),
        "largest": Wanted(x.max(axis=0).astype(np.float32)),
    }


def ring_reduce() -> Case:
    x = normal(1, 8, 64, dtype=np.float32)
    return {"x": x}, {"y": Wanted(np.tile(x.astype(np.float64).sum(axis=0), (8, 1)), SUM)}


def ring_reduce_loop() -> Case:
    x = normal(1, 4, 8, 64, dtype=np.float32)
    total = x.astype(np.float64).sum(axis=1, keepdims=True) * np.arange(1, 5).reshape(4, 1, 1)
    return {"x": x}, {"y": Wanted(np.tile(total, (1, 8, 1)), SUM)}


def scalar_broadcast() -> Case:
    x, shift, scale = normal(1, 8, 64), np.array(0.375, np.float16), np.float16(2.5)
    return {"x": x, "shift": shift, "scale": scale}, {"y": Wanted(x * scale + shift)}


def softmax_wide() -> Case:
    x = normal(1, 8, 512)
    return {"x": x}, {"y": Wanted(softmax(x.astype(np.float64)), 1e-6)}


def rmsnorm(is_split: bool) -> Case:
    x, w = normal(1, 8, 128), normal(2, 128)
    wide, weight = f64(x, w)
    y = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5) * weight
    rows = {"left": x[:, :64].copy(), "right": x[:, 64:].copy()} if is_split else {"x": x}
    return {**rows, "w": w}, {"y": Wanted(y, 1e-6)}


def rope() -> Case:
    x, angle = normal(1, 8, 4, 128), np.random.default_rng(2).uniform(0, 6, (8, 64))
    cos, sin = np.cos(angle).astype(np.float16), np.sin(angle).astype(np.float16)
    a, b, c, s = x[..., :64], x[..., 64:], cos[:, None], sin[:, None]
    y = np.concatenate([a * c - b * s, b * c + a * s], axis=-1)
    return {"x": x, "cos": cos, "sin": sin}, {"y": Wanted(y)}


def copy_column_split() -> Case:
    x = normal(1, 8, 96)
    return {"x": x}, {"left": Wanted(x[:, :64]), "right": Wanted(x[:, 64:])}


def copy_row_merge() -> Case:
    top, bottom = normal(1, 6, 64), normal(2, 10, 64)
    return {"top": top, "bottom": bottom}, {"y": Wanted(np.concatenate([top, bottom]))}


def copy_dynamic(m: int = 5) -> Case:
    top, bottom = normal(1, 8, 64), normal(2, m, 64)
    given = {"top": top, "bottom": bottom, "m": m, "y": np.zeros((8 + m, 64), np.float16)}
    return given, {"y": Wanted(np.concatenate([top, bottom]))}


def gather_two_indices() -> Case:
    table, a, b = (
        normal(1, 8, 8, 64),
        np.array([7, 0, 3, 3], np.int32),
        np.array([1, 6, 2, 2, 0, 7], np.int32),
    )
    return {"table": table, "a": a, "b": b}, {"y": Wanted(table[np.ix_(a, b)])}


def scatter() -> Case:
    x, ids, y = normal(1, 8, 64), np.array([9, 0, 15, 3, 4, 8, 1, 12], np.int32), normal(2, 16, 64)
    after = y.copy()
    after[ids] = x
    return {"x": x, "ids": ids, "y": y}, {"y": Wanted(after)}


def paged_copy() -> Case:
    cache, pages = normal(1, 8, 16, 64), np.array([5, 2, 7, 0], np.int32)
    return {"cache": cache, "pages": pages}, {"y": Wanted(cache[pages])}


def paged_write() -> Case:
    x, pages, cache = normal(1, 16, 64), np.array([5, 2, 7, 0], np.int32), normal(2, 8, 4, 64)
    after = cache.copy()
    after[pages] = x.reshape(4, 4, 64)
    return {"x": x, "pages": pages, "cache": cache}, {"cache": Wanted(after)}


def attention_pv() -> Case:
    p, v = softmax(normal(1, 16, 64).astype(np.float64)).astype(np.float16), normal(2, 64, 64)
    a, b = f64(p, v)
    return {"p": p, "v": v}, {"y": Wanted(a @ b, SUM)}


def indexed_add() -> Case:
    x, ids = normal(1, 8, 64, dtype=np.float32), np.array([9, 0, 9, 3, 4, 9, 1, 0], np.int32)
    y = normal(2, 16, 64, dtype=np.float32)
    after = y.copy()
    np.add.at(after, ids, x)
    return {"x": x, "ids": ids, "y": y}, {"y": Wanted(after)}


def layernorm() -> Case:
    x, w, b = normal(1, 16, 128), normal(2, 128), normal(3, 128)
    wide, weight, bias = f64(x, w, b)
    mean = wide.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt(((wide - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5)
    return {"x": x, "w": w, "b": b}, {
        "y": Wanted((wide - mean) * rstd * weight + bias, 1e-6),
        "mean": Wanted(mean[:, 0], 1e-5),
        "rstd": Wanted(rstd[:, 0], 1e-5),
    }


def matmul_2d() -> Case:
    a, b = normal(1, 32, 128), normal(2, 128, 128)
    wide = f64(a, b)
    return {"a": a, "b": b}, {"y": Wanted(wide[0] @ wide[1], SUM)}


def paged_attention() -> Case:
    q, keys, values = normal(1, 2, 4, 64), normal(2, 8, 16, 64), normal(3, 8, 16, 64)
    pages, lengths = np.array([[6, 1, 3], [0, 7, 2]], np.int32), np.array([37, 20], np.int32)
    y = np.empty((2, 4, 64))
    for s, n in enumerate(lengths):
        k, v = (c[pages[s]].reshape(48, 64)[:n].astype(np.float64) for c in (keys, values))
        y[s] = softmax(q[s].astype(np.float64) @ k.T / 8) @ v
    given = {"q": q, "keys": keys, "values": values, "pages": pages, "lengths": lengths}
    return given, {"y": Wanted(y, 1e-3)}


def sdpa_2d() -> Case:
    q, k, v = normal(1, 32, 64), normal(2, 32, 64), normal(3, 32, 64)
    a, b, c = f64(q, k, v)
    return {"q": q, "k": k, "v": v}, {"y": Wanted(half(softmax(a @ b.T / 8)) @ c, 2e-4)}


def vector_add_dynamic(n: int = 1000) -> Case:
    a, b = normal(1, n), normal(2, n)
    return {"a": a, "b": b, "n": n, "y": np.zeros(n, np.float16)}, {"y": Wanted(a + b)}


def extract_slice_dynamic() -> Case:
    x = normal(1, 8, 64)
    y = np.zeros((4, 64), np.float16)
    for t in range(4):
        y[t, 48 - 16 * t : 64 - 16 * t] = x[2 * t, 16 * t : 16 * t + 16] + x[2 * t + 1, 16 * t : 16 * t + 16]
    return {"x": x}, {"y": Wanted(y)}


def tile_control() -> Case:
    x = normal(1, 4, 64, dtype=np.float32)
    y = x.astype(np.float64).cumsum(axis=0) * np.array([[-1], [1], [-1], [1]])
    y[3] += x[0]
    return {"x": x}, {"y": Wanted(y, SUM)}


def host_two_kernels() -> Case:
    x = normal(1, 8, 64, dtype=np.float32)
    return {"x": x}, {"t": Wanted(2 * x), "y": Wanted(2 * x + 1)}


CASES: dict[str, Callable[[], Case]] = {
    "swiglu_1": swiglu,
    "swiglu_4": swiglu,
    "nested_loops": nested_loops,
    "reduce_kinds": reduce_kinds,
    "reduce_generic": reduce_generic,
    "ring_reduce": ring_reduce,
    "ring_reduce_loop": ring_reduce_loop,
    "ring_shift": ring_reduce,
    "scalar_broadcast": scalar_broadcast,
    "softmax_wide": softmax_wide,
    "rmsnorm_2x2": partial(rmsnorm, True),
    "rmsnorm_4x1": partial(rmsnorm, False),
    "rope_4x2": rope,
    "copy_column_split": copy_column_split,
    "copy_row_merge": copy_row_merge,
    "copy_dynamic": copy_dynamic,
    "gather_two_indices": gather_two_indices,
    "scatter": scatter,
    "paged_copy": paged_copy,
    "paged_write": paged_write,
    "attention_pv": attention_pv,
    "indexed_add": indexed_add,
    "layernorm": layernorm,
    "matmul_2d": matmul_2d,
    "paged_attention": paged_attention,
    "sdpa_2d": sdpa_2d,
    "vector_add_dynamic": vector_add_dynamic,
    "extract_slice_dynamic": extract_slice_dynamic,
    "tile_control": tile_control,
    "host_two_kernels": host_two_kernels,
}
"""The kernel of every file by its name."""
