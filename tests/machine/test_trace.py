"""Chrome traces: slices that never overlap, counters of their own, data-dependent programs too."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError, Location
from headrace.machine.image import Image, Index, Loop, Node, Symbol, VectorOp
from headrace.machine.timing import time
from headrace.machine.trace import chrome_trace
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
    trace = json.loads(json.dumps(chrome_trace(traced, image, chip.device)))
    events = trace["traceEvents"]
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["dur"]))
    assert len(tracks) == 5
    end = traced.cycles / chip.device.clock_mhz
    for slices in tracks.values():
        assert all(a + length <= b + 1e-9 for (a, length), (b, _) in pairwise(slices))
        assert all(length > 0 and start + length <= end + 1e-9 for start, length in slices)
    loads = [event for event in events if event["ph"] == "X" and event["name"] == "load"]
    assert len(loads) == 12


def test_counters_stand_apart_and_end_at_zero() -> None:
    chip, image = streamed()
    traced = time(image, {}, chip.device, is_traced=True)
    events = chrome_trace(traced, image, chip.device)["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    assert {event["pid"] for event in counters} == {0}
    assert max(event["args"]["load"] for event in counters) == 2
    assert counters[-1]["args"] == {"load": 0, "store": 0, "pull": 0}
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"counters", "core 0 (and 1 alike)"}


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
