"""Kernels of one launch one after the other: on each core its parts in order, between cores handovers.

Cores wait for each other where one touches memory that the other has touched in an earlier kernel, one of
them writing; the parts of memory are compared as ranges of addresses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from headrace.schedule.graph import (
    CoreClass,
    Handover,
    Linear,
    Load,
    Number,
    PerCore,
    Statement,
    Store,
    Value,
    View,
)
from headrace.schedule.model.statements import renamed, with_numbers
from headrace.schedule.model.tidy.forwarding import Stored, forwarded, left_by, stored_args
from headrace.schedule.model.tidy.pieces import number
from headrace.schedule.model.work.points import Points, walk

Classes = Sequence[CoreClass]
Spans = dict[tuple[str, bool], dict[int, tuple[int, int]]]
"""By argument and whether it is written: the first address and the end of what every core touches."""

EVERYWHERE = (-(1 << 62), 1 << 62)
KINDS: dict[tuple[bool, bool], Literal["full", "free", "over"]] = {
    (True, False): "full",
    (False, True): "free",
    (True, True): "over",
}
"""What a core waits for that reads or writes (second) what another has written or read (first)."""


def in_sequence(
    kernels: Sequence[Classes], between: Collection[str] | None = None
) -> tuple[tuple[CoreClass, ...], dict[str, str]]:
    """The classes of all kernels together, and the values that later kernels read without loading them, with
    the arguments they are stored to. `between`: of these arguments only.
    """
    if len(kernels) == 1:
        return tuple(kernels[0]), {}
    homes = [{core: c for c in classes for core in c.cores} for classes in kernels]
    waits = _waits(kernels)
    alike: dict[tuple[int, ...], list[int]] = {}
    for core in sorted({core for home in homes for core in home}):
        alike.setdefault(tuple(id(home.get(core)) for home in homes), []).append(core)
    written = [stored_args(s for c in classes for s in c.body) for classes in kernels]
    found: dict[str, str] = {}
    joined = []
    for cores in alike.values():
        made, kept = _joined(cores, [home.get(cores[0]) for home in homes], waits, written, between)
        joined.append(made)
        found |= kept
    return tuple(joined), found


def _joined(
    cores: list[int],
    parts: Sequence[CoreClass | None],
    waits: Sequence[Sequence[Handover]],
    written: Sequence[set[str]],
    between: Collection[str] | None,
) -> tuple[CoreClass, dict[str, str]]:
    """What some cores do in all kernels; `written` are the arguments each kernel writes, on any core."""
    body: list[Statement] = []
    values: dict[str, Value] = {}
    known: list[Stored] = []
    found: dict[str, str] = {}
    for k, (part, handovers) in enumerate(zip(parts, waits, strict=True)):
        body += handovers
        left: list[Stored] = []
        if part is not None:
            own = _of_cores(part, cores)
            rename = (lambda n, k=k: f"{n}.k{k}") if k else (lambda n: n)
            values |= {rename(n): replace(v, name=rename(n)) for n, v in own.values.items()}
            mine = [renamed(s, rename, rename) for s in own.body]
            mine, kept = forwarded(mine, known, values, len(cores), between)
            left = left_by(mine, values, len(cores))
            body += mine
            found |= kept
        known = [one for one in known if one.arg not in written[k]] + left
    return CoreClass(tuple(cores), values, tuple(body)), found


def _of_cores(part: CoreClass, cores: list[int]) -> CoreClass:
    """The class with only some of its cores."""
    places = [part.cores.index(core) for core in cores]

    def pick(n: Number) -> Number:
        return number([n.values[p] for p in places]) if isinstance(n, PerCore) else n

    body = tuple(with_numbers(s, lambda v: Linear(pick(v.const), v.terms), pick) for s in part.body)
    return CoreClass(tuple(cores), part.values, body)


def _waits(kernels: Sequence[Classes]) -> list[list[Handover]]:
    """The handovers in front of every kernel."""
    found: list[list[Handover]] = []
    before: Spans = {}
    for k, classes in enumerate(kernels):
        now = _spans(classes)
        pairs: dict[Literal["full", "free", "over"], set[tuple[int, int]]] = {}
        args: dict[str, set[str]] = {}
        for (arg, was_written), earlier in before.items():
            for is_written in (False, True):
                met = _met(earlier, now.get((arg, is_written), {}))
                if met and (was_written or is_written):
                    pairs.setdefault(KINDS[was_written, is_written], set()).update(met)
                    args.setdefault(KINDS[was_written, is_written], set()).add(arg)
        found.append(
            [
                Handover(f"kernel {k} {kind}", kind, tuple(sorted(args[kind])), tuple(sorted(each)))
                for kind, each in pairs.items()
            ]
        )
        for key, spans in now.items():
            known = before.setdefault(key, {})
            for core, span in spans.items():
                known[core] = _hull(known.get(core, span), span)
    return found


def _met(earlier: dict[int, tuple[int, int]], later: dict[int, tuple[int, int]]) -> set[tuple[int, int]]:
    return {
        (a, b)
        for a, (low, high) in earlier.items()
        for b, (first, end) in later.items()
        if a != b and low < end and first < high
    }


def _hull(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])


def _spans(classes: Classes) -> Spans:
    found: Spans = {}
    for c in classes:
        for s, points in walk(c):
            for arg, is_written, core, span in _touched(s, points, c):
                known = found.setdefault((arg, is_written), {})
                known[core] = _hull(known.get(core, span), span)
    return found


def _touched(s: Statement, points: Points, c: CoreClass) -> Iterator[tuple[str, bool, int, tuple[int, int]]]:
    """The argument, whether it is written, the core and the range of one access, in elements."""
    if not isinstance(s, Load | Store):
        return
    used = np.unique(points.core)
    for i in s.indirect:
        yield from ((i.index.arg, False, c.cores[k], EVERYWHERE) for k in used if _is_shared(i.index))
    if not _is_shared(s.view):
        return
    if s.indirect:
        yield from ((s.view.arg, isinstance(s, Store), c.cores[k], EVERYWHERE) for k in used)
        return
    first = points.linear(s.view.start)
    for origin, stride in zip(s.origin, s.view.strides, strict=True):
        first = first + points.linear(origin) * stride
    shape = c.values[s.value].shape
    reach = sum((n - 1) * abs(s.view.strides[d]) for n, d in zip(shape, s.axes, strict=True) if d is not None)
    for k in used:
        own = first[points.core == k]
        span = (int(own.min()), int(own.max()) + reach + 1)
        yield s.view.arg, isinstance(s, Store), c.cores[k], span


def _is_shared(view: View) -> bool:
    """Whether other cores see the memory of a view."""
    return view.space == "global"
