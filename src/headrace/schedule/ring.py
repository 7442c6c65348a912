"""Values that pass from core to core between vector units: entries "ring.NAME" of a body.

`attr` of such an entry lists the pairs (core that sends, core that receives); they close to cycles of equal
length. "ring.pass" is the value of the core before; "ring.add", "ring.max" and so on combine the values of
the whole cycle: every core sends on what came last and adds it to its own sum. An entry stands alone in its
Compute, on an input as it is. Where the cores of a cycle do other things beside (one of them wants the sum),
the pairs are `Apart`: the Compute is a phase by itself, planned alike whatever is around it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from headrace.arch.device import Device, Ring
from headrace.arch.exchange import circle_cycles
from headrace.arch.routes import vector_unit
from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Compute, CoreClass, Loop, Scalar, Statement

PREFIX = "ring."
PASS = "ring.pass"
Pairs = tuple[tuple[int, int], ...]
FEW = 4
"""Steps that one corelet does alone if its way round the ring is shorter."""
MESSAGES = 64
"""Messages of a tile of a phase that only exchanges values."""


@dataclass(frozen=True)
class Apart:
    """Pairs of cores in different classes."""

    pairs: Pairs


@dataclass(frozen=True)
class Use:
    """How many cores a ring joins (0: none), and whether cores that exchange values may differ otherwise."""

    cores: int = 0
    parting: bool = False


def uses(device: Device, without: Collection[str]) -> list[Use]:
    """Return the ways to use the ring of a device, the most first, the last one not at all."""
    cores = 0 if "ring" in without else ring_cores(device)
    return [Use(cores, True), Use(cores), Use()] if cores else [Use()]


def is_used(body: Iterable[Statement]) -> bool:
    """Return whether any values pass between cores over a ring."""
    return any(
        is_used(s.body) if isinstance(s, Loop) else isinstance(s, Compute) and ring_entry(s) is not None
        for s in body
    )


def is_sound(use: Use, classes: Sequence[CoreClass]) -> bool:
    """Return whether all cores that exchange values do so alike."""
    return not use.cores or (not any(map(is_parted, classes)) and is_met_alike(classes))


def ring_cores(device: Device) -> int:
    """Return how many cores a ring joins by the vector units of all corelets: all of the device's, or 0."""
    unit = vector_unit(device)
    if unit is None or any(device.find_ring(unit.kind, unit.kind, c) is None for c in range(device.corelets)):
        return 0
    return device.cores


def is_ring(entry: Scalar) -> bool:
    """Return whether an entry passes values between cores."""
    return entry.op.startswith(PREFIX)


def ring_entry(compute: Compute) -> Scalar | None:
    """Return the entry by which a Compute passes values between cores, None if it does not."""
    return next((s for s in compute.body if is_ring(s)), None)


def is_parted(part: CoreClass) -> bool:
    """Return whether cores of a class exchange values with cores outside of it, or in loops that do not run
    equally often on all.
    """
    return any(not ok for ok in _whole(part.body, set(part.cores)))


def _whole(body: Iterable[Statement], cores: set[int]) -> Iterator[bool]:
    for statement in body:
        if isinstance(statement, Loop):
            found = list(_whole(statement.body, cores))
            trip = statement.trip
            is_even = isinstance(trip, int) or len(set(trip.values)) == 1
            yield all(found) and (is_even or not found)
        elif isinstance(statement, Compute) and (entry := ring_entry(statement)) is not None:
            is_apart = isinstance(entry.attr, Apart)
            yield is_apart or all((a in cores) == (b in cores) for a, b in pairs_of(entry))


def pairs_of(entry: Scalar) -> Pairs:
    """Return the pairs (core that sends, core that receives) of an entry."""
    found = entry.attr.pairs if isinstance(entry.attr, Apart) else entry.attr
    assert isinstance(found, tuple)
    return found


def apart_entry(compute: Compute) -> Scalar | None:
    """Return the entry of a Compute that is a phase by itself, None if it is none."""
    entry = ring_entry(compute)
    return entry if entry is not None and isinstance(entry.attr, Apart) else None


