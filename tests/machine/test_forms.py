"""The rarer forms of DFIR, each in a program small enough to see what it must give."""

import numpy as np
import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.machine.options import Options
from tests.machine.forms import OUT, image, load, on_sfu, run, store, view

F32 = np.float32
X = np.arange(64, dtype=F32)
Y = np.array([3, -1, 4, -1, 5, -9, 2, 6], F32)
VIEWS = view("x", "%c0", "64xf32") + view("y", "%c64", "8xf32") + view("o", "%cout", "64xf32")


def _on_lanes(text: str, result: str = "r", lanes: int = 8, options: Options | None = None) -> np.ndarray:
    """What `text` makes of %a (8 lanes of X from 8 on) and %b (Y)."""
    body = VIEWS + load("a", "x", "8", 8, "f32", 64) + load("b", "y", "0", 8, "f32", 8) + text
    out = run(on_sfu(body + store(result, "o", "0", lanes, "f32", 64)), {0: X, 64: Y}, F32, (lanes,), options)
    return out


A = X[8:16]


# ---- vectors -----------------------------------------------------------------------------------------------
MASK = "%m = vectorchain.create_affine_mask {mask_set = affine_set<(d0) : (d0 - 2 >= 0)>} : vector<8xi1>\n"
ON = np.arange(8) >= 2


def test_products_that_are_masked_off_are_left_out() -> None:
    text = MASK + (
        "%r = vectorchain.multiply %a, %b[%m : vector<8xi1>] "
        "{reduction_map = affine_map<(d0) -> (d0 floordiv 4)>}"
        " : vector<8xf32>, vector<8xf32>, vector<2xf32>\n"
    )
    want = np.where(ON, A * Y, 0).reshape(2, 4).sum(1)
    assert (_on_lanes(text, lanes=2) == want).all()


def test_masked_products_ignore_what_is_not_a_number() -> None:
    text = MASK + (
        "%n = vectorchain.constant_bitstream "
        "{value = [0x7fc00000, 0x7f800000, 0, 0, 0, 0, 0, 0]} : vector<8xf32>\n"
        "%r = vectorchain.multiply_and_accumulate %n, %b, %a[%m : vector<8xi1>] {reduction_map = #i1}"
        " : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>\n"
    )
    assert (_on_lanes(text) == A).all()


def test_a_mask_over_the_results_gives_the_addend() -> None:
    text = """
%m = vectorchain.create_affine_mask {mask_set = affine_set<(d0) : (d0 - 1 >= 0)>} : vector<2xi1>
%c = vectorchain.select %b {selection_map = #i1} : vector<8xf32>, vector<2xf32>
%r = vectorchain.multiply_and_accumulate %a, %b, %c[%m : vector<2xi1>]
  {reduction_map = affine_map<(d0) -> (d0 floordiv 4)>}
  : vector<8xf32>, vector<8xf32>, vector<2xf32>, vector<2xf32>
"""
    want = np.where([False, True], (A * Y).reshape(2, 4).sum(1) + Y[:2], Y[:2])
    assert (_on_lanes(text, lanes=2) == want).all()


@pytest.mark.parametrize(("kept", "lanes"), [("d1", 3), ("d0", 8)])
def test_a_product_of_values_repeated_along_one_dim(kept: str, lanes: int) -> None:
    """Both factors repeat along d1: summed over, it counts as often as it is long; kept, it stays."""
    text = f"""
%s = vectorchain.select %a {{selection_map = affine_map<(d0, d1) -> (d0)>}} : vector<8xf32>, vector<8x3xf32>
%t = vectorchain.select %b {{selection_map = affine_map<(d0, d1) -> (d0)>}} : vector<8xf32>, vector<8x3xf32>
%r = vectorchain.multiply %s, %t {{reduction_map = affine_map<(d0, d1) -> ({kept})>}}
  : vector<8x3xf32>, vector<8x3xf32>, vector<{lanes}xf32>
"""
    want = np.full(3, (A * Y).sum()) if kept == "d1" else 3 * A * Y
    assert np.allclose(_on_lanes(text, lanes=lanes), want, rtol=1e-6)


