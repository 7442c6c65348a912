"""Column reductions and transposes: what `build` writes computes what the TileGraph says."""

from __future__ import annotations

import numpy as np
import pytest

from tests.schedule import tilegraphs
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
