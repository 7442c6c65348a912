# ruff: noqa: E501
"""KTDF programs lowered to DFIR give on the machine what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.ir.text import print_module
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.numbers.dtypes import numpy_dtype
from headrace.numbers.memory import Memory
from headrace.schedule.verify import verify
from headrace.semantics.elementwise import float_op, integer_op
from tests.schedule.ktdf_texts import Rows, generic, program
from tests.schedule.machine_run import lowered, run, source


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def test_rows_and_columns_are_broadcast_over_rotating_tiles() -> None:
    x, row, col = random(64, 256), random(256, seed=1), random(64, seed=2)
    found = run(source("elementwise"), {"x": x, "row": row, "col": col})
    np.testing.assert_array_equal(found["y"], (x + row) * col[:, None])


def test_rows_are_gathered_and_scattered_by_loaded_indices() -> None:
    table = random(100, 3, 64)
    ids = np.random.default_rng(3).permutation(100)[:64].astype(np.int32)
    found = run(source("gather"), {"table": table, "ids": ids})
    np.testing.assert_array_equal(found["y"], table[ids, 1])
    np.testing.assert_array_equal(found["z"][ids], table[ids, 1])


# ---- steps: every scalar op, lane numbers, reductions ----------------------------------------------------------------

EXACT = [
    "arith.addf",
    "arith.subf",
    "arith.mulf",
    "arith.divf",
    "arith.maximumf",
    "arith.minimumf",
    "math.copysign",
]
UNARY = ["arith.negf", "math.absf", "math.ceil", "math.floor", "math.trunc", "math.roundeven", "math.sqrt"]
FUNCTIONS = [
    "math.exp",
    "math.exp2",
    "math.sin",
    "math.cos",
    "math.tanh",
    "math.erf",
    "math.expm1",
    "math.atan",
]
POSITIVE = ["math.log", "math.log2", "math.log1p", "math.rsqrt", "spyreop.sqrt", "spyreop.reciprocal"]
EXPANDED = ["spyreop.sigmoid", "spyreop.silu", "spyreop.gelu", "spyreop.exp"]
INTEGERS = [
    "addi",
    "subi",
    "muli",
    "andi",
    "ori",
    "xori",
    "maxsi",
    "minsi",
    "divsi",
    "remsi",
    "maxui",
    "shli",
    "shrsi",
]


def pointwise(names: list[str], dtype: str, inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Run each op on the same rows; one output an op."""
    columns = inputs[0].shape[1]
    ins = [Rows(f"a{k}", dtype, columns) for k in range(len(inputs))]
    outs = [Rows(f"y{k}", dtype, columns) for k in range(len(names))]
    steps = []
    for out, name in zip(outs, names, strict=True):
        values = ", ".join(f"%x{k}" for k in range(len(ins)))
        body = f"%z = {name} {values} : {dtype}"
        steps.append(
            generic(f"{out.name}_row", [(f"%{x.name}_row", x.tensor) for x in ins], out.tensor, body, "%z")
        )
    text = program(inputs[0].shape[0], ins, outs, "\n".join(steps))
    given = {x.name: a for x, a in zip(ins, inputs, strict=True)}
    found = run(text, given, "spyre-1core")
    return {name: found[out.name] for name, out in zip(names, outs, strict=True)}


def assert_ulp(got: np.ndarray, want: np.ndarray, ulp: int, name: str) -> None:
    bits = {2: np.int16, 4: np.int32}[want.dtype.itemsize]
    a, b = got.view(bits).astype(np.int64), want.view(bits).astype(np.int64)
    low = np.int64(np.iinfo(bits).min)
    a, b = np.where(a < 0, low - a, a), np.where(b < 0, low - b, b)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    assert np.all(same | (np.abs(a - b) <= ulp)), name


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_float_ops_compute_what_the_reference_computes(dtype: str) -> None:
    a = (random(4, 96) * 4).astype(numpy_dtype(dtype))
    b = (random(4, 96, seed=1) * 4).astype(numpy_dtype(dtype))
    a[0, :3], b[0, :4] = [np.inf, -np.inf, np.nan], [0.0, 1.0, 2.0, np.nan]
    for name, got in pointwise(EXACT, dtype, [a, b]).items():
        assert_ulp(got, float_op(name, [a, b], dtype), 0, name)
    for name, got in pointwise(UNARY, dtype, [a]).items():
        assert_ulp(got, float_op(name, [a], dtype), 0, name)
    for name, got in pointwise(FUNCTIONS, dtype, [a]).items():
        assert_ulp(got, float_op(name, [a], dtype), 1, name)
    for name, got in pointwise(POSITIVE, dtype, [abs(b)]).items():
        assert_ulp(got, float_op(name, [abs(b)], dtype), 1, name)


