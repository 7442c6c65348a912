"""Quasi-affine integer expressions: sums of coefficient x atom, an atom being a loop variable, a floordiv
or a mod.

Everything is exact: an expression is rewritten only where the ranges of its variables prove it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

Range = tuple[int, int]
ANY: Range = (-(2**40), 2**40)


class NotQuasiAffine(Exception):
    """The text is no quasi-affine expression with constant coefficients."""


@dataclass(frozen=True)
class Floor:
    """inner floordiv divisor."""

    inner: Quasi
    divisor: int


@dataclass(frozen=True)
class Mod:
    """inner mod divisor, in [0, divisor)."""

    inner: Quasi
    divisor: int


@dataclass(frozen=True)
class Call:
    """abs, min or max of expressions."""

    name: str
    arguments: tuple[Quasi, ...]


Atom = str | Floor | Mod | Call


@dataclass(frozen=True)
class Quasi:
    """const + the sum of coefficient x atom; `terms` sorted, without zero coefficients (use `quasi` to
    make one).
    """

    terms: tuple[tuple[Atom, int], ...] = ()
    const: int = 0

    def __add__(self, other: Quasi) -> Quasi:
        total = dict(self.terms)
        for atom, factor in other.terms:
            total[atom] = total.get(atom, 0) + factor
        return quasi(total, self.const + other.const)

    def __sub__(self, other: Quasi) -> Quasi:
        return self + other.times(-1)

    def times(self, factor: int) -> Quasi:
        """The expression multiplied by a constant."""
        return quasi({atom: k * factor for atom, k in self.terms}, self.const * factor)

    def plus(self, number: int) -> Quasi:
        """The expression plus a constant."""
        return Quasi(self.terms, self.const + number)

    @property
    def is_affine(self) -> bool:
        """True without floordiv and mod."""
        return all(isinstance(atom, str) for atom, _ in self.terms)

    @property
    def variables(self) -> frozenset[str]:
        """Every variable, also inside floordiv and mod."""
        return _variables(self)

    def coefficient(self, name: str) -> int:
        """The coefficient of a plain variable, 0 without it."""
        return dict(self.terms).get(name, 0)

    def renamed(self, names: Mapping[str, str]) -> Quasi:
        """The expression with variables renamed."""
        return substitute(self, {old: variable(new) for old, new in names.items()}, {})


@lru_cache(maxsize=65536)
def _variables(e: Quasi) -> frozenset[str]:
    found: set[str] = set()
    for atom, _ in e.terms:
        match atom:
            case str():
                found.add(atom)
            case Call(_, arguments):
                found.update(*(x.variables for x in arguments))
            case Floor(inner, _) | Mod(inner, _):
                found |= inner.variables
    return frozenset(found)


def quasi(terms: Mapping[Atom, int], const: int = 0) -> Quasi:
    """The canonical expression of these terms."""
    kept = [(atom, factor) for atom, factor in terms.items() if factor]
    return Quasi(tuple(sorted(kept, key=lambda term: repr(term[0]))), const)


def variable(name: str) -> Quasi:
    """The expression that is one variable."""
    return Quasi(((name, 1),))


def constant(value: int) -> Quasi:
    """A constant expression."""
    return Quasi((), value)


def interval(e: Quasi, ranges: Mapping[str, Range]) -> Range:
    """Bounds (inclusive) of the expression over the ranges; exact for affine ones."""
    low = high = e.const
    for atom, factor in e.terms:
        a, b = _atom_range(atom, ranges)
        low += min(factor * a, factor * b)
        high += max(factor * a, factor * b)
    return low, high


def floordiv(e: Quasi, divisor: int, ranges: Mapping[str, Range]) -> Quasi:
    """e floordiv divisor, resolved where the ranges allow it."""
    if divisor == 1:
        return e
    parts = _range_split(e, divisor, ranges)
    if parts:
        return parts[0]
    if not e.const and len(e.terms) == 1 and e.terms[0][1] == 1 and isinstance(e.terms[0][0], Floor):
        atom = e.terms[0][0]
        return floordiv(atom.inner, atom.divisor * divisor, ranges)
    whole, rest = _divide(e, divisor)
    common = math.gcd(divisor, *(abs(factor) for _, factor in rest.terms))
    if common > 1:
        reduced = quasi({atom: factor // common for atom, factor in rest.terms}, rest.const // common)
        return whole + floordiv(reduced, divisor // common, ranges)
    return whole + Quasi(((Floor(rest, divisor), 1),))


def modulo(e: Quasi, divisor: int, ranges: Mapping[str, Range]) -> Quasi:
    """e mod divisor, resolved where the ranges allow it."""
    if divisor == 1:
        return constant(0)
    parts = _range_split(e, divisor, ranges)
    if parts:
        return parts[1]
    _, rest = _divide(e, divisor)
    parts = _range_split(rest, divisor, ranges)
    return parts[1] if parts else Quasi(((Mod(rest, divisor), 1),))


def substitute(e: Quasi, values: Mapping[str, Quasi], ranges: Mapping[str, Range]) -> Quasi:
    """The expression with variables replaced; floordiv and mod are resolved again with `ranges`."""
    total = constant(e.const)
    for atom, factor in e.terms:
        match atom:
            case str():
                part = values.get(atom, variable(atom))
            case Floor(inner, divisor):
                part = floordiv(substitute(inner, values, ranges), divisor, ranges)
            case Mod(inner, divisor):
                part = modulo(substitute(inner, values, ranges), divisor, ranges)
            case Call(name, arguments):
                part = call(name, [substitute(x, values, ranges) for x in arguments], ranges)
        total = total + part.times(factor)
    return total


def call(name: str, arguments: Sequence[Quasi], ranges: Mapping[str, Range]) -> Quasi:
    """abs, min or max of expressions, resolved where the ranges decide it."""
    bounds = [interval(e, ranges) for e in arguments]
    if name == "abs":
        low, high = bounds[0]
        if low >= 0 or high <= 0:
            return arguments[0] if low >= 0 else arguments[0].times(-1)
    for k, e in enumerate(arguments):
        others = [b for n, b in enumerate(bounds) if n != k]
        if name == "min" and all(bounds[k][1] <= low for low, _ in others):
            return e
        if name == "max" and all(bounds[k][0] >= high for _, high in others):
            return e
    return Quasi(((Call(name, tuple(arguments)), 1),))


def parse(text: str, ranges: Mapping[str, Range], values: Mapping[str, Quasi]) -> Quasi:
    """The expression in a Python text (+ - * // % abs min max, names); NotQuasiAffine for anything else."""
    return _from_tree(ast.parse(str(text), mode="eval").body, ranges, values)


def cut_points(e: Quasi, extents: Mapping[str, int], found: dict[str, set[int]]) -> None:
    """Adds to `found`, per variable, the factors at which splitting it would make the expression affine."""
    for atom, _ in e.terms:
        if isinstance(atom, Call):
            for argument in atom.arguments:
                cut_points(argument, extents, found)
        elif not isinstance(atom, str):
            _wanted(atom.inner, atom.divisor, extents, found)
            cut_points(atom.inner, extents, found)


def _wanted(e: Quasi, divisor: int, extents: Mapping[str, int], found: dict[str, set[int]]) -> None:
    for atom, factor in e.terms:
        if factor <= 0 or divisor % factor:
            continue
        step = divisor // factor
        match atom:
            case str():
                if 1 < step < extents.get(atom, 0) and extents[atom] % step == 0:
                    found.setdefault(atom, set()).add(step)
            case Floor(inner, inner_divisor):
                _wanted(inner, inner_divisor * step, extents, found)
                _wanted(inner, inner_divisor, extents, found)
            case Mod(inner, _):
                _wanted(inner, step, extents, found)


def _from_tree(node: ast.AST, ranges: Mapping[str, Range], values: Mapping[str, Quasi]) -> Quasi:
    match node:
        case ast.Constant(value=int(number)):
            return constant(int(number))
        case ast.Name(id=name):
            return values.get(name, variable(name))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _from_tree(operand, ranges, values).times(-1)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _from_tree(left, ranges, values), _from_tree(right, ranges, values), ranges)
        case ast.Call(func=ast.Name(id="abs" | "min" | "max" as name), args=arguments):
            return call(name, [_from_tree(x, ranges, values) for x in arguments], ranges)
    raise NotQuasiAffine(ast.unparse(node))


