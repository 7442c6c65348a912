"""Arithmetic on the numbers of a TileGraph: integers per core, linear in loop variables, and their mixed-
radix digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.schedule.graph import Linear, Number, PerCore


def number(value: Sequence[int]) -> Number:
    """Return one integer if all cores agree, else the integers per core."""
    return value[0] if len(set(value)) == 1 else PerCore(tuple(value))


def values(value: Number, cores: int) -> tuple[int, ...]:
    """Return the number on each of `cores` cores."""
    return value.values if isinstance(value, PerCore) else (value,) * cores


def largest(value: Number) -> int:
    """Return the largest of the number's values over the cores."""
    return max(value.values) if isinstance(value, PerCore) else value


def smallest(value: Number) -> int:
    """Return the smallest of the number's values over the cores."""
    return min(value.values) if isinstance(value, PerCore) else value


def add_numbers(one: Number, other: Number) -> Number:
    """Return the sum on every core."""
    if one == 0 or other == 0:
        return other if one == 0 else one
    return _zip(one, other, lambda a, b: a + b)


def scale_number(one: Number, factor: int) -> Number:
    """Return the product with a constant on every core."""
    return number([v * factor for v in one.values]) if isinstance(one, PerCore) else one * factor


def add(*parts: Linear | int) -> Linear:
    """Return the sum of linear numbers and integers."""
    const: Number = 0
    terms: dict[str, int] = {}
    for part in parts:
        if isinstance(part, int):
            const = add_numbers(const, part)
            continue
        const = add_numbers(const, part.const)
        for name, factor in part.terms:
            terms[name] = terms.get(name, 0) + factor
    return Linear(const, tuple(sorted((name, factor) for name, factor in terms.items() if factor)))


def scale(one: Linear, factor: int) -> Linear:
    """Return the product of a linear number with a constant."""
    terms = tuple((name, f * factor) for name, f in one.terms) if factor else ()
    return Linear(scale_number(one.const, factor), terms)


def upper(one: Linear, ranges: Mapping[str, tuple[int, int]]) -> int:
    """Return the largest value of a linear number, loop variable `name` lying in ranges[name] (both ends
    included).
    """
    return largest(one.const) + sum(max(f * e for e in ranges.get(name, (0, 0))) for name, f in one.terms)


def lower(one: Linear, ranges: Mapping[str, tuple[int, int]]) -> int:
    """Return the smallest value of a linear number under the same ranges."""
    return smallest(one.const) + sum(min(f * e for e in ranges.get(name, (0, 0))) for name, f in one.terms)


def digits(one: Linear, strides: Sequence[int]) -> list[Linear]:
    """Return the digits of a number in a mixed radix: one = sum of digit x stride, strides from large to
    small.

    The last digit takes the rest when the last stride is 1; otherwise one more digit of stride 1 is appended.
    """
    radix = [*strides] if strides and strides[-1] == 1 else [*strides, 1]
    consts: list[Number] = []
    rest = one.const
    for stride in radix:
        consts.append(_map(rest, lambda v, s=stride: v // s))  # type: ignore[misc]
        rest = _map(rest, lambda v, s=stride: v % s)  # type: ignore[misc]
    terms: list[list[tuple[str, int]]] = [[] for _ in radix]
    for name, factor in one.terms:
        left = factor
        for place, stride in enumerate(radix):
            quotient = abs(left) // stride * (1 if left >= 0 else -1)
            if quotient:
                terms[place].append((name, quotient))
            left -= quotient * stride
    found = [Linear(c, tuple(t)) for c, t in zip(consts, terms, strict=True)]
    if len(radix) > len(strides) and found[-1] == Linear():
        found.pop()
    return found


def _map(one: Number, function: Callable[[int], int]) -> Number:
    return number([function(v) for v in one.values]) if isinstance(one, PerCore) else function(one)


def _zip(one: Number, other: Number, function: Callable[[int, int], int]) -> Number:
    if not isinstance(one, PerCore) and not isinstance(other, PerCore):
        return function(one, other)
    count = len(one.values) if isinstance(one, PerCore) else len(other.values)  # type: ignore[union-attr]
    return number([function(a, b) for a, b in zip(values(one, count), values(other, count), strict=True)])
