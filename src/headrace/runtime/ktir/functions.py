"""Elementwise functions."""

from __future__ import annotations

from headrace.numbers.dtypes import is_float
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.operators import binary, common_shape, compare, matched, spread
from headrace.runtime.ktir.types import a_thing
from headrace.runtime.ktir.values import Operand, Value


def exp(x: Value) -> Value:
    """e to the x."""
    return _function("math.exp", x)


def log(x: Value) -> Value:
    """The natural logarithm."""
    return _function("math.log", x)


def sqrt(x: Value) -> Value:
    """The square root."""
    return _function("math.sqrt", x)


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x)."""
    return _function("math.rsqrt", x)


def tanh(x: Value) -> Value:
    """The hyperbolic tangent."""
    return _function("math.tanh", x)


def erf(x: Value) -> Value:
    """The error function."""
    return _function("math.erf", x)


def sin(x: Value) -> Value:
    """The sine."""
    return _function("math.sin", x)


def cos(x: Value) -> Value:
    """The cosine."""
    return _function("math.cos", x)


def floor(x: Value) -> Value:
    """The largest whole number not above x."""
    return _function("math.floor", x)


def ceil(x: Value) -> Value:
    """The smallest whole number not below x."""
    return _function("math.ceil", x)


def absolute(x: Value) -> Value:
    """|x|."""
    return _function("math.absf" if is_float(x.dtype) else "math.absi", x, any_dtype=True)


def sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x))."""
    return 1.0 / (exp(-x) + 1.0)


def maximum(a: Operand, b: Operand) -> Value:
    """The larger of two, elementwise; NaN when either is."""
    return binary("maximum", a, b)


def minimum(a: Operand, b: Operand) -> Value:
    """The smaller of two, elementwise; NaN when either is."""
    return binary("minimum", a, b)


def power(a: Operand, b: Operand) -> Value:
    """a to the b, of floats."""
    return binary("power", a, b)


def equal(a: Operand, b: Operand) -> Value:
    """a = b as i1, elementwise (`==` compares the Python objects)."""
    return compare("eq", a, b)


def not_equal(a: Operand, b: Operand) -> Value:
    """a ≠ b as i1, elementwise."""
    return compare("ne", a, b)


def where(condition: Value, a: Operand, b: Operand) -> Value:
    """a where the condition (i1) holds, else b."""
    if not isinstance(condition, Value) or condition.dtype != "i1":
        raise wrong("the condition of 'where' is no i1", "compare something: `x > 0`, ktir.equal(x, 0)")
    if not isinstance(a, Value) and not isinstance(b, Value):
        raise wrong("'where' of two numbers has no dtype", "write one as k.full(shape, number, dtype)")
    left, right = matched("where", a, b)
    shape = common_shape("where", [condition.shape, left.shape])
    chosen = spread(condition, condition, "i1", shape)
    left, right = (spread(condition, v, v.dtype, shape) for v in (left, right))
    tests = "" if shape is None else f"{chosen.type}, "
    return left.let(
        f"arith.select {chosen.use()}, {left.use()}, {right.use()} : {tests}{left.type}", left.dtype, shape
    )


def _function(op: str, x: Value, any_dtype: bool = False) -> Value:
    if not isinstance(x, Value):
        raise wrong(f"'{op}' of {a_thing(x)}", "load a box first; use the math module for numbers")
    if not any_dtype and not is_float(x.dtype):
        raise wrong(f"'{op}' of {x.dtype}", 'write .cast("f32") first')
    return x.let(f"{op} {x.use()} : {x.type}", x.dtype, x.shape, op.removeprefix("math."))
