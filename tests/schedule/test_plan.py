"""Plans print, save, are edited and replayed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.kernels import kernel_text

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import print_module
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.schedule.build import build
from headrace.schedule.plan import Plan
from headrace.schedule.plan_text import plan_text, ranges
from headrace.schedule.search import Defaults, search
from tests.schedule import tilegraphs

GRAPHS = {
    "add": lambda: tilegraphs.add(64, 200, 4),
    "softmax": lambda: tilegraphs.softmax(64, 2048, 4),
    "gemm": lambda: tilegraphs.gemm(128, 256, 512, (2, 2)),
    "sum": lambda: tilegraphs.reduction((64, 96), (0,), "add"),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_plan_survives_json_and_builds_the_same_module(name):
    chip, graph = device("spyre"), GRAPHS[name]()
    plan = search(graph, chip)
    again = Plan.from_json(plan.to_json())
    assert again == Plan.from_json(again.to_json())
    assert again.plan_hash == plan.plan_hash
    assert print_module(build(graph, again, chip)) == print_module(build(graph, plan, chip))


@pytest.mark.parametrize("name", GRAPHS)
def test_search_is_deterministic(name):
    chip = device("spyre")
    assert search(GRAPHS[name](), chip).to_json() == search(GRAPHS[name](), chip).to_json()


def test_the_text_of_a_plan_names_phases_tiles_cost_and_what_was_beaten():
    text = plan_text(search(GRAPHS["gemm"](), device("spyre")))
    for part in ("contract on PT", "tile", "blocks depth", "cores 0-3", "over the bound", "beaten:"):
        assert part in text


def test_an_edited_tile_changes_the_hash_and_replays():
    chip, graph = device("spyre"), GRAPHS["softmax"]()
    data = json.loads(search(graph, chip).to_json())
    phase = data["classes"][0]["phases"][0]
    rows = next(d for d in phase["tile"] if d != phase["lane"])
    phase["tile"][rows] = 4
    edited = Plan.from_json(json.dumps(data))
    assert edited.plan_hash != search(graph, chip).plan_hash
    assert "size [4, 2048]" in print_module(build(graph, edited, chip))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"tile": {"d": 0}}, "dims"),
        ({"step": 0}, "steps of 0"),
        ({"unit": "ALU"}, "works on ALU"),
        ({"unit": "MNILU"}, "works on MNILU"),
        ({"copies": {"in": 0, "out": 1}}, "no copies"),
        ({"once": ("x",)}, "'x' in once is no operand"),
        ({"multicast": ("x",)}, "'x' in multicast is no operand"),
        ({"chunk": -1}, "chunks of -1"),
    ],
)
def test_an_edited_plan_that_cannot_run_says_what_is_wrong(change, message):
    chip, graph = device("spyre"), GRAPHS["add"]()
    plan = search(graph, chip)
    phase = replace(plan.classes[0].phases[0], **change)
    edited = replace(plan, classes=(replace(plan.classes[0], phases=(phase,)),))
    with pytest.raises(HeadraceError, match=message):
        build(graph, edited, chip)


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("softmax", {"step": 4}, "steps of 4 elements of rows that are reduced"),
        ("softmax", {"chunk": 64}, "rows come in one piece"),
        ("gemm", {"order": "sideways"}, "an order 'sideways'"),
        ("gemm", {"blocks": {"depth": 32}}, "no columns and no rows of its blocks"),
    ],
)
def test_an_edit_a_phase_has_no_use_for_is_explained(name, change, message):
    chip, graph = device("spyre"), GRAPHS[name]()
    plan = search(graph, chip)
    part = plan.classes[0]
    edited = replace(part, phases=(replace(part.phases[0], **change), *part.phases[1:]))
    with pytest.raises(HeadraceError, match=message):
        build(graph, replace(plan, classes=(edited, *plan.classes[1:])), chip)


def test_values_between_phases_live_in_one_of_two_places():
    chip = device("tiny")
    kernel = Kernel(kernel_text("attention", heads=1, length=8, depth=8))
    plan = kernel.compile(chip).plan
    value = next(iter(plan["classes"][0]["homes"]))
    plan["classes"][0]["homes"][value] = "cloud"
    with pytest.raises(HeadraceError, match=f"{value} lives in 'cloud'"):
        kernel.compile(chip, plan=plan)


@pytest.mark.parametrize(
    "place, value, message",
    [
        (("classes",), {}, "classes is {}, not a list"),
        (("classes", 0, "cores", 0), "a", r"classes\[0\].cores\[0\] is 'a', not an integer"),
        (("classes", 0, "phases", 0, "tile"), None, "tile is None, not an object"),
        (("classes", 0, "phases", 0, "copies", "in"), 1.5, "copies.in is 1.5, not an integer"),
        (("classes", 0, "phases", 0, "unit"), True, "unit is True, not text"),
        (("classes", 0, "phases", 0, "cycles"), float("nan"), "cycles is no number"),
        (("classes", 0, "phases", 0, "speed"), 3, r"phases\[0\].speed is unknown here"),
        (("fusing",), 1, "fusing is 1, not true or false"),
        (("predicted_cycles",), "few", "predicted_cycles is 'few', not a number"),
        (("alternatives",), [[]], r"alternatives\[0\] is \[\], not an object"),
    ],
)
def test_a_value_of_another_type_is_named_with_its_place(place, value, message):
    data = json.loads(search(GRAPHS["add"](), device("spyre")).to_json())
    *way, last = place
    at = data
    for step in way:
        at = at[step]
    at[last] = value
    with pytest.raises(HeadraceError, match=f"not a plan: .*{message}"):
        Plan.from_json(json.dumps(data))


@pytest.mark.parametrize("change", ["members", "rows", "tile", "apart"])
def test_only_weights_of_cores_side_by_side_are_read_as_one(change):
    chip, graph = device("spyre"), tilegraphs.gemm(2, 16 * 80, 4096, (1, 16))
    plan = search(graph, chip)
    phase = plan.classes[0].phases[0]
    (weights,) = phase.joined
    rows = next(name for name in phase.multicast if name != weights)
    changes = {
        "members": {"joined": {weights: 3}},
        "rows": {"joined": {rows: 2}},
        "tile": {"tile": {**phase.tile, phase.lane: 40}},
        "apart": {"multicast": ()},
    }
    edited = replace(plan, classes=(replace(plan.classes[0], phases=(replace(phase, **changes[change]),)),))
    with pytest.raises(HeadraceError, match="as one"):
        build(graph, edited, chip)


def test_a_plan_for_another_kernel_is_refused():
    chip = device("spyre")
    with pytest.raises(HeadraceError, match="does not fit softmax"):
        build(GRAPHS["softmax"](), search(GRAPHS["add"](), chip), chip)


@pytest.mark.parametrize("text", ["", "{}", '{"version": 9}', "[]"])
def test_text_that_is_no_plan_is_refused(text):
    with pytest.raises(HeadraceError):
        Plan.from_json(text)


def test_leaving_out_double_buffering_leaves_one_copy():
    plan = search(GRAPHS["softmax"](), device("spyre"), Defaults(frozenset({"schedule.double-buffering"})))
    assert plan.without == ("double-buffering",)
    assert set(plan.classes[0].phases[0].copies.values()) == {1}


def test_core_ranges_read_well():
    assert ranges((0, 1, 2, 5, 7, 8)) == "0-2,5,7-8"


def test_a_depth_edited_below_a_block_gets_partial_sums():
    """The product of ones by ones counts the depth, whatever the steps it is cut into."""
    kernel = Kernel(kernel_text("matmul", m=8, k=64, n=64, grid=(1, 2)))
    plan = kernel.compile("spyre").plan
    (phase,) = plan["classes"][0]["phases"]
    depth = max(d for d in phase["tile"] if d != phase["lane"])
    assert phase["blocks"]["depth"] > 8
    phase["tile"][depth] = 8
    ones = {"a": np.ones((8, 64), np.float16), "b": np.ones((64, 64), np.float16)}
    run = run_program(kernel.compile("spyre", plan=plan), ones, is_checked=True)
    assert not any(run.findings.values())
    assert (run.outputs["c"] == 64).all()
