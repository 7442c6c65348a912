"""Attention whose keys do not fit the scratchpad: columns of the scores come in blocks."""

from __future__ import annotations

import importlib
import json
from math import inf

import numpy as np
import pytest
from benchmarks.kernels.attention import attention
from benchmarks.schedule import measured

from headrace import ktir
from headrace.arch.presets import device
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference
from headrace.schedule.model import model
from headrace.schedule.phases.cuts import extent
from headrace.schedule.phases.softmax import softmax
from headrace.schedule.phases.statements import regular
from headrace.schedule.phases.strips import GRAIN, Strips
from headrace.schedule.plan import Plan
from headrace.schedule.plan_text import plan_text
from headrace.schedule.search.strips import even_rows
from headrace.schedule.search.timeline import Part, _Clock
from tests.differential.test_kernels import compare
from tests.schedule.softmax_kernels import Attention

search = importlib.import_module("headrace.schedule.search.search")


def small(name: str, size: int):
    """A device with a scratchpad of `size` bytes."""
    return device(name, {"lx.size_bytes": size})


def found(kernel: Kernel):
    """The softmax recognised in the first class of a kernel's statements."""
    graph = model(kernel.module, device("spyre"))
    return softmax(*regular(graph.classes[0]))


@pytest.fixture
def blocks(monkeypatch):
    """A function that has the search cut all softmaxes in strips and blocks of a size, whatever they cost."""

    def cut(rows: int, block: int, is_ahead: bool = False) -> None:
        def choices(part, *options):
            steps = 8 if extent(part).has_triangle else 1
            yield [[Strips(rows, steps, kept=False, ahead=is_ahead, block=block)]]

        monkeypatch.setattr(search, "choices", choices)
        monkeypatch.setattr(search, "scratch_cycles", lambda *given: inf)

    return cut


@pytest.mark.parametrize(
    "case,name,rows,block",
    [
        (Attention(32, 96), "spyre-1core", 16, 32),
        (Attention(7, 77, quotient="result", dtype="bf16"), "tiny", 4, 16),
        (Attention(33, 61, dtype="f32", mask="added", heads=2), "tiny", 8, 16),
        (Attention(16, 64, mask="causal", is_turned=False), "sample", 8, 64),
        (Attention(16, 80, is_late=True, quotient="result"), "spyre-1core", 8, 32),
        pytest.param(Attention(65, 130, 24, mask="causal", heads=2), "spyre", 32, 48, marks=pytest.mark.long),
        pytest.param(Attention(100, 31, 32, dtype="f32", heads=2), "sample", 32, 3, marks=pytest.mark.long),
    ],
)
def test_attention_in_blocks_is_what_it_is_over_whole_rows(case, name, rows, block, blocks):
    blocks(rows, block)
    run = compare(case.kernel(), small(name, 60032), is_checked=True)
    assert all(part["strips"]["block"] == block for part in run.program.plan["classes"])


@pytest.mark.parametrize("keys", [40, 64, 96, 150])
def test_scores_are_computed_a_block_ahead(keys, blocks):
    """Of one block and a rest, two, three, and four and a rest."""
    blocks(16, 32, is_ahead=True)
    case = Attention(32, keys, quotient="result", is_turned=keys % 64 > 0)
    run = compare(case.kernel(), small("spyre-1core", 60032), is_checked=True)
    (part,) = run.program.plan["classes"]
    assert part["strips"]["ahead"]


@pytest.mark.parametrize(
    "length,shift", [(48, 0), *(pytest.param(*each, marks=pytest.mark.long) for each in ((96, 0), (112, 20)))]
)
def test_scores_below_a_diagonal_are_computed_a_block_ahead(length, shift, blocks):
    """Blocks that no mask hides, then those it does: none, one, several in a loop, and a rest."""
    blocks(16, 16, is_ahead=True)
    case = Attention(length, length, mask="causal", shift=shift)
    run = compare(case.kernel(), small("spyre-1core", 60032), is_checked=True)
    (part,) = run.program.plan["classes"]
    assert part["strips"]["ahead"] and part["strips"]["block"] == 16


def test_products_are_made_beside_the_exponentials_of_the_block_before(blocks):
    blocks(128, 128, is_ahead=True)
    kernel, chip = Attention(128, 512, 64, quotient="result").kernel(), small("spyre", 524288)
    run = compare(kernel, chip, is_checked=True)
    beside = [p for p in run.program.plan["classes"][0]["phases"] if p["beside"]]
    assert beside and all(p["kind"] == "contract" for p in beside)
    blocks(128, 128)
    assert run.cycles < 0.9 * compare(kernel, small("spyre", 524160)).cycles


