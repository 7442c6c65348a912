"""What cannot be scheduled is said completely: every finding, where it stands, and what to do instead."""

from __future__ import annotations

import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import parse
from headrace.schedule.model import model
from tests.schedule.ktir_texts import Text, kind
from tests.schedule.model_checks import graph_of


def findings(t: Text) -> tuple[Diagnostic, ...]:
    """What `model` says about a kernel."""
    with pytest.raises(HeadraceError) as error:
        graph_of(t.module())
    return error.value.diagnostics


def test_every_finding_is_reported_at_once_and_only_once() -> None:
    t = Text([4])
    t.tile_ids()
    zero = t.index(0)
    x, y = t.view("x", [4, 4]), t.view("y", [4, 4])
    value = t.load(x, [4, 4], "f32", [zero, zero], [5, 4])
    wide = t.let(f"math.exp {value} : tensor<5x4xf32>")
    small = t.let(f"tensor.extract_slice {wide}[0, 0] [4, 4] [1, 1] : tensor<5x4xf32> to tensor<4x4xf32>")
    t.store(small, y, [4, 4], "f32", [zero, zero], [4, 4])
    empty = t.empty([4, 4], "f32")
    t.store(empty, y, [4, 4], "f32", [zero, zero], [4, 4])
    found = findings(t)
    assert [d.op for d in found] == ["ktdp.load", "ktdp.store"]
    assert "dim 0 reaches 0..4, the view holds 0..3" in found[0].message
    assert all(d.where is not None and d.where.line and d.hint for d in found)


def test_an_unwritten_tensor_must_not_be_read() -> None:
    t = Text()
    zero = t.index(0)
    empty = t.empty([4], "f32")
    result = t.let(f"math.exp {empty} : tensor<4xf32>")
    t.store(result, t.view("y", [4]), [4], "f32", [zero], [4])
    (found,) = findings(t)
    assert "tensor.empty" in found.message and found.op == "math.exp"


def test_a_number_read_from_memory_is_no_subscript() -> None:
    t = Text()
    zero = t.index(0)
    ids = t.load(t.view("ids", [4], "i32"), [4], "i32", [zero], [4])
    element = t.let(f"tensor.extract {ids}[{zero}] : tensor<4xi32>")
    doubled = t.let(f"arith.addi {element}, {element} : i32")
    row = t.let(f"arith.index_cast {doubled} : i32 to index")
    value = t.load(t.view("x", [9, 4]), [9, 4], "f32", [row, zero], [1, 4])
    t.store(value, t.view("y", [1, 4]), [1, 4], "f32", [zero, zero], [1, 4])
    (found,) = findings(t)
    assert "read from memory" in found.message and "ind(...)" in found.hint


def test_a_future_that_nobody_takes_is_refused_by_name() -> None:
    text = """
#g = affine_set<(g) : (g >= 0, -g >= 0)>
#p = affine_set<(t)[g] : (t - 4 * g >= 0, 4 * g + 3 - t >= 0)>
#s = affine_set<(r) : (r >= 0, 7 - r >= 0)>
#i = affine_map<(r) -> (r)>
module { func.func @k(%x: index) attributes {grid = [4]} {
  %c0 = arith.constant 0 : index
  %v = ktdp.construct_memory_view %x, sizes: [8], strides: [1]
    {coordinate_set = #s, memory_space = #ktdp.memory_space<global>} : memref<8xf32>
  %t = ktdp.construct_access_tile %v[%c0]
    {access_tile_order = #i, access_tile_set = #s} : memref<8xf32> -> !ktdp.access_tile<8xindex>
  %d = ktdp.load %t : <8xindex> -> tensor<8xf32>
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #p
    -> !ktdp.tile_future<(tensor<8xf32>), groups = #g> {
  ^bb0(%gid: index):
    ktdp.yield_partial %d : tensor<8xf32>
  }
  return
} }"""
    with pytest.raises(HeadraceError) as error:
        graph_of(text)
    (found,) = error.value.diagnostics
    assert found.op == "ktdp.inter_tile_produce" and "inter_tile_reduce" in found.hint


def test_a_data_dependent_branch_may_not_store() -> None:
    t = Text()
    zero = t.index(0)
    y = t.view("y", [4])
    value = t.load(t.view("x", [4]), [4], "f32", [zero], [4])
    number = t.let(f"tensor.extract {value}[{zero}] : tensor<4xf32>")
    limit = t.let("arith.constant 0.0 : f32")
    condition = t.let(f"arith.cmpf ogt, {number}, {limit} : f32")
    t.do(f"scf.if {condition} {{")
    t.store(value, y, [4], "f32", [zero], [4])
    t.do("}")
    (found,) = findings(t)
    assert "branch" in found.message and found.op == "scf.if"


def test_a_function_that_is_named_has_to_exist() -> None:
    two = "module {\n func.func @a() { return }\n func.func @b() { return }\n}"
    with pytest.raises(HeadraceError, match="no function 'c'") as error:
        model(parse(two), device("spyre"), function="c")
    assert "a, b" in error.value.diagnostics[0].hint


@pytest.mark.parametrize("grid", ["[0]", "[-1]", "[]", '["x"]'])
def test_a_grid_is_a_list_of_positive_numbers(grid: str) -> None:
    with pytest.raises(HeadraceError, match="no list of positive integers"):
        graph_of(f"module {{ func.func @a() attributes {{grid = {grid}}} {{ return }} }}")


def test_addresses_may_only_be_added_to() -> None:
    t = Text()
    zero = t.index(0)
    t.args.append("%x: index")
    doubled = t.let("arith.muli %x, %x : index")
    moved = t.let(f"arith.addi {doubled}, %x : index")
    view = t.view("x", [4], start=moved)
    value = t.load(view, [4], "f32", [zero], [4])
    t.store(value, t.view("y", [4]), [4], "f32", [zero], [4])
    assert any("not known when scheduling" in d.message for d in findings(t))


def test_a_kernel_with_nothing_to_do_is_an_empty_graph() -> None:
    graph = graph_of("module { func.func @nothing() attributes {grid = [2]} { return } }")
    assert graph.classes[0].cores == (0, 1) and graph.classes[0].body == ()
    assert parse("module { }") is not None and kind([1], "f32") == "1xf32"


def test_a_loop_may_not_run_as_often_as_memory_says() -> None:
    t = Text()
    zero, one = t.index(0), t.index(1)
    counts = t.load(t.view("n", [1], "i32"), [1], "i32", [zero], [1])
    number = t.let(f"tensor.extract {counts}[{zero}] : tensor<1xi32>")
    end = t.let(f"arith.index_cast {number} : i32 to index")
    t.do(f"scf.for %i = {zero} to {end} step {one} {{ }}")
    (found,) = findings(t)
    assert found.op == "scf.for" and "read from memory" in found.message and "launch" in found.hint
