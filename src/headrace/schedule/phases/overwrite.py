"""Long rows in the scratchpad that are read once more: what was computed of them takes their place.

A row that does not fit the registers is sent once for every pass, and each pass computes again what it needs.
Where the row lies in the scratchpad and nobody needs it afterwards, an expensive vector of its type (an
exponential) is written over it instead, and a phase of its own goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from math import prod

from headrace.arch.classes import op_class
from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Access, Compute, Value
from headrace.schedule.phases.absorb import is_pointwise
from headrace.schedule.phases.bodyops import priced_entries
from headrace.schedule.phases.fuse import Group

CHEAP = "arith"
"""The class of ops that are rather computed again."""


def readers(groups: Iterable[Group]) -> Counter[str]:
    """Return how many phases read each value."""
    found: Counter[str] = Counter()
    for group in groups:
        found.update({a.value for c in group.computes for a in c.ins})
    return found


def overwriting(
    group: Group, values: Mapping[str, Value], registers: int, used: Counter[str], fixed: Container[str]
) -> list[Group]:
    """Return the group, or two: one that computes up to a vector and leaves it in place of the row it read,
    one for the rest.

    `used` counts the phases that read a value, values in `fixed` are none that a phase before has computed
    for this one alone.
    """
    if group.kind != "vector" or not group.reduced or group.local:
        return [group]
    for number in reversed(range(len(group.computes))):
        source = _row(group, number, values, registers)
        if source is not None and source not in fixed and used[source] == 1:
            cut = _cut(group, number, source)
            if cut is not None:
                return cut
    return [group]


def _row(group: Group, number: int, values: Mapping[str, Value], registers: int) -> str | None:
    """The value in whose place the vector of an expensive Compute can go, None if there is none."""
    compute = group.computes[number]
    if not is_pointwise(compute) or {d.name for d in compute.dims} != group.dims:
        return None
    if all(op_class(name) == CHEAP for name, _ in priced_entries(compute.body)):
        return None
    out = compute.outs[0]
    dtype = values[out.value].dtype
    if itemsize(dtype) * prod(group.extents[d] for d in group.reduced) <= registers:
        return None
    made = group.produced
    rows = [a for a in compute.ins if a.value not in made and a.axes == out.axes]
    return next((a.value for a in rows if values[a.value].dtype == dtype), None)


def _cut(group: Group, number: int, source: str) -> list[Group] | None:
    """The group up to the vector of a Compute with the reductions, and the rest."""
    vector = group.computes[number].outs[0].value
    rest: list[int] = []
    for k in range(number + 1, len(group.computes)):
        compute = group.computes[k]
        if (
            not any(d.kind == "reduction" for d in compute.dims)
            and {d.name for d in compute.dims} == group.dims
        ):
            rest.append(k)
    first = [k for k in range(len(group.computes)) if k not in rest]
    later = {o.value for k in rest for o in group.computes[k].outs}
    vectors = {
        o.value for k in first for o in group.computes[k].outs if len(o.axes) and _walks(o.axes) == group.dims
    }
    for k, compute in enumerate(group.computes):
        taken = {a.value for a in compute.ins}
        if k in first and (taken & later or (k > number and source in taken)):
            return None
        if k in rest and (source in taken or taken & (vectors - {vector})):
            return None
    if not rest or not any(vector in {a.value for a in group.computes[k].ins} for k in rest):
        return None
    names = {vector: source}
    front = tuple(_renamed(group.computes[k], names) for k in first)
    back = tuple(_renamed(group.computes[k], names) for k in rest)
    return [replace(group, computes=front), replace(group, computes=back, reduced=frozenset())]


def _walks(axes: Iterable[object]) -> frozenset[str]:
    return frozenset(a.dim for a in axes if a.dim is not None)  # type: ignore[attr-defined]


def _renamed(compute: Compute, names: Mapping[str, str]) -> Compute:
    ins = tuple(Access(names.get(a.value, a.value), a.axes) for a in compute.ins)
    outs = tuple(replace(o, value=names.get(o.value, o.value)) for o in compute.outs)
    return replace(compute, ins=ins, outs=outs)
