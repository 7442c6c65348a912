"""Deliveries between tiles that run together: partial values are rows, combined for all groups at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import Operation

from headrace.semantics.batches.frame import BatchFrame, BatchLedger
from headrace.semantics.batches.run import CONTROL, Steps, run_block
from headrace.semantics.control import Wait
from headrace.semantics.frame import Nothing
from headrace.semantics.intertile import Future, groups_of, members

Key = tuple[Any, ...]
"""Which partial values: the produce op, which run of it, the group, the producer."""


def produce(frame: BatchFrame, op: Any) -> Steps:
    """The future; producers, who run apart from other tiles, leave their rows to be delivered."""
    number = frame.counts.get(op, 0)
    frame.counts[op] = number + 1
    future = Future(op, number, op.producer_tiles_per_group.data, op.future.type.groups.data)
    mine = frame.taped(lambda: _groups(frame, op, future))
    if any(len(found) > 1 for found in mine):
        raise frame.error(op, "a tile produces for several groups; groups are disjoint")
    frame.split([bool(found) for found in mine])
    if mine[0]:
        block = op.regions[0].block
        gid = np.asarray([found[0] for found in mine], np.int64)
        count = len(block.last_op.operands)
        values = yield from run_block(frame, block, [gid], [None] * count)
        if frame.touched is None:
            for row, (tile, found) in enumerate(zip(frame.tiles, mine, strict=True)):
                frame.launch.mail[op, number, found[0], int(tile)] = [v[row] for v in values]
    return [future]


def _groups(frame: BatchFrame, op: Any, future: Future) -> list[list[int]]:
    """For every row the groups it produces for."""
    tiles = frame.launch.tiles
    groups = {g: set(members(future.producers, tiles, (g,))) for g in groups_of(frame, op, future.groups)}
    return [[g for g, tiles in groups.items() if int(tile) in tiles] for tile in frame.tiles]


def _sources(frame: BatchFrame, op: Any, future: Future) -> list[tuple[Key, ...] | None]:
    """For every row what it is delivered, by producer in ascending order; None for no consumer."""
    tiles, chosen = frame.launch.tiles, op.producer_dependency_per_consumer
    found: list[tuple[Key, ...] | None] = [None] * frame.count
    for group in groups_of(frame, op, future.groups):
        consumers = set(members(op.consumer_tiles_per_group.data, tiles, (group,)))
        sources = members(future.producers, tiles, (group,))
        for row, tile in enumerate(map(int, frame.tiles)):
            if tile not in consumers or found[row] is not None:
                continue
            wanted = sources if chosen is None else members(chosen.data, tiles, (tile, group))
            if not set(wanted) <= set(sources):
                raise frame.error(op, f"tile {tile} depends on tiles {wanted}, group {group} has {sources}")
            found[row] = tuple((future.op, future.number, group, t) for t in wanted)
    return found


def _delivered(frame: BatchFrame, op: Operation, sources: Sequence[tuple[Key, ...]]) -> Steps:
    """Waits until all of it is there."""
    mail = frame.launch.mail
    keys = {key for found in sources for key in found}

    def missing() -> list[Key]:
        return [key for key in keys if key not in mail]

    if missing():
        yield Wait(op, lambda: not missing(), lambda: sorted(key[-1] for key in missing()))
    return ()


def reduce(frame: BatchFrame, op: Any) -> Steps:
    """The producers' values combined, once for all consumers of the same ones; elsewhere nothing."""
    if len(op.futures) != 1:
        raise frame.error(op, "more than one future is not supported")
    sources = frame.taped(lambda: _sources(frame, op, frame.get(op.futures[0])))
    frame.split([-1 if s is None else len(s) for s in sources])
    if sources[0] is None:
        return [Nothing("is not delivered to this tile") for _ in op.results]
    if frame.touched is not None:
        return [None] * len(op.results)
    if not sources[0]:
        return [frame.rows(v) for v in op.identities]
    yield from _delivered(frame, op, sources)  # type: ignore[arg-type]
    kinds: dict[Any, int] = {}
    of = [kinds.setdefault(found, len(kinds)) for found in sources]
    block, inner = op.regions[0].block, _apart(frame, [of.index(k) for k in range(len(kinds))])
    total: Sequence[Any] = _stacked(frame, [found[0] for found in kinds])
    for k in range(1, len(sources[0])):
        other = _stacked(frame, [found[k] for found in kinds])
        total = yield from run_block(inner, block, [*total, *other], [None] * len(total))
    frame.ledger.peak_bytes = max(frame.ledger.peak_bytes, inner.ledger.peak_bytes)
    return [value[of] for value in total]


def consume(frame: BatchFrame, op: Any) -> Steps:
    """The value of the one producer a consumer depends on; elsewhere nothing."""
    sources = frame.taped(lambda: _sources(frame, op, frame.get(op.future)))
    if any(s is not None and len(s) != 1 for s in sources):
        raise frame.error(op, "a consumer has not one producer")
    frame.split([s is None for s in sources])
    if sources[0] is None:
        return [Nothing("is not delivered to this tile") for _ in op.results]
    if frame.touched is not None:
        return [None] * len(op.results)
    yield from _delivered(frame, op, sources)  # type: ignore[arg-type]
    return _stacked(frame, [found[0] for found in sources if found is not None])


def _stacked(frame: BatchFrame, keys: Sequence[Key]) -> list[Any]:
    """The delivered values as rows."""
    return [np.stack(values) for values in zip(*(frame.launch.mail[key] for key in keys), strict=True)]


def _apart(frame: BatchFrame, rows: Sequence[int]) -> BatchFrame:
    """A frame of some of the rows to combine in: it reads what is around, and keeps its own books."""
    ledger = BatchLedger(len(rows), frame.varying, frame.ledger.bytes)
    coordinates: Any = tuple(np.asarray(c)[rows] for c in frame.coordinates)
    return replace(
        frame, tiles=frame.tiles[rows], coordinates=coordinates, values=dict(frame.values), ledger=ledger
    )


CONTROL.update(
    {
        "ktdp.inter_tile_produce": produce,
        "ktdp.inter_tile_reduce": reduce,
        "ktdp.inter_tile_consume": consume,
    }
)
