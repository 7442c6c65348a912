"""Rings: pulls from other cores, partial sums passed from core to core."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.arch.device import Device
from headrace.arch.presets import device as preset
from headrace.ir.diagnostics import HeadraceError
from headrace.machine.image import Node, Receive, Send, VectorOp
from headrace.machine.timing import Timing, rounds, time
from tests.machine.timing_programs import Body, Chip

HOP, PORTS, SETUP = 4, 2 + 2, 64
LINKS = 8


def spyre(cores: int = 8, **changes: object) -> Device:
    return preset(
        "spyre", {"core.count": cores} | {key.replace("__", "."): value for key, value in changes.items()}
    )


def pulling(size: int, further: int, cores: int = 8, direction: str = "", **changes: object) -> Timing:
    """Every core pulls from the core `further` on."""
    chip = Chip(spyre(cores, **changes), cores)
    chip.program("RNGLU", lambda b: [b.pull(size, further, direction)])
    return time(chip.image(), {}, chip.device)


@pytest.mark.parametrize(("further", "hops"), [(1, 1), (3, 3), (4, 4), (7, 1), (6, 2)])
def test_all_cores_pulling_alike_share_the_links_of_the_shorter_way(further: int, hops: int) -> None:
    size = 12800
    found = pulling(size, further)
    rate = 128 / hops
    assert found.cycles == pytest.approx(SETUP + size / rate + HOP * hops + PORTS + LINKS, abs=1)
    assert found.bytes["ring"] == size * hops * 8
    assert found.classes == 1


def test_a_direction_can_be_asked_for() -> None:
    size = 12800
    long_way = pulling(size, 1, direction="Clockwise")
    assert long_way.bytes["ring"] == size * 7 * 8
    assert pulling(size, 1, direction="CounterClockwise").bytes["ring"] == size * 8


def test_requests_in_flight_limit_a_long_pull() -> None:
    slow = pulling(12800, 4, rnglu__outstanding=1, rnglu__request_bytes=64)
    latency = HOP * 4 + PORTS + LINKS
    assert slow.cycles == pytest.approx(SETUP + 12800 / (64 / latency) + latency, abs=2)


@settings(max_examples=25, deadline=None)
@given(
    size=st.sampled_from([128, 1000, 12800]),
    further=st.integers(1, 7),
    loads=st.integers(0, 3),
    tiles=st.sampled_from([1, 3, 12]),
)
def test_pulls_beside_loads_fold_exactly(size: int, further: int, loads: int, tiles: int) -> None:
    """Both units write through one port of the core; credits go round the ring."""
    chip = Chip(spyre(), 8)

    def puller(b: Body) -> list[Node]:
        turn = [b.pull(size, further), b.send("RNGLU", further), b.wait("RNGLU", 8 - further)]
        return [b.loop(tiles, *turn)]

    chip.program("RNGLU", puller)
    if loads:
        chip.program("MNILU", lambda b: [b.loop(tiles, *[b.load(size) for _ in range(loads)])])
    folded = time(chip.image(), {}, chip.device)
    single = time(chip.image(), {}, chip.device, is_folding=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "PATIENCE", 0)
        walked = time(chip.image(), {}, chip.device)
    assert folded.classes == 1
    assert folded.cycles == single.cycles == walked.cycles
    assert folded.units == single.units == walked.units
    assert folded.bytes == single.bytes == walked.bytes


def test_some_cores_pulling_are_simulated_one_by_one() -> None:
    chip = Chip(spyre(), 8)
    chip.program("RNGLU", lambda b: [b.pull(12800, 1)], [0, 1, 2])
    found = time(chip.image(), {}, chip.device)
    assert found.classes == 3
    assert found.cycles == pytest.approx(SETUP + 100 + HOP + PORTS + LINKS, abs=1)


def test_a_pull_and_a_load_share_the_port_of_their_core() -> None:
    def both(size: int, with_load: bool) -> int:
        device = spyre(2, ddr__sustained_gbps=1500, ddr__read_bytes_per_cycle=1000, mnilu__outstanding=1000)
        chip = Chip(device, 2)
        chip.program("RNGLU", lambda b: [b.pull(size, 1)])
        if with_load:
            chip.program("MNILU", lambda b: [b.load(size)])
        return time(chip.image(), {}, device).cycles

    alone, shared = both(128_000, False), both(128_000, True)
    assert alone == pytest.approx(1000, rel=0.1)
    assert shared == pytest.approx(2000, rel=0.2)


def ring_sum(lanes: int, steps: int, cores: int = 4) -> Timing:
    """Reduce-scatter: send the first chunk, then receive, add, send on."""
    chip = Chip(spyre(cores), cores)

    def body(b: Body) -> list[Node]:
        first = Receive(b.unit("L1LU"), b.value(lanes))
        ahead = Send(b.unit("SFU", 1), first.result)
        own = Receive(b.unit("L1LU"), b.value(lanes))
        come = Receive(b.unit("SFU", cores - 1), b.value(lanes))
        summed = b.value(lanes)
        add = VectorOp("arith.addf", "addf", (own.result, come.result), summed)
        on = Send(b.unit("SFU", 1), summed)
        last = Receive(b.unit("SFU", cores - 1), b.value(lanes))
        return [first, ahead, b.loop(steps, own, come, add, on), last, Send(b.unit("L1SU"), last.result)]

    chip.program("L1LU", lambda b: [b.read(steps + 1, lanes)])
    chip.program("SFU", body)
    chip.program("L1SU", lambda b: [b.write(1, lanes)])
    return time(chip.image(), {}, chip.device)


def test_a_partial_sum_takes_its_addition_and_its_hop_per_step() -> None:
    period = (ring_sum(64, 60).cycles - ring_sum(64, 20).cycles) / 40
    addition, hop, control = 4, 2 + 4 + 2, 1
    assert period == addition + hop + control


@pytest.mark.parametrize("lanes", [1, 64])
def test_messages_between_cores_are_bytes_on_the_ring(lanes: int) -> None:
    """Of all cores, each one link further; f16 lanes."""
    assert ring_sum(lanes, 5).bytes["ring"] == 4 * 6 * lanes * 2


def test_a_ring_where_everybody_waits_first_is_a_deadlock() -> None:
    chip = Chip(spyre(4), 4)

    def body(b: Body) -> list[Node]:
        come = Receive(b.unit("SFU", 3), b.value(64))
        return [come, Send(b.unit("SFU", 1), come.result)]

    chip.program("SFU", body)
    with pytest.raises(
        HeadraceError, match=r"C0-sfu-CL0 \(and 3 alike\) waits for a message from C0-sfu-CL0"
    ):
        time(chip.image(), {}, chip.device)


def test_a_device_without_a_ring_pulls_nothing() -> None:
    chip = Chip(preset("tiny"), 2)
    chip.program("MNILU", lambda b: [b.pull(64, 1)])
    with pytest.raises(HeadraceError, match="no ring brings another core's scratchpad to MNILU"):
        time(chip.image(), {}, chip.device)
