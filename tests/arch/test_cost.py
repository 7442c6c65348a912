"""The cost vocabulary: work, bounds, prices of steps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.arch.cost import (
    CLASSES,
    FREE,
    Port,
    StepOp,
    Work,
    bound,
    ddr_cycles,
    granules,
    matrix_cycles,
    op_class,
    step_cycles,
    step_latency,
)
from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError

SPYRE = device("spyre")
SFU = SPYRE.unit("SFU")


def test_ops_of_every_dialect_have_the_class_of_their_meaning() -> None:
    expected = {
        "arith.addf": "arith",
        "arith.addi": "integer",
        "arith.divf": "divide",
        "arith.remsi": "divide",
        "arith.cmpf": "compare",
        "arith.select": "select",
        "arith.extf": "convert",
        "math.exp": "function",
        "math.erf": "special",
        "math.powf": "special",
        "math.absf": "arith",
        "spyreop.sigmoid": "function",
        "vectorchain.binary": "arith",
        "vectorchain.fast_exp": "function",
        "vectorchain.rec_estimate": "function",
        "vectorchain.shuffle": "shuffle",
        "vectorchain.select": FREE,
        "arith.constant": FREE,
        "vectorchain.element_wise_selection": "select",
        "vectorchain.scan_with_gap": "lane_reduce",
    }
    assert {name: op_class(name, SFU) for name in expected} == expected


def test_a_function_a_unit_does_not_list_is_an_error() -> None:
    with pytest.raises(HeadraceError, match="does not compute 'erfinv'|no price class"):
        op_class("math.erfinv", SFU)
    lean = device("tiny").unit("SFU")
    without = type(lean)(**{**vars(lean), "functions": {"function": ("exp",)}})
    with pytest.raises(HeadraceError, match="does not compute 'tanh'"):
        op_class("math.tanh", without)


def test_a_granule_is_128_bytes_of_any_type() -> None:
    assert [granules(200, dtype, SPYRE, "SFU") for dtype in ("f16", "f32", "i64")] == [4, 7, 13]
    assert granules(0, "f16", SPYRE, "SFU") == 0


def test_f32_inside_a_step_fed_by_f16_runs_at_the_rate_of_f16() -> None:
    ops = [StepOp("arith", 256, "f32"), StepOp("function", 256, "f32", (0,))]
    assert step_cycles(ops, [Port(256, "f16"), Port(256, "f16")], SPYRE, SFU) == 4 + 16
    assert step_cycles(ops, [Port(256, "f16"), Port(256, "f32")], SPYRE, SFU) == 8 + 32
    tiny = device("tiny")
    assert step_cycles(ops, [Port(256, "f16")], tiny, "SFU") == 16 + 64


def test_a_reduction_adds_the_granules_and_folds_the_last_one() -> None:
    ops = [StepOp("arith", 512, "f16", is_reduction=True)]
    assert step_cycles(ops, [Port(512, "f16")], SPYRE, SFU) == 7 + 2


def test_a_step_that_only_passes_a_message_on_moves_it() -> None:
    assert step_cycles([StepOp(FREE, 256, "f16")], [Port(256, "f16"), Port(256, "f16")], SPYRE, SFU) == 4
    assert step_cycles([], [], SPYRE, SFU) == 0


def test_the_latency_of_a_step_is_its_longest_chain() -> None:
    ops = [StepOp("arith", 64, "f16"), StepOp("function", 64, "f16"), StepOp("arith", 64, "f16", (0, 1))]
    assert step_latency(ops, SFU) == 16 + 4


def test_a_row_against_a_block_takes_whole_passes() -> None:
    matrix = SPYRE.unit("PT").matrix
    assert matrix is not None
    assert matrix_cycles(256, 64, "f16", matrix) == 32
    assert matrix_cycles(250, 65, "f16", matrix) == 64
    assert matrix_cycles(8, 64, "f16", matrix, output_bytes=256, link_bytes=128) == 2
    with pytest.raises(HeadraceError, match="does not multiply f64"):
        matrix_cycles(8, 8, "f64", matrix)


def test_work_survives_its_attribute() -> None:
    work = Work(10, 20, {"f16": 30}, {("arith", "f32"): 40, ("function", "f16"): 50})
    assert Work.from_attribute(work.to_attribute()) == work
    assert (work + work).lane_ops["arith", "f32"] == 80
    with pytest.raises(HeadraceError, match="unknown entry"):
        Work.from_attribute({"ops.wheel.f16": 1})


def test_contractions_run_on_the_vector_unit_where_there_is_no_matrix_unit() -> None:
    work = Work(macs={"f16": 1 << 30})
    assert bound(work, SPYRE).resource == "PT"
    assert bound(work, SPYRE).cycles == (1 << 30) / 512 / 64
    sample = bound(work, device("sample"))
    assert sample.resource == "SFU"
    assert sample.cycles == (1 << 30) / 64 / 4


def test_one_core_reads_no_faster_than_its_requests_in_flight() -> None:
    alone = device("spyre-1core")
    assert ddr_cycles(1 << 20, 0, alone) == pytest.approx((1 << 20) / 11.01, rel=1e-3)
    assert ddr_cycles(1 << 20, 0, SPYRE) == pytest.approx((1 << 20) / 100)


@settings(max_examples=50, deadline=None)
@given(
    reads=st.integers(0, 1 << 30),
    writes=st.integers(0, 1 << 30),
    macs=st.integers(0, 1 << 40),
    lanes=st.integers(0, 1 << 40),
    kind=st.sampled_from(CLASSES),
)
def test_more_work_never_has_a_smaller_bound(
    reads: int, writes: int, macs: int, lanes: int, kind: str
) -> None:
    for preset in ("spyre", "sample", "tiny"):
        machine = device(preset)
        less = Work(reads, writes, {"f16": macs}, {(kind, "f32"): lanes})
        more = less + Work(1 << 20, 1 << 20, {"f16": 1 << 20}, {(kind, "f32"): 1 << 20})
        assert 0 <= bound(less, machine).cycles <= bound(more, machine).cycles
