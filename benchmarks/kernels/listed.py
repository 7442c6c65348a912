"""The kernels of the tests at 1 to 16 MiB, and what each computes as one writes it in NumPy on whole tensors.

A kernel grows by its extents: every number of its text that `numbers` names becomes another one; `words` are
replaced before, where one number means two things. The NumPy programs use the kernel's element types, f32 for
products of f16.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[2] / "tests" / "kernels"


@dataclass(frozen=True)
class Listed:
    """How a kernel grows, its scalars, the integers it is given, the deviation of its floats, and what
    it computes: outputs by name."""

    numbers: dict[int, int]
    direct: Callable[[Arrays], Arrays]
    words: dict[str, str] = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)
    integers: dict[str, Array] = field(default_factory=dict)
    scale: float = 1.0


def listed_text(name: str) -> str:
    """The KTIR of kernel `name` (a key of `LISTED`) at the extents of the benchmark."""
    how = LISTED[name]
    text = "\n".join(
        line for line in (FOLDER / f"{name}.mlir").read_text().splitlines() if not line.startswith("//")
    )
    for old, new in how.words.items():
        assert old in text, (name, old)
        text = text.replace(old, new)
    ends = {n - 1: m - 1 for n, m in how.numbers.items()}
    for place, numbers in (
        (r"(?<=[<x])\d+(?=x)", how.numbers),  # extents of types
        (r"(?<=\+ )\d+(?= >= 0)", ends),  # last coordinates of sets
        (r"(?<=d\d - )\d+(?= >= 0)", how.numbers),  # first ones
        (r"(?<![\w#%.'])\d+(?![\w.']| >= 0)", how.numbers),  # lists, constants, factors
    ):
        text = re.sub(place, partial(_grown, numbers), text)
    return text.replace("'", "")


def _grown(numbers: dict[int, int], found: re.Match[str]) -> str:
    """The number in its new size, marked so that it is not taken for an old one."""
    old = int(found.group())
    return f"{numbers[old]}'" if old in numbers else str(old)


def _f32(array: Array) -> Array:
    return array.astype(np.float32)


def _half(array: Array) -> Array:
    return array.astype(np.float16)


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _extract_slice(g: Arrays) -> Arrays:
    x, y = g["x"], np.zeros_like(g["y"])
    n = x.shape[1] // 4
    for t in range(4):
        y[t, (3 - t) * n : (4 - t) * n] = x[2 * t, t * n : (t + 1) * n] + x[2 * t + 1, t * n : (t + 1) * n]
    return {"y": y}


def _indexed_add(g: Arrays) -> Arrays:
    y = g["y"].copy()
    np.add.at(y, g["ids"], g["x"])
    return {"y": y}


def _layernorm(g: Arrays) -> Arrays:
    x = _f32(g["x"])
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    rstd = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5))
    y = _half(centred * rstd * _f32(g["w"]) + _f32(g["b"]))
    return {"y": y, "mean": mean[:, 0], "rstd": rstd[:, 0]}


def _paged_attention(g: Arrays) -> Arrays:
    q = _f32(g["q"])
    y = np.empty_like(g["y"])
    for s, (pages, n) in enumerate(zip(g["pages"], g["lengths"], strict=True)):
        k, v = (_f32(g[c][pages].reshape(-1, q.shape[-1])[:n]) for c in ("keys", "values"))
        y[s] = _half(_softmax(q[s] @ k.T / 8) @ v)
    return {"y": y}


def _paged_write(g: Arrays) -> Arrays:
    cache = g["cache"].copy()
    cache[g["pages"]] = g["x"].reshape(len(g["pages"]), *cache.shape[1:])
    return {"cache": cache}


def _scatter(g: Arrays) -> Arrays:
    y = g["y"].copy()
    y[g["ids"]] = g["x"]
    return {"y": y}


def _reduce_generic(g: Arrays) -> Arrays:
    x = _f32(g["x"])
    return {"magnitude": np.abs(x).sum(axis=1), "sum": x.sum(axis=0), "largest": x.max(axis=0)}


def _reduce_kinds(g: Arrays) -> Arrays:
    x = g["x"]
    return {
        "largest": x.max(axis=1),
        "smallest": x.min(axis=1),
        "product": x.reshape(2, -1, x.shape[1]).prod(axis=1),
        "squares": (x * x).sum(axis=1),
        "where": x.argmax(axis=1).astype(np.int32),
    }


def _ring_loop(g: Arrays) -> Arrays:
    x = g["x"]
    total = x.sum(axis=1, keepdims=True) * np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1)
    return {"y": np.tile(total, (1, 8, 1))}


def _rmsnorm(x: Array, w: Array) -> Arrays:
    scale = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return {"y": _half(x * scale * _f32(w))}


def _rope(g: Arrays) -> Arrays:
    x, cos, sin = g["x"], g["cos"][:, None], g["sin"][:, None]
    a, b = x[..., :64], x[..., 64:]
    return {"y": np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)}


def _swiglu(g: Arrays) -> Arrays:
    x = _f32(g["x"])
    h = x @ _f32(g["gate"])
    return {"y": _half(_f32(_half(h / (1 + np.exp(-h)) * (x @ _f32(g["up"])))) @ _f32(g["down"]))}


def _sdpa(g: Arrays) -> Arrays:
    q, k, v = (_f32(g[n]) for n in "qkv")
    return {"y": _half(_f32(_half(_softmax(q @ k.T / 8))) @ v)}


def _tile_control(g: Arrays) -> Arrays:
    y = g["x"].cumsum(axis=0) * np.array([[-1], [1], [-1], [1]], np.float32)
    y[3] += g["x"][0]
    return {"y": y}


def _ids(*values: int) -> Array:
    return np.array(values, np.int32)


_WIDE = {64: 262144}
_SWIGLU = {16: 256, 64: 512, 128: 1024}
LISTED: dict[str, Listed] = {
    "attention_pv": Listed(
        {16: 256, 64: 1024},
        lambda g: {"y": _half(_f32(g["p"]) @ _f32(g["v"]))},
        {
            "constant 4 ": "constant 64' ",
            "[4, 64]": "[64', 64]",
            "<4x64x": "<64'x64x",
            "%tile * 4": "%tile * 64'",
            "-d0 + 3 ": "-d0 + 63' ",
        },
    ),
    "copy_column_split": Listed(
        {64: 262144, 32: 131072, 96: 393216},
        lambda g: {"left": g["x"][:, :262144].copy(), "right": g["x"][:, 262144:].copy()},
    ),
    "copy_dynamic": Listed(_WIDE, lambda g: {"y": np.concatenate([g["top"], g["bottom"]])}, scalars={"m": 8}),
    "copy_row_merge": Listed(_WIDE, lambda g: {"y": np.concatenate([g["top"], g["bottom"]])}),
    "extract_slice_dynamic": Listed({64: 524288, 16: 131072, 48: 393216}, _extract_slice),
    "gather_two_indices": Listed(
        {64: 65536, 512: 524288, 384: 393216},
        lambda g: {"y": g["table"][np.ix_(g["a"], g["b"])]},
        integers={"a": _ids(7, 0, 3, 3), "b": _ids(1, 6, 2, 2, 0, 7)},
    ),
    "host_two_kernels": Listed(
        {64: 131072, 16: 32768}, lambda g: {"t": g["x"] + g["x"], "y": g["x"] + g["x"] + np.float32(1)}
    ),
    "indexed_add": Listed({64: 131072}, _indexed_add, integers={"ids": _ids(9, 0, 9, 3, 4, 9, 1, 0)}),
    "layernorm": Listed({16: 4096}, _layernorm, {"grid = [4]": "grid = [1024]"}),
    "matmul_2d": Listed(
        {128: 1024, 64: 512, 32: 512, 16: 256}, lambda g: {"y": _half(_f32(g["a"]) @ _f32(g["b"]))}
    ),
    "nested_loops": Listed(
        {64: 65536, 32: 32768, 512: 524288},
        lambda g: {"sum": g["x"].sum(axis=(0, 1)), "largest": g["x"].max(axis=(0, 1))},
    ),
    "paged_attention": Listed(
        {16: 4096, 1024: 262144},
        _paged_attention,
        integers={"pages": _ids(6, 1, 3, 0, 7, 2).reshape(2, 3), "lengths": _ids(11600, 6000)},
    ),
    "paged_copy": Listed(
        {64: 32768, 1024: 524288},
        lambda g: {"y": g["cache"][g["pages"]]},
        integers={"pages": _ids(5, 2, 7, 0)},
    ),
    "paged_write": Listed({64: 131072, 256: 524288}, _paged_write, integers={"pages": _ids(5, 2, 7, 0)}),
    "reduce_generic": Listed({16: 2048, 64: 2048}, _reduce_generic),
    "reduce_kinds": Listed({64: 131072}, _reduce_kinds),
    "ring_reduce": Listed(_WIDE, lambda g: {"y": np.tile(g["x"].sum(axis=0), (8, 1))}),
    "ring_reduce_loop": Listed({64: 65536, 512: 524288}, _ring_loop),
    "ring_shift": Listed(_WIDE, lambda g: {"y": np.tile(g["x"].sum(axis=0), (8, 1))}),
    "rmsnorm_2x2": Listed(
        {8: 16384, 4: 8192},
        lambda g: _rmsnorm(_f32(np.concatenate([g["left"], g["right"]], axis=1)), g["w"]),
    ),
    "rmsnorm_4x1": Listed(
        {8: 4096}, lambda g: _rmsnorm(_f32(g["x"]), g["w"]), {"grid = [4, 1]": "grid = [2048, 1]"}
    ),
    "rope_4x2": Listed({8: 1024}, _rope, {"grid = [4, 2]": "grid = [4, 256]"}),
    "scalar_broadcast": Listed(
        _WIDE, lambda g: {"y": g["x"] * np.float16(g["scale"]) + g["shift"]}, scalars={"scale": 1.5}
    ),
    "scatter": Listed(_WIDE, _scatter, integers={"ids": _ids(9, 0, 15, 3, 4, 8, 1, 12)}),
    "sdpa_2d": Listed({32: 2048, 8: 512}, _sdpa),
    "softmax_wide": Listed(
        {8: 1024}, lambda g: {"y": _half(_softmax(_f32(g["x"])))}, {"grid = [4]": "grid = [512]"}
    ),
    "swiglu_1": Listed(_SWIGLU, _swiglu, scale=0.125),
    "swiglu_4": Listed({**_SWIGLU, 32: 256}, _swiglu, scale=0.125),
    "tile_control": Listed({64: 524288}, _tile_control),
    "vector_add_dynamic": Listed(
        {64: 65536, 256: 262144}, lambda g: {"y": g["a"] + g["b"]}, scalars={"n": 2**21}
    ),
}
"""Every kernel of tests/kernels by name."""
