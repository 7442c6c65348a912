"""Parallel points and unsigned loops, against NumPy, on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.kernel import Kernel
from headrace.semantics import batched, plain

from .test_batched import outcome
from .tiles import box, evaluate, identity, run
from .tiles import kernel as kernel_of

X = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)


def test_every_point_inserts_its_slice_into_the_shared_result():
    body = """%e = tensor.empty() : tensor<6x8xf32>
    %two = arith.constant 2 : index
    %result = scf.forall (%i, %j) = (0, 0) to (6, 8) step (%two, 4) shared_outs(%o = %e)
      -> (tensor<6x8xf32>) {
      %p = tensor.extract_slice %x[%i, %j] [2, 4] [1, 1] : tensor<6x8xf32> to tensor<2x4xf32>
      %q = arith.addf %p, %p : tensor<2x4xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %q into %o[%i, %j] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<6x8xf32>
      }
    }"""
    assert np.array_equal(evaluate(body, ((6, 8), "f32"), x=X), 2 * X)


def test_points_read_the_shared_outs_as_they_were_and_leave_the_rest_alone():
    two = "(tensor<6x8xf32>, tensor<6x8xf32>)"
    body = f"""%result, %u = scf.forall (%i) in (3) shared_outs(%o = %x, %w = %x) -> {two} {{
      %p = tensor.extract_slice %o[0, 0] [1, 8] [1, 1] : tensor<6x8xf32> to tensor<8xf32>
      %q = arith.negf %p : tensor<8xf32>
      scf.forall.in_parallel {{
        tensor.parallel_insert_slice %q into %o[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<6x8xf32>
        tensor.parallel_insert_slice %q into %w[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<6x8xf32>
      }}
    }}"""
    wanted = X.copy()
    wanted[:3] = -X[0]
    assert np.array_equal(evaluate(body, ((6, 8), "f32"), x=X), wanted)


def test_a_slice_outside_of_the_shared_result_is_an_error():
    body = """%result = scf.forall (%i) in (%n) shared_outs(%o = %x) -> (tensor<6x8xf32>) {
      %p = tensor.extract_slice %x[0, 0] [1, 8] [1, 1] : tensor<6x8xf32> to tensor<8xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %p into %o[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<6x8xf32>
      }
    }"""
    given = {"scalar_types": "%n: index", "x": X}
    assert np.array_equal(evaluate(body, ((6, 8), "f32"), scalars={"n": 1}, **given), X)
    with pytest.raises(HeadraceError, match=r"elements 6\.\.6 of axis 0 are outside 6 elements"):
        evaluate(body, ((6, 8), "f32"), scalars={"n": 7}, **given)


def _rows_kernel(loop: str, big: int) -> str:
    """Two tiles; every round of the loop doubles the row 3 t + i of x into y."""
    set2, set1 = box((6, 8)), box((1, 8))
    views = "".join(
        f"""
  %v{name} = ktdp.construct_memory_view %{name}, sizes: [6, 8], strides: [8, 1]
    {{coordinate_set = {set2}, memory_space = #ktdp.memory_space<global>}} : memref<6x8xf32>"""
        for name in "xy"
    )
    tiles = "".join(
        f"""
    %t{name} = ktdp.construct_access_tile %v{name}[%row, 0]
      {{access_tile_order = {identity(2)}, access_tile_set = {set1}}}
      : memref<6x8xf32> -> !ktdp.access_tile<1x8xindex>"""
        for name in "xy"
    )
    return f"""func.func @k(%x: index, %y: index) attributes {{grid = [2]}} {{
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %big = arith.constant {big} : index
  %t = ktdp.get_compute_tile_id : index
  %base = arith.muli %t, %c3 : index{views}
  {loop} {{
    %row = arith.addi %base, %i : index{tiles}
    %a = ktdp.load %tx : <1x8xindex> -> tensor<1x8xf32>
    %b = arith.addf %a, %a : tensor<1x8xf32>
    ktdp.store %b, %ty : tensor<1x8xf32>, <1x8xindex>
  }}
  return
}}"""


@pytest.mark.parametrize(
    "loop, rounds",
    [
        ("scf.forall (%i) in (%c3)", [0, 1, 2]),
        ("scf.for unsigned %i = %c1 to %c3 step %c1", [1, 2]),
        ("scf.for unsigned %i = %c1 to %big step %big", [1]),
        ("scf.for unsigned %i = %big to %c3 step %c1", []),
    ],
)
def test_parallel_points_and_unsigned_loops_store_alike_on_both_engines(loop, rounds):
    text = _rows_kernel(loop, -1)
    wanted = np.zeros_like(X)
    for row in (3 * t + i for t in range(2) for i in rounds):
        wanted[row] = 2 * X[row]
    kernel = Kernel(text, "k")
    slow, fast = (outcome(engine, kernel, {"x": X}) for engine in (plain, batched))
    assert np.array_equal(slow[0]["y"], wanted) and np.array_equal(fast[0]["y"], wanted)
    assert slow[1] == fast[1]


def test_points_that_insert_into_the_same_elements_are_told():
    body = """%result = scf.forall (%i) in (2) shared_outs(%o = %x) -> (tensor<6x8xf32>) {
      %p = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<6x8xf32> to tensor<8xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %p into %o[5, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<6x8xf32>
      }
    }"""
    results, report = run(kernel_of(body, {"x": X}, ((6, 8), "f32")), {"x": X})
    assert np.array_equal(results["out"][5], X[1])
    (told,) = report.warnings
    assert told.op == "scf.forall" and "insert into the same elements" in told.message and told.where.line > 0


def test_the_scheduler_takes_unsigned_loops_of_small_bounds_and_refuses_others():
    text = _rows_kernel("scf.for unsigned %i = %c1 to %c3 step %c1", 0)
    found = Kernel(text, "k").compile("tiny").run(x=X).outputs["y"]
    assert np.array_equal(found[[1, 2, 4, 5]], 2 * X[[1, 2, 4, 5]])
    with pytest.raises(HeadraceError, match="not known to be below 2\\^63"):
        Kernel(_rows_kernel("scf.for unsigned %i = %big to %c3 step %c1", -1), "k").compile("tiny")
