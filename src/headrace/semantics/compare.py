"""Comparisons, selections and conversions: the arith ops whose operand and result types differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.numbers.dtypes import is_float, numpy_dtype, unsigned_dtype
from headrace.numbers.rounding import cast, widen

Array = np.ndarray[Any, Any]
Compare = Callable[[Array, Array], Array]

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord")
    + ("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
)  # fmt: skip
_ORDERED: dict[str, Compare] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def compare_integers(predicate: int, a: Array, b: Array, dtype: str) -> Array:
    """`arith.cmpi`: an i1 array. A signed i1 is 0 or -1."""
    name = INTEGER_PREDICATES[predicate]
    if name in ("eq", "ne"):
        return np.asarray(_ORDERED[name](a, b))
    if name[0] == "u":
        a, b = a.view(unsigned_dtype(dtype)), b.view(unsigned_dtype(dtype))
    elif dtype == "i1":
        a, b = b, a
    return np.asarray(_ORDERED[name[1:]](a, b))


def compare_floats(predicate: int, a: Array, b: Array) -> Array:
    """`arith.cmpf`: an i1 array; "o" predicates are false and "u" predicates true when an operand is NaN."""
    name = FLOAT_PREDICATES[predicate]
    a, b = np.broadcast_arrays(widen(a), widen(b))
    if name in ("true", "false"):
        return np.full(a.shape, name == "true")
    if name in ("oeq", "ogt", "oge", "olt", "ole", "une"):  # what IEEE comparisons say of NaN themselves
        with np.errstate(invalid="ignore"):
            return np.asarray(_ORDERED[name[1:]](a, b))
    unordered: Array = np.isnan(a) | np.isnan(b)
    if name in ("ord", "uno"):
        return unordered if name == "uno" else ~unordered
    with np.errstate(invalid="ignore"):
        holds: Array = _ORDERED[name[1:]](a, b)
    return (holds | unordered) if name[0] == "u" else (holds & ~unordered)


CONVERSIONS = frozenset(
    "arith." + name
    for name in (
        "bitcast convertf extf extsi extui fptosi fptoui index_cast index_castui sitofp truncf trunci uitofp"
    ).split()
)


def convert(name: str, x: Array, src: str, dst: str) -> Array:
    """The value of a conversion op from element type `src` to `dst`."""
    if name == "arith.bitcast":
        return x.view(numpy_dtype(dst)) if src != "i1" and dst != "i1" else x
    if name in ("arith.extui", "arith.uitofp", "arith.fptoui", "arith.index_castui"):
        return cast(x, src, dst, unsigned=True)
    if src == "i1" and name in ("arith.extsi", "arith.sitofp", "arith.index_cast"):
        return np.negative(cast(x, src, dst))
    if dst == "i1" and is_float(src):
        return np.asarray(cast(x, src, "i8") != 0)
    return cast(x, src, dst)
