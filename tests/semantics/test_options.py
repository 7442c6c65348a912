"""Both readings of the choices that decide which tiles there are and in what order, on both engines."""

from __future__ import annotations

import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.numbers.memory import Memory
from headrace.semantics import batched, plain
from headrace.semantics.options import Options

from .test_intertile import ALL, STORE, X, program, reduction

ENGINES = pytest.mark.parametrize("engine", [plain, batched])


def _kernel(attributes, tile_id, body):
    return f"""
module {{
  func.func @k(%o: index) {attributes} {{
    {tile_id} = ktdp.get_compute_tile_id : {", ".join(["index"] * (tile_id.count("%")))}
    {body}
    %n = arith.index_cast %number : index to i32
    %one = tensor.splat %n : tensor<1xi32>
    %view = ktdp.construct_memory_view %o, sizes: [4], strides: [1] {{
      coordinate_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>,
      memory_space = #ktdp.memory_space<global>}} : memref<4xi32>
    %tile = ktdp.construct_access_tile %view[%place] {{
      access_tile_order = affine_map<(d0) -> (d0)>,
      access_tile_set = affine_set<(d0) : (d0 == 0)>}} : memref<4xi32> -> !ktdp.access_tile<1xindex>
    ktdp.store %one, %tile : tensor<1xi32>, <1xindex>
    return
  }}
}}"""


def _stored(engine, text, options):
    memory = Memory(1 << 16)
    address = memory.allocate(16)
    report = engine.interpret(parse(text), memory, {"o": address // 4}, options)
    return memory.view(address, "i32", 4).tolist(), report


@ENGINES
@pytest.mark.parametrize(("linearise", "last"), [("first", 1), ("last", 10)])
def test_the_dim_that_runs_fastest_says_whose_store_stays(engine, linearise, last):
    body = """%c10 = arith.constant 10 : index
    %tens = arith.muli %x, %c10 : index
    %number = arith.addi %tens, %y : index
    %place = arith.addi %x, %y : index"""
    text = _kernel("attributes {grid = [2, 2]}", "%x, %y", body)
    found, _ = _stored(engine, text, Options(linearise=linearise))
    assert found == [0, last, 11, 0]


@ENGINES
@pytest.mark.parametrize("tiles", [1, 4])
def test_a_function_without_a_grid_has_the_default_number_of_tiles(engine, tiles):
    body = """%c1 = arith.constant 1 : index
    %number = arith.addi %place, %c1 : index"""
    found, report = _stored(engine, _kernel("", "%place", body), Options(default_grid=tiles))
    assert found == [t + 1 if t < tiles else 0 for t in range(4)]
    assert (report.grid, report.tiles) == ((tiles,), tiles)
    with_grid = _kernel("attributes {grid = [2]}", "%place", body)
    assert _stored(engine, with_grid, Options(default_grid=tiles))[0] == [1, 2, 0, 0]


@ENGINES
def test_a_deadlock_names_every_tile_that_waits_and_whom_for(engine):
    text = program(
        ALL, f"{reduction(ALL)}\n{STORE}", "%skip = arith.cmpi ne, %t, %c4 : index\nscf.if %skip {", "}"
    )
    memory = Memory(1 << 16)
    starts = {name: memory.allocate(X.nbytes) // X.itemsize for name in ("x", "o")}
    with pytest.raises(HeadraceError) as caught:
        engine.interpret(parse(text), memory, starts)
    message = str(caught.value)
    waiting = "; ".join(f"tile {t} waits for tiles [4]" for t in (5, 6, 7))
    assert f"deadlock between tiles: {waiting}" in message
    assert "ktdp.inter_tile_reduce" in message and "<text>:" in message
    assert "hint: every tile of a group has to reach the produce op" in message
