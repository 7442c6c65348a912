"""Two products of one factor whose results meet in one epilogue become one phase: the factor is read once for
both, and neither product ever leaves the scratchpad.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from headrace.schedule.graph import Access, Compute, Value
from headrace.schedule.phases.fuse import Group, renamed, unified

T = TypeVar("T")


def paired(
    items: Sequence[T], groups: Sequence[Group], values: Mapping[str, Value], fixed: Container[str]
) -> list[T]:
    """Return the items of a block with every product that the phase right behind it takes in gone.

    A phase takes in a product of the same left factor if only its epilogue reads the product's value, which
    is none of `fixed`; `groups` are all phases there are.
    """
    found: list[T] = []
    for item in items:
        first = found[-1] if found else None
        if isinstance(first, Group) and isinstance(item, Group):
            others = [group for group in groups if group is not first and group is not item]
            is_own = not any(v in fixed for v in first.produced)
            is_own = is_own and not any(v in first.produced for group in others for v in _read(group))
            made = _pair(first, item, values) if is_own else None
            if made is not None:
                found[-1] = made  # type: ignore[assignment]
                continue
        found.append(item)
    return found


def _read(group: Group) -> Iterator[str]:
    for compute in group.computes:
        yield from (access.value for access in compute.ins)
        yield from (out.init for out in compute.outs if isinstance(out.init, str))


def _pair(first: Group, second: Group, values: Mapping[str, Value]) -> Group | None:
    """The second phase with the product of the first, over its own dims; None if they do not fit."""
    if first.kind != "contract" or second.kind != "contract" or len(first.computes) > 1:
        return None
    product, (other, *epilogue) = first.computes[0], second.computes
    names = _matched(product, other, epilogue, second)
    if names is None or any(isinstance(o.init, str) for o in (*product.outs, *other.outs)):
        return None
    mine = renamed(product, names)
    if mine.contraction != other.contraction or mine.ins[0].axes != other.ins[0].axes:
        return None
    if values[mine.ins[1].value].dtype != values[other.ins[1].value].dtype:
        return None
    return replace(second, computes=(mine, *second.computes))


def _matched(
    product: Compute, other: Compute, epilogue: Sequence[Compute], second: Group
) -> dict[str, str] | None:
    """Dims of the product by those of the second phase: it is read where the other product's result is."""
    (out,) = product.outs
    uses = [access for compute in epilogue for access in compute.ins if access.value == out.value]
    left: tuple[Access, Access] = (product.ins[0], other.ins[0])
    if not uses or left[0].value != left[1].value or out.value in (a.value for a in other.ins):
        return None
    names: dict[str, str] = {}
    extents = {d.name: d.extent for d in product.dims}
    for ours, theirs in [*((use.axes, out.axes) for use in uses), (left[1].axes, left[0].axes)]:
        if not unified(ours, theirs, second.extents, extents, names):
            return None
    return names if names.keys() == extents.keys() else None
