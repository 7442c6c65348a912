"""Affine maps and integer sets of KTIR evaluated on `Num`s."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)
from xdsl.ir.affine.affine_set import AffineConstraintKind

from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num, Ranges

_KIND = AffineBinaryOpKind


def evaluate(expr: AffineExpr, dims: Sequence[Num], symbols: Sequence[Num], ranges: Ranges) -> Num:
    """The value of an affine expression; NotLinear when a `mod` or division needs a loop variable's value."""
    if isinstance(expr, AffineConstantExpr):
        return Num(expr.value)
    if isinstance(expr, AffineDimExpr):
        return dims[int(expr.position)]
    if isinstance(expr, AffineSymExpr):
        return symbols[int(expr.position)]
    assert isinstance(expr, AffineBinaryOpExpr)
    a = evaluate(expr.lhs, dims, symbols, ranges)
    b = evaluate(expr.rhs, dims, symbols, ranges)
    if expr.kind is _KIND.Add:
        return nm.add(a, b)
    if expr.kind is _KIND.Mul:
        return nm.mul(a, b)
    if expr.kind is _KIND.Mod:
        return nm.modulo(a, b, ranges)
    if expr.kind is _KIND.FloorDiv:
        return nm.floordiv(a, b, ranges)
    return nm.scale(nm.floordiv(nm.scale(a, -1), b, ranges), -1)


def apply(amap: AffineMap, operands: Sequence[Num], ranges: Ranges) -> list[Num]:
    """The results of a map on its operands, dims first, then symbols."""
    dims, symbols = operands[: amap.num_dims], operands[amap.num_dims :]
    return [evaluate(e, dims, symbols, ranges) for e in amap.results]


def box(region: AffineSet, symbols: Sequence[Num]) -> list[tuple[Num, Num]] | None:
    """Inclusive (low, high) of every dim, or None when the set is no bounded box."""
    names = [f"#{i}" for i in range(region.num_dims)]
    dims = [Num(0, {n: 1}) for n in names]
    low: list[nm.Const | None] = [None] * len(names)
    high: list[nm.Const | None] = [None] * len(names)
    for constraint in region.constraints:
        value = evaluate(constraint.lhs - constraint.rhs, dims, symbols, {})
        if constraint.kind is AffineConstraintKind.le:
            value = nm.scale(value, -1)
        if len(value.terms) > 1 or any(n not in names for n in value.terms):
            return None
        for name, c in value.terms.items():
            i = names.index(name)
            if c > 0 or constraint.kind is AffineConstraintKind.eq:
                low[i] = _tighter(np.maximum, low[i], -((value.const if c > 0 else -value.const) // abs(c)))
            if c < 0 or constraint.kind is AffineConstraintKind.eq:
                high[i] = _tighter(np.minimum, high[i], (value.const if c < 0 else -value.const) // abs(c))
    pairs = [(a, b) for a, b in zip(low, high, strict=True) if a is not None and b is not None]
    return [(nm.number(a), nm.number(b)) for a, b in pairs] if len(pairs) == len(names) else None


def _tighter(choose: np.ufunc, old: nm.Const | None, new: nm.Const) -> nm.Const:
    return new if old is None else nm.tidy(choose(old, new))
