"""Author loops: which dissolve into dims, which stay, and that both compute what the author wrote."""

from __future__ import annotations

import pytest

from headrace.schedule.graph import PerCore
from tests.schedule.ktir_texts import Text, identity, kind
from tests.schedule.model_checks import check, computes, graph_of, loads, loops

ROW = "affine_map<(d0, d1) -> (d0)>"


def reduce_rows(
    t: Text, value: str, rows: int, columns: int, combiner: str = "addf", init: str = "0.0"
) -> str:
    """linalg.reduce along the columns."""
    start = t.fill(init, [rows], "f32")
    return t.let(
        f"linalg.reduce {{ arith.{combiner} }} ins({value} : tensor<{rows}x{columns}xf32>) "
        f"outs({start} : tensor<{rows}xf32>) dimensions = [1]"
    )


def spread_rows(t: Text, value: str, rows: int, columns: int) -> str:
    """One number per row as a matrix."""
    empty = t.empty([rows, columns], "f32")
    return t.let(
        f"linalg.broadcast ins({value} : tensor<{rows}xf32>) outs({empty} : tensor<{rows}x{columns}xf32>) "
        "dimensions = [1]"
    )


def rows_kernel(rows: int, columns: int, block: int, grid: int, limit: str | None = None) -> str:
    """x - row sums of x, `block` rows a time, rows split over the grid."""
    t = Text([grid])
    (tile,) = t.tile_ids()
    zero, step = t.index(0), t.index(block)
    share = t.index(-(-rows // grid // block) * block)
    low = t.let(f"arith.muli {tile}, {share} : index")
    high = t.let(f"arith.addi {low}, {share} : index")
    if limit is not None:
        end = t.index(rows)
        high = t.let(f"arith.minsi {high}, {end} : index")
    x, y = t.view("x", [rows, columns]), t.view("y", [rows, columns])
    t.do(f"scf.for %r = {low} to {high} step {step} {{")
    value = t.load(x, [rows, columns], "f32", ["%r", zero], [block, columns])
    spread = spread_rows(t, reduce_rows(t, value, block, columns), block, columns)
    result = t.let(f"arith.subf {value}, {spread} : tensor<{block}x{columns}xf32>")
    t.store(result, y, [rows, columns], "f32", ["%r", zero], [block, columns])
    t.do("}")
    return t.module()


@pytest.mark.parametrize("block", [1, 4])
def test_a_loop_over_touching_rows_becomes_one_dim(block: int) -> None:
    graph = check(rows_kernel(32, 10, block, 2))
    assert not loops(graph)
    assert [d.extent for d in computes(graph)[0].dims] == [16, 10]


def test_tiles_that_run_a_loop_differently_often_part_into_classes() -> None:
    graph = check(rows_kernel(28, 10, 4, 4, limit="yes"))
    assert [c.cores for c in graph.classes] == [(0, 1, 2), (3,)]
    assert not loops(graph)


def test_one_core_runs_touching_tiles_as_one() -> None:
    graph = check(rows_kernel(32, 10, 4, 8), "spyre-1core")
    assert not loops(graph)
    assert computes(graph)[0].dims[0].extent == 32


def test_tiles_of_a_core_that_do_not_touch_become_parallel_rounds() -> None:
    graph = check(rows_kernel(32, 10, 4, 8), "tiny")
    (loop,) = loops(graph)
    assert loop.is_parallel and loop.trip == 4


def matmul(
    m: int, n: int, k: int, step: int, accumulator: str = "f32", init: str = "0.0", element: str = "f16"
) -> str:
    """A K loop that accumulates through outs."""
    t = Text()
    zero, end, by = t.index(0), t.index(k), t.index(step)
    a, b = t.view("a", [m, k], element), t.view("b", [k, n], element)
    c = t.view("c", [m, n], accumulator)
    start = t.empty([m, n], accumulator) if init == "empty" else t.fill(init, [m, n], accumulator)
    t.do(
        f"%sum = scf.for %k = {zero} to {end} step {by} iter_args(%acc = {start}) -> "
        f"(tensor<{kind([m, n], accumulator)}>) {{"
    )
    left = t.load(a, [m, k], element, [zero, "%k"], [m, step])
    right = t.load(b, [k, n], element, ["%k", zero], [step, n])
    result = t.let(
        f"linalg.matmul ins({left}, {right} : tensor<{kind([m, step], element)}>, "
        f"tensor<{kind([step, n], element)}>) outs(%acc : tensor<{kind([m, n], accumulator)}>) -> "
        f"tensor<{kind([m, n], accumulator)}>"
    )
    t.do(f"scf.yield {result} : tensor<{kind([m, n], accumulator)}>")
    t.do("}")
    t.store("%sum", c, [m, n], accumulator, [zero, zero], [m, n])
    return t.module()


@pytest.mark.parametrize("init", ["0.0", "1.5", "empty"])
def test_a_k_loop_in_f32_becomes_one_contraction(init: str) -> None:
    graph = check(matmul(5, 7, 24, 8, init=init))
    assert not loops(graph)
    (nest,) = computes(graph)
    assert nest.contraction is not None and [d.extent for d in nest.dims] == [5, 7, 24]
    assert nest.outs[0].init == (1.5 if init == "1.5" else 0.0)


def test_a_k_loop_that_rounds_to_f16_every_time_stays() -> None:
    graph = check(matmul(5, 7, 24, 8, accumulator="f16"))
    assert len(loops(graph)) == 1 and not loops(graph)[0].is_parallel


def accumulate(op: str, init: str, block: int, element: str = "f32") -> str:
    """acc = acc op x, a pointwise accumulation over blocks of rows."""
    t = Text()
    zero, end, by = t.index(0), t.index(4 * block), t.index(block)
    x, y = t.view("x", [4 * block, 6], element), t.view("y", [block, 6], element)
    start = t.fill(init, [block, 6], element)
    of = f"tensor<{kind([block, 6], element)}>"
    t.do(f"%sum = scf.for %k = {zero} to {end} step {by} iter_args(%acc = {start}) -> ({of}) {{")
    value = t.load(x, [4 * block, 6], element, ["%k", zero], [block, 6])
    result = t.let(f"arith.{op} %acc, {value} : {of}")
    t.do(f"scf.yield {result} : {of}")
    t.do("}")
    t.store("%sum", y, [block, 6], element, [zero, zero], [block, 6])
    return t.module()


@pytest.mark.parametrize("op", ["addf", "maximumf", "mulf"])
def test_single_rows_accumulated_pointwise_become_a_reduction(op: str) -> None:
    graph = check(accumulate(op, "1.0", 1))
    assert not loops(graph)
    assert any(d.kind == "reduction" and d.extent == 4 for d in computes(graph)[0].dims)


def test_blocks_of_rows_accumulated_pointwise_stay_a_loop() -> None:
    assert len(loops(check(accumulate("addf", "0.0", 3)))) == 1


def test_a_difference_carried_on_the_right_stays_a_loop() -> None:
    text = accumulate("subf", "0.0", 1)
    assert len(loops(check(text))) == 1


def test_an_in_place_row_loop_dissolves() -> None:
    t = Text()
    zero, end, by = t.index(0), t.index(12), t.index(3)
    x = t.view("x", [12, 5])
    t.do(f"scf.for %r = {zero} to {end} step {by} {{")
    value = t.load(x, [12, 5], "f32", ["%r", zero], [3, 5])
    result = t.let(f"math.tanh {value} : tensor<3x5xf32>")
    t.store(result, x, [12, 5], "f32", ["%r", zero], [3, 5])
    t.do("}")
    assert not loops(check(t.module()))


def test_a_loop_that_reads_what_the_iteration_before_wrote_stays() -> None:
    t = Text()
    zero, one, end = t.index(0), t.index(1), t.index(7)
    x = t.view("x", [8, 5])
    t.do(f"scf.for %r = {zero} to {end} step {one} {{")
    value = t.load(x, [8, 5], "f32", ["%r", zero], [1, 5])
    result = t.let(f"math.tanh {value} : tensor<1x5xf32>")
    below = t.let(f"arith.addi %r, {one} : index")
    t.store(result, x, [8, 5], "f32", [below, zero], [1, 5])
    t.do("}")
    (loop,) = loops(check(t.module()))
    assert not loop.is_parallel


def test_a_loop_over_columns_of_two_arguments_keeps_the_axis_order() -> None:
    t = Text()
    zero, end, by = t.index(0), t.index(12), t.index(4)
    x, y = t.view("x", [6, 12]), t.view("y", [12, 6])
    t.do(f"scf.for %c = {zero} to {end} step {by} {{")
    value = t.load(x, [6, 12], "f32", [zero, "%c"], [6, 4])
    empty = t.empty([4, 6], "f32")
    turned = t.let(
        f"linalg.transpose ins({value} : tensor<6x4xf32>) outs({empty} : tensor<4x6xf32>) permutation = "
        f"[1, 0]"
    )
    t.store(turned, y, [12, 6], "f32", ["%c", zero], [4, 6])
    t.do("}")
    assert not loops(check(t.module()))


def test_coordinates_in_a_body_follow_a_dissolved_loop() -> None:
    t = Text()
    zero, end, by = t.index(0), t.index(12), t.index(4)
    y = t.view("y", [12, 5])
    t.do(f"scf.for %r = {zero} to {end} step {by} {{")
    empty = t.empty([4, 5], "f32")
    value = t.let(
        f'linalg.generic {{indexing_maps = [{identity(2)}], iterator_types = ["parallel", "parallel"]}} '
        f"outs({empty} : tensor<4x5xf32>) {{\n^bb0(%o: f32):\n"
        "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n%k = arith.addi %i, %r : index\n"
        "%l = arith.muli %j, %r : index\n%m = arith.addi %k, %l : index\n"
        "%n = arith.index_cast %m : index to i32\n%f = arith.sitofp %n : i32 to f32\n"
        "linalg.yield %f : f32\n} -> tensor<4x5xf32>"
    )
    t.store(value, y, [12, 5], "f32", ["%r", zero], [4, 5])
    t.do("}")
    check(t.module())


def test_a_loop_of_scalars_read_one_by_one_dissolves_along_a_new_axis() -> None:
    t = Text()
    zero, one, end = t.index(0), t.index(1), t.index(9)
    s, x, y = t.view("s", [9]), t.view("x", [9, 6]), t.view("y", [9, 6])
    t.do(f"scf.for %r = {zero} to {end} step {one} {{")
    factor = t.load(s, [9], "f32", ["%r"], [1])
    number = t.let(f"tensor.extract {factor}[{zero}] : tensor<1xf32>")
    value = t.load(x, [9, 6], "f32", ["%r", zero], [1, 6])
    spread = t.let(f"tensor.splat {number} : tensor<1x6xf32>")
    result = t.let(f"arith.mulf {value}, {spread} : tensor<1x6xf32>")
    t.store(result, y, [9, 6], "f32", ["%r", zero], [1, 6])
    t.do("}")
    graph = check(t.module())
    assert not loops(graph) and [d.extent for d in computes(graph)[0].dims] == [9, 6]


def test_a_loop_with_an_index_that_is_not_linear_is_unrolled() -> None:
    t = Text()
    zero, one, end, two, five = t.index(0), t.index(1), t.index(6), t.index(2), t.index(5)
    x, y = t.view("x", [6, 4]), t.view("y", [6, 4])
    t.do(f"scf.for %r = {zero} to {end} step {one} {{")
    twice = t.let(f"arith.muli %r, {two} : index")
    square = t.let(f"arith.muli %r, {twice} : index")
    row = t.let(f"arith.remui {square}, {five} : index")
    value = t.load(x, [6, 4], "f32", [row, zero], [1, 4])
    t.store(value, y, [6, 4], "f32", ["%r", zero], [1, 4])
    t.do("}")
    graph = check(t.module())
    assert not loops(graph)
    assert len(loads(graph)) == 3  # rows 0, 2 and 3, each used twice


def test_a_loop_variable_guarding_a_branch_is_unrolled() -> None:
    t = Text()
    zero, one, end = t.index(0), t.index(1), t.index(4)
    x, y = t.view("x", [4, 4]), t.view("y", [4, 4])
    t.do(f"scf.for %r = {zero} to {end} step {one} {{")
    value = t.load(x, [4, 4], "f32", ["%r", zero], [1, 4])
    first = t.let(f"arith.cmpi eq, %r, {zero} : index")
    t.do(f"%v = scf.if {first} -> (tensor<1x4xf32>) {{")
    t.do(f"%n = arith.negf {value} : tensor<1x4xf32>\nscf.yield %n : tensor<1x4xf32>\n}} else {{")
    t.do(f"scf.yield {value} : tensor<1x4xf32>\n}}")
    t.store("%v", y, [4, 4], "f32", ["%r", zero], [1, 4])
    t.do("}")
    check(t.module())


def test_an_index_carried_through_a_loop_is_followed() -> None:
    t = Text()
    zero, one, end, two = t.index(0), t.index(1), t.index(5), t.index(2)
    x, y = t.view("x", [10, 4]), t.view("y", [10, 4])
    t.do(f"%last = scf.for %r = {zero} to {end} step {one} iter_args(%at = {zero}) -> (index) {{")
    value = t.load(x, [10, 4], "f32", ["%at", zero], [2, 4])
    t.store(value, y, [10, 4], "f32", ["%at", zero], [2, 4])
    t.do(f"%next = arith.addi %at, {two} : index\nscf.yield %next : index\n}}")
    t.do(f"%back = arith.subi %last, {one} : index")
    row = t.load(x, [10, 4], "f32", ["%back", zero], [1, 4])
    t.store(row, y, [10, 4], "f32", [zero, zero], [1, 4])
    assert not loops(check(t.module()))


def attention(heads: int, length: int, depth: int, block: int, causal: bool) -> str:
    """Online softmax attention; a tile is one block of queries of one head."""
    t = Text([heads, length // block])
    head, q_block = t.tile_ids()
    zero, by, end = t.index(0), t.index(block), t.index(length)
    shape = [heads, length, depth]
    q, k, v, o = (t.view(n, shape, "f16") for n in "qkvo")
    first = t.let(f"arith.muli {q_block}, {by} : index")
    last = t.let(f"arith.addi {first}, {by} : index") if causal else end
    queries = t.load(q, shape, "f16", [head, first, zero], [1, block, depth])
    query = t.let(
        f"tensor.collapse_shape {queries} [[0, 1], [2]] : tensor<1x{block}x{depth}xf16> into "
        f"tensor<{block}x{depth}xf16>"
    )
    m0, l0 = t.fill("-1.0e30", [block], "f32"), t.fill("0.0", [block], "f32")
    a0 = t.fill("0.0", [block, depth], "f32")
    rows, matrix, square = (
        f"tensor<{block}xf32>",
        f"tensor<{block}x{depth}xf32>",
        f"tensor<{block}x{block}xf32>",
    )
    t.do(
        f"%res:3 = scf.for %kb = {zero} to {last} step {by} iter_args(%m = {m0}, %l = {l0}, %a = {a0}) -> "
        f"({rows}, {rows}, {matrix}) {{"
    )
    parts = []
    for view in (k, v):
        loaded = t.load(view, shape, "f16", [head, "%kb", zero], [1, block, depth])
        parts.append(
            t.let(
                f"tensor.collapse_shape {loaded} [[0, 1], [2]] : tensor<1x{block}x{depth}xf16> into "
                f"tensor<{block}x{depth}xf16>"
            )
        )
    zeros = t.fill("0.0", [block, block], "f32")
    empty = t.empty([depth, block], "f16")
    turned = t.let(
        f"linalg.transpose ins({parts[0]} : tensor<{block}x{depth}xf16>) outs({empty} : "
        f"tensor<{depth}x{block}xf16>) permutation = [1, 0]"
    )
    scores = t.let(
        f"linalg.matmul ins({query}, {turned} : tensor<{block}x{depth}xf16>, tensor<{depth}x{block}xf16>) "
        f"outs({zeros} : {square}) -> {square}"
    )
    guard = (
        "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n"
        f"%gi = arith.addi %i, {first} : index\n%gj = arith.addi %j, %kb : index\n"
        "%low = arith.constant -1.0e30 : f32\n%c = arith.cmpi sle, %gj, %gi : index\n"
        "%r = arith.select %c, %y, %low : f32\nlinalg.yield %r : f32"
        if causal
        else "linalg.yield %y : f32"
    )
    e1 = t.empty([block, block], "f32")
    masked = t.let(
        f'linalg.generic {{indexing_maps = [{identity(2)}, {identity(2)}], iterator_types = ["parallel", '
        f'"parallel"]}} ins({scores} : {square}) outs({e1} : {square}) {{\n'
        f"^bb0(%x: f32, %e: f32):\n%s = arith.constant 0.25 : f32\n%y = arith.mulf %x, %s : "
        f"f32\n{guard}\n}} -> {square}"
    )
    lowest = t.fill("0xFF800000", [block], "f32")
    top = t.let(
        f"linalg.reduce {{ arith.maximumf }} ins({masked} : {square}) outs({lowest} : {rows}) dimensions "
        f"= [1]"
    )
    new_m = t.let(f"arith.maximumf %m, {top} : {rows}")
    e2 = t.empty([block, block], "f32")
    p = t.let(
        f"linalg.generic {{indexing_maps = [{identity(2)}, {ROW}, {identity(2)}], iterator_types = "
        f'["parallel", "parallel"]}} ins({masked}, {new_m} : {square}, {rows}) outs({e2} : {square}) {{\n'
        "^bb0(%x: f32, %y: f32, %e: f32):\n%d = arith.subf %x, %y : f32\n%z = math.exp %d : "
        "f32\nlinalg.yield %z : f32\n"
        f"}} -> {square}"
    )
    change = t.let(f"arith.subf %m, {new_m} : {rows}")
    c = t.let(f"math.exp {change} : {rows}")
    scaled_l = t.let(f"arith.mulf %l, {c} : {rows}")
    new_l = t.let(
        f"linalg.reduce {{ arith.addf }} ins({p} : {square}) outs({scaled_l} : {rows}) dimensions = [1]"
    )
    e3 = t.empty([block, depth], "f32")
    wide_c = t.let(f"linalg.broadcast ins({c} : {rows}) outs({e3} : {matrix}) dimensions = [1]")
    scaled_a = t.let(f"arith.mulf %a, {wide_c} : {matrix}")
    narrow = t.let(f"arith.truncf {p} : {square} to tensor<{block}x{block}xf16>")
    new_a = t.let(
        f"linalg.matmul ins({narrow}, {parts[1]} : tensor<{block}x{block}xf16>, "
        f"tensor<{block}x{depth}xf16>) outs({scaled_a} : {matrix}) -> {matrix}"
    )
    t.do(f"scf.yield {new_m}, {new_l}, {new_a} : {rows}, {rows}, {matrix}")
    t.do("}")
    e4 = t.empty([block, depth], "f32")
    below = t.let(f"linalg.broadcast ins(%res#1 : {rows}) outs({e4} : {matrix}) dimensions = [1]")
    result = t.let(f"arith.divf %res#2, {below} : {matrix}")
    half = t.let(f"arith.truncf {result} : {matrix} to tensor<{block}x{depth}xf16>")
    out = t.let(
        f"tensor.expand_shape {half} [[0, 1], [2]] output_shape [1, {block}, {depth}] : "
        f"tensor<{block}x{depth}xf16> into tensor<1x{block}x{depth}xf16>"
    )
    t.store(out, o, shape, "f16", [head, first, zero], [1, block, depth])

    return t.module()


@pytest.mark.parametrize("causal", [False, True])
def test_online_softmax_may_stay_a_loop_with_a_trip_per_core(causal: bool) -> None:
    graph = check(attention(2, 32, 8, 8, causal), blocks="apart")
    (loop,) = loops(graph)
    assert len(loop.carried) == 3 and not loop.is_parallel
    assert len(graph.classes) == 1
    assert loop.trip == (PerCore((1, 1, 2, 2, 3, 3, 4, 4)) if causal else 4)


def test_dims_of_producer_and_consumer_have_one_name() -> None:
    graph = graph_of(rows_kernel(32, 10, 4, 2))
    first, second = computes(graph)
    assert [d.name for d in first.dims] == [d.name for d in second.dims]


def test_a_loop_parts_where_a_guard_changes_its_mind() -> None:
    t = Text()
    zero, one, end, three = t.index(0), t.index(1), t.index(9), t.index(3)
    x, y = t.view("x", [9, 4]), t.view("y", [9, 4])
    t.do(f"scf.for %r = {zero} to {end} step {one} {{")
    value = t.load(x, [9, 4], "f32", ["%r", zero], [1, 4])
    third = t.let(f"arith.cmpi eq, %r, {three} : index")
    t.do(f"%v = scf.if {third} -> (tensor<1x4xf32>) {{")
    t.do(f"%n = math.exp {value} : tensor<1x4xf32>\nscf.yield %n : tensor<1x4xf32>\n}} else {{")
    t.do(f"scf.yield {value} : tensor<1x4xf32>\n}}")
    t.store("%v", y, [9, 4], "f32", ["%r", zero], [1, 4])
    t.do("}")
    graph = check(t.module())
    assert [graph_load.origin[0].const for graph_load in loads(graph)] == [0, 3, 4] and not loops(graph)


def test_a_k_loop_with_a_shorter_last_step_is_two_contractions() -> None:
    t = Text()
    zero, end, by = t.index(0), t.index(20), t.index(8)
    a, b, c = t.view("a", [5, 20], "f16"), t.view("b", [20, 7], "f16"), t.view("c", [5, 7])
    start = t.fill("0.0", [5, 7], "f32")
    t.do(f"%sum = scf.for %k = {zero} to {end} step {by} iter_args(%acc = {start}) -> (tensor<5x7xf32>) {{")
    left_over = t.let(f"arith.subi {end}, %k : index")
    size = t.let(f"arith.minsi {left_over}, {by} : index")
    operands = []
    for view, shape, at, sets, kinds in (
        (a, "5x20", f"{zero}, %k", "(d0 >= 0, 4 - d0 >= 0, d1 >= 0, s0 - 1 - d1 >= 0)", "5x?"),
        (b, "20x7", f"%k, {zero}", "(d0 >= 0, s0 - 1 - d0 >= 0, d1 >= 0, 6 - d1 >= 0)", "?x7"),
    ):
        tile = t.let(
            f"ktdp.construct_access_tile {view}[{at}] symbols({size}) {{access_tile_order = {identity(2)}, "
            f"access_tile_set = affine_set<(d0, d1)[s0] : {sets}>}} : memref<{shape}xf16> -> "
            f"!ktdp.access_tile<{kinds}xindex>"
        )
        operands.append(t.let(f"ktdp.load {tile} : <{kinds}xindex> -> tensor<{kinds}xf16>"))
    result = t.let(
        f"linalg.matmul ins({operands[0]}, {operands[1]} : tensor<5x?xf16>, tensor<?x7xf16>) "
        "outs(%acc : tensor<5x7xf32>) -> tensor<5x7xf32>"
    )
    t.do(f"scf.yield {result} : tensor<5x7xf32>")
    t.do("}")
    t.store("%sum", c, [5, 7], "f32", [zero, zero], [5, 7])
    graph = check(t.module())
    assert not loops(graph) and [n.dims[2].extent for n in computes(graph)] == [16, 4]


def test_an_accumulating_scatter_stays_in_order() -> None:
    t = Text([2])
    (tile,) = t.tile_ids()
    zero, one, end, four = t.index(0), t.index(1), t.index(12), t.index(4)
    column = t.let(f"arith.muli {tile}, {four} : index")
    table, ids, y = t.view("table", [5, 8]), t.view("ids", [12], "i32"), t.view("y", [12, 8])
    t.do(f"scf.for %t = {zero} to {end} step {one} {{")
    row = t.let(
        f"ktdp.construct_indirect_access_tile intermediate_variables(%a, %b) {table}[ind({ids}[%t + %a]), "
        f"({column} + %b)] {{variables_space_order = {identity(2)}, variables_space_set = affine_set<(d0, "
        f"d1) : "
        "(d0 >= 0, -d0 >= 0, d1 >= 0, 3 - d1 >= 0)>} : memref<5x8xf32>, memref<12xi32> -> "
        "!ktdp.access_tile<1x4xindex>"
    )
    before = t.let(f"ktdp.load {row} : <1x4xindex> -> tensor<1x4xf32>")
    more = t.load(y, [12, 8], "f32", ["%t", column], [1, 4])
    after = t.let(f"arith.addf {before}, {more} : tensor<1x4xf32>")
    t.do(f"ktdp.store {after}, {row} : tensor<1x4xf32>, <1x4xindex>")
    t.do("}")
    (loop,) = loops(check(t.module()))
    assert not loop.is_parallel and loop.trip == 12


def test_a_rank_0_view_holds_one_number() -> None:
    t = Text()
    zero = t.index(0)
    t.args.append("%s: index")
    view = t.let(
        "ktdp.construct_memory_view %s, sizes: [], strides: [] {coordinate_set = affine_set<() : ()>, "
        "memory_space = #ktdp.memory_space<global>} : memref<f32>"
    )
    tile = t.let(
        f"ktdp.construct_access_tile {view}[] {{access_tile_order = affine_map<() -> ()>, "
        "access_tile_set = affine_set<() : ()>} : memref<f32> -> !ktdp.access_tile<index>"
    )
    loaded = t.let(f"ktdp.load {tile} : <index> -> tensor<f32>")
    number = t.let(f"tensor.extract {loaded}[] : tensor<f32>")
    value = t.load(t.view("x", [6]), [6], "f32", [zero], [6])
    wide = t.let(f"tensor.splat {number} : tensor<6xf32>")
    result = t.let(f"arith.mulf {value}, {wide} : tensor<6xf32>")
    t.store(result, t.view("y", [6]), [6], "f32", [zero], [6])
    (nest,) = computes(check(t.module()))
    assert any(a.axes == () for a in nest.ins)


def test_a_loop_in_a_loop_becomes_dims_of_one_nest() -> None:
    t = Text()
    zero, one, rows, end, by = t.index(0), t.index(1), t.index(6), t.index(24), t.index(8)
    a, b, c = t.view("a", [6, 24], "f16"), t.view("b", [24, 7], "f16"), t.view("c", [6, 7])
    t.do(f"scf.for %r = {zero} to {rows} step {one} {{")
    start = t.fill("0.0", [1, 7], "f32")
    t.do(f"%sum = scf.for %k = {zero} to {end} step {by} iter_args(%acc = {start}) -> (tensor<1x7xf32>) {{")
    left = t.load(a, [6, 24], "f16", ["%r", "%k"], [1, 8])
    right = t.load(b, [24, 7], "f16", ["%k", zero], [8, 7])
    result = t.let(
        f"linalg.matmul ins({left}, {right} : tensor<1x8xf16>, tensor<8x7xf16>) outs(%acc : tensor<1x7xf32>) "
        "-> tensor<1x7xf32>"
    )
    t.do(f"scf.yield {result} : tensor<1x7xf32>")
    t.do("}")
    t.store("%sum", c, [6, 7], "f32", ["%r", zero], [1, 7])
    t.do("}")
    (nest,) = computes(check(t.module()))
    assert nest.contraction is not None and sorted(d.extent for d in nest.dims) == [6, 7, 24]


def scrambled(tiles: int, expression: str) -> str:
    """y = exp x, one row per tile, the row an expression of the tile id."""
    t = Text([tiles])
    t.tile_ids()
    zero = t.index(0)
    for line in expression.split("; "):
        t.do(line)
    shape = [tiles, 5]
    value = t.load(t.view("x", shape), shape, "f32", ["%row", zero], [1, 5])
    result = t.let(f"math.exp {value} : tensor<1x5xf32>")
    t.store(result, t.view("y", shape), shape, "f32", ["%row", zero], [1, 5])
    return t.module()


def test_rounds_in_no_order_are_one_after_the_other() -> None:
    five = "%f = arith.constant 5 : index; %g = arith.constant 7 : index; %m = arith.muli %t0, %f : index"
    graph = check(scrambled(7, f"{five}; %row = arith.remui %m, %g : index"), "tiny")
    assert not loops(graph) and [len(c.body) for c in graph.classes] == [12, 9]


def test_rounds_of_a_grid_with_two_dims_are_two_loops() -> None:
    graph = check(matmul_over_a_grid(), "spyre-1core")
    (nest,) = computes(graph)
    assert not loops(graph) and [d.extent for d in nest.dims] == [12, 20, 6]
    graph = check(matmul_over_a_grid(), "tiny")
    assert [loop.trip for loop in loops(graph)] == [2] and loops(graph)[0].is_parallel


def matmul_over_a_grid() -> str:
    """A product of 12 x 6 and 6 x 20, a block of 3 x 4 per tile of a 4 x 5 grid."""
    t = Text([4, 5])
    i, j = t.tile_ids()
    zero, three, four = t.index(0), t.index(3), t.index(4)
    row, column = t.let(f"arith.muli {i}, {three} : index"), t.let(f"arith.muli {j}, {four} : index")
    a, b, c = t.view("a", [12, 6], "f16"), t.view("b", [6, 20], "f16"), t.view("c", [12, 20])
    left = t.load(a, [12, 6], "f16", [row, zero], [3, 6])
    right = t.load(b, [6, 20], "f16", [zero, column], [6, 4])
    start = t.fill("0.0", [3, 4], "f32")
    result = t.let(
        f"linalg.matmul ins({left}, {right} : tensor<3x6xf16>, tensor<6x4xf16>) outs({start} : "
        f"tensor<3x4xf32>) "
        "-> tensor<3x4xf32>"
    )
    t.store(result, c, [12, 20], "f32", [row, column], [3, 4])
    return t.module()


def test_shorter_last_tiles_do_not_part_the_others() -> None:
    graph = check(rows_kernel(30, 10, 1, 4, limit="yes"), "spyre-1core")
    assert not loops(graph) and len(loads(graph)) == 1
