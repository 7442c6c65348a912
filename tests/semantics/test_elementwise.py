"""Elementwise ops against NumPy, one op and random expressions at a time."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.numbers.dtypes import numpy_dtype
from headrace.numbers.tolerance import assert_close

from .tiles import evaluate

SPECIAL = [0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, 6e-8, -65504.0, 3.0, 1e-3]


def _special(dtype: str) -> tuple[Any, Any]:
    """Every pair of special values."""
    a, b = np.meshgrid(np.array(SPECIAL), np.array(SPECIAL))
    return a.reshape(-1).astype(numpy_dtype(dtype)), b.reshape(-1).astype(numpy_dtype(dtype))


def _type(array: Any, dtype: str) -> str:
    return f"tensor<{array.size}x{dtype}>"


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("divf", np.divide),
        ("remf", np.fmod),
        ("maxnumf", np.fmax),
        ("minnumf", np.fmin),
        ("maximumf", np.maximum),
        ("minimumf", np.minimum),
    ],
)
def test_a_float_op_computes_in_f32_and_rounds_once(dtype, op, function):
    a, b = _special(dtype)
    ty = _type(a, dtype)
    got = evaluate(f"%result = arith.{op} %a, %b : {ty}", (a.shape, dtype), a=a, b=b)
    with np.errstate(all="ignore"):
        expected = function(a.astype(np.float32), b.astype(np.float32)).astype(numpy_dtype(dtype))
    assert_close(got, expected, max_ulp=0)


def test_max_and_min_order_the_zeros_and_keep_nan():
    a = np.array([0.0, -0.0, np.nan, 1.0], np.float32)
    b = np.array([-0.0, 0.0, 1.0, np.nan], np.float32)
    ty = "tensor<4xf32>"
    largest = evaluate(f"%result = arith.maximumf %a, %b : {ty}", ((4,), "f32"), a=a, b=b)
    smallest = evaluate(f"%result = arith.minimumf %a, %b : {ty}", ((4,), "f32"), a=a, b=b)
    assert not np.signbit(largest[:2]).any() and np.signbit(smallest[:2]).all()
    assert np.isnan(largest[2:]).all() and np.isnan(smallest[2:]).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "tanh",
        "erf",
        "log1p",
        "exp2",
        "atan",
        "floor",
        "ceil",
        "absf",
    ],
)
def test_a_function_is_the_rounded_f32_function(dtype, name):
    x = np.concatenate([np.linspace(-20, 20, 401), SPECIAL]).astype(numpy_dtype(dtype))
    got = evaluate(f"%result = math.{name} %x : {_type(x, dtype)}", (x.shape, dtype), x=x)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        functions = {
            "rsqrt": lambda v: 1 / np.sqrt(v),
            "erf": np.vectorize(math.erf),
            "absf": np.abs,
            "atan": np.arctan,
        }
        exact = functions.get(name, getattr(np, name, None))(wide)
        assert_close(got, exact.astype(np.float32).astype(numpy_dtype(dtype)), max_ulp=0)


INTEGER_OPS = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": max,
    "minsi": min,
    "divsi": lambda a, b: 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "remsi": lambda a, b: 0 if b == 0 else int(math.fmod(a, b)),
    "floordivsi": lambda a, b: 0 if b == 0 else a // b,
    "ceildivsi": lambda a, b: 0 if b == 0 else -(-a // b),
}


@pytest.mark.parametrize("name", sorted(INTEGER_OPS))
def test_a_signed_integer_op_is_python_arithmetic_modulo_the_width(name):
    values = [-128, -127, -7, -1, 0, 1, 2, 7, 100, 127]
    a, b = (v.reshape(-1).astype(np.int8) for v in np.meshgrid(values, values))
    got = evaluate(f"%result = arith.{name} %a, %b : {_type(a, 'i8')}", (a.shape, "i8"), a=a, b=b)
    exact = [INTEGER_OPS[name](int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert got.tolist() == [(v + 128) % 256 - 128 for v in exact]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("divui", lambda a, b: a // b if b else 0),
        ("remui", lambda a, b: a % b if b else 0),
        ("maxui", max),
        ("minui", min),
        ("shli", lambda a, b: a << b if b < 16 else 0),
        ("shrui", lambda a, b: a >> b if b < 16 else 0),
    ],
)
def test_an_unsigned_op_reads_the_bits_as_unsigned(name, function):
    values = [0, 1, 5, 17, 255, 32767, 32768, 65535]
    a, b = (v.reshape(-1).astype(np.uint16).view(np.int16) for v in np.meshgrid(values, values))
    got = evaluate(f"%result = arith.{name} %a, %b : {_type(a, 'i16')}", (a.shape, "i16"), a=a, b=b)
    exact = [
        function(int(x), int(y)) % 65536 for x, y in zip(a.view(np.uint16), b.view(np.uint16), strict=True)
    ]
    assert got.view(np.uint16).tolist() == exact


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("slt", [True, False, False]),
        ("ult", [False, True, False]),
        ("sge", [False, True, True]),
        ("uge", [True, False, True]),
        ("eq", [False, False, True]),
        ("ne", [True, True, False]),
    ],
)
def test_integer_comparisons_are_signed_or_unsigned(predicate, expected):
    a, b = np.array([-1, 3, 5], np.int32), np.array([3, -1, 5], np.int32)
    got = evaluate(f"%result = arith.cmpi {predicate}, %a, %b : tensor<3xi32>", ((3,), "i1"), a=a, b=b)
    assert got.tolist() == expected


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("oeq", [False, True, False]),
        ("une", [True, False, True]),
        ("one", [True, False, False]),
        ("ueq", [False, True, True]),
        ("olt", [True, False, False]),
        ("uge", [False, True, True]),
        ("ord", [True, True, False]),
        ("uno", [False, False, True]),
    ],
)
def test_float_comparisons_say_what_nan_gives(predicate, expected):
    a, b = np.array([1, 2, np.nan], np.float16), np.array([2, 2, 2], np.float16)
    got = evaluate(f"%result = arith.cmpf {predicate}, %a, %b : tensor<3xf16>", ((3,), "i1"), a=a, b=b)
    assert got.tolist() == expected


def test_casts_say_what_a_bool_is():
    x = np.array([True, False])
    cases = {
        "extsi": ("i32", [-1, 0]),
        "extui": ("i32", [1, 0]),
        "sitofp": ("f32", [-1, 0]),
        "uitofp": ("f16", [1, 0]),
    }
    for op, (dtype, expected) in cases.items():
        got = evaluate(f"%result = arith.{op} %x : tensor<2xi1> to tensor<2x{dtype}>", ((2,), dtype), x=x)
        assert got.tolist() == expected, op


def test_casts_between_floats_and_integers_round_toward_zero_and_saturate():
    x = np.array([1.7, -1.7, 1e10, np.nan], np.float32)
    got = evaluate("%result = arith.fptosi %x : tensor<4xf32> to tensor<4xi32>", ((4,), "i32"), x=x)
    assert got.tolist() == [1, -1, 2**31 - 1, 0]
    bits = evaluate("%result = arith.bitcast %x : tensor<4xf32> to tensor<4xi32>", ((4,), "i32"), x=x)
    assert bits.tolist() == x.view(np.int32).tolist()
    h = evaluate("%result = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>", ((4,), "bf16"), x=x)
    assert h[0] == ml_dtypes.bfloat16(1.7)


def test_a_multiplication_extended_gives_the_high_word():
    a = np.array([2**63 - 1, -1, -(2**63)], np.int64)
    b = np.array([3, -1, 5], np.int64)
    for op, unsigned in (("mulsi_extended", False), ("mului_extended", True)):
        body = f"%low, %result = arith.{op} %a, %b : tensor<3xi64>"
        got = evaluate(body, ((3,), "i64"), a=a, b=b)
        exact = [
            (int(x) % 2**64 if unsigned else int(x)) * (int(y) % 2**64 if unsigned else int(y))
            for x, y in zip(a, b, strict=True)
        ]
        assert [int(g) % 2**64 for g in got] == [(e >> 64) % 2**64 for e in exact], op


OPS = ["addf", "subf", "mulf", "maximumf", "minimumf", "divf"]
EXPRESSION = st.recursive(
    st.sampled_from(["a", "b"]), lambda inner: st.tuples(st.sampled_from(OPS), inner, inner), max_leaves=8
)


def _numpy(tree: Any, values: dict[str, Any], dtype: Any) -> Any:
    if isinstance(tree, str):
        return values[tree]
    functions = dict(
        zip(OPS, [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.divide], strict=True)
    )
    x, y = (_numpy(t, values, dtype).astype(np.float32) for t in tree[1:])
    with np.errstate(all="ignore"):
        return functions[tree[0]](x, y).astype(dtype)


def _lines(tree: Any, names: dict[str, str], ty: str, lines: list[str]) -> str:
    if isinstance(tree, str):
        return names[tree]
    x, y = (_lines(t, names, ty, lines) for t in tree[1:])
    lines.append(f"%v{len(lines)} = arith.{tree[0]} {x}, {y} : {ty}")
    return f"%v{len(lines) - 1}"


@given(EXPRESSION, st.sampled_from(["f16", "bf16", "f32"]), st.booleans(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_random_expression_rounds_at_every_op_as_tensors_and_as_a_body(tree, dtype, is_generic, seed):
    if isinstance(tree, str):
        return
    random = np.random.default_rng(seed)
    values = {n: random.standard_normal((5, 7)).astype(numpy_dtype(dtype)) for n in "ab"}
    values["b"] = (
        np.ascontiguousarray(np.broadcast_to(values["b"][:1], (5, 7))) if not is_generic else values["b"][0]
    )
    ty = f"tensor<5x7x{dtype}>"
    lines: list[str] = []
    if is_generic:
        result = _lines(tree, {"a": "%x", "b": "%y"}, dtype, lines)
        inside = "\n      ".join(lines)
        map2, map1 = "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d1)>"
        body = f"""%e = tensor.empty() : {ty}
    %result = linalg.generic {{indexing_maps = [{map2}, {map1}, {map2}], iterator_types = ["parallel",
    "parallel"]}}
        ins(%a, %b : {ty}, tensor<7x{dtype}>) outs(%e : {ty}) {{
    ^bb0(%x: {dtype}, %y: {dtype}, %o: {dtype}):
      {inside}
      linalg.yield {result} : {dtype}
    }} -> {ty}"""
    else:
        result = _lines(tree, {"a": "%a", "b": "%b"}, ty, lines)
        body = "\n    ".join(lines).replace(f"{result} =", "%result =")
    got = evaluate(body, ((5, 7), dtype), **values)
    expected = np.broadcast_to(_numpy(tree, values, numpy_dtype(dtype)), (5, 7))
    assert_close(got, expected, max_ulp=0)
