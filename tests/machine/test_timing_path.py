"""The critical path: it covers the run without gaps, and names what the end waited for."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings

from headrace.machine.image import Image, Index, Node
from headrace.machine.timing import Link, Timing, stretches, time
from tests.machine.test_timing import LATENCY, RATE, SETUP
from tests.machine.test_timing_random import Plan, plans, program, same
from tests.machine.timing_programs import SIGNAL, Body, Chip, machine


def recorded(image: Image, chip: Chip, is_folding: bool = True) -> Timing:
    return time(image, {}, chip.device, is_recorded=True, is_folding=is_folding)


def covers(found: Timing) -> bool:
    ends = [0, *(link.end for link in found.path)]
    starts = [*(link.start for link in found.path), found.cycles]
    return ends == starts and all(link.cycles > 0 for link in found.path)


@settings(max_examples=100, deadline=None)
@given(plans)
def test_the_path_of_any_program_covers_the_run_and_recording_changes_nothing(plan: Plan) -> None:
    chip, image = program(plan)
    found = recorded(image, chip)
    assert same(found, time(image, {}, chip.device))
    assert covers(found)
    assert covers(recorded(image, chip, is_folding=False))


@settings(max_examples=40, deadline=None)
@given(plans)
def test_stretches_hold_every_link_once(plan: Plan) -> None:
    chip, image = program(plan)
    found = recorded(image, chip)
    written = stretches(found.path)
    assert all(one.end == other.start for one, other in pairwise(written))
    assert sum(cycles for one in written for _, cycles in one.pattern) == found.cycles
    assert sum(one.times * len(one.pattern) for one in written) == len(found.path)


def by_cause(path: tuple[Link, ...]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for link in path:
        found[link.kind, link.cause] += link.cycles
    return found


def test_a_load_is_set_up_data_and_latency() -> None:
    chip = Chip(machine(1))
    chip.program("MNILU", lambda b: [b.load(1600)])
    found = recorded(chip.image(), chip)
    assert [(link.cause, link.cycles) for link in found.path] == [
        ("setup", SETUP),
        ("transfer", 1600 // 1000 + 1),
        ("bandwidth", 1600 // RATE - 2),
        ("latency", LATENCY),
    ]


def test_two_units_that_take_turns_are_both_on_the_path_with_the_signals_between() -> None:
    """A rendezvous a tile: load, signal, read, signal, and nothing overlaps."""
    tiles, size, rows = 5, 1600, 10
    chip = Chip(machine(1, **{"l1lu->sfu.queue_depth": 1000, "sfu->l1su.queue_depth": 1000}))

    def loader(b: Body) -> list[Node]:
        return [b.loop(tiles, b.load(size), b.send("L1LU"), b.wait("L1LU"))]

    def reader(b: Body) -> list[Node]:
        return [b.loop(tiles, b.wait("MNILU"), b.read(rows, 64), b.send("MNILU"))]

    chip.program("MNILU", loader)
    chip.program("L1LU", reader)
    chip.program("SFU", lambda b: [b.vector(tiles * rows, 64)])
    chip.program("L1SU", lambda b: [b.write(tiles * rows, 64)])
    found = recorded(chip.image(), chip)
    assert covers(found)
    spent = by_cause(found.path)
    reading = rows * 128 // 32
    assert spent["MNILU", "signal"] == tiles * SIGNAL
    assert spent["L1LU", "signal"] == (tiles - 1) * SIGNAL
    assert spent["L1LU", "busy"] >= (tiles - 1) * reading
    moved = spent["MNILU", "transfer"] + spent["MNILU", "bandwidth"]
    assert moved == tiles * size // RATE
    assert spent["MNILU", "latency"] == tiles * LATENCY
    assert any(one.times >= tiles - 2 for one in stretches(found.path))


def test_a_slow_consumer_holds_the_run_and_not_the_memory() -> None:
    chip = Chip(machine(1))
    chip.program("L1LU", lambda b: [b.read(200, 64)])
    chip.program("SFU", lambda b: [b.vector(200, 64, ops=9)])
    chip.program("L1SU", lambda b: [b.write(200, 64)])
    found = recorded(chip.image(), chip)
    assert by_cause(found.path)["SFU", "busy"] > 0.95 * found.cycles


def test_members_of_a_group_wait_for_the_last_of_them() -> None:
    chip = Chip(machine(2, ddr__multicast__sync_cycles=4), 2)
    number = chip.group(0, 1)
    chip.program("MNILU", lambda b: [b.load(1600, Index(number))], [0])
    late = lambda b: [b.load(160), b.send("MNILU", waits=True), b.load(1600, Index(number))]  # noqa: E731
    chip.program("MNILU", late, [1])
    found = recorded(chip.image(), chip)
    assert {link.unit for link in found.path if link.end < 60} == {"C1-mnilu-CL0"}
    assert by_cause(found.path)["MNILU", "meeting"] == 4


def test_schedules_follow_each_other_on_the_path() -> None:
    from dataclasses import replace

    chip = Chip(machine(1))
    chip.program("MNILU", lambda b: [b.load(1600)])
    image = chip.image()
    twice = replace(image, schedules=image.schedules * 2)
    found = recorded(twice, chip)
    assert covers(found)
    assert found.cycles == 2 * recorded(image, chip).cycles