def test_shuffle_takes_integers_and_pads_and_masked_lanes_are_0() -> None:
    text = MASK + (
        "%p = arith.constant 0.5 : f32\n"
        "%r = vectorchain.shuffle input(%a), variable(%c3), pad(%p), mask(%m) "
        "{indices = [5 : i32, -1 : i32, -2 : i32, 0 : i32], repetition = 2 : i32}"
        " : vector<8xf32>, index, f32, vector<8xi1>, vector<8xf32>\n"
    )
    assert (_on_lanes(text) == np.where(ON, np.tile([A[5], 3, 0.5, A[0]], 2), 0)).all()


def test_estimates_take_masks() -> None:
    text = MASK + (
        "%r = vectorchain.tanh_estimate %b[%m : vector<8xi1>] "
        "{version = #vectorchain<estimate_versions offset>} : vector<8xf32>, vector<8xf32>\n"
    )
    assert np.allclose(_on_lanes(text), np.where(ON, np.tanh(Y), 0), rtol=1e-6)


def test_estimates_have_the_bits_asked_for() -> None:
    text = "%r = vectorchain.rec_estimate %b : vector<8xf32>, vector<8xf32>\n"
    assert (_on_lanes(text) == 1 / Y).all()
    rough = _on_lanes(text, options=Options(estimate_bits=6))
    error = np.abs(rough * Y - 1)
    assert 0 < error.max() <= 2.0**-6
    mantissas = np.frexp(rough)[0] * 64
    assert (mantissas == np.rint(mantissas)).all()


def test_pack_takes_lanes_by_number_or_in_turn() -> None:
    text = (
        "%r = vectorchain.pack %a, %b {indices = [0 : i32, 1 : i32], repetition = 4 : index}"
        " : vector<8xf32>, vector<8xf32>, vector<8xf32>\n"
    )
    assert (_on_lanes(text) == np.tile(A[:2], 4)).all()
    in_turn = _on_lanes(text, options=Options(pack="operand"))
    assert (in_turn == np.stack([A[:4], Y[:4]], 1).reshape(-1)).all()


def test_pack_extends_integers_with_zeros_unless_told_otherwise() -> None:
    text = """
%p = arith.constant dense<[-1, 2]> : vector<2xi8>
%q = vectorchain.pack %p, %p {indices = [0 : i32, 1 : i32, 2 : i32, 3 : i32], repetition = 1 : index, SIGN}
  : vector<2xi8>, vector<2xi8>, vector<4xi32>
%r = arith.sitofp %q : vector<4xi32> to vector<4xf32>
"""
    assert _on_lanes(text.replace(", SIGN", ""), lanes=4).tolist() == [255, 2, 255, 2]
    assert _on_lanes(text.replace("SIGN", "sign_extend = true"), lanes=4).tolist() == [-1, 2, -1, 2]


def test_merge_puts_parts_of_two_vectors_together() -> None:
    text = """
%r = vectorchain.merge %a, %b {
  iteration_space_CA = #v4, access_function_CA = affine_map<(d0) -> (d0 * 2)>, access_function_A = #i1,
  iteration_space_CB = affine_set<(d0) : (d0 >= 0, -d0 + 1 >= 0)>,
  access_function_CB = affine_map<(d0) -> (d0 * 4 + 1)>, access_function_B = affine_map<(d0) -> (d0 + 6)>}
  : vector<8xf32>, vector<8xf32>, vector<8xf32>
"""
    want = np.zeros(8, F32)
    want[::2] = A[:4]
    want[[1, 5]] = Y[6:]
    assert (_on_lanes(text) == want).all()


def test_a_transfer_mask_is_a_vector_of_ones_and_the_mask_value() -> None:
    text = (
        "%r = agen.set_transfer_mask_state mask_value(%c3) { num_slices = 2 : i32, "
        'slice_mask_map = "(A|B)(0)", maskA = "(unmasked = 1 : i32, masked = 3 : i32)", '
        'maskB = "(unmasked = 2 : i32, masked = 1 : i32)" } : index, vector<8xf32>\n'
    )
    assert _on_lanes(text).tolist() == [1, 3, 3, 3, 1, 1, 1, 1]


