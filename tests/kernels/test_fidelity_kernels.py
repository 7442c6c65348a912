"""The kernels of the fidelity rows compute what their names say."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.kernels import passes, single

from headrace.runtime.kernel import Kernel

RNG = np.random.default_rng(0)


def ran(text: str, device: str, outputs: list[str], **inputs: np.ndarray) -> list[np.ndarray]:
    run = Kernel(text).compile(device).run(**inputs)
    return [run.outputs[name] for name in outputs]


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_the_passes_of_a_softmax_make_a_softmax() -> None:
    x = RNG.standard_normal((16, 128)).astype(np.float16)

    def step(name: str, output: str, **inputs: np.ndarray) -> np.ndarray:
        return ran(passes.softmax_pass(name, 16, 128), "spyre", [output], **inputs)[0]

    shifted = step("sub", "o", x=x, s=step("max", "s", x=x))
    weights = step("exp", "o", x=shifted)
    assert (step("max sub exp", "o", x=x) == weights).all()
    y = step("div", "o", x=weights, s=step("sum", "s", x=weights))
    assert np.abs(y - softmax(x.astype(np.float64))).max() < 2e-3


def test_a_copy_and_a_row_sum() -> None:
    x = RNG.standard_normal((64, 128)).astype(np.float16)
    assert (ran(passes.copy(64, 128), "spyre", ["o"], x=x)[0] == x).all()
    total = ran(passes.row_sum(64, 128, 2), "spyre", ["s"], x=x)[0]
    assert np.abs(total - x.astype(np.float64).sum(1)).max() < 0.02


@pytest.mark.parametrize("device", ["tpuv3", "spyre"])
def test_kernels_in_single_precision(device: str) -> None:
    a, b = (RNG.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    (c,) = ran(single.gemm(64, 64, 64), device, ["c"], a=a, b=b)
    assert np.abs(c - a.astype(np.float64) @ b).max() < 1e-4
    (y,) = ran(single.softmax(64, 64), device, ["y"], x=a)
    assert np.abs(y - softmax(a.astype(np.float64))).max() < 1e-6
    w, bias = b[0], b[1]
    (n,) = ran(single.layernorm(64, 64), device, ["y"], x=a, w=w, b=bias)
    centred = a - a.mean(1, keepdims=True, dtype=np.float64)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * w + bias
    assert np.abs(n - want).max() < 1e-5


def test_attention_of_heads_on_the_second_architecture() -> None:
    heads, length, width = 2, 32, 16
    q, k, v = (RNG.standard_normal((heads, length, width)).astype(np.float32) for _ in range(3))
    kt = np.ascontiguousarray(k.transpose(0, 2, 1)).reshape(heads * width, length)
    flat = {"q": q.reshape(-1, width), "v": v.reshape(-1, width)}
    (y,) = ran(single.attention(heads, length, width), "tpuv3", ["y"], kt=kt, **flat)
    weights = softmax(q.astype(np.float64) @ k.transpose(0, 2, 1) / np.sqrt(width))
    assert np.abs(y.reshape(heads, length, width) - weights @ v).max() < 1e-5
