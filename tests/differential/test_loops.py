"""Loops that stay loops: recurrences whose trip counts differ from core to core."""

from __future__ import annotations

import json

import pytest
from benchmarks.kernels.text import Text, tensor
from benchmarks.schedule import timed_cycles

from headrace import ktir
from headrace.arch.presets import device
from headrace.runtime.kernel import Kernel
from headrace.runtime.summary import summary
from tests.differential.test_kernels import compare


def recurrence(cores: int, rows: int, columns: int) -> str:
    """y[tile] = h after h = tanh(h + w[j]) for j = 0 .. tile, w [cores, rows, columns] read by every tile."""
    t = Text()
    shape = (rows, columns)
    w = t.view("w", (cores * rows, columns), "f32")
    y = t.view("y", (cores * rows, columns), "f32")
    zero = t.constant("0.0", "f32", "%zero")
    tile = t.let("ktdp.get_compute_tile_id : index", "tile")
    end = t.let(f"arith.addi {tile}, {t.index(1)} : index", "end")
    start, kind = t.fill(zero, shape, "f32"), tensor(shape, "f32")
    t.op(f"%h = scf.for %j = {t.index(0)} to {end} step {t.index(1)} iter_args(%a = {start}) -> ({kind}) {{")
    row = t.let(f"arith.muli %j, {t.index(rows)} : index", "row")
    part = t.load(w, [row, t.index(0)], shape)
    body = ["%s = arith.addf %in0, %in1 : f32", "%out = math.tanh %s : f32"]
    after = t.generic([("%a", shape, "f32", None), (part, shape, "f32", None)], shape, "f32", body)
    t.op(f"scf.yield {after} : {kind}")
    t.op("}")
    first = t.let(f"arith.muli {tile}, {t.index(rows)} : index", "first")
    t.store("%h", y, [first, t.index(0)], shape)
    return t.module("recurrence", "%w: index, %y: index", (cores,), "// trips by tile")


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("cores,rows,columns", [(4, 8, 64), (3, 5, 33)])
def test_a_recurrence_runs_as_often_as_its_tile_says(
    device: str, cores: int, rows: int, columns: int
) -> None:
    compare(Kernel(recurrence(cores, rows, columns)), device, is_checked=True)


def online_attention(queries: int, keys: int, block: int, is_causal: bool) -> Kernel:
    """y = softmax(q k^T) v with a largest score, a sum and a result carried from block to block of keys."""
    depth = 8
    with ktir.kernel("online") as k:
        q = k.argument("q", (queries, depth), "f16")[:, :].load()
        key_view, value_view = (k.argument(name, (keys, depth), "f16") for name in "kv")
        y = k.argument("y", (queries, depth), "f32")
        start = {
            "top": k.full((queries, 1), -1e30, "f32"),
            "total": k.zeros((queries, 1), "f32"),
            "mix": k.zeros((queries, depth), "f32"),
        }
        with k.loop(0, keys, block, **start) as loop:
            at = loop.index
            scores = q @ key_view[at : at + block, :].load().T
            if is_causal:
                rows = k.arange(queries, "i32").reshape(queries, 1)
                columns = (k.arange(block, "i32") + k.number(at, "i32")).reshape(1, block)
                scores = ktir.where(rows >= columns, scores, -1e30)
            top = ktir.maximum(loop.top, scores.max(axis=1, keepdims=True))
            shrunk, powers = ktir.exp(loop.top - top), ktir.exp(scores - top)
            loop.total = loop.total * shrunk + powers.sum(axis=1, keepdims=True)
            loop.mix = loop.mix * shrunk + powers.cast("f16") @ value_view[at : at + block, :].load()
            loop.top = top
        y[:, :] = loop.mix / loop.total
    return k.kernel


@pytest.mark.parametrize("device", ["spyre-1core", "tiny", "sample"])
@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("is_causal", [False, True])
def test_what_a_phase_computes_again_is_made_of_what_the_loop_carried_into_the_iteration(
    device: str, block: int, is_causal: bool
) -> None:
    compare(online_attention(4, 6, block, is_causal), device, is_checked=True, without=("joining",))


@pytest.mark.parametrize("device", ["spyre-1core", "tiny"])
@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("trips", [2, 3])
def test_a_carried_value_may_stay_what_it_was(device: str, is_nested: bool, trips: int) -> None:
    """The loop hands it on and reads it: a maximum and a product with what was there before the loop."""
    with ktir.kernel("kept") as k:
        x = k.argument("x", (4, 8), "f32")
        y, z = k.argument("y", (4, 1), "f32"), k.argument("z", (4, 8), "f32")
        start = {"top": k.full((4, 1), -1.0, "f32"), "kept": k.full((4, 8), 0.5, "f32")}
        with k.loop(0, trips, **start) as outer:
            with k.loop(0, trips if is_nested else 1, top=outer.top, kept=outer.kept) as loop:
                grown = (x[:, :].load() * loop.kept).max(axis=1, keepdims=True)
                loop.top = ktir.tanh(loop.top) + grown
            outer.top, outer.kept = loop.top, loop.kept
        y[:, :], z[:, :] = outer.top, outer.kept
    compare(k.kernel, device, is_checked=True)


