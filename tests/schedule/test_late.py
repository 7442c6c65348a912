"""Results of early strips that wait in the scratchpad and are stored some steps later."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys

import pytest
from benchmarks.kernels.attention import attention
from benchmarks.schedule import timed_cycles

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.schedule.lower.order import conflicts
from tests.schedule.test_strips import check, strips

SETTINGS = {"lx.size_bytes": 1 << 20}
ROOMY = device("spyre", SETTINGS)
"""A scratchpad in which the results of three steps of 128 rows find a place beside keys and values."""


def test_results_of_early_steps_leave_during_later_ones():
    text = attention(2, 1024, 64, 1)
    program = check(text, program=compile_kernel(Kernel(text), ROOMY, Options()))
    assert strips(program)[0]["late"] == 3
    # eight steps of two strips: those of four or five steps wait, two strips of each leave in one later step
    steps = strips(program)[0]["waiting"]
    assert steps in (4, 5)
    waiting = re.findall(r"memref\.alloc\(\) : memref<(\d+)x64xf16", program.ktdf)
    assert waiting.count("128") == steps
    assert program.ktdf.count('"pace"') == 2 * steps


def test_one_step_less_waits_where_loads_leave_room_for_its_stores():
    """Compared by prediction: with a device memory twice as fast, computing takes longer than loading."""
    text = attention(8, 1024, 64, 1)
    fast = {**SETTINGS, "hbm.sustained_gbps": 600.0}
    found = strips(compile_kernel(Kernel(text), device("spyre", fast), Options()))[0]
    assert (found["late"], found["waiting"]) == (3, 4)


@pytest.mark.long
@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("length", [768, 1152, 1536])
def test_late_results_are_right_whatever_the_steps(length, width):
    text = attention(1, length, width)
    check(text, program=compile_kernel(Kernel(text), device("spyre", {"lx.size_bytes": 3 << 19}), Options()))


def test_loads_that_nothing_holds_up_are_worth_more_than_stores_at_once():
    text = attention(32, 1024, 64, 8)
    late = compile_kernel(Kernel(text), ROOMY, Options())
    at_once = compile_kernel(Kernel(text), ROOMY, Options(without=("pacing",)))
    assert (strips(late)[0]["late"], strips(at_once)[0]["late"]) == (3, 0)
    assert timed_cycles(late) < timed_cycles(at_once)


def test_a_plan_says_by_how_many_steps_results_are_late():
    text = attention(1, 1024, 64)
    plan = json.loads(json.dumps(compile_kernel(Kernel(text), ROOMY, Options()).plan))
    plan["classes"][0]["strips"]["late"] = -1
    with pytest.raises(HeadraceError, match="strips of"):
        compile_kernel(Kernel(text), ROOMY, Options(plan=plan))


@pytest.mark.parametrize("text", [attention(1, 1024, 64), attention(2, 256, 128, 1)])
def test_boxes_of_a_stage_seen_as_one_need_the_same_signals(text, monkeypatch):
    joined = compile_kernel(Kernel(text), ROOMY, Options()).dfir
    module = importlib.import_module(conflicts.__name__)
    monkeypatch.setattr(module, "joined", lambda found: [(access, [access]) for access in found])
    monkeypatch.setattr(module, "is_far", lambda one, other: False)
    assert compile_kernel(Kernel(text), ROOMY, Options()).dfir == joined


def in_a_row(first: str, **renamed: str) -> str:
    """A module of a kernel and the same again under other names of arguments."""
    names = re.compile(rf"%({'|'.join(renamed)})\b")
    body = first[first.index("func.func") : first.rindex("}")]
    second = names.sub(lambda match: f"%{renamed[match[1]]}", body).replace("@attention", "@second")
    return first[: first.rindex("}")] + second + "}"


@pytest.mark.parametrize("renamed", [{"q": "y", "y": "z"}, {"q": "p"}, {"q": "p", "y": "z"}])
def test_nothing_is_stored_behind_what_reads_or_overwrites_it(renamed):
    """The second kernel reads the results of the first, overwrites them, or does neither."""
    text = in_a_row(attention(1, 1024, 64), **renamed)
    check(text, program=compile_kernel(Kernel(text), ROOMY, Options()))


def test_another_order_of_sets_gives_the_same_program():
    code = (
        "from tests.schedule.test_late import ROOMY, Kernel, Options, attention, compile_kernel;"
        "print(compile_kernel(Kernel(attention(1, 512, 64)), ROOMY, Options()).dfir)"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1
