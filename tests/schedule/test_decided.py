"""Masks are computed only in blocks of a product in which they can hide something."""

from __future__ import annotations

import re

import pytest
from benchmarks.kernels.attention import attention

from headrace.arch.presets import device
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.schedule.graph import Compute, Dim, Linear, Out, Scalar
from headrace.schedule.phases.decided import decided
from tests.schedule.test_strips import check

LOW = float("-inf")


def masked(predicate: str, shift: Linear) -> Compute:
    """select(row + shift PREDICATE column, value, low) over rows r and columns c."""
    body = (
        Scalar("in", (), "f32", 0),
        Scalar("index", (), "index", ("r", shift)),
        Scalar("index", (), "index", ("c", Linear())),
        Scalar("arith.cmpi", (1, 2), "i1", predicate),
        Scalar("const", (), "f32", LOW),
        Scalar("arith.select", (3, 0, 4), "f32"),
    )
    dims = (Dim("r", 8, "parallel"), Dim("c", 8, "parallel"))
    return Compute(dims, (), (Out("y", (), 5),), body)


@pytest.mark.parametrize(
    "predicate,columns,left",
    [
        ("sge", (0, 0), "in"),
        ("sge", (0, 1), None),
        ("sge", (8, 15), "const"),
        ("sge", (7, 15), None),
        ("sgt", (0, 0), None),
        ("sgt", (7, 15), "const"),
        ("sle", (7, 15), "in"),
        ("sle", (6, 15), None),
        ("slt", (0, 0), "const"),
        ("slt", (8, 9), "in"),
        ("eq", (8, 9), None),
    ],
)
def test_a_select_goes_where_its_condition_is_the_same_everywhere(predicate, columns, left):
    found = decided(masked(predicate, Linear()), {"r": (0, 7), "c": columns})
    ops = [entry.op for entry in found.body]
    assert ops == ([left] if left else [entry.op for entry in masked(predicate, Linear()).body])
    assert found.outs[0].result == len(ops) - 1


def test_loops_around_move_the_rows():
    compute = masked("sge", Linear(0, (("strip", 1),)))
    assert len(decided(compute, {"r": (0, 7), "c": (0, 15), "strip": (16, 24)}).body) == 1
    assert decided(compute, {"r": (0, 7), "c": (0, 15), "strip": (8, 24)}) == compute
    assert decided(compute, {"r": (0, 7), "c": (0, 15)}) == compute


def test_blocks_left_of_the_diagonal_are_not_masked():
    text = attention(1, 512, 128)
    program = compile_kernel(Kernel(text), device("spyre", {"lx.size_bytes": 640 * 1024}), Options())
    check(text, program=program)
    scaled, hidden = (len(re.findall(op, program.ktdf)) for op in ("arith.mulf", "arith.select"))
    assert 0 < hidden < scaled
