"""Views, access tiles, gathers and scatters, tensors reshaped and sliced: the same bytes move."""

from __future__ import annotations

import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.schedule.graph import Insert, PerCore, Reshape
from tests.schedule.ktir_texts import Text, box, identity, kind
from tests.schedule.model_checks import check, computes, graph_of, loads, loops, statements


def indirect(
    t: Text,
    names: str,
    base: str,
    shape: list[int],
    subscripts: str,
    extents: list[int],
    order: str = "",
    indices: tuple[tuple[list[int], str], ...] = (),
    element: str = "f32",
    result: list[int] | None = None,
) -> str:
    """An indirect access tile."""
    kinds = "".join(f", memref<{kind(s, e)}>" for s, e in indices)
    return t.let(
        f"ktdp.construct_indirect_access_tile intermediate_variables({names}) {base}[{subscripts}] "
        f"{{variables_space_order = {order or identity(len(extents))}, variables_space_set = "
        f"{box(*extents)}}} : "
        f"memref<{kind(shape, element)}>{kinds} -> !ktdp.access_tile<{kind(result or extents, 'index')}>"
    )


def gathered(t: Text, tile: str, extents: list[int], element: str = "f32") -> str:
    return t.let(f"ktdp.load {tile} : <{kind(extents, 'index')}> -> tensor<{kind(extents, element)}>")


def stored(t: Text, name: str, value: str, shape: list[int], element: str = "f32") -> None:
    zero = t.index(0)
    t.store(value, t.view(name, shape, element), shape, element, [zero] * len(shape), shape)


def test_a_gather_walks_its_indices_with_a_value_axis() -> None:
    t = Text([4])
    (tile,) = t.tile_ids()
    three, zero = t.index(3), t.index(0)
    first = t.let(f"arith.muli {tile}, {three} : index")
    table, ids = t.view("table", [50, 6]), t.view("ids", [12], "i32")
    rows = indirect(
        t, "%i, %j", table, [50, 6], f"ind({ids}[{first} + %i]), (%j)", [3, 6], indices=(([12], "i32"),)
    )
    value = gathered(t, rows, [3, 6])
    t.store(value, t.view("y", [12, 6]), [12, 6], "f32", [first, zero], [3, 6])
    graph = check(t.module())
    (load,) = loads(graph)
    assert load.axes == (None, 1) and load.indirect[0].axes == (0,)
    assert load.indirect[0].origin[0].const == PerCore((0, 3, 6, 9))
    assert graph.work["read_bytes"] == 12 * 6 * 4 + 12 * 4


def test_two_indices_and_a_turned_order() -> None:
    t = Text()
    table, a, b = t.view("table", [5, 7, 4]), t.view("a", [3], "i64"), t.view("b", [3, 2], "i32")
    tile = indirect(
        t,
        "%i, %j, %k",
        table,
        [5, 7, 4],
        f"ind({a}[%i]), ind({b}[%i, %j]), (%k)",
        [3, 2, 4],
        "affine_map<(d0, d1, d2) -> (d2, d0, d1)>",
        (([3], "i64"), ([3, 2], "i32")),
        result=[4, 3, 2],
    )
    stored(t, "y", gathered(t, tile, [4, 3, 2]), [4, 3, 2])
    check(t.module())


def test_a_scatter_stores_through_an_index() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [4, 6]), [4, 6], "f32", [zero, zero], [4, 6])
    table, ids = t.view("table", [40, 6]), t.view("ids", [4], "i32")
    tile = indirect(t, "%i, %j", table, [40, 6], f"ind({ids}[%i]), (%j)", [4, 6], indices=(([4], "i32"),))
    t.do(f"ktdp.store {value}, {tile} : tensor<4x6xf32>, <4x6xindex>")
    check(t.module(), seed=3)


def test_rows_gathered_one_by_one_are_one_gather() -> None:
    t = Text()
    zero, one, end = t.index(0), t.index(1), t.index(8)
    table, ids, y = t.view("table", [40, 6]), t.view("ids", [8], "i32"), t.view("y", [8, 6])
    t.do(f"scf.for %r = {zero} to {end} step {one} {{")
    tile = indirect(
        t, "%i, %j", table, [40, 6], f"ind({ids}[%r + %i]), (%j)", [1, 6], indices=(([8], "i32"),)
    )
    t.store(gathered(t, tile, [1, 6]), y, [8, 6], "f32", ["%r", zero], [1, 6])
    t.do("}")
    graph = check(t.module())
    assert not loops(graph) and loads(graph)[0].indirect[0].axes == (0,)


