"""What phases cost: bytes of device memory, cycles of the units, the time to fill and drain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from headrace.arch.cost import ddr_cycles
from headrace.arch.device import Device
from headrace.arch.routes import unicast_rate
from headrace.schedule.graph import Linear
from headrace.schedule.phases.linear import values
from headrace.schedule.phases.multicast import distinct
from headrace.schedule.plan import PhasePlan
from headrace.schedule.units import units

ALIGN_BYTES = 128


def rounded(size: int) -> int:
    """Return bytes rounded up to the alignment of buffers."""
    return -(-size // ALIGN_BYTES) * ALIGN_BYTES


@dataclass(frozen=True)
class Traffic:
    """Bytes of device memory by all cores together, and the most one core moves alone each way; whether an
    operand is gathered, so that its indices come first.
    """

    device: Device
    cores: int

    read: float = 0.0
    written: float = 0.0
    read_alone: float = 0.0
    written_alone: float = 0.0
    is_gathered: bool = False

    def reading(self, elements: int, run: int, size: int, base: Linear, shared: bool) -> Traffic:
        """Return the traffic with one more operand of `elements` per core in runs of `run` elements."""
        count = elements * size * _waste(run * size)
        times = distinct(base, self.cores, self.device) if shared else self.cores
        alone = 0.0 if shared else count
        return replace(self, read=self.read + count * times, read_alone=self.read_alone + alone)

    def writing(self, elements: int, run: int, size: int) -> Traffic:
        """Return the traffic with one more result."""
        count = elements * size * _waste(run * size)
        return replace(
            self, written=self.written + count * self.cores, written_alone=self.written_alone + count
        )


@lru_cache(maxsize=4096)
def rounding(base: Linear, cores: int, extent: int, run: int, size: int, access: int) -> float:
    """Return bytes of device memory touched over bytes wanted.

    Each of `cores` reads `extent` neighbouring elements of `size` bytes from its own base on, in runs of
    `run`; a run is rounded out to `access` bytes. Rows of the operand are taken to begin alike.
    """
    touched = 0
    starts = [value * size % access for value in values(base.const, cores)]
    for first in range(0, extent, run):
        length = min(run, extent - first) * size
        for start in starts:
            offset = (start + first * size) % access
            touched += -(-(offset + length) // access) * access
    return touched / (extent * size * cores) if extent else 1.0


def _waste(run_bytes: int, access_bytes: int = 64) -> float:
    return max(1.0, access_bytes / max(1, run_bytes)) if run_bytes < access_bytes else 1.0


def phase_cycles(
    plan: PhasePlan, parts: Mapping[str, float], traffic: Traffic, trips: int, device: Device
) -> PhasePlan:
    """Return the plan with its predicted cycles: the slowest resource, plus the first tile's way in and the
    last's out.
    """
    every = dict(parts) | {"ddr": memory_cycles(traffic, device)}
    memory = device.memory("global")
    setup = device.unit(units(device).loader).setup_cycles
    latency = device.cycles(memory.latency_ns) + setup
    tiles, ways = max(1, trips), 3 if traffic.is_gathered else 2
    if plan.copies.get("in", 1) > 1 or trips == 1:
        steady = max(max(every.values()), setup * trips)
        rest = sum(v for k, v in every.items()) / tiles - max(every.values()) / tiles
        total = steady + rest + ways * latency
    else:
        total = sum(every.values()) + ways * latency * tiles
    signals = 4 * device.signal_cycles
    return replace(plan, cycles=total + signals, parts={k: round(v, 1) for k, v in every.items()})


@dataclass(frozen=True)
class Rates:
    """Cycles of device memory a byte: read, written, in a mix, lost to turnaround, moved by one core."""

    read: float
    write: float
    shared: float
    turnaround: float
    loader: float
    storer: float

    def cycles(self, read: float, written: float, read_alone: float, written_alone: float) -> float:
        """Return the cycles for bytes of all cores, and not less than one core's own rate allows."""
        mixed = (read + written) * self.shared + self.turnaround * min(read, written)
        alone = max(read_alone * self.loader, written_alone * self.storer)
        return max(read * self.read, written * self.write, mixed, alone)


@lru_cache(maxsize=64)
def rates(device: Device) -> Rates:
    """Return the rates of a device."""
    probe = 1 << 30
    memory = device.memory("global")
    shared = 0.0
    if memory.sustained_gbps is not None:
        shared = 1 / device.bytes_per_cycle(memory.sustained_gbps)
    movers = (units(device).loader, units(device).storer)
    alone = [unicast_rate(device.unit(kind), device, False) for kind in movers]
    loader, storer = (1 / rate if rate else 0.0 for rate in alone)
    turnaround = device.cycles(memory.turnaround_ns_per_byte)
    read, write = ddr_cycles(probe, 0, device) / probe, ddr_cycles(0, probe, device) / probe
    return Rates(read, write, shared, turnaround, loader, storer)


def memory_cycles(traffic: Traffic, device: Device) -> float:
    """Return the cycles device memory needs for the traffic."""
    return rates(device).cycles(traffic.read, traffic.written, traffic.read_alone, traffic.written_alone)
