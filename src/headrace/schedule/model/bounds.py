"""The numbers of a loop, and where to part it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation

from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num
from headrace.schedule.model.state import Refused, State
from headrace.schedule.model.tensors import Tensor


@dataclass(frozen=True)
class Bounds:
    """A loop's numbers: start and trip per tile, step."""

    start: Num
    step: int
    trip: nm.Const


def longest(state: State, op: Operation) -> tuple[Bounds, Num] | None:
    """The numbers of an scf.for as often as any tile or iteration around it runs it, and its own end; None if
    all run it equally often, or some never.
    """
    low, by, high = _ends(state, op)
    least, most = nm.bounds(nm.sub(high, low), state.ranges)
    if nm.same(least, most) and nm.same(most, np.max(most)) or np.any(np.asarray(least) <= 0):
        return None
    return Bounds(low, by, int(-(-np.max(most) // by))), high


def bounds_of(state: State, op: Operation) -> Bounds:
    """The numbers of an scf.for."""
    low, by, high = _ends(state, op)
    span = nm.sub(high, low)
    if not span.is_constant:
        raise NotLinear(tuple(span.terms))
    return Bounds(low, by, nm.tidy(np.maximum(-(-np.asarray(span.const) // by), 0)))


def _ends(state: State, op: Operation) -> tuple[Num, int, Num]:
    """The start, the step and the end of an scf.for."""
    numbers = list(op.operands)[:3]
    if any(isinstance(state.get(v), Tensor) for v in numbers):
        raise Refused(
            "a bound of this loop is read from memory, so no schedule knows how often it runs",
            "loop to a bound given at launch, and select by comparing the loop variable with the value",
        )
    low, high, step = (state.integer(v) for v in numbers)
    by = state.fixed(step)
    if by <= 0:
        raise Refused(f"the step of this loop is {by}", "loops step upwards")
    if "unsignedCmp" in op.properties and not all(
        v.is_constant and np.all(v.const >= 0) for v in (low, high)
    ):
        raise Refused(
            "the bounds of this unsigned loop are not known to be below 2^63",
            "give it bounds of constants and scalars, or drop the word unsigned",
        )
    return low, by, high


def parted(bounds: Bounds, name: str, flip: Num) -> tuple[Bounds, Bounds] | None:
    """The iterations before and from where `flip` changes its sign; None when that does not part them."""
    factor = flip.terms.get(name, 0)
    if len(flip.terms) != 1 or not factor or not bounds.start.is_constant:
        return None
    first = np.asarray(flip.const + factor * bounds.start.const)
    by = abs(factor) * bounds.step
    count = (by - 1 - first) // by if factor > 0 else first // by + 1
    before = nm.tidy(np.clip(count, 0, bounds.trip))
    if nm.same(before, 0) or nm.same(before, bounds.trip):
        return None
    start = nm.add(bounds.start, nm.number(np.asarray(before) * bounds.step))
    rest = nm.tidy(np.asarray(bounds.trip) - before)
    return Bounds(bounds.start, bounds.step, before), Bounds(start, bounds.step, rest)
