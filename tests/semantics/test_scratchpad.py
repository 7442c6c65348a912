"""How many bytes of scratchpad a tile needs, counted by hand, and where it needs them; on both engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.runtime.kernel import Kernel
from headrace.semantics import batched, plain
from headrace.semantics.options import Options

from .test_batched import outcome
from .tiles import box, identity, kernel, view, whole

X = np.arange(12, dtype=np.float32)
T = "tensor<12xf32>"
B = X.nbytes
LOOP = """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant ROUNDS : index
    """

CASES: dict[str, tuple[int, str]] = {
    "an operand lives until its last use is done": (
        2 * B,
        f"%a = arith.addf %x, %x : {T}\n    %result = arith.addf %a, %a : {T}",
    ),
    "what is used again stays": (
        3 * B,
        f"""%a = arith.addf %x, %x : {T}
    %b = arith.addf %a, %a : {T}
    %result = arith.addf %a, %b : {T}""",
    ),
    "another shape of a buffer is the same buffer": (
        2 * B,
        f"""%v = tensor.expand_shape %x [[0, 1]] output_shape [3, 4] : {T} into tensor<3x4xf32>
    %w = tensor.collapse_shape %v [[0, 1]] : tensor<3x4xf32> into {T}
    %result = arith.addf %w, %x : {T}""",
    ),
    "a result nobody uses ends with its op": (
        2 * B,
        f"%a = math.exp %x : {T}\n    %b = math.exp %x : {T}\n    %result = arith.negf %x : {T}",
    ),
    "a tensor.empty takes nothing before it is written": (
        2 * B,
        f"""%e = tensor.empty() : tensor<1000xf32>
    %o = tensor.empty() : {T}
    %result = linalg.add ins(%x, %x : {T}, {T}) outs(%o : {T}) -> {T}""",
    ),
    "a wide value takes its own width": (
        B + B // 2,
        f"""%n = arith.truncf %x : {T} to tensor<12xf16>
    %result = arith.extf %n : tensor<12xf16> to {T}""",
    ),
    "a loop frees what an iteration made": (
        3 * B,
        LOOP.replace("ROUNDS", "5")
        + f"""scf.for %i = %c0 to %c5 step %c1 {{
      %a = math.exp %x : {T}
      %b = math.exp %a : {T}
      %c = math.exp %b : {T}
    }}
    %result = arith.negf %x : {T}""",
    ),
    "a loop of one iteration needs no less": (
        3 * B,
        LOOP.replace("ROUNDS", "1")
        + f"""scf.for %i = %c0 to %c5 step %c1 {{
      %a = math.exp %x : {T}
      %b = math.exp %a : {T}
    }}
    %result = arith.negf %x : {T}""",
    ),
    "a carried value and the next one live at the same time": (
        3 * B,
        LOOP.replace("ROUNDS", "4")
        + f"""%result = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> ({T}) {{
      %d = arith.addf %a, %x : {T}
      scf.yield %d : {T}
    }}""",
    ),
    "what a loop starts from lives until the loop ends": (
        3 * B,
        LOOP.replace("ROUNDS", "4")
        + f"""%result = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> ({T}) {{
      %d = arith.addf %a, %a : {T}
      scf.yield %d : {T}
    }}""",
    ),
    "a branch frees what it made": (
        3 * B,
        f"""%t = arith.constant true
    scf.if %t {{
      %a = math.exp %x : {T}
      %b = math.exp %a : {T}
    }}
    %result = arith.negf %x : {T}""",
    ),
    "a matrix product needs its operands and its result; a constant is one element": (
        B + 64 + B,
        f"""%m = tensor.expand_shape %x [[0, 1]] output_shape [3, 4] : {T} into tensor<3x4xf32>
    %w = arith.constant dense<1.0> : tensor<4x4xf32>
    %w2 = arith.addf %w, %w : tensor<4x4xf32>
    %z = tensor.empty() : tensor<3x4xf32>
    %p = linalg.matmul ins(%m, %w2 : tensor<3x4xf32>, tensor<4x4xf32>)
      outs(%z : tensor<3x4xf32>) -> tensor<3x4xf32>
    %result = tensor.collapse_shape %p [[0, 1]] : tensor<3x4xf32> into {T}""",
    ),
}


def _peaks(text: str, inputs=None) -> list[int]:
    found = [outcome(engine, Kernel(text, "k.mlir"), inputs)[1] for engine in (plain, batched)]
    assert found[0] == found[1]
    return [report.lx_peak_bytes for report in found]


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_of_a_tile_are_those_that_live_together(name):
    wanted, body = CASES[name]
    assert _peaks(kernel(body, {"x": X}, ((12,), "f32")), {"x": X}) == [wanted, wanted]


DISTRIBUTED = f"""func.func @k(%a: index, %b: index, %y: index) attributes {{grid = [1]}} {{
  {view("a", (4, 8), "f32")}
  {view("b", (4, 8), "f32").replace("-d1 + 7", "-d1 + 15").replace("d1 >= 0, -", "d1 - 8 >= 0, -")}
  %d = ktdp.construct_distributed_memory_view (%a_view, %b_view : memref<4x8xf32>, memref<4x8xf32>) : memref<4x16xf32>
  %t = ktdp.construct_access_tile %d[0, 4] {{access_tile_order = {identity(2)}, access_tile_set = {box((4, 8))}}} : memref<4x16xf32> -> !ktdp.access_tile<4x8xindex>
  %x = ktdp.load %t : <4x8xindex> -> tensor<4x8xf32>
  {view("y", (4, 8), "f32")}
  {whole("y", (4, 8), "f32")}
  ktdp.store %x, %y_tile : tensor<4x8xf32>, <4x8xindex>
  return
}}"""  # noqa: E501


def test_a_load_from_several_parts_makes_one_tensor():
    assert _peaks(DISTRIBUTED) == [128, 128]


def _in_tiles(body: str) -> str:
    """Four tiles; tile t loads row t of x as %x, [1, 8] f32, and stores %result there."""
    tile = f"{{access_tile_order = {identity(2)}, access_tile_set = {box((1, 8))}}}"
    return f"""func.func @k(%x: index, %y: index) attributes {{grid = [4]}} {{
  %t = ktdp.get_compute_tile_id : index
  {view("x", (4, 8), "f32")}
  {view("y", (4, 8), "f32")}
  %tx = ktdp.construct_access_tile %x_view[%t, 0] {tile} : memref<4x8xf32> -> !ktdp.access_tile<1x8xindex>
  %ty = ktdp.construct_access_tile %y_view[%t, 0] {tile} : memref<4x8xf32> -> !ktdp.access_tile<1x8xindex>
  %v = ktdp.load %tx : <1x8xindex> -> tensor<1x8xf32>
  {body}
  ktdp.store %result, %ty : tensor<1x8xf32>, <1x8xindex>
  return
}}"""


def test_a_combination_needs_the_partial_value_the_sum_so_far_the_next_one_and_their_sum():
    row, future = (
        "tensor<1x8xf32>",
        "!ktdp.tile_future<(tensor<1x8xf32>), groups = affine_set<(g) : (g == 0)>>",
    )
    all_tiles = "affine_set<(t)[g] : (t >= 0, 3 - t >= 0)>"
    body = f"""%z = arith.constant dense<0.0> : {row}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = {all_tiles} -> {future} {{
  ^bb0(%g: index):
    ktdp.yield_partial %v : {row}
  }}
  %s = ktdp.inter_tile_reduce(%f)
    consumer_tiles_per_group = {all_tiles}, identity(%z : {row}) : {future} -> {row} {{
  ^bb0(%l: {row}, %r: {row}):
    %a = arith.addf %l, %r : {row}
    ktdp.yield_reduced %a : {row}
  }}
  %result = arith.addf %s, %v : {row}"""
    assert _peaks(_in_tiles(body)) == [4 + 4 * 32, 4 + 4 * 32]


def test_the_tile_that_needs_most_counts():
    body = """%c2 = arith.constant 2 : index
  %is_last = arith.cmpi ugt, %t, %c2 : index
  scf.if %is_last {
    %a = math.exp %v : tensor<1x8xf32>
    %b = math.exp %a : tensor<1x8xf32>
    %c = arith.addf %b, %a : tensor<1x8xf32>
  }
  %result = arith.negf %v : tensor<1x8xf32>"""
    assert _peaks(_in_tiles(body)) == [4 * 32, 4 * 32]


@pytest.mark.parametrize("engine", [plain, batched])
def test_too_many_bytes_are_an_error_where_they_are_reached(engine):
    body = f"""%a = arith.addf %x, %x : {T}
    %b = arith.mulf %a, %x : {T}
    %result = arith.subf %b, %x : {T}"""
    text = kernel(body, {"x": X}, ((12,), "f32"))
    line = next(k for k, line in enumerate(text.splitlines(), 1) if "arith.mulf" in line)
    strict = Options(strict_lx=True, lx_bytes=3 * B)
    assert outcome(engine, Kernel(text, "k.mlir"), {"x": X}, options=strict)[0] is not None
    none, error = outcome(
        engine, Kernel(text, "k.mlir"), {"x": X}, options=replace(strict, lx_bytes=3 * B - 1)
    )
    assert none is None
    assert error.startswith(
        f"k.mlir:{line}:5: error: arith.mulf: a tile needs 144 bytes of scratchpad, it has 143"
    )
    assert "hint: use smaller tiles" in error


def test_scratch_arguments_count_beside_what_lives():
    text = kernel(f"%result = arith.addf %x, %x : {T}", {"x": X}, ((12,), "f32"))
    with_scratch = text.replace("%out: index)", "%out: index, %s: index)").replace(
        "    return",
        f"    {view('s', (100,), 'f32', 'ct_local')}\n    {whole('s', (100,), 'f32')}\n"
        "    %z = arith.constant dense<0.0> : tensor<100xf32>\n"
        "    ktdp.store %z, %s_tile : tensor<100xf32>, <100xindex>\n    return",
    )
    assert _peaks(with_scratch, {"x": X}) == [512 + 2 * B, 512 + 2 * B]
    strict = Options(strict_lx=True, lx_bytes=600)
    none, error = outcome(plain, Kernel(with_scratch, "k"), {"x": X}, options=strict)
    assert none is None and "needs 608 bytes of scratchpad, it has 600" in error
