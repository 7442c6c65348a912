"""Affine expressions in MLIR's normal form: construction, canonicalisation and text.

`add`, `mul`, `floordiv`, … simplify exactly as MLIR's own constructors do (lib/IR/AffineExpr.cpp), so that
text we print and text the public tools print agree, and printing followed by parsing is the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import gcd

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)
from xdsl.ir.affine import AffineBinaryOpKind as Kind

ZERO = AffineConstantExpr(0)


class NotAffine(ValueError):
    """The expression multiplies or divides by something that is neither constant nor symbolic."""


def _constant(e: AffineExpr) -> int | None:
    return e.value if isinstance(e, AffineConstantExpr) else None


def _is_symbolic(e: AffineExpr) -> bool:
    """True when no dimension occurs in `e` (constants count as symbolic)."""
    if isinstance(e, AffineBinaryOpExpr):
        return _is_symbolic(e.lhs) and _is_symbolic(e.rhs)
    return not isinstance(e, AffineDimExpr)


def _split(e: AffineExpr, kind: Kind) -> tuple[AffineExpr, int] | None:
    """(lhs, c) when `e` is `lhs <kind> c` with a constant c."""
    if isinstance(e, AffineBinaryOpExpr) and e.kind is kind and isinstance(e.rhs, AffineConstantExpr):
        return e.lhs, e.rhs.value
    return None


def largest_divisor(e: AffineExpr) -> int:
    """A number that divides every value of `e` (0 for the constant 0)."""
    if isinstance(e, AffineConstantExpr):
        return abs(int(e.value))
    if not isinstance(e, AffineBinaryOpExpr):
        return 1
    if e.kind is Kind.Mul:
        return largest_divisor(e.lhs) * largest_divisor(e.rhs)
    if e.kind in (Kind.Add, Kind.Mod):
        return gcd(largest_divisor(e.lhs), largest_divisor(e.rhs))
    c = _constant(e.rhs)
    d = largest_divisor(e.lhs)
    return d // c if c and c > 0 and d % c == 0 else 1


def add(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    """a + b, simplified: constants and symbols to the right, equal terms collected, `x - x floordiv c * c`
    = `x mod c`.
    """
    ca, cb = _constant(a), _constant(b)
    if ca is not None and cb is not None:
        return AffineConstantExpr(ca + cb)
    if ca is not None or (_is_symbolic(a) and not _is_symbolic(b)):
        return add(b, a)
    if cb == 0:
        return a
    tail = _split(a, Kind.Add)
    if tail and cb is not None:
        return add(tail[0], AffineConstantExpr(tail[1] + cb))
    first, second = _split(a, Kind.Mul) or (a, 1), _split(b, Kind.Mul) or (b, 1)
    if first[0] == second[0]:
        return mul(first[0], AffineConstantExpr(first[1] + second[1]))
    if tail:
        return add(add(tail[0], b), AffineConstantExpr(tail[1]))
    if isinstance(b, AffineBinaryOpExpr) and b.kind is Kind.Add:  # sums lean left, as they are read
        return add(add(a, b.lhs), b.rhs)
    quotient = _split(second[0], Kind.FloorDiv)
    if quotient and quotient[0] == a and quotient[1] == -second[1] and quotient[1] > 0:
        return mod(a, AffineConstantExpr(quotient[1]))
    return AffineBinaryOpExpr(Kind.Add, a, b)


def mul(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    """a * b; raises NotAffine when neither side is constant or symbolic."""
    ca, cb = _constant(a), _constant(b)
    if ca is not None and cb is not None:
        return AffineConstantExpr(ca * cb)
    if ca is not None or not _is_symbolic(b):
        if not _is_symbolic(a):
            raise NotAffine("one side of a multiplication has to be a constant or a symbol")
        return mul(b, a)
    if cb == 1:
        return a
    if cb == 0:
        return ZERO
    factor = _split(a, Kind.Mul)
    if factor and cb is not None:
        return mul(factor[0], AffineConstantExpr(factor[1] * cb))
    if factor:
        return mul(mul(factor[0], b), AffineConstantExpr(factor[1]))
    return AffineBinaryOpExpr(Kind.Mul, a, b)


def neg(a: AffineExpr) -> AffineExpr:
    return mul(a, AffineConstantExpr(-1))


def sub(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    return add(a, neg(b))


def _divisor(b: AffineExpr, what: str) -> int | None:
    """The constant divisor, None for a symbolic one; raises NotAffine for dimensions and for constants <
    1.
    """
    c = _constant(b)
    if c is None and not _is_symbolic(b):
        raise NotAffine(f"the right side of {what} has to be a constant or a symbol")
    if c is not None and c < 1:
        raise NotAffine(f"the right side of {what} has to be positive, but is {c}")
    return c


def floordiv(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    c, ca = _divisor(b, "floordiv"), _constant(a)
    if c is None:
        return AffineBinaryOpExpr(Kind.FloorDiv, a, b)
    if ca is not None:
        return AffineConstantExpr(ca // c)
    if c == 1:
        return a
    factor = _split(a, Kind.Mul)
    if factor and factor[1] % c == 0:
        return mul(factor[0], AffineConstantExpr(factor[1] // c))
    if isinstance(a, AffineBinaryOpExpr) and a.kind is Kind.Add:
        if largest_divisor(a.lhs) % c == 0 or largest_divisor(a.rhs) % c == 0:
            return add(floordiv(a.lhs, b), floordiv(a.rhs, b))
    return AffineBinaryOpExpr(Kind.FloorDiv, a, b)


def ceildiv(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    c, ca = _divisor(b, "ceildiv"), _constant(a)
    if c is not None:
        if ca is not None:
            return AffineConstantExpr(-(-ca // c))
        if c == 1:
            return a
        factor = _split(a, Kind.Mul)
        if factor and factor[1] % c == 0:
            return mul(factor[0], AffineConstantExpr(factor[1] // c))
    return AffineBinaryOpExpr(Kind.CeilDiv, a, b)


def mod(a: AffineExpr, b: AffineExpr) -> AffineExpr:
    c, ca = _divisor(b, "mod"), _constant(a)
    if c is None:
        return AffineBinaryOpExpr(Kind.Mod, a, b)
    if ca is not None:
        return AffineConstantExpr(ca % c)
    if largest_divisor(a) % c == 0:
        return ZERO
    if isinstance(a, AffineBinaryOpExpr) and a.kind is Kind.Add:
        if largest_divisor(a.lhs) % c == 0:
            return mod(a.rhs, b)
        if largest_divisor(a.rhs) % c == 0:
            return mod(a.lhs, b)
    inner = _split(a, Kind.Mod)
    if inner and inner[1] % c == 0:
        return mod(inner[0], b)
    return AffineBinaryOpExpr(Kind.Mod, a, b)


_BUILD: dict[Kind, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    Kind.Add: add,
    Kind.Mul: mul,
    Kind.FloorDiv: floordiv,
    Kind.CeilDiv: ceildiv,
    Kind.Mod: mod,
}
BY_NAME = {"+": add, "-": sub, "*": mul, "floordiv": floordiv, "ceildiv": ceildiv, "mod": mod}


def canonical(e: AffineExpr) -> AffineExpr:
    """`e` in MLIR's normal form."""
    if isinstance(e, AffineBinaryOpExpr):
        return _BUILD[e.kind](canonical(e.lhs), canonical(e.rhs))
    return e