def test_vectors_need_not_be_of_a_builtin_type() -> None:
    text = (
        "%r0 = vectorchain.neg %a : vector<8xf32>, !dataflow.custom_vector<8xf32>\n"
        "%r = vectorchain.neg %r0 : !dataflow.custom_vector<8xf32>, vector<8xf32>\n"
    )
    text = text.replace(
        "vectorchain.neg %r0 : !dataflow.custom_vector<8xf32>",
        "vectorchain.select %r0 {selection_map = #i1} : !dataflow.custom_vector<8xf32>",
    )
    assert (_on_lanes(text.replace("vectorchain.neg %a", "vectorchain.cast %a")) == A).all()


# ---- memory ------------------------------------------------------------------------------------------------
INDICES = np.array([5, 0, 7, 2, 2, 1, 6, 3], np.int32)
TABLE = VIEWS + view("t", "%c0", "8x8xf32", "#row") + view("i", "%c1024", "8xi32")
MEMORY = {0: X, 64: Y, 1024: INDICES}


def test_a_symbolic_access_adds_up_indices_times_strides() -> None:
    body = VIEWS + (
        "%v = agen.symbolic_vector_load %x[indices:(%c3, %c2), strides:(%c8, %c1)] "
        "{load_order = #i1, load_set = #v8} : memref<64xf32>, vector<8xf32>\n"
        "agen.symbolic_vector_store %v, %o[indices:(%c1), strides:(%c4)] "
        "{store_order = #i1, store_set = #v8} : memref<64xf32>, vector<8xf32>\n"
    )
    assert (run(on_sfu(body), {0: X}, shape=(12,))[4:] == X[26:34]).all()


def test_an_indirect_load_moves_the_vector_by_one_integer() -> None:
    body = TABLE + (
        "%v = agen.indirect_vector_load indirect:%i[%c2] direct:%t[0, 0] {load_order = #i2, load_set = #r8}"
        " : memref<8xi32>, memref<8x8xf32>, vector<8xf32>\n" + store("v", "o", "0", 8, "f32", 64)
    )
    assert (run(on_sfu(body), MEMORY) == X.reshape(8, 8)[7]).all()


def test_an_indirect_load_may_read_an_integer_per_lane() -> None:
    body = TABLE + (
        "%v = agen.indirect_vector_load indirect:%i[%c0] direct:%x[%c8] {load_order = #i1, load_set = #v8}"
        " : memref<8xi32>, memref<64xf32>, vector<8xf32>\n" + store("v", "o", "0", 8, "f32", 64)
    )
    assert (run(on_sfu(body), MEMORY, options=Options(indirect_vector="lane")) == X[8 + INDICES]).all()


def test_an_indirect_store_moves_the_vector_or_its_lanes() -> None:
    body = (
        TABLE
        + load("v", "y", "0", 8, "f32", 8)
        + (
            "agen.indirect_vector_store %v indirect:%i[%c2] direct:%o[%c1] "
            "{store_order = #i1, store_set = #v8}"
            " : vector<8xf32>, memref<8xi32>, memref<64xf32>\n"
        )
    )
    assert (run(on_sfu(body), MEMORY, shape=(16,))[8:] == Y).all()
    body = body.replace("indirect:%i[%c2]", "indirect:%i[%c0]")
    lanes = run(on_sfu(body), MEMORY, shape=(16,), options=Options(indirect_vector="lane"))
    want = np.zeros(16, F32)
    for k, q in enumerate(INDICES):
        want[1 + q] = Y[k]
    assert (lanes == want).all()


def test_index_elements_are_element_addresses() -> None:
    rows = np.array([9], np.int64)
    body = (
        TABLE
        + view("ia", "%c1024", "8xindex")
        + (
            "%v = agen.indirect_vector_load indirect:%ia[%c0] direct:%t[1, 0] "
            "{load_order = #i2, load_set = #r8}"
            " : memref<8xindex>, memref<8x8xf32>, vector<8xf32>\n" + store("v", "o", "0", 8, "f32", 64)
        )
    )
    assert (run(on_sfu(body), {0: X, 1024: rows}) == X[17:25]).all()


