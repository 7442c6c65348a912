"""Masks that compare indices: as linear constraints, and as boxes over dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.frontend.lower.quasi import ANY, Quasi, Range, floordiv, interval

Condition = tuple[Quasi, ...] | None
"""Expressions that all have to be >= 0; None for a condition that is no conjunction of index compares."""


def compare(op: str, a: Quasi, b: Quasi) -> Condition:
    """The constraints of `a op b`."""
    d = a - b
    match op:
        case "ge":
            return (d,)
        case "gt":
            return (d.plus(-1),)
        case "le":
            return (d.times(-1),)
        case "lt":
            return (d.times(-1).plus(-1),)
        case "eq":
            return (d, d.times(-1))
    return None


def conjunction(a: Condition, b: Condition) -> Condition:
    """The constraints of `a and b`."""
    return None if a is None or b is None else a + b


def box_of(
    limits: Sequence[Quasi], ranges: Mapping[str, Range], box: Mapping[str, Range]
) -> tuple[dict[str, Range], tuple[Quasi | None, ...]]:
    """(the box the constraints give the dims, the constraints no box expresses)."""
    bounds = dict(box)
    left: list[Quasi] = []
    for _ in range(2):  # a second look with the bounds of the first
        left = [limit for limit in limits if not _tighten(limit, ranges, bounds)]
    return bounds, tuple(left)


def _tighten(limit: Quasi, ranges: Mapping[str, Range], bounds: dict[str, Range]) -> bool:
    """Whether the constraint holds already or bounds a single dim, which is then tightened."""
    known = {**ranges, **bounds}
    if interval(limit, known)[0] >= 0:
        return True
    steps = sorted({abs(factor) for _, factor in limit.terms if abs(factor) > 1})
    for form in (limit, *(floordiv(limit, step, known) for step in steps)):
        if len(form.terms) != 1 or not form.is_affine:
            continue
        name, factor = form.terms[0]
        if not isinstance(name, str) or name not in ranges:
            continue
        low, high = known.get(name, ANY)
        if factor > 0:
            low = max(low, -(form.const // factor))
        else:
            high = min(high, form.const // -factor)
        bounds[name] = (low, high)
        return True
    return False
