"""Reductions: how a body combines what it computes with what it carries, done for whole arrays.

Sums and products of narrow floats are taken in a wider type and rounded once, in the op's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from headrace.numbers.dtypes import is_float, numpy_dtype
from headrace.numbers.rounding import round_to, widen
from headrace.semantics.elementwise import maximum, minimum

Array = np.ndarray[Any, Any]

COMBINERS: dict[str, str] = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.subf": "sub",
    "arith.subi": "sub",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.maximumf": "maximum",
    "arith.minimumf": "minimum",
    "arith.maxnumf": "maxnum",
    "arith.minnumf": "minnum",
    "arith.maxsi": "maxs",
    "arith.minsi": "mins",
    "arith.maxui": "maxu",
    "arith.minui": "minu",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
}
_FLOAT_CASTS = frozenset({"arith.extf", "arith.truncf"})
_CASTS = _FLOAT_CASTS | {"arith.extsi", "arith.extui", "arith.trunci"}
_MODULAR = frozenset({"add", "sub", "mul", "and", "or", "xor"})
"""Combinations whose low bits depend on low bits only, so that carrying fewer of them changes nothing."""


@dataclass(frozen=True)
class Combination:
    """One result of a reducing body: `kind` combines the carried value with `term`, in element type
    `dtype`."""

    kind: str
    term: SSAValue
    dtype: str


def combinations(block: Block, carried: Sequence[BlockArgument]) -> list[Combination | None]:
    """How each yielded value is combined; None where the body does something else with what it carries."""
    tainted = depending(block, carried)
    yielded = block.last_op
    assert yielded is not None
    return [_combination(v, a, tainted) for v, a in zip(yielded.operands, carried, strict=True)]


def _combination(value: SSAValue, argument: BlockArgument, tainted: set[SSAValue]) -> Combination | None:
    op = _behind(value, _CASTS).owner
    if not isinstance(op, Operation) or op.name not in COMBINERS:
        return None
    kind = COMBINERS[op.name]
    casts = _CASTS if kind in _MODULAR else _FLOAT_CASTS
    if _behind(value, casts) is not op.results[0]:
        return None
    for own, other in ((0, 1), (1, 0)) if kind != "sub" else ((0, 1),):
        term = op.operands[other]
        if _behind(op.operands[own], casts) is argument and term not in tainted:
            return Combination(kind, term, str(term.type))
    return None


def _behind(value: SSAValue, casts: frozenset[str]) -> SSAValue:
    while isinstance(value.owner, Operation) and value.owner.name in casts:
        value = value.owner.operands[0]
    return value


def depending(block: Block, carried: Sequence[BlockArgument]) -> set[SSAValue]:
    """The values of a body that follow from what it carries, those included."""
    found: set[SSAValue] = set(carried)
    for op in block.ops:
        if any(v in found for inner in op.walk() for v in inner.operands):
            found.update(op.results)
    return found


def identity(kind: str, dtype: str) -> Array:
    """The value that changes nothing, rank 0."""
    target = numpy_dtype(dtype)
    if kind in ("add", "sub", "or", "xor"):
        return np.zeros((), target)
    if kind == "mul":
        return np.ones((), target)
    if is_float(dtype):
        least = {"maximum": -np.inf, "minimum": np.inf}.get(kind, np.nan)
        return np.asarray(least).astype(target)
    if dtype == "i1":
        return np.asarray(kind in ("and", "minu", "maxs"))
    lowest, highest = np.iinfo(target).min, np.iinfo(target).max
    return np.asarray({"maxs": lowest, "mins": highest, "maxu": 0}.get(kind, -1), target)


def fold(kind: str, terms: Array, dtype: str, axes: tuple[int, ...]) -> Array:
    """All terms along `axes` (kept with extent 1) combined, in the type the combination is carried in."""
    if terms.size == 0:
        shape = [1 if d in axes else n for d, n in enumerate(terms.shape)]
        return np.broadcast_to(carrier(kind, identity(kind, dtype), dtype), shape)
    with np.errstate(all="ignore"):
        return _FOLDS[kind](terms, dtype, axes)


def merge(kind: str, a: Array, b: Array, dtype: str) -> Array:
    """Two combined values (as `fold` or `carrier` gives them) combined."""
    with np.errstate(all="ignore"):
        return np.asarray(_MERGES[kind](a, b))


def carrier(kind: str, value: Array, dtype: str) -> Array:
    """`value` in the type in which `kind` is carried: f64 for sums of floats, f32 for products of narrow
    ones."""
    if is_float(dtype) and kind in ("add", "sub"):
        return value.astype(np.float64)
    return widen(value) if is_float(dtype) else value


def accumulate(out: Array, total: Array, dtype: str) -> None:
    """Adds a total, carried wide, to `out` and rounds once.

    Two f32 numbers are added in f32: that is their f64 sum rounded (53 >= 2 * 24 + 2 bits).
    """
    if dtype == "f32" and total.dtype == np.float32:
        with np.errstate(all="ignore"):
            np.add(out, total, out=out)
        return
    out[...] = settle(merge("add", carrier("add", out, dtype), total, dtype), dtype)


def settle(value: Array, dtype: str) -> Array:
    """A carried value rounded to the element type of the result."""
    with np.errstate(all="ignore"):
        return round_to(value, dtype) if is_float(dtype) else value.astype(numpy_dtype(dtype))


def _sum(terms: Array, dtype: str, axes: tuple[int, ...]) -> Array:
    if dtype == "i1":
        return np.asarray(
            np.logical_xor.reduce(terms, axis=axes[0], keepdims=True)
            if len(axes) == 1
            else _repeat(np.logical_xor, terms, axes)
        )
    kept = np.float64 if is_float(dtype) else numpy_dtype(dtype)
    return np.asarray(np.add.reduce(widen(terms), axis=axes, dtype=kept, keepdims=True))


def _product(terms: Array, dtype: str, axes: tuple[int, ...]) -> Array:
    wide = widen(terms)
    return np.asarray(np.multiply.reduce(wide, axis=axes, dtype=wide.dtype, keepdims=True))


def _repeat(of: np.ufunc, terms: Array, axes: tuple[int, ...]) -> Array:
    for axis in axes:
        terms = np.asarray(of.reduce(terms, axis=axis, keepdims=True))
    return terms


def _extreme(of: np.ufunc, sign: bool) -> Callable[[Array, str, tuple[int, ...]], Array]:
    """Largest or smallest float; among zeros the one whose sign bit is `sign` wins."""

    def apply(terms: Array, dtype: str, axes: tuple[int, ...]) -> Array:
        wide = widen(terms)
        best = np.asarray(of.reduce(wide, axis=axes, keepdims=True))
        if (best == 0).any():
            wins = ((wide == 0) & (np.signbit(wide) == sign)).any(axis=axes, keepdims=True)
            zero = np.where(wins == sign, best.dtype.type(-0.0), best.dtype.type(0.0))
            best = np.where(best == 0, zero, best)
        return best

    return apply


def _integer(of: np.ufunc, is_unsigned: bool = False) -> Callable[[Array, str, tuple[int, ...]], Array]:
    def apply(terms: Array, dtype: str, axes: tuple[int, ...]) -> Array:
        if dtype == "i1":
            return _repeat(of if is_unsigned or of not in _SWAPPED else _SWAPPED[of], terms, axes)
        if not is_unsigned:
            return _repeat(of, terms, axes)
        return _repeat(of, _as_unsigned(terms), axes).view(terms.dtype)

    return apply


_SWAPPED: dict[np.ufunc, np.ufunc] = {np.maximum: np.minimum, np.minimum: np.maximum}
"""A signed i1 is 0 or -1, so that true is the smaller one."""


def _as_unsigned(array: Array) -> Array:
    return array if array.dtype == np.bool_ else array.view(f"u{array.dtype.itemsize}")


def _merge_unsigned(of: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.asarray(of(_as_unsigned(a), _as_unsigned(b))).view(a.dtype)


def _merge_signed(of: np.ufunc) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.asarray((_SWAPPED[of] if a.dtype == np.bool_ else of)(a, b))


def _number(of: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.where(np.isnan(a), b, np.where(np.isnan(b), a, of(a, b)))


_FOLDS: dict[str, Callable[[Array, str, tuple[int, ...]], Array]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "maximum": _extreme(np.maximum, False),
    "minimum": _extreme(np.minimum, True),
    "maxnum": _extreme(np.fmax, False),
    "minnum": _extreme(np.fmin, True),
    "maxs": _integer(np.maximum),
    "mins": _integer(np.minimum),
    "maxu": _integer(np.maximum, is_unsigned=True),
    "minu": _integer(np.minimum, is_unsigned=True),
    "and": _integer(np.bitwise_and),
    "or": _integer(np.bitwise_or),
    "xor": _integer(np.bitwise_xor),
}
_MERGES: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a ^ b if a.dtype == np.bool_ else a + b,
    "sub": lambda a, b: a ^ b if a.dtype == np.bool_ else a - b,
    "mul": np.multiply,
    "maximum": maximum,
    "minimum": minimum,
    "maxnum": _number(maximum),
    "minnum": _number(minimum),
    "maxs": _merge_signed(np.maximum),
    "mins": _merge_signed(np.minimum),
    "maxu": _merge_unsigned(np.maximum),
    "minu": _merge_unsigned(np.minimum),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
