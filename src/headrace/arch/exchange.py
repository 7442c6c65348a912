"""What it costs cores to combine values that each of them has: round a ring, or through device memory."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.arch.cost import ddr_cycles
from headrace.arch.device import Device, Ring
from headrace.arch.routes import loaders, storers, vector_unit

RING_TYPES = ("f16", "bf16", "f32", "i32")
"""Types of values that pass over a ring."""


def circle_cycles(ring: Ring, ways: Sequence[int], rounds: int, size: float) -> float:
    """Return the cycles a core waits for `rounds` messages of `size` bytes round a circle whose neighbours
    are `ways` hops apart.

    A message needs its time on the wire and a latency a hop; the longest way of a cycle lies once on the way
    of every value. A queue that is full lets the next message go only when one has arrived, so that a long
    way carries no more than the queue holds in the time it takes.
    """
    rate = min((x.bandwidth for x in (ring.inject, ring.eject) if x.bandwidth), default=1 << 30)
    ends = ring.inject.latency_cycles + ring.eject.latency_cycles + size / rate
    longest = ends + max(ways) * ring.hops[0].latency_cycles
    shortest = ends + min(ways) * ring.hops[0].latency_cycles
    held = longest * size / (ring.inject.capacity_bytes or 1 << 30)
    return max(longest + (rounds - 1) * shortest, rounds * held)


def way_cycles(device: Device) -> float:
    """Return the cycles from a signal to the first bytes a loader brings from device memory."""
    setup = max(unit.setup_cycles for unit in loaders(device))
    return setup + device.cycles(device.memory("global").latency_ns) + 2 * device.signal_cycles


def combining_cycles(device: Device, parts: int, groups: int, dtype: str, size: float) -> float:
    """Return the cycles until each of `parts` neighbouring cores has the combination of the values of all, of
    `size` bytes and type `dtype` each; `groups` such groups do so at once.
    """
    through = 2 * way_cycles(device) + max(unit.setup_cycles for unit in storers(device))
    written = max(size, device.memory("global").access_bytes) * parts * groups
    through += ddr_cycles(int(written * parts), int(written), device)
    unit = vector_unit(device)
    ring = device.find_ring(unit.kind, unit.kind, 0) if unit is not None else None
    if ring is None or dtype not in RING_TYPES:
        return through
    back, _ = ring.distance(parts - 1, 0, device.cores)
    return min(through, circle_cycles(ring, (1, back), parts - 1, size))
