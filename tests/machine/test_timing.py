"""Closed forms: what small programs must take, to the cycle."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from headrace.arch.presets import device as preset
from headrace.ir.diagnostics import HeadraceError
from headrace.machine.image import (
    Box,
    Contract,
    Copy,
    Dim,
    Index,
    Indirect,
    Node,
    Place,
    Receive,
    Reduce,
    Send,
    VectorOp,
)
from headrace.machine.timing import Timing, time
from tests.machine.timing_programs import SIGNAL, Body, Chip, machine

SETUP = 8
"""Set-up cycles of the test device's DMA units."""
LATENCY = 40 + 2 + 2
"""From the end of a transfer's data to its last byte: memory and two links."""
RATE = 16


def timed(chip: Chip) -> Timing:
    return time(chip.image(), {}, chip.device)


def loads(*sizes: int, **changes: object) -> Timing:
    """One load on each core."""
    chip = Chip(machine(len(sizes), **changes), len(sizes))
    for core, size in enumerate(sizes):
        chip.program("MNILU", lambda b, size=size: [b.load(size)], [core])
    return timed(chip)


def test_a_transfer_takes_set_up_data_and_latency() -> None:
    assert loads(1600).cycles == SETUP + 1600 // RATE + LATENCY


def test_descriptors_in_flight_pay_set_up_and_latency_once() -> None:
    chip = Chip(machine(1))
    chip.program("MNILU", lambda b: [b.loop(5, b.load(1600))])
    control = 1
    assert timed(chip).cycles == control + SETUP + 5 * 1600 // RATE + LATENCY


def test_two_units_share_device_memory_fairly() -> None:
    assert loads(1600, 1600).cycles == SETUP + 3200 // RATE + LATENCY
    assert loads(1600, 4800).cycles == SETUP + 6400 // RATE + LATENCY


def test_the_rest_of_a_longer_transfer_has_the_memory_to_itself() -> None:
    chip = Chip(machine(2), 2)
    for core, size in ((0, 1600), (1, 4800)):
        nodes = lambda b, size=size: [b.load(size), b.send("MNISU")]  # noqa: E731
        chip.program("MNILU", nodes, [core])
        chip.program("MNISU", lambda b: [b.wait("MNILU")], [core])
    waited = timed(chip).units["MNISU"].signal
    short = SETUP + 3200 // RATE + LATENCY + SIGNAL
    long = SETUP + 6400 // RATE + LATENCY + SIGNAL
    assert waited == short + long


def test_requests_in_flight_over_latency_are_a_ceiling() -> None:
    four = loads(12800, mnilu__outstanding=4, mnilu__request_bytes=100)
    assert four.cycles == SETUP + 12800 // 10 + LATENCY
    eight = loads(12800, mnilu__outstanding=8, mnilu__request_bytes=100)
    assert eight.cycles == SETUP + 12800 // RATE + LATENCY
    units = four.units["MNILU"]
    assert (units.busy, units.bandwidth) == (1280, 0)
    assert eight.units["MNILU"].busy == pytest.approx(12800 / 20, abs=1)
    assert eight.units["MNILU"].bandwidth == pytest.approx(12800 / RATE - 12800 / 20, abs=1)


def mixed(order: str, size: int, turnaround: float) -> int:
    """A load and a store of `size` bytes each, together or one after the other."""
    device = machine(1, ddr__turnaround_ns_per_byte=turnaround)
    chip = Chip(device)
    if order == "together":
        chip.program("MNILU", lambda b: [b.load(size)])
        chip.program("MNISU", lambda b: [b.store(size)])
    else:
        first, second = ("MNILU", "MNISU") if order == "read first" else ("MNISU", "MNILU")
        move = {"MNILU": Body.load, "MNISU": Body.store}
        chip.program(first, lambda b: [move[first](b, size), b.send(second)])
        chip.program(second, lambda b: [b.wait(first), move[second](b, size)])
    return timed(chip).cycles


