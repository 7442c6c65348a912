"""Recomputing instead of storing: a cheap pointwise value that another phase reads is computed again where
it is read.

Device memory moves about a hundred bytes a cycle where the vector units compute thousands of elements, so
repeating a
conversion or a subtraction costs less than writing its result and reading it back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from headrace.arch.classes import op_class
from headrace.schedule.graph import Access, Compute, Value
from headrace.schedule.phases.bodyops import priced_entries
from headrace.schedule.phases.fuse import Group, renamed, unified
from headrace.schedule.ring import ring_entry

ISSUES = {"function": 4, "divide": 4, "special": 8}
"""Issues of the classes that cost more than one, for the budget only."""

BUDGET = 24
"""Issues a group may spend on recomputed values, per element."""


@dataclass(frozen=True)
class Known:
    """What is known of the values: their tensors, who computes them, which have storage, which may be read
    late, and whether the first of two is still what it was when the second was computed from it.
    """

    values: dict[str, Value]
    producers: Mapping[str, Compute]
    stored: frozenset[str]
    is_readable: Callable[[str], bool]
    fresh: Callable[[str], str]
    is_unchanged: Callable[[str, str], bool] = lambda value, made: True


def absorbed(group: Group, known: Known) -> Group:
    """Return the group with clones of cheap pointwise Computes whose results it would read."""
    best = group
    for access in _external(group):
        made = with_clone(best, access, known)
        if made is not None:
            best = made
    return best


def _external(group: Group) -> list[Access]:
    produced = group.produced
    found: dict[Access, None] = {}
    first = 1 if group.kind == "contract" else 0
    for compute in group.computes[first:]:
        for access in compute.ins:
            if access.value not in produced:
                found[access] = None
    return list(found)


def with_clone(group: Group, access: Access, known: Known) -> Group | None:
    """Return the group with the producer of an access cloned into it, and what that needs in turn; None if
    that is no gain.
    """
    made = group
    todo = [access]
    while todo:
        wanted = todo.pop()
        if not any(wanted in c.ins for c in made.computes):
            continue  # an earlier clone has taken its place
        producer = known.producers.get(wanted.value)
        clone = _clone(producer, wanted, group, known) if producer is not None else None
        if clone is None:
            if wanted is access or not _is_cheap_input(wanted, access, known):
                return None
            continue
        made = _inserted(made, clone, wanted)
        todo += [a for a in clone.ins if a.value not in made.produced and a not in todo]
    return made if issues(made) - issues(group) <= BUDGET - _spent(group) else None


def _is_cheap_input(wanted: Access, access: Access, known: Known) -> bool:
    """Whether reading this value from memory instead is no more than reading the absorbed one."""
    if wanted.value in known.producers and wanted.value not in known.stored:
        return prod(known.values[wanted.value].shape) < prod(known.values[access.value].shape)
    return known.is_readable(wanted.value)


def _clone(producer: Compute, access: Access, group: Group, known: Known) -> Compute | None:
    out = producer.outs[0]
    if not is_pointwise(producer) or not all(known.is_unchanged(a.value, out.value) for a in producer.ins):
        return None
    names: dict[str, str] = {}
    extents = {d.name: d.extent for d in producer.dims}
    if not unified(access.axes, out.axes, group.extents, extents, names) or len(names) < len(producer.dims):
        return None
    mine = renamed(producer, names)
    value = known.fresh(out.value)
    return replace(mine, outs=(replace(mine.outs[0], value=value),))


def is_pointwise(compute: Compute) -> bool:
    """Return whether a Compute makes one value, element by element."""
    is_plain = (
        compute.contraction is None
        and ring_entry(compute) is None
        and all(d.kind == "parallel" for d in compute.dims)
    )
    return is_plain and len(compute.outs) == 1 and compute.outs[0].combiner is None


def _inserted(group: Group, clone: Compute, access: Access) -> Group:
    """The group with the clone in front of its first reader; readers of the same elements read the clone."""
    value = clone.outs[0].value
    at = next(k for k, c in enumerate(group.computes) if access in c.ins)
    computes: list[Compute] = []
    for number, compute in enumerate(group.computes):
        if number == at:
            computes.append(clone)
        ins = tuple(Access(value, a.axes) if a == access else a for a in compute.ins)
        computes.append(replace(compute, ins=ins))
    return replace(group, computes=tuple(computes), local=group.local | {value})


def issues(group: Group) -> int:
    """Return the issues per element of a group's Computes."""
    total = 0
    for compute in group.computes:
        total += sum(ISSUES.get(op_class(name), 1) for name, _ in priced_entries(compute.body))
    return total


def _spent(group: Group) -> int:
    clones = tuple(c for c in group.computes if c.outs[0].value in group.local)
    return issues(replace(group, computes=clones))


def without_dead(
    groups: Sequence[Group], is_needed: Callable[[str], bool], aliases: Mapping[str, str]
) -> list[Group | None]:
    """Return the groups without Computes nobody reads, under their own name or another; None for a group of
    which nothing is left.
    """
    current: list[Group | None] = list(groups)
    while True:
        read = {a.value for g in current if g is not None for c in g.computes for a in c.ins}
        read |= {o.init for g in current if g for c in g.computes for o in c.outs if isinstance(o.init, str)}
        read |= {aliases[value] for value in read & aliases.keys()}
        changed = False
        for k, group in enumerate(current):
            if group is None:
                continue
            kept = tuple(
                c for c in group.computes if any(o.value in read or is_needed(o.value) for o in c.outs)
            )
            if len(kept) < len(group.computes):
                changed = True
                current[k] = _shrunk(group, kept) if kept else None
        if not changed:
            return current


def _shrunk(group: Group, kept: tuple[Compute, ...]) -> Group:
    dims = {d.name for c in kept for d in c.dims}
    extents = {d: e for d, e in group.extents.items() if d in dims}
    reduced = frozenset(d.name for c in kept for d in c.dims if d.kind == "reduction")
    kind = group.kind if reduced or group.kind == "contract" else "vector"
    return replace(group, computes=kept, extents=extents, reduced=reduced, kind=kind)
