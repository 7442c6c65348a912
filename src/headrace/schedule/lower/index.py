"""Index values as linear forms over loop variables and arguments, with numbers that may differ by unit
instance.

A class of cores runs one control tree. What depends only on the core and corelet number is evaluated here to
one number an instance (`Table`), so it ends as a constant or as one map; what depends on loops stays
symbolic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat

Table = tuple[int, ...]
"""One integer for each (core, corelet) of the class, corelets fastest; as many as repeat, if they do."""

Number = int | Table


@dataclass(frozen=True)
class Var:
    """A loop variable or an `index` argument of the function; names are unique in a class."""

    name: str
    is_argument: bool = False


@dataclass(frozen=True)
class Term:
    """What no linear form holds: "floordiv", "ceildiv", "mod", "min", "max" or "mul" of two forms."""

    op: str
    left: Expr
    right: Expr


Atom = Var | Term


@dataclass(frozen=True)
class Expr:
    """const + sum of coefficient x atom, atoms in order of first appearance."""

    const: Number = 0
    terms: tuple[tuple[Atom, Number], ...] = ()

    @property
    def is_number(self) -> bool:
        """True if it is known for every instance."""
        return not self.terms

    def __add__(self, other: Expr | int) -> Expr:
        return _sum(self, other if isinstance(other, Expr) else Expr(other))

    def __sub__(self, other: Expr | int) -> Expr:
        return _difference(self, other if isinstance(other, Expr) else Expr(other))

    def scaled(self, factor: Number) -> Expr:
        """Return the form times a number."""
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        scaled = tuple((atom, times(c, factor)) for atom, c in self.terms)
        return Expr(times(self.const, factor), scaled)


ZERO = Expr(0)
ONE = Expr(1)


def variable(name: str, *, is_argument: bool = False) -> Expr:
    """Return the form of one variable."""
    return Expr(0, ((Var(name, is_argument), 1),))


def zip_numbers(op: Callable[[int, int], int], a: Number, b: Number) -> Number:
    """Return op applied instance by instance."""
    if isinstance(a, int):
        return op(a, b) if isinstance(b, int) else collapse(tuple(map(op, repeat(a), b)))
    if isinstance(b, int):
        return collapse(tuple(map(op, a, repeat(b))))
    count = max(len(a), len(b))
    return collapse(tuple(map(op, repeated(a, count), repeated(b, count))))


def repeated(number: Number, count: int) -> Table:
    """Return the numbers of so many instances."""
    table = entries(number)
    return table if len(table) == count else table * (count // len(table))


PERIODS = (2, 4)
"""After how many instances the numbers of a table may begin again: corelets are alike on all cores."""


def collapse(table: Table) -> Number:
    """Return the one number of a table of equal numbers, or the table, once where it repeats."""
    count, first = len(table), table[0]
    if table.count(first) == count:
        return first
    for period in PERIODS:
        if count > period and count % period == 0 and table[:period] * (count // period) == table:
            return table[:period]
    return table


def plus(a: Number, b: Number) -> Number:
    """Return a + b."""
    return a + b if isinstance(a, int) and isinstance(b, int) else zip_numbers(operator.add, a, b)


def minus(a: Number, b: Number) -> Number:
    """Return a - b."""
    return a - b if isinstance(a, int) and isinstance(b, int) else zip_numbers(operator.sub, a, b)


def times(a: Number, b: Number) -> Number:
    """Return a * b."""
    return a * b if isinstance(a, int) and isinstance(b, int) else zip_numbers(operator.mul, a, b)


def entries(number: Number) -> Table:
    """Return the distinct possibilities of a number: the table itself, or the one value."""
    return (number,) if isinstance(number, int) else number


def _sum(a: Expr, b: Expr) -> Expr:
    const = plus(a.const, b.const)
    if not b.terms:
        return Expr(const, a.terms)
    found: dict[Atom, Number] = dict(a.terms)
    for atom, c in b.terms:
        found[atom] = plus(found[atom], c) if atom in found else c
    return Expr(const, tuple((atom, c) for atom, c in found.items() if c != 0))


def _difference(a: Expr, b: Expr) -> Expr:
    const = minus(a.const, b.const)
    if a.terms == b.terms:
        return Expr(const)
    found: dict[Atom, Number] = dict(a.terms)
    for atom, c in b.terms:
        found[atom] = minus(found.get(atom, 0), c)
    return Expr(const, tuple((atom, c) for atom, c in found.items() if c != 0))


NUMERIC: Mapping[str, Callable[[int, int], int]] = {
    "floordiv": operator.floordiv,
    "ceildiv": lambda x, y: -(-x // y),
    "mod": operator.mod,
    "min": min,
    "max": max,
    "mul": operator.mul,
    "truncdiv": lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
    "rem": lambda x, y: x - y * (abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)),
}


def combine(op: str, a: Expr, b: Expr) -> Expr:
    """Return op(a, b) for an op of `NUMERIC`; division and remainder of unknowns assume values >= 0."""
    if a.is_number and b.is_number:
        return Expr(zip_numbers(NUMERIC[op], a.const, b.const))
    if op == "mul":
        if a.is_number:
            return b.scaled(a.const)
        return a.scaled(b.const) if b.is_number else _term("mul", a, b)
    if op in ("truncdiv", "rem"):
        op = "floordiv" if op == "truncdiv" else "mod"
    if op in ("floordiv", "mod") and isinstance(b.const, int) and b.is_number and b.const > 0:
        return _divide(op, a, b.const)
    if op in ("min", "max") and a == b:
        return a
    return _term(op, a, b)


def _divide(op: str, a: Expr, divisor: int) -> Expr:
    """Return a floordiv/mod divisor with the multiples of the divisor taken out."""
    if divisor == 1:
        return a if op == "floordiv" else ZERO
    whole = [(t, c) for t, c in a.terms if all(x % divisor == 0 for x in entries(c))]
    rest = Expr(a.const, tuple(t for t in a.terms if t not in whole))
    quotient = Expr(0, tuple((t, zip_numbers(NUMERIC["floordiv"], c, divisor)) for t, c in whole))
    if rest.is_number:
        part = Expr(zip_numbers(NUMERIC[op], rest.const, divisor))
    else:
        part = _term(op, rest, Expr(divisor))
    return quotient + part if op == "floordiv" else part


def _term(op: str, a: Expr, b: Expr) -> Expr:
    return Expr(0, ((Term(op, a, b), 1),))


def variables(expr: Expr) -> set[Var]:
    """Return every variable the form depends on."""
    found: set[Var] = set()
    for atom, _ in expr.terms:
        if isinstance(atom, Var):
            found.add(atom)
        else:
            found |= variables(atom.left) | variables(atom.right)
    return found


def substitute(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Return the form with variables replaced."""
    if not expr.terms or not values:
        return expr
    result = Expr(expr.const)
    for atom, c in expr.terms:
        if isinstance(atom, Var):
            part = values.get(atom) or Expr(0, ((atom, 1),))
        else:
            part = combine(atom.op, substitute(atom.left, values), substitute(atom.right, values))
        result = result + part.scaled(c)
    return result


Bounds = Mapping[Var, tuple[int, int]]


def interval(expr: Expr, bounds: Bounds) -> tuple[int, int] | None:
    """Return (lowest, highest) value over all instances and variables within `bounds`; None if unbounded."""
    values = entries(expr.const)
    low, high = min(values), max(values)
    for atom, c in expr.terms:
        span = bounds.get(atom) if isinstance(atom, Var) else _term_interval(atom, bounds)
        if span is None:
            return None
        ends = [x * e for x in entries(c) for e in span]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _term_interval(term: Term, bounds: Bounds) -> tuple[int, int] | None:
    left, right = interval(term.left, bounds), interval(term.right, bounds)
    if term.op == "mod" and right is not None:
        return (0, right[1] - 1)
    if left is None or right is None:
        return None
    ends = [
        NUMERIC[term.op](x, y) for x in left for y in right if y or term.op not in ("floordiv", "ceildiv")
    ]
    return (min(ends), max(ends)) if ends else None
