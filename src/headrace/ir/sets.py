"""Affine maps and sets as numbers: values, linear forms, boxes, membership; points may be arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineSet,
)

Bounds = tuple[int | None, int | None]
"""Lowest and highest value of one dim, None where the set is open."""


_SIGNS = {AffineConstraintKind.ge: (1,), AffineConstraintKind.le: (-1,), AffineConstraintKind.eq: (1, -1)}
"""A constraint as `sign * value >= 0` for each sign."""


def evaluate(expression: AffineExpr, dims: Sequence[Any], symbols: Sequence[Any] = ()) -> Any:
    """The value at `dims`, which may be integers or arrays that broadcast against each other."""
    if isinstance(expression, AffineConstantExpr):
        return expression.value
    if not isinstance(expression, AffineBinaryOpExpr):
        values = dims if isinstance(expression, AffineDimExpr) else symbols
        return values[expression.position]  # type: ignore[attr-defined]
    a, b = evaluate(expression.lhs, dims, symbols), evaluate(expression.rhs, dims, symbols)
    kind = expression.kind
    if kind is AffineBinaryOpKind.Add:
        return a + b
    if kind is AffineBinaryOpKind.Mul:
        return a * b
    if kind is AffineBinaryOpKind.FloorDiv:
        return a // b
    return a % b if kind is AffineBinaryOpKind.Mod else -(-a // b)


@dataclass(frozen=True)
class Linear:
    """const + sum of coefficients[d] * dim d."""

    const: int
    coefficients: tuple[int, ...]

    @property
    def dims(self) -> tuple[int, ...]:
        """The dims that matter."""
        return tuple(d for d, c in enumerate(self.coefficients) if c)

    @property
    def is_constant(self) -> bool:
        """Whether no dim matters."""
        return not any(self.coefficients)


def linear(expression: AffineExpr, num_dims: int, symbols: Sequence[int] = ()) -> Linear | None:
    """The expression as a linear form of its dims, None when a division or remainder of a dim stands in
    the way."""
    if isinstance(expression, AffineConstantExpr):
        return Linear(expression.value, (0,) * num_dims)
    if isinstance(expression, AffineDimExpr):
        return Linear(0, tuple(int(d == expression.position) for d in range(num_dims)))
    if not isinstance(expression, AffineBinaryOpExpr):
        return Linear(symbols[expression.position], (0,) * num_dims)  # type: ignore[attr-defined]
    a, b = linear(expression.lhs, num_dims, symbols), linear(expression.rhs, num_dims, symbols)
    if a is None or b is None:
        return None
    if expression.kind is AffineBinaryOpKind.Add:
        return Linear(
            a.const + b.const, tuple(x + y for x, y in zip(a.coefficients, b.coefficients, strict=True))
        )
    if expression.kind is AffineBinaryOpKind.Mul and (a.is_constant or b.is_constant):
        factor, form = (a.const, b) if a.is_constant else (b.const, a)
        return Linear(factor * form.const, tuple(factor * c for c in form.coefficients))
    if not (a.is_constant and b.is_constant):
        return None
    return Linear(int(evaluate(expression, (0,) * num_dims, symbols)), (0,) * num_dims)


def box(points: AffineSet, symbols: Sequence[int] = ()) -> tuple[Bounds, ...] | None:
    """The set as one interval per dim, None when a constraint couples dims or is not linear.

    An empty set has a dim whose highest value is below its lowest.
    """
    low: list[int | None] = [None] * points.num_dims
    high: list[int | None] = [None] * points.num_dims
    for constraint in points.constraints:
        is_zero = isinstance(constraint.rhs, AffineConstantExpr) and constraint.rhs.value == 0
        difference = constraint.lhs if is_zero else constraint.lhs - constraint.rhs
        form = linear(difference, points.num_dims, symbols)
        if form is None:
            return None
        dims, signs = form.dims, _SIGNS[constraint.kind]
        if len(dims) > 1:
            return None
        if not dims:
            if not all(sign * form.const >= 0 for sign in signs):
                return tuple((0, -1) for _ in range(points.num_dims))
            continue
        dim = dims[0]
        for sign in signs:
            factor, const = sign * form.coefficients[dim], sign * form.const
            if factor > 0:
                bound = -(const // factor)
                low[dim] = bound if low[dim] is None else max(low[dim], bound)  # type: ignore[type-var]
            else:
                bound = const // -factor
                high[dim] = bound if high[dim] is None else min(high[dim], bound)  # type: ignore[type-var]
    return tuple(zip(low, high, strict=True))


def contains(points: AffineSet, dims: Sequence[Any], symbols: Sequence[int] = ()) -> Any:
    """Whether each point is in the set (an array that broadcasts against `dims`, or a bool)."""
    inside: Any = True
    for constraint in points.constraints:
        value = evaluate(constraint.lhs, dims, symbols) - evaluate(constraint.rhs, dims, symbols)
        for sign in _SIGNS[constraint.kind]:
            inside = inside & (sign * value >= 0)
    return inside


def permutation(results: Sequence[AffineExpr]) -> tuple[int, ...] | None:
    """The dims the results are, when every dim is exactly one of them."""
    dims = tuple(e.position if isinstance(e, AffineDimExpr) else -1 for e in results)
    return dims if sorted(dims) == list(range(len(dims))) else None
