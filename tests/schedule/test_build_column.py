"""Column reductions and transposes: what `build` writes computes what the TileGraph says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.schedule.graph import Linear, Scalar
from headrace.schedule.search import search
from tests.schedule import tilegraphs
from tests.schedule.on_machine import run
from tests.schedule.test_build_vector import execute, random


@pytest.mark.parametrize(
    "shape, over",
    [((64, 96), (0,)), ((3, 40, 70), (1,)), ((30, 200), (0, 1)), ((5, 7, 33), (0, 2)), ((2000,), (0,))],
)
@pytest.mark.parametrize("name", ["spyre", "tiny"])
def test_reduces_over_any_axes(shape, over, name):
    x = random(*shape, dtype=np.float32)
    want = x.sum(over)
    got = execute(
        tilegraphs.reduction(shape, over, "add"), {"x": x, "y": np.zeros_like(np.atleast_1d(want))}, name
    )
    assert np.allclose(got["y"], want, atol=1e-3)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_reduces_columns_of_each_cores_rows(dtype):
    x = random(64, 48, dtype=np.float16 if dtype == "f16" else np.float32)
    got = execute(
        tilegraphs.reduction((64, 48), (0,), "max", 4, dtype), {"x": x, "y": np.zeros((4, 48), x.dtype)}
    )
    assert np.array_equal(got["y"], x.reshape(4, 16, 48).max(1))


@pytest.mark.parametrize(
    "shape, order", [((96, 130), (1, 0)), ((4, 6, 70), (1, 0, 2)), ((5, 64, 20), (2, 0, 1))]
)
@pytest.mark.parametrize("name", ["spyre", "tiny"])
def test_permutes_dims(shape, order, name):
    x = random(*shape)
    want = (x + x).transpose(order)
    got = execute(tilegraphs.permuted(shape, order), {"x": x, "y": np.zeros(want.shape, x.dtype)}, name)
    assert np.array_equal(got["y"], want)


@pytest.mark.parametrize("rows, depth", [(2, 12), (8, 12), (2, 4)])
def test_coordinates_count_from_the_first_row_of_a_tile_on(rows, depth):
    """y[i, j] = sum over k <= i of x[k, i, j], a few i and k in a tile."""
    k = tilegraphs.Kernel("lower_sums", 1)
    x = k.load("x", (12, 8, 32), [0, 0, 0], (12, 8, 32), "f32")
    place = [Scalar("index", (), "i64", (d, Linear())) for d in (0, 1)]
    seen = [Scalar("arith.cmpi", (1, 2), "i1", "sle"), Scalar("const", (), "f32", 0.0)]
    k.store(
        k.reduce(x, (0,), "add", [*place, *seen, Scalar("arith.select", (3, 0, 4), "f32")]),
        "y",
        (8, 32),
        [0, 0],
    )
    graph = k.graph()
    plan = search(graph, device("spyre"))
    (part,) = plan.classes
    (phase,) = part.phases
    sizes = {12: depth, 8: rows}
    tile = {d: sizes.get(e, e) for d, e in phase.extents.items()}
    edited = replace(plan, classes=(replace(part, phases=(replace(phase, tile=tile),)),))
    values = random(12, 8, 32, dtype=np.float32)
    got, _ = run(graph, {"x": values, "y": np.zeros((8, 32), np.float32)}, plan=edited)
    want = np.where(np.arange(12)[:, None, None] <= np.arange(8)[:, None], values, 0).sum(0)
    assert phase.kind == "column" and np.allclose(got["y"], want, atol=1e-5)
