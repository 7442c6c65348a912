"""The engine against a plain simulator that steps message by message and shares memory chunk by chunk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from headrace.machine.timing import time
from tests.machine.reference_engine import reference_cycles
from tests.machine.test_timing_random import Plan, plans, program

SLACK = 3
"""Cycles that the chunks of memory may put a short program off."""


def agree(plan: Plan) -> None:
    chip, image = program(plan)
    found, want = time(image, {}, chip.device).cycles, reference_cycles(image, chip.device)
    assert abs(found - want) <= max(0.01 * want, SLACK), (found, want)


@settings(max_examples=30, deadline=None)
@given(plans)
def test_the_engine_is_within_one_percent_of_the_plain_simulator(plan: Plan) -> None:
    agree(plan)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(plans)
def test_the_engine_is_within_one_percent_of_the_plain_simulator_on_many_programs(plan: Plan) -> None:
    agree(plan)
