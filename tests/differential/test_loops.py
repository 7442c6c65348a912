"""Loops that stay loops: recurrences whose trip counts differ from core to core."""

from __future__ import annotations

import pytest
from benchmarks.kernels.text import Text, tensor

from headrace import ktir
from headrace.runtime.kernel import Kernel
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
    compare(online_attention(4, 6, block, is_causal), device, is_checked=True)


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
