"""Integer sets and time maps of composite ops as extents and steps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.programs.values import Unverifiable


@lru_cache(maxsize=4096)
def slope(attr: Any, dim: int, symbols: tuple[int, ...]) -> tuple[int, ...]:
    """How one step along a time dim moves each subscript."""
    amap = attr.data
    given = list(symbols)[: amap.num_symbols]
    zero = amap.eval([0] * amap.num_dims, given)
    one = amap.eval([int(k == dim) for k in range(amap.num_dims)], given)
    return tuple(b - a for a, b in zip(zero, one, strict=True))


def box_extents(attr: Any, symbols: tuple[int, ...], op: Any) -> tuple[int, ...]:
    """Return the extents of a set 0 <= d_k < n_k, which is the only form the checker follows."""
    found = _extents(attr, symbols)
    if found is None:
        raise Unverifiable(Diagnostic("a set is no box", location(op), op.name, severity="warning"))
    return found


@lru_cache(maxsize=4096)
def _extents(attr: Any, symbols: tuple[int, ...]) -> tuple[int, ...] | None:
    found = attr.data
    given = list(symbols)[: found.num_symbols]
    rank = found.num_dims
    extents: list[int | None] = [None] * rank
    for c in found.constraints:
        base = c.lhs.eval([0] * rank, given)
        slopes = [c.lhs.eval([int(d == k) for d in range(rank)], given) - base for k in range(rank)]
        moving = [k for k, slope in enumerate(slopes) if slope]
        if len(moving) > 1 or (not moving and base < 0):
            return None
        for k in moving:
            if c.kind.name == "eq":
                extents[k] = 1
            elif slopes[k] < 0:
                limit = base // -slopes[k] + 1
                known = extents[k]
                extents[k] = limit if known is None else min(known, limit)
    return tuple(max(0, e) if e is not None else 1 for e in extents)


@lru_cache(maxsize=4096)
def moduli(attribute: Any) -> tuple[int, ...] | None:
    """The constants that an affine map divides and takes remainders by; None if it multiplies or divides by
    what it is given.
    """
    found = [_moduli(result) for result in attribute.data.results]
    return None if any(m is None for m in found) else tuple(m for one in found for m in one or ())


def _moduli(expression: Any) -> list[int] | None:
    if not isinstance(expression, AffineBinaryOpExpr):
        return []
    left, right = _moduli(expression.lhs), _moduli(expression.rhs)
    if left is None or right is None:
        return None
    constants = [e.value for e in (expression.lhs, expression.rhs) if isinstance(e, AffineConstantExpr)]
    if expression.kind is AffineBinaryOpKind.Add:
        return [*left, *right]
    if expression.kind is AffineBinaryOpKind.Mul:
        return [*left, *right] if constants else None
    if not isinstance(expression.rhs, AffineConstantExpr):
        return None
    return [*left, *right, expression.rhs.value]
