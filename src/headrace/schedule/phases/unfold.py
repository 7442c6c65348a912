"""Factors of a contraction over several dims that are not one run are laid out in the scratchpad.

The windows of a convolution are such: laid out, it is one product of matrices. Windows overlap: what all of
them cover is loaded once, and every place of the window is copied from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import (
    Access,
    Axis,
    Compute,
    Dim,
    Handover,
    Linear,
    Load,
    Loop,
    Out,
    Scalar,
    Store,
    Value,
    View,
)
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block, identity
from headrace.schedule.phases.storage import Surface, of_access, packed, surface

Part = Load | Compute
LONG = 128
"""Elements of a run from which on products place by place keep a unit busy while the next ones load."""


def unfolded(block: Block, names: Names, room: int) -> Block:
    """Return the block with such factors copied, as far as `room` bytes of the scratchpad hold them."""
    stored = {s.view.arg for s in _all(block) if isinstance(s, Store)}
    return _unfolded(block, names, room, stored)


def _unfolded(block: Block, names: Names, room: int, stored: set[str]) -> Block:
    made: list[Load | Store | Compute | Loop | Handover] = []
    for statement in block.statements:
        if isinstance(statement, Compute) and statement.contraction is not None:
            before, statement = _laid_out(statement, names, room, stored)
            made += before
        made.append(statement)
    bodies = {name: _unfolded(body, names, room, stored) for name, body in block.bodies.items()}
    return Block(tuple(made), bodies)


def _all(block: Block) -> list[object]:
    return [*block.statements, *(s for body in block.bodies.values() for s in _all(body))]


def _laid_out(compute: Compute, names: Names, room: int, stored: set[str]) -> tuple[list[Part], Compute]:
    """The copies in front of a contraction and the contraction that reads them."""
    roles = compute.contraction
    assert roles is not None
    extents = {d.name: d.extent for d in compute.dims}
    loads = [names.loads.get(a.value) for a in compute.ins[:2]]
    if len(roles.k) < 2 or any(load is None or load.indirect for load in loads):
        return [], compute
    walks = [surface(of_access(load), a.axes) for load, a in zip(loads, compute.ins, strict=False) if load]
    orders = [_run(walk, roles.k, extents) for walk in walks]
    if orders[0] == orders[1] and orders[0] is not None:
        return [], compute
    order = orders[1] or orders[0] or tuple(roles.k)
    before: list[Part] = []
    ins = list(compute.ins)
    for side, (load, walk) in enumerate(zip(loads, walks, strict=True)):
        if orders[side] == order:
            continue
        size = itemsize(names.values[ins[side].value].dtype)
        elements = prod(extents[d] for d in walk.dims)
        overlaps = load is not None and prod(_box(of_access(load).strides, _shape(load, names))[1]) < elements
        if load is None or elements * size * 2 > room or not (overlaps or extents[order[-1]] < LONG):
            return [], compute
        found, ins[side] = _copied(ins[side], load, walk, order, extents, names, stored)
        before += found
    return before, replace(compute, ins=tuple(ins))


def _shape(load: Load, names: Names) -> tuple[int, ...]:
    return names.values[load.value].shape


def _run(walk: Surface, dims: Sequence[str], extents: Mapping[str, int]) -> tuple[str, ...] | None:
    """The dims in the order in which they are one run of equal steps, None if they are not."""
    order = tuple(sorted(dims, key=lambda d: -walk.stride(d)))
    steps = [walk.stride(d) for d in order]
    pairs = zip(steps, steps[1:], order[1:], strict=False)
    return order if all(outer == inner * extents[d] for outer, inner, d in pairs) and steps[-1] else None


def _copied(
    access: Access,
    load: Load,
    walk: Surface,
    order: tuple[str, ...],
    extents: Mapping[str, int],
    names: Names,
    stored: set[str],
) -> tuple[list[Part], Access]:
    """The copy of a factor in which the dims of `order` are one run and the others lie inside of it."""
    before: list[Part] = []
    source = access.value
    if load.view.arg not in stored:
        before, source = _covered(access, load, names)
    others = [d for d in walk.dims if d not in order]
    dims = (*order, *others)
    value = names.values[access.value]
    kept = names.fresh(f"{access.value}.unfolded", replace(value, shape=tuple(extents[d] for d in dims)))
    names.count += 1
    mine = {d: f"unfold{names.count}.{k}" for k, d in enumerate(dims)}
    read = tuple(replace(a, dim=mine[a.dim] if a.dim in mine else None) for a in access.axes)
    body = (Scalar("in", (), value.dtype, 0, value.where),)
    copy = Compute(
        tuple(Dim(mine[d], extents[d], "parallel") for d in dims),
        (Access(source, read),),
        (Out(kept.name, tuple(Axis(mine[d]) for d in dims), 0),),
        body,
        where=value.where,
        source="copy",
    )
    names.computed.add(kept.name)
    names.apart.add(kept.name)
    return [*before, copy], Access(kept.name, tuple(Axis(d) for d in dims))


def _covered(access: Access, load: Load, names: Names) -> tuple[list[Part], str]:
    """A load of all that overlapping windows cover, its copy in the scratchpad, and the windows as an alias
    of it; nothing, and the value itself, where nothing overlaps.
    """
    place, value = of_access(load), names.values[access.value]
    steps, extents, walk = _box(place.strides, value.shape)
    if prod(extents) >= prod(value.shape):
        return [], access.value
    where = load.where
    raw = names.fresh(f"{value.name}.covered", Value(value.name, extents, value.dtype, value.where))
    view = View(load.view.arg, place.base, value.dtype, extents, steps, load.view.space, where)
    whole = Load(raw.name, view, (Linear(),) * len(extents), tuple(range(len(extents))), (), where)
    names.loads[raw.name] = whole
    kept = names.fresh(f"{value.name}.box", raw)
    names.computed.add(kept.name)
    names.apart.add(kept.name)
    windows = names.fresh(f"{value.name}.windows", value)
    names.aliases[windows.name] = kept.name
    inner = packed(extents)
    names.walks[windows.name] = tuple(0 if axis is None else factor * inner[axis] for axis, factor in walk)
    return [whole, identity(raw.name, kept, names)], windows.name


def _box(
    strides: Sequence[int], shape: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], list[tuple[int | None, int]]]:
    """(strides, extents) of the box that axes with these strides cover, and how each axis walks it: the dim
    of the box and the steps there. Axes that overlap walk one dim.
    """
    steps: list[int] = []
    extents: list[int] = []
    walk: list[tuple[int | None, int]] = [(None, 0)] * len(strides)
    for axis in sorted(range(len(strides)), key=lambda k: strides[k]):
        stride, extent = strides[axis], shape[axis]
        if extent == 1 or stride == 0:
            continue
        if steps and stride % steps[-1] == 0 and stride < extents[-1] * steps[-1]:
            extents[-1] += (extent - 1) * stride // steps[-1]
        else:
            steps.append(stride)
            extents.append(extent)
        walk[axis] = (len(steps) - 1, stride // steps[-1])
    last = len(steps) - 1
    flipped: list[tuple[int | None, int]] = [(None if d is None else last - d, f) for d, f in walk]
    return tuple(reversed(steps)), tuple(reversed(extents)), flipped
