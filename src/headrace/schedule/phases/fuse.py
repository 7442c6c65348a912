"""Which Computes share a phase: groups of Computes over one set of dims whose values pass through
registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from headrace.schedule.graph import Access, Axis, Compute, Contraction, Dim, Scalar
from headrace.schedule.phases.bodyops import coordinate
from headrace.schedule.ring import apart_entry, ring_entry

Kind = Literal["vector", "column", "contract"]


@dataclass(frozen=True)
class Group:
    """Computes of one phase, rewritten to common dim names.

    kind "vector": reductions, if any, run over all of `reduced` inside a step; "column": over `reduced`
    across steps, at
    the end of the group; "contract": the first Compute is a contraction, the others work on its result.
    `local` values
    are clones that no other phase reads; with `keeps_dims`, dims that lie as one do not become one.
    """

    kind: Kind
    computes: tuple[Compute, ...]
    extents: Mapping[str, int]
    reduced: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()
    keeps_dims: bool = False

    @property
    def dims(self) -> frozenset[str]:
        """The dims of the iteration space."""
        return frozenset(self.extents)

    @cached_property
    def produced(self) -> dict[str, tuple[Axis, ...]]:
        """The values the group computes, with the dims of their axes."""
        return {out.value: out.axes for compute in self.computes for out in compute.outs}


def alone(compute: Compute, reduction_kind: Kind) -> Group:
    """Return the group of one Compute."""
    extents = {d.name: d.extent for d in compute.dims}
    reduced = frozenset(d.name for d in compute.dims if d.kind == "reduction")
    if compute.contraction is not None:
        return Group("contract", (compute,), extents, reduced)
    return Group(reduction_kind if reduced else "vector", (compute,), extents, reduced)


def matched(group: Group, compute: Compute) -> dict[str, str] | None:
    """Return compute dim → group dim if the Compute can read the group's values in place, None if it cannot.

    Values of the group must be read whole and unshifted. Inputs both read suggest further pairs.
    """
    produced = group.produced
    found: dict[str, str] = {}
    extents = {d.name: d.extent for d in compute.dims}
    related = False
    for access in compute.ins:
        if access.value in produced:
            related = True
            if not unified(produced[access.value], access.axes, group.extents, extents, found):
                return None
    seen = {a.value: a.axes for c in group.computes for a in c.ins}
    for access in compute.ins:
        if access.value in seen and access.value not in produced:
            trial = dict(found)
            if unified(seen[access.value], access.axes, group.extents, extents, trial):
                found, related = trial, True
    return found if related else None


def unified(
    ours: Sequence[Axis],
    theirs: Sequence[Axis],
    our_extents: Mapping[str, int],
    their_extents: Mapping[str, int],
    found: dict[str, str],
) -> bool:
    """Add their dim → our dim for axes that walk the same elements; False if they do not."""
    for our, their in zip(ours, theirs, strict=True):
        if our.offset != their.offset or (our.dim is None) != (their.dim is None):
            return False
        if our.dim is None or their.dim is None:
            continue
        if our_extents[our.dim] != their_extents[their.dim] or found.get(their.dim, our.dim) != our.dim:
            return False
        if any(o == our.dim and t != their.dim for t, o in found.items()):
            return False
        found[their.dim] = our.dim
    return True


def renamed(compute: Compute, names: Mapping[str, str]) -> Compute:
    """Return the Compute over other dim names."""

    def axes(old: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(None if a.dim is None else names.get(a.dim, a.dim), a.offset) for a in old)

    def scalar(old: Scalar) -> Scalar:
        if old.op != "index":
            return old
        dim, offset = coordinate(old)
        return replace(old, attr=(None if dim is None else names.get(dim, dim), offset))

    return replace(
        compute,
        dims=tuple(Dim(names.get(d.name, d.name), d.extent, d.kind) for d in compute.dims),
        ins=tuple(Access(a.value, axes(a.axes)) for a in compute.ins),
        outs=tuple(replace(o, axes=axes(o.axes)) for o in compute.outs),
        body=tuple(scalar(s) for s in compute.body),
        contraction=_renamed_roles(compute.contraction, names),
    )


def _renamed_roles(roles: Contraction | None, names: Mapping[str, str]) -> Contraction | None:
    if roles is None:
        return None

    def new(dims: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(d, d) for d in dims)

    return Contraction(new(roles.batch), new(roles.m), new(roles.n), new(roles.k))


def joined(group: Group, compute: Compute, reduction_kind: Kind) -> Group | None:
    """Return the group with one more Compute, or None if the Compute needs a phase of its own.

    `reduction_kind` says how a reduction of the Compute's would run. The caller checks who else needs the
    values.
    """
    if compute.contraction is not None or {o.value for o in compute.outs} & group.produced.keys():
        return None
    names = matched(group, compute)
    if names is None or (len(names) < len(compute.dims) and len(names) < len(group.dims)):
        return None
    mine = renamed(compute, names)
    extents = dict(group.extents) | {d.name: d.extent for d in mine.dims}
    reduced = frozenset(d.name for d in mine.dims if d.kind == "reduction")
    if group.kind == "contract":
        is_epilogue = (
            not reduced
            and ring_entry(compute) is None
            and {d.name for d in mine.dims} == group.dims - group.reduced
        )
        return replace(group, computes=(*group.computes, mine)) if is_epilogue else None
    if group.reduced and reduced and reduced != group.reduced:
        return None
    kind = group.kind if group.reduced or not reduced else reduction_kind
    if kind == "column" and not (group.kind == "column" and reduced):
        return None
    made = Group(kind, (*group.computes, mine), extents, group.reduced | reduced, group.local)
    return made if _is_sound(made) else None


def _is_sound(group: Group) -> bool:
    """Every Compute whose result may leave covers all dims but the lanes; a column reduction ends its
    group.
    """
    rings = [c for c in group.computes if ring_entry(c) is not None]
    if any(apart_entry(c) is not None for c in rings) and len(group.computes) > 1:
        return False
    if rings and (group.reduced or any({d.name for d in c.dims} != group.dims for c in rings)):
        return False  # messages would be sent in every pass over a row, or again for every row
    leaving = [c for c in group.computes if c.outs[0].value not in group.local]
    missing = {group.dims - {d.name for d in c.dims} for c in leaving} - {frozenset()}
    if len(missing) > 1 or (missing and group.reduced and missing != {group.reduced}):
        return False
    if group.kind == "column":
        results = {o.value for c in group.computes for o in c.outs if o.combiner is not None}
        return not missing and not any(a.value in results for c in group.computes for a in c.ins)
    return True
