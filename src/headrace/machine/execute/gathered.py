"""Loops of single transfers as one transfer: what another scheduler writes vector by vector.

A nest of loops around copies, reads or writes of which every iteration moves its own bytes does the same as
one transfer with the loops as further time dims. Nothing is promised about such a loop, so everything that
this needs is found in its boxes: addresses linear in the loop variables, targets that do not meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headrace.machine.image import Box, Copy, Dim, Index, Limit, Loop, Read, Stream, Transfer, Write

_MOST_STEPS = 1 << 20
"""Iterations up to which targets are compared one by one."""


@dataclass(frozen=True)
class Gathered:
    """Transfers that stand for a nest of loops; `trips` are the trip counts, outermost first."""

    nodes: tuple[Transfer, ...]
    trips: tuple[Index, ...]


def gathered(node: Loop) -> Gathered | None:
    """The transfers that do what a loop does, or None where it holds anything else or iterations may meet."""
    nest = nest_of(node)
    body = nest[-1].body
    if not body or _is_bound(node) or any(loop.step.constant is None for loop in nest):
        return None
    trips = tuple((l.upper - l.lower).apply("ceildiv", l.step).apply("max", 0) for l in nest)
    found: tuple[Transfer, ...] | None = None
    if all(isinstance(n, Copy) for n in body):
        found = _copies([n for n in body if isinstance(n, Copy)], nest, trips)
    elif all(isinstance(n, Read) for n in body):
        found = _streams([n for n in body if isinstance(n, Read)], nest, trips)
    elif all(isinstance(n, Write) for n in body):
        found = _streams([n for n in body if isinstance(n, Write)], nest, trips)
    return None if found is None else Gathered(found, trips)


def nest_of(node: Loop) -> list[Loop]:
    """A loop and the loops that are all there is inside it, as long as their bounds stand before it."""
    nest = [node]
    if _is_bound(node):
        return nest
    while len(nest[-1].body) == 1 and isinstance(nest[-1].body[0], Loop):
        inner = nest[-1].body[0]
        ivs = {loop.iv for loop in nest}
        if _is_bound(inner) or any(i.symbols & ivs for i in (inner.lower, inner.upper, inner.step)):
            break
        nest.append(inner)
    return nest


def _is_bound(loop: Loop) -> bool:
    """Whether iterations follow each other for another reason than the bytes they touch."""
    return bool(loop.carried or loop.indices or loop.is_data_dependent)


# ---- transfers ---------------------------------------------------------------------------------------------
def _copies(
    body: Sequence[Copy], nest: Sequence[Loop], trips: Sequence[Index]
) -> tuple[Transfer, ...] | None:
    out = []
    for node in body:
        source, target = _stretched(node.source, nest, trips), _stretched(node.target, nest, trips)
        is_apart = node.source.place.kind != node.target.place.kind
        if source is None or target is None or node.indirect is not None or not is_apart:
            return None
        if node.group is not None and node.group.symbols & {loop.iv for loop in nest}:
            return None
        out.append(replace(node, source=source, target=target))
    kinds = {(n.source.place.kind, n.target.place.kind) for n in body}
    return tuple(out) if len(kinds) == 1 and are_disjoint([n.target for n in body], nest) else None


def _streams(
    body: Sequence[Read] | Sequence[Write], nest: Sequence[Loop], trips: Sequence[Index]
) -> tuple[Transfer, ...] | None:
    """One read or write; of several in a body each must move one vector, or their order would change."""
    ivs = {loop.iv for loop in nest}
    streams: list[Stream] = []
    for node in body:
        if node.granularity != 1:
            return None
        for stream in node.streams:
            box = _stretched(stream.box, nest, trips)
            if box is None or stream.peer.symbols & ivs:
                return None
            if len(body) > 1 and any(d.extent.constant != 1 for d in stream.box.times):
                return None
            streams.append(replace(stream, box=box))
    if isinstance(body[0], Write) and not are_disjoint([s.box for n in body for s in n.streams], nest):
        return None
    return (replace(body[0], streams=tuple(streams)),)


# ---- boxes -------------------------------------------------------------------------------------------------
def _stretched(box: Box, nest: Sequence[Loop], trips: Sequence[Index]) -> Box | None:
    """A box with the loops as further time dims, slowest first; None if its address is not linear in them."""
    ivs = {loop.iv for loop in nest}
    if box.address is not None or box.place.owner.symbols & ivs:
        return None
    if any(d.extent.symbols & ivs for d in (*box.times, *box.run)):
        return None
    base, dims = box.base, []
    for loop, trip in zip(nest, trips, strict=True):
        split = base.split(loop.iv)
        if split is None:
            return None
        base = split[1] + loop.lower * split[0]
        dims.append(Dim(trip, split[0] * (loop.step.constant or 0)))
    limits = tuple(_limit(limit, nest, trips) for limit in box.limits)
    if None in limits:
        return None
    kept = tuple(limit for limit in limits if limit is not None)
    return replace(box, base=base, times=(*dims, *box.times), limits=kept)


def _limit(limit: Limit, nest: Sequence[Loop], trips: Sequence[Index]) -> Limit | None:
    """The least and the greatest position over all iterations."""
    low, high = limit.low, limit.high
    for loop, trip in zip(nest, trips, strict=True):
        parts = low.split(loop.iv), high.split(loop.iv)
        if parts[0] is None or parts[1] is None:
            return None
        last = loop.lower + (trip - 1) * (loop.step.constant or 0)
        low = parts[0][1] + (loop.lower if parts[0][0] >= 0 else last) * parts[0][0]
        high = parts[1][1] + (last if parts[1][0] >= 0 else loop.lower) * parts[1][0]
    return Limit(low, high, limit.size)


def are_disjoint(boxes: Sequence[Box], nest: Sequence[Loop]) -> bool:
    """Whether no two iterations, and no two of the boxes, touch a byte in common, as far as it is known."""
    places = {box.place for box in boxes}
    return all(_are_disjoint([b for b in boxes if b.place == place], nest) for place in places)


def _are_disjoint(boxes: Sequence[Box], nest: Sequence[Loop]) -> bool:
    trips = [_trip(loop) for loop in nest]
    if None in trips or np.prod([t or 0 for t in trips]) > _MOST_STEPS:
        return False
    starts: list[tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]]]] = []
    for box in boxes:
        difference = box.base - boxes[0].base
        span = _span(box)
        if difference.constant is None or span is None:
            return False
        at = np.full(1, difference.constant, np.int64)
        for loop, trip in zip(nest, trips, strict=True):
            split = box.base.split(loop.iv)
            if split is None:
                return False
            stride = split[0] * (loop.step.constant or 0)
            at = (at[:, None] + np.arange(trip or 0) * stride).reshape(-1)
        starts.append((span, at))
    low = np.concatenate([at for _, at in starts])
    high = np.concatenate([at + span for span, at in starts])
    order = np.argsort(low, kind="stable")
    return bool((high[order][:-1] <= low[order][1:]).all())


def _trip(loop: Loop) -> int | None:
    """The trip count of a loop, or the most it can be where the bounds are known only by range."""
    extent = (loop.upper - loop.lower).high
    return None if extent is None else max(0, -(-extent // (loop.step.constant or 1)))


def _span(box: Box) -> int | None:
    """Bytes from the first to the last one of all vectors of a box; None if it reaches backwards."""
    total = box.itemsize
    for dim in (*box.times, *box.run):
        extent = dim.extent.high
        if extent is None or dim.stride < 0:
            return None
        total += max(0, extent - 1) * dim.stride
    return total
