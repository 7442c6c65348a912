"""Phases that run strip by strip: attention whose scores do not fit the scratchpad, masked and not."""

from __future__ import annotations

import json
import re
from functools import lru_cache

import numpy as np
import pytest
from benchmarks.kernels import kernel_text
from benchmarks.kernels.attention import attention
from benchmarks.kernels.blocks import attention as unmasked
from benchmarks.schedule import timed_cycles

from headrace.arch.device import Device
from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.program import Program
from headrace.runtime.reference import run_reference
from headrace.schedule.model import model
from headrace.schedule.phases.chain import chain
from headrace.schedule.phases.statements import regular
from headrace.schedule.phases.triangle import triangle
from headrace.schedule.plan import ClassPlan, Plan
from headrace.schedule.plan_text import plan_text
from headrace.schedule.replay import strips_of
from headrace.schedule.search import search
from headrace.schedule.search import strips as cuts

SMALL = 131072
"""Bytes of a scratchpad that takes no square of 128 scores."""


@lru_cache(maxsize=4)
def compiled(text: str, size: int):
    """The program of a KTIR text for a device with a scratchpad of `size` bytes."""
    return compile_kernel(Kernel(text), small(size), Options())


def small(size: int) -> Device:
    """The device with a scratchpad of `size` bytes."""
    return device("spyre", {"lx.size_bytes": size})


def strips(program):
    """How every class of a program is cut."""
    return [part["strips"] for part in program.plan["classes"]]


def check(text: str, size: int = SMALL, seed: int = 0, program: Program | None = None):
    """Run on the machine with the sanitizer and on the reference; the results agree. Returns the program."""
    program, kernel = program or compiled(text, size), Kernel(text)
    random = np.random.default_rng(seed)
    arrays = {a.name: random.standard_normal(a.shape).astype(np.float16) for a in kernel.arguments}
    run = run_program(program.reparsed(), arrays, is_checked=True)
    assert program.illegalities() == []
    assert run.findings is not None and not any(run.findings.values()), run.findings
    expected = run_reference(kernel, arrays).outputs
    for name in {"y", "z"} & expected.keys():
        got, wanted = (outputs[name].astype(np.float64) for outputs in (run.outputs, expected))
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


def product(name: str, *arguments: str) -> str:
    """A product of [512, 32] by [32, 32] on two tiles, with arguments of these names."""
    text = kernel_text("matmul", m=512, k=32, n=32, grid=(2, 1)).replace("@matmul(", f"@{name}(")
    for old, new in zip("abc", arguments, strict=True):
        text = re.sub(rf"%{old}\b", f"%{new}", text)
    return text


