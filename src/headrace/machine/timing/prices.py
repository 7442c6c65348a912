"""Rates and latencies of a device as the timing of one schedule needs them, looked up once.

Scratchpad ports: the readers (or writers) of one corelet that share a port get fixed shares of it, the
max-min fair ones of the kinds that have a program in this schedule. That is never faster than sharing
message by message, and it does not depend on the order of events. DMA and ring units share their core's
port while they move data (`fluid`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from headrace.arch.device import Device, Link, Ring, Unit, canonical
from headrace.arch.routes import link_rate, request_latency, sources_of, targets_of
from headrace.machine.timing.activities import Peer
from headrace.machine.timing.ticks import ticks


class Prices:
    """Costs of messages and transfers for the unit kinds that have a program (`kinds`)."""

    def __init__(self, device: Device, kinds: Iterable[str]) -> None:
        self.device = device
        self.kinds = frozenset(kind.lower() for kind in kinds)
        self._shares: dict[tuple[str, str], float | None] = {}

    @cached_property
    def signal(self) -> int:
        """Ticks a signal takes inside a core."""
        return ticks(self.device.signal_cycles)

    def unit(self, kind: str) -> Unit:
        """Return the unit of a kind."""
        return self.device.unit(kind)

    def hops(self, cores: int) -> int:
        """Return the least hops between cores that are `cores` apart, over the data ring (0 without one)."""
        if not cores or not self.device.rings:
            return 0
        ring = self.device.rings[0]
        return ring.distance(0, cores % self.device.cores, self.device.cores)[0]

    def travel(self, cores: int) -> int:
        """Ticks until a signal is visible `cores` cores further on."""
        if not cores or not self.device.rings:
            return self.signal
        return self.signal + ticks(self.hops(cores) * self.device.rings[0].hops[0].latency_cycles)

    def port_rate(self, kind: str, direction: str) -> float | None:
        """Bytes per cycle a unit gets from ("read") or into ("write") the scratchpad; None: no limit."""
        key = (kind.lower(), direction)
        if key not in self._shares:
            self._shares[key] = self._share(kind, direction)
        return self._shares[key]

    def _share(self, kind: str, direction: str) -> float | None:
        link = self._port_link(kind, direction)
        if link is None:
            return None
        rate = self._scaled(link_rate(link, self.device), direction)
        if rate is None or link.port is None:
            return rate
        sharing = [
            kind,
            *(other for other in self._port_users(link, direction) if other.lower() != kind.lower()),
        ]
        demands = [self._demand(user, direction) for user in sharing]
        return max_min(rate, demands)[0]

    def _scaled(self, rate: float | None, direction: str) -> float | None:
        """A port's rate, less where the scratchpad carries less than all ports in use together."""
        memory = self.device.memory("ct_local")
        whole = memory.read_bytes_per_cycle if direction == "read" else memory.write_bytes_per_cycle
        if whole is None:
            return rate
        ports: dict[tuple[str, str], float] = {}
        for unit in self.device.units:
            link = self._port_link(unit.kind, direction)
            if link is not None and (unit.kind.lower() in self.kinds or unit.passive):
                own = link_rate(link, self.device)
                ports[link.per, link.port or unit.kind] = (whole if own is None else own) * unit.count
        return min(rate or whole, whole, (rate or whole) * whole / max(whole, sum(ports.values())))

    def _port_link(self, kind: str, direction: str) -> Link | None:
        ends = ("ct_local", kind) if direction == "read" else (kind, "ct_local")
        return self.device.find_link(*ends)

    def _port_users(self, link: Link, direction: str) -> list[str]:
        """Kinds with a program on the same port of the same group instance; those of a core share in
        `fluid`.
        """
        users = []
        for unit in self.device.units:
            other = self._port_link(unit.kind, direction)
            alike = other is not None and other.port == link.port and other.per == link.per == "corelet"
            if alike and unit.kind.lower() in self.kinds:
                users.append(unit.kind)
        return users

    def _demand(self, kind: str, direction: str) -> float | None:
        """The most a unit can ask of a port: the fastest of its links on the other side."""
        beyond = targets_of(kind, self.device) if direction == "read" else sources_of(kind, self.device)
        rates = [
            link_rate(link, self.device)
            for link in beyond
            if canonical(link.source) != canonical(link.target)
        ]
        return None if not rates or None in rates else max(rate for rate in rates if rate is not None)

    def shared_ports(self) -> frozenset[str]:
        """Names of core ports ("read", "write") that more than one DMA or ring unit of this schedule may
        use at once.
        """
        users: dict[str, set[str]] = {}
        for unit in self.device.units:
            if unit.per != "core" or (unit.kind.lower() not in self.kinds and not unit.passive):
                continue
            for direction in ("read", "write"):
                link = self._port_link(unit.kind, direction)
                if link is not None and link.port is not None and self._can_move(unit):
                    users.setdefault(direction, set()).add(unit.kind)
        return frozenset(direction for direction, kinds in users.items() if len(kinds) > 1)

    def _can_move(self, unit: Unit) -> bool:
        """A passive unit moves data only for the pullers of this schedule."""
        if not unit.passive:
            return True
        return any(
            ring.source == unit.kind and ring.target.lower() in self.kinds for ring in self.device.rings
        )

    def core_port(self, kind: str, direction: str) -> float | None:
        """Bytes per cycle of the core's port that a DMA or ring unit uses."""
        link = self._port_link(kind, direction)
        return None if link is None else self._scaled(link_rate(link, self.device), direction)

    def transfer_latency(self, kind: str, hops: int = 0) -> int:
        """Ticks from the end of a transfer's data to its last byte in place: memory, links, hops."""
        unit = self.unit(kind)
        total = request_latency(unit, self.device)
        for link in sources_of(kind, self.device) + targets_of(kind, self.device):
            total += link.latency_cycles
        for ring in self.device.rings:
            if ring.target == unit.kind and hops:
                total += (
                    ring.inject.latency_cycles
                    + ring.eject.latency_cycles
                    + hops * ring.hops[0].latency_cycles
                )
        return ticks(total)

    def channel(
        self, sender: str, receiver: str, corelet: int, cores: int
    ) -> tuple[float | None, int, int | None]:
        """Return (bytes per cycle, latency in ticks, capacity in bytes) of the FIFO between two kinds."""
        link = self.device.find_link(sender, receiver) if cores == 0 else None
        if link is not None:
            return link_rate(link, self.device), ticks(link.latency_cycles), link.capacity_bytes
        ring = self.device.find_ring(sender, receiver, corelet)
        if ring is None:
            link = self.device.link(sender, receiver)
            return link_rate(link, self.device), ticks(link.latency_cycles), link.capacity_bytes
        links = (ring.inject, ring.hops[0], ring.eject)
        rates = [rate for one in links if (rate := link_rate(one, self.device)) is not None]
        hops = self._around(ring, cores)
        latency = ring.inject.latency_cycles + hops * ring.hops[0].latency_cycles + ring.eject.latency_cycles
        return min(rates, default=None), ticks(latency), ring.inject.capacity_bytes

    def message_hops(self, sender: str, receiver: Peer) -> int:
        """Return how many links of a ring a message takes to another core, 0 where it stays on its own."""
        if receiver.cores == 0 and self.device.find_link(sender, receiver.kind) is not None:
            return 0
        ring = self.device.find_ring(sender, receiver.kind, receiver.corelet)
        return 0 if ring is None else self._around(ring, receiver.cores)

    def _around(self, ring: Ring, cores: int) -> int:
        return ring.distance(0, cores % self.device.cores, self.device.cores)[0]


def max_min(capacity: float, demands: list[float | None]) -> list[float]:
    """Return the max-min fair shares of a capacity; None demands everything."""
    shares = [0.0] * len(demands)
    left, waiting = capacity, list(range(len(demands)))
    while waiting:
        fair = left / len(waiting)
        small = [i for i in waiting if (d := demands[i]) is not None and d <= fair]
        if not small:
            for i in waiting:
                shares[i] = fair
            break
        for i in small:
            shares[i] = demands[i] or 0.0
            left -= shares[i]
        waiting = [i for i in waiting if i not in small]
    return shares