def test_reads_and_writes_pay_turnaround_for_the_smaller_of_both_in_any_order() -> None:
    size, turnaround = 16000, 1 / 64
    data = 2 * size / RATE + turnaround * size
    assert mixed("together", size, turnaround) == pytest.approx(SETUP + data + LATENCY, abs=2)
    apart = SETUP + LATENCY + SIGNAL + SETUP + LATENCY + data
    issue = 2
    for order in ("read first", "write first"):
        assert mixed(order, size, turnaround) == pytest.approx(apart + issue, abs=3)


def test_only_what_balances_reads_and_writes_pays_turnaround() -> None:
    device = machine(1, ddr__turnaround_ns_per_byte=1 / 64)
    chip = Chip(device)
    chip.program("MNILU", lambda b: [b.load(16000)])
    assert timed(chip).cycles == SETUP + 1000 + LATENCY
    chip.program("MNISU", lambda b: [b.store(160)])
    assert timed(chip).cycles == pytest.approx(SETUP + 16160 / RATE + 160 / 64 + LATENCY, abs=1)


# ---- multicast -------------------------------------------------------------------------------------------
def test_a_multicast_moves_its_bytes_once_and_starts_with_its_last_member() -> None:
    chip = Chip(machine(2, ddr__multicast__sync_cycles=4), 2)
    number = chip.group(0, 1)
    early = lambda b: [b.load(1600, Index(number))]  # noqa: E731
    late = lambda b: [b.load(160), b.send("MNILU", waits=True), b.load(1600, Index(number))]  # noqa: E731
    chip.program("MNILU", early, [0])
    chip.program("MNILU", late, [1])
    found = timed(chip)
    issue = 0
    last_issued = SETUP + 160 // RATE + LATENCY + issue + SETUP
    assert found.cycles == last_issued + 4 + 1600 // RATE + LATENCY + 1
    assert found.bytes["ddr_read"] == 1600 + 160
    assert found.bytes["lx_write"] == 2 * 1600 + 160


def test_unicast_of_the_same_bytes_moves_them_twice() -> None:
    assert loads(1600, 1600).bytes["ddr_read"] == 3200


def test_a_memory_without_multicast_answers_every_member() -> None:
    device = machine(2)
    plain = replace(device, memories=tuple(replace(memory, multicast=None) for memory in device.memories))
    chip = Chip(plain, 2)
    number = chip.group(0, 1)
    chip.program("MNILU", lambda b: [b.load(1600, Index(number))])
    assert timed(chip).bytes["ddr_read"] == 3200


def test_a_group_beyond_the_consumers_of_one_read_is_refused() -> None:
    chip = Chip(machine(4), 4)
    number = chip.group(0, 1, 2)
    chip.program("MNILU", lambda b: [b.load(1600, Index(number))])
    with pytest.raises(HeadraceError, match="a multicast group of 3 units"):
        timed(chip)


def test_a_multicast_that_a_member_never_joins_is_a_deadlock() -> None:
    chip = Chip(machine(2), 2)
    number = chip.group(0, 1)
    chip.program("MNILU", lambda b: [b.load(1600, Index(number))], [0])
    chip.program("MNILU", lambda b: [b.load(160)], [1])
    with pytest.raises(HeadraceError, match="C0-mnilu-CL0 waits for the other members of multicast group 0"):
        timed(chip)


# ---- what a transfer touches -----------------------------------------------------------------------------
def strided(rows: int, run: int, pitch: int, address: int, access: int) -> int:
    device = machine(1, ddr__access_bytes=access)
    chip = Chip(device)
    times = (Dim(Index(rows), pitch),)
    source = Box(Place("global", "ddr"), Index(address), times, (Dim(Index(run), 1),), "i8")
    packed = (Dim(Index(rows), run),)
    target = Box(Place("ct_local", "lx"), Index(0), packed, (Dim(Index(run), 1),), "i8")
    chip.program("MNILU", lambda b: [Copy(source, target, run)])
    return timed(chip).bytes["ddr_read"]


