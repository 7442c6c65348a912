"""Rows too long for the registers where several operands meet: reduced in chunks, by phases of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Access, Compute, Value
from headrace.schedule.phases.fuse import Group


def split(
    group: Group, values: Mapping[str, Value], registers: int, fresh: Callable[[str], str]
) -> list[Group]:
    """Return the group, or its reductions as column groups and then the rest, if a pass holds too much."""
    reductions = [k for k, c in enumerate(group.computes) if _reduces(c)]
    if group.kind != "vector" or not reductions:
        return [group]
    closures = {k: _closure(group, k) for k in reductions}
    if all(_fits(group, found, values, registers) for found in closures.values()):
        return [group]
    first = [_column(group, closures[k], k, fresh) for k in reductions]
    rest = tuple(c for k, c in enumerate(group.computes) if k not in reductions)
    left = replace(group, computes=rest, reduced=frozenset()) if rest else None
    return [*first, *([left] if left is not None else [])]


def _reduces(compute: Compute) -> bool:
    return any(d.kind == "reduction" for d in compute.dims)


def _closure(group: Group, number: int) -> list[int]:
    """The Computes a reduction needs, back to memory or to other reductions; itself last."""
    producer = {o.value: k for k, c in enumerate(group.computes) for o in c.outs}
    found: set[int] = set()
    stack = [number]
    while stack:
        k = stack.pop()
        found.add(k)
        for access in group.computes[k].ins:
            source = producer.get(access.value)
            if source is not None and source not in found and not _reduces(group.computes[source]):
                stack.append(source)
    return sorted(found)


def _fits(group: Group, closure: list[int], values: Mapping[str, Value], registers: int) -> bool:
    inside = group.produced
    operands: set[Access] = set()
    for k in closure:
        for access in group.computes[k].ins:
            dims = {a.dim for a in access.axes}
            if access.value not in inside and group.reduced <= dims:
                operands.add(access)
    elements = prod(group.extents[d] for d in group.reduced)
    size = sum(itemsize(values[a.value].dtype) for a in operands) * elements
    return len(operands) < 2 or size <= registers


def _column(group: Group, closure: list[int], number: int, fresh: Callable[[str], str]) -> Group:
    """The reduction alone, what it needs cloned into its group."""
    names: dict[str, str] = {}
    computes: list[Compute] = []
    for k in closure:
        compute = group.computes[k]
        ins = tuple(Access(names.get(a.value, a.value), a.axes) for a in compute.ins)
        outs = compute.outs
        if k != number:
            for out in compute.outs:
                names[out.value] = fresh(out.value)
            outs = tuple(replace(o, value=names[o.value]) for o in compute.outs)
        computes.append(replace(compute, ins=ins, outs=outs))
    local = frozenset(names.values()) | (group.local & {a.value for c in computes for a in c.ins})
    used = {d.name for c in computes for d in c.dims}
    extents = {d: e for d, e in group.extents.items() if d in used}
    return Group("column", tuple(computes), extents, group.reduced, local)
