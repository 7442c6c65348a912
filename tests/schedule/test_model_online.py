"""Loops over blocks of keys with a running maximum: which are one block of all keys, and which are not."""

from __future__ import annotations

from math import inf

import pytest

from headrace import ktir
from headrace.schedule.graph import Loop, TileGraph
from headrace.schedule.model import graph_text
from tests.schedule.ktir_texts import Text
from tests.schedule.model_checks import check, graph_of, loops
from tests.schedule.online_kernels import Causal, Online, causal, kernel
from tests.schedule.test_model_loops import attention

PLAIN = Online()
SQUARE = Online(rows=12)

ONE_BLOCK = {
    "columns of maxima": PLAIN,
    "no unit axes": PLAIN.but(is_flat=True, results="all"),
    "keys as columns": PLAIN.but(is_turned=True),
    "operands the other way round": PLAIN.but(is_swapped=True, guard="exponent"),
    "bf16": PLAIN.but(dtype="bf16", narrow="bf16"),
    "f32": PLAIN.but(dtype="f32", narrow="f32"),
    "f16 and wide powers": PLAIN.but(narrow="f32"),
    "from a large negative number": PLAIN.but(start=-1e30),
    "scaled in the exponent": PLAIN.but(scaling="exponent"),
    "scaled peaks": PLAIN.but(scaling="maximum"),
    "not scaled": PLAIN.but(scaling="none"),
    "powers of two": PLAIN.but(by_two=True),
    "extents that divide nothing": PLAIN.but(rows=7, keys=15, block=3, depth=9, width=7),
    "blocks of one key": PLAIN.but(block=1),
    "one row": PLAIN.but(rows=1, results="logsum"),
    "from a later key on": PLAIN.but(first=4),
    "maximum, sum and result": PLAIN.but(results="all"),
    "logarithm of the sum": PLAIN.but(results="logsum"),
    "no result": PLAIN.but(has_mix=False),
    "squares of the values": PLAIN.but(twice=True),
    "one loop after another": PLAIN.but(keys=24, parts=3, results="all"),
    "causal": SQUARE.but(mask="causal"),
    "causal in two loops": SQUARE.but(mask="causal", keys=16, parts=2),
    "causal, hidden by a number": SQUARE.but(mask="causal", hidden=-1e30, start=-1e30),
    "a tail is hidden": PLAIN.but(mask="tail"),
    "blocks beyond the diagonal left out": PLAIN.but(mask="causal", tiles=3, rows=4, keys=16, is_bound=True),
    "hidden first, guarded in the exponent": SQUARE.but(mask="late", guard="exponent"),
    "hidden first, guarded powers": SQUARE.but(mask="late", guard="powers"),
    "hidden first, guarded twice": SQUARE.but(mask="late", guard="both", is_flat=True),
    "hidden first, from a number": SQUARE.but(mask="late", start=-1e30),
    "hidden first by a number": SQUARE.but(mask="late", hidden=-1e9),
    "a mask from memory, from a number": PLAIN.but(mask="loaded", start=-1e30),
    "a mask from memory, guarded": PLAIN.but(mask="loaded", guard="both"),
}

MANY_BLOCKS = {
    "rows that see nothing of the first block": SQUARE.but(mask="late"),
    "hidden first, only the factor is guarded": SQUARE.but(mask="late", guard="", start=-inf),
    "a mask from memory": PLAIN.but(mask="loaded"),
    "a minimum": PLAIN.but(broken="other maximum"),
    "a maximum that also grows by itself": PLAIN.but(broken="shifted maximum"),
    "powers under the maximum before": PLAIN.but(broken="old maximum", start=-1e30),
    "a factor of another power": PLAIN.but(broken="other factor", start=-1e30),
    "powers of the peak": PLAIN.but(broken="peak again"),
    "no factor": PLAIN.but(broken="no factor", start=-1e30),
    "the maximum of every iteration is stored": PLAIN.but(broken="stored"),
    "squares of powers": PLAIN.but(broken="sum of squares"),
    "results of a quotient": PLAIN.but(broken="normalised"),
    "a result rounded in every iteration": PLAIN.but(broken="narrow sums"),
}


def _alone(graph: TileGraph) -> bool:
    return not any(isinstance(s, Loop) for part in graph.classes for s in part.body)


@pytest.mark.parametrize("written", ONE_BLOCK.values(), ids=ONE_BLOCK)
def test_blocks_of_keys_are_one_block(written: Online) -> None:
    graph = check(kernel(written).text)
    assert graph.has_blocks and _alone(graph)


@pytest.mark.parametrize("written", MANY_BLOCKS.values(), ids=MANY_BLOCKS)
def test_blocks_that_are_not_one_block_stay_a_loop(written: Online) -> None:
    graph = check(kernel(written).text)
    assert not graph.has_blocks and not _alone(graph)


@pytest.mark.parametrize("causal", [False, True])
def test_sums_that_begin_with_the_scaled_ones_are_one_block(causal: bool) -> None:
    graph = check(attention(2, 32, 8, 8, causal))
    assert graph.has_blocks and _alone(graph)


def test_one_kernel_may_keep_its_loops() -> None:
    text = kernel(PLAIN).text
    assert len(loops(check(text, blocks="apart"))) == 1


