"""Rows that do not fit the registers, with several operands: correct and legal on the machine."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.schedule.graph import Scalar
from tests.schedule.on_machine import run
from tests.schedule.test_build_vector import random
from tests.schedule.tilegraphs import Kernel


def residual_norm(rows: int, columns: int, cores: int):
    """h = x + r, stored; y = h / rms(h) * w."""
    k = Kernel("residual_norm", cores)
    per = rows // cores
    origin = [[per * c for c in range(cores)], 0]
    x = k.load("x", (rows, columns), origin, (per, columns))
    r = k.load("r", (rows, columns), origin, (per, columns))
    w = k.load("w", (columns,), [0], (columns,))
    widened = [Scalar("arith.extf", (0,), "f32"), Scalar("arith.extf", (1,), "f32")]
    h = k.pointwise([(x, (0, 1)), (r, (0, 1))], [*widened, Scalar("arith.addf", (2, 3), "f32")])
    k.store(k.pointwise([(h, (0, 1))], [Scalar("arith.truncf", (0,), "f16")]), "h", (rows, columns), origin)
    square = k.pointwise([(h, (0, 1))], [Scalar("arith.mulf", (0, 0), "f32")])
    total = k.reduce(square, (1,), "add")
    mean = [Scalar("const", (), "f32", 1 / columns), Scalar("arith.mulf", (0, 1), "f32")]
    shift = [
        Scalar("const", (), "f32", 1e-5),
        Scalar("arith.addf", (2, 3), "f32"),
        Scalar("math.rsqrt", (4,), "f32"),
    ]
    scale = k.pointwise([(total, (0,))], [*mean, *shift])
    product = [Scalar("arith.extf", (2,), "f32"), Scalar("arith.mulf", (0, 1), "f32")]
    rounded = [Scalar("arith.mulf", (4, 3), "f32"), Scalar("arith.truncf", (5,), "f16")]
    y = k.pointwise([(h, (0, 1)), (scale, (0,)), (w, (1,))], [*product, *rounded])
    k.store(y, "y", (rows, columns), origin)
    return k.graph()


@pytest.mark.parametrize("name", ["spyre", "tiny"])
@pytest.mark.parametrize("columns", [128, 2048, 3000])
def test_adds_a_residual_and_normalises(name, columns):
    x, r, w = random(8, columns), random(8, columns, seed=1), random(columns, seed=2)
    arrays = {"x": x, "r": r, "w": w, "h": np.zeros_like(x), "y": np.zeros_like(x)}
    got, _ = run(residual_norm(8, columns, 2), arrays, name)
    h = x.astype(np.float32) + r.astype(np.float32)
    assert np.array_equal(got["h"], h.astype(np.float16))
    want = h / np.sqrt((h * h).mean(1, keepdims=True) + 1e-5) * w
    assert np.allclose(got["y"].astype(np.float32), want, atol=2e-2, rtol=1e-2)
