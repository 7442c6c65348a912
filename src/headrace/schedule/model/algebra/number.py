"""Integers of a KTIR function as linear forms: an argument's address + a constant per tile + loop variables.

Tiles of one group are evaluated together: a constant is one `int` for all of them or an int64 array with one
entry a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Const = int | np.ndarray
Ranges = Mapping[str, tuple[Const, Const]]


class NotLinear(Exception):
    """The result is no linear form; `loops` are the loops that would have to be unrolled to know it.

    Where a loop stays on one side of the zero of each of `flips`, the result is known.
    """

    def __init__(self, loops: tuple[str, ...], flips: tuple[Num, ...] = ()) -> None:
        super().__init__(", ".join(loops))
        self.loops, self.flips = loops, flips


def tidy(value: Const) -> Const:
    """The same constant, as an `int` when it is equal for all tiles."""
    if isinstance(value, np.ndarray):
        return int(value.flat[0]) if value.size and (value == value.flat[0]).all() else value
    return int(value)


def same(a: Const, b: Const) -> bool:
    """Whether two constants are equal on every tile."""
    return bool(np.all(np.asarray(a) == np.asarray(b)))


@dataclass(frozen=True)
class Num:
    """`arg` (address of an argument, "" for none) + const + the sum of coefficient x loop variable."""

    const: Const = 0
    terms: Mapping[str, int] = field(default_factory=dict)
    arg: str = ""

    @property
    def is_constant(self) -> bool:
        """No loop variable and no address: a number for every tile."""
        return not self.terms and not self.arg

    @property
    def fixed(self) -> int | None:
        """The value, if it is the same number on every tile of the group."""
        return self.const if self.is_constant and isinstance(self.const, int) else None


def number(const: Const) -> Num:
    """A constant as a `Num`."""
    return Num(tidy(const))


def add(a: Num, b: Num) -> Num:
    """a + b; at most one of them carries an address."""
    if a.arg and b.arg:
        raise NotLinear(())
    terms = dict(a.terms)
    for name, coefficient in b.terms.items():
        terms[name] = terms.get(name, 0) + coefficient
    return Num(tidy(a.const + b.const), {n: c for n, c in terms.items() if c}, a.arg or b.arg)


def scale(a: Num, factor: int) -> Num:
    """a x factor."""
    if a.arg and factor != 1:
        raise NotLinear(())
    return Num(tidy(a.const * factor), {n: c * factor for n, c in a.terms.items() if factor}, a.arg)


def sub(a: Num, b: Num) -> Num:
    """a - b; the difference of two addresses of one argument is a plain number."""
    if a.arg and a.arg == b.arg:
        return sub(Num(a.const, a.terms), Num(b.const, b.terms))
    return add(a, scale(b, -1))


def mul(a: Num, b: Num) -> Num:
    """a x b; one factor is a constant, the same for all tiles where the other has loop variables."""
    if a.is_constant and b.is_constant:
        return number(a.const * b.const)
    for x, y in ((a, b), (b, a)):
        if y.fixed is not None:
            return scale(x, y.fixed)
    raise NotLinear(_loops(a, b))


def bounds(a: Num, ranges: Ranges) -> tuple[Const, Const]:
    """Smallest and largest value of `a` over its loop variables' ranges, per tile; addresses count as 0."""
    low = high = a.const
    for name, c in a.terms.items():
        first, last = ranges[name]
        low, high = low + min(c, 0) * last + max(c, 0) * first, high + max(c, 0) * last + min(c, 0) * first
    return tidy(low), tidy(high)


def floordiv(a: Num, b: Num, ranges: Ranges) -> Num:
    """a // b, rounded to minus infinity."""
    return _divide(a, b, ranges)[0]


def modulo(a: Num, b: Num, ranges: Ranges) -> Num:
    """a mod b, in [0, b) for positive b."""
    return _divide(a, b, ranges)[1]


def _divide(a: Num, b: Num, ranges: Ranges) -> tuple[Num, Num]:
    if not b.is_constant or a.arg:
        raise NotLinear(_loops(a, b))
    if np.any(np.asarray(b.const) == 0):
        raise ZeroDivisionError
    if a.is_constant:
        quotient = np.asarray(a.const) // np.asarray(b.const)
        return number(quotient), number(a.const - quotient * b.const)
    if b.fixed is None or b.fixed < 0:
        raise NotLinear(_loops(a))
    return _range_split(a, b.fixed, ranges)


def _range_split(a: Num, d: int, ranges: Ranges) -> tuple[Num, Num]:
    """Quotient and remainder of a linear form whose part that is no multiple of d stays in one multiple."""
    whole = {n: c for n, c in a.terms.items() if c % d == 0}
    rest = Num(a.const % d, {n: c for n, c in a.terms.items() if c % d})
    low, high = bounds(rest, ranges)
    step = np.asarray(low) // d
    if not same(step, np.asarray(high) // d):
        raise NotLinear(tuple(rest.terms))
    quotient = Num(tidy(a.const // d + step), {n: c // d for n, c in whole.items()})
    return quotient, Num(tidy(rest.const - step * d), rest.terms)


def minimum(a: Num, b: Num, ranges: Ranges) -> Num:
    """min(a, b), when one side is never larger or both are numbers."""
    if a.is_constant and b.is_constant:
        return number(np.minimum(a.const, b.const))
    difference = sub(a, b)
    low, high = bounds(difference, ranges)
    if np.all(np.asarray(high) <= 0):
        return a
    if np.all(np.asarray(low) >= 0):
        return b
    raise NotLinear(_loops(a, b), (difference,))


def maximum(a: Num, b: Num, ranges: Ranges) -> Num:
    """max(a, b), under the same condition as `minimum`."""
    return scale(minimum(scale(a, -1), scale(b, -1), ranges), -1)


_TESTS: dict[str, Callable[[Const, Const], tuple[object, object]]] = {
    "eq": lambda low, high: ((low == 0) & (high == 0), (low > 0) | (high < 0)),
    "slt": lambda low, high: (high < 0, low >= 0),
    "sle": lambda low, high: (high <= 0, low > 0),
    "sgt": lambda low, high: (low > 0, high <= 0),
    "sge": lambda low, high: (low >= 0, high < 0),
}


def compare(predicate: str, a: Num, b: Num, ranges: Ranges) -> Num:
    """0 or 1 per tile for a signed `arith.cmpi` predicate; raises NotLinear where the loops decide it."""
    if predicate == "ne":
        return sub(number(1), compare("eq", a, b, ranges))
    predicate = predicate.replace("u", "s") if predicate[0] == "u" else predicate
    difference = sub(a, b)
    low, high = (np.asarray(x) for x in bounds(difference, ranges))
    true, false = (np.asarray(x) for x in _TESTS[predicate](low, high))
    if difference.arg:
        raise NotLinear(())
    if not np.all(true | false):
        raise NotLinear(_loops(a, b), (difference, sub(difference, number(1))))
    return number(true.astype(np.int64))


def select(condition: Num, a: Num, b: Num) -> Num:
    """a where the condition is 1, else b, tile by tile."""
    if condition.fixed is not None:
        return a if condition.fixed else b
    if dict(a.terms) != dict(b.terms) or a.arg != b.arg:
        raise NotLinear(_loops(a, b))
    return Num(tidy(np.where(np.asarray(condition.const) != 0, a.const, b.const)), a.terms, a.arg)


def _loops(*numbers: Num) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for n in numbers for name in n.terms))
