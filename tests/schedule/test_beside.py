"""Strips one ahead of the other, and vector phases whose rows run between the products of a contraction."""

from __future__ import annotations

import importlib
import json
import re
from math import inf

import pytest
from benchmarks.kernels.attention import attention
from benchmarks.schedule import timed_cycles

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program
from tests.schedule.test_strips import check, compiled, strips

TEXT, SIZE = attention(2, 256, 128, 1), 384 * 1024
"""Two heads on one of keys, strips of 128 rows."""
EXPONENTIALS = ("linalg.generic", "linalg.reduce")
"""Without the maxima, which the product gives."""
SECOND = ("linalg.matmul", "late quotient", "arith.truncf")


def pairs(program: Program) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """What runs beside which contraction, by what both compute."""
    found = []
    for part in program.plan["classes"]:
        computes = {p["name"]: tuple(p["computes"]) for p in part["phases"]}
        found += [(computes[p["beside"]], computes[p["name"]]) for p in part["phases"] if p["beside"]]
    return found


def test_exponentials_run_beside_the_second_product_of_the_strip_before():
    program = check(TEXT, SIZE)
    assert strips(program)[0]["ahead"] == 1
    assert (EXPONENTIALS, SECOND) in pairs(program)


@pytest.mark.long
@pytest.mark.parametrize("length", [390, 448])
def test_weights_are_rounded_beside_the_first_product_of_the_next_strip(length):
    program = check(attention(1, length, 128), 512 * 1024)
    assert any(
        guest == ("linalg.generic",) and host[:2] == ("linalg.matmul", "linalg.generic")
        for guest, host in pairs(program)
    )


def test_a_long_row_comes_in_sections_between_which_products_are_made(monkeypatch):
    search = importlib.import_module("headrace.schedule.search.search")
    choices = search.choices
    monkeypatch.setattr(search, "choices", lambda *given: (c[:1] for c in choices(*given)))
    monkeypatch.setattr(search, "scratch_cycles", lambda *_: inf)
    settings = {"lx.size_bytes": 512 * 1024, "PT.resident_bytes": 8192, "SFU_REG.size_bytes": 512}
    text = attention(1, 384, 128)
    program = check(text, program=compile_kernel(Kernel(text), device("spyre", settings), Options()))
    assert (EXPONENTIALS, SECOND) in pairs(program)
    whole, half = (
        len(re.findall(rf"size \[1, {n}\] to %l1lu_sfu\w* size \[{n}\] : memref<64x384xf32", program.ktdf))
        for n in (384, 192)
    )
    assert half > whole == 0


def test_a_single_product_left_behind_the_rows_of_a_block_needs_no_signal(monkeypatch):
    monkeypatch.setattr(importlib.import_module("headrace.schedule.search.search"), "TALL", 1)
    program = compile_kernel(
        Kernel(attention(1, 1408, 128)), device("spyre", {"lx.size_bytes": 1 << 20}), Options()
    )
    assert strips(program)[0]["rows"] == 16 and pairs(program)
    assert timed_cycles(program) >= program.bound.cycles  # HeadraceError if the units wait for each other


@pytest.mark.parametrize("length", [390, 512])
def test_partial_sums_may_be_longer_than_their_queue(length):
    text = attention(1, length, 16)
    check(text, program=compile_kernel(Kernel(text), device("tiny"), Options()))


def test_without_double_buffering_a_strip_ends_before_the_next_begins():
    found = compile_kernel(Kernel(TEXT), compiled(TEXT, SIZE).device, Options(without=("double-buffering",)))
    assert strips(found)[0]["ahead"] == 0 and not pairs(found)


def test_strips_one_ahead_of_the_other_are_predicted_as_they_run():
    program = compile_kernel(Kernel(attention(32, 1024, 128)), device("spyre"), Options())
    cycles = timed_cycles(program)
    assert strips(program)[0]["ahead"] == 1 and pairs(program)
    assert abs(program.plan["predicted_cycles"] / cycles - 1) < 0.05
    assert cycles < 1.15 * program.bound.cycles


def test_a_phase_runs_beside_the_one_after_it_only():
    plan = json.loads(json.dumps(compiled(TEXT, SIZE).plan))
    host = next(p for p in plan["classes"][0]["phases"] if p["beside"])
    host["beside"] = "p0"
    with pytest.raises(HeadraceError, match="p0 beside it"):
        compile_kernel(Kernel(TEXT), compiled(TEXT, SIZE).device, Options(plan=plan))


def test_wide_blocks_of_scores_fit_small_registers():
    settings = {"lx.size_bytes": 96 * 1024, "PT.resident_bytes": 16384, "SFU_REG.size_bytes": 512}
    text = attention(1, 320, 16)
    check(text, program=compile_kernel(Kernel(text), device("spyre", settings), Options()))


@pytest.mark.parametrize("length", [768, 1280])
def test_a_depth_that_leaves_a_rest_is_one_tile(length):
    """Only a product in one tile has rows beside it; its last block is as deep as what is left."""
    program = compile_kernel(Kernel(attention(1, length, 128)), device("spyre"), Options())
    products = [p for part in program.plan["classes"] for p in part["phases"] if p["kind"] == "contract"]
    assert strips(program)[0]["ahead"] == 1
    assert all(p["tile"] == p["extents"] for p in products)
