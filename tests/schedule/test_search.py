"""The search: deterministic, under capacity, honest about what it saw."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.kernels import kernel_text, single, suite_text
from benchmarks.schedule import timed_cycles

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel, load
from headrace.schedule.graph import Linear, PerCore
from headrace.schedule.model import model
from headrace.schedule.phases.multicast import joinable
from headrace.schedule.search import Defaults, search
from headrace.schedule.search.contract import taper
from headrace.schedule.search.pricing import rounding
from tests.kernels.listed import FOLDER
from tests.schedule import tilegraphs


@pytest.mark.parametrize("name", ["spyre", "tiny", "sample"])
def test_every_phase_fits_the_scratchpad(name):
    chip = device(name)
    for graph in (tilegraphs.gemm(128, 256, 512, (1, 2)), tilegraphs.softmax(64, 2048, 2)):
        for part in search(graph, chip).classes:
            assert all(0 < p.lx_bytes <= chip.memory("lx").size_bytes for p in part.phases)


def test_candidates_that_do_not_fit_are_counted_as_pruned():
    plan = search(tilegraphs.gemm(512, 512, 4096, (1, 2)), device("tiny"))
    assert plan.pruned > 0 and plan.seen > plan.pruned


def test_operands_several_cores_share_are_multicast_unless_left_out():
    chip, graph = device("spyre"), tilegraphs.gemm(256, 256, 256, (2, 2))
    assert search(graph, chip).classes[0].phases[0].multicast
    assert not search(graph, chip, Defaults(frozenset({"multicast"}))).classes[0].phases[0].multicast


def test_predicted_cycles_are_not_below_the_bound():
    for graph in (tilegraphs.gemm(1024, 1024, 1024, (4, 8)), tilegraphs.add(4096, 1024, 32)):
        plan = search(graph, device("spyre"))
        assert plan.predicted_cycles >= plan.bound_cycles


def test_every_core_reads_the_gathered_rows_of_its_own():
    text = (Path(__file__).parents[2] / "examples" / "kernels" / "embedding.mlir").read_text()
    plan = search(model(parse(text), device("spyre")), device("spyre"))
    (phase,) = plan.classes[0].phases
    assert not phase.multicast and plan.predicted_cycles >= plan.bound_cycles


def test_what_stays_in_the_scratchpad_waits_for_no_device_memory():
    program = load(FOLDER / "ring_shift.mlir", "ring_shift").compile("spyre")
    assert program.plan["predicted_cycles"] == pytest.approx(timed_cycles(program), rel=0.5)


def test_partial_sums_take_the_time_of_the_vector_unit_they_pass_through():
    chip = device("tpuv3")  # its matrix unit makes a row of 128 sums a cycle, its vector unit passes 64 on
    graph = model(parse(single.gemm(512, 512, 512)), chip)
    (phase,) = search(graph, chip).classes[0].phases
    assert phase.parts["PT"] >= 512 * 512 / 64 / chip.corelets * (512 / phase.blocks["depth"])


@pytest.mark.long
def test_a_panel_is_predicted_as_it_runs():
    kernel = Kernel(suite_text("gemm_2048"))
    program = kernel.compile("spyre", scalars=default_scalars(kernel, {}))
    assert program.plan["classes"][0]["phases"][0]["taper"]
    assert program.plan["predicted_cycles"] == pytest.approx(timed_cycles(program), rel=0.02)


@pytest.mark.parametrize("name", ["gemm_2048x12800x4096", pytest.param("gemm_4096", marks=pytest.mark.long)])
def test_results_that_leave_one_tile_behind_are_predicted_as_they_run(name):
    kernel = Kernel(suite_text(name))
    program = kernel.compile("spyre", scalars=default_scalars(kernel, {}))
    assert program.plan["classes"][0]["phases"][0]["copies"]["waiting"]
    cycles = timed_cycles(program)
    assert program.plan["predicted_cycles"] == pytest.approx(cycles, rel=0.03)
    without = kernel.compile("spyre", scalars=default_scalars(kernel, {}), without=("pacing",))
    assert "waiting" not in without.plan["classes"][0]["phases"][0]["copies"]
    assert cycles < 0.97 * timed_cycles(without)


@pytest.mark.parametrize("name", ["gemm_1024", "gemm_4096", "gemm_2048x12800x4096"])
def test_a_plan_for_half_the_bandwidth_is_predicted_as_it_runs_and_beats_the_one_for_all_of_it(name):
    kernel, chip = Kernel(suite_text(name)), device("spyre", {"hbm.sustained_gbps": 75.0})
    program = kernel.compile(chip)
    cycles = timed_cycles(program)
    assert program.plan["predicted_cycles"] == pytest.approx(cycles, rel=0.015)
    usual = kernel.compile(device("spyre")).plan
    assert cycles <= timed_cycles(kernel.compile(chip, plan={**usual, "device": chip.name}))


def test_simulation_picks_the_fastest_variant_and_lists_all():
    graph, chip = tilegraphs.gemm(256, 256, 256, (2, 2)), device("spyre")
    first = search(graph, chip)

    def cycles(plan):
        return 1.0 if plan.plan_hash != first.plan_hash else 2.0

    plan = search(graph, chip, Defaults(effort=2), simulate=cycles)
    assert plan.plan_hash != first.plan_hash
    assert plan.simulated == 1 + sum(a.simulated_cycles is not None for a in plan.alternatives)


def test_low_effort_never_simulates():
    def fail(plan):
        raise AssertionError

    assert (
        search(tilegraphs.add(64, 64, 2), device("spyre"), Defaults(effort=1), simulate=fail).simulated == 0
    )


def test_a_row_no_scratchpad_can_hold_still_gets_a_plan():
    plan = search(tilegraphs.softmax(2, 400_000, 1), device("tiny"))
    assert {p.kind for p in plan.classes[0].phases} == {"column", "vector"}


def test_a_scratchpad_too_small_for_one_step_is_a_typed_error():
    chip = device("tiny", {"lx.size_bytes": 256})
    with pytest.raises(HeadraceError, match="not even one step"):
        search(tilegraphs.gemm(64, 64, 64, (1, 1)), chip)


@pytest.mark.parametrize("name", ["rmsnorm", "layernorm"])
def test_a_vector_widened_after_the_statistics_joins_their_phase(name):
    kernel = Kernel(kernel_text(name, rows=64, columns=2048))
    plan = kernel.compile("spyre", scalars=default_scalars(kernel, {})).plan
    assert [len(part["phases"]) for part in plan["classes"]] == [1]


def test_runs_that_begin_and_end_within_a_granule_touch_more_than_they_want():
    aligned, halves = Linear(), Linear(PerCore((0, 400)))
    assert rounding(aligned, 2, 400, 400, 2, 64) == 832 / 800
    assert rounding(halves, 2, 400, 400, 2, 64) == 832 / 800
    assert rounding(halves, 2, 400, 128, 2, 64) == (832 + 1024) / 1600
    assert rounding(aligned, 1, 400, 128, 2, 1) == 1


@pytest.mark.parametrize("width, together", [(64, 1), (400, 2), (24, 4), (23, 1)])
def test_the_fewest_neighbours_whose_rows_together_fill_granules_read_as_one(width, together):
    chip, side_by_side = device("spyre"), Linear(PerCore(tuple(range(0, 8 * width, width))))
    assert joinable(side_by_side, 8, width, 2, chip) == together
    apart = Linear(PerCore(tuple(c * 4096 + c % 2 for c in range(8))))
    assert joinable(apart, 8, width, 2, chip) == 1


def test_neighbouring_cores_read_weights_as_one_where_that_saves_traffic():
    chip, graph = device("spyre"), tilegraphs.gemm(2, 16 * 80, 4096, (1, 16))
    (phase,) = search(graph, chip).classes[0].phases
    assert list(phase.joined.values()) == [2] and set(phase.joined) < set(phase.multicast)
    (alone,) = search(graph, chip, Defaults(frozenset({"multicast"}))).classes[0].phases
    assert not alone.joined and alone.cycles > phase.cycles


@pytest.mark.parametrize("rows", [512, 4096, 100])
def test_a_taper_covers_all_rows_and_ends_small(rows):
    for first, body in ((64, 64), (96, 64), (64, 32)):
        found = taper(rows, first, body, 16)
        assert sum(found) == rows and found[0] == first and min(found) > 0
        assert found[-1] <= max(16, rows - first)