def flash_attention(heads: int, length: int, width: int, parts: int, block: int | None) -> Kernel:
    """y = softmax(q k^T / sqrt(width)) v; a tile owns length/parts queries of a head and walks its keys in a
    loop with a carried maximum, sum and result, or takes them all at once (no `block`).
    """
    rows = length // parts
    with ktir.kernel("flash", grid=[heads * parts]) as k:
        q, keys, values, y = (k.argument(name, (heads * length, width), "f16") for name in "qkvy")
        mine, first = k.tile_id() * rows, (k.tile_id() // parts) * length
        queries = q[mine : mine + rows, :].load()

        def scores(at, size: int):
            return (queries @ keys[at : at + size, :].load().T) * width**-0.5

        def mixed(powers, at, size: int):
            return powers.cast("f16") @ values[at : at + size, :].load()

        if block is None:
            found = scores(first, length)
            powers = ktir.exp(found - found.max(axis=1, keepdims=True))
            total, mix = powers.sum(axis=1, keepdims=True), mixed(powers, first, length)
        else:
            start = {
                "top": k.full((rows, 1), -1e30, "f32"),
                "total": k.zeros((rows, 1), "f32"),
                "mix": k.zeros((rows, width), "f32"),
            }
            with k.loop(0, length, block, **start) as loop:
                at = first + loop.index
                found = scores(at, block)
                top = ktir.maximum(loop.top, found.max(axis=1, keepdims=True))
                shrunk, powers = ktir.exp(loop.top - top), ktir.exp(found - top)
                loop.total = loop.total * shrunk + powers.sum(axis=1, keepdims=True)
                loop.mix = loop.mix * shrunk + mixed(powers, at, block)
                loop.top = top
            total, mix = loop.total, loop.mix
        y[mine : mine + rows, :] = (mix / total).cast("f16")
    return k.kernel


def test_what_a_loop_reads_of_a_load_before_it_is_loaded_once() -> None:
    kernel = flash_attention(1, 64, 64, 1, 16)
    run = compare(kernel, "spyre", is_checked=True, without=("joining",))
    assert summary(run)["bytes"]["ddr_read"] == 3 * 64 * 64 * 2  # queries, keys and values
    (part,) = run.program.plan["classes"]
    assert part["is_holding"]
    again = kernel.compile("spyre", plan=json.loads(json.dumps(run.program.plan)))
    assert again.dfir == run.program.dfir
    apart = compare(kernel, "spyre", is_checked=True, without=("joining", "residency"))
    assert not apart.program.plan["classes"][0]["is_holding"]


@pytest.mark.parametrize("width", [64, 128])
def test_attention_in_a_loop_takes_at_most_a_quarter_longer_than_over_whole_rows(width: int) -> None:
    blocks, whole = (flash_attention(8, 1024, width, 4, block) for block in (128, None))
    looped = timed_cycles(blocks.compile("spyre", without=("joining",)))
    assert looped <= 1.25 * timed_cycles(whole.compile("spyre"))


@pytest.mark.parametrize(
    "kernel, lx_bytes",
    [
        (flash_attention(2, 128, 32, 1, 32), 32768),
        (flash_attention(2, 256, 32, 2, 16), 65536),
        (Kernel(recurrence(4, 64, 64)), 32768),  # what the loop loads has rows, too
        (online_attention(128, 128, 32, True), 16384),  # the numbers of the columns have none
    ],
)
def test_a_loop_whose_values_do_not_fit_runs_strip_by_strip(kernel: Kernel, lx_bytes: int) -> None:
    small = device("spyre", {"lx.size_bytes": lx_bytes})
    run = compare(kernel, small, is_checked=True, without=("joining",))
    for part in run.program.plan["classes"]:
        assert part["strips"]["rows"] <= 64 and set(part["homes"].values()) == {"lx"}


def test_a_row_that_reads_other_rows_of_the_iteration_before_keeps_its_loop_whole() -> None:
    with ktir.kernel("mixing") as k:
        x, y = (k.argument(name, (128, 128), "f32") for name in "xy")
        with k.loop(0, 3, sum=x[:, :].load()) as loop:
            top = loop.sum.max(axis=0, keepdims=True)
            loop.sum = ktir.tanh(loop.sum - top) + loop.sum.max(axis=1, keepdims=True)
        y[:, :] = loop.sum
    run = compare(k.kernel, device("spyre", {"lx.size_bytes": 65536}), is_checked=True)
    assert not run.program.plan["classes"][0]["strips"]


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
def test_what_a_loop_begins_with_is_copied_beside_what_it_holds(device: str) -> None:
    """Two copies alike in everything but who makes them."""
    with ktir.kernel("alike") as k:
        x, y, z = (k.argument(name, (4, 8), "f32") for name in "xyz")
        with k.loop(0, 3, sum=x[:, :].load()) as loop:
            loop.sum = ktir.maximum(loop.sum * 2.0, y[:, :].load())
        z[:, :] = loop.sum
    compare(k.kernel, device, is_checked=True)
