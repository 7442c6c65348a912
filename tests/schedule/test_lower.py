"""KTDF programs lowered to DFIR give on the machine what NumPy gives."""

from __future__ import annotations

import numpy as np

from tests.schedule.machine_run import run, source


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def test_rows_and_columns_are_broadcast_over_rotating_tiles() -> None:
    x, row, col = random(64, 256), random(256, seed=1), random(64, seed=2)
    found = run(source("elementwise"), {"x": x, "row": row, "col": col})
    np.testing.assert_array_equal(found["y"], (x + row) * col[:, None])