def test_windows_are_strided_walks_of_their_own_view() -> None:
    t = Text()
    x = t.view("x", [20, 6])
    tile = indirect(t, "%i, %k, %j", x, [20, 6], "(%i * 2 + %k), (%j)", [8, 3, 6])
    value = gathered(t, tile, [8, 3, 6])
    start, lowest = t.let("arith.constant 0xFF800000 : f32"), t.empty([8, 6], "f32")
    filled = t.let(f"linalg.fill ins({start} : f32) outs({lowest} : tensor<8x6xf32>) -> tensor<8x6xf32>")
    best = t.let(
        f"linalg.reduce {{ arith.maximumf }} ins({value} : tensor<8x3x6xf32>) outs({filled} : "
        f"tensor<8x6xf32>) "
        "dimensions = [1]"
    )
    stored(t, "y", best, [8, 6])
    (load,) = loads(check(t.module()))
    assert load.view.sizes == (8, 3, 6) and load.view.strides == (12, 6, 1)


def test_a_variable_that_walks_nothing_repeats_the_data() -> None:
    t = Text()
    x = t.view("x", [4])
    tile = indirect(t, "%i, %j", x, [4], "(%j)", [3, 4])
    value = gathered(t, tile, [3, 4])
    stored(t, "y", t.let(f"math.absf {value} : tensor<3x4xf32>"), [3, 4])
    check(t.module())


def test_a_turned_access_tile_order() -> None:
    t = Text()
    zero, two = t.index(0), t.index(2)
    x = t.view("x", [6, 5])
    tile = t.let(
        f"ktdp.construct_access_tile {x}[{two}, {zero}] {{access_tile_order = affine_map<(a, b) -> (b, a)>, "
        f"access_tile_set = {box(3, 4)}}} : memref<6x5xf32> -> !ktdp.access_tile<4x3xindex>"
    )
    stored(t, "y", gathered(t, tile, [4, 3]), [4, 3])
    check(t.module())


def test_a_tile_set_that_starts_above_zero_moves_the_origin() -> None:
    t = Text()
    zero = t.index(0)
    x = t.view("x", [6, 5])
    tile = t.let(
        f"ktdp.construct_access_tile {x}[{zero}, {zero}] {{access_tile_order = {identity(2)}, "
        f"access_tile_set = {box(3, 4, low=(2, 1))}}} : memref<6x5xf32> -> !ktdp.access_tile<3x4xindex>"
    )
    stored(t, "y", gathered(t, tile, [3, 4]), [3, 4])
    check(t.module())


def test_an_address_may_be_offset_per_tile() -> None:
    t = Text([4])
    (tile,) = t.tile_ids()
    zero, size = t.index(0), t.index(12)
    moved = t.let(f"arith.muli {tile}, {size} : index")
    starts = []
    for name in "xy":
        t.args.append(f"%{name}: index")
        starts.append(t.let(f"arith.addi %{name}, {moved} : index"))
    x, y = (t.view(n, [3, 4], start=s) for n, s in zip("xy", starts, strict=True))
    value = t.load(x, [3, 4], "f32", [zero, zero], [3, 4])
    t.store(t.let(f"math.exp {value} : tensor<3x4xf32>"), y, [3, 4], "f32", [zero, zero], [3, 4])
    (load,) = loads(check(t.module()))
    assert load.view.arg == "x" and load.view.start.const == PerCore((0, 12, 24, 36))


def test_a_distributed_view_is_loaded_and_stored_part_by_part() -> None:
    t = Text()
    zero, one, four = t.index(0), t.index(1), t.index(4)
    parts = []
    for name, low, columns in (("l", 0, 6), ("r", 6, 3)):
        view = t.view(name, [4, columns])
        t.lines[-1] = t.lines[-1].replace(box(4, columns), box(4, columns, low=(0, low)))
        parts.append(view)
    whole = t.let(
        f"ktdp.construct_distributed_memory_view ({parts[0]}, {parts[1]} : memref<4x6xf32>, "
        f"memref<4x3xf32>) : "
        "memref<4x9xf32>"
    )
    value = t.load(whole, [4, 9], "f32", [one, four], [2, 4])
    stored(t, "y", value, [2, 4])
    changed = t.let(f"math.exp {value} : tensor<2x4xf32>")
    t.store(changed, whole, [4, 9], "f32", [zero, four], [2, 4])
    graph = check(t.module())
    assert len([s for s in statements(graph) if isinstance(s, Insert)]) == 2


