"""Maxima of rows taken where the rows are made: the epilogue of a product gives the largest value of every
block of columns, and a small phase behind it the largest of these.

What runs on the rows afterwards then walks them once, not twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from headrace.schedule.graph import Access, Axis, Compute, Dim, Out, Scalar
from headrace.schedule.phases.fuse import Group, alone
from headrace.schedule.phases.names import Names

GRAIN = 64
"""Columns come in multiples of this, what a matrix unit or a vector takes at once, and have one maximum."""


@dataclass(frozen=True)
class Peaks:
    """The maxima of blocks: the `value` that holds them, a row of them for each of the `rows` of a strip."""

    value: str
    rows: int


def largest(product: Group, front: Sequence[Group]) -> Compute | None:
    """Return the Compute that takes the maxima of a product's rows first of all phases `front` on them; None
    if there is none, or the columns do not come in whole blocks.
    """
    if not front or not front[0].computes or front[0].kind != "vector":
        return None
    compute = front[0].computes[0]
    reduced = [d.name for d in compute.dims if d.kind == "reduction"]
    if len(compute.ins) != 1 or len(compute.outs) != 1 or len(reduced) != 1 or len(compute.dims) != 2:
        return None
    (access,), (out,) = compute.ins, compute.outs
    made = product.produced.get(access.value, ())
    is_plain = compute.body[out.result].op == "in" and out.combiner == "max" and isinstance(out.init, float)
    is_whole = all(a.dim is not None and not a.offset for a in (*access.axes, *made))
    if not is_plain or not is_whole or len(made) != 2 or access.axes[1].dim != reduced[0]:
        return None
    extent = product.extents[made[1].dim or ""]
    is_all = [d.extent for d in compute.dims if d.name == reduced[0]] == [extent]
    return compute if is_all and extent % GRAIN == 0 and len(front[0].computes) > 1 else None


def columns(product: Group, front: Sequence[Group]) -> int:
    """Return the columns of a product whose maxima are taken, 0 if they are not."""
    found = largest(product, front)
    return next((d.extent for d in found.dims if d.kind == "reduction"), 0) if found is not None else 0


def grain(group: Group) -> int:
    """Return what the columns of a product's blocks are a multiple of: `GRAIN` if it gives their maxima."""
    return GRAIN if peaks_of(group) else 1


def peaks_of(group: Group) -> frozenset[str]:
    """Return the results of a product that are maxima of blocks."""
    epilogue = [c for c in group.computes if c.contraction is None] if group.kind == "contract" else []
    reducing = [c for c in epilogue if any(d.kind == "reduction" for d in c.dims)]
    return frozenset(o.value for c in reducing for o in c.outs)


def new_peaks(rows: int, columns: int, out: Out, names: Names) -> Peaks:
    """Return a place for the maxima of `rows` rows of at most so many columns, whose value is like that of
    `out`. A product writes it for every grain of its columns, however wide its blocks are: what a product of
    other rows left there is never read.
    """
    made = names.fresh("peaks", replace(names.values[out.value], shape=(rows, columns // GRAIN)))
    names.computed.add(made.name)
    names.stripped.add(made.name)
    return Peaks(made.name, rows)


def peaked(
    product: Group, front: Sequence[Group], compute: Compute, peaks: Peaks
) -> tuple[Group, list[Group]]:
    """Return the product with the maxima of its blocks, and the phases behind it with those of rows taken
    from these.
    """
    (access,), (out,) = compute.ins, compute.outs
    axes = product.produced[access.value]
    row, column = (a.dim or "" for a in axes)
    dtype = compute.body[out.result].dtype
    body = (Scalar("in", (), dtype, 0),)
    extents = product.extents
    most = Compute(
        (Dim(row, extents[row], "parallel"), Dim(column, extents[column], "reduction")),
        (Access(access.value, axes),),
        (Out(peaks.value, (Axis(row), Axis(None)), 0, "max", -inf),),
        body,
        where=compute.where,
        source="peaks",
    )
    ours, theirs = f"{peaks.value}.row", f"{peaks.value}.block"
    blocks = extents[column] // GRAIN
    of_rows = Compute(
        (Dim(ours, peaks.rows, "parallel"), Dim(theirs, blocks, "reduction")),
        (Access(peaks.value, (Axis(ours), Axis(theirs))),),
        (replace(out, axes=tuple(Axis(ours) for _ in out.axes), result=0),),
        body,
        where=compute.where,
        source=compute.source,
    )
    first = replace(front[0], computes=front[0].computes[1:])
    return replace(product, computes=(*product.computes, most)), [alone(of_rows, "vector"), first, *front[1:]]
