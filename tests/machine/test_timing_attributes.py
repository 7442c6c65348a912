"""Every attribute of an architecture file that costs time changes the cycles as its equation says."""

from __future__ import annotations

import pytest

from headrace.arch.attributes import OF_RESOURCE
from headrace.arch.device import Device
from headrace.arch.presets import device as preset
from headrace.machine.image import Contract, Index, Node, Receive, Reduce, Send, VectorOp
from headrace.machine.timing import Timing, time
from tests.machine.test_timing import LATENCY, RATE, SETUP, loads, pipeline
from tests.machine.timing_programs import SIGNAL, Body, Chip, machine

SIZE = 1600
PLAIN = SETUP + SIZE // RATE + LATENCY

HERE = set(
    "clock_mhz signal_cycles launch_cycles sustained_gbps read_bytes_per_cycle write_bytes_per_cycle"
    " latency_ns access_bytes setup_cycles issue_cycles wide_internal op_cycles op_latency lanes macs"
    " rows columns swap_cycles latency_cycles bandwidth queue_bytes sync_cycles".split()
)
"""Attributes whose equations are tried below."""
ELSEWHERE = {
    "turnaround_ns_per_byte": "test_timing: mixed loads and stores",
    "outstanding": "test_timing: requests in flight over latency",
    "request_bytes": "test_timing: requests in flight over latency",
    "strided_accesses_per_cycle": "test_timing: pieces in one bank",
    "banks": "test_timing: pieces in one bank",
    "bank_bytes": "test_timing: pieces in one bank",
    "port": "test_timing: readers of one port",
    "multicast": "test_timing: multicast",
    "max_consumers": "test_timing: a group beyond the consumers",
    "queue_depth": "test_timing: a queue holds as many rows as it is deep",
    "step": "test_timing_rings",
    "count": "test_timing_random: cores",
}
"""Attributes that cost time and are tried in another file."""
WITHOUT_COST = {
    "version": "provenance",
    "size_bytes": "capacity",
    "peak_gbps": "reports only",
    "align_bytes": "allocation",
    "reserved": "allocation",
    "span_bytes": "legality",
    "passive": "who has a program",
    "splat": "legality",
    "zero_pad": "legality",
    "functions": "which class prices an op; the class is tried here",
    "index_types": "legality",
    "accumulate": "numerics",
    "resident_bytes": "legality",
    "accumulator_bytes": "legality",
    "ordered": "every queue is",
    "granularity": "legality",
}
"""Attributes that say what is possible and cost no time."""


def test_every_attribute_is_tried_or_costs_nothing() -> None:
    known = {attribute.name for listed in OF_RESOURCE.values() for attribute in listed}
    assert known == HERE | set(ELSEWHERE) | set(WITHOUT_COST)
    assert not HERE & set(ELSEWHERE) | HERE & set(WITHOUT_COST) | set(ELSEWHERE) & set(WITHOUT_COST)