def test_an_index_that_names_no_row_is_out_of_bounds() -> None:
    body = TABLE + (
        "%v = agen.indirect_vector_load indirect:%i[%c2] direct:%t[2, 0] {load_order = #i2, load_set = #r8}"
        " : memref<8xi32>, memref<8x8xf32>, vector<8xf32>\n" + store("v", "o", "0", 8, "f32", 64)
    )
    with pytest.raises(HeadraceError, match="positions 9 to 9 are outside a view of size"):
        run(on_sfu(body), MEMORY)


GATHER = """
dataflow.program_unit iter_arg : %me -> (%l0) : {
VIEWS
  agen.composite_indirect_load indirect:%i[%c1] direct:%t[0, 0] time_symbols(), load_iv(%v:vector<8xf32>)
   {load_order = #i2, load_set = #r8, time_addr_map = #i1, time_order = #i1, time_set = #v4}
  {
    dataflow.send %s0, %v : vector<8xf32>
    agen.yield
  } : memref<8xi32>, memref<8x8xf32>
}
"""
RELAY = """
dataflow.program_unit iter_arg : %me -> (%s0) : {
  scf.for %k = %c0 to %c4 step %c1 {
    %v = dataflow.receive %l0 : vector<8xf32>
    dataflow.send %w0, %v : vector<8xf32>
  }
}
"""
SCATTER = """
dataflow.program_unit iter_arg : %me -> (%w0) : {
VIEWS
  %ot = dataflow.get_logical_memory_view %hbm, %cout {layout_map = #row} : index, index, memref<8x8xf32>
  agen.composite_indirect_store indirect:%i[%c0] direct:%ot[0, 0]
   time_symbols()
   {store_order = #i2, store_set = #r8, time_addr_map = #i1, time_order = #i1, time_set = #v4}
  {
    %v = dataflow.receive %s0 : vector<8xf32>
    agen.yield %v : vector<8xf32>
  } : memref<8xi32>, memref<8x8xf32>
}
"""


def test_gathers_and_scatters_go_through_fifos() -> None:
    text = (GATHER + RELAY + SCATTER).replace("VIEWS", TABLE)
    want = np.zeros((8, 8), F32)
    for k in range(4):
        want[INDICES[k]] = X.reshape(8, 8)[INDICES[1 + k]]
    assert (run(text, MEMORY, shape=(8, 8)) == want).all()


def test_both_sides_of_a_copy_may_be_indirect() -> None:
    body = (
        TABLE
        + view("ot", "%cout", "8x8xf32", "#row")
        + """
agen.composite_indirect_load_and_store indirect_src:%i[%c0] direct_src:%t[0, 0]
 indirect_dst:%i[%c1] direct_dst:%ot[0, 0]
 time_symbols(), load_iv(%v:vector<8xf32>)
 {load_direct_time_addr_map = affine_map<(d0) -> (0, 0)>, load_indirect_time_addr_map = #i1, load_order = #i2,
  load_set = #r8, store_direct_time_addr_map = affine_map<(d0) -> (0, 0)>, store_indirect_time_addr_map = #i1,
  store_order = #i2, store_set = #r8, time_order = #i1, time_set = #v4}
{
  agen.yield
} : memref<8xi32>, memref<8x8xf32>, memref<8xi32>, memref<8x8xf32>
"""
    )
    want = np.zeros((8, 8), F32)
    for k in range(4):
        want[INDICES[1 + k]] = X.reshape(8, 8)[INDICES[k]]
    text = f"dataflow.program_unit iter_arg : %me -> (%m0) : {{\n{body}}}\n"
    assert (run(text, MEMORY, shape=(8, 8)) == want).all()


PAGED = """
%p = dataflow.get_paged_logical_memory_view %hbm, %c0 {layout_map = #i1}
  {segments =
    page0: (idx_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>, start_addr = %c8),
    page1: (idx_set = affine_set<(d0) : (d0 - 8 >= 0, -d0 + 15 >= 0)>, start_addr = %c2)}
  : index, index, memref<24xf32>
"""