def test_unit_axes_come_and_go_without_a_statement() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [1, 4, 1, 6]), [1, 4, 1, 6], "f32", [zero] * 4, [1, 4, 1, 6])
    flat = t.let(f"tensor.collapse_shape {value} [[0, 1, 2], [3]] : tensor<1x4x1x6xf32> into tensor<4x6xf32>")
    result = t.let(f"math.exp {flat} : tensor<4x6xf32>")
    wide = t.let(
        f"tensor.expand_shape {result} [[0, 1], [2]] output_shape [4, 1, 6] : tensor<4x6xf32> into "
        f"tensor<4x1x6xf32>"
    )
    stored(t, "y", wide, [4, 1, 6])
    graph = check(t.module())
    assert len(statements(graph)) == 3


def test_a_real_reshape_is_a_statement_and_there_and_back_is_none() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [4, 6]), [4, 6], "f32", [zero, zero], [4, 6])
    flat = t.let(f"tensor.collapse_shape {value} [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>")
    back = t.let(
        f"tensor.expand_shape {flat} [[0, 1]] output_shape [4, 6] : tensor<24xf32> into tensor<4x6xf32>"
    )
    stored(t, "y", t.let(f"arith.addf {value}, {back} : tensor<4x6xf32>"), [4, 6])
    graph = check(t.module())
    assert not [s for s in statements(graph) if isinstance(s, Reshape)]
    stored(t, "z", t.let(f"math.exp {flat} : tensor<24xf32>"), [24])
    graph = check(t.module())
    assert len([s for s in statements(graph) if isinstance(s, Reshape)]) == 1


def test_slices_are_offsets_of_the_access() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [4, 12]), [4, 12], "f32", [zero, zero], [4, 12])
    halves = [
        t.let(f"tensor.extract_slice {value}[1, {o}] [3, 6] [1, 1] : tensor<4x12xf32> to tensor<3x6xf32>")
        for o in (0, 6)
    ]
    stored(t, "y", t.let(f"arith.addf {halves[0]}, {halves[1]} : tensor<3x6xf32>"), [3, 6])
    (nest,) = computes(check(t.module()))
    assert [a.axes[1].offset for a in nest.ins] == [0, 6]


def test_a_slice_with_a_step_and_one_that_drops_an_axis() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [4, 12]), [4, 12], "f32", [zero, zero], [4, 12])
    odd = t.let(f"tensor.extract_slice {value}[2, 1] [1, 6] [1, 2] : tensor<4x12xf32> to tensor<6xf32>")
    stored(t, "y", odd, [6])
    check(t.module())


def test_inserts_concatenate() -> None:
    t = Text()
    zero = t.index(0)
    a, b = (t.load(t.view(n, [4, 3]), [4, 3], "f32", [zero, zero], [4, 3]) for n in "ab")
    both = t.fill("2.0", [4, 8], "f32")
    for value, at in ((a, 0), (b, 5)):
        both = t.let(
            f"tensor.insert_slice {value} into {both}[0, {at}] [4, 3] [1, 1] : tensor<4x3xf32> into "
            f"tensor<4x8xf32>"
        )
    stored(t, "y", both, [4, 8])
    inserts = [s for s in statements(check(t.module())) if isinstance(s, Insert)]
    assert inserts[0].dest is None and inserts[0].fill == 2.0 and inserts[1].dest == inserts[0].value


def test_padding_and_concatenation_are_inserts() -> None:
    t = Text()
    zero = t.index(0)
    a = t.load(t.view("a", [4, 3]), [4, 3], "f32", [zero, zero], [4, 3])
    padded = t.let(
        f"tensor.pad {a} low[1, 0] high[0, 2] {{\n^bb0(%i: index, %j: index):\n%c = arith.constant 1.5 : "
        f"f32\n"
        "tensor.yield %c : f32\n} : tensor<4x3xf32> to tensor<5x5xf32>"
    )
    both = t.let(
        f"tensor.concat dim(1) {padded}, {padded} : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x10xf32>"
    )
    stored(t, "y", both, [5, 10])
    check(t.module())


