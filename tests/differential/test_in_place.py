"""Stores over what was loaded, or stored before, happen in the order of the text."""

from __future__ import annotations

import pytest
from benchmarks.kernels.text import Text, tensor

from headrace.runtime.kernel import Kernel
from tests.differential.test_kernels import compare

TILE = (4, 12)


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("is_read_between", [False, True])
@pytest.mark.parametrize("row", [0, 1, 3, 4])
def test_a_later_store_wins_where_two_overlap(device: str, is_read_between: bool, row: int) -> None:
    t, zero = Text(), "%c0"
    x = t.view("x", (8, 12), "f32")
    a, b = (t.load(x, [t.index(k), zero], TILE) for k in (0, 4))
    t.store(t.let(f"arith.addf {a}, {b} : {tensor(TILE, 'f32')}"), x, [t.index(0), zero], TILE)
    last = t.load(x, [t.index(2), zero], TILE) if is_read_between else a
    t.store(t.let(f"arith.mulf {last}, {b} : {tensor(TILE, 'f32')}"), x, [t.index(row), zero], TILE)
    compare(Kernel(t.module("k", "%x: index", (1,), "// in place")), device, is_checked=True)