def test_expanded_functions_are_rounded_once() -> None:
    a = np.linspace(-9, 9, 4 * 128).reshape(4, 128).astype(np.float16)
    for name, got in pointwise(EXPANDED, "f16", [a]).items():
        assert_ulp(got, float_op(name, [a], "f16"), 1, name)


@pytest.mark.parametrize("dtype", ["i32", "i64", "i8"])
def test_integer_ops_compute_what_the_reference_computes(dtype: str) -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(-100, 100, (4, 70)).astype(numpy_dtype(dtype))
    b = rng.integers(1, 7, (4, 70)).astype(numpy_dtype(dtype))
    for name, got in pointwise([f"arith.{n}" for n in INTEGERS], dtype, [a, b]).items():
        np.testing.assert_array_equal(got, integer_op(name, [a, b], dtype), name)


def test_comparisons_select_and_casts_keep_their_meaning() -> None:
    x, y = Rows("x", "f16", 80), Rows("y", "f32", 80)
    body = """
    %zero = arith.constant 0.5 : f16
    %c = arith.cmpf ogt, %x0, %zero : f16
    %u = arith.cmpf ult, %x0, %zero : f16
    %w = arith.extf %x0 : f16 to f32
    %i = arith.fptosi %w : f32 to i32
    %k = arith.sitofp %i : i32 to f32
    %both = arith.ori %c, %u : i1
    %n = arith.extui %both : i1 to i32
    %m = arith.uitofp %n : i32 to f32
    %s = arith.select %c, %w, %k : f32
    %t = arith.addf %s, %m : f32"""
    step = generic("y_row", [("%x_row", x.tensor)], y.tensor, body, "%t")
    a = random(4, 80) * np.float16(3)
    found = run(program(4, [x], [y], step), {"x": a}, "spyre-1core")["y"]
    w = a.astype(np.float32)
    want = np.where(a > 0.5, w, np.trunc(w)) + ((a > 0.5) | (a < 0.5))
    np.testing.assert_array_equal(found, want.astype(np.float32))


def test_lane_numbers_and_row_numbers_enter_a_step() -> None:
    x, y = Rows("x", "f16", 50), Rows("y", "i32", 50)
    body = """
    %lane = linalg.index 0 : index
    %sum = arith.addi %lane, %r : index
    %i = arith.index_cast %sum : index to i32
    %k = arith.constant 3 : i32
    %t = arith.muli %i, %k : i32"""
    step = generic("y_row", [("%x_row", x.tensor)], y.tensor, body, "%t")
    found = run(program(4, [x], [y], step), {"x": random(4, 50)}, "spyre-1core")["y"]
    np.testing.assert_array_equal(found, 3 * (np.arange(4)[:, None] + np.arange(50)))


def test_lane_numbers_meet_constants_of_type_index() -> None:
    x, y = Rows("x", "f16", 50), Rows("y", "i32", 50)
    body = """
    %lane = linalg.index 0 : index
    %seven = arith.constant 7 : index
    %whole = arith.floordivsi %lane, %seven : index
    %back = arith.muli %whole, %seven : index
    %rest = arith.subi %lane, %back : index
    %c = arith.cmpi ult, %rest, %seven : index
    %i = arith.index_cast %rest : index to i32
    %t = arith.select %c, %i, %i : i32"""
    step = generic("y_row", [("%x_row", x.tensor)], y.tensor, body, "%t")
    found = run(program(4, [x], [y], step), {"x": random(4, 50)}, "spyre-1core")["y"]
    np.testing.assert_array_equal(found, np.tile(np.arange(50) % 7, (4, 1)))


