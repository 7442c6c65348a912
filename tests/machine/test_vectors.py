"""The numbers of the vector ops: one rounding in the result's type, IEEE corner cases."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir.affine import AffineExpr, AffineMap

from headrace.machine.execute import convert, functions, half
from headrace.machine.execute.arithmetic import binary, compare, maximum, minimum, unary
from headrace.machine.execute.contractions import accumulate, contract
from headrace.machine.execute.vectors import evaluate, reduce, scan
from headrace.machine.image import Contract, Index, Reduce, Value, VectorOp

F16, F32 = np.float16, np.float32


def op(function: str, result: Value, *operands: Value, name: str = "", indices=(), **details) -> VectorOp:  # type: ignore[no-untyped-def]
    return VectorOp(
        name or f"vectorchain.{function}", function, operands, result, tuple(details.items()), tuple(indices)
    )


def lead(*values, dtype=F32):  # type: ignore[no-untyped-def]
    return np.array(values, dtype).reshape(1, 1, -1)


# ---- element by element ------------------------------------------------------------------------------------
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_f16_arithmetic_rounds_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 2**16, 256).astype(np.uint16).view(F16) for _ in range(2))
    with np.errstate(all="ignore"):
        for function, f in (("add", np.add), ("mul", np.multiply), ("divf", np.divide)):
            want = f(a.astype(np.float64), b.astype(np.float64)).astype(F16)
            np.testing.assert_array_equal(binary(function, a, b, "f16"), want)


def test_maximum_gives_nan_and_orders_zeros() -> None:
    a, b = F32([np.nan, 1, -0.0, 0.0, -0.0]), F32([1, np.nan, 0.0, -0.0, -0.0])
    high, low = maximum(a, b), minimum(a, b)
    assert np.isnan(high[:2]).all() and np.isnan(low[:2]).all()
    assert np.signbit(high[2:]).tolist() == [False, False, True]
    assert np.signbit(low[2:]).tolist() == [True, True, True]


def test_comparisons_with_nan_are_false_but_neq() -> None:
    nan, one = F16([np.nan]), F16([1])
    found = {
        f: bool(compare(f, nan, one, "f16")[0])
        for f in ("eq", "neq", "lt", "le", "gt", "ge", "oeq", "ult", "uno")
    }
    assert {f for f, v in found.items() if v} == {"neq", "ult", "uno"}


@pytest.mark.parametrize("function", ["exp", "log", "tanh", "sin", "erf", "rsqrt", "sigmoid", "log1p"])
def test_f32_functions_are_within_one_ulp(function: str) -> None:
    from math import erf, exp, log, log1p, sin, sqrt, tanh

    exact = {
        "exp": exp,
        "log": log,
        "tanh": tanh,
        "sin": sin,
        "erf": erf,
        "rsqrt": lambda x: 1 / sqrt(x),
        "sigmoid": lambda x: 1 / (1 + exp(-x)),
        "log1p": log1p,
    }[function]
    x = np.linspace(0.01, 20, 500).astype(F32)
    want = np.array([exact(float(v)) for v in x])
    error = np.abs(unary(function, x, "f32") - want) / np.spacing(np.abs(want).astype(F32))
    assert error.max() <= (0.86 if function == "exp" else 0.5001)


def test_functions_at_the_edges() -> None:
    with np.errstate(all="ignore"):
        assert unary("exp", F16([-np.inf]), "f16")[0] == 0
        assert unary("reciprocal", F32([0.0, -0.0]), "f32").tolist() == [np.inf, -np.inf]
        assert unary("floor", F16([np.inf, -1.5]), "f16").tolist() == [np.inf, -2]


def test_integers_wrap_and_divide_toward_zero() -> None:
    assert binary("addi", np.int8([127]), np.int8([1]), "i8").tolist() == [-128]
    assert binary("divsi", np.int32([-7]), np.int32([2]), "i32").tolist() == [-3]
    assert binary("remsi", np.int32([-7]), np.int32([2]), "i32").tolist() == [-1]
    least, seven = np.int8([-128, 7]), np.int8([7, -128])
    assert binary("divsi", least, seven, "i8").tolist() == [-18, 0]
    assert binary("remsi", least, seven, "i8").tolist() == [-2, 7]
    assert binary("ceildivsi", least, seven, "i8").tolist() == [-18, 0]
    assert binary("divui", np.int32([-1]), np.int32([2]), "i32").tolist() == [2**31 - 1]
    assert binary("shrsi", np.int32([-8]), np.int32([40]), "i32").tolist() == [-1]
    assert binary("abs_max", np.int32([-8]), np.int32([3]), "i32").tolist() == [8]


def test_logic_works_on_the_bits_of_floats() -> None:
    assert binary("and_not", F32([-1.5]), F32([-0.0]), "f32").tolist() == [1.5]


# ---- lanes -------------------------------------------------------------------------------------------------
def test_shuffle_repeats_and_takes_pads() -> None:
    x = lead(10, 11, 12)
    node = op("shuffle", Value(1, (6,), "f32"), Value(0, (3,), "f32"), Value(2, (1,), "f32"), indices_=0)
    node = VectorOp(
        node.name, "shuffle", node.operands, node.result, (("indices", (2, 0, -1)), ("repetition", 2))
    )
    assert evaluate(node, [x, lead(7)], (), {})[0, 0].tolist() == [12, 10, 7, 12, 10, 7]


def test_select_reads_through_a_map_of_the_result() -> None:
    d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
    node = op("select", Value(1, (2, 3), "f32"), Value(0, (2,), "f32"), map=AffineMap(2, 0, (d0,)))
    assert evaluate(node, [lead(5, 6)], (), {})[0, 0].tolist() == [[5, 5, 5], [6, 6, 6]]
    node = op("select", Value(1, (3, 2), "f32"), Value(0, (2, 3), "f32"), map=AffineMap(2, 0, (d1, d0)))
    x = np.arange(6, dtype=F32).reshape(1, 1, 2, 3)
    assert evaluate(node, [x], (), {})[0, 0].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_scan_runs_with_gaps_and_backwards() -> None:
    x = lead(1, 2, 3, 4, 5)
    assert scan("add", x, "f32", 1, False)[0, 0].tolist() == [1, 3, 6, 10, 15]
    assert scan("add", x, "f32", 2, False)[0, 0].tolist() == [1, 2, 4, 6, 9]
    assert scan("max", x, "f32", 1, True)[0, 0].tolist() == [5, 5, 5, 5, 5]


def test_row_reductions_keep_one_lane() -> None:
    x = np.arange(12, dtype=F32).reshape(1, 3, 4)
    node = Reduce("add", Value(0, (4,), "f32"), Value(1, (1,), "f32"))
    assert reduce(node, x)[0, :, 0].tolist() == [6, 22, 38]
    node = Reduce("abs_max", Value(0, (4,), "f32"), Value(1, (1,), "f32"))
    assert reduce(node, -x)[0, :, 0].tolist() == [3, 7, 11]


def test_rotate_moves_right_by_default() -> None:
    node = op("rotate", Value(1, (3,), "f32"), Value(0, (3,), "f32"), indices=(Index(1),), right=True)
    assert evaluate(node, [lead(1, 2, 3)], [1], {})[0, 0].tolist() == [3, 1, 2]


def test_masks_differ_by_instance() -> None:
    node = op("mask", Value(0, (4,), "i1"), indices=(Index(0), Index(0)))
    found = evaluate(node, [], [0, np.array([1, 3])], {})
    assert found[:, 0].tolist() == [[True, False, False, False], [True, True, True, False]]


def test_masked_lanes_give_the_second_operand() -> None:
    v = Value(0, (2,), "f32")
    node = VectorOp("vectorchain.binary", "add", (v, v, Value(1, (2,), "i1")), v, (("mask", True),))
    mask = np.array([True, False]).reshape(1, 1, 2)
    assert evaluate(node, [lead(1, 2), lead(10, 20), mask], (), {})[0, 0].tolist() == [11, 20]


def test_estimates_combine_to_the_exact_function() -> None:
    v = Value(0, (2,), "f32")
    x = lead(0.5, -2)
    slope, offset = (
        evaluate(op("tanh", v, v, name="vectorchain.tanh_estimate", version=k), [x], (), {})
        for k in ("slope", "offset")
    )
    np.testing.assert_allclose(slope * x + offset, np.tanh(x), rtol=1e-6)


# ---- contractions ------------------------------------------------------------------------------------------
def _contract(equation: str, left, right, result, addend=None) -> Contract:  # type: ignore[no-untyped-def]
    return Contract(equation, left, right, addend, result, 1, 1)


@pytest.mark.parametrize(
    ("equation", "left", "right", "out"),
    [
        ("a,ab->b", (5,), (5, 3), (3,)),
        ("b,ab->a", (3,), (5, 3), (5,)),
        ("a,a->", (5,), (5,), (1,)),
        ("ab,abc->c", (2, 5), (2, 5, 3), (3,)),
        ("ab,bc->ac", (2, 5), (5, 3), (2, 3)),
        ("ab,ab->a", (2, 5), (2, 5), (2,)),
    ],
)
@pytest.mark.parametrize("steps", [(4, 1), (4, 4), (1, 4)])
def test_contractions_equal_einsum(equation: str, left, right, out, steps) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(1)
    a = rng.standard_normal((2, steps[0], *left)).astype(F16)
    b = rng.standard_normal((2, steps[1], *right)).astype(F16)
    values = Value(0, left, "f16"), Value(1, right, "f16"), Value(2, out, "f32")
    node = _contract(equation, *values)
    first, rest = equation.split(",")
    second, kept = rest.split("->")
    want = np.einsum(
        f"yz{first},yz{second}->yz{kept}",
        np.broadcast_to(a, (2, 4, *left)).astype(np.float64),
        np.broadcast_to(b, (2, 4, *right)).astype(np.float64),
    ).reshape(2, 4, *out)
    np.testing.assert_allclose(contract(node, a, b, None), want, rtol=1e-5, atol=1e-5)
    total = Contract(equation, values[0], values[1], Value(3, out, "f32"), values[2], 1, 1)
    start = np.ones((2, 1, *out), F32)
    found = accumulate(total, a, b, start)
    np.testing.assert_allclose(found, 1 + want.sum(1, keepdims=True), rtol=1e-5, atol=1e-4)


def test_narrow_integers_accumulate_exactly() -> None:
    a = np.full((1, 1, 300), -128, np.int8)
    b = np.full((1, 1, 300, 2), -128, np.int8)
    node = _contract("a,ab->b", Value(0, (300,), "i8"), Value(1, (300, 2), "i8"), Value(2, (2,), "i32"))
    assert contract(node, a, b, None)[0, 0].tolist() == [300 * 128 * 128] * 2


# ---- compiled conversions ----------------------------------------------------------------------------------
def test_compiled_widening_is_exact_for_every_16_bit_value() -> None:
    bits = np.arange(2**16, dtype=np.uint32).astype(np.uint16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(half.widen_f16(bits.view(F16)), bits.view(F16).astype(F32))
        wide = half.widen_bf16(bits.view(ml_dtypes.bfloat16))
        np.testing.assert_array_equal(wide, bits.view(ml_dtypes.bfloat16).astype(F32))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_compiled_rounding_equals_numpy(seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 2**32, 4096, dtype=np.uint64).astype(np.uint32).view(F32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(half.round_f16(x), x.astype(F16))
        found = half.round_bf16(x, np.dtype(ml_dtypes.bfloat16))
        np.testing.assert_array_equal(found.astype(F32), x.astype(ml_dtypes.bfloat16).astype(F32))


def test_little_data_does_not_load_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert._Converted, "count", 0)
    x = np.ones(8192, F16)
    assert convert.widen(x).dtype == F32 and convert._Converted.count == 8192


def test_broadcast_arrays_are_converted_once() -> None:
    x = np.broadcast_to(np.arange(4, dtype=F16), (5000, 4))
    found = convert.widen(x)
    assert found.strides[0] == 0 and found[17].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
def test_compiled_functions_are_correctly_rounded(function: str) -> None:
    edges = F32([0.0, -0.0, np.inf, -np.inf, np.nan, 88.8, -104.5, 1e-6, -1e-6, 1e-30, 3.0e38, -87.5])
    x = np.concatenate(
        [np.linspace(-110, 110, 40001).astype(F32), np.linspace(-1, 1, 20001).astype(F32), edges]
    )
    with np.errstate(all="ignore"):
        wide = {"sigmoid": lambda v: 1 / (1 + np.exp(-v)), "tanh": np.tanh}[function](x.astype(np.float64))
        want = wide.astype(F32)
        found = functions.apply(function, x)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(want))
        finite = np.isfinite(want)
        np.testing.assert_array_equal(found[~finite], want[~finite])
        error = np.abs(found[finite] - wide[finite]) / np.spacing(
            np.maximum(np.abs(want[finite]), F32(1e-45))
        )
    assert error.max() <= 0.5001


@pytest.mark.parametrize("function", ["exp", "sigmoid", "tanh"])
def test_much_data_gives_what_little_data_gives(function: str) -> None:
    """Results must not depend on when a process loads the compiled functions."""
    x = (np.random.default_rng(0).standard_normal(200_000) * 8).astype(F32)
    little = np.concatenate([unary(function, part, "f32") for part in np.split(x, 200)])
    np.testing.assert_array_equal(functions.apply(function, x), little)
