"""From effort 2 on, phases are changed one after the other, as long as the machine takes less time."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
from benchmarks.schedule import timed_cycles
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel
from headrace.schedule.plan import ClassPlan, PhasePlan, Plan
from headrace.schedule.search.variants import fastest
from tests.differential.chains import chain
from tests.differential.modules import module


def phase(name: str, tile: int, cycles: float = 1.0) -> PhasePlan:
    """A phase over 64 elements, `tile` of them at a time."""
    return PhasePlan(name, "vector", (), "sfu", "x", 8, {"x": tile}, {"x": 64}, cycles=cycles)


def plan_of(*phases: PhasePlan) -> Plan:
    return Plan("k", "d", True, (ClassPlan((0,), phases, {}),))


def tiles(plan: Plan) -> dict[str, int]:
    return {p.name: p.tile["x"] for part in plan.classes for p in part.phases}


def summed(plan: Plan) -> float:
    """Cycles that every phase adds to by itself, fewer for larger tiles."""
    return sum(64.0 / tile for tile in tiles(plan).values())


def test_changes_of_several_phases_that_each_gain_are_taken_together() -> None:
    best = plan_of(phase("p0", 8), phase("p1", 8))
    found = fastest(best, [phase("p0", 16), phase("p1", 32)], summed, 4)
    assert tiles(found) == {"p0": 16, "p1": 32}
    assert [a.simulated_cycles for a in found.alternatives] == [8 + 4, 4 + 2]


def test_a_change_that_loses_is_taken_back() -> None:
    best = plan_of(phase("p0", 16), phase("p1", 8))
    found = fastest(best, [phase("p0", 8), phase("p1", 16)], summed, 4)
    assert tiles(found) == {"p0": 16, "p1": 16}


def test_every_phase_gets_a_turn_the_longest_first() -> None:
    best = plan_of(phase("p0", 8), phase("p1", 8), phase("p2", 8))
    others = [
        *(phase("p0", tile, 10.0) for tile in (16, 32, 64)),
        *(phase("p1", tile, 30.0) for tile in (16, 32, 64)),
        phase("p2", 16, 20.0),
    ]
    found = fastest(best, others, summed, 3)
    assert [a.what[:2] for a in found.alternatives] == ["p1", "p2", "p0"]
    assert tiles(found) == {"p0": 16, "p1": 16, "p2": 16} and found.simulated == 4


def test_runners_up_of_another_outline_cost_no_try() -> None:
    best = plan_of(phase("p0", 8))
    strange = replace(phase("p0", 32), extents={"x": 65})
    found = fastest(best, [strange, phase("p9", 16), phase("p0", 16)], summed, 1)
    assert tiles(found) == {"p0": 16} and found.simulated == 2


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([8, 16, 32, 64])), max_size=8),
    st.dictionaries(st.tuples(*[st.sampled_from([8, 16, 32, 64])] * 3), st.integers(1, 99)),
    st.integers(0, 8),
)
def test_whatever_the_machine_says_the_result_is_the_fastest_plan_that_was_simulated(
    changes: list[tuple[int, int]], said: dict[tuple[int, ...], int], tries: int
) -> None:
    best = plan_of(*(phase(f"p{n}", 8) for n in range(3)))
    seen = []

    def simulate(plan: Plan) -> float:
        at = tuple(tiles(plan).values())
        seen.append(float(said.get(at, prod(at))))
        return seen[-1]

    found = fastest(best, [phase(f"p{n}", tile) for n, tile in changes], simulate, tries)
    assert len(seen) == found.simulated <= 1 + tries
    least = min(seen)
    assert simulate(found) == least


def cycles(text: str, device: str, effort: int) -> int:
    kernel = Kernel(text)
    return timed_cycles(kernel.compile(device, scalars=default_scalars(kernel, {}), effort=effort))


def test_a_later_phase_of_a_kernel_gets_its_turn() -> None:
    text, kinds = chain(0)
    assert len(kinds) > 4
    assert cycles(text, "tiny", 2) < cycles(text, "tiny", 1)


SEEDS = [*range(1, 4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 16))]


@pytest.mark.parametrize("seed", SEEDS)
def test_effort_two_is_never_slower_than_effort_one(seed: int) -> None:
    for text in (chain(seed)[0], *([module(seed)[0]] if seed % 2 == 0 else [])):
        assert cycles(text, "tiny", 2) <= cycles(text, "tiny", 1)


@pytest.mark.long
def test_phases_of_kernels_in_a_row_are_chosen_together() -> None:
    """Several phases gain by themselves; one change alone saves a sixth of what they save together."""
    text, _ = module(0, 8)
    assert cycles(text, "spyre", 2) < 0.9 * cycles(text, "spyre", 1)