@pytest.mark.parametrize("length", [128, pytest.param(200, marks=pytest.mark.long)])
def test_blocks_end_where_a_mask_hides_all_that_follows(length, blocks):
    blocks(32, 64)
    run = compare(Kernel(attention(2, length, 16, 1)), small("spyre", 60032), is_checked=True)
    (part,) = run.program.plan["classes"]
    products = [p for p in part["phases"] if p["kind"] == "contract" and p["extents"].get("d2") == 16]
    assert sum(p["runs"] * p["extents"]["d0"] * p["extents"]["d1"] for p in products) <= 0.75 * length**2


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, np.finfo(np.float32).min])
def test_rows_of_infinities_are_what_they_are_over_whole_rows(value, blocks):
    """All of a row hidden, or one score that is larger than all others or no number."""
    blocks(8, 32)
    kernel = Attention(16, 96, mask="added").kernel()
    program = kernel.compile(small("spyre-1core", 60032))
    assert program.plan["classes"][0]["strips"]["block"]
    random = np.random.default_rng(0)
    arrays = {
        name: random.standard_normal((16 if name in "qy" else 96, 16)).astype(np.float16) for name in "qkvy"
    }
    arrays["bias"] = random.standard_normal((16, 96)).astype(np.float32)
    arrays["bias"][3], arrays["bias"][5, 50], arrays["bias"][7, :50] = value, value, value
    run, reference = run_program(program, arrays), run_reference(kernel, arrays)
    got, wanted = (outputs["y"].astype(np.float32) for outputs in (run.outputs, reference.outputs))
    np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=2e-3)


def test_a_softmax_whose_weights_are_read_by_others_is_none_to_walk_in_blocks():
    with ktir.kernel("weights") as k:
        q, keys = k.argument("q", (8, 16), "f16"), k.argument("k", (64, 16), "f16")
        values, y = k.argument("v", (64, 16), "f16"), k.argument("y", (8, 16), "f32")
        seen = k.argument("seen", (8, 64), "f32")
        scores = q[:, :].load() @ keys[:, :].load().T
        powers = ktir.exp(scores - scores.max(axis=1, keepdims=True))
        weights = powers / powers.sum(axis=1, keepdims=True)
        seen[:, :] = weights
        y[:, :] = weights.cast("f16") @ values[:, :].load()
    assert found(k.kernel) is None
    assert found(Attention(8, 64).kernel()) is not None
    late = found(Attention(8, 64, is_late=True).kernel())
    assert late is not None and late.scale == 0.25


@pytest.mark.parametrize(
    "kind", ["a maximum of something else", "a power of the weights", "a sum from 1 on", ""]
)
def test_what_is_no_softmax_is_not_walked_in_blocks(kind: str):
    with ktir.kernel("other") as k:
        q, keys = k.argument("q", (8, 16), "f16"), k.argument("k", (64, 16), "f16")
        values, y = k.argument("v", (64, 16), "f16"), k.argument("y", (8, 16), "f32")
        scores = q[:, :].load() @ keys[:, :].load().T
        top = (scores * 2.0 if kind == "a maximum of something else" else scores).max(axis=1, keepdims=True)
        powers = ktir.exp(scores - top)
        total = powers.sum(axis=1, keepdims=True)
        total = total + 1.0 if kind == "a sum from 1 on" else total
        weights = powers / total
        if kind == "a power of the weights":
            weights = weights * weights
        y[:, :] = weights.cast("f16") @ values[:, :].load()
    assert (found(k.kernel) is None) == bool(kind)


def test_a_plan_in_blocks_is_replayed(blocks):
    blocks(16, 32)
    kernel, chip = Attention(32, 128).kernel(), small("spyre-1core", 60160)
    program = kernel.compile(chip)
    plan = Plan.from_json(json.dumps(program.plan))
    again = compile_kernel(kernel, chip, Options(plan=json.loads(plan.to_json())))
    assert again.dfir == program.dfir
    assert f"in blocks of {plan.classes[0].strips['block']}" in plan_text(plan)


@pytest.mark.parametrize("keys", [32, 8])
def test_attention_over_long_keys_is_predicted_as_it_runs_and_stays_near_its_bound(keys):
    kernel = Kernel(attention(32, 2048, 128, keys))
    found = measured(kernel, small("spyre", 524288))
    assert found.ratio <= 2.5
    assert abs(found.program.plan["predicted_cycles"] / found.cycles - 1) <= 0.05


@pytest.mark.parametrize("extent", [1, 64, 100, 2048, 8192])
def test_strips_share_out_rows_evenly(extent):
    """None taller than another could be lower with as many strips."""
    rows = even_rows(extent)
    assert rows == sorted(set(rows), reverse=True) and all(0 < n < extent and n <= 1024 for n in rows)
    assert all(-(-extent // (n - GRAIN)) > -(-extent // n) for n in rows if n > GRAIN)


def test_a_load_waits_for_the_readers_of_what_was_there_and_a_store_for_the_vector_unit():
    clock = _Clock()
    load = Part("load", load=100, work=0, store=0, ahead=1, fills="x")
    work = Part("work", load=0, work=300, store=0, ahead=1, reads=("x",))
    for part in (load, work, load, work):
        clock.run(part, 10)
    assert clock.work == (100 + 10 + 300) + (100 + 10 + 300)
    clock.run(Part("leave", load=0, work=20, store=80, ahead=1, held=0.5), 10)
    assert clock.work == 820 + 40 and clock.end() == 820 + 80
