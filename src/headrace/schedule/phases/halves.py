"""Long rows with several operands: statistics of a row first, then its elements in chunks that fit the
registers.

The two halves share the tile in the scratchpad; the single elements that cross (a maximum, a mean) go
through small
buffers there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headrace.schedule.graph import Compute, Linear
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.passes import covers, has_lane, live_bytes, row_bytes, row_passes
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.phases.storage import Storage, Surface


@dataclass(frozen=True)
class Halves:
    """`front` computes what crosses (one element a row), `back` the vectors that leave; `crossing` is
    between them.
    """

    front: Shape
    back: Shape
    crossing: tuple[Operand, ...]


def halves(shape: Shape, lane: str, room: int) -> Halves | None:
    """Return the halves of a phase whose rows do not fit `room` bytes of registers, None if it runs in one
    piece.
    """
    elements = shape.extents.get(lane, 1)
    if not shape.reduced or live_bytes(shape, lane, elements) <= room:
        return None
    last = row_passes(shape, lane, ())[-1]
    vectors = [o for o in last.reads if has_lane(o, lane)]
    leaving = {o.value for o in shape.outputs}
    wanted = [
        c for c, k in enumerate(shape.group.computes) if _is_vector(k, shape, lane) and _outs(k) & leaving
    ]
    if not wanted or len(vectors) <= 1 and sum(row_bytes(o, lane, 0) for o in last.reads) < room:
        return None
    back = _closure(shape, wanted, lambda k: _is_vector(k, shape, lane))
    needed = {a.value for c in back for a in _inner(shape, c)} - _values(shape, back)
    scalars = {o.value for o in shape.outputs} - _values(shape, back)
    sources = [c for c, k in enumerate(shape.group.computes) if _outs(k) & (needed | scalars)]
    front = _closure(shape, sources, lambda _: True)
    crossing = tuple(_operand(shape, value, lane) for value in sorted(needed))
    outputs = (*crossing, *(o for o in shape.outputs if o.value in scalars))
    return Halves(
        _part(shape, front, (), outputs),
        _part(shape, back, crossing, tuple(o for o in shape.outputs if o.value not in scalars)),
        crossing,
    )


def _outs(compute: Compute) -> set[str]:
    return {o.value for o in compute.outs}


def _values(shape: Shape, computes: Iterable[int]) -> set[str]:
    return {v for c in computes for v in _outs(shape.group.computes[c])}


def _is_vector(compute: Compute, shape: Shape, lane: str) -> bool:
    return covers(compute, shape, lane) and not any(d.kind == "reduction" for d in compute.dims)


def _inner(shape: Shape, number: int):  # type: ignore[no-untyped-def]
    compute = shape.group.computes[number]
    return [a for i, a in enumerate(compute.ins) if (number, i) not in shape.reads]


def _closure(shape: Shape, wanted: list[int], follow) -> list[int]:  # type: ignore[no-untyped-def]
    """Computes the wanted ones need through values of the step, as far as `follow` says."""
    producer = {v: c for c, k in enumerate(shape.group.computes) for v in _outs(k)}
    found: set[int] = set()
    stack = list(wanted)
    while stack:
        c = stack.pop()
        if c in found:
            continue
        found.add(c)
        for access in _inner(shape, c):
            source = producer[access.value]
            if follow(shape.group.computes[source]):
                stack.append(source)
    return sorted(found)


def _operand(shape: Shape, value: str, lane: str) -> Operand:
    compute = next(k for k in shape.group.computes if value in _outs(k))
    out = next(o for o in compute.outs if o.value == value)
    dtype = compute.body[out.result].dtype
    rows = [d for d in shape.extents if d != lane]
    strides: list[tuple[str, int]] = []
    step = 1
    for dim in reversed(rows):
        strides.append((dim, step))
        step *= shape.extents[dim]
    return Operand(
        value, dtype, Storage("tile", value, dtype, Linear(), ()), Surface(Linear(), tuple(strides))
    )


def _part(
    shape: Shape, chosen: list[int], crossing: tuple[Operand, ...], outputs: tuple[Operand, ...]
) -> Shape:
    computes = tuple(shape.group.computes[c] for c in chosen)
    by_value = {o.value: o for o in crossing}
    reads: dict[tuple[int, int], Operand] = {}
    for new, old in enumerate(chosen):
        for (c, i), operand in shape.reads.items():
            if c == old:
                reads[new, i] = operand
        for i, access in enumerate(computes[new].ins):
            if access.value in by_value:
                reads[new, i] = by_value[access.value]
    used = set(reads.values())
    inputs = (*(o for o in shape.inputs if o in used), *(o for o in crossing if o in used))
    reduces = any(d.kind == "reduction" for k in computes for d in k.dims)
    group: Group = replace(shape.group, computes=computes)
    return replace(
        shape,
        group=group,
        reads=reads,
        inputs=inputs,
        outputs=outputs,
        reduced=shape.reduced if reduces else frozenset(),
    )
