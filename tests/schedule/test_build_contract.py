"""Contraction phases: what `build` writes computes what the TileGraph says."""

from __future__ import annotations

import numpy as np
import pytest

from tests.schedule import tilegraphs
from tests.schedule.test_build_vector import execute, random


@pytest.mark.parametrize("name, grid", [("spyre", (2, 2)), ("tiny", (1, 2)), ("sample", (2, 1))])
@pytest.mark.parametrize("m, n, k", [(64, 256, 300), (2, 64, 1024), (6, 40, 32)])
@pytest.mark.parametrize("transposed", [False, True])
def test_multiplies_matrices_with_a_fused_epilogue(name, grid, m, n, k, transposed):
    a, bias = random(m, k), random(n, seed=2)
    b = random(n, k, seed=1) if transposed else random(k, n, seed=1)
    graph = tilegraphs.gemm(m, n, k, grid, transposed=transposed)
    got = execute(graph, {"a": a, "b": b, "bias": bias, "c": np.zeros((m, n), np.float16)}, name)["c"]
    right = b.astype(np.float32).T if transposed else b.astype(np.float32)
    want = np.maximum(a.astype(np.float32) @ right + bias.astype(np.float32), 0)
    assert np.allclose(got.astype(np.float32), want, atol=0.1, rtol=1e-2)
