"""The arithmetic of constant folding: what an op of arith gives for numbers, as every level computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headrace.numbers.dtypes import bit_width, is_float, numpy_dtype
from headrace.numbers.rounding import cast

Integers = Callable[[int, int], int]


def wrapped(value: int, dtype: str) -> int:
    """The value as a signed number of the type's width."""
    width = 64 if dtype == "index" else 1 if dtype == "i1" else bit_width(dtype)
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def unsigned(value: int, dtype: str) -> int:
    """The value's bits as an unsigned number."""
    width = 64 if dtype == "index" else 1 if dtype == "i1" else bit_width(dtype)
    return value & ((1 << width) - 1)


def _toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


SIGNED: dict[str, Integers] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _toward_zero,
    "arith.remsi": lambda a, b: a - _toward_zero(a, b) * b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.maxsi": max,
    "arith.minsi": min,
}
UNSIGNED: dict[str, Integers] = {
    "arith.divui": lambda a, b: a // b,
    "arith.remui": lambda a, b: a % b,
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.maxui": max,
    "arith.minui": min,
}
_TESTS: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)
_FLOATS: dict[str, Callable[..., np.floating]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.negf": np.negative,
}
FLOATS = frozenset(_FLOATS)


def integer(name: str, a: int, b: int, dtype: str) -> int | None:
    """The result of an integer op, None where it has none (division by zero)."""
    try:
        if name in SIGNED:
            return wrapped(SIGNED[name](a, b), dtype)
        if name in UNSIGNED:
            return wrapped(UNSIGNED[name](unsigned(a, dtype), unsigned(b, dtype)), dtype)
    except ZeroDivisionError:
        pass
    return None


def comparison(predicate: int, a: int, b: int, dtype: str) -> bool:
    """The result of `arith.cmpi`: eq ne slt sle sgt sge ult ule ugt uge."""
    if predicate > 5:
        return _TESTS[predicate - 4](unsigned(a, dtype), unsigned(b, dtype))
    return _TESTS[predicate](a, b)


def floating(name: str, operands: Sequence[float], dtype: str) -> float:
    """The result of a float op: narrow types compute in f32 and round once."""
    wide = np.float64 if dtype == "f64" else np.float32
    with np.errstate(all="ignore"):
        result = _FLOATS[name](*(wide(x) for x in operands))
        return float(np.asarray(result, wide).astype(numpy_dtype(dtype)))


def float_cast(value: float, source: str, dtype: str, is_unsigned: bool = False) -> float:
    """A conversion from or to a float type."""
    array = np.asarray(value).astype(numpy_dtype(source))
    with np.errstate(all="ignore"):
        result = cast(array, source, dtype, unsigned=is_unsigned)
    return float(result) if is_float(dtype) else int(result)