SOFTMAX = """
%ninf = arith.constant 0xFC00 : f16
%zero = arith.constant 0.0 : f32
%e0 = tensor.empty() : tensor<f16>
%m0 = linalg.fill ins(%ninf : f16) outs(%e0 : tensor<f16>) -> tensor<f16>
%m = linalg.reduce ins(%x_row : tensor<300xf16>) outs(%m0 : tensor<f16>) dimensions = [0] (%a: f16, %b: f16) {
%c = arith.maximumf %a, %b : f16
linalg.yield %c : f16
}
%ep = tensor.empty() : tensor<300xf16>
%p = linalg.generic {indexing_maps = [#i1, affine_map<(d0) -> ()>, #i1], iterator_types = ["parallel"]} ins(%x_row, %m : tensor<300xf16>, tensor<f16>) outs(%ep : tensor<300xf16>) {
^bb0(%a: f16, %b: f16, %o: f16):
%c = arith.subf %a, %b : f16
%q = math.exp %c : f16
linalg.yield %q : f16
} -> tensor<300xf16>
%es = tensor.empty() : tensor<f32>
%s0 = linalg.fill ins(%zero : f32) outs(%es : tensor<f32>) -> tensor<f32>
%sum = linalg.generic {indexing_maps = [#i1, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%p : tensor<300xf16>) outs(%s0 : tensor<f32>) {
^bb0(%a: f16, %o: f32):
%f = arith.extf %a : f16 to f32
%c = arith.addf %f, %o : f32
linalg.yield %c : f32
} -> tensor<f32>
%y_row = linalg.generic {indexing_maps = [#i1, affine_map<(d0) -> ()>, #i1], iterator_types = ["parallel"]} ins(%p, %sum : tensor<300xf16>, tensor<f32>) outs(%ep : tensor<300xf16>) {
^bb0(%a: f16, %b: f32, %o: f16):
%f = arith.extf %a : f16 to f32
%q = arith.divf %f, %b : f32
%h = arith.truncf %q : f32 to f16
linalg.yield %h : f16
} -> tensor<300xf16>"""


def test_a_softmax_row_is_one_step() -> None:
    x, y = Rows("x", "f16", 300), Rows("y", "f16", 300)
    a = random(8, 300)
    text = program(8, [x], [y], SOFTMAX, aliases="#i1 = affine_map<(d0) -> (d0)>")
    found = run(text, {"x": a}, "spyre-1core")["y"]
    p = np.exp((a - a.max(1, keepdims=True)).astype(np.float32)).astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(found.astype(np.float32), p / p.sum(1, keepdims=True), atol=1e-4)


@pytest.mark.parametrize(
    "op, initial, fold", [("addi", 5, np.sum), ("maxsi", 9, np.max), ("muli", 1, np.prod)]
)
def test_a_row_reduction_honours_its_initial_value(op: str, initial: int, fold: object) -> None:
    x, y = Rows("x", "i32", 12), Rows("y", "i32", 1)
    step = f"""
%k = arith.constant {initial} : i32
%e0 = tensor.empty() : tensor<1xi32>
%m0 = linalg.fill ins(%k : i32) outs(%e0 : tensor<1xi32>) -> tensor<1xi32>
%y_row = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>], iterator_types = ["reduction"]}} ins(%x_row : tensor<12xi32>) outs(%m0 : tensor<1xi32>) {{
^bb0(%a: i32, %o: i32):
%c = arith.{op} %a, %o : i32
linalg.yield %c : i32
}} -> tensor<1xi32>"""
    a = np.random.default_rng(1).integers(-4, 5, (6, 12)).astype(np.int32)
    found = run(program(6, [x], [y], step), {"x": a}, "spyre-1core")["y"]
    both = np.concatenate([a, np.full((6, 1), initial, np.int32)], axis=1)
    np.testing.assert_array_equal(found[:, 0], fold(both, axis=1))  # type: ignore[operator]