def test_a_turned_store_turns_the_walk_not_the_data() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [6, 4]), [6, 4], "f32", [zero, zero], [6, 4])
    empty = t.empty([4, 6], "f32")
    turned = t.let(
        f"linalg.transpose ins({value} : tensor<6x4xf32>) outs({empty} : tensor<4x6xf32>) permutation = "
        f"[1, 0]"
    )
    stored(t, "y", turned, [4, 6])
    assert not computes(check(t.module()))


def test_a_broadcast_is_materialised_for_a_store() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [6]), [6], "f32", [zero], [6])
    empty = t.empty([4, 6], "f32")
    wide = t.let(
        f"linalg.broadcast ins({value} : tensor<6xf32>) outs({empty} : tensor<4x6xf32>) dimensions = [0]"
    )
    stored(t, "y", wide, [4, 6])
    (nest,) = computes(check(t.module()))
    assert len(nest.body) == 1


def test_a_store_rounds_to_the_type_of_its_view() -> None:
    t = Text()
    zero = t.index(0)
    value = t.load(t.view("x", [6]), [6], "f32", [zero], [6])
    y = t.view("y", [6], "f16")
    tile = t.tile(y, [6], "f16", [zero], [6])
    t.do(f"ktdp.store {value}, {tile} : tensor<6xf32>, <6xindex>")
    check(t.module())


def test_a_load_is_not_shared_across_a_store_to_its_memory() -> None:
    t = Text()
    zero = t.index(0)
    x = t.view("x", [6])
    first = t.load(x, [6], "f32", [zero], [6])
    t.store(t.let(f"math.exp {first} : tensor<6xf32>"), x, [6], "f32", [zero], [6])
    second = t.load(x, [6], "f32", [zero], [6])
    stored(t, "y", t.let(f"arith.addf {first}, {second} : tensor<6xf32>"), [6])
    assert len(loads(check(t.module()))) == 2


def test_sizes_and_scalars_given_by_name_are_numbers() -> None:
    t = Text([2])
    (tile,) = t.tile_ids()
    t.args += ["%n: index", "%scale: f32", "%x: index", "%y: index"]
    zero = t.index(0)
    views = [
        t.let(
            f"ktdp.construct_memory_view %{name}, sizes: [%n, 4], strides: [4, 1] {{coordinate_set = "
            "affine_set<(r, c)[n] : (r >= 0, n - 1 - r >= 0, c >= 0, 3 - c >= 0)>, memory_space = "
            "#ktdp.memory_space<global>} : memref<?x4xf32>"
        )
        for name in "xy"
    ]
    two = t.index(2)
    half = t.let(f"arith.divui %n, {two} : index")
    first = t.let(f"arith.muli {tile}, {half} : index")
    t.do(f"scf.for %r = {zero} to {half} step {t.index(1)} {{")
    row = t.let(f"arith.addi {first}, %r : index")
    shape = "memref<?x4xf32> -> !ktdp.access_tile<1x4xindex>"
    tiles = [
        t.let(
            f"ktdp.construct_access_tile {v}[{row}, {zero}] {{access_tile_order = {identity(2)}, "
            f"access_tile_set = {box(1, 4)}}} : {shape}"
        )
        for v in views
    ]
    value = gathered(t, tiles[0], [1, 4])
    wide = t.let("tensor.splat %scale : tensor<1x4xf32>")
    result = t.let(f"arith.mulf {value}, {wide} : tensor<1x4xf32>")
    t.do(f"ktdp.store {result}, {tiles[1]} : tensor<1x4xf32>, <1x4xindex>")
    t.do("}")
    graph = check(t.module(), scalars={"n": 10, "scale": 1.5})
    assert loads(graph)[0].view.sizes == (10, 4) and not loops(graph)
    with pytest.raises(HeadraceError) as error:
        graph_of(t.module())
    assert {d.message for d in error.value.diagnostics} == {
        "argument %n needs a value",
        "argument %scale needs a value",
    }


