"""Kernels only the schedule benchmark uses, at reduced sizes: alike at all levels, and like NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.kernels import MORE, kernel_text

from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference

from .test_kernels import compare

REDUCED: dict[str, dict[str, Any]] = {
    "copy": {"rows": 37, "columns": 129, "cores": 4},
    "cast": {"rows": 37, "columns": 129, "cores": 4},
    "chain": {"rows": 37, "columns": 129, "cores": 4},
    "broadcast_column": {"rows": 37, "columns": 129, "cores": 4},
}
"""the functions of `gated_mlp` run one by one; the weights of attention are rounded, so
a change of one unit in the last place before that is more than one after it.
"""


@pytest.mark.parametrize("name", sorted(REDUCED))
@pytest.mark.parametrize("device", ["spyre", "tiny"])
def test_a_kernel_of_the_suite_runs_on_a_device(name: str, device: str) -> None:
    compare(Kernel(kernel_text(name, **REDUCED[name]), name), device, is_checked=device == "spyre")


@pytest.mark.parametrize("name", ["gate_up", "down"])
def test_a_function_of_the_gated_mlp_runs(name: str) -> None:
    text = kernel_text("gated_mlp", m=64, width=96, hidden=160, grid=(2, 4), k_step=32)
    compare(Kernel(text, function=name), "spyre", is_checked=True)


@pytest.mark.parametrize("device", ["spyre", "tiny"])
def test_attention_of_the_suite_runs_on_a_device(device: str) -> None:
    kernel = Kernel(kernel_text("attention", heads=4, kv_heads=2, length=96, depth=32))
    program = kernel.compile(device)
    assert not program.illegalities()
    run = run_program(program.reparsed(), None, 1, is_checked=device == "spyre")
    assert run.findings is None or not any(run.findings.values())
    wanted = run_reference(kernel, None, 1, {}).outputs["y"].astype(np.float32)
    assert np.allclose(run.outputs["y"].astype(np.float32), wanted, rtol=2e-2, atol=2e-3)


def test_every_kernel_of_the_suite_is_run_or_named() -> None:
    assert set(MORE) == {*REDUCED, "attention", "gated_mlp"}


def test_attention_of_the_suite_is_causal_attention() -> None:
    heads, kv, length, depth = 4, 2, 24, 16
    text = kernel_text("attention", heads=heads, kv_heads=kv, length=length, depth=depth)
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((n, length, depth)).astype(np.float16) for n in (heads, kv, kv))
    found = run_reference(Kernel(text, "attention"), {"q": q, "k": k, "v": v}, 1, {}).outputs["y"]
    keys, values = (np.repeat(x.astype(np.float64), heads // kv, axis=0) for x in (k, v))
    scores = np.where(
        np.tri(length, dtype=bool), q.astype(np.float64) @ keys.swapaxes(1, 2) / depth**0.5, -np.inf
    )
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    wanted = weights / weights.sum(axis=-1, keepdims=True) @ values
    assert np.allclose(found, wanted, atol=4e-3)


def test_the_gated_mlp_of_the_suite_is_a_gated_mlp() -> None:
    text = kernel_text("gated_mlp", m=32, width=48, hidden=64, grid=(2, 4), k_step=16)
    random = np.random.default_rng(0)
    shapes = {"x": (32, 48), "g": (48, 64), "u": (48, 64), "d": (64, 48)}
    given = {name: (random.standard_normal(shape) / 4).astype(np.float16) for name, shape in shapes.items()}
    found = run_reference(Kernel(text), given, 1, {}).outputs["y"]
    x, g, u, d = (given[name].astype(np.float64) for name in "xgud")
    assert np.allclose(found, (x @ g / (1 + np.exp(-(x @ g))) * (x @ u)) @ d, atol=4e-3)
