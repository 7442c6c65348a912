"""Values that a core stores in one kernel and loads again in a later one: read where they were computed.

The store stays; whoever launches the module may read its memory. The load goes, so that both kernels can
share a phase, or the scratchpad keeps the value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.schedule.graph import Load, Reshape, Statement, Store, Value
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.bodies.body import from_linear
from headrace.schedule.model.statements import aliased, changed, everything

Walk = tuple[tuple[int, int], ...]
"""Extent and stride of every run of axes that one stride walks through: the order of the elements."""


@dataclass(frozen=True)
class Stored:
    """What a store left in memory: the value, the argument, where it begins on every core, how it lies."""

    value: str
    arg: str
    dtype: str
    first: tuple[int, ...]
    walk: Walk

    @property
    def reach(self) -> int:
        """Elements from the first to behind the last."""
        return sum((n - 1) * abs(stride) for n, stride in self.walk) + 1


def stored_args(body: Iterable[Statement]) -> set[str]:
    """The arguments some statements write."""
    return {s.view.arg for s in everything(body) if isinstance(s, Store) and s.view.space == "global"}


def left_by(body: Sequence[Statement], values: Mapping[str, Value], cores: int) -> list[Stored]:
    """What the stores of a kernel leave, of arguments that are only written in parts that do not meet."""
    found: dict[str, list[Stored]] = {}
    hidden = stored_args(s for s in body if not isinstance(s, Store))
    for s in body:
        if isinstance(s, Store):
            here = _stored(s, values, cores)
            if here is None:
                hidden.add(s.view.arg)
            else:
                found.setdefault(here.arg, []).append(here)
    kept = {arg: each for arg, each in found.items() if arg not in hidden and _are_apart(each)}
    return [one for each in kept.values() for one in each]


def forwarded(
    body: Sequence[Statement],
    known: Sequence[Stored],
    values: Mapping[str, Value],
    cores: int,
    allowed: Collection[str] | None,
) -> tuple[list[Statement], dict[str, str]]:
    """The statements of a kernel without loads of what is `known` to lie in memory, and the arguments of the
    values that are read directly instead. `allowed`: of these arguments only.
    """
    left = [one for one in known if allowed is None or one.arg in allowed]
    names: dict[str, str] = {}
    found: dict[str, str] = {}
    made: list[Statement] = []
    for s in body:
        source = _match(s, left, values, cores) if isinstance(s, Load) else None
        if isinstance(s, Load) and source is not None:
            found[source.value] = source.arg
            if values[s.value].shape == values[source.value].shape:
                names[s.value] = source.value
            else:
                made.append(Reshape(s.value, source.value, s.where))
            continue
        made.append(aliased(s, names))
        written = {arg for _, arg in changed([s])}
        left = [one for one in left if one.arg not in written]
    return made, found


def _match(load: Load, known: Sequence[Stored], values: Mapping[str, Value], cores: int) -> Stored | None:
    here = _stored(load, values, cores)
    if here is None:
        return None
    same = (here.arg, here.dtype, here.first, here.walk)
    return next((one for one in known if (one.arg, one.dtype, one.first, one.walk) == same), None)


def _stored(s: Load | Store, values: Mapping[str, Value], cores: int) -> Stored | None:
    """What an access touches; None if loops or indices move it, or it is in no argument."""
    view = s.view
    total = from_linear(view.start)
    for origin, stride in zip(s.origin, view.strides, strict=True):
        total = nm.add(total, nm.scale(from_linear(origin), stride))
    shape = values[s.value].shape
    is_plain = all(d is not None or n == 1 for n, d in zip(shape, s.axes, strict=True))
    if view.space != "global" or not view.arg or s.indirect or total.terms or not is_plain:
        return None
    first = tuple(int(n) for n in np.broadcast_to(total.const, (cores,)))
    axes = [(n, view.strides[d]) for n, d in zip(shape, s.axes, strict=True) if d is not None and n > 1]
    return Stored(s.value, view.arg, view.dtype, first, _runs(axes))


def _runs(axes: Sequence[tuple[int, int]]) -> Walk:
    """Axes that memory lets be one joined: tiles of other shapes walk the same elements in the same order."""
    found: list[tuple[int, int]] = []
    for n, stride in axes:
        if found and found[-1][1] == n * stride:
            found[-1] = (found[-1][0] * n, stride)
        else:
            found.append((n, stride))
    return tuple(found)


def _are_apart(parts: Sequence[Stored]) -> bool:
    """Whether no two stores touch the same element on a core."""
    for core in range(len(parts[0].first)):
        spans = sorted((one.first[core], one.first[core] + one.reach) for one in parts)
        if any(before[1] > after[0] for before, after in zip(spans, spans[1:], strict=False)):
            return False
    return True
