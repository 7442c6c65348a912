"""Phases that run strip by strip: attention whose scores do not fit the scratchpad, masked and not."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from benchmarks.kernels.attention import attention
from benchmarks.kernels.blocks import attention as unmasked

from headrace.arch.presets import device
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference

SMALL = 131072
"""Bytes of a scratchpad that takes no square of 128 scores."""


@lru_cache(maxsize=4)
def compiled(text: str, size: int):
    """The program of a KTIR text for a device with a scratchpad of `size` bytes."""
    return compile_kernel(Kernel(text), device("spyre", {"lx.size_bytes": size}), Options())


def strips(program):
    """How every class of a program is cut."""
    return [part["strips"] for part in program.plan["classes"]]


def check(text: str, size: int = SMALL, seed: int = 0):
    """Run on the machine with the sanitizer and on the reference; the results agree. Returns the program."""
    program, kernel = compiled(text, size), Kernel(text)
    random = np.random.default_rng(seed)
    arrays = {a.name: random.standard_normal(a.shape).astype(np.float16) for a in kernel.arguments}
    run = run_program(program.reparsed(), arrays, is_checked=True)
    assert program.illegalities() == []
    assert run.findings is not None and not any(run.findings.values()), run.findings
    got, wanted = (r.outputs["y"].astype(np.float64) for r in (run, run_reference(kernel, arrays)))
    assert np.abs(got - wanted).max() <= 2**-9 * np.abs(wanted).max()  # weights round to f16 in between
    return program


@pytest.mark.parametrize("length", [128, pytest.param(200, marks=pytest.mark.long)])
def test_masked_attention_keeps_strips_of_scores_in_the_scratchpad(length):
    program = check(attention(4, length, 32, 2))
    (cut,) = strips(program)
    assert cut["rows"] < length and cut["steps"] > 1 and cut["kept"] == 1
    assert set(program.plan["classes"][0]["homes"].values()) == {"lx"}


def test_attention_without_a_mask_runs_over_all_keys_of_every_strip():
    (cut,) = strips(check(unmasked(1, 128, 16, 1)))
    assert cut["rows"] < 128 and cut["steps"] == 1


def test_exponentials_of_long_rows_take_the_place_of_the_scores():
    program = check(attention(1, 640, 16), 4 * SMALL)
    phases = program.plan["classes"][0]["phases"]
    softmax = [p for p in phases if p["kind"] == "vector" and p["computes"] != ["keep"]]
    last = [p for p in softmax if p["extents"] == softmax[-1]["extents"]]
    assert [p["passes"] for p in last] == [2, 1]  # the maximum, then exponentials and their sum; the quotient