def test_attention_between_kernels_of_other_cores_is_cut_and_nothing_else():
    texts = [product("before", "x", "w", "q"), attention(4, 128, 32, 2), product("after", "y", "u", "z")]
    heads = [line for t in texts for line in t.splitlines() if line.startswith("#")]
    bodies = [t[t.index("func.func") : t.rindex("}")] for t in texts]
    program = check("\n".join([*dict.fromkeys(heads), "module {", *bodies, "}"]))
    assert all(cut["rows"] < 128 and cut["steps"] > 1 for cut in strips(program))
    products = [p for p in program.plan["classes"][0]["phases"] if 512 // 2 in p["extents"].values()]
    assert len(products) == 2 and all(p["runs"] == 1 for p in products)


def test_scores_that_fit_the_scratchpad_come_in_strips_where_that_is_faster():
    """Without strips the scores would be written key by key, one number at a time."""
    text = attention(4, 256, 64, 2)
    program = check(text, 1 << 21)
    (cut,) = strips(program)
    whole = compile_kernel(Kernel(text), program.device, Options(("retiling",)))
    assert cut["rows"] < 256 and strips(whole) == [{}]
    assert timed_cycles(program) < timed_cycles(whole)


@pytest.mark.parametrize(
    "strips",
    [
        {"rows": 0, "steps": 1, "kept": 1, "ahead": 0, "block": 0},
        {"rows": 8, "steps": 1, "kept": 1, "ahead": 0, "block": -1},
        {"rows": 16},
    ],
)
def test_strips_that_are_none_are_refused(strips):
    with pytest.raises(HeadraceError, match="strips of"):
        strips_of(ClassPlan((0,), (), {}, strips))


@pytest.mark.long
def test_a_plan_in_strips_is_replayed():
    text = attention(4, 128, 32, 2)
    program = compiled(text, SMALL)
    plan = Plan.from_json(json.dumps(program.plan))
    again = compile_kernel(Kernel(text), program.device, Options(plan=json.loads(plan.to_json())))
    assert again.dfir == program.dfir
    assert f"in strips of {plan.classes[0].strips['rows']} rows" in plan_text(plan)


def test_more_effort_tries_more_steps_of_columns():
    graph = model(Kernel(attention(1, 2048, 128)).module, device("spyre"))
    plans = [search(graph, device("spyre"), Options(effort=effort)) for effort in (1, 2)]
    assert [plan.classes[0].strips["steps"] for plan in plans] == [8, 16]
    assert plans[1].predicted_cycles < plans[0].predicted_cycles


@pytest.mark.long
def test_many_steps_of_columns_are_right(monkeypatch):
    monkeypatch.setattr(cuts, "STEPS", cuts.MORE_STEPS)
    text = attention(1, 1024, 32)
    program = check(text, 4 * SMALL, program=compile_kernel(Kernel(text), small(4 * SMALL), Options()))
    assert [part["steps"] for part in strips(program)] == [16]


@pytest.mark.long
def test_exponentials_of_long_rows_take_the_place_of_the_scores():
    program = check(attention(1, 640, 16), 4 * SMALL)
    phases = program.plan["classes"][0]["phases"]
    softmax = [p for p in phases if p["kind"] == "vector" and p["computes"] != ["keep"]]
    last = [p for p in softmax if p["extents"] == softmax[-1]["extents"]]
    passes = {tuple(p["computes"]): p["passes"] for p in last}
    assert passes == {  # exponentials and their sum (the maximum comes with the scores); the weights
        ("linalg.generic", "linalg.reduce"): 1,
        ("linalg.generic",): 1,
    }


SEEN = "arith.cmpi sge, %row, %column : index"
CHOICE = "arith.select %seen, %scaled, %low"


def hidden(**changes: str):
    """What is found to be hidden in masked attention of 48 queries, with parts of the text changed."""
    text = attention(1, 48, 16)
    for old, new in ((SEEN, changes.get("seen", SEEN)), (CHOICE, changes.get("out", CHOICE))):
        assert old in text
        text = text.replace(old, new)
    text = text.replace("0xFF800000", changes.get("low", "0xFF800000"))
    graph = model(parse(text), device("spyre"), scalars={}, function=None)
    block, names = regular(graph.classes[0])
    rows = chain(block, names)
    assert rows is not None and rows.extent == 48 and len(rows.dims) == 8
    return triangle(block, names, rows)


@pytest.mark.parametrize(
    "seen, is_seen, columns",
    [
        ("sge, %row, %column", True, 10),
        ("sgt, %row, %column", True, 9),
        ("sle, %column, %row", True, 10),
        ("slt, %column, %row", True, 9),
        ("slt, %row, %column", False, 10),
        ("sgt, %column, %row", False, 10),
        ("sge, %column, %row", False, 9),
    ],
)
def test_a_mask_above_the_diagonal_hides_columns_however_it_is_written(seen, is_seen, columns):
    out = CHOICE if is_seen else "arith.select %seen, %low, %scaled"
    found = hidden(seen=f"arith.cmpi {seen} : index", out=out)
    assert found is not None and found.limit(10) == columns


def test_no_columns_are_hidden_where_something_depends_on_them():
    assert hidden(seen="arith.cmpi sle, %row, %column : index") is None  # below the diagonal
    assert hidden(seen="arith.cmpi ne, %row, %column : index") is None
    assert hidden(low="-1.0e+30") is None  # a row of nothing but lower scores would see them
