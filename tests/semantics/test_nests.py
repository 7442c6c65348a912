"""linalg: generics with any maps, reductions, contractions, named ops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ir.diagnostics import HeadraceError
from headrace.numbers.dtypes import dtype_name, numpy_dtype
from headrace.numbers.tolerance import assert_close
from headrace.runtime.kernel import Kernel, interpret
from headrace.semantics.plain import Options

from .tiles import by_x, evaluate, kernel, run

RANDOM = np.random.default_rng(1)


def f32(*shape: int) -> Any:
    return RANDOM.standard_normal(shape, np.float32)


def tensor(array: Any) -> str:
    return f"tensor<{by_x(array.shape, dtype_name(array.dtype))}>"


def fill(name: str, value: str, shape: tuple[int, ...], dtype: str) -> str:
    ty = f"tensor<{by_x(shape, dtype)}>"
    return f"""%{name}_e = tensor.empty() : {ty}
    %{name}_c = arith.constant {value} : {dtype}
    %{name} = linalg.fill ins(%{name}_c : {dtype}) outs(%{name}_e : {ty}) -> {ty}"""


def generic(
    maps: list[str],
    iterators: str,
    ins: dict[str, Any],
    out: tuple[tuple[int, ...], str],
    body: str,
    init: str = "%init",
) -> str:
    dims = len(iterators)
    letters = ", ".join(f"d{k}" for k in range(dims))
    written = ", ".join(f"affine_map<({letters}) -> ({m})>" for m in maps)
    kinds = ", ".join({"p": '"parallel"', "r": '"reduction"'}[c] for c in iterators)
    names, types = ", ".join(f"%{n}" for n in ins), ", ".join(tensor(a) for a in ins.values())
    args = ", ".join(f"%{n}0: {dtype_name(a.dtype)}" for n, a in ins.items())
    ty = f"tensor<{by_x(*out)}>"
    return f"""%result = linalg.generic {{indexing_maps = [{written}], iterator_types = [{kinds}]}}
      ins({names} : {types}) outs({init} : {ty}) {{
    ^bb0({args}, %acc: {out[1]}):
      {body}
    }} -> {ty}"""


COMBINERS = {
    "addf": ("f32", "0.0", lambda x: x.astype(np.float64).sum(axis=(0, 2))),
    "mulf": ("f32", "1.0", lambda x: x.astype(np.float64).prod(axis=(0, 2))),
    "maximumf": ("f32", "0xFF800000", lambda x: x.max(axis=(0, 2))),
    "minimumf": ("f32", "0x7F800000", lambda x: x.min(axis=(0, 2))),
    "maxnumf": ("f32", "0x7FC00000", lambda x: np.fmax.reduce(np.fmax.reduce(x, 0), 1)),
    "addi": ("i8", "3", lambda x: (x.sum(axis=(0, 2)) + 3).astype(np.int8)),
    "muli": ("i8", "1", lambda x: x.astype(np.int64).prod(axis=(0, 2)).astype(np.int8)),
    "maxsi": ("i32", "-100", lambda x: x.max(axis=(0, 2))),
    "maxui": ("i32", "0", lambda x: x.view(np.uint32).max(axis=(0, 2)).view(np.int32)),
    "minui": ("i32", "-1", lambda x: x.view(np.uint32).min(axis=(0, 2)).view(np.int32)),
    "andi": ("i32", "-1", lambda x: np.bitwise_and.reduce(np.bitwise_and.reduce(x, 0), 1)),
    "ori": ("i1", "0", lambda x: x.any(axis=(0, 2))),
    "xori": ("i1", "0", lambda x: x.sum(axis=(0, 2)) % 2 == 1),
}


@pytest.mark.parametrize("name", sorted(COMBINERS))
def test_linalg_reduce_combines_along_its_dimensions(name):
    dtype, start, expected = COMBINERS[name]
    x = RANDOM.integers(-9, 9, (3, 4, 5)).astype(numpy_dtype(dtype)) if dtype != "f32" else f32(3, 4, 5)
    if dtype == "i1":
        x = RANDOM.random((3, 4, 5)) < 0.1
    body = f"""{fill("init", start, (4,), dtype)}
    %result = linalg.reduce {{ arith.{name} }} ins(%x : {tensor(x)})
      outs(%init : tensor<4x{dtype}>) dimensions = [0, 2]"""
    got = evaluate(body, ((4,), dtype), x=x)
    exact = expected(x)
    assert_close(got, exact, max_ulp=1, terms=15, magnitude=np.abs(exact) if dtype == "f32" else None)


def test_a_sum_of_f16_is_rounded_once():
    x = np.full((1, 4096), 1.0, np.float16)
    x[0, 0] = 2048.0
    body = f"""{fill("init", "0.0", (1,), "f16")}
    %result = linalg.reduce {{ arith.addf }} ins(%x : {tensor(x)})
      outs(%init : tensor<1xf16>) dimensions = [1]"""
    assert evaluate(body, ((1,), "f16"), x=x)[0] == np.float16(2048 + 4095)


def test_nan_wins_a_maximum_and_loses_a_maxnum():
    x = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]], np.float32)
    for name, expected in (("maximumf", [np.nan, np.nan]), ("maxnumf", [3.0, np.nan])):
        body = f"""{fill("init", "0x7FC00000" if name == "maxnumf" else "0xFF800000", (2,), "f32")}
        %result = linalg.reduce {{ arith.{name} }} ins(%x : {tensor(x)})
          outs(%init : tensor<2xf32>) dimensions = [1]"""
        got = evaluate(body, ((2,), "f32"), x=x)
        assert_close(got, np.array(expected, np.float32), max_ulp=0)


def test_an_accumulator_nobody_filled_starts_at_the_identity_with_a_warning():
    x = -np.abs(f32(3, 4))
    body = f"""%init = tensor.empty() : tensor<3xf32>
    %result = linalg.reduce {{ arith.maximumf }} ins(%x : {tensor(x)})
      outs(%init : tensor<3xf32>) dimensions = [1]"""
    text = kernel(body, {"x": x}, ((3,), "f32"))
    results, report = run(text, {"x": x})
    assert np.array_equal(results["out"], x.max(axis=1))
    assert [w.severity for w in report.warnings] == ["warning"] and "identity of 'maximum'" in str(
        report.warnings[0]
    )
    results, report = run(text, {"x": x}, options=Options(empty="zero"))
    assert not results["out"].any() and not report.warnings


def test_any_other_read_of_a_tensor_nobody_wrote_is_an_error():
    x = f32(3)
    body = "%e = tensor.empty() : tensor<3xf32>\n%result = arith.addf %x, %e : tensor<3xf32>"
    with pytest.raises(HeadraceError, match="arith.addf: reads %e, a tensor.empty that nothing has written"):
        evaluate(body, ((3,), "f32"), x=x)
    assert np.array_equal(evaluate(body, ((3,), "f32"), Options(empty="zero"), x=x), x)


def test_a_generic_reduces_what_its_body_computes_first():
    x, m = f32(6, 300), f32(6)
    body = generic(
        ["d0, d1", "d0", "d0"],
        "pr",
        {"x": x, "m": m},
        ((6,), "f32"),
        """%d = arith.subf %x0, %m0 : f32
      %e = math.exp %d : f32
      %s = arith.addf %acc, %e : f32
      linalg.yield %s : f32""",
    )
    got = evaluate(f"{fill('init', '0.5', (6,), 'f32')}\n{body}", ((6,), "f32"), x=x, m=m)
    exact = np.exp(x.astype(np.float64) - m[:, None]).sum(axis=1) + 0.5
    assert_close(got, exact, terms=300, magnitude=exact)


def test_several_results_are_combined_each_on_its_own():
    x = f32(5, 33)
    ty = "tensor<5xf32>"
    body = f"""{fill("a", "0.0", (5,), "f32")}
    {fill("b", "0xFF800000", (5,), "f32")}
    %s, %m = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}}
      ins(%x : {tensor(x)}) outs(%a, %b : {ty}, {ty}) {{
    ^bb0(%v: f32, %p: f32, %q: f32):
      %u = arith.addf %p, %v : f32
      %w = arith.maximumf %v, %q : f32
      linalg.yield %u, %w : f32, f32
    }} -> ({ty}, {ty})
    %result = arith.subf %m, %s : {ty}"""
    got = evaluate(body, ((5,), "f32"), x=x)
    assert_close(
        got, x.max(axis=1) - x.astype(np.float64).sum(axis=1), terms=33, magnitude=np.abs(x).sum(axis=1)
    )


def test_argmax_keeps_the_first_of_equal_values():
    x = RANDOM.integers(0, 5, (7, 40)).astype(np.float32)
    body = f"""{fill("a", "0xFF800000", (7,), "f32")}
    {fill("b", "0", (7,), "i64")}
    %m, %result = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}}
      ins(%x : {tensor(x)}) outs(%a, %b : tensor<7xf32>, tensor<7xi64>) {{
    ^bb0(%v: f32, %best: f32, %where: i64):
      %i = linalg.index 1 : index
      %here = arith.index_cast %i : index to i64
      %c = arith.cmpf ogt, %v, %best : f32
      %u = arith.select %c, %v, %best : f32
      %w = arith.select %c, %here, %where : i64
      linalg.yield %u, %w : f32, i64
    }} -> (tensor<7xf32>, tensor<7xi64>)"""
    assert np.array_equal(evaluate(body, ((7,), "i64"), x=x), x.argmax(axis=1))


@pytest.mark.parametrize("predicate", ["ogt", "olt", "oge"])
def test_choosing_bodies_keep_the_order_of_points_and_know_nan(predicate):
    """The place of the best element along dims 0 and 2; a NaN beats everything, the first one wins."""
    x = RANDOM.integers(0, 7, (6, 3, 35)).astype(np.float32)
    x[4, 1, 17] = x[2, 1, 20] = np.nan
    start = "0x7F800000" if predicate == "olt" else "0xFF800000"
    body = f"""{fill("a", start, (3,), "f32")}
    {fill("b", "-1", (3,), "i32")}
    %m, %result = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
      affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d1)>],
      iterator_types = ["reduction", "parallel", "reduction"]}}
      ins(%x : {tensor(x)}) outs(%a, %b : tensor<3xf32>, tensor<3xi32>) {{
    ^bb0(%v: f32, %best: f32, %where: i32):
      %i = linalg.index 0 : index
      %j = linalg.index 2 : index
      %p = affine.apply affine_map<(d0, d1) -> (d0 * 35 + d1)>(%i, %j)
      %here = arith.index_cast %p : index to i32
      %better = arith.cmpf {predicate}, %v, %best : f32
      %nan = arith.cmpf uno, %v, %v : f32
      %known = arith.cmpf ord, %best, %best : f32
      %first = arith.andi %nan, %known : i1
      %c = arith.ori %better, %first : i1
      %u = arith.select %c, %v, %best : f32
      %w = arith.select %c, %here, %where : i32
      linalg.yield %u, %w : f32, i32
    }} -> (tensor<3xf32>, tensor<3xi32>)"""
    lined = x.transpose(1, 0, 2).reshape(3, -1)
    best = {"ogt": np.argmax, "olt": np.argmin, "oge": lambda v: len(v) - 1 - np.argmax(v[::-1])}[predicate]
    expected = [int(best(row)) for row in lined]
    expected[1] = 2 * 35 + 20
    assert evaluate(body, ((3,), "i32"), x=x).tolist() == expected


def test_a_recurrence_that_is_no_sum_runs_in_order():
    x = f32(4, 6)
    body = generic(
        ["d0, d1", "d0"],
        "pr",
        {"x": x},
        ((4,), "f32"),
        """%h = arith.mulf %acc, %x0 : f32
      %s = arith.addf %h, %x0 : f32
      linalg.yield %s : f32""",
    )
    got = evaluate(f"{fill('init', '1.0', (4,), 'f32')}\n{body}", ((4,), "f32"), x=x)
    state = np.ones(4, np.float32)
    for k in range(6):
        state = state * x[:, k] + x[:, k]
    assert np.array_equal(got, state)


PRODUCT = """%p = arith.mulf %x0, %w0 : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32"""


@given(st.permutations("bmnk"), st.permutations("bmk"), st.permutations("bkn"), st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_a_contraction_may_have_its_dims_in_any_order(loops, left, right, seed):
    sizes = dict(zip("bmnk", (2, 3, 5, 7), strict=True))
    random = np.random.default_rng(seed)
    x = random.standard_normal([sizes[c] for c in left], np.float32)
    w = random.standard_normal([sizes[c] for c in right], np.float32)
    maps = [", ".join(f"d{list(loops).index(c)}" for c in part) for part in (left, right, "nbm")]
    kinds = "".join("r" if c == "k" else "p" for c in loops)
    body = generic(maps, kinds, {"x": x, "w": w}, ((5, 2, 3), "f32"), PRODUCT)
    got = evaluate(f"{fill('init', '0.25', (5, 2, 3), 'f32')}\n{body}", ((5, 2, 3), "f32"), x=x, w=w)
    letters = f"{''.join(left)},{''.join(right)}->nbm"
    exact = np.einsum(letters, x.astype(np.float64), w.astype(np.float64)) + 0.25
    magnitude = np.einsum(letters, np.abs(x), np.abs(w)) + 0.25
    assert_close(got, exact, terms=8, magnitude=magnitude)


def test_a_contraction_in_f64_is_not_done_in_f32():
    x, w = f32(3, 50), f32(50, 4)
    body = generic(
        ["d0, d2", "d2, d1", "d0, d1"],
        "ppr",
        {"x": x, "w": w},
        ((3, 4), "f64"),
        """%a = arith.extf %x0 : f32 to f64
      %b = arith.extf %w0 : f32 to f64
      %p = arith.mulf %a, %b : f64
      %s = arith.addf %acc, %p : f64
      linalg.yield %s : f64""",
    )
    got = evaluate(f"{fill('init', '0.0', (3, 4), 'f64')}\n{body}", ((3, 4), "f64"), x=x, w=w)
    assert np.allclose(got, x.astype(np.float64) @ w.astype(np.float64), rtol=1e-13)


def test_a_byte_carried_as_unsigned_keeps_its_value_in_a_maximum():
    x = np.array([[200, 100, 250, 3]], np.uint8).view(np.int8)
    body = generic(
        ["d0, d1", "d0"],
        "pr",
        {"x": x},
        ((1,), "i8"),
        """%a = arith.extui %acc : i8 to i32
      %b = arith.extui %x0 : i8 to i32
      %m = arith.maxsi %a, %b : i32
      %t = arith.trunci %m : i32 to i8
      linalg.yield %t : i8""",
    )
    got = evaluate(f"{fill('init', '-1', (1,), 'i8')}\n{body}", ((1,), "i8"), x=x)
    assert got.view(np.uint8)[0] == 255
    got = evaluate(f"{fill('init', '1', (1,), 'i8')}\n{body}", ((1,), "i8"), x=x)
    assert got.view(np.uint8)[0] == 250


def test_a_contraction_may_sum_dims_that_one_operand_has_alone():
    x, w = f32(3, 4, 5), f32(4, 6)
    body = generic(["d0, d1, d2", "d1, d3", "d0, d3"], "prrp", {"x": x, "w": w}, ((3, 6), "f32"), PRODUCT)
    got = evaluate(f"{fill('init', '0.0', (3, 6), 'f32')}\n{body}", ((3, 6), "f32"), x=x, w=w)
    exact = np.einsum("abc,bd->ad", x.astype(np.float64), w.astype(np.float64))
    assert_close(got, exact, terms=20, magnitude=np.einsum("abc,bd->ad", np.abs(x), np.abs(w)))


def test_a_convolution_is_a_contraction_over_windows():
    x, w = f32(2, 3, 9, 8), f32(4, 3, 3, 2)
    maps = ["d0, d4, d2 * 2 + d5, d3 + d6", "d1, d4, d5, d6", "d0, d1, d2, d3"]
    shape = (2, 4, 4, 7)
    body = generic(maps, "pppprrr", {"x": x, "w": w}, (shape, "f32"), PRODUCT)
    got = evaluate(f"{fill('init', '0.0', shape, 'f32')}\n{body}", (shape, "f32"), x=x, w=w)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(2, 3))[:, :, ::2]
    exact = np.einsum("nchwij,fcij->nfhw", windows.astype(np.float64), w.astype(np.float64))
    magnitude = np.einsum("nchwij,fcij->nfhw", np.abs(windows), np.abs(w))
    assert_close(got, exact, terms=18, magnitude=magnitude)


@pytest.mark.parametrize(
    ("ins", "out"),
    [("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32"), ("i32", "i32")],
)
def test_matmul_accumulates_wide_and_rounds_once(ins, out):
    if ins[0] == "i":
        a, b = (RANDOM.integers(-100, 100, s).astype(numpy_dtype(ins)) for s in ((5, 300), (300, 7)))
        exact = 9 + a.astype(np.int64) @ b.astype(np.int64)
        start = "9"
    else:
        a, b = (f32(*s).astype(numpy_dtype(ins)) for s in ((5, 300), (300, 7)))
        exact = 1 + a.astype(np.float64) @ b.astype(np.float64)
        start = "1.0"
    body = f"""{fill("init", start, (5, 7), out)}
    %result = linalg.matmul ins(%a, %b : {tensor(a)}, {tensor(b)})
      outs(%init : tensor<5x7x{out}>) -> tensor<5x7x{out}>"""
    got = evaluate(body, ((5, 7), out), a=a, b=b)
    if ins[0] == "i":
        assert np.array_equal(got, exact.astype(np.int32))
    else:
        magnitude = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + 1
        assert_close(got, exact, terms=301, magnitude=magnitude)


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("batch_matmul", "bmk,bkn->bmn"),
        ("batch_matmul_transpose_b", "bmk,bnk->bmn"),
        ("matmul_transpose_a", "km,kn->mn"),
        ("matvec", "mk,k->m"),
        ("vecmat", "k,kn->n"),
        ("dot", "k,k->"),
        ("batch_reduce_matmul", "bmk,bkn->mn"),
    ],
)
def test_named_contractions_are_their_einsum(name, letters):
    sizes = dict(zip("bmnk", (2, 3, 5, 7), strict=True))
    left, right = letters.split("->")[0].split(",")
    result = letters.split("->")[1]
    a, b = f32(*(sizes[c] for c in left)), f32(*(sizes[c] for c in right))
    shape = tuple(sizes[c] for c in result)
    ty = f"tensor<{by_x(shape, 'f32')}>"
    body = f"""{fill("init", "0.0", shape, "f32")}
    %result = linalg.{name} ins(%a, %b : {tensor(a)}, {tensor(b)}) outs(%init : {ty}) -> {ty}"""
    got = evaluate(body, (shape, "f32"), a=a, b=b)
    exact = np.einsum(letters, a.astype(np.float64), b.astype(np.float64))
    assert_close(
        got, np.asarray(exact), terms=14, magnitude=np.asarray(np.einsum(letters, np.abs(a), np.abs(b)))
    )


def test_linalg_index_is_the_place_in_the_domain_also_when_it_is_cut_into_blocks():
    x = np.zeros((700, 800), np.int32)
    body = generic(
        ["d0, d1", "d0, d1"],
        "pp",
        {"x": x},
        ((700, 800), "i32"),
        """%i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c = arith.constant 1000 : index
      %m = arith.muli %i, %c : index
      %s = arith.addi %m, %j : index
      %v = arith.index_cast %s : index to i32
      linalg.yield %v : i32""",
        "%e",
    )
    got = evaluate(f"%e = tensor.empty() : tensor<700x800xi32>\n{body}", ((700, 800), "i32"), x=x)
    assert np.array_equal(got, np.add.outer(1000 * np.arange(700), np.arange(800)))


def test_maps_may_broadcast_permute_repeat_and_divide():
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    cases = {
        "d1 floordiv 2, d0 mod 4": lambda i, j: x[j // 2, i % 4],
        "d1 mod 3, d0": lambda i, j: x[j % 3, i],
        "0, d0": lambda i, j: x[0, i] + 0 * j,
        "2, 1": lambda i, j: x[2, 1] + 0 * i * j,
    }
    for map, expected in cases.items():
        body = generic([map, "d0, d1"], "pp", {"x": x}, ((4, 6), "i32"), "linalg.yield %x0 : i32", "%e")
        got = evaluate(f"%e = tensor.empty() : tensor<4x6xi32>\n{body}", ((4, 6), "i32"), x=x)
        assert np.array_equal(got, np.fromfunction(expected, (4, 6), dtype=int)), map


def test_operands_that_disagree_or_leave_their_bounds_are_errors():
    x, y = f32(3), f32(4)
    sums = "%s = arith.addf %x0, %y0 : f32\nlinalg.yield %s : f32"
    body = generic(["d0", "d0", "d0"], "p", {"x": x, "y": y}, ((3,), "f32"), sums, "%e")
    with pytest.raises(HeadraceError, match="linalg.generic"):
        evaluate(f"%e = tensor.empty() : tensor<3xf32>\n{body}", ((3,), "f32"), x=x, y=y)
    body = generic(["d0 + 2", "d0"], "p", {"y": y}, ((3,), "f32"), "linalg.yield %y0 : f32", "%e")
    with pytest.raises(HeadraceError, match=r"\[4\] is outside the operand"):
        evaluate(f"%e = tensor.empty() : tensor<3xf32>\n{body}", ((3,), "f32"), y=y)


@pytest.mark.parametrize(
    ("name", "function"),
    [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide), ("max", np.maximum)],
)
def test_named_binary_ops_round_to_their_result(name, function):
    a, b = f32(4, 5).astype(np.float16), f32(4, 5).astype(np.float16)
    ty = tensor(a)
    body = f"""%e = tensor.empty() : {ty}
    %result = linalg.{name} ins(%a, %b : {ty}, {ty}) outs(%e : {ty}) -> {ty}"""
    assert_close(evaluate(body, ((4, 5), "f16"), a=a, b=b), function(a, b), max_ulp=0)


@pytest.mark.parametrize(
    "name", ["exp", "tanh", "square", "reciprocal", "rsqrt", "abs", "negf", "floor", "copy"]
)
def test_named_unary_ops(name):
    x = np.abs(f32(4, 5)) + 1
    body = f"""%e = tensor.empty() : {tensor(x)}
    %result = linalg.{name} ins(%x : {tensor(x)}) outs(%e : {tensor(x)}) -> {tensor(x)}"""
    wide = x.astype(np.float64)
    functions = {"rsqrt": lambda v: 1 / np.sqrt(v), "negf": np.negative, "copy": np.copy}
    exact = functions.get(name, getattr(np, name, None))(wide)
    assert_close(evaluate(body, ((4, 5), "f32"), x=x), exact, max_ulp=0)


def test_broadcast_transpose_and_map():
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    body = """%e = tensor.empty() : tensor<3x4x2xi32>
    %e0 = tensor.empty() : tensor<3x2xi32>
    %t = linalg.transpose ins(%x : tensor<2x3xi32>) outs(%e0 : tensor<3x2xi32>) permutation = [1, 0]
    %b = linalg.broadcast ins(%t : tensor<3x2xi32>) outs(%e : tensor<3x4x2xi32>) dimensions = [1]
    %result = linalg.map ins(%b, %b : tensor<3x4x2xi32>, tensor<3x4x2xi32>) outs(%e : tensor<3x4x2xi32>)
      (%p: i32, %q: i32) {
        %s = arith.muli %p, %q : i32
        linalg.yield %s : i32
      }"""
    got = evaluate(body, ((3, 4, 2), "i32"), x=x)
    assert np.array_equal(got, np.broadcast_to((x.T**2)[:, None], (3, 4, 2)))


def test_a_rank_zero_result_is_a_scalar_tensor():
    x = f32(64)
    body = f"""{fill("init", "0.0", (), "f32")}
    %s = linalg.reduce {{ arith.addf }} ins(%x : tensor<64xf32>) outs(%init : tensor<f32>) dimensions = [0]
    %v = tensor.extract %s[] : tensor<f32>
    %e = tensor.empty() : tensor<2xf32>
    %result = linalg.fill ins(%v : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>"""
    got = evaluate(body, ((2,), "f32"), x=x)
    assert_close(got, np.full(2, x.astype(np.float64).sum()), terms=64, magnitude=np.full(2, np.abs(x).sum()))


def test_an_empty_domain_leaves_the_init():
    x = np.zeros((3, 0), np.float32)
    body = f"""%x = tensor.empty() : tensor<3x0xf32>
    {fill("init", "7.0", (3,), "f32")}
    %result = linalg.reduce {{ arith.addf }} ins(%x : tensor<3x0xf32>)
      outs(%init : tensor<3xf32>) dimensions = [1]"""
    assert x.size == 0
    assert evaluate(body, ((3,), "f32"), Options(empty="zero")).tolist() == [7.0, 7.0, 7.0]


def test_a_contraction_multiplies_by_the_maps_it_is_given_at_every_level():
    random = np.random.default_rng(0)
    a = random.standard_normal((4, 8)).astype(np.float16)
    b = random.standard_normal((3, 8)).astype(np.float16)
    maps = ", ".join(f"affine_map<(m, n, k) -> ({dims})>" for dims in ("m, k", "n, k", "n, m"))
    body = f"""%c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<3x4xf32>
    %z = linalg.fill ins(%c : f32) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
    %result = linalg.contract indexing_maps = [{maps}]
      ins(%x, %y : tensor<4x8xf16>, tensor<3x8xf16>) outs(%z : tensor<3x4xf32>) -> tensor<3x4xf32>"""
    made = Kernel(kernel(body, {"x": a, "y": b}, ((3, 4), "f32")), "k")
    wanted = b.astype(np.float32) @ a.T.astype(np.float32)
    for found in (interpret(made, x=a, y=b), made.compile("tiny").run(x=a, y=b)):
        assert np.allclose(found.outputs["out"], wanted, rtol=1e-5, atol=1e-5)
