"""How full a scratchpad is over time: bytes that were written and will be read again.

The k-th slice of an op on a track of a traced run belongs to the k-th time its unit comes to the op, and that
says which bytes it reads or writes. A byte is occupied from the first write after a read to the last read
before the next write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.machine.boxes import Box
from headrace.machine.image import Image
from headrace.machine.nodes import Copy, Load, Node, Read, Store, Write, walk
from headrace.machine.timing.result import Interval, Timing
from headrace.machine.unrolled import Arrival, Unknown, arrivals, shape

LABELS = ("load", "store", "pull", "read", "write")
MOST = 1 << 24
"""Most pairs of accesses and distinct parts of the scratchpad that are looked at."""

Track = dict[tuple[str, Location], list[Interval]]
Told = dict[tuple[str, str, Location], tuple[Node, int]]
"""Track, label and place → the op, and how many slices it has."""


@dataclass(frozen=True)
class Access:
    """Bytes `low` to `high` (excluded) of the scratchpad, from `start` to `end` (cycles)."""

    start: float
    end: float
    low: int
    high: int
    is_write: bool


def occupancy(
    timing: Timing, image: Image, scalars: Mapping[str, float], core: int
) -> list[tuple[float, int]] | None:
    """Return the occupied bytes of a core's scratchpad as [(cycles, bytes from then on)] of a traced run.

    None where it is not known which access a slice is (vector code that reads the scratchpad itself, control
    that depends on data, ops without places in a text), or if that would take too long.
    """
    if any(isinstance(node, Load | Store) and node.box.place.kind == "ct_local" for node in _nodes(image)):
        return None
    try:
        found = list(_accesses(timing, image, scalars, core))
    except Unknown:
        return None
    if not found:
        return None
    edges = np.unique([edge for one in found for edge in (one.low, one.high)])
    if len(edges) * len(found) > MOST:
        return None
    columns = np.array([(one.start, one.end, one.low, one.high, one.is_write) for one in found], np.float64)
    columns = columns[np.lexsort((columns[:, 1], columns[:, 0]))]
    changes: dict[float, int] = {}
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        inside = columns[(columns[:, 2] <= low) & (columns[:, 3] >= high)]
        for start, end in _lives(inside):
            changes[start] = changes.get(start, 0) + int(high - low)
            changes[end] = changes.get(end, 0) - int(high - low)
    times = sorted(changes)
    return list(zip(times, np.cumsum([changes[time] for time in times]).tolist(), strict=True))


def _lives(accesses: Any) -> list[tuple[float, float]]:
    """When the bytes of a part are occupied: [start, end, ., ., is a write] in order of start."""
    if not len(accesses):
        return []
    writes = accesses[:, 4] > 0
    first = np.flatnonzero(np.concatenate([[True], writes[1:] & ~writes[:-1]]))
    ends = np.maximum.reduceat(accesses[:, 1], first)
    return list(zip(accesses[first, 0].tolist(), ends.tolist(), strict=True))


def _nodes(image: Image) -> Iterator[Node]:
    for schedule in image.schedules:
        for program in schedule.programs:
            yield from walk(program.body)


def _accesses(timing: Timing, image: Image, scalars: Mapping[str, float], core: int) -> Iterator[Access]:
    """The accesses to a scratchpad; raises Unknown if slices and arrivals do not match."""
    tracks: dict[str, Track] = {}
    for one in timing.intervals:
        tracks.setdefault(one.track, {}).setdefault((one.label, one.where), []).append(one)
    shown = {unit: track for track, units in timing.alike.items() for unit in units}
    told: Told = {}
    for arrival in arrivals(image, scalars):
        for label, box, is_write in _boxes(arrival.node):
            yield from _of_box(arrival, (label, box, is_write), tracks, shown, image, core, told)
    expected = {
        (track, *key): len(slices)
        for track, by_op in tracks.items()
        for key, slices in by_op.items()
        if key[0] in LABELS
    }
    if {key: slices for key, (_, slices) in told.items()} != expected:
        raise Unknown


def _of_box(
    arrival: Arrival,
    access: tuple[str, Box, bool],
    tracks: Mapping[str, Track],
    shown: Mapping[str, str],
    image: Image,
    core: int,
    told: Told,
) -> Iterator[Access]:
    """The accesses of one box of an op, those to other cores' scratchpads left out."""
    label, box, is_write = access
    length, outer = shape(box, arrival)
    size = length + sum(max(0, extent - 1) * stride for extent, stride in outer)
    starts, owners = arrival.values(box.base), arrival.values(box.place.owner)
    where = arrival.node.where  # type: ignore[union-attr]
    for member in np.unique(arrival.members):
        rows = np.flatnonzero(arrival.members == member)
        track = shown.get(image.instances[arrival.program.instances[member]].name, "")
        slices = _sorted(tracks.get(track, {}).get((label, where), []))
        parts, rest = divmod(len(slices), len(rows))
        key = track, label, where
        if rest or box.address is not None or told.setdefault(key, (arrival.node, 0))[0] is not arrival.node:
            raise Unknown
        told[key] = arrival.node, len(slices)
        for turn, row in enumerate(rows if parts else ()):
            if owners[row] == core and length:
                own = slices[turn * parts : (turn + 1) * parts]
                low = int(starts[row])
                yield Access(own[0].start, own[-1].end, low, low + size, is_write)


def _sorted(slices: list[Interval]) -> Sequence[Interval]:
    return sorted(slices, key=lambda one: one.start)


def _boxes(node: Node) -> Iterator[tuple[str, Box, bool]]:
    """(label of its slices, box, whether it is written) of a node's scratchpad accesses."""
    match node:
        case Copy():
            kinds = node.source.place.kind, node.target.place.kind
            label = "load" if kinds[0] == "global" else "store" if kinds[1] == "global" else "pull"
            if kinds[0] == "ct_local":
                yield label, node.source, False
            if kinds[1] == "ct_local":
                yield label, node.target, True
        case Read():
            yield from (("read", stream.box, False) for stream in node.streams)
        case Write():
            yield from (("write", stream.box, True) for stream in node.streams)
