"""What the search finds for one room of the scratchpad and takes over for others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from benchmarks.kernels.attention import attention

from headrace.arch.presets import device
from headrace.runtime.kernel import Kernel
from headrace.schedule.model import model
from headrace.schedule.phases.items import flat_groups
from headrace.schedule.phases.shape import home, shape
from headrace.schedule.phases.strips import Strips
from headrace.schedule.replay import class_outline
from headrace.schedule.search.homes import kept_bytes, live_bytes
from headrace.schedule.search.phase import Tally, _work, phase_plan
from headrace.schedule.search.strategies import least_plans, plans
from headrace.schedule.search.strips import first_fitting
from headrace.schedule.search.vector import Limits

CHIP = device("spyre")


@cache
def part():
    return model(Kernel(attention(2, 512, 64)).module, CHIP).classes[0]


@cache
def outlined(strips: Strips):
    return class_outline(part(), CHIP, True, strips)


def taken(strips: Strips) -> int:
    """The bytes of the values between phases."""
    made = outlined(strips)
    return max(live_bytes(made, dict.fromkeys(made.homes, "lx"), strips.block > 0))


@pytest.mark.parametrize("rooms", [(65536, 30000, 12000), (12000, 30000, 65536)])
def test_the_plan_of_a_phase_is_the_best_that_fits_whatever_room_was_searched_before(rooms):
    made = outlined(Strips(64, 2, ahead=True))
    homes = {v: home(made.names.values[v], "lx") for v in made.homes}
    cores, tally, changed = len(part().cores), Tally(), 0
    for group in flat_groups(made.items):
        phase, found = shape(group, made, homes), []
        for room in rooms:
            limits = Limits(room, is_repeated=True)
            tried = [p for p in plans("p", phase, CHIP, cores, limits) if p is not None]
            tried = tried or [p for p in least_plans("p", phase, CHIP, cores, limits) if p is not None]
            if tried:
                found.append(phase_plan("p", phase, cores, CHIP, limits, tally))
                assert found[-1] == min(tried, key=_work)
        changed += any(plan != found[0] for plan in found)
    assert changed  # room mattered to some


@pytest.mark.parametrize(
    "strips", [Strips(8, 4), Strips(64, 4, ahead=True), Strips(32, 4, ahead=True, late=2, waiting=2)]
)
def test_what_strips_keep_takes_as_much_whatever_they_are(strips):
    keys, values = 2 * 512 * 64, 2 * 512 * 64
    assert keys + values <= kept_bytes(outlined(strips)) < taken(strips)
    assert kept_bytes(outlined(strips)) == kept_bytes(outlined(Strips(128, 4)))


@pytest.mark.parametrize("strips", [Strips(1, 4), Strips(1, 4, kept=False, block=64)])
def test_strips_are_the_tallest_whose_values_leave_room(strips):
    rows = (256, 192, 128, 64, 32, 16, 8)
    several = [replace(strips, rows=n) for n in rows]
    sizes = [taken(one) for one in several]
    assert sizes == sorted(sizes, reverse=True)
    for room in (sizes[0] + 1, *sizes, *((a + b) // 2 for a, b in zip(sizes, sizes[1:], strict=False))):
        first = next((n for n, size in enumerate(sizes) if size < room), len(several))
        assert {first_fitting(several, outlined, n, room) for n in range(len(several) + 1)} == {first}