def test_a_column_reduction_carries_its_accumulator() -> None:
    x, y = Rows("x", "f16", 64), Rows("y", "f32", 64)
    step = """
%zero = arith.constant 0.0 : f32
%e = tensor.empty() : tensor<64xf32>
%start = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
%total = scf.for %r = %c0 to %rows step %c1 iter_args(%acc = %start) -> (tensor<64xf32>) {
  %v = ktdf.read_from_fifo %x_in : <"L1LU" -> "SFU", 64xf16> -> tensor<64xf16>
  %n = linalg.generic {indexing_maps = [#i1, #i1, #i1], iterator_types = ["parallel"]} ins(%v, %acc : tensor<64xf16>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f16, %b: f32, %o: f32):
    %w = arith.extf %a : f16 to f32
    %c = arith.addf %b, %w : f32
    linalg.yield %c : f32
  } -> tensor<64xf32>
  scf.yield %n : tensor<64xf32>
} {loop_type = #ktdf.loop_type<reduction_loop>}
ktdf.write_to_fifo %total, %y_out : tensor<64xf32>, <"SFU" -> "L1SU", 64xf32>"""
    text = program(20, [x], [y], step, aliases="#i1 = affine_map<(d0) -> (d0)>", sums=True)
    a = random(20, 64)
    found = run(text, {"x": a}, "spyre-1core")["y"]
    np.testing.assert_allclose(found[0], a.astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_a_length_known_at_launch_shortens_the_last_block(n: int) -> None:
    x = random(1024)
    found = run(source("dynamic"), {"x": x, "y": np.zeros(1024, np.float16)}, "spyre-1core", n=n)["y"]
    np.testing.assert_array_equal(found[:n], (x + x)[:n])
    assert not found[n:].any()


def test_shared_loads_form_groups_and_columns_become_rows_in_place() -> None:
    w, x = random(32, 64), random(4, 64, 32, seed=1)
    text = source("multicast")
    np.testing.assert_array_equal(run(text, {"w": w, "x": x})["y"], w.T + x)
    dfir = print_module(lowered(text))
    assert dfir.count("dataflow.create_multicast_group") == 2
    assert dfir.count("multicast_info") == 1


def test_reading_and_writing_back_through_a_channel_needs_no_signal() -> None:
    reader = print_module(lowered(source("multicast"))).split("dataflow.program_unit")[4]
    assert "composite_memory_interleave" in reader and "dataflow.sync_send" not in reader


def test_a_ring_slot_leads_to_the_same_unit_of_the_next_core() -> None:
    x = random(4, 64).astype(np.float32)
    found = run(source("ring"), {"x": x})["y"]
    np.testing.assert_array_equal(found, x + np.roll(x, 1, axis=0))


@pytest.mark.parametrize("dtype", ["bf16", "f32", "f16"])
def test_constants_keep_their_bits_in_every_type(dtype: str) -> None:
    x, y = Rows("x", dtype, 20), Rows("y", dtype, 20)
    body = f"""
    %low = arith.constant -1.5 : {dtype}
    %inf = arith.constant {dict(bf16="0x7F80", f32="0x7F800000", f16="0x7C00")[dtype]} : {dtype}
    %c = arith.cmpf olt, %x0, %low : {dtype}
    %t = arith.select %c, %inf, %x0 : {dtype}"""
    step = generic("y_row", [("%x_row", x.tensor)], y.tensor, body, "%t")
    a = (random(4, 20) * 3).astype(numpy_dtype(dtype))
    found = run(program(4, [x], [y], step), {"x": a}, "spyre-1core")["y"]
    want = np.where(a.astype(np.float32) < -1.5, np.inf, a.astype(np.float32))
    np.testing.assert_array_equal(found.astype(np.float32), want)


def test_narrow_floats_are_stored_and_widened() -> None:
    x, y = Rows("x", "f8E4M3FN", 40), Rows("y", "f16", 40)
    step = generic("y_row", [("%x_row", x.tensor)], y.tensor, "%t = arith.extf %x0 : f8E4M3FN to f16", "%t")
    a = random(4, 40).astype(numpy_dtype("f8E4M3FN"))
    found = run(program(4, [x], [y], step), {"x": a}, "spyre-1core")["y"]
    np.testing.assert_array_equal(found, a.astype(np.float16))


@pytest.mark.parametrize("machine, waits", [("tiny", 3), ("spyre", 2)])
def test_buffers_share_bytes_only_where_they_must_and_then_in_order(machine: str, waits: int) -> None:
    x, v = random(20480), random(20480, seed=1)
    text = source("phases")
    found = run(text, {"x": x, "v": v}, machine)
    np.testing.assert_array_equal(found["y"], x)
    np.testing.assert_array_equal(found["w"], v)
    dfir = lowered(text, machine)
    assert print_module(dfir).count("dataflow.sync_recv") == waits
    assert verify(dfir, device(machine)) == []


def test_the_form_of_public_schedulers_is_lowered_too() -> None:
    x = random(64, 64)
    memory = Memory(1 << 20)
    memory.view(0, "f16", 4096)[:] = x.reshape(-1)
    dfir = lowered(source("public"), "sample")
    assert verify(dfir, device("sample")) == []
    execute(decode(dfir, device("sample")), memory, {})
    np.testing.assert_array_equal(memory.view(8192 * 2, "f16", 4096).reshape(64, 64), x * x)