@pytest.mark.parametrize("start", ["page", "offset"])
def test_a_paged_view_finds_every_page_where_it_starts(start: str) -> None:
    body = VIEWS + PAGED + load("v", "p", "4", 8, "f32", 24) + store("v", "o", "0", 8, "f32", 64)
    second = X[2:6] if start == "page" else X[10:14]
    want = np.concatenate([X[12:16], second])
    assert (run(on_sfu(body), {0: X}, options=Options(page_start=start)) == want).all()  # type: ignore[arg-type]


def test_a_vector_inside_a_page_stays_one_strided_run() -> None:
    body = VIEWS + PAGED + load("v", "p", "8", 8, "f32", 24) + store("v", "o", "0", 8, "f32", 64)
    box = image(on_sfu(body)).schedules[0].programs[0].body[0].box  # type: ignore[union-attr]
    assert box.address is None and box.base.constant == 8
    assert (run(on_sfu(body), {0: X}) == X[2:10]).all()


def test_a_position_in_no_page_is_out_of_bounds() -> None:
    body = VIEWS + PAGED + load("v", "p", "12", 8, "f32", 24) + store("v", "o", "0", 8, "f32", 64)
    with pytest.raises(HeadraceError, match="lies in no page"):
        run(on_sfu(body), {0: X})


def test_composites_may_compute() -> None:
    body = (
        TABLE
        + view("ot", "%cout", "8x8xf32", "#row")
        + """
agen.composite_load_and_store src:%t[0, 0] dst:%ot[0, 0] time_symbols(), load_iv(%v:vector<8xf32>)
 {load_order = #i2, load_set = #r8, load_time_addr_map = affine_map<(d0) -> (d0, 0)>, store_order = #i2,
  store_set = #r8, store_time_addr_map = affine_map<(d0) -> (d0, 0)>, time_order = #i1, time_set = #v4}
{
  %n = vectorchain.neg %v : vector<8xf32>, vector<8xf32>
  agen.yield %n : vector<8xf32>
} : memref<8x8xf32>, memref<8x8xf32>
"""
    )
    assert (run(on_sfu(body), MEMORY, shape=(4, 8)) == -X.reshape(8, 8)[:4]).all()


def test_interleaved_copies_are_done_in_turn() -> None:
    copy = """
  agen.composite_load_and_store src:%x[FROM] dst:%o[TO] time_symbols(), load_iv(%v:vector<4xf32>)
   {load_order = #i1, load_set = #v4, load_time_addr_map = affine_map<(d0) -> (d0 * 4)>, store_order = #i1,
    store_set = #v4, store_time_addr_map = affine_map<(d0) -> (d0 * 4)>, time_order = #i1, time_set = #v4}
  {
    agen.yield
  } : memref<64xf32>, memref<64xf32>
"""
    first, second = (
        copy.replace("FROM", "0").replace("TO", "16"),
        copy.replace("FROM", "16").replace("TO", "0"),
    )
    body = f"{VIEWS}agen.composite_memory_interleave {{}}{{\n{first}{second}}}\n"
    text = f"dataflow.program_unit iter_arg : %me -> (%m0) : {{\n{body}}}\n"
    assert (run(text, MEMORY, shape=(32,)) == np.concatenate([X[16:32], X[:16]])).all()


# ---- units and control -------------------------------------------------------------------------------------
def test_a_unit_may_have_a_handle_per_time_step_and_a_group_stands_for_its_members() -> None:
    text = """
%a:2 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"}
  : index, index
%g = dataflow.create_group(%s0, %s1 : index, index) : index
%r = dataflow.create_group(%a#1 : index) : index
dataflow.program_unit iter_arg : %me -> (%r) : {
VIEWS
  dataflow.sync_recv %s0 : index
  dataflow.send %s0, %b : vector<8xf32>
}
dataflow.program_unit iter_arg : %me -> (%s0) : {
VIEWS
  dataflow.sync_send %r : index
  %v = dataflow.receive %a#0 : vector<8xf32>
STORE
}
dataflow.program_unit iter_arg : %me -> (%m0) : {
  dataflow.sync_send %g : index
}
dataflow.program_unit iter_arg : %me -> (%g) : {
  dataflow.sync_recv %m0 : index
}
"""
    text = text.replace("VIEWS", VIEWS + load("b", "y", "0", 8, "f32", 8))
    assert (run(text.replace("STORE", store("v", "o", "0", 8, "f32", 64)), MEMORY) == Y).all()


