"""Transfers on their way: queues of descriptors, meetings of multicast groups, data that moves, signals
behind it.

A DMA unit works its descriptors off in order: the data of one follows that of the one before, latencies
overlap. Members of a multicast group begin together, when the last of them has come to the same transfer.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence

from headrace.arch.routes import link_rate
from headrace.machine.image import Group
from headrace.machine.timing.activities import Transfer
from headrace.machine.timing.causes import Cause, after
from headrace.machine.timing.fifo import Counter
from headrace.machine.timing.fluid import UNIT, Fluid, Kind, ceiling
from headrace.machine.timing.unit import Descriptor, SimulatedUnit, Slice
from headrace.machine.timing.wiring import Wiring

MOVED = {"read": "ddr_read", "write": "ddr_write", "ring": "ring"}
LABELS = {"read": "load", "write": "store", "ring": "pull"}

Resource = tuple[Hashable, int]
"""A shared resource and the load a transfer puts on it."""


class InFlight:
    """All transfers of an engine; `raise_signal` and `wake` are the engine's."""

    def __init__(
        self,
        wiring: Wiring,
        groups: Sequence[Group],
        raise_signal: Callable[[Counter, int, Cause | None], None],
        wake: Callable[[SimulatedUnit], None],
    ) -> None:
        self.wiring, self.groups = wiring, groups
        self.raise_signal, self.wake = raise_signal, wake
        self.meetings: dict[tuple[frozenset[int], int], list[Descriptor]] = {}
        self.starts: list[tuple[int, int, list[Descriptor]]] = []
        self.moved: dict[str, int] = {}
        self.fluid = Fluid(wiring.prices.device, capacities(wiring))
        self.is_traced = False
        self._serial = 0
        self._families: dict[tuple[int, int], frozenset[int]] = {}
        self._sizes: dict[frozenset[int], int] = {}

    def issue(self, unit: SimulatedUnit, transfer: Transfer) -> None:
        """Append a descriptor to a unit's queue."""
        unit.count_traffic((*transfer.traffic, ("transfers", 1)))
        unit.spend(transfer.setup, "setup", transfer)
        descriptor = Descriptor(transfer, unit.clock, unit, cause=unit.cause)
        unit.queue.append(descriptor)
        unit.last_issued = descriptor
        unit.pending += 1
        if len(unit.queue) == 1:
            self._offer(descriptor)

    def next_time(self) -> int | None:
        """Return the time of the next event among transfers, None if there is none."""
        due = self.fluid.next_time()
        if self.starts and (due is None or self.starts[0][0] <= due):
            return self.starts[0][0]
        return due

    def advance(self, time: int) -> None:
        """Let what is due at `time` happen: transfers end, the next ones begin."""
        for members in self.fluid.advance(time):
            for descriptor in members:
                self._end(descriptor, time)
        while self.starts and self.starts[0][0] == time:
            self._begin(heapq.heappop(self.starts)[2])

    # ---- before the data moves -----------------------------------------------------------------------------
    def _offer(self, descriptor: Descriptor) -> None:
        """Schedule the oldest descriptor of a unit, or let it meet the other members of its group."""
        unit, transfer = descriptor.unit, descriptor.transfer
        descriptor.is_offered = True
        asked = descriptor.issued + transfer.meeting
        descriptor.began = max(asked, unit.engine_free)
        if descriptor.cause is not None:
            since = after(descriptor.cause, asked, unit, "meeting", "multicast", transfer.where)
            descriptor.cause = since if asked >= unit.engine_free else unit.free_cause
        if not transfer.group:
            self._schedule([descriptor])
            return
        family = self._family(unit, transfer)
        occurrence = unit.met.get(family, 0)
        unit.met[family] = occurrence + 1
        met = self.meetings.setdefault((family, occurrence), [])
        met.append(descriptor)
        if len(met) == self._participants(family):
            del self.meetings[family, occurrence]
            self._schedule(met)

    def _family(self, unit: SimulatedUnit, transfer: Transfer) -> frozenset[int]:
        """The groups of a transfer that the cores of this class belong to."""
        key = (unit.number, id(transfer))
        if key not in self._families:
            own = {instance.number for instance in self.wiring.classes[unit.group].instances[unit.role]}
            mine = frozenset(number for number in transfer.group if own & set(self.groups[number].members))
            self._families[key] = mine
        return self._families[key]

    def _participants(self, family: frozenset[int]) -> int:
        """How many simulated units take part in a meeting of a family of groups."""
        if family not in self._sizes:
            members = {member for number in family for member in self.groups[number].members}
            units = [instances for one in self.wiring.classes for instances in one.instances.values()]
            self._sizes[family] = sum(1 for unit in units if any(one.number in members for one in unit))
        return self._sizes[family]

    def _schedule(self, members: list[Descriptor]) -> None:
        self._serial += 1
        last = max(members, key=lambda descriptor: descriptor.began)
        start, cause = last.began, last.cause
        for descriptor in members:
            descriptor.began, descriptor.cause = start, cause
        heapq.heappush(self.starts, (start, self._serial, members))

    # ---- while and after it moves --------------------------------------------------------------------------
    def _begin(self, members: list[Descriptor]) -> None:
        """Data starts to move; device memory and ring links carry it once for a whole group."""
        unit, transfer = members[0].unit, members[0].transfer
        count = len(self._family(unit, transfer)) if transfer.group else unit.multiplicity
        segments = {segment for descriptor in members for segment in self._segments(descriptor)}
        carried = sum(load for _, load in segments) if transfer.side == "ring" else 1
        name = MOVED[transfer.side]
        members[0].moved = transfer.bytes * carried * count
        self.moved[name] = self.moved.get(name, 0) + members[0].moved
        ports = {port for descriptor in members for port in self._ports(descriptor)}
        rates = [one.transfer.rate for one in members if one.transfer.rate is not None]
        resources = tuple(sorted(segments | ports, key=str))
        kind = Kind(transfer.side, ceiling(min(rates, default=None)), resources)
        self.fluid.start(kind, transfer.bytes, count, members)

    def _end(self, descriptor: Descriptor, time: int) -> None:
        """The data has moved: the next descriptor may go on, signals travel behind this one."""
        unit, transfer = descriptor.unit, descriptor.transfer
        taken = time - descriptor.began
        alone = -(-transfer.bytes * UNIT // ceiling(transfer.rate)) if transfer.rate else taken
        unit.moves.append((descriptor.began, time, min(alone, taken)))
        if self.is_traced:
            shared = ((MOVED[transfer.side], descriptor.moved),)
            label, name = LABELS[transfer.side], transfer.name
            one = Slice(descriptor.began, time, label, name, transfer.where, transfer.traffic, shared)
            unit.slices.append(one)
        unit.engine_free = time
        settled = time + transfer.latency if transfer.bytes else time
        unit.free_cause = moved = _moved(descriptor, alone, time)
        unit.settle(settled, after(moved, settled, unit, "latency", LABELS[transfer.side], transfer.where))
        unit.pending -= 1
        unit.queue.popleft()
        self._signal(descriptor)
        if unit.queue:
            self._offer(unit.queue[0])
        if unit.waits_for is not None and unit.waits_for[0] == "transfers" and not unit.pending:
            self.wake(unit)

    def _signal(self, descriptor: Descriptor) -> None:
        """Raise the signals that travel behind a transfer."""
        unit = descriptor.unit
        causes = descriptor.signal_causes
        for (counter, earliest, travel), sent in zip(descriptor.signals, causes, strict=True):
            since = max(earliest, unit.settled)
            before = unit.settled_cause if unit.settled >= earliest else sent
            self.raise_signal(counter, since + travel, after(before, since + travel, unit, "signal"))

    def _ports(self, descriptor: Descriptor) -> list[Resource]:
        """Core ports a transfer shares with other units."""
        wiring = self.wiring
        core = wiring.classes[descriptor.unit.group].cores[0]
        return [
            (("port", wiring.class_of.get((core + distance) % wiring.cores), direction), 1)
            for direction, distance in descriptor.transfer.ports
        ]

    def _segments(self, descriptor: Descriptor) -> list[Resource]:
        """Ring links a pull travels over: one by one, or by their equal load when all cores pull alike."""
        transfer, cores = descriptor.transfer, self.wiring.cores
        if not transfer.cores:
            return []
        hops = (-transfer.cores * transfer.step) % cores
        one = self.wiring.classes[descriptor.unit.group]
        if one.multiplicity > 1:
            return [(("ring", transfer.step), hops)]
        source = (one.cores[0] + transfer.cores) % cores
        return [(("ring", transfer.step, (source + transfer.step * k) % cores), 1) for k in range(hops)]


def _moved(descriptor: Descriptor, alone: int, end: int) -> Cause | None:
    """The cause of a transfer's end: its data at the unit's own rate, then what sharing added."""
    unit, transfer = descriptor.unit, descriptor.transfer
    what, where = LABELS[transfer.side], transfer.where
    own = min(end, descriptor.began + alone)
    data = after(descriptor.cause, own, unit, "transfer", what, where)
    return after(data, end, unit, "bandwidth", what, where)


def capacities(wiring: Wiring) -> dict[Hashable, int]:
    """Return what shared core ports and ring links carry, in units per tick."""
    prices, device = wiring.prices, wiring.prices.device
    found: dict[Hashable, int] = {}
    for direction in prices.shared_ports():
        rates = [prices.core_port(unit.kind, direction) for unit in device.units if unit.per == "core"]
        known = [rate for rate in rates if rate is not None]
        if known:
            found |= {("port", k, direction): ceiling(max(known)) for k in range(len(wiring.classes))}
    for ring in device.rings:
        if ring.corelet is None:
            for step, hop in zip(ring.steps, ring.hops, strict=True):
                rate = ceiling(link_rate(hop, device))
                found["ring", step] = rate
                found |= {("ring", step, position): rate for position in range(device.cores)}
    return found
