"""Loads that are the same in every iteration move in front of their loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.schedule.graph import Load, Loop, PerCore, Statement
from headrace.schedule.model.statements import changed, linears


def hoisted(body: Iterable[Statement]) -> tuple[Statement, ...]:
    """The block with such loads moved as far out as they can go."""
    result: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            inner = hoisted(s.body)
            free = [t for t in inner if isinstance(t, Load) and _is_same_every_time(t, s, inner)]
            result += free
            s = replace(s, body=tuple(t for t in inner if t not in free))
        result.append(s)
    return tuple(result)


def _is_same_every_time(load: Load, loop: Loop, body: tuple[Statement, ...]) -> bool:
    trips = loop.trip.values if isinstance(loop.trip, PerCore) else (loop.trip,)
    if min(trips) < 1 or any(loop.name in dict(v.terms) for v in linears(load)):
        return False
    written = changed(body)
    sources = {(v.space, v.arg) for v in (load.view, *(i.index for i in load.indirect))}
    return not sources & written
