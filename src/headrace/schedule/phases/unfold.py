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
)
from headrace.schedule.phases.cover import Box, Part, box_of, boxed, windows
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block
from headrace.schedule.phases.storage import Storage, Surface, of_access, packed, surface

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
    places = [_place(a.value, names) for a in compute.ins[:2]]
    if len(roles.k) < 2 or any(place is None for place in places):
        return [], compute
    walks = [surface(place, a.axes) for place, a in zip(places, compute.ins, strict=False) if place]
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
        overlaps = load is not None and _box(load, names).elements < elements
        if elements * size * 2 > room or not (overlaps or extents[order[-1]] < LONG):
            return [], compute
        found, ins[side] = _copied(ins[side], load, walk, order, extents, names, stored)
        before += found
    return before, replace(compute, ins=tuple(ins))


def _place(value: str, names: Names) -> Storage | None:
    """Where a loaded value lies in memory, or a computed one in the scratchpad; None for gathers and
    reshapes.
    """
    load = names.loads.get(value)
    if load is not None:
        return None if load.indirect else of_access(load)
    found = names.values[value]
    is_own = value in names.computed and value not in names.aliases
    return Storage("lx", value, found.dtype, Linear(), packed(found.shape)) if is_own else None


def _box(load: Load, names: Names) -> Box:
    return box_of(of_access(load).strides, names.values[load.value].shape)


def _run(walk: Surface, dims: Sequence[str], extents: Mapping[str, int]) -> tuple[str, ...] | None:
    """The dims in the order in which they are one run of equal steps, None if they are not."""
    order = tuple(sorted(dims, key=lambda d: -walk.stride(d)))
    steps = [walk.stride(d) for d in order]
    pairs = zip(steps, steps[1:], order[1:], strict=False)
    return order if all(outer == inner * extents[d] for outer, inner, d in pairs) and steps[-1] else None


def _copied(
    access: Access,
    load: Load | None,
    walk: Surface,
    order: tuple[str, ...],
    extents: Mapping[str, int],
    names: Names,
    stored: set[str],
) -> tuple[list[Part], Access]:
    """The copy of a factor in which the dims of `order` are one run and the others lie inside of it."""
    before: list[Part] = []
    source = access.value
    if load is not None and load.view.arg not in stored:
        value, box = names.values[source], _box(load, names)
        if box.elements < prod(value.shape):
            before, whole = boxed(of_access(load), box, value, names)
            source = windows(whole, box, 0, value, names)
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
