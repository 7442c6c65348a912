"""Values that travel between tiles."""

import numpy as np
import pytest

from headrace.ir.diagnostics import HeadraceError

from .tiles import run, view

GROUPS = "affine_set<(g) : (g >= 0, -g + 1 >= 0)>"
ALL = "affine_set<(t)[g] : (t - g * 4 >= 0, g * 4 + 3 - t >= 0)>"
FIRST = "affine_set<(t)[g] : (t - g * 4 == 0)>"
FUTURE = f"!ktdp.tile_future<(tensor<1x6xf32>), groups = {GROUPS}>"
ROW = "affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 5 >= 0)>"
ID = "affine_map<(d0, d1) -> (d0, d1)>"


def program(producers: str, deliver: str, guard: str = "", close: str = "") -> str:
    """8 tiles in 2 groups of 4; tile t holds row t of x and stores what is delivered to it to row t of o."""
    return f"""func.func @f(%x: index, %o: index) attributes {{grid = [8]}} {{
      %t = ktdp.get_compute_tile_id : index
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant dense<0.0> : tensor<1x6xf32>
      {view("x", (8, 6), "f32")}
      {view("o", (8, 6), "f32")}
      %tx = ktdp.construct_access_tile %x_view[%t, %c0] {{access_tile_order = {ID}, access_tile_set = {ROW}}}
        : memref<8x6xf32> -> !ktdp.access_tile<1x6xindex>
      %to = ktdp.construct_access_tile %o_view[%t, %c0] {{access_tile_order = {ID}, access_tile_set = {ROW}}}
        : memref<8x6xf32> -> !ktdp.access_tile<1x6xindex>
      %v = ktdp.load %tx : <1x6xindex> -> tensor<1x6xf32>
      {guard}
      %f = ktdp.inter_tile_produce producer_tiles_per_group = {producers} -> {FUTURE} {{
      ^bb0(%gid: index):
        ktdp.yield_partial %v : tensor<1x6xf32>
      }}
      {deliver}
      {close}
      return
    }}"""


def reduction(consumers: str) -> str:
    return f"""%r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = {consumers},
        identity(%zero : tensor<1x6xf32>) : {FUTURE} -> tensor<1x6xf32> {{
      ^bb0(%a: tensor<1x6xf32>, %b: tensor<1x6xf32>):
        %s = arith.addf %a, %b : tensor<1x6xf32>
        ktdp.yield_reduced %s : tensor<1x6xf32>
      }}"""


STORE = "ktdp.store %r, %to : tensor<1x6xf32>, <1x6xindex>"
X = np.arange(48, dtype=np.float32).reshape(8, 6)


def test_an_all_reduce_gives_every_tile_its_groups_sum():
    got = run(program(ALL, f"{reduction(ALL)}\n{STORE}"), {"x": X})[0]["o"]
    assert np.array_equal(got, np.repeat(X.reshape(2, 4, 6).sum(axis=1), 4, axis=0))


def test_a_reduce_to_one_gives_the_others_nothing():
    root = f"""{reduction(FIRST)}
      %lane = arith.remui %t, %c4 : index
      %is = arith.cmpi eq, %lane, %c0 : index
      scf.if %is {{
        {STORE}
      }}"""
    got = run(program(ALL, root), {"x": X})[0]["o"]
    assert np.array_equal(got[::4], X.reshape(2, 4, 6).sum(axis=1)) and not got[1:4].any()
    with pytest.raises(HeadraceError, match="tile 1: %r is not delivered to this tile"):
        run(program(ALL, f"{reduction(FIRST)}\n{STORE}"), {"x": X})


def consumption(dependency: str = "") -> str:
    extra = f", producer_dependency_per_consumer = {dependency}" if dependency else ""
    return f"""%r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = {ALL}{extra}
        : {FUTURE} -> tensor<1x6xf32>"""


def test_a_broadcast_gives_every_tile_the_value_of_its_groups_producer():
    got = run(program(FIRST, f"{consumption()}\n{STORE}"), {"x": X})[0]["o"]
    assert np.array_equal(got, X[[0, 0, 0, 0, 4, 4, 4, 4]])


def test_a_permutation_gives_every_tile_the_producer_it_names():
    swapped = "affine_set<(p)[c, g] : (p + c - g * 8 - 3 == 0)>"
    got = run(program(ALL, f"{consumption(swapped)}\n{STORE}"), {"x": X})[0]["o"]
    assert np.array_equal(got, X[[3, 2, 1, 0, 7, 6, 5, 4]])
    with pytest.raises(HeadraceError, match="has 4 producers; one is needed"):
        run(program(ALL, f"{consumption()}\n{STORE}"), {"x": X})


def test_tiles_that_wait_for_a_tile_that_never_produces_are_a_deadlock():
    guard = "%skip = arith.cmpi ne, %t, %c4 : index\nscf.if %skip {"
    with pytest.raises(HeadraceError, match=r"deadlock between tiles: tile 5 waits for tiles \[4\]"):
        run(program(ALL, f"{reduction(ALL)}\n{STORE}", guard, "}"), {"x": X})


def test_messages_of_one_loop_iteration_do_not_meet_those_of_another():
    text = program(ALL, f"{reduction(ALL)}\n{STORE}")
    start = text.index("%f = ktdp")
    end = text.index(STORE)
    inner = text[start:end].replace("%v :", "%u :")
    loop = f"""%c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%u = %v) -> (tensor<1x6xf32>) {{
        {inner.replace("%r =", "%w =")}
        scf.yield %w : tensor<1x6xf32>
      }}
      """
    got = run(text[:start] + loop + text[end:], {"x": X})[0]["o"]
    total = X.reshape(2, 4, 6).sum(axis=1)
    assert np.array_equal(got, np.repeat(total * 16, 4, axis=0))
