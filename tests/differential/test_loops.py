"""Loops that stay loops: recurrences whose trip counts differ from core to core."""

from __future__ import annotations

import pytest
from benchmarks.kernels.text import Text, tensor

from headrace.runtime.kernel import Kernel
from tests.differential.test_kernels import compare


def recurrence(cores: int, rows: int, columns: int) -> str:
    """y[tile] = h after h = tanh(h + w[j]) for j = 0 .. tile, w [cores, rows, columns] read by every tile."""
    t = Text()
    shape = (rows, columns)
    w = t.view("w", (cores * rows, columns), "f32")
    y = t.view("y", (cores * rows, columns), "f32")
    zero = t.constant("0.0", "f32", "%zero")
    tile = t.let("ktdp.get_compute_tile_id : index", "tile")
    end = t.let(f"arith.addi {tile}, {t.index(1)} : index", "end")
    start, kind = t.fill(zero, shape, "f32"), tensor(shape, "f32")
    t.op(f"%h = scf.for %j = {t.index(0)} to {end} step {t.index(1)} iter_args(%a = {start}) -> ({kind}) {{")
    row = t.let(f"arith.muli %j, {t.index(rows)} : index", "row")
    part = t.load(w, [row, t.index(0)], shape)
    body = ["%s = arith.addf %in0, %in1 : f32", "%out = math.tanh %s : f32"]
    after = t.generic([("%a", shape, "f32", None), (part, shape, "f32", None)], shape, "f32", body)
    t.op(f"scf.yield {after} : {kind}")
    t.op("}")
    first = t.let(f"arith.muli {tile}, {t.index(rows)} : index", "first")
    t.store("%h", y, [first, t.index(0)], shape)
    return t.module("recurrence", "%w: index, %y: index", (cores,), "// trips by tile")


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("cores,rows,columns", [(4, 8, 64), (3, 5, 33)])
def test_a_recurrence_runs_as_often_as_its_tile_says(
    device: str, cores: int, rows: int, columns: int
) -> None:
    compare(Kernel(recurrence(cores, rows, columns)), device, is_checked=True)
