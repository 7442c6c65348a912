"""The sample programs with inputs at fixed element addresses and what NumPy says they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.machine.decode import decode
from headrace.machine.image import Image
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]
PROGRAMS = Path(__file__).parent / "programs"
F16, F32 = np.float16, np.float32


@dataclass(frozen=True)
class Sample:
    """Arrays to place in device memory and to expect there, each with the element address of its view."""

    name: str
    inputs: list[tuple[int, Array]]
    outputs: list[tuple[int, Array]]
    tolerance: float = 0.0
    scalars: tuple[tuple[str, int], ...] = ()

    def memory(self) -> Memory:
        """Fresh device memory with the inputs in place."""
        memory = Memory(1 << 19)
        for address, array in self.inputs:
            start = address * array.itemsize
            memory.bytes[start : start + array.nbytes] = (
                np.ascontiguousarray(array).view(np.uint8).reshape(-1)
            )
        return memory

    def check(self, memory: Memory) -> None:
        """Every output equals its expectation within the tolerance (relative, at least absolute)."""
        for address, want in self.outputs:
            start = address * want.itemsize
            got = memory.bytes[start : start + want.nbytes].view(want.dtype).reshape(want.shape)
            a, b = got.astype(np.float64), want.astype(np.float64)
            error = np.max(np.abs(a - b) / np.maximum(1, np.abs(b)))
            assert error <= self.tolerance, (self.name, error)


def text(name: str, is_generic: bool = False) -> str:
    """The text of a sample program, in custom syntax or as MLIR's own tools print it generically."""
    return ((PROGRAMS / "generic" if is_generic else PROGRAMS) / f"{name}.mlir").read_text()


def image_of(source: str) -> Image:
    """The image of a program text on the Spyre preset."""
    return decode(parse(source), device("spyre"))


def _random() -> np.random.Generator:
    return np.random.default_rng(0)


def _f16(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(F16)


def elementwise() -> Sample:
    rng = _random()
    x, row, column = _f16(rng, 60, 200), _f16(rng, 200), _f16(rng, 60)
    y = ((x + row).astype(F16) * column[:, None]).astype(F16)
    return Sample("elementwise", [(0, x), (12032, row), (12288, column)], [(16384, y)])


def softmax() -> Sample:
    x = _f16(_random(), 16, 300)
    p = np.exp((x - x.max(1, keepdims=True)).astype(F32)).astype(F16).astype(F32)
    return Sample("softmax", [(0, x)], [(4800, (p / p.sum(1, keepdims=True)).astype(F16))], 1e-3)


def layernorm() -> Sample:
    rng = _random()
    x, g, b = _f16(rng, 12, 300), _f16(rng, 300), _f16(rng, 300)
    d = x.astype(F32) - x.astype(F32).mean(1, keepdims=True)
    y = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * g.astype(F32) + b.astype(F32)
    return Sample("layernorm", [(0, x), (3648, g), (3968, b)], [(4288, y.astype(F16))], 2e-3)


def ops() -> Sample:
    x = _f16(_random(), 8, 96)
    wide = x.astype(F32)
    y = np.where(x >= 0, np.tanh(wide) / (1 + abs(wide)), (np.arange(96) % 7).astype(F32))
    return Sample("ops", [(0, x)], [(384, y)], 1e-6)


def transpose() -> Sample:
    x = _f16(_random(), 48, 64)
    return Sample("transpose", [(0, x)], [(3072, x.T.copy())])


def matmul() -> Sample:
    rng = _random()
    a, b, bias = _f16(rng, 32, 1024), _f16(rng, 1024, 128), _f16(rng, 128)
    y = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0)
    return Sample("matmul", [(0, a), (32768, b), (163840, bias)], [(164096, y.astype(F16))], 1e-3)


def attention() -> Sample:
    rng = _random()
    q, k, v = _f16(rng, 16, 64), _f16(rng, 256, 64), _f16(rng, 256, 64)
    s = q.astype(np.float64) @ k.astype(np.float64).T / 8
    p = np.exp(s - s.max(1, keepdims=True))
    y = (p / p.sum(1, keepdims=True)) @ v.astype(np.float64)
    return Sample("attention", [(0, q), (1024, k), (17408, v)], [(33792, y.astype(F16))], 2e-3)


def gather() -> Sample:
    rng = _random()
    table, rows = _f16(rng, 1000, 64), rng.permutation(1000)[:32].astype(np.int32)
    scattered = np.zeros((1000, 64), F16)
    scattered[rows] = table[rows]
    inputs = [(0, table), (32000, rows), (66112, np.zeros((1000, 64), F16))]
    return Sample("gather", inputs, [(64064, table[rows]), (66112, scattered)])


def multicast() -> Sample:
    rng = _random()
    x, w = _f16(rng, 2, 8, 64), _f16(rng, 8, 64)
    return Sample("multicast", [(0, x), (1024, w)], [(1536, (x + w).astype(F16))])


def ring_pull() -> Sample:
    w = _f16(_random(), 8, 64)
    return Sample("ring_pull", [(0, w)], [(512, np.stack([w] * 3))])


def ring_reduce() -> Sample:
    p = _random().standard_normal((4, 4, 64)).astype(F32)
    return Sample("ring_reduce", [(0, p)], [(1024, p.sum(0))], 1e-6)


def dynamic(n: int = 1000) -> Sample:
    x = _f16(_random(), n)
    total = x.astype(np.float64).sum(keepdims=True).astype(F32)
    scalars = (("px", 64), ("py", 4096), ("po", 8192), ("n", n))
    return Sample("dynamic", [(64, x)], [(4096, (x + x).astype(F16)), (8192, total)], 1e-5, scalars)


def resident() -> Sample:
    x = _f16(_random(), 16, 64)
    y = (x + x).astype(F32).sum(0).astype(F16)
    return Sample("resident", [(0, x)], [(2048, y)], 1e-3)


ALL: tuple[Callable[[], Sample], ...] = (
    elementwise,
    softmax,
    layernorm,
    ops,
    transpose,
    matmul,
    attention,
    gather,
    multicast,
    ring_pull,
    ring_reduce,
    dynamic,
    resident,
)