def _squares(peak_axis: int) -> str:
    """Powers of x under running maxima along rows (peak_axis 1) or columns, in blocks, summed by rows."""
    t = Text()
    zero, by, end = t.index(0), t.index(4), t.index(12)
    x, y = t.view("x", [4, 12]), t.view("y", [4])
    top, total = t.fill("-1.0e30", [4], "f32"), t.fill("0.0", [4], "f32")
    row, square = "tensor<4xf32>", "tensor<4x4xf32>"
    t.do(
        f"%r:2 = scf.for %j = {zero} to {end} step {by} iter_args(%m = {top}, %l = {total}) -> "
        f"({row}, {row}) {{"
    )
    part = t.load(x, [4, 12], "f32", [zero, "%j"], [4, 4])
    low = t.fill("0xFF800000", [4], "f32")
    peak = t.let(
        f"linalg.reduce {{ arith.maximumf }} ins({part} : {square}) outs({low} : {row}) dimensions = [1]"
    )
    new = t.let(f"arith.maximumf %m, {peak} : {row}")
    alpha = t.let(f"math.exp {t.let(f'arith.subf %m, {new} : {row}')} : {row}")
    wide = t.let(
        f"linalg.broadcast ins({new} : {row}) outs({t.empty([4, 4], 'f32')} : {square}) dimensions = "
        f"[{peak_axis}]"
    )
    powers = t.let(f"math.exp {t.let(f'arith.subf {part}, {wide} : {square}')} : {square}")
    scaled = t.let(f"arith.mulf %l, {alpha} : {row}")
    grown = t.let(
        f"linalg.reduce {{ arith.addf }} ins({powers} : {square}) outs({scaled} : {row}) dimensions = [1]"
    )
    t.do(f"scf.yield {new}, {grown} : {row}, {row}\n}}")
    t.store("%r#1", y, [4], "f32", [zero], [4])
    return t.module()


def test_the_maximum_of_a_row_belongs_to_the_powers_of_this_row() -> None:
    assert check(_squares(1)).has_blocks
    assert not check(_squares(0)).has_blocks


@pytest.mark.parametrize("block", [1, 4, 6])
def test_the_size_of_the_blocks_leaves_no_trace(block: int) -> None:
    """Maxima start from a number, so the first block has no term of its own either."""
    whole, parts = (kernel(SQUARE.but(mask="causal", start=-1e30, block=n)).text for n in (12, block))
    assert graph_text(graph_of(parts)) == graph_text(graph_of(whole))


@pytest.mark.parametrize("way", ["all", "own", "rows"])
def test_causal_blocks_are_one_block_with_a_mask_wherever_a_tile_ends(way: str) -> None:
    """What lies beyond the last query of a tile or of a block of its queries is hidden, so all are alike."""
    whole = check(causal(Causal("whole")).text)
    graph = check(causal(Causal(way)).text)
    assert graph.has_blocks and _alone(graph) and len(graph.classes) == 1
    assert [len(c.body) for c in graph.classes] == [len(c.body) for c in whole.classes]


@pytest.mark.parametrize("way", ["all", "own", "halves"])
def test_what_only_a_longer_loop_computes_is_no_work(way: str) -> None:
    text = causal(Causal(way)).text
    joined, exact = graph_of(text), check(text, blocks="exact")
    assert joined.work == exact.work
    assert len(exact.classes) == (1 if way == "all" else 3)


@pytest.mark.parametrize(
    "written",
    [
        Causal("own", hidden=-1e30),  # a hidden score is not known to be far below the others
        Causal("own", is_updating=True),  # what lies beyond may not be there yet
        Causal("halves"),  # nothing hides what lies beyond
    ],
)
def test_a_loop_ends_where_its_tile_ends_unless_all_beyond_is_hidden(written: Causal) -> None:
    graph = check(causal(written).text)
    assert graph.has_blocks and _alone(graph) and len(graph.classes) == 3


def test_a_loop_goes_on_only_as_far_as_there_are_keys() -> None:
    """Tile 0 begins at key 4 and would go on to key 15."""
    with ktir.kernel("shifted", grid=[3]) as k:
        q, keys, y = (k.argument(name, (n, 4), "f32") for name, n in (("q", 12), ("k", 16), ("y", 12)))
        low = (2 - k.tile_id()) * 2
        mine = k.tile_id() * 4
        start = {"top": k.full((4, 1), -1e30, "f32"), "mix": k.zeros((4, 4), "f32")}
        with k.loop(low, low + k.tile_id() * 4 + 4, 4, **start) as loop:
            at = loop.index
            part = keys[at : at + 4, :].load()
            rows = (k.arange(4, "i32") + k.number(low + mine, "i32")).reshape(4, 1)
            columns = (k.arange(4, "i32") + k.number(at, "i32")).reshape(1, 4)
            found = ktir.where(rows >= columns, q[mine : mine + 4, :].load() @ part.T, -inf)
            top = ktir.maximum(loop.top, found.max(axis=1, keepdims=True))
            powers = ktir.exp(found - top)
            loop.mix = loop.mix * ktir.exp(loop.top - top) + powers @ part
            loop.top = top
        y[mine : mine + 4, :] = loop.mix
    text = k.kernel.text
    assert len(check(text).classes) == 1  # there is more than the tiles read
    short = (
        text.replace("<16x4xf32>", "<12x4xf32>").replace("[16, 4]", "[12, 4]").replace("15 - d0", "11 - d0")
    )
    graph = check(short)
    assert graph.has_blocks and len(graph.classes) == 3