def _binary(op: ast.operator, a: Quasi, b: Quasi, ranges: Mapping[str, Range]) -> Quasi:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult() if not a.terms:
            return b.times(a.const)
        case ast.Mult() if not b.terms:
            return a.times(b.const)
        case ast.FloorDiv() if not b.terms and b.const > 0:
            return floordiv(a, b.const, ranges)
        case ast.Mod() if not b.terms and b.const > 0:
            return modulo(a, b.const, ranges)
    raise NotQuasiAffine(f"{type(op).__name__} of two variable expressions")


def _atom_range(atom: Atom, ranges: Mapping[str, Range]) -> Range:
    if isinstance(atom, str):
        return ranges.get(atom, ANY)
    if isinstance(atom, Call):
        bounds = [interval(e, ranges) for e in atom.arguments]
        if atom.name == "abs":
            low, high = bounds[0]
            return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
        pick = min if atom.name == "min" else max
        return pick(low for low, _ in bounds), pick(high for _, high in bounds)
    low, high = interval(atom.inner, ranges)
    if isinstance(atom, Floor):
        return low // atom.divisor, high // atom.divisor
    return (low, high) if low >= 0 and high < atom.divisor else (0, atom.divisor - 1)


def _divide(e: Quasi, divisor: int) -> tuple[Quasi, Quasi]:
    """(Q, R) with e = divisor Q + R and every coefficient of R not a multiple of the divisor, const in
    [0, divisor).
    """
    whole = {atom: factor // divisor for atom, factor in e.terms if factor % divisor == 0}
    rest = {atom: factor for atom, factor in e.terms if factor % divisor}
    return quasi(whole, e.const // divisor), quasi(rest, e.const % divisor)


def _range_split(e: Quasi, divisor: int, ranges: Mapping[str, Range]) -> tuple[Quasi, Quasi] | None:
    """(e floordiv divisor, e mod divisor) when R of `_divide` stays within one multiple of the divisor."""
    whole, rest = _divide(e, divisor)
    low, high = interval(rest, ranges)
    if low // divisor != high // divisor:
        return None
    return whole.plus(low // divisor), rest.plus(-(low // divisor) * divisor)
