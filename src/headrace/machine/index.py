"""Integer expressions of a decoded program, evaluated on ints or on arrays over instances.

Every address, loop bound, peer and condition of an `Image` is an `Index`: a sum of coefficient x atom. Its
symbols are slots of one flat environment (a list): loop variables, per-instance constants, run-time arguments
and values loaded from memory. An entry may be an int or an int64 array with one number per instance; NumPy
broadcasting does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

Role = Literal["iv", "table", "argument", "carried", "loaded", "coordinate"]
Operation = Literal[
    "mul", "floordiv", "ceildiv", "mod", "divsi", "remsi", "min", "max", "eq", "ne", "lt", "le", "gt", "ge"
]
COMPARISONS: dict[str, str] = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True)
class Symbol:
    """One slot of the environment; `low` and `high` (inclusive) bound its value where decode knows them."""

    slot: int
    role: Role
    name: str = field(compare=False)
    low: int | None = None
    high: int | None = None

    def __str__(self) -> str:
        """Source over the environment; a symbol that has no slot yet cannot be evaluated."""
        return f"v[{self.slot}]" if self.slot >= 0 else f"v['{self.name}']"


@dataclass(frozen=True)
class Apply:
    """An operation that is not linear: `left op right`, comparisons giving 0 or 1."""

    op: Operation
    left: Index
    right: Index

    @cached_property
    def source(self) -> str:
        """Python source over the environment `v`."""
        a, b = self.left.source, self.right.source
        match self.op:
            case "mul":
                return f"(({a}) * ({b}))"
            case "floordiv":
                return f"(({a}) // ({b}))"
            case "ceildiv":
                return f"(-(-({a}) // ({b})))"
            case "mod":
                return f"(({a}) % ({b}))"
            case "min" | "max" | "divsi" | "remsi":
                return f"{self.op}_({a}, {b})"
            case _:
                return f"((({a}) {COMPARISONS[self.op]} ({b})) * 1)"  # NumPy's truth values do not add up

    def __str__(self) -> str:
        return self.source


Atom = Symbol | Apply


@dataclass(frozen=True)
class Index:
    """const + the sum of coefficient x atom; terms are sorted, unique and not zero."""

    const: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    # ---- building ------------------------------------------------------------------------------------------
    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.const + other, self.terms)
        if not other.terms:
            return Index(self.const + other.const, self.terms)
        if not self.terms:
            return Index(self.const + other.const, other.terms)
        return _collect(self.const + other.const, (*self.terms, *other.terms))

    def __mul__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            if other == 0:
                return Index()
            return Index(self.const * other, tuple((a, c * other) for a, c in self.terms))
        if not other.terms:
            return self * other.const
        if not self.terms:
            return other * self.const
        return of(Apply("mul", self, other))

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Index | int) -> Index:
        return self + (-other)

    def __floordiv__(self, other: Index | int) -> Index:
        return _divide("floordiv", self, constant(other))

    def __mod__(self, other: Index | int) -> Index:
        return _divide("mod", self, constant(other))

    def apply(self, op: Operation, other: Index | int) -> Index:
        """This index `op` another one, folded where both are constants or the ranges decide."""
        other = constant(other)
        match op:
            case "mul":
                return self * other
            case "floordiv" | "mod":
                return _divide(op, self, other)
            case "divsi" | "remsi" if self.low is not None and self.low >= 0 and other.is_positive:
                return _divide("floordiv" if op == "divsi" else "mod", self, other)
        if not self.terms and not other.terms:
            return Index(int(_function(Apply(op, self, other).source)([])))
        if op in ("min", "max"):
            return _extremum(op, self, other)
        return of(Apply(op, self, other))

    # ---- asking --------------------------------------------------------------------------------------------
    @property
    def constant(self) -> int | None:
        """The value if it is known now, else None."""
        return None if self.terms else self.const

    @property
    def is_positive(self) -> bool:
        return self.low is not None and self.low > 0

    @cached_property
    def low(self) -> int | None:
        """The least value by the ranges of the symbols, or None if unknown."""
        return _bound(self, lower=True)

    @cached_property
    def high(self) -> int | None:
        """The greatest value by the ranges of the symbols, or None if unknown."""
        return _bound(self, lower=False)

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """Every symbol that occurs anywhere inside."""
        found: set[Symbol] = set()
        for atom, _ in self.terms:
            if isinstance(atom, Symbol):
                found.add(atom)
            else:
                found |= atom.left.symbols | atom.right.symbols
        return frozenset(found)

    def split(self, symbol: Symbol) -> tuple[int, Index] | None:
        """(coefficient, rest) with self = coefficient x symbol + rest and rest free of it; None if not
        linear in it.
        """
        coefficient = 0
        rest = []
        for atom, c in self.terms:
            if atom == symbol:
                coefficient = c
            elif isinstance(atom, Apply) and symbol in atom.left.symbols | atom.right.symbols:
                return None
            else:
                rest.append((atom, c))
        return coefficient, Index(self.const, tuple(rest))

    def replace(self, bindings: dict[Symbol, Index]) -> Index:
        """The same expression with symbols replaced, simplified again."""
        if not self.terms or not (self.symbols & bindings.keys()):
            return self
        out = Index(self.const)
        for atom, c in self.terms:
            if isinstance(atom, Symbol):
                out = out + bindings.get(atom, of(atom)) * c
            else:
                out = out + atom.left.replace(bindings).apply(atom.op, atom.right.replace(bindings)) * c
        return out

    # ---- evaluating ----------------------------------------------------------------------------------------
    @cached_property
    def source(self) -> str:
        """Python source over the environment `v`."""
        parts = [f"{a}" if c == 1 else f"{a}*{c}" for a, c in self.terms]
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)

    @cached_property
    def evaluate(self) -> Callable[[Sequence[Any]], Any]:
        """A function of the environment: int if all its symbols are ints there, else an int64 array."""
        if not self.terms:
            value = self.const
            return lambda v: value
        atom, factor = self.terms[0]
        if isinstance(atom, Symbol) and atom.slot >= 0 and (len(self.terms), factor, self.const) == (1, 1, 0):
            slot = atom.slot
            return lambda v: v[slot]
        return _function(self.source)

    def __str__(self) -> str:
        return self.source


def constant(value: Index | int) -> Index:
    """`value` as an Index."""
    return value if isinstance(value, Index) else Index(int(value))


def of(atom: Atom) -> Index:
    """The index that is just this atom."""
    return Index(0, ((atom, 1),))


def _collect(const: int, terms: Sequence[tuple[Atom, int]]) -> Index:
    sums: dict[Atom, int] = {}
    for atom, c in terms:
        sums[atom] = sums.get(atom, 0) + c
    kept = sorted(((a, c) for a, c in sums.items() if c), key=lambda t: str(t[0]))
    return Index(const, tuple(kept))


def _divide(op: Literal["floordiv", "mod"], a: Index, b: Index) -> Index:
    """Floor division or its remainder; multiples of a constant divisor are split off."""
    k = b.constant
    if k is None or k <= 0:
        if not a.terms and k is not None and k < 0:
            return Index(a.const // k if op == "floordiv" else a.const % k)
        return of(Apply(op, a, b))
    whole = Index(a.const // k, tuple((t, c // k) for t, c in a.terms if c % k == 0))
    rest = Index(a.const % k, tuple((t, c) for t, c in a.terms if c % k))
    if rest.low is not None and rest.high is not None and rest.low // k == rest.high // k:
        step = rest.low // k
        return whole + step if op == "floordiv" else rest - step * k
    left = of(Apply(op, rest, b))
    return whole + left if op == "floordiv" else left


def _extremum(op: Literal["min", "max"], a: Index, b: Index) -> Index:
    difference = a - b
    low, high = difference.low, difference.high
    if high is not None and high <= 0:
        return a if op == "min" else b
    if low is not None and low >= 0:
        return b if op == "min" else a
    return of(Apply(op, a, b))


def _bound(index: Index, *, lower: bool) -> int | None:
    total = index.const
    for atom, c in index.terms:
        low, high = _range(atom)
        end = low if lower == (c > 0) else high
        if end is None:
            return None
        total += c * end
    return total


def _range(atom: Atom) -> tuple[int | None, int | None]:
    """The least and the greatest value of an atom, None where unknown."""
    if isinstance(atom, Symbol):
        return atom.low, atom.high
    a, b = atom.left, atom.right
    match atom.op:
        case "mod" if b.is_positive:
            return 0, None if b.high is None else b.high - 1
        case "floordiv" if (k := b.constant) is not None and k > 0:
            return None if a.low is None else a.low // k, None if a.high is None else a.high // k
        case "min":
            highs = [h for h in (a.high, b.high) if h is not None]
            lows = (a.low, b.low)
            return None if None in lows else min(x for x in lows if x is not None), min(highs, default=None)
        case "max":
            lows_known = [l for l in (a.low, b.low) if l is not None]
            ends = (a.high, b.high)
            return max(lows_known, default=None), None if None in ends else max(
                x for x in ends if x is not None
            )
        case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
            return 0, 1
    return None, None


def _min(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b)


def _max(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else max(a, b)


def _divsi(a: Any, b: Any) -> Any:
    """Division that rounds toward zero."""
    quotient = abs(a) // abs(b)
    return (
        np.where((a < 0) != (b < 0), -quotient, quotient)
        if isinstance(quotient, np.ndarray)
        else (-quotient if (a < 0) != (b < 0) else quotient)
    )


def _remsi(a: Any, b: Any) -> Any:
    return a - _divsi(a, b) * b


_NAMES = {"min_": _min, "max_": _max, "divsi_": _divsi, "remsi_": _remsi}


@lru_cache(maxsize=65536)
def _function(source: str) -> Callable[[Sequence[Any]], Any]:
    """The source is ours, made from slots and integers only."""
    return eval(f"lambda v: {source}", dict(_NAMES))  # type: ignore[no-any-return]
