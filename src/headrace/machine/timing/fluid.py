"""Transfers in flight as fluid: everything that moves shares device memory, core ports and rings max-min
fairly.

All numbers are integers: bytes in units of 2**-32, time in ticks, rates in units per tick rounded down, so
that results are equal on every machine and never faster than the rates of the device.

Turnaround of device memory is a debt: a byte pays it when it makes min(bytes read so far, bytes written so
far) grow, that is, the bytes of the side that lags behind pay. The total is the rate times min(read,
written), whatever the order.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from headrace.arch.device import Device
from headrace.machine.timing.ticks import TICKS

UNIT = 1 << 32
"""Units of one byte."""
WEIGHT = 1 << 20
"""The cost of a plain byte of device memory; a byte that pays turnaround costs more."""
UNLIMITED = 1 << 80


@dataclass(frozen=True)
class Kind:
    """Flows of equal kind move at the same rate: side of device memory, own ceiling, shared resources with
    loads.
    """

    side: str
    ceiling: int
    resources: tuple[tuple[Hashable, int], ...] = ()


@dataclass(eq=False)
class Current:
    """All flows of one kind: how many real ones, how many simulated ones, how far each has come since it
    began.
    """

    kind: Kind
    count: int = 0
    simulated: int = 0
    progress: int = 0
    rate: int = 0
    ends: list[tuple[int, int, Any]] = field(default_factory=list)


def ceiling(bytes_per_cycle: float | None) -> int:
    """Return a rate in units per tick, rounded down."""
    return UNLIMITED if bytes_per_cycle is None else int(bytes_per_cycle * UNIT / TICKS)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


class Fluid:
    """The state of all transfers in flight; `start` and `advance` must be called in order of time."""

    def __init__(self, device: Device, capacities: dict[Hashable, int]) -> None:
        memory = device.memory("global")
        sustained = None if memory.sustained_gbps is None else device.bytes_per_cycle(memory.sustained_gbps)
        self.capacities = capacities
        self.shared = None if sustained is None else ceiling(sustained) * WEIGHT
        turnaround = device.cycles(memory.turnaround_ns_per_byte) * (sustained or 0.0)
        self.paying = math.ceil(round((1 + turnaround) * WEIGHT, 6))
        self.ports = {
            "read": ceiling(memory.read_bytes_per_cycle),
            "write": ceiling(memory.write_bytes_per_cycle),
        }
        self.now = 0
        self.lead = 0
        self._lowest = self._highest = 0
        self.currents: dict[Kind, Current] = {}
        self._serial = 0
        self._is_stale = False
        self._lead_rate = 0

    def start(self, kind: Kind, size: int, count: int, item: Any) -> None:
        """Begin `count` equal transfers of `size` bytes now; `item` is returned when they are done."""
        current = self.currents.setdefault(kind, Current(kind))
        if not current.simulated:
            current.progress = 0
        current.count += count
        current.simulated += 1
        self._serial += 1
        heapq.heappush(current.ends, (current.progress + size * UNIT, self._serial, (item, count)))
        self._is_stale = True

    def next_time(self) -> int | None:
        """Return when the next transfer ends or the side that pays changes; None if nothing moves."""
        if self._is_stale:
            self._share()
        times = [
            self.now + max(0, -(-(current.ends[0][0] - current.progress) // current.rate))
            for current in self.currents.values()
        ]
        if not times:
            return None
        if self.lead and (self.lead > 0) != (self._lead_rate > 0) and self._lead_rate:
            times.append(self.now + max(1, -(-abs(self.lead) // abs(self._lead_rate))))
        return min(times)

    def advance(self, time: int) -> list[Any]:
        """Move to `time` (not beyond `next_time`); return the items of the transfers that are done."""
        if self._is_stale:
            self._share()
        passed = time - self.now
        if passed:
            before = self.lead
            self.lead += self._lead_rate * passed
            self._lowest, self._highest = min(self._lowest, self.lead), max(self._highest, self.lead)
            self._is_stale = _sign(before) != _sign(self.lead)
            for current in self.currents.values():
                current.progress += current.rate * passed
            self.now = time
        return self._ended()

    def jump(self, ticks: int, lead: int) -> None:
        """Move to a later time at which the same transfers are as far as now; `lead` is what reads gained."""
        self.now += ticks
        self.lead += lead
        self.extremes()

    def extremes(self) -> tuple[int, int]:
        """Return the least and the greatest lead of reads over writes since the last call."""
        found = self._lowest, self._highest
        self._lowest = self._highest = self.lead
        return found

    def _ended(self) -> list[Any]:
        done: list[tuple[int, Any]] = []
        for kind, current in list(self.currents.items()):
            while current.ends and current.ends[0][0] <= current.progress:
                _, serial, (item, count) = heapq.heappop(current.ends)
                current.count -= count
                current.simulated -= 1
                done.append((serial, item))
            if not current.ends:
                del self.currents[kind]
        if done:
            self._is_stale = True
        return [item for _, item in sorted(done, key=lambda one: one[0])]

    # ---- sharing -------------------------------------------------------------------------------------------
    def _share(self) -> None:
        """Give every kind its max-min fair rate; at equal totals the slower side pays."""
        self._is_stale = False
        payer = "write" if self.lead >= 0 else "read"
        self._fill(payer)
        if self.lead == 0 and self._lead_rate < 0:
            self._fill("read")

    def _fill(self, payer: str) -> None:
        for current in self.currents.values():
            current.rate = 0
        open_ = list(self.currents.values())
        limits = self._limits(payer)
        while open_:
            level = min(current.kind.ceiling for current in open_)
            tight: list[list[tuple[Current, int]]] = []
            for capacity, loads in limits:
                free = capacity - sum(load * current.rate for current, load in loads if current not in open_)
                demand = sum(load for current, load in loads if current in open_)
                if demand:
                    fair = max(1, free // demand)
                    if fair < level:
                        level, tight = fair, [loads]
                    elif fair == level:
                        tight.append(loads)
            held = {id(current) for loads in tight for current, _ in loads}
            fixed = [c for c in open_ if c.kind.ceiling == level or id(c) in held]
            for current in fixed:
                current.rate = max(1, level)
            open_ = [current for current in open_ if current not in fixed]
        rates = {"read": 0, "write": 0}
        for current in self.currents.values():
            if current.kind.side in rates:
                rates[current.kind.side] += current.rate * current.count
        self._lead_rate = rates["read"] - rates["write"]

    def _limits(self, payer: str) -> list[tuple[int, list[tuple[Current, int]]]]:
        """Every limited resource with the load each kind puts on it per unit of its rate."""
        limits: list[tuple[int, list[tuple[Current, int]]]] = []
        remote = [current for current in self.currents.values() if current.kind.side in self.ports]
        if self.shared is not None and remote:
            loads = [(c, c.count * (self.paying if c.kind.side == payer else WEIGHT)) for c in remote]
            limits.append((self.shared, loads))
        for side, capacity in self.ports.items():
            if capacity < UNLIMITED:
                limits.append((capacity, [(c, c.count) for c in remote if c.kind.side == side]))
        by_name: dict[Hashable, list[tuple[Current, int]]] = {}
        for current in self.currents.values():
            for name, load in current.kind.resources:
                by_name.setdefault(name, []).append((current, load * current.simulated))
        limits += [
            (self.capacities[name], loads) for name, loads in by_name.items() if name in self.capacities
        ]
        return limits
