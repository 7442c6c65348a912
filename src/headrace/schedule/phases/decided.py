"""Conditions on coordinates that come out alike for all of a block: the mask of causal attention hides
nothing left of the diagonal, so most blocks of scores need no select.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.schedule.graph import Compute, Linear, Scalar
from headrace.schedule.phases.bodyops import affine
from headrace.schedule.phases.linear import add, lower, scale, upper

Spans = Mapping[str, tuple[int, int]]
"""By dim or loop variable its first and last value."""


def decided(compute: Compute, spans: Spans) -> Compute:
    """Return a Compute without selects whose condition is the same at all coordinates in `spans`."""
    body = compute.body
    place = list(range(len(body)))
    for position, entry in enumerate(body):
        if entry.op == "arith.select":
            holds = _holds(body, place[entry.args[0]], spans)
            if holds is not None:
                place[position] = place[entry.args[1 if holds else 2]]
    if place == list(range(len(body))):
        return compute
    return _without(compute, place)


def _holds(body: tuple[Scalar, ...], position: int, spans: Spans) -> bool | None:
    """Whether an integer comparison holds at all coordinates (True) or at none (False)."""
    entry = body[position]
    if entry.op != "arith.cmpi":
        return None
    left, right = (affine(body, a) for a in entry.args)
    if left is None or right is None:
        return None
    offset = add(left[1], scale(right[1], -1))
    terms = {d: left[0].get(d, 0) - right[0].get(d, 0) for d in {*left[0], *right[0]}}
    if any(d not in spans for d in (*(d for d, n in terms.items() if n), *dict(offset.terms))):
        return None
    total = Linear(offset.const, (*offset.terms, *((d, n) for d, n in terms.items() if n)))
    low, high = lower(total, spans), upper(total, spans)
    always, never = {
        "sge": (low >= 0, high < 0),
        "sgt": (low > 0, high <= 0),
        "sle": (high <= 0, low > 0),
        "slt": (high < 0, low >= 0),
    }.get(str(entry.attr), (False, False))
    return True if always else False if never else None


def _without(compute: Compute, place: list[int]) -> Compute:
    """The Compute in which every entry stands for the one at `place`, without those nobody needs then."""
    body = compute.body
    needed: set[int] = set()
    stack = [place[out.result] for out in compute.outs]
    while stack:
        position = stack.pop()
        if position not in needed:
            needed.add(position)
            stack += [place[a] for a in body[position].args]
    order = sorted(needed)
    new = {old: number for number, old in enumerate(order)}
    entries = tuple(replace(body[p], args=tuple(new[place[a]] for a in body[p].args)) for p in order)
    outs = tuple(replace(out, result=new[place[out.result]]) for out in compute.outs)
    return replace(compute, body=entries, outs=outs)
