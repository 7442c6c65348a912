"""Loops, branches, several functions, scratch, scratchpad bytes, missing values."""

import numpy as np
import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.numbers.memory import Memory
from headrace.semantics.plain import Options, interpret

from .tiles import evaluate, run, view, whole

X = np.arange(12, dtype=np.float32)


def test_a_loop_carries_tensors_and_scalars():
    body = """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %one = arith.constant 1 : i32
    %t, %n = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x, %k = %one) -> (tensor<12xf32>, i32) {
      %d = arith.addf %a, %x : tensor<12xf32>
      %m = arith.muli %k, %k : i32
      %p = arith.addi %m, %one : i32
      scf.yield %d, %p : tensor<12xf32>, i32
    }
    %f = arith.sitofp %n : i32 to f32
    %s = tensor.splat %f : tensor<12xf32>
    %result = arith.addf %t, %s : tensor<12xf32>"""
    n = 1
    for _ in range(5):
        n = n * n + 1
    assert np.array_equal(evaluate(body, ((12,), "f32"), x=X), 6 * X + n)


def test_a_branch_yields_the_value_of_the_side_taken():
    body = """%c3 = arith.constant 3 : index
    %c = arith.cmpi slt, %n, %c3 : index
    %result = scf.if %c -> (tensor<12xf32>) {
      scf.yield %x : tensor<12xf32>
    } else {
      %d = arith.negf %x : tensor<12xf32>
      scf.yield %d : tensor<12xf32>
    }"""
    for n, sign in ((2, 1), (3, -1)):
        got = evaluate(body, ((12,), "f32"), scalars={"n": n}, scalar_types="%n: index", x=X)
        assert np.array_equal(got, sign * X)


def test_a_while_loop_ends_when_its_condition_fails():
    body = """%one = arith.constant 1 : i32
    %limit = arith.constant 100 : i32
    %n = scf.while (%a = %one) : (i32) -> i32 {
      %c = arith.cmpi slt, %a, %limit : i32
      scf.condition(%c) %a : i32
    } do {
    ^bb0(%b: i32):
      %d = arith.addi %b, %b : i32
      scf.yield %d : i32
    }
    %f = arith.sitofp %n : i32 to f32
    %result = tensor.splat %f : tensor<12xf32>"""
    assert evaluate(body, ((12,), "f32"), x=X).tolist() == [128.0] * 12


def test_a_parallel_loop_combines_what_its_points_give():
    body = """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %s, %p = "scf.parallel"(%c0, %c1, %c3, %c3, %c1, %c1, %zero, %one)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
    ^bb0(%i: index, %j: index):
      %k = arith.addi %i, %j : index
      "scf.reduce"(%k, %k) ({
      ^bb0(%a: index, %b: index):
        %d = arith.addi %a, %b : index
        "scf.reduce.return"(%d) : (index) -> ()
      }, {
      ^bb0(%a: index, %b: index):
        %d = arith.muli %a, %b : index
        "scf.reduce.return"(%d) : (index) -> ()
      }) : (index, index) -> ()
    }) : (index, index, index, index, index, index, index, index) -> (index, index)
    %t = arith.addi %s, %p : index
    %n = arith.index_cast %t : index to i32
    %result = tensor.from_elements %n : tensor<1xi32>"""
    points = [i + j for i in range(3) for j in (1, 2)]
    assert evaluate(body, ((1,), "i32"), x=X).tolist() == [sum(points) + int(np.prod(points))]


def test_a_switch_takes_the_case_of_its_operand_and_a_region_runs_in_place():
    body = """%r = "scf.execute_region"() ({
      %v = arith.negf %x : tensor<12xf32>
      scf.yield %v : tensor<12xf32>
    }) : () -> tensor<12xf32>
    %result = "scf.index_switch"(%n) <{cases = array<i64: 2, 5>}> ({
      scf.yield %x : tensor<12xf32>
    }, {
      scf.yield %r : tensor<12xf32>
    }, {
      %d = arith.addf %x, %x : tensor<12xf32>
      scf.yield %d : tensor<12xf32>
    }) : (index) -> tensor<12xf32>"""
    for n, factor in ((2, -1), (5, 2), (3, 1)):
        got = evaluate(body, ((12,), "f32"), scalars={"n": n}, scalar_types="%n: index", x=X)
        assert np.array_equal(got, factor * X)


def test_a_step_that_is_not_positive_is_an_error():
    body = """%c0 = arith.constant 0 : index
    %result = scf.for %i = %c0 to %c0 step %c0 iter_args(%a = %x) -> (tensor<12xf32>) {
      scf.yield %a : tensor<12xf32>
    }"""
    with pytest.raises(HeadraceError, match="scf.for: the step is 0"):
        evaluate(body, ((12,), "f32"), x=X)


def test_scalar_arguments_need_a_value_or_an_example():
    body = "%s = tensor.splat %eps : tensor<12xf32>\n%result = arith.addf %x, %s : tensor<12xf32>"
    got = evaluate(body, ((12,), "f32"), scalars={"eps": 0.5}, scalar_types="%eps: f32", x=X)
    assert np.array_equal(got, X + 0.5)
    with pytest.raises(HeadraceError, match="argument 'eps' of k has no value"):
        evaluate(body, ((12,), "f32"), scalar_types="%eps: f32", x=X)