@pytest.mark.parametrize("rows", [1, 7, 64])
@pytest.mark.parametrize("run", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("pitch", [256, 260, 1000])
@pytest.mark.parametrize("address", [0, 8, 60])
def test_every_run_is_rounded_out_to_the_accesses_it_touches(
    rows: int, run: int, pitch: int, address: int
) -> None:
    starts = [address + row * pitch for row in range(rows)]
    touched = sum((-(-(start + run) // 64) - start // 64) * 64 for start in starts)
    assert strided(rows, run, pitch, address, 64) == touched
    assert strided(rows, run, run, 0, 64) == math.ceil(rows * run / 64) * 64


def test_a_gather_sends_one_request_a_row_and_reads_its_indices_first() -> None:
    """Rows of 128 bytes, two requests in flight: less than the unit's ceiling of whole requests."""
    rows, row, requests, latency = 64, 128, 2, 40
    chip = Chip(machine(1, mnilu__outstanding=requests, mnilu__request_bytes=512))
    at = (Dim(Index(rows), 0),)
    table = Box(Place("global", "ddr"), Index(0), at, (Dim(Index(row), 1),), "i8")
    tile = Box(Place("ct_local", "lx"), Index(0), (Dim(Index(rows), row),), (Dim(Index(row), 1),), "i8")
    numbers = Box(Place("ct_local", "lx"), Index(8192), (Dim(Index(rows), 4),), (Dim(Index(1), 4),), "i32")
    gather = Copy(table, tile, row, Indirect("source", numbers, row, Index(1000)))
    chip.program("MNILU", lambda b: [gather])
    found = timed(chip)
    indices = rows * 4 / 1000
    assert found.cycles == math.ceil(SETUP + indices + rows * latency / requests + LATENCY)
    assert found.bytes["ddr_read"] == rows * row


# ---- the matrix unit -------------------------------------------------------------------------------------
def multiplied(rows: int, blocks: int, k: int, n: int) -> Timing:
    """`blocks` stationary blocks of k x n on one corelet of `spyre`, `rows` rows against each."""
    chip = Chip(preset("spyre-1core"), 1)

    def matrix(b: Body) -> list[Node]:
        block = Receive(b.unit("XRFLU"), b.value(k * n))
        row = Receive(b.unit("L0LU"), b.value(k))
        result = b.value(n, "f32")
        product = Contract("a,ab->b", row.result, block.result, None, result, k, n)
        steps = b.loop(rows, row, product, Send(b.unit("SFU"), result), marked=True)
        return [b.loop(blocks, block, steps)]

    def vector(b: Body) -> list[Node]:
        row = Receive(b.unit("PT"), b.value(n, "f32"))
        return [b.loop(blocks * rows, row, Send(b.unit("L1SU"), row.result), marked=True)]

    chip.program("XRFLU", lambda b: [b.read(blocks, k * n, "PT")])
    chip.program("L0LU", lambda b: [b.read(blocks * rows, k, "PT")])
    chip.program("PT", matrix)
    chip.program("SFU", vector)
    chip.program("L1SU", lambda b: [b.write(blocks * rows, n * 2)])
    return timed(chip)


def test_rows_against_a_block_take_the_passes_of_the_array() -> None:
    per_row = (multiplied(400, 1, 256, 64).cycles - multiplied(200, 1, 256, 64).cycles) / 200
    assert per_row == 256 // 8
    narrow = (multiplied(400, 1, 8, 64).cycles - multiplied(200, 1, 8, 64).cycles) / 200
    assert narrow == 2  # a row of f32 results takes two cycles to leave


def test_the_next_block_is_filled_while_this_one_computes() -> None:
    k, n, control, swap = 256, 64, 1, 16
    filling = k * n * 2 // 16
    busy, short = 64 + 16, 20
    hidden = (multiplied(busy, 20, k, n).cycles - multiplied(busy, 10, k, n).cycles) / 10
    assert hidden == busy * 32 + swap + control
    exposed = (multiplied(short, 20, k, n).cycles - multiplied(short, 10, k, n).cycles) / 10
    assert exposed == pytest.approx(max(filling, short * 32 + swap + control), rel=0.01)


# ---- queues ----------------------------------------------------------------------------------------------
def pipeline(
    rows: int, lanes: int, ops: int, depth: int, latency: int, marked: bool = True, **changes: object
) -> Timing:
    """Reader → vector unit → writer of one tile, with queues of `depth` granules and that latency between
    them."""
    links = {
        "l1lu->sfu.queue_depth": depth,
        "l1lu->sfu.latency_cycles": latency,
        "sfu->l1su.latency_cycles": 1,
    }
    chip = Chip(machine(1, **{"sfu->l1su.queue_depth": 1000, **links, **changes}))
    chip.program("L1LU", lambda b: [b.read(rows, lanes)])
    chip.program("SFU", lambda b: [b.vector(rows, lanes, ops, marked)])
    chip.program("L1SU", lambda b: [b.write(rows, lanes)])
    return timed(chip)


def steady_period(*arguments: int) -> float:
    """Cycles per row once the queues have filled."""
    rows = 1000
    return (pipeline(2 * rows, *arguments).cycles - pipeline(rows, *arguments).cycles) / rows


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize("latency", [1, 5, 12])
@pytest.mark.parametrize("ops", [1, 4, 9])
def test_a_queue_holds_as_many_rows_in_flight_as_it_is_deep(depth: int, latency: int, ops: int) -> None:
    lanes = 64
    reading = lanes * 2 / 32
    computing = ops * lanes / 32
    coming = latency + 2 + max(0, reading - computing)  # a step does not outrun its operand
    expected = max(reading, computing, coming / depth)
    assert steady_period(lanes, ops, depth, latency) == pytest.approx(expected, abs=0.01)


def test_a_message_longer_than_its_queue_passes_in_pieces() -> None:
    lanes = 512
    assert steady_period(lanes, 1, 2, 1) == max(lanes * 2 / 32, lanes / 32)


def test_rows_take_set_up_first_arrival_and_the_slowest_stage() -> None:
    rows, lanes, ops = 10, 64, 8
    found = pipeline(rows, lanes, ops, 16, 1)
    set_up, first, step, drain, through, writing, settle = 2, 2 + 1, 16, 16, 1, 4, 2
    sent_before_the_end = lanes * 2 // 64
    assert (
        found.cycles
        == set_up + first + rows * step + drain - sent_before_the_end + through + writing + settle
    )
    assert found.units["SFU"].busy == rows * step


def test_an_unmarked_loop_pays_its_control_and_is_else_alike() -> None:
    marked = pipeline(1000, 64, 8, 16, 1)
    unmarked = pipeline(1000, 64, 8, 16, 1, marked=False)
    assert unmarked.cycles - marked.cycles == pytest.approx(1000, abs=2)


def test_columns_are_read_one_access_at_a_time() -> None:
    chip = Chip(machine(1))
    chip.program("L1LU", lambda b: [b.read(10, 48, pitch=96)])
    chip.program("SFU", lambda b: [b.vector(10, 48)])
    chip.program("L1SU", lambda b: [b.write(10, 48)])
    assert timed(chip).units["L1LU"].busy == 10 * 48


@pytest.mark.parametrize(("pitch", "at_once"), [(2, 2), (4, 4), (8, 8), (16, 4), (32, 2), (64, 1)])
def test_pieces_in_one_bank_wait_for_each_other(pitch: int, at_once: int) -> None:
    """8 banks of 16 bytes, elements of 2 bytes `pitch` elements apart."""
    banks = {"lx.banks": 8, "lx.bank_bytes": 16, "l1lu.strided_accesses_per_cycle": 8}
    chip = Chip(machine(1, **{"l1lu->sfu.bandwidth": 1000, "lx->l1lu.bandwidth": 1000, **banks}))
    chip.program("L1LU", lambda b: [b.read(10, 64, pitch=pitch)])
    chip.program("SFU", lambda b: [b.vector(10, 64)])
    chip.program("L1SU", lambda b: [b.write(10, 64)])
    assert timed(chip).units["L1LU"].busy == 10 * 64 // at_once


def test_readers_of_one_port_share_it() -> None:
    def both(kinds: str) -> int:
        chip = Chip(
            machine(1, **{"l1lu->sfu.queue_depth": 1000, "lx->l1lu.bandwidth": 20, "lx->l0lu.bandwidth": 20})
        )
        chip.program("L1LU", lambda b: [b.read(100, 64)])
        chip.program("SFU", lambda b: [b.vector(100, 64)])
        chip.program("L1SU", lambda b: [b.write(100, 64)])
        if kinds == "two":
            chip.program("L0LU", lambda b: [])
        return timed(chip).units["L1LU"].busy

    assert both("one") == 100 * 128 // 20
    assert both("two") == 100 * 128 // 10


def test_ports_give_way_where_the_scratchpad_carries_less_than_all_of_them() -> None:
    def reading(whole: int) -> int:
        chip = Chip(machine(1, **{"l1lu->sfu.queue_depth": 1000, "lx.read_bytes_per_cycle": whole}))
        chip.program("L1LU", lambda b: [b.read(100, 64)])
        chip.program("SFU", lambda b: [b.vector(100, 64)])
        chip.program("L1SU", lambda b: [b.write(100, 64)])
        return timed(chip).units["L1LU"].busy

    assert reading(64) == 100 * 128 // 32
    assert reading(16) == 100 * 128 // 16  # only the reader has a program here


# ---- signals and credits ---------------------------------------------------------------------------------
def credited(copies: int, tiles: int, size: int, rows: int, ops: int) -> Timing:
    """Loader → reader with `copies` buffers: full and free signals as the scheduler writes them."""
    lanes = 64
    chip = Chip(machine(1, **{"l1lu->sfu.queue_depth": 1000, "sfu->l1su.queue_depth": 1000}))

    def loader(b: Body) -> list[Node]:
        tile = b.loop(tiles, b.wait("L1LU"), b.load(size), b.send("L1LU"))
        return [tile, b.loop(copies, b.wait("L1LU"))]

    def reader(b: Body) -> list[Node]:
        tile = b.loop(tiles, b.wait("MNILU"), b.read(rows, lanes), b.send("MNILU"))
        return [b.loop(copies, b.send("MNILU")), tile]

    chip.program("MNILU", loader)
    chip.program("L1LU", reader)
    chip.program("SFU", lambda b: [b.loop(tiles, b.vector(rows, lanes, ops))])
    chip.program("L1SU", lambda b: [b.loop(tiles, b.write(rows, lanes))])
    return timed(chip)


def tile_period(copies: int, size: int, rows: int) -> float:
    return (credited(copies, 60, size, rows, 1).cycles - credited(copies, 20, size, rows, 1).cycles) / 40


def test_one_two_and_three_credits_overlap_as_much_as_they_allow() -> None:
    size, rows = 3200, 40
    moving, reading = size / RATE, rows * 128 / 32
    issue = 1
    # one turn: signal free, wait, set-up, data, latency, signal full, wait, reader set-up, rows, signal
    turn = SIGNAL + issue + SETUP + moving + LATENCY + SIGNAL + issue + 2 + reading + issue
    for copies in (1, 2, 3):
        assert tile_period(copies, size, rows) == pytest.approx(max(turn / copies, moving), abs=1.0)


def test_a_deferred_signal_lets_the_next_descriptor_follow_at_once() -> None:
    def run(waits: bool) -> int:
        chip = Chip(machine(1))
        chip.program("MNILU", lambda b: [b.loop(10, b.load(160), b.send("L1LU", waits=waits))])
        chip.program("L1LU", lambda b: [b.loop(10, b.wait("MNILU"))])
        return timed(chip).cycles

    assert run(waits=False) < 10 * (SETUP + 160 // RATE + 3) + LATENCY + SIGNAL + 5
    assert run(waits=True) >= 10 * (SETUP + 160 // RATE + LATENCY)


def test_a_fence_waits_for_the_units_own_transfers() -> None:
    chip = Chip(machine(1))
    chip.program("MNILU", lambda b: [b.load(1600), b.send("MNILU", waits=True), b.load(1600)])
    assert timed(chip).cycles == 2 * (SETUP + 100 + LATENCY) + 1


def test_a_wait_cycle_is_explained() -> None:
    chip = Chip(machine(1))
    chip.program("MNILU", lambda b: [b.wait("L1LU"), b.load(16), b.send("L1LU")])
    chip.program("L1LU", lambda b: [b.wait("MNILU"), b.send("MNILU")])
    with pytest.raises(HeadraceError, match="C0-mnilu-CL0 waits for signal from C0-l1lu-CL0") as caught:
        timed(chip)
    assert "deadlock: 2 units" in str(caught.value)
    assert "C0-l1lu-CL0 waits for signal from C0-mnilu-CL0" in str(caught.value)


def test_missing_messages_and_full_queues_are_deadlocks_too() -> None:
    chip = Chip(machine(1))
    chip.program("SFU", lambda b: [b.vector(3, 64)])
    chip.program("L1LU", lambda b: [b.read(2, 64)])
    chip.program("L1SU", lambda b: [b.write(2, 64)])
    with pytest.raises(HeadraceError, match="C0-sfu-CL0 waits for a message from C0-l1lu-CL0"):
        timed(chip)
    chip = Chip(machine(1))
    chip.program("L1LU", lambda b: [b.read(20, 64)])
    with pytest.raises(HeadraceError, match="waits for room in the queue to a unit without a program"):
        timed(chip)


def test_every_cycle_of_every_unit_is_accounted_for() -> None:
    found = credited(2, 10, 3200, 40, 3)
    for unit in found.units.values():
        parts = (unit.busy, unit.input, unit.space, unit.signal, unit.bandwidth, unit.setup, unit.idle)
        assert sum(parts) == unit.instances * found.cycles
        assert min(parts) >= 0


def test_reductions_run_while_the_operand_after_them_comes() -> None:
    lanes, count = 1024, 4

    def cycles(are_reduced_first: bool) -> int:
        def row(b: Body) -> list[Node]:
            one, other = b.receive(lanes), b.receive(lanes)
            reduced = [Reduce("max", one.result, b.value(1)) for _ in range(count)]
            front = [one, *reduced, other] if are_reduced_first else [one, other, *reduced]
            total = b.value(lanes)
            added = VectorOp("arith.addf", "addf", (other.result, reduced[-1].result), total)
            return [*front, added, Send(b.unit("L1SU"), total)]

        chip = Chip(machine(1))
        chip.program("L1LU", lambda b: [b.read(2, lanes)])
        chip.program("SFU", lambda b: [b.loop(1, *row(b), marked=True)])
        chip.program("L1SU", lambda b: [b.write(1, lanes)])
        return timed(chip).cycles

    reading, waited = lanes * 2 / 32, machine(1).unit("SFU").op_latency["lane_reduce"]
    assert count * (lanes / 32) > reading + waited
    assert cycles(False) - cycles(True) == pytest.approx(reading + waited, abs=2)


def test_what_is_passed_on_does_not_wait_for_a_sum_beside_it() -> None:
    lanes, rounds = 8, 12

    def cycles(are_added: bool) -> int:
        def row(b: Body) -> list[Node]:
            first = b.receive(lanes)
            total = b.value(lanes)
            nodes: list[Node] = [first, VectorOp("arith.addf", "addf", (first.result, first.result), total)]
            nodes.append(Send(b.unit("L1SU"), total))
            for _ in range(rounds):
                got, both = b.receive(lanes), b.value(lanes)
                operands = (got.result, total if are_added else got.result)
                nodes += [
                    got,
                    VectorOp("arith.addf", "addf", operands, both),
                    Send(b.unit("L1SU"), got.result),
                ]
                total = both
            return nodes

        chip = Chip(machine(1))
        chip.program("L1LU", lambda b: [b.read(1 + rounds, lanes)])
        chip.program("SFU", lambda b: [b.loop(1, *row(b), marked=True)])
        chip.program("L1SU", lambda b: [b.write(1 + rounds, lanes)])
        return timed(chip).cycles

    assert cycles(True) == cycles(False)
