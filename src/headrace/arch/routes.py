"""Which units move data between which memories and units: questions about a Device, answered from its
links.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache

from headrace.arch.device import Device, Link, Unit, canonical
from headrace.ir.diagnostics import Diagnostic, HeadraceError


@dataclass(frozen=True)
class MatrixFeeds:
    """The readers that feed a matrix unit, by what they bring; several roles may fall on one unit."""

    weights: Unit
    activations: Unit
    partial_sums: Unit


def sources_of(kind: str, device: Device) -> list[Link]:
    """Return the links that end at a unit or memory kind, in the order of the file."""
    return [link for link in device.links if canonical(link.target) == canonical(kind)]


def targets_of(kind: str, device: Device) -> list[Link]:
    """Return the links that start at a unit or memory kind, in the order of the file."""
    return [link for link in device.links if canonical(link.source) == canonical(kind)]


def movers(source: str, target: str, device: Device) -> list[Unit]:
    """Return the units with a link from `source` and a link to `target` (kinds of memories or units)."""
    return [
        unit
        for unit in device.units
        if device.find_link(source, unit.kind) is not None and device.find_link(unit.kind, target) is not None
    ]


def loaders(device: Device) -> list[Unit]:
    """Return the DMA units that move device memory into the scratchpad."""
    return movers("global", "ct_local", device)


def storers(device: Device) -> list[Unit]:
    """Return the DMA units that move the scratchpad to device memory."""
    return movers("ct_local", "global", device)


def pullers(device: Device) -> list[Unit]:
    """Return the units that bring another core's scratchpad into their own over a ring."""
    ejecting = {ring.target for ring in device.rings}
    return [
        unit for unit in device.units if unit.kind in ejecting and device.find_link(unit.kind, "ct_local")
    ]


def readers(compute: Unit, device: Device) -> list[Unit]:
    """Return the units that read the scratchpad for a compute unit."""
    return movers("ct_local", compute.kind, device)


def writers(compute: Unit, device: Device) -> list[Unit]:
    """Return the units that write a compute unit's results to the scratchpad."""
    return movers(compute.kind, "ct_local", device)


def vector_unit(device: Device) -> Unit | None:
    """Return the compute unit with lanes, or None."""
    return next((unit for unit in device.units if unit.is_compute and unit.lanes), None)


def matrix_unit(device: Device) -> Unit | None:
    """Return the compute unit that contracts, or None."""
    return next((unit for unit in device.units if unit.matrix is not None), None)


@lru_cache(maxsize=64)
def matrix_feeds(device: Device) -> MatrixFeeds:
    """Return which reader brings weights, activations and partial sums to the matrix unit.

    Weights come through the deepest queue (it holds the next block); partial sums through the reader that
    also feeds the vector unit; activations through the one that is left. Raises HeadraceError if there is
    no matrix unit.
    """
    unit = matrix_unit(device)
    if unit is None:
        raise HeadraceError(Diagnostic(f"device {device.name} has no matrix unit"))
    feeding = readers(unit, device)
    if not feeding:
        raise HeadraceError(
            Diagnostic(f"no unit reads the scratchpad for {unit.kind} on device {device.name}")
        )
    weights = max(feeding, key=lambda reader: device.link(reader.kind, unit.kind).capacity_bytes or 0)
    others = [reader for reader in feeding if reader is not weights] or [weights]
    vector = vector_unit(device)
    shared = [reader for reader in others if vector and device.find_link(reader.kind, vector.kind)]
    partial_sums = shared[0] if shared else others[0]
    activations = next((reader for reader in others if reader is not partial_sums), others[0])
    return MatrixFeeds(weights, activations, partial_sums)


def path(source: str, target: str, device: Device) -> tuple[Link, ...]:
    """Return the links of the shortest route between two kinds, ties by order of the file; () if there is
    none.
    """
    start, goal = canonical(source), canonical(target)
    reached: dict[str, tuple[Link, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here == goal:
            return reached[here]
        for link in targets_of(here, device):
            there = canonical(link.target)
            if there not in reached:
                reached[there] = (*reached[here], link)
                queue.append(there)
    return ()


def link_rate(link: Link, device: Device) -> float | None:
    """Return the bytes per cycle a link carries, None if the file states no limit."""
    rates = [float(link.bandwidth)] if link.bandwidth is not None else []
    if link.sustained_gbps is not None:
        rates.append(device.bytes_per_cycle(link.sustained_gbps))
    return min(rates, default=None)


def unicast_rate(unit: Unit, device: Device, is_multicast: bool = False) -> float | None:
    """Return the bytes per cycle one DMA unit moves alone: its links, and its requests in flight over the
    latency.

    The requests of a multicast are answered together and are not held to `outstanding`.
    """
    links = sources_of(unit.kind, device) + targets_of(unit.kind, device)
    rates = [rate for link in links if (rate := link_rate(link, device)) is not None]
    latency = request_latency(unit, device)
    if not is_multicast and unit.outstanding and unit.request_bytes and latency:
        rates.append(unit.outstanding * unit.request_bytes / latency)
    return min(rates, default=None)


def request_latency(unit: Unit, device: Device) -> float:
    """Return the cycles from a DMA unit's request to its first byte: latency of the memory it moves from or
    to.
    """
    for memory in device.memories:
        ends = (device.find_link(memory.kind, unit.kind), device.find_link(unit.kind, memory.kind))
        if memory.per == "device" and any(ends):
            return device.cycles(memory.latency_ns)
    return 0.0