def _step(name: str, source: str, target: str, op: str, extra: str = "", space: str = "global") -> str:
    return f"""func.func {extra} @{name}(%{source}: index, %{target}: index) attributes {{grid = [1]}} {{
      {view(source, (12,), "f32", space if source == "s" else "global")}
      {whole(source, (12,), "f32")}
      {view(target, (12,), "f32", space if target == "s" else "global")}
      {whole(target, (12,), "f32")}
      %x = ktdp.load %{source}_tile : <12xindex> -> tensor<12xf32>
      %y = {op} %x, %x : tensor<12xf32>
      ktdp.store %y, %{target}_tile : tensor<12xf32>, <12xindex>
      return
    }}"""


def test_functions_run_in_textual_order_and_share_buffers_by_name():
    text = "\n".join([_step("one", "a", "b", "arith.addf"), _step("two", "b", "c", "arith.mulf")])
    results, _ = run(text, {"a": X})
    assert np.array_equal(results["c"], (2 * X) ** 2)
    results, _ = run(text, {"b": X}, function="two")
    assert np.array_equal(results["c"], X**2) and "a" not in results


def test_a_host_function_says_what_runs_on_which_buffer():
    text = f"""{_step("twice", "a", "b", "arith.addf", "private")}
    func.func @host(%p: index, %q: index) {{
      func.call @twice(%p, %q) : (index, index) -> ()
      func.call @twice(%q, %p) : (index, index) -> ()
      func.call @twice(%p, %q) : (index, index) -> ()
      return
    }}"""
    results, _ = run(text, {"p": X})
    assert np.array_equal(results["p"], 4 * X) and np.array_equal(results["q"], 8 * X)


def test_scratch_is_kept_from_one_function_to_the_next():
    text = "\n".join(
        [
            _step("one", "a", "s", "arith.addf", space="ct_local"),
            _step("two", "s", "c", "arith.addf", space="ct_local"),
        ]
    )
    results, report = run(text, {"a": X})
    assert np.array_equal(results["c"], 4 * X) and "s" not in results
    assert report.read_bytes == 48 and report.written_bytes == 48


def test_the_largest_number_of_live_bytes_of_a_tile_is_reported():
    body = """%a = arith.addf %x, %x : tensor<12xf32>
    %b = arith.addf %a, %a : tensor<12xf32>
    %c = tensor.collapse_shape %b [[0]] : tensor<12xf32> into tensor<12xf32>
    %result = arith.addf %c, %a : tensor<12xf32>"""
    from .tiles import kernel

    text = kernel(body, {"x": X}, ((12,), "f32"))
    _, report = run(text, {"x": X})
    assert report.lx_peak_bytes == 3 * 48  # %a and %b when %result is made
    with pytest.raises(HeadraceError, match="needs 144 bytes of scratchpad, it has 128"):
        run(text, {"x": X}, options=Options(strict_lx=True, lx_bytes=128))


def test_ops_nobody_knows_are_named_with_their_place():
    text = """func.func @f(%a: index) attributes {grid = [1]} {
      %m = memref.alloc() : memref<4xf32>
      return
    }"""
    with pytest.raises(HeadraceError, match=r"<text>:2:\d+: error: memref.alloc: .*does not know"):
        interpret(parse(text), Memory(1024), {})


def test_tile_ids_run_along_the_first_grid_dim_first():
    text = f"""func.func @f(%o: index) attributes {{grid = [2, 3]}} {{
      %i, %j = ktdp.get_compute_tile_id : index, index
      {view("o", (2, 3), "i32")}
      %t = ktdp.construct_access_tile %o_view[%i, %j] {{access_tile_order = affine_map<(d0, d1) -> (d0, d1)>,
        access_tile_set = affine_set<(d0, d1) : (d0 == 0, d1 == 0)>}} : memref<2x3xi32>
        -> !ktdp.access_tile<1x1xindex>
      %c10 = arith.constant 10 : index
      %m = arith.muli %i, %c10 : index
      %s = arith.addi %m, %j : index
      %v = arith.index_cast %s : index to i32
      %x = tensor.from_elements %v : tensor<1x1xi32>
      ktdp.store %x, %t : tensor<1x1xi32>, <1x1xindex>
      return
    }}"""
    results, report = run(text, {})
    assert results["o"].tolist() == [[0, 1, 2], [10, 11, 12]] and report.tiles == 6
    with pytest.raises(HeadraceError, match="1 coordinates of a grid of"):
        run(
            text.replace(
                "%i, %j = ktdp.get_compute_tile_id : index, index",
                "%i = ktdp.get_compute_tile_id : index\n%j = arith.constant 0 : index",
            ),
            {},
        )


def test_an_option_takes_only_its_choices():
    with pytest.raises(HeadraceError, match="bounds cannot be 'loose'"):
        Options(bounds="loose")
    assert Options(bounds="mask").bounds == "mask"