def is_met_alike(classes: Sequence[CoreClass]) -> bool:
    """Return whether all cores that exchange values apart come to the same exchanges in the same order."""
    met: dict[int, list[object]] = {}
    pairs: set[tuple[int, int]] = set()
    for part in classes:
        marks: list[object] = []
        for s in part.body:
            entry = apart_entry(s) if isinstance(s, Compute) else None
            if isinstance(s, Compute) and entry is not None:
                marks.append((entry.op, entry.attr, entry.dtype, [d.extent for d in s.dims]))
                pairs |= set(pairs_of(entry))
        met |= dict.fromkeys(part.cores, marks)
    return all(met.get(a) == met.get(b) for a, b in pairs)


def by_corelet(entry: Scalar, device: Device, kind: str) -> tuple[Pairs, ...]:
    """Return the pairs for every corelet: those of the entry, backwards where values of all are combined and
    the ring of the corelet leads the other way round.
    """
    pairs = pairs_of(entry)
    found = []
    for corelet in range(device.corelets):
        ring = device.find_ring(kind, kind, corelet)
        ways = [pairs] if entry.op == PASS else [pairs, tuple((b, a) for a, b in pairs)]

        def way_round(way: Pairs, ring: Ring | None = ring) -> int:
            return sum(ring.distance(a, b, device.cores)[0] for a, b in way) if ring is not None else 0

        found.append(min(ways, key=way_round))
    return tuple(found)


def nearest(computes: Iterable[Compute], steps: int, device: Device, kind: str) -> int | None:
    """Return the corelet that passes the values of a few steps on for both, because the ring of the other one
    leads the long way round; None: they share the work, as one ring could not carry much more.
    """
    passed = [e for c in computes if (e := ring_entry(c)) is not None and e.op == PASS]
    rings = [device.find_ring(kind, kind, corelet) for corelet in range(device.corelets)]
    if not passed or len(rings) != 2 or steps > FEW:
        return None
    ways = []
    for ring in rings:
        if ring is None:
            return None
        found = [ring.distance(a, b, device.cores)[0] for e in passed for a, b in pairs_of(e)]
        ends = ring.inject.latency_cycles + ring.eject.latency_cycles
        ways.append(ends + sum(found) / len(found) * ring.hops[0].latency_cycles)
    near = ways.index(min(ways))
    return near if 2 * ways[near] < ways[1 - near] else None


def hops(entry: Scalar) -> int:
    """Return how often every core sends: once, or once less than the cycle has cores."""
    if entry.op == PASS:
        return 1
    following = dict(pairs_of(entry))
    first = core = next(iter(following))
    count = 0
    while (core := following[core]) != first:
        count += 1
    return count


def message_bytes(device: Device, kind: str) -> int | None:
    """Return the most bytes one message on the ring may have, None if there is no limit: all cores send
    before they receive, so a message has to fit the queue.
    """
    ring = device.find_ring(kind, kind)
    return ring.inject.capacity_bytes if ring is not None else None


def message_lanes(computes: Sequence[Compute], device: Device, kind: str) -> int | None:
    """Return the most lanes a step of these Computes may have, None if there is no limit."""
    passed = [s for c in computes if (s := ring_entry(c)) is not None]
    most = message_bytes(device, kind) if passed else None
    return None if most is None else most // max(itemsize(s.dtype) for s in passed)


def exchanged(extent: int, lanes: int | None) -> tuple[int, int]:
    """Return the step and the tile of a phase that exchanges values between classes: the same in each."""
    step = min(extent, lanes or extent)
    return step, min(extent, step * MESSAGES)


def message_cycles(
    compute: Compute, elements: int, device: Device, kind: str, alone: int | None = None
) -> float:
    """Return the cycles a unit waits for the messages of a Compute, 0 if it sends none; on the corelet that
    works `alone`.
    """
    entry = ring_entry(compute)
    if entry is None:
        return 0.0
    found, size, rounds = 0.0, elements * itemsize(entry.dtype), hops(entry)
    for corelet, pairs in enumerate(by_corelet(entry, device, kind)):
        ring = device.find_ring(kind, kind, corelet)
        if ring is None or alone not in (None, corelet):
            continue
        ways = [ring.distance(a, b, device.cores)[0] for a, b in pairs]
        found = max(found, circle_cycles(ring, ways, rounds, size))
    return found
