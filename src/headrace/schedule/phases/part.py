"""Parts of loaded values: some rows or columns of them, brought into the scratchpad as a unit takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.schedule.graph import Access, Axis, Compute, Contraction, Dim, Linear, Load, Out, Scalar
from headrace.schedule.phases.linear import add
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import without_unit_dims

KEEP = "keep"
"""`Compute.source` of the copies that bring in what strips keep."""

LEAVE = "leave"
"""`Compute.source` of the copies that store what waited in the scratchpad."""


def part_of(access: Access, load: Load, cut: Mapping[str | None, tuple[Linear, int]], names: Names) -> str:
    """Return a new value for a part of what `load` loads, with its load: by dim of the access, where the part
    begins and its extent.
    """
    value = names.values[access.value]
    shape, origin = list(value.shape), list(load.origin)
    for axis, walked in enumerate(access.axes):
        if walked.dim in cut:
            start, shape[axis] = cut[walked.dim]
            place = load.axes[axis]
            assert place is not None
            origin[place] = add(origin[place], start)
    made = names.fresh(access.value, replace(value, shape=tuple(shape)))
    names.loads[made.name] = replace(load, value=made.name, origin=tuple(origin))
    return made.name


def kept_copy(
    source: Access,
    target: Access,
    extents: Mapping[str, int],
    names: Names,
    column: str | None = None,
    first: int = 0,
) -> Compute:
    """Return the Compute that copies `source` into `target`, from `first` on along `column`."""
    value = names.values[source.value]
    names.count += 1
    walked = [a.dim for a in target.axes if a.dim is not None]
    dims = {d: f"keep{names.count}.{k}" for k, d in enumerate(walked)}
    read = tuple(Axis(None if a.dim is None else dims[a.dim]) for a in source.axes)
    write = tuple(Axis(dims[d], first if d == column else 0) for d in walked)
    copy = Compute(
        tuple(Dim(dims[d], extents[d], "parallel") for d in walked),
        (Access(source.value, read),),
        (Out(target.value, write, 0),),
        (Scalar("in", (), value.dtype, 0, value.where),),
        where=value.where,
        source=KEEP,
    )
    return without_unit_dims(copy)


def as_it_lies(access: Access, load: Load) -> list[str]:
    """Return the dims of an access to a loaded value, large strides in device memory first."""
    places = {a.dim: load.axes[k] for k, a in enumerate(access.axes) if a.dim is not None}
    return sorted(places, key=lambda d: -load.view.strides[places[d] or 0])


def as_taken(contraction: Contraction, walked: Sequence[str]) -> list[str]:
    """Return the dims of a factor in the order in which a matrix unit keeps it: depth before what is free."""
    depth = [d for d in walked if d in contraction.k]
    free = [d for d in walked if d in (*contraction.m, *contraction.n)]
    return [*(d for d in walked if d not in depth and d not in free), *depth, *free]
