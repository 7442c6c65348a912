"""Maxima of rows taken along with the product that makes the rows."""

from __future__ import annotations

import json
import re
from math import inf, nan

import numpy as np
import pytest
from benchmarks.kernels.attention import attention

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference
from tests.schedule.test_strips import check, strips

ROOMY = device("spyre", {"lx.size_bytes": 1 << 20})


def products(program):
    """The first products of strips, by phase of the plan."""
    phases = [p for part in program.plan["classes"] for p in part["phases"]]
    return [p for p in phases if p["kind"] == "contract" and "late quotient" not in p["computes"]]


def test_a_product_gives_the_maxima_of_its_blocks():
    text = attention(2, 512, 64, 1)
    program = check(text, program=compile_kernel(Kernel(text), ROOMY, Options()))
    assert strips(program)[0]["ahead"] == 1
    assert products(program) and all("peaks" in p["computes"] for p in products(program))
    # one maximum a row and block of 64 columns
    assert re.search(r"memref<\d+x8xf32", program.ktdf)


@pytest.mark.parametrize("length", [320, 390, 448, 1088])
def test_blocks_of_any_number_are_right(length):
    text = attention(1, length, 64)
    program = check(text, program=compile_kernel(Kernel(text), ROOMY, Options()))
    for phase in products(program):
        assert "peaks" not in phase["computes"] or phase["blocks"]["columns"] % 64 == 0


@pytest.mark.parametrize("length,size", [(1536, 3 << 19), (640, 1 << 20)])
def test_what_other_rows_left_is_no_maximum(length, size):
    """Every other step has scores so large that the exponentials of the next one would all be 0 below them;
    blocks of steps are of several widths.
    """
    text = attention(1, length, 64)
    kernel = Kernel(text)
    program = compile_kernel(kernel, device("spyre", {"lx.size_bytes": size}), Options())
    widths = {p["blocks"]["columns"] for p in products(program) if "peaks" in p["computes"]}
    assert len(widths) > 1
    random = np.random.default_rng(0)
    arrays = {a.name: random.standard_normal(a.shape).astype(np.float16) for a in kernel.arguments}
    step = length // strips(program)[0]["steps"]
    for first in range(0, length, step):
        arrays["q"][0, first : first + step] *= 40 if first // step % 2 == 0 else 0.01
    got = run_program(program, arrays).outputs["y"].astype(np.float64)
    expected = run_reference(kernel, arrays).outputs["y"].astype(np.float64)
    assert np.abs(got - expected).max() <= 2**-9 * np.abs(expected).max()


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_what_is_no_number_gets_through(value):
    text = attention(1, 512, 64)
    program, kernel = compile_kernel(Kernel(text), ROOMY, Options()), Kernel(text)
    assert any("peaks" in p["computes"] for p in products(program))
    random = np.random.default_rng(0)
    arrays = {a.name: random.standard_normal(a.shape).astype(np.float16) for a in kernel.arguments}
    arrays["q"][0, 200, 3] = value
    expected = run_reference(kernel, arrays).outputs["y"]
    got = run_program(program, arrays).outputs["y"]
    assert np.array_equal(np.isnan(got), np.isnan(expected)) and np.isnan(got).any()


def test_blocks_of_an_edited_plan_give_whole_maxima():
    text = attention(1, 512, 64)
    plan = json.loads(json.dumps(compile_kernel(Kernel(text), ROOMY, Options()).plan))
    phases = [p for part in plan["classes"] for p in part["phases"] if p["kind"] == "contract"]
    next(p for p in phases if "peaks" in p["computes"])["blocks"]["columns"] = 32
    with pytest.raises(HeadraceError, match="blocks of 32 columns"):
        compile_kernel(Kernel(text), ROOMY, Options(plan=plan))
