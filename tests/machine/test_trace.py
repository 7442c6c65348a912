"""Chrome traces: slices that never overlap, counters of their own, data-dependent programs too."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError, Location
from headrace.machine import trace
from headrace.machine.image import Image, Index, Loop, Node, Symbol, VectorOp
from headrace.machine.occupancy import occupancy
from headrace.machine.timing import engine, time
from headrace.machine.trace import RATES, chrome_trace
from headrace.runtime.kernel import load
from tests.machine.timing_programs import Body, Chip, machine


def streamed(tiles: int = 12) -> tuple[Chip, Image]:
    chip = Chip(machine(2), 2)

    def loader(b: Body) -> list[Node]:
        return [b.loop(tiles, b.wait("L1LU"), b.load(1024), b.send("L1LU")), b.wait("L1LU"), b.wait("L1LU")]

    def reader(b: Body) -> list[Node]:
        turn = b.loop(tiles, b.wait("MNILU"), b.read(8, 64), b.send("MNILU"))
        return [b.send("MNILU"), b.send("MNILU"), turn]

    chip.program("MNILU", loader)
    chip.program("L1LU", reader)
    chip.program("SFU", lambda b: [b.vector(8 * tiles, 64)])
    chip.program("L1SU", lambda b: [b.write(8 * tiles, 64), b.send("MNISU")])
    chip.program("MNISU", lambda b: [b.wait("L1SU"), b.store(1024)])
    return chip, chip.image()


def test_slices_of_a_track_follow_each_other() -> None:
    chip, image = streamed()
    traced = time(image, {}, chip.device, is_traced=True)
    written = json.loads(json.dumps(chrome_trace(traced, image, chip.device)))
    events = written["traceEvents"]
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["dur"]))
    assert len(tracks) == 5
    end = traced.cycles / chip.device.clock_mhz
    for slices in tracks.values():
        assert all(a + length <= b + 1e-9 for (a, length), (b, _) in pairwise(slices))
        assert all(length > 0 and start + length <= end + 1e-9 for start, length in slices)
    loads = [event["name"] for event in events if event["ph"] == "X" and event["cat"] == "load"]
    assert loads == [f"load @0 [{tile}]" for tile in range(12)]


def test_counters_stand_apart_and_end_at_zero() -> None:
    chip, image = streamed()
    traced = time(image, {}, chip.device, is_traced=True)
    events = chrome_trace(traced, image, chip.device)["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    assert {event["pid"] for event in counters} == {0}
    counters = [event for event in counters if event["name"] == "transfers in flight"]
    assert max(event["args"]["load"] for event in counters) == 2
    assert counters[-1]["args"] == {"load": 0, "store": 0, "pull": 0}
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"counters", "core 0 (and 1 alike)"}


def integral(events: list[dict[str, Any]], counter: str, part: str, clock_mhz: float) -> float:
    points = [(e["ts"] * clock_mhz, e["args"][part]) for e in events if e["name"] == counter]
    return sum(level * (after - now) for (now, level), (after, _) in pairwise(points))


def test_rates_add_up_to_the_bytes_that_move() -> None:
    chip, image = streamed()
    traced = time(image, {}, chip.device, is_traced=True)
    events = chrome_trace(traced, image, chip.device)["traceEvents"]
    for counter, parts in RATES.items():
        for part, name in parts.items():
            if traced.bytes[name]:
                moved = integral(events, counter, part, chip.device.clock_mhz)
                assert moved == pytest.approx(traced.bytes[name], rel=0.01)


def test_a_multicast_counts_once_in_the_rate_of_device_memory() -> None:
    chip = Chip(machine(2), 2)
    number = chip.group(0, 1)
    chip.program("MNILU", lambda b: [b.load(1600, Index(number))])
    for is_folding in (True, False):
        traced = time(chip.image(), {}, chip.device, is_traced=True, is_folding=is_folding)
        assert traced.bytes["ddr_read"] == 1600
        assert sum(n for one in traced.intervals for name, n in one.bytes if name == "ddr_read") == 1600


def test_queues_fill_as_far_as_they_are_deep_and_end_empty() -> None:
    chip = Chip(machine(1, **{"l1lu->sfu.queue_depth": 3, "sfu->l1su.queue_depth": 1000}))
    chip.program("L1LU", lambda b: [b.read(50, 64)])
    chip.program("SFU", lambda b: [b.vector(50, 64, ops=9)])
    chip.program("L1SU", lambda b: [b.write(50, 64)])
    traced = time(chip.image(), {}, chip.device, is_traced=True)
    fills = {(one.sender, one.receiver): one.levels for one in traced.fills}
    levels = [level for _, level in fills["C0-l1lu-CL0", "C0-sfu-CL0"]]
    assert max(levels) == 3 and min(levels) >= 0 and levels[-1] == 0
    events = chrome_trace(traced, chip.image(), chip.device)["traceEvents"]
    shown = [e["args"]["messages"] for e in events if e["name"] == "queue C0-l1lu-CL0 to C0-sfu-CL0"]
    assert max(shown) == 3


def test_a_scratchpad_is_in_use_from_its_first_write_to_its_last_read() -> None:
    chip = Chip(machine(1))
    chip.program("MNILU", lambda b: [b.load(1024), b.send("L1LU"), b.wait("L1LU"), b.load(512)])
    chip.program("L1LU", lambda b: [b.wait("MNILU"), b.read(8, 64), b.send("MNILU")])
    chip.program("SFU", lambda b: [b.loop(8, b.receive(64))])
    image = chip.image()
    assert occupancy(time(image, {}, chip.device, is_traced=True), image, {}, 0) is None, "two loads nowhere"
    (loader, *rest) = image.schedules[0].programs
    first, *others, second = loader.body
    second = replace(second, where=Location("t", 9))
    program = replace(loader, body=(first, *others, second))
    image = replace(image, schedules=(replace(image.schedules[0], programs=(program, *rest)),))
    traced = time(image, {}, chip.device, is_traced=True)
    loads = [one for one in traced.intervals if one.label == "load"]
    (read,) = [one for one in traced.intervals if one.label == "read"]
    found = occupancy(traced, image, {}, 0)
    assert found == [
        (loads[0].start, 1024),
        (read.end, 0),
        (loads[1].start, 512),
        (loads[1].end, 0),
    ]


@pytest.mark.parametrize("name", ["softmax", "matmul"])
def test_a_trace_counts_the_bytes_in_use(name: str) -> None:
    file = Path(__file__).resolve().parents[2] / "examples" / "kernels" / f"{name}.mlir"
    program = load(file).compile("spyre").reparsed()
    traced = time(program.image, {a.name: 0 for a in program.arguments}, program.device, is_traced=True)
    events = chrome_trace(traced, program.image, program.device)["traceEvents"]
    used = [e["args"]["bytes"] for e in events if e["name"] == "scratchpad of core 0, bytes in use"]
    assert 0 < max(used) <= traced.lx_peak_bytes and min(used) >= 0 and used[-1] == 0


def test_a_long_run_does_without_its_queues_and_keeps_its_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    chip, image = streamed(40)
    whole = time(image, {}, chip.device, is_traced=True)
    monkeypatch.setattr(engine, "MESSAGES", 50)
    short = time(image, {}, chip.device, is_traced=True)
    assert whole.fills and short.fills == ()
    assert (short.cycles, short.units, short.intervals) == (whole.cycles, whole.units, whole.intervals)


def test_every_core_is_shown_when_asked_for() -> None:
    chip, image = streamed()
    traced = time(image, {}, chip.device, is_traced=True)
    few, every = (chrome_trace(traced, image, chip.device, is_whole) for is_whole in (False, True))
    assert few["otherData"]["cores_shown"] == [0]
    assert every["otherData"]["cores_shown"] == [0, 1]

    def slices(trace: dict[str, Any], core: int) -> list[tuple[str, float, float]]:
        found = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == core + 1]
        return [(e["name"], e["ts"], e["dur"]) for e in found]

    assert slices(few, 0) == slices(every, 0) == slices(every, 1)


def test_a_trace_of_many_different_cores_shows_as_many_as_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chip = Chip(machine(4), 4)
    for core in range(4):
        chip.program("MNILU", lambda b, core=core: [b.loop(10 + core, b.load(64))], [core])
    traced = time(chip.image(), {}, chip.device, is_traced=True)
    monkeypatch.setattr(trace, "EVENTS", 25)
    events = chrome_trace(traced, chip.image(), chip.device)
    assert events["otherData"]["cores_shown"] == [0, 1]
    monkeypatch.setattr(trace, "EVENTS", 5)
    events = chrome_trace(traced, chip.image(), chip.device)
    names = [e["name"] for e in events["traceEvents"] if e["ph"] == "X"]
    assert len(names) == 5 and names[0] == "load and 1 more @0 [0]"


def test_a_trace_does_not_change_the_time() -> None:
    chip, image = streamed(40)
    traced, plain = time(image, {}, chip.device, is_traced=True), time(image, {}, chip.device)
    assert (traced.cycles, traced.units, traced.bytes) == (plain.cycles, plain.units, plain.bytes)
    assert plain.intervals == ()


def data_dependent(chip: Chip) -> Image:
    def body(b: Body) -> list[Node]:
        slot = b.slot()
        loop = Loop(
            7, Symbol(slot, "iv", "i"), Index(0), Index(0), Index(1), (b.load(1600),), is_data_dependent=True
        )
        return [loop]

    chip.program("MNILU", body)
    return chip.image()


def test_loops_over_loaded_counts_need_the_counts_of_a_run() -> None:
    chip = Chip(machine(2), 2)
    image = data_dependent(chip)
    with pytest.raises(HeadraceError, match="control flow depends on loaded values"):
        time(image, {}, chip.device)
    numbers = [chip.number("MNILU", core) for core in range(2)]
    alike = time(image, {}, chip.device, {(number, 7): [3] for number in numbers})
    assert alike.bytes["ddr_read"] == 2 * 3 * 1600
    assert alike.classes == 1
    uneven = time(image, {}, chip.device, {(numbers[0], 7): [3], (numbers[1], 7): [5]})
    assert uneven.bytes["ddr_read"] == 8 * 1600
    assert uneven.classes == 2


def test_an_op_without_a_price_names_its_place() -> None:
    chip = Chip(device("tiny"), 1)

    def body(b: Body) -> list[Node]:
        value = b.value(64)
        return [VectorOp("math.wheel", "wheel", (value,), b.value(64), where=Location("kernel.mlir", 3, 5))]

    chip.program("SFU", body)
    with pytest.raises(HeadraceError, match="kernel.mlir:3:5: error: math.wheel: no price class"):
        time(chip.image(), {}, chip.device)