def test_equal_patterns_run_the_region_of_their_unit() -> None:
    text = """
dataflow.program_unit iter_arg : %me -> (%s0, %s1) : {
VIEWS
  uniform.equalize_pattern {
    (%u -> %s0){
STORE0
      uniform.yield
    }
    (%u -> %s1){
STORE1
      uniform.yield
    }
  }
}
"""
    text = text.replace("VIEWS", VIEWS + load("b", "y", "0", 8, "f32", 8))
    text = text.replace("STORE0", store("b", "o", "0", 8, "f32", 64))
    text = text.replace("STORE1", store("b", "o", "8", 8, "f32", 64))
    assert (
        run(text.replace("STORE1", store("b", "o", "8", 8, "f32", 64)), MEMORY, shape=(16,)) == np.tile(Y, 2)
    ).all()


def test_a_map_may_hold_vectors() -> None:
    text = """
%p = arith.constant dense<1.0> : vector<8xf32>
%q = arith.constant dense<2.0> : vector<8xf32>
%map = uniform.def_immutable_mapping([%s0 -> %p], [%s1 -> %q]):index, vector<8xf32>
%at = uniform.def_immutable_mapping([%s0 -> %c0], [%s1 -> %c8]):index
dataflow.program_unit iter_arg : %me -> (%s0, %s1) : {
  %v = uniform.query_map(map:%map, key:%me) : vector<8xf32>
  %k = uniform.query_map(map:%at, key:%me) : index
"""
    text += VIEWS + store("v", "o", "%k", 8, "f32", 64) + "}\n"
    assert run(text, MEMORY, shape=(16,)).tolist() == [1.0] * 8 + [2.0] * 8


def test_affine_loops_and_branches_run() -> None:
    body = (
        VIEWS
        + """
affine.for %k = 0 to 8 step 2 {
  "affine.if"(%k) <{condition = affine_set<(d0) : (d0 - 2 >= 0, -d0 + 5 >= 0)>}> ({
LOAD
STORE
    "affine.yield"() : () -> ()
  }, {}) : (index) -> ()
}
"""
    )
    body = body.replace("LOAD", load("v", "x", "%k * 4", 4, "f32", 64))
    got = run(on_sfu(body.replace("STORE", store("v", "o", "%k * 4", 4, "f32", 64))), MEMORY, shape=(32,))
    want = np.zeros(32, F32)
    for k in (2, 4):
        want[4 * k : 4 * k + 4] = X[4 * k : 4 * k + 4]
    assert (got == want).all()


def test_a_loaded_integer_may_steer_the_next_iteration() -> None:
    body = (
        TABLE
        + """
%z = arith.constant 0 : index
%n = scf.for %k = %c0 to %c4 step %c1 iter_args(%at = %z) -> (index) {
  %e = agen.vector_load %i[%at] {load_order = #i1, load_set = #one} : memref<8xi32>, vector<1xi32>
  %s = vector.extract %e[0] : i32 from vector<1xi32>
  %q = arith.index_cast %s : i32 to index
  %more = arith.cmpi sgt, %at, %c0 : index
  scf.if %more {
LOAD
STORE
  }
  scf.yield %q : index
}
"""
    )
    body = body.replace("LOAD", load("v", "x", "%at", 4, "f32", 64))
    got = run(on_sfu(body.replace("STORE", store("v", "o", "%k * 4", 4, "f32", 64))), MEMORY, shape=(16,))
    want, at = np.zeros(16, F32), 0
    for k in range(4):
        if at > 0:
            want[4 * k : 4 * k + 4] = X[at : at + 4]
        at = INDICES[at]
    assert (got == want).all()
    assert OUT