def canonical_map(m: AffineMap) -> AffineMap:
    return AffineMap(m.num_dims, m.num_symbols, tuple(canonical(e) for e in m.results))


def constraint(kind: AffineConstraintKind, lhs: AffineExpr, rhs: AffineExpr = ZERO) -> AffineConstraintExpr:
    """`lhs - rhs >= 0` or `== 0`; a `<=` is turned round, as MLIR stores only these two."""
    if kind is AffineConstraintKind.le:
        kind, lhs, rhs = AffineConstraintKind.ge, rhs, lhs
    return AffineConstraintExpr(kind, sub(lhs, rhs), ZERO, canonicalize=False)


def canonical_set(s: AffineSet) -> AffineSet:
    """`s` in normal form; the set without constraints holds `0 == 0`."""
    found = tuple(constraint(c.kind, canonical(c.lhs), canonical(c.rhs)) for c in s.constraints)
    return AffineSet(s.num_dims, s.num_symbols, found or (constraint(AffineConstraintKind.eq, ZERO),))


# -- text --------------------------------------------------------------------------------------------------

Leaf = Callable[[AffineExpr], str]
_TOKEN = {Kind.Mul: "*", Kind.Mod: "mod", Kind.FloorDiv: "floordiv", Kind.CeilDiv: "ceildiv"}


def _leaf(e: AffineExpr) -> str:
    return f"d{e.position}" if isinstance(e, AffineDimExpr) else f"s{e.position}"


def expr_text(e: AffineExpr, leaf: Leaf = _leaf, is_operand: bool = False) -> str:
    """MLIR's spelling of `e`: fewest parentheses, `a - b` for `a + b * -1`; `leaf` names dims and symbols."""
    if isinstance(e, AffineConstantExpr):
        return str(e.value)
    if isinstance(e, AffineDimExpr | AffineSymExpr):
        return leaf(e)
    assert isinstance(e, AffineBinaryOpExpr)
    if e.kind is Kind.Add:
        text = _sum_text(e.lhs, e.rhs, leaf)
    elif e.kind is Kind.Mul and e.rhs == AffineConstantExpr(-1):
        text = "-" + expr_text(e.lhs, leaf, True)
    else:
        text = f"{expr_text(e.lhs, leaf, True)} {_TOKEN[e.kind]} {expr_text(e.rhs, leaf, True)}"
    return f"({text})" if is_operand else text


def _sum_text(lhs: AffineExpr, rhs: AffineExpr, leaf: Leaf) -> str:
    left = expr_text(lhs, leaf)
    factor = _split(rhs, Kind.Mul)
    if factor and factor[1] == -1:
        inner = factor[0]
        is_sum = isinstance(inner, AffineBinaryOpExpr) and inner.kind is Kind.Add
        return f"{left} - {expr_text(inner, leaf, is_sum)}"
    if factor and factor[1] < -1:
        return f"{left} - {expr_text(factor[0], leaf, True)} * {-factor[1]}"
    c = _constant(rhs)
    if c is not None and c < 0:
        return f"{left} - {-c}"
    return f"{left} + {expr_text(rhs, leaf)}"


def _space(dims: int, symbols: int) -> str:
    text = "(" + ", ".join(f"d{i}" for i in range(dims)) + ")"
    return text + ("[" + ", ".join(f"s{i}" for i in range(symbols)) + "]" if symbols else "")


@lru_cache(maxsize=4096)
def map_text(m: AffineMap) -> str:
    """`affine_map<(d0) -> (d0 + 1)>`, canonical."""
    results = ", ".join(expr_text(canonical(e)) for e in m.results)
    return f"affine_map<{_space(m.num_dims, m.num_symbols)} -> ({results})>"


@lru_cache(maxsize=4096)
def set_text(s: AffineSet) -> str:
    """`affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>`, canonical."""
    rows = ", ".join(f"{expr_text(c.lhs)} {c.kind.value} 0" for c in canonical_set(s).constraints)
    return f"affine_set<{_space(s.num_dims, s.num_symbols)} : ({rows})>"
