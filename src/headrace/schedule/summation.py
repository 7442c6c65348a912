"""What a free order of summation may change in the results of a kernel."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from headrace.numbers.dtypes import is_narrow_float, precision_bits
from headrace.schedule.graph import Compute, CoreClass, Insert, Load, Loop, Reshape, Statement, Store
from headrace.schedule.model.statements import everything, makes, reads
from headrace.schedule.ring import PASS, hops, ring_entry


def reduction_terms(classes: Iterable[CoreClass]) -> int:
    """The most values any one result sums over; 0 where nothing is reduced."""
    return max((_terms(c.body, 1) for c in classes), default=0)


def _terms(body: tuple[Statement, ...], trips: int) -> int:
    most = 0
    for statement in body:
        if isinstance(statement, Loop):
            trip = (
                statement.trip if isinstance(statement.trip, int) else max(statement.trip.values, default=0)
            )
            most = max(most, _terms(statement.body, trips * (1 if statement.is_parallel else max(trip, 1))))
        elif isinstance(statement, Compute) and (entry := ring_entry(statement)) is not None:
            most = max(most, trips * (hops(entry) + 1) if entry.op != PASS else 0)
        elif isinstance(statement, Compute) and any(out.combiner for out in statement.outs):
            most = max(most, trips * prod(d.extent for d in statement.dims if d.kind == "reduction"))
    return most


def rounded_between(classes: Iterable[CoreClass]) -> str:
    """The narrowest float type to which what a reduction made is rounded before another reduction reads it
    ("" for none): a sum that differs in its last bit may be rounded the other way there.
    """
    classes = tuple(classes)
    sums: set[str] = set()
    rounded: dict[str, str] = {}
    while True:
        before = len(sums), len(rounded)
        for c in classes:
            for s in everything(c.body):
                _follow(s, c, sums, rounded)
        if before == (len(sums), len(rounded)):
            break
    types = {
        rounded[name]
        for c in classes
        for s in everything(c.body)
        if _is_sum(s)
        for name in reads(s) & rounded.keys()
    }
    return min(types, key=precision_bits, default="")


def _follow(s: Statement, c: CoreClass, sums: set[str], rounded: dict[str, str]) -> None:
    """Note what a statement makes of sums, and of sums that were rounded; memory passes both on."""
    if isinstance(s, Load):
        sources, targets = {f"@{s.view.arg}"}, makes(s)
    elif isinstance(s, Store):
        sources, targets = reads(s), {f"@{s.view.arg}"}
    elif isinstance(s, Loop):
        for carried in s.carried:
            _pass_on({carried.init, carried.yielded}, {carried.inner, carried.result}, sums, rounded)
        return
    elif isinstance(s, Compute | Reshape | Insert):
        sources, targets = reads(s), makes(s)
    else:
        return
    _pass_on(sources, targets, sums, rounded)
    if isinstance(s, Compute):
        if _is_sum(s):
            sums |= targets
        for name in targets & sums:
            if is_narrow_float(c.values[name].dtype):
                rounded.setdefault(name, c.values[name].dtype)


def _pass_on(sources: set[str], targets: set[str], sums: set[str], rounded: dict[str, str]) -> None:
    if sources & sums:
        sums |= targets
    for name in sources & rounded.keys():
        for target in targets:
            rounded.setdefault(target, rounded[name])


def _is_sum(s: Statement) -> bool:
    """Whether the order of its terms shows in the last bits of what a statement makes."""
    if not isinstance(s, Compute):
        return False
    entry = ring_entry(s)
    if entry is not None:
        return entry.op != PASS
    return any(out.combiner in ("add", "mul") for out in s.outs)
