"""Views, access tiles, gathers and scatters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ir.diagnostics import HeadraceError
from headrace.semantics.plain import Options

from .tiles import box, by_x, identity, run, view, whole


def copy(
    tile: str, shape: tuple[int, ...], out: tuple[int, ...] | None = None, extra: str = "", args: str = ""
) -> str:
    """A kernel that loads %t, made by `tile`, and stores it to a view of its own."""
    out = shape if out is None else out
    return f"""module {{ func.func @k(%a: index, %o: index{args}) attributes {{grid = [1]}} {{
      {extra}
      {tile}
      %x = ktdp.load %t : <{by_x(out, "index")}> -> tensor<{by_x(out, "i32")}>
      {view("o", out, "i32")}
      {whole("o", out, "i32")}
      ktdp.store %x, %o_tile : tensor<{by_x(out, "i32")}>, <{by_x(out, "index")}>
      return }} }}"""


def strided(
    sizes: str, strides: str, ty: str, name: str = "a", start: str = "a", sets: str | None = None
) -> str:
    shape = tuple(int(n) for n in ty.split("x")[:-1])
    return (
        f"%{name}_view = ktdp.construct_memory_view %{start}, sizes: [{sizes}], strides: [{strides}] "
        f"{{coordinate_set = {sets or box(shape)}, memory_space = #ktdp.memory_space<global>}} : memref<{ty}>"
    )


def at(base: str, place: str, ty: str, shape: tuple[int, ...], tile_set: str, order: str) -> str:
    return (
        f"%t = ktdp.construct_access_tile %{base}[{place}] {{access_tile_order = {order}, "
        f"access_tile_set = {tile_set}}} : memref<{ty}> -> !ktdp.access_tile<{by_x(shape, 'index')}>"
    )


A = np.arange(60, dtype=np.int32)


@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    st.permutations([0, 1, 2]),
    st.permutations([0, 1, 2]),
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
)
@settings(max_examples=25, deadline=None)
def test_a_permuted_tile_of_a_permuted_view_is_a_transposed_slice(extents, order, layout, offset):
    sizes = tuple(n + o for n, o in zip(extents, offset, strict=True))
    array = np.arange(int(np.prod(sizes)), dtype=np.int32)
    strides = [0, 0, 0]
    step = 1
    for d in reversed(layout):
        strides[d] = step
        step *= sizes[d]
    whole_array = array.reshape([sizes[d] for d in layout]).transpose(np.argsort(layout))
    cut = whole_array[tuple(slice(o, o + n) for o, n in zip(offset, extents, strict=True))]
    map = f"affine_map<(d0, d1, d2) -> ({', '.join(f'd{d}' for d in order)})>"
    shape = tuple(extents[d] for d in order)
    ty = by_x(sizes, "i32")
    text = copy(
        at("a_view", ", ".join(map_str(offset)), ty, shape, box(extents), map),
        shape,
        extra=strided(", ".join(map_str(sizes)), ", ".join(map_str(strides)), ty),
    )
    assert np.array_equal(run(text, {"a": array})[0]["o"], cut.transpose(order))


def map_str(values) -> list[str]:
    return [str(v) for v in values]


def test_expressions_and_symbols_make_the_anchor_and_the_set():
    extra = (
        strided("10, 6", "6, 1", "10x6xi32")
        + "\n%i = arith.constant 3 : index\n%w = arith.constant 2 : index"
    )
    tiles = "affine_set<(d0, d1)[s0] : (d0 >= 0, s0 - 1 - d0 >= 0, d1 - 1 >= 0, -d1 + 3 >= 0)>"
    tile = (
        "%t = ktdp.construct_access_tile %a_view[%i * 2 + 1, %i floordiv 2] symbols(%w) "
        f"{{access_tile_order = {identity(2)}, access_tile_set = {tiles}}} "
        ": memref<10x6xi32> -> !ktdp.access_tile<2x3xindex>"
    )
    got = run(copy(tile, (2, 3), extra=extra), {"a": A})[0]["o"]
    assert np.array_equal(got, A.reshape(10, 6)[7:9, 2:5])


def test_a_view_may_repeat_or_skip_elements():
    tile = at("a_view", "0, 0", "4x5xi32", (4, 5), box((4, 5)), identity(2))
    broadcast = copy(tile, (4, 5), extra=strided("4, 5", "0, 3", "4x5xi32"))
    assert np.array_equal(run(broadcast, {"a": A})[0]["o"], np.broadcast_to(A[0:15:3], (4, 5)))
    windows = copy(tile, (4, 5), extra=strided("4, 5", "2, 1", "4x5xi32"))
    assert run(windows, {"a": A})[0]["o"].tolist() == [[2 * i + j for j in range(5)] for i in range(4)]


def test_the_cpu_reading_of_the_order_swaps_set_and_tile():
    map = "affine_map<(d0, d1, d2) -> (d1, d2, d0)>"
    extra = strided("3, 4, 5", "20, 5, 1", "3x4x5xi32")
    base = A.reshape(3, 4, 5)
    dialect = copy(
        at("a_view", "0, 0, 0", "3x4x5xi32", (4, 5, 3), box((3, 4, 5)), map), (4, 5, 3), extra=extra
    )
    assert np.array_equal(run(dialect, {"a": A})[0]["o"], base.transpose(1, 2, 0))
    shape = (5, 3, 4)
    cpu = copy(at("a_view", "0, 0, 0", "3x4x5xi32", shape, box(shape), map), shape, extra=extra)
    got = run(cpu, {"a": A}, options=Options(order="cpu"))[0]["o"]
    assert all(got[i, j, k] == base[j, k, i] for i, j, k in np.ndindex(*shape))


def test_a_tile_whose_extents_are_not_those_of_its_set_is_an_error():
    extra = strided("10, 6", "6, 1", "10x6xi32")
    tile = at("a_view", "0, 0", "10x6xi32", (2, 3), box((3, 2)), identity(2))
    with pytest.raises(HeadraceError, match=r"gives a tile of \[3, 2\], the result type says \[2, 3\]"):
        run(copy(tile, (2, 3), extra=extra), {"a": A})


def test_a_set_that_is_no_box_is_walked_in_order():
    triangle = "affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, d0 - d1 >= 0)>"
    tile = at("a_view", "1, 0", "10x6xi32", (2, 5), triangle, "affine_map<(d0, d1) -> (d1, d0)>")
    got = run(copy(tile, (2, 5), extra=strided("10, 6", "6, 1", "10x6xi32")), {"a": A})[0]["o"]
    points = sorted((j, i) for i in range(4) for j in range(i + 1))
    assert got.reshape(-1).tolist() == [6 * (i + 1) + j for j, i in points]


OUTSIDE = copy(
    at("a_view", "8, 4", "10x6xi32", (3, 3), box((3, 3)), identity(2)),
    (3, 3),
    extra=strided("10, 6", "6, 1", "10x6xi32"),
)


def test_an_access_outside_its_view_names_op_place_and_coordinate():
    with pytest.raises(HeadraceError) as caught:
        run(OUTSIDE, {"a": A})
    message = str(caught.value)
    assert "ktdp.load" in message and "[10, 6] is outside the view of extents [10, 6]" in message
    assert "<text>:" in message and "hint:" in message


def test_masked_bounds_read_zeros_and_drop_writes():
    got = run(OUTSIDE, {"a": A}, options=Options(bounds="mask"))[0]["o"]
    assert got.tolist() == [[52, 53, 0], [58, 59, 0], [0, 0, 0]]


def test_a_coordinate_set_tighter_than_the_sizes_is_enforced():
    sets = "affine_set<(d0, d1) : (d0 >= 0, -d0 + 9 >= 0, d1 >= 0, d0 - d1 >= 0)>"
    extra = strided("10, 6", "6, 1", "10x6xi32", sets=sets)
    inside = copy(at("a_view", "4, 0", "10x6xi32", (2, 3), box((2, 3)), identity(2)), (2, 3), extra=extra)
    assert np.array_equal(run(inside, {"a": A})[0]["o"], A.reshape(10, 6)[4:6, :3])
    outside = copy(at("a_view", "1, 0", "10x6xi32", (2, 3), box((2, 3)), identity(2)), (2, 3), extra=extra)
    with pytest.raises(HeadraceError, match=r"coordinate \[1, 2\]"):
        run(outside, {"a": A})


def test_dynamic_sizes_and_strides_come_from_scalars():
    sets = "affine_set<(d0, d1)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0, d1 >= 0, -d1 + 3 >= 0)>"
    extra = strided("%n, 4", "%s, 1", "10x4xi32", sets=sets).replace("10x4", "?x4")
    tile = at("a_view", "1, 0", "?x4xi32", (2, 4), box((2, 4)), identity(2))
    text = copy(tile, (2, 4), extra=extra, args=", %n: index, %s: index")
    got = run(text, {"a": A}, {"n": 3, "s": 10})[0]["o"]
    assert got.tolist() == [[10, 11, 12, 13], [20, 21, 22, 23]]
    with pytest.raises(HeadraceError, match="outside"):
        run(text, {"a": A}, {"n": 2, "s": 10})


def _indirect(subscripts: str, shape: tuple[int, ...], types: str, order: str | None = None) -> str:
    names = ", ".join(f"%v{k}" for k in range(len(shape)))
    return (
        f"%t = ktdp.construct_indirect_access_tile intermediate_variables({names}) %a_view[{subscripts}] "
        f"{{variables_space_order = {order or identity(len(shape))}, variables_space_set = {box(shape)}}} "
        f": {types} -> !ktdp.access_tile<{by_x(shape, 'index')}>"
    )


def test_a_gather_reads_the_rows_its_index_view_names():
    extra = strided("10, 6", "6, 1", "10x6xi32") + "\n" + strided("2, 3", "3, 1", "2x3xi64", "i", "i")
    ids = np.array([[9, 0, 3], [3, 7, 1]], np.int64)
    types = "memref<10x6xi32>, memref<2x3xi64>"
    text = copy(
        _indirect("ind(%i_view[%v0, %v1]), (%v2)", (2, 3, 6), types),
        (2, 3, 6),
        extra=extra,
        args=", %i: index",
    )
    assert np.array_equal(run(text, {"a": A, "i": ids})[0]["o"], A.reshape(10, 6)[ids])
    with pytest.raises(HeadraceError, match=r"coordinate \[10, 0\] is outside"):
        run(text, {"a": A, "i": ids + 1})
    with pytest.raises(HeadraceError, match=r"coordinate \[-1, 0\] is outside"):
        run(text, {"a": A, "i": ids - 1})


def test_a_gather_may_index_several_dims_and_walk_them_in_another_order():
    extra = strided("10, 6", "6, 1", "10x6xi32") + "\n" + strided("4", "1", "4xi32", "i", "i")
    ids = np.array([3, 0, 5, 2], np.int32)
    types = "memref<10x6xi32>, memref<4xi32>, memref<4xi32>"
    body = "ind(%i_view[%v0]), ind(%i_view[%v1])"
    text = copy(_indirect(body, (4, 4), types), (4, 4), extra=extra, args=", %i: index")
    assert np.array_equal(run(text, {"a": A, "i": ids})[0]["o"], A.reshape(10, 6)[np.ix_(ids, ids)])
    swapped = _indirect(
        "ind(%i_view[%v0]), (%v1 + 1)", (4, 5), types.rsplit(",", 1)[0], "affine_map<(d0, d1) -> (d1, d0)>"
    )
    text = copy(swapped.replace("4x5xindex", "5x4xindex"), (5, 4), extra=extra, args=", %i: index")
    assert np.array_equal(run(text, {"a": A, "i": ids})[0]["o"], A.reshape(10, 6)[ids, 1:].T)


def test_a_tile_without_index_views_takes_any_affine_subscripts():
    extra = strided("60", "1", "60xi32")
    window = _indirect("(%v0 * 5 + %v1 * 2 + 1)", (3, 4), "memref<60xi32>")
    got = run(copy(window, (3, 4), extra=extra), {"a": A})[0]["o"]
    assert got.tolist() == [[5 * i + 2 * j + 1 for j in range(4)] for i in range(3)]
    folded = _indirect("(%v0 floordiv 3 + %v1 mod 2)", (6, 4), "memref<60xi32>")
    got = run(copy(folded, (6, 4), extra=extra), {"a": A})[0]["o"]
    assert got.tolist() == [[i // 3 + j % 2 for j in range(4)] for i in range(6)]


def test_a_scatter_keeps_the_last_of_two_rows_for_one_place():
    text = f"""module {{ func.func @k(%x: index, %i: index, %a: index) attributes {{grid = [1]}} {{
      {view("x", (4, 6), "i32")}
      {whole("x", (4, 6), "i32")}
      {strided("10, 6", "6, 1", "10x6xi32")}
      {strided("4", "1", "4xi32", "i", "i")}
      %v = ktdp.load %x_tile : <4x6xindex> -> tensor<4x6xi32>
      {_indirect("ind(%i_view[%v0]), (%v1)", (4, 6), "memref<10x6xi32>, memref<4xi32>")}
      ktdp.store %v, %t : tensor<4x6xi32>, <4x6xindex>
      return }} }}"""
    x = np.arange(100, 124, dtype=np.int32).reshape(4, 6)
    ids = np.array([8, 2, 8, 0], np.int32)
    got = run(text, {"a": A, "i": ids, "x": x})[0]["a"]
    expected = A.reshape(10, 6).copy()
    expected[[2, 8, 0]] = x[[1, 2, 3]]
    assert np.array_equal(got, expected)


def test_a_distributed_view_joins_parts_and_has_holes():
    right = "affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 - 6 >= 0, -d1 + 8 >= 0)>"
    extra = f"""%c20 = arith.constant 20 : index
      {strided("4, 5", "5, 1", "4x5xi32", "l", "a")}
      %p = arith.addi %a, %c20 : index
      {strided("4, 3", "3, 1", "4x3xi32", "r", "p", right)}
      %a_view = ktdp.construct_distributed_memory_view(%l_view, %r_view : memref<4x5xi32>, memref<4x3xi32>)
        : memref<4x9xi32>"""
    tile = at("a_view", "1, 3", "4x9xi32", (3, 6), box((3, 6)), identity(2))
    got = run(copy(tile, (3, 6), extra=extra), {"a": A})[0]["o"]
    left, right = A[:20].reshape(4, 5), A[20:32].reshape(4, 3)
    expected = np.hstack([left, np.zeros((4, 1), np.int32), right])[1:4, 3:9]
    assert np.array_equal(got, expected)


def test_stores_and_gathers_go_through_distributed_views_too():
    right = "affine_set<(d0) : (d0 - 30 >= 0, -d0 + 59 >= 0)>"
    text = f"""module {{ func.func @k(%a: index, %b: index, %i: index, %o: index) attributes {{grid = [1]}} {{
      {strided("30", "1", "30xi32", "l", "a")}
      {strided("30", "1", "30xi32", "r", "b", right)}
      {strided("8", "1", "8xi64", "i", "i")}
      %a_view = ktdp.construct_distributed_memory_view(%l_view, %r_view : memref<30xi32>, memref<30xi32>)
        : memref<60xi32>
      {_indirect("ind(%i_view[%v0])", (8,), "memref<60xi32>, memref<8xi64>")}
      %x = ktdp.load %t : <8xindex> -> tensor<8xi32>
      {view("o", (8,), "i32")}
      {whole("o", (8,), "i32")}
      ktdp.store %x, %o_tile : tensor<8xi32>, <8xindex>
      %y = arith.subi %x, %x : tensor<8xi32>
      ktdp.store %y, %t : tensor<8xi32>, <8xindex>
      return }} }}"""
    ids = np.array([29, 30, 0, 59, 31, 7, 45, 28], np.int64)
    got = run(text, {"a": A[:30], "b": A[30:], "i": ids})[0]
    assert got["o"].tolist() == ids.tolist()
    expected = A.copy()
    expected[ids] = 0
    assert np.array_equal(np.concatenate([got["a"], got["b"]]), expected)


def test_a_scratchpad_of_another_tile_is_reached_by_its_number():
    text = f"""func.func @k(%s: index, %o: index) attributes {{grid = [2]}} {{
      %tile = ktdp.get_compute_tile_id : index
      %c7 = arith.constant 7 : i32
      %v = arith.index_cast %tile : index to i32
      %w = arith.addi %v, %c7 : i32
      %mine = tensor.splat %w : tensor<4xi32>
      {view("s", (4,), "i32", "ct_local")}
      {whole("s", (4,), "i32")}
      ktdp.store %mine, %s_tile : tensor<4xi32>, <4xindex>
      {view("s", (4,), "i32", "ct_local, ct_id = 0").replace("%s_view", "%z_view")}
      {whole("z", (4,), "i32")}
      %first = ktdp.load %z_tile : <4xindex> -> tensor<4xi32>
      {view("o", (2, 4), "i32")}
      %row = tensor.expand_shape %first [[0, 1]] output_shape [1, 4] : tensor<4xi32> into tensor<1x4xi32>
      %t = ktdp.construct_access_tile %o_view[%tile, 0] {{access_tile_order = {identity(2)},
        access_tile_set = {box((1, 4))}}} : memref<2x4xi32> -> !ktdp.access_tile<1x4xindex>
      ktdp.store %row, %t : tensor<1x4xi32>, <1x4xindex>
      return
    }}"""
    assert run(text, {})[0]["o"].tolist() == [[7] * 4, [7] * 4]


def test_bytes_are_an_option_for_start_addresses():
    from headrace.ir.text import parse
    from headrace.numbers.memory import Memory
    from headrace.semantics.plain import interpret

    text = copy(
        at("a_view", "0", "60xi32", (6,), box((6,)), identity(1)), (6,), extra=strided("60", "1", "60xi32")
    )
    memory = Memory(4096)
    a, o = memory.allocate(240), memory.allocate(240)
    memory.view(a, "i32", 60)[:] = A
    report = interpret(parse(text), memory, {"a": a, "o": o}, Options(address_unit="byte"))
    assert memory.view(o, "i32", 6).tolist() == [0, 1, 2, 3, 4, 5]
    assert (report.read_bytes, report.written_bytes, report.tiles) == (24, 24, 1)