def test_scratch_between_two_passes() -> None:
    t = Text([2])
    (tile,) = t.tile_ids()
    zero, four = t.index(0), t.index(4)
    first = t.let(f"arith.muli {tile}, {four} : index")
    scratch = t.view("s", [4, 6], space="ct_local")
    value = t.load(t.view("x", [8, 6]), [8, 6], "f32", [first, zero], [4, 6])
    t.store(t.let(f"math.exp {value} : tensor<4x6xf32>"), scratch, [4, 6], "f32", [zero, zero], [4, 6])
    again = t.load(scratch, [4, 6], "f32", [zero, zero], [4, 6])
    t.store(again, t.view("y", [8, 6]), [8, 6], "f32", [first, zero], [4, 6])
    graph = check(t.module())
    assert [a.role for a in graph.args] == ["scratch", "in", "out"]


def test_a_row_chosen_by_a_number_in_memory_is_a_gather_of_one_row() -> None:
    t = Text()
    zero, two = t.index(0), t.index(2)
    ids, x = t.view("ids", [4], "i32"), t.view("x", [9, 4])
    numbers = t.load(ids, [4], "i32", [zero], [4])
    number = t.let(f"tensor.extract {numbers}[{two}] : tensor<4xi32>")
    row = t.let(f"arith.index_cast {number} : i32 to index")
    tile = indirect(t, "%i, %j", x, [9, 4], f"ind({ids}[%i]), (%j)", [1, 4], indices=(([4], "i32"),))
    first = gathered(t, tile, [1, 4])
    value = t.load(x, [9, 4], "f32", [row, zero], [1, 4])
    stored(t, "y", t.let(f"arith.addf {value}, {first} : tensor<1x4xf32>"), [1, 4])
    t.store(first, t.view("z", [9, 4]), [9, 4], "f32", [row, zero], [1, 4])
    chosen = [s for s in loads(check(t.module())) if s.indirect and s.indirect[0].axes == (None,)]
    assert chosen[0].indirect[0].origin[0].const == 2 and chosen[0].axes == (None, 1)


def test_a_variable_is_cut_where_a_division_asks_for_it() -> None:
    t = Text()
    x = t.view("x", [3, 4, 5])
    tile = indirect(t, "%i, %j", x, [3, 4, 5], "(%i floordiv 4), (%i mod 4), (%j)", [12, 5])
    value = gathered(t, tile, [12, 5])
    result = t.let(f"math.exp {value} : tensor<12x5xf32>")
    turned = indirect(
        t, "%i, %j", t.view("y", [4, 3, 5]), [4, 3, 5], "(%i mod 4), (%i floordiv 4), (%j)", [12, 5]
    )
    t.do(f"ktdp.store {result}, {turned} : tensor<12x5xf32>, <12x5xindex>")
    graph = check(t.module())
    assert [s.axes for s in loads(graph)] == [(0, 1, 2)]
    assert len([s for s in statements(graph) if isinstance(s, Reshape)]) == 2


def test_each_row_twice_is_a_cut_with_a_part_that_repeats() -> None:
    t = Text()
    tile = indirect(t, "%i, %j", t.view("x", [6, 5]), [6, 5], "(%i floordiv 2), (%j)", [12, 5])
    value = gathered(t, tile, [12, 5])
    stored(t, "y", t.let(f"math.exp {value} : tensor<12x5xf32>"), [12, 5])
    check(t.module())


def test_a_load_shrinks_to_what_is_looked_at() -> None:
    t = Text([2])
    (tile,) = t.tile_ids()
    zero, three, four = t.index(0), t.index(3), t.index(4)
    first = t.let(f"arith.muli {tile}, {four} : index")
    value = t.load(t.view("x", [8, 12]), [8, 12], "f32", [first, zero], [4, 12])
    parts = [
        t.let(f"tensor.extract_slice {value}[1, {o}] [2, 4] [1, 1] : tensor<4x12xf32> to tensor<2x4xf32>")
        for o in (3, 6)
    ]
    number = t.let(f"tensor.extract {value}[{three}, {four}] : tensor<4x12xf32>")
    wide = t.let(f"tensor.splat {number} : tensor<2x4xf32>")
    total = t.let(f"arith.addf {parts[0]}, {parts[1]} : tensor<2x4xf32>")
    result = t.let(f"arith.mulf {total}, {wide} : tensor<2x4xf32>")
    t.store(result, t.view("y", [8, 4]), [8, 4], "f32", [first, zero], [2, 4])
    graph = check(t.module())
    (load,) = loads(graph)
    assert graph.classes[0].values[load.value].shape == (3, 7)
    assert [o.const for o in load.origin] == [PerCore((1, 5)), 3]
    assert graph.work["read_bytes"] == 2 * 3 * 7 * 4
