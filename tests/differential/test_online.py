"""Attention in blocks of keys on the machine: as all keys at once where that is faster, right in any case."""

from __future__ import annotations

import json

import pytest
from benchmarks.schedule import timed_cycles

from headrace.arch.presets import device
from headrace.runtime.program import Program
from tests.differential.test_kernels import compare
from tests.differential.test_loops import flash_attention
from tests.schedule.online_kernels import Causal, Online, causal, kernel
from tests.schedule.test_model_online import MANY_BLOCKS, ONE_BLOCK


@pytest.mark.parametrize("number", range(len(ONE_BLOCK)), ids=list(ONE_BLOCK))
def test_blocks_of_keys_run_as_one(number: int) -> None:
    chosen = ("spyre-1core", "tiny", "sample", "spyre")[number % 4]
    compare(kernel([*ONE_BLOCK.values()][number]), chosen, is_checked=True)


@pytest.mark.parametrize("number", range(len(MANY_BLOCKS)), ids=list(MANY_BLOCKS))
def test_blocks_that_are_not_one_run_one_after_the_other(number: int) -> None:
    chosen = ("tiny", "spyre-1core")[number % 2]
    compare(kernel([*MANY_BLOCKS.values()][number]), chosen, is_checked=True)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("mask", ["", "causal"])
def test_rows_and_keys_that_fill_no_vector_run(dtype: str, mask: str) -> None:
    """70 rows, 5 blocks of 27 keys."""
    narrow = "f32" if dtype == "f32" else dtype
    written = Online(70, 135, 27, 33, 40, dtype, narrow, mask=mask, results="logsum")
    compare(kernel(written), "spyre", is_checked=True)


QUARTER = device("spyre", {"lx.size_bytes": 524288})


@pytest.mark.parametrize("length, width", [(1024, 64), (1024, 128), (256, 64)])
@pytest.mark.parametrize("parts", [1, 2, 8])
def test_blocks_of_any_size_take_as_long_as_whole_rows(length: int, width: int, parts: int) -> None:
    loop, rows = (flash_attention(8, length, width, 4, size) for size in (length // parts, None))
    whole = timed_cycles(rows.compile("spyre"))
    assert abs(timed_cycles(loop.compile("spyre")) - whole) <= 0.05 * whole


def test_keys_that_do_not_fit_the_scratchpad_come_in_the_blocks_that_whole_rows_take() -> None:
    loop, rows = (flash_attention(8, 1024, 128, 4, size) for size in (32, None))
    whole = timed_cycles(rows.compile(QUARTER))
    assert abs(timed_cycles(loop.compile(QUARTER)) - whole) <= 0.05 * whole


def _in_blocks(program: Program) -> bool:
    return bool(program.plan["in_blocks"])


@pytest.mark.parametrize("keys, rows, tiles", [(1024, 256, 4), (1024, 128, 32)])
def test_a_loop_stays_one_where_whole_rows_are_predicted_to_be_slower(
    keys: int, rows: int, tiles: int
) -> None:
    """Keys do not fit the scratchpad, and the maximum is stored, too: values pass through device memory or
    keys come once for every few rows.
    """
    loop = kernel(Online(rows, keys, 128, 128, 128, results="logsum", tiles=tiles))
    whole = kernel(Online(rows, keys, keys, 128, 128, results="logsum", tiles=tiles))
    program = loop.compile(QUARTER)
    assert _in_blocks(program) and not _in_blocks(loop.compile("spyre"))
    assert timed_cycles(program) < 0.6 * timed_cycles(whole.compile(QUARTER))


def test_a_plan_says_whether_blocks_stay_and_is_replayed() -> None:
    loop = flash_attention(2, 64, 32, 1, 16)
    joined, apart = loop.compile("spyre"), loop.compile("spyre", without=("joining",))
    assert not _in_blocks(joined) and _in_blocks(apart)
    assert joined.bound == apart.bound  # it depends on no plan
    for program in (joined, apart):
        again = loop.compile("spyre", plan=json.loads(json.dumps(program.plan)))
        assert again.dfir == program.dfir


@pytest.mark.parametrize("way", ["all", "own", "rows", "halves"])
@pytest.mark.parametrize("chosen", ["spyre", "tiny"])
def test_causal_blocks_run(way: str, chosen: str) -> None:
    compare(causal(Causal(way)), chosen, is_checked=True)


@pytest.mark.parametrize("way", ["all", "own", "rows"])
def test_causal_blocks_take_as_long_as_whole_rows(way: str) -> None:
    loop, rows = (causal(Causal(each, 8, 512, 64, 4, 32, 64)) for each in (way, "whole"))
    whole = timed_cycles(rows.compile("spyre"))
    assert abs(timed_cycles(loop.compile("spyre")) - whole) <= 0.05 * whole
