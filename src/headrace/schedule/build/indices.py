"""Index values while KTDF is built: constants plus multiples of SSA values, turned into subscripts at the
end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from headrace.schedule.build import mlir


@dataclass(frozen=True)
class Index:
    """const + sum of factor x value over SSA values of type index."""

    const: int = 0
    terms: tuple[tuple[SSAValue, int], ...] = ()

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.const + other, self.terms) if other else self
        if not other.terms or not self.terms:
            return Index(self.const + other.const, self.terms or other.terms)
        factors = dict(self.terms)
        for value, factor in other.terms:
            factors[value] = factors.get(value, 0) + factor
        return Index(self.const + other.const, tuple((v, f) for v, f in factors.items() if f))

    def __floordiv__(self, divisor: int) -> Index:
        """The quotient of a multiple of `divisor`, whatever the values are."""
        assert not any(n % divisor for n in (self.const, *(f for _, f in self.terms)))
        return Index(self.const // divisor, tuple((v, f // divisor) for v, f in self.terms))

    def __mul__(self, factor: int) -> Index:
        return Index(self.const * factor, tuple((v, f * factor) for v, f in self.terms if factor))


def of(value: SSAValue) -> Index:
    """Return the index that is one SSA value."""
    return Index(0, ((value, 1),))


def subscripts(indices: Sequence[Index]) -> tuple[list[SSAValue], Any]:
    """Return the operands and the affine map attribute of a list of subscripts."""
    operands: dict[SSAValue, int] = {}
    rows = []
    for index in indices:
        factors = [(operands.setdefault(value, len(operands)), factor) for value, factor in index.terms]
        rows.append((index.const, tuple(factors)))
    return [*operands], _subscript_map(len(operands), tuple(rows))


@cache
def _subscript_map(dims: int, rows: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]) -> Any:
    """The map of subscripts, each a constant and factors of dims."""
    results = []
    for const, factors in rows:
        expr = None
        for position, factor in factors:
            dim = AffineExpr.dimension(position)
            term = dim if factor == 1 else dim * AffineExpr.constant(factor)
            expr = term if expr is None else expr + term
        if expr is None:
            expr = AffineExpr.constant(const)
        elif const:
            expr = expr + AffineExpr.constant(const)
        results.append(expr)
    return mlir.affine_map(dims, *results)
