"""Index expressions: linear in tile ids, loop counters and index arguments, with constant coefficients."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Union

from headrace.runtime.ktir.code import Code, Range
from headrace.runtime.ktir.errors import wrong

if TYPE_CHECKING:
    from headrace.runtime.ktir.values import Value

IndexLike = Union[int, "Index"]
_CONSTANT: dict[str, Callable[[int, int], int]] = {
    "arith.floordivsi": operator.floordiv,
    "arith.remsi": operator.mod,
    "arith.minsi": min,
    "arith.maxsi": max,
}


@dataclass(frozen=True, eq=False)
class Index:
    """`sum(coefficient * name) + constant`; `block` is where it was made, and where it can be used."""

    code: Code
    terms: Mapping[str, int] = field(default_factory=dict)
    constant: int = 0
    block: int = 0

    def __add__(self, other: IndexLike) -> Index:
        b = self._lift(other)
        terms = dict(self.terms)
        for name, factor in b.terms.items():
            terms[name] = terms.get(name, 0) + factor
        terms = {name: factor for name, factor in terms.items() if factor}
        return Index(self.code, terms, self.constant + b.constant, max(self.block, b.block))

    def __mul__(self, other: IndexLike) -> Index:
        b = self._lift(other)
        if self.terms and b.terms:
            return self._opaque(b, "arith.muli")
        a, factor = (b, self.constant) if not self.terms else (self, b.constant)
        terms = {name: f * factor for name, f in a.terms.items() if factor}
        return Index(self.code, terms, a.constant * factor, max(self.block, b.block))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: IndexLike) -> Index:
        return self + self._lift(other) * -1

    def __rsub__(self, other: IndexLike) -> Index:
        return self * -1 + other

    def __floordiv__(self, other: IndexLike) -> Index:
        return self._divide(other, "arith.floordivsi")

    def __mod__(self, other: IndexLike) -> Index:
        """Of operands that are not negative, as addresses are."""
        return self._divide(other, "arith.remsi")

    def minimum(self, other: IndexLike) -> Index:
        """The smaller of the two."""
        return self._opaque(self._lift(other), "arith.minsi")

    def maximum(self, other: IndexLike) -> Index:
        """The larger of the two."""
        return self._opaque(self._lift(other), "arith.maxsi")

    def __lt__(self, other: IndexLike) -> Value:
        return self._compare(other, "slt")

    def __le__(self, other: IndexLike) -> Value:
        return self._compare(other, "sle")

    def __gt__(self, other: IndexLike) -> Value:
        return self._compare(other, "sgt")

    def __ge__(self, other: IndexLike) -> Value:
        return self._compare(other, "sge")

    def _compare(self, other: IndexLike, test: str) -> Value:
        """An i1 scalar."""
        from headrace.runtime.ktir.values import Value

        name = self.code.let(f"arith.cmpi {test}, {self.name}, {self._lift(other).name} : index", "c")
        return Value(self.code, name, "i1", None, self.code.block)

    def _divide(self, other: IndexLike, op: str) -> Index:
        b = self._lift(other)
        if not b.terms and b.constant < 1:
            raise wrong(f"division of an index by {b.constant}", "divide by a positive number")
        return self._opaque(b, op)

    def _opaque(self, other: Index, op: str) -> Index:
        """The result of an op that is not linear: a name of its own."""
        code = self.code
        if not self.terms and not other.terms:
            return Index(code, {}, _CONSTANT[op](self.constant, other.constant))
        name = code.let(f"{op} {self.name}, {other.name} : index", "i")
        known = _range(op, self.range, other.range)
        if known is not None:
            code.ranges[name] = known
        return Index(code, {name: 1}, 0, code.block)

    def _lift(self, other: IndexLike) -> Index:
        if isinstance(other, Index):
            return other
        if isinstance(other, bool) or not isinstance(other, Integral):
            raise wrong(f"an index with {type(other).__name__}", "indices compute with int and index values")
        return Index(self.code, {}, int(other))

    @property
    def name(self) -> str:
        """The SSA name of the value, computed here if it is no name yet."""
        if not self.terms:
            return self.code.constant(self.constant, "index")
        self.require_open()
        if len(self.terms) == 1 and not self.constant and next(iter(self.terms.values())) == 1:
            return next(iter(self.terms))
        dims = ", ".join(f"d{k}" for k in range(len(self.terms)))
        text = linear([(f"d{k}", f) for k, f in enumerate(self.terms.values())], self.constant)
        return self.code.let(f"affine.apply affine_map<({dims}) -> ({text})>({', '.join(self.terms)})", "i")

    @property
    def text(self) -> str:
        """The expression as a subscript."""
        self.require_open()
        return linear(list(self.terms.items()), self.constant)

    @property
    def range(self) -> Range | None:
        """The least and the largest value, None when not known."""
        low = high = self.constant
        for name, factor in self.terms.items():
            known = self.code.ranges.get(name)
            if known is None:
                return None
            ends = (known[0] * factor, known[1] * factor)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def require_open(self) -> None:
        """HeadraceError when the block that defines the value is closed."""
        if self.block not in self.code.open_blocks:
            raise wrong("an index is used outside the loop that defines it")


def linear(terms: list[tuple[str, int]], constant: int) -> str:
    """`%a * 8 + %b + 4` as text."""
    parts = [name if factor == 1 else f"{name} * {factor}" for name, factor in terms]
    if constant or not parts:
        parts.append(str(constant))
    return " + ".join(parts).replace("+ -", "- ")


def _range(op: str, a: Range | None, b: Range | None) -> Range | None:
    if a is None or b is None or (op in ("arith.floordivsi", "arith.remsi") and (a[0] < 0 or b[0] < 1)):
        return None
    match op:
        case "arith.muli":
            ends = [x * y for x in a for y in b]
            return min(ends), max(ends)
        case "arith.floordivsi":
            return a[0] // b[1], a[1] // b[0]
        case "arith.remsi":
            return 0, min(a[1], b[1] - 1)
        case "arith.minsi":
            return min(a[0], b[0]), min(a[1], b[1])
        case _:
            return max(a[0], b[0]), max(a[1], b[1])
