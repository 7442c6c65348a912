"""Communication between tiles: producing partial values and delivering them to the tiles of a group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.ir.affine import AffineSet

from headrace.semantics.affine import box, contains
from headrace.semantics.control import CONTROL, Steps, Wait, run_block
from headrace.semantics.frame import Frame, Nothing


@dataclass(frozen=True)
class Future:
    """What the `number`-th run of a produce op on every tile gives; `producers` and `groups` say which
    tiles take part."""

    op: Operation
    number: int
    producers: AffineSet
    groups: AffineSet


def groups_of(frame: Frame, op: Operation, groups: AffineSet) -> range:
    bounds = box(groups)
    if bounds is None or len(bounds) != 1 or None in bounds[0]:
        raise frame.error(op, "the groups of a future are no finite range")
    low, high = bounds[0]
    return range(low or 0, (high or 0) + 1)


@lru_cache(maxsize=4096)
def members(tiles: AffineSet, count: int, symbols: tuple[int, ...]) -> list[int]:
    """Which of `count` tiles are in a set `(tile)[symbols]`, in ascending order."""
    inside = contains(tiles, [np.arange(count)], symbols[: tiles.num_symbols])
    return [int(t) for t in np.flatnonzero(np.broadcast_to(inside, (count,)))]


def produce(frame: Frame, op: Any) -> Steps:
    """The future; the region runs on the producers of a group only."""
    number = frame.counts.get(op, 0)
    frame.counts[op] = number + 1
    future = Future(op, number, op.producer_tiles_per_group.data, op.future.type.groups.data)
    groups, tiles = groups_of(frame, op, future.groups), frame.launch.tiles
    mine = [g for g in groups if frame.tile in members(future.producers, tiles, (g,))]
    if len(mine) > 1:
        raise frame.error(op, f"tile {frame.tile} produces for groups {mine}; groups are disjoint")
    for group in mine:
        values = yield from run_block(frame, op.regions[0].block, [group])
        frame.launch.mail[op, number, group, frame.tile] = values
    return [future]


def _deliver(frame: Frame, op: Any, future: Future) -> Steps:
    """The partial values this tile consumes, by producer in ascending order; None first when it consumes
    nothing."""
    tiles = frame.launch.tiles
    for group in groups_of(frame, op, future.groups):
        if frame.tile not in members(op.consumer_tiles_per_group.data, tiles, (group,)):
            continue
        sources = members(future.producers, tiles, (group,))
        chosen = op.producer_dependency_per_consumer
        if chosen is not None:
            wanted = members(chosen.data, tiles, (frame.tile, group))
            if not set(wanted) <= set(sources):
                raise frame.error(
                    op, f"tile {frame.tile} depends on tiles {wanted}, group {group} has {sources}"
                )
            sources = wanted
        return (yield from _collect(frame, op, {t: (future.op, future.number, group, t) for t in sources}))
    return [None]


def _collect(frame: Frame, op: Operation, keys: dict[int, Any]) -> Steps:
    mail = frame.launch.mail

    def missing() -> list[int]:
        return [t for t, key in keys.items() if key not in mail]

    if missing():
        yield Wait(op, lambda: not missing(), missing)
    return [tuple(received(value) for value in mail[key]) for key in keys.values()]


def received(value: Any) -> Any:
    """What a consumer has of a delivered value: a buffer of its own."""
    return value.copy() if isinstance(value, np.ndarray) and value.ndim else value


def reduce(frame: Frame, op: Any) -> Steps:
    """The producers' values combined, on consumers; elsewhere nothing."""
    if len(op.futures) != 1:
        raise frame.error(op, "more than one future is not supported")
    partials = yield from _deliver(frame, op, frame.get(op.futures[0]))
    if partials == [None]:
        return [Nothing("is not delivered to this tile") for _ in op.results]
    if not partials:
        return [frame.get(v) for v in op.identities]
    total = partials[0]
    for other in partials[1:]:
        total = yield from run_block(frame, op.regions[0].block, [*total, *other])
    return list(total)


def consume(frame: Frame, op: Any) -> Steps:
    """The value of the one producer a consumer depends on; elsewhere nothing."""
    partials = yield from _deliver(frame, op, frame.get(op.future))
    if partials == [None]:
        return [Nothing("is not delivered to this tile") for _ in op.results]
    if len(partials) != 1:
        raise frame.error(
            op,
            f"tile {frame.tile} has {len(partials)} producers; one is needed",
            "name each consumer's producer with producer_dependency_per_consumer",
        )
    return list(partials[0])


CONTROL.update(
    {
        "ktdp.inter_tile_produce": produce,
        "ktdp.inter_tile_reduce": reduce,
        "ktdp.inter_tile_consume": consume,
    }
)
