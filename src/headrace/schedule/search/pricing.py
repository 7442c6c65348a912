"""What phases cost: bytes of device memory, cycles of the units, the time to fill and drain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from headrace.arch.cost import ddr_cycles
from headrace.arch.device import Device
from headrace.arch.routes import unicast_rate
from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Linear
from headrace.schedule.phases.linear import values
from headrace.schedule.phases.multicast import distinct
from headrace.schedule.phases.shape import Operand
from headrace.schedule.plan import PhasePlan
from headrace.schedule.units import units

ALIGN_BYTES = 128


def rounded(size: int) -> int:
    """Return bytes rounded up to the alignment of buffers."""
    return -(-size // ALIGN_BYTES) * ALIGN_BYTES


@dataclass(frozen=True)
class Traffic:
    """Bytes of device memory by all cores together, the most one core moves alone each way, and the transfers
    a tile takes in and out; gathers load their indices first and wait for them, and neither gathers nor
    scatters are sent before the ones before them are done.
    """

    device: Device
    cores: int
    read: float = 0.0
    written: float = 0.0
    read_alone: float = 0.0
    written_alone: float = 0.0
    loads: int = 0
    stores: int = 0
    gathers: int = 0
    scatters: int = 0

    def reading(
        self, elements: int, run: int, operand: Operand, shared: bool, is_once: bool = False
    ) -> Traffic:
        """Return the traffic with one more operand of `elements` per core in runs of `run` elements, loaded
        tile by tile or all at once. A gather sends a request a run at least.
        """
        size = itemsize(operand.dtype)
        count = elements * size * self._waste(run * size)
        times = distinct(operand.surface.base, self.cores, self.device) if shared else self.cores
        alone = 0.0 if shared else count
        if operand.index is not None:
            alone = self._requested(units(self.device).loader, elements * size, run * size) or count
        return replace(
            self,
            read=self.read + count * times,
            read_alone=self.read_alone + alone,
            loads=self.loads + (not is_once),
            gathers=self.gathers + (operand.index is not None),
        )

    def writing(self, elements: int, run: int, operand: Operand) -> Traffic:
        """Return the traffic with one more result; a scatter sends a request a run at least."""
        size, is_scattered = itemsize(operand.dtype), operand.index is not None
        count = elements * size * self._waste(run * size)
        alone = count
        if is_scattered:
            alone = self._requested(units(self.device).storer, elements * size, run * size) or count
        return replace(
            self,
            written=self.written + count * self.cores,
            written_alone=self.written_alone + alone,
            loads=self.loads + is_scattered,
            stores=self.stores + 1,
            scatters=self.scatters + is_scattered,
        )

    def _requested(self, kind: str, size: int, run_bytes: int) -> float:
        """Bytes as whole requests of a unit, `run_bytes` of `size` at a time; 0 if it makes none."""
        request = self.device.unit(kind).request_bytes or 0
        return size / run_bytes * ceil(run_bytes / request) * request if request else 0.0

    def _waste(self, run_bytes: int) -> float:
        """Bytes moved over bytes wanted where a run is shorter than an access of device memory."""
        return max(1.0, self.device.memory("global").access_bytes / max(1, run_bytes))


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


def phase_cycles(
    plan: PhasePlan, parts: Mapping[str, float], traffic: Traffic, trips: int, device: Device
) -> PhasePlan:
    """Return the plan with its predicted cycles: the slowest resource, plus the first tile's way in and the
    last's out.

    A buffer is free for the next tile when what came into it is worked off, and full again a way to device
    memory later: with few copies, that round sets the pace.
    """
    every = dict(parts) | {"ddr": memory_cycles(traffic, device)}
    tiles = max(1, trips)
    setup = device.unit(units(device).loader).setup_cycles
    signals = 2 * device.signal_cycles
    wait = device.cycles(device.memory("global").latency_ns) + signals
    ways = sum(wait if moved else signals for moved in (traffic.read, traffic.written))
    issue = {
        "in": setup * traffic.loads + (setup + wait) * traffic.gathers,
        "out": setup * traffic.stores + wait * traffic.scatters,
    }
    through, moved = sum(parts.values()) / tiles, every["ddr"] / tiles
    fenced = {"in": traffic.gathers, "out": traffic.scatters}
    apart = max(n + moved if fenced[way] else n for way, n in issue.items())
    last = through + sum(issue.values()) + ways
    last += max(moved, apart_cycles(traffic, device) / tiles)
    if plan.copies.get("in", 1) > 1 or trips == 1:
        rounds = [(n + wait + moved + through) / plan.copies.get(k, 1) for k, n in issue.items()]
        worked = max(parts.values(), default=0.0) / tiles + device.signal_cycles
        total = last + (tiles - 1) * max(moved, worked, apart, *rounds)
    else:
        total = tiles * last
    return replace(plan, cycles=total, parts={k: round(v, 1) for k, v in every.items()})


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


def apart_cycles(traffic: Traffic, device: Device) -> float:
    """Return the cycles device memory needs when all writes come after all reads."""
    rate = rates(device)
    turned = traffic.written * rate.write + rate.turnaround * min(traffic.read, traffic.written)
    reads = max(traffic.read * rate.read, traffic.read_alone * rate.loader)
    return reads + max(turned, traffic.written_alone * rate.storer)