# ---- device memory and its movers --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "cycles"),
    [
        ({}, PLAIN),
        ({"mnilu__setup_cycles": 108}, PLAIN + 100),
        ({"ddr__latency_ns": 90.0}, PLAIN + 50),
        ({"ddr__sustained_gbps": 8.0}, PLAIN + SIZE // 8 - SIZE // RATE),
        ({"ddr__read_bytes_per_cycle": 4}, PLAIN + SIZE // 4 - SIZE // RATE),
        ({"ddr__write_bytes_per_cycle": 4}, PLAIN),
        ({"ddr->mnilu.bandwidth": 4}, PLAIN + SIZE // 4 - SIZE // RATE),
        ({"mnilu->lx.bandwidth": 4}, PLAIN + SIZE // 4 - SIZE // RATE),
        ({"ddr->mnilu.sustained_gbps": 4.0}, PLAIN + SIZE // 4 - SIZE // RATE),
        ({"ddr->mnilu.latency_cycles": 12}, PLAIN + 10),
        ({"mnilu->lx.latency_cycles": 12}, PLAIN + 10),
        ({"lx__write_bytes_per_cycle": 4}, PLAIN + SIZE // 4 - SIZE // RATE),
    ],
)
def test_a_load_costs_what_its_memory_links_and_unit_say(change: dict[str, object], cycles: int) -> None:
    assert machine(1).clock_mhz == 1000
    assert loads(SIZE, **change).cycles == cycles


@pytest.mark.parametrize("access", [1, 32, 64, 1024])
def test_a_load_moves_whole_bursts(access: int) -> None:
    touched = -(-SIZE // access) * access
    assert loads(SIZE, ddr__access_bytes=access).bytes["ddr_read"] == touched
    assert loads(SIZE, ddr__access_bytes=access).cycles == SETUP + touched // RATE + LATENCY


def stored(**changes: object) -> int:
    chip = Chip(machine(1, **changes))
    chip.program("MNISU", lambda b: [b.store(SIZE)])
    return time(chip.image(), {}, chip.device).cycles


def test_a_store_has_its_own_port_of_device_memory() -> None:
    assert stored(ddr__write_bytes_per_cycle=4) - stored() == SIZE // 4 - SIZE // RATE
    assert stored(ddr__read_bytes_per_cycle=4) == stored()


def test_a_faster_clock_makes_cycles_of_rates_and_latencies_in_ns() -> None:
    """Twice the clock: half the bytes a cycle, twice the cycles of latency; cycles of the file stay."""
    found = loads(SIZE, device__clock_mhz=2000).cycles
    assert found == SETUP + SIZE // (RATE // 2) + 2 * 40 + 4


def test_a_launch_adds_its_cycles_to_the_time_and_not_to_the_cycles() -> None:
    from headrace.runtime.program import Program, Run

    device = preset("spyre", {"device.launch_cycles": 4500})
    run = Run(Program("k", device, (), None), {}, timing=Timing(3000))
    assert run.cycles == 3000
    assert run.time_us == (3000 + 4500) / 1500


def test_members_of_a_multicast_meet_for_its_sync_cycles() -> None:
    def together(cycles: int) -> int:
        chip = Chip(machine(2, ddr__multicast__sync_cycles=cycles), 2)
        number = chip.group(0, 1)
        chip.program("MNILU", lambda b: [b.load(SIZE, Index(number))])
        return time(chip.image(), {}, chip.device).cycles

    assert together(54) - together(4) == 50


# ---- signals and control -----------------------------------------------------------------------------------
def signalled(**changes: object) -> int:
    chip = Chip(machine(1, **changes))
    chip.program("MNILU", lambda b: [b.load(SIZE), b.send("MNISU")])
    chip.program("MNISU", lambda b: [b.wait("MNILU"), b.store(SIZE)])
    return time(chip.image(), {}, chip.device).cycles


def test_a_signal_takes_its_cycles_behind_the_transfer() -> None:
    assert signalled(device__signal_cycles=SIGNAL + 20) - signalled() == 20


def test_control_is_issued() -> None:
    def looped(issue: int) -> int:
        chip = Chip(machine(1, mnilu__issue_cycles=issue))
        chip.program("MNILU", lambda b: [b.loop(10, b.send("L1LU", waits=True))])
        chip.program("L1LU", lambda b: [b.loop(10, b.wait("MNILU"))])
        return time(chip.image(), {}, chip.device).units["MNILU"].setup

    assert looped(5) == 5 * looped(1) == 5 * 20  # a loop step and a signal each time


# ---- queues and links between units ------------------------------------------------------------------------
def test_a_queue_of_bytes_holds_its_granules() -> None:
    """Three messages in flight: each takes the time from its sending to the end of the next step's start."""

    def period(size: int) -> float:
        link = {"l1lu->sfu.queue_bytes": size, "l1lu->sfu.latency_cycles": 30}
        rows = [pipeline(n, 64, 1, 16, 30, **link).cycles for n in (1000, 2000)]
        return (rows[1] - rows[0]) / 1000

    coming = 30 + 2 + 64 * 2 / 32 - 64 / 32
    for granules in (1, 2, 4):
        assert period(granules * 128) == pytest.approx(max(64 * 2 / 32, coming / granules), abs=0.02)


def test_a_reader_is_as_fast_as_the_link_to_its_consumer() -> None:
    wide, narrow = (pipeline(1000, 64, 1, 1000, 1, **{"l1lu->sfu.bandwidth": n}) for n in (32, 8))
    assert wide.units["L1LU"].busy == 1000 * 128 // 32
    assert narrow.units["L1LU"].busy == 1000 * 128 // 8


# ---- the vector unit ---------------------------------------------------------------------------------------
OPS = {
    "arith": ("arith.addf", "addf", "f16"),
    "compare": ("arith.cmpf", "oge", "f16"),
    "select": ("vectorchain.element_wise_selection", "select", "f16"),
    "convert": ("vectorchain.cast", "cast", "f16"),
    "shuffle": ("vectorchain.rotate", "rotate", "f16"),
    "integer": ("arith.addi", "addi", "i32"),
    "divide": ("arith.divf", "divf", "f16"),
    "function": ("math.exp", "exp", "f16"),
    "special": ("math.erf", "erf", "f16"),
}


def computed(kind: str, lanes: int = 64, rows: int = 50, **changes: object) -> Timing:
    """Rows through one op of a class on the vector unit."""
    chip = Chip(machine(1, **{"l1lu->sfu.queue_depth": 1000, "sfu->l1su.queue_depth": 1000, **changes}))

    def body(b: Body) -> list[Node]:
        taken = b.receive(lanes)
        if kind == "move":
            return [b.loop(rows, taken, Send(b.unit("L1SU"), taken.result), marked=True)]
        if kind == "lane_reduce":
            result = b.value(1)
            nodes: list[Node] = [taken, Reduce("add", taken.result, result)]
        else:
            name, function, dtype = OPS[kind]
            result = b.value(lanes, dtype)
            operand = taken.result if dtype == "f16" else b.value(lanes, dtype)
            nodes = [taken, VectorOp(name, function, (operand, operand), result)]
        return [b.loop(rows, *nodes, Send(b.unit("L1SU"), result), marked=True)]

    chip.program("L1LU", lambda b: [b.read(rows, lanes)])
    chip.program("SFU", body)
    chip.program("L1SU", lambda b: [b.write(rows, 1 if kind == "lane_reduce" else lanes)])
    return time(chip.image(), {}, chip.device)


@pytest.mark.parametrize("kind", ["move", "lane_reduce", *OPS])
def test_every_class_of_op_costs_its_cycles_a_granule(kind: str) -> None:
    rows, lanes = 50, 64
    dtype = OPS[kind][2] if kind in OPS else "f16"
    granules = -(-lanes // machine(1).lanes("SFU", dtype))
    for cycles in (3, 10):
        busy = computed(kind, **{f"sfu.op_cycles.{kind}": cycles}).units["SFU"].busy
        arith = machine(1).unit("SFU").op_cycles.get("arith", 1)
        expected = (granules - 1) * arith + cycles if kind == "lane_reduce" else granules * cycles
        assert busy == rows * expected


@pytest.mark.parametrize("kind", ["move", "lane_reduce", *OPS])
def test_every_class_of_op_delays_its_result_by_its_latency(kind: str) -> None:
    near, far = (computed(kind, **{f"sfu.op_latency.{kind}": n}) for n in (10, 210))
    assert far.cycles - near.cycles == 200
    assert far.units["SFU"].busy == near.units["SFU"].busy


def test_more_lanes_take_fewer_granules() -> None:
    for lanes in (8, 16, 32):
        busy = computed("arith", **{"sfu.lanes.f16": lanes}).units["SFU"].busy
        assert busy == 50 * -(-64 // lanes) * machine(1).unit("SFU").op_cycles.get("arith", 1)


def widened(is_wide: bool) -> int:
    """f16 rows, computed with in f32."""
    device = preset("spyre-1core", {"sfu.wide_internal": is_wide})
    chip = Chip(device, 1)

    def body(b: Body) -> list[Node]:
        taken, wide, narrow = b.receive(128), b.value(128, "f32"), b.value(128)
        nodes: list[Node] = [taken, VectorOp("vectorchain.cast", "cast", (taken.result,), wide)]
        nodes.append(VectorOp("vectorchain.cast", "cast", (wide,), narrow))
        return [b.loop(50, *nodes, Send(b.unit("L1SU"), narrow), marked=True)]

    chip.program("L1LU", lambda b: [b.read(50, 128)])
    chip.program("SFU", body)
    chip.program("L1SU", lambda b: [b.write(50, 128)])
    return time(chip.image(), {}, device).units["SFU"].busy


def test_wide_values_inside_a_step_run_at_the_rate_of_its_ports() -> None:
    assert widened(is_wide=True) == 50 * 2 * 128 // 64
    assert widened(is_wide=False) == 50 * 2 * 128 // 32


# ---- the matrix unit ---------------------------------------------------------------------------------------
def multiplied(device: Device, rows: int, blocks: int, k: int = 256, n: int = 64) -> Timing:
    chip = Chip(device, 1)

    def matrix(b: Body) -> list[Node]:
        block = Receive(b.unit("XRFLU"), b.value(k * n))
        row = Receive(b.unit("L0LU"), b.value(k))
        result = b.value(n, "f32")
        product = Contract("a,ab->b", row.result, block.result, None, result, k, n)
        return [b.loop(blocks, block, b.loop(rows, row, product, Send(b.unit("SFU"), result), marked=True))]

    def vector(b: Body) -> list[Node]:
        row = Receive(b.unit("PT"), b.value(n, "f32"))
        return [b.loop(blocks * rows, row, Send(b.unit("L1SU"), row.result), marked=True)]

    chip.program("XRFLU", lambda b: [b.read(blocks, k * n, "PT")])
    chip.program("L0LU", lambda b: [b.read(blocks * rows, k, "PT")])
    chip.program("PT", matrix)
    chip.program("SFU", vector)
    chip.program("L1SU", lambda b: [b.write(blocks * rows, n * 2)])
    return time(chip.image(), {}, device)


@pytest.mark.parametrize(
    ("change", "per_row"),
    [
        ({}, 32 * 1 * (8 * 64 // 512)),
        ({"pt.macs.f16": 256}, 32 * 1 * (8 * 64 // 256)),
        ({"pt.rows": 64}, 4 * 1 * (64 * 64 // 512)),
        ({"pt.rows": 100}, 3 * 1 * 100 * 64 / 512),
        ({"pt.columns": 48}, 32 * 2 * 8 * 48 / 512),
    ],
)
def test_a_row_takes_the_passes_of_the_array(change: dict[str, object], per_row: float) -> None:
    found = multiplied(preset("spyre-1core", change), 100, 1)
    swap = preset("spyre-1core").unit("PT").matrix
    assert swap is not None
    assert found.units["PT"].busy == pytest.approx(100 * per_row + swap.swap_cycles, abs=1)


def test_a_block_costs_its_swap_and_a_result_the_latency_of_the_array() -> None:
    base = multiplied(preset("spyre-1core"), 100, 4)
    slow = multiplied(preset("spyre-1core", {"pt.swap_cycles": 116}), 100, 4)
    assert slow.units["PT"].busy - base.units["PT"].busy == 4 * 100
    late = multiplied(preset("spyre-1core", {"pt.latency_cycles": 148}), 100, 1)
    assert late.cycles - multiplied(preset("spyre-1core"), 100, 1).cycles == 100
