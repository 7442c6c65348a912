"""Gathers and scatters: rows found through indices, on the machine."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.schedule.graph import Indirect, Linear, Load, Scalar, Store
from tests.schedule.on_machine import run
from tests.schedule.test_build_vector import random
from tests.schedule.tilegraphs import Kernel


def indirect(kernel, arg, rows, dtype="i32"):
    view = kernel.view(arg, (rows,), dtype, "in")
    return Indirect(0, view, (Linear(),), (0,))


@pytest.mark.parametrize("name", ["spyre", "tiny"])
@pytest.mark.parametrize("rows, columns", [(20, 64), (7, 33), (300, 8)])
def test_gathers_rows_and_doubles_them(name, rows, columns):
    k = Kernel("gather", 1)
    value = k.fresh((rows, columns), "f16")
    view = k.view("table", (50, columns), "f16", "in")
    k.body.append(Load(value, view, (Linear(), Linear()), (None, 1), (indirect(k, "ids", rows),)))
    y = k.pointwise([(value, (0, 1))], [Scalar("arith.addf", (0, 0), "f16")])
    k.store(y, "y", (rows, columns), [0, 0])
    table, ids = random(50, columns), np.random.default_rng(1).integers(0, 50, rows).astype(np.int32)
    got, _ = run(k.graph(), {"table": table, "ids": ids, "y": np.zeros((rows, columns), np.float16)}, name)
    assert np.array_equal(got["y"], 2 * table[ids])


@pytest.mark.parametrize("name", ["spyre", "tiny"])
@pytest.mark.parametrize("rows, columns", [(20, 64), (7, 33)])
def test_scatters_rows(name, rows, columns):
    k = Kernel("scatter", 1)
    x = k.load("x", (rows, columns), [0, 0], (rows, columns))
    y = k.pointwise([(x, (0, 1))], [Scalar("arith.addf", (0, 0), "f16")])
    view = k.view("y", (50, columns), "f16", "out")
    k.body.append(Store(y, view, (Linear(), Linear()), (None, 1), (indirect(k, "ids", rows),)))
    x, ids = random(rows, columns), np.random.default_rng(1).permutation(50)[:rows].astype(np.int32)
    got, _ = run(k.graph(), {"x": x, "ids": ids, "y": np.zeros((50, columns), np.float16)}, name)
    want = np.zeros((50, columns), np.float16)
    want[ids] = 2 * x
    assert np.array_equal(got["y"], want)
