"""The event engine: units run ahead on their own clocks, transfers in flight advance in order of time.

A unit runs until something it needs is not known yet: a message, room in a queue, a signal, the end of a
transfer. Messages
and signals carry the time at which they arrive, so the order in which units run does not matter (a Kahn
network). Only
what is shared, device memory, ports and rings, needs an order: when no unit can run, the earliest event
among transfers
is safe to take, because every later one is caused by it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable, Sequence

from headrace.arch.routes import link_rate
from headrace.machine.image import Group
from headrace.machine.timing.activities import (
    Await,
    Fence,
    Give,
    Notify,
    Peer,
    Phase,
    Spend,
    Stream,
    Take,
    Transfer,
)
from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.fluid import Fluid, Kind, ceiling
from headrace.machine.timing.fold import CoreClass, Role
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.rounds import Rounds
from headrace.machine.timing.steady import SteadyStates
from headrace.machine.timing.steps import granules_of
from headrace.machine.timing.unit import Descriptor, Ready, Running, SimulatedUnit

LOOKS = 200
"""Iterations of a stream after which its state is looked at before giving up on a steady state."""


class Engine:
    """One schedule: `run` simulates it to its end, or to a deadlock (then some unit is not done)."""

    def __init__(
        self, classes: Sequence[CoreClass], groups: Sequence[Group], prices: Prices, is_traced: bool = False
    ) -> None:
        self.classes, self.groups, self.prices, self.is_traced = classes, groups, prices, is_traced
        self.cores = prices.device.cores
        self.class_of = {core: k for k, one in enumerate(classes) for core in one.cores}
        self.units: list[SimulatedUnit] = []
        self.by_place: dict[tuple[int, Role], SimulatedUnit] = {}
        for k, one in enumerate(classes):
            for role, body in one.bodies.items():
                unit = prices.unit(role[0])
                made = SimulatedUnit(len(self.units), k, role, body, one.multiplicity)
                made.is_compute, made.is_mover = unit.is_compute, unit.per == "core" and not unit.is_compute
                self.units.append(made)
                self.by_place[k, role] = made
        self.fifos: dict[tuple[int, Hashable], Fifo] = {}
        self.counters: dict[tuple[int, Hashable], Counter] = {}
        self.bound: dict[tuple[int, int], tuple[Stream, list[Ready]]] = {}
        self.alike: dict[tuple[int, tuple[Phase, ...]], list[Ready]] = {}
        self.meetings: dict[tuple[frozenset[int], int], list[Descriptor]] = {}
        self.starts: list[tuple[int, int, list[Descriptor]]] = []
        self.serial = 0
        self.runnable: deque[SimulatedUnit] = deque(self.units)
        self.moved: dict[str, int] = {}
        self.steady = SteadyStates(self.units)
        self.fluid = Fluid(prices.device, self._capacities())

    # ---- the run -------------------------------------------------------------------------------------------
    def run(self) -> None:
        """Simulate until nothing can happen any more."""
        rounds = Rounds(self)
        while True:
            while self.runnable:
                unit = self.runnable.popleft()
                unit.is_queued = False
                self._run(unit)
            rounds.look()
            due = self.fluid.next_time()
            if self.starts and (due is None or self.starts[0][0] <= due):
                due = self.starts[0][0]
            if due is None:
                return
            for members in self.fluid.advance(due):
                self._end(members, due)
            while self.starts and self.starts[0][0] == due:
                self._begin(heapq.heappop(self.starts)[2])

    @property
    def end(self) -> int:
        """The time of the last retired access."""
        return max((max(unit.clock, unit.settled) for unit in self.units), default=0)

    def _wake(self, unit: SimulatedUnit) -> None:
        if not unit.is_queued and not unit.is_done:
            unit.is_queued = True
            self.runnable.append(unit)

    def _run(self, unit: SimulatedUnit) -> None:
        """Run one unit's program until it has to wait or ends."""
        unit.waits_for = None
        while True:
            if unit.stream is not None:
                if not self._stream(unit, unit.stream):
                    return
                self._finish(unit, unit.stream)
            activity = unit.next_activity()
            match activity:
                case None:
                    unit.is_done = True
                    return
                case Stream():
                    self._open(unit, activity)
                    continue
                case Transfer():
                    self._issue(unit, activity)
                case Notify():
                    if not self._notify(unit, activity):
                        return
                case Await():
                    if not self._await(unit, activity):
                        return
                case Fence():
                    if not self._fence(unit):
                        return
                case Spend():
                    unit.spend(activity.duration, "setup")
            unit.step_over()

    # ---- signals -------------------------------------------------------------------------------------------
    def counter(self, sender: int, receiver: int, cores: int) -> Counter:
        """Return the counter from one simulated unit to another, `cores` cores further on."""
        key = (sender, (receiver, cores))
        if key not in self.counters:
            self.counters[key] = Counter(sender, receiver)
        return self.counters[key]

    def partner(self, unit: SimulatedUnit, peer: Peer) -> SimulatedUnit | None:
        """Return the simulated unit a peer stands for; None if it has no program."""
        core = (self.classes[unit.group].cores[0] + peer.cores) % self.cores
        group = self.class_of.get(core)
        return None if group is None else self.by_place.get((group, (peer.kind, peer.corelet)))

    def _notify(self, unit: SimulatedUnit, signal: Notify) -> bool:
        if signal.waits and not self._fence(unit):
            return False
        receiver = self.partner(unit, signal.peer)
        if receiver is None:
            return True
        counter = self.counter(unit.number, receiver.number, signal.peer.cores)
        if unit.pending and unit.last_issued is not None:
            unit.last_issued.signals.append((counter, unit.clock, signal.travel))
            return True
        self._raise_signal(counter, max(unit.clock, unit.settled) + signal.travel)
        return True

    def _raise_signal(self, counter: Counter, time: int) -> None:
        counter.times.append(time)
        receiver = self.units[counter.receiver]
        if receiver.waits_for == ("signal", counter):
            self._wake(receiver)

    def _await(self, unit: SimulatedUnit, expected: Await) -> bool:
        sender = self.partner(unit, expected.peer)
        number = -1 if sender is None else sender.number
        counter = self.counter(number, unit.number, -expected.peer.cores % self.cores)
        if not counter.times:
            unit.waits_for = ("signal", counter)
            return False
        unit.wait_until(counter.times.popleft(), "signal")
        return True

    def _fence(self, unit: SimulatedUnit) -> bool:
        if unit.pending:
            unit.waits_for = ("transfers", None)
            return False
        unit.wait_until(unit.settled, "input")
        return True

    # ---- streams -------------------------------------------------------------------------------------------
    def _open(self, unit: SimulatedUnit, stream: Stream) -> None:
        unit.count_traffic(stream.bytes)
        unit.spend(stream.setup, "setup")
        phases = self._bind(unit, stream)
        unit.stream = Running(phases, stream.count, stream.drain, stream.settle, unit.clock, stream)

    def _finish(self, unit: SimulatedUnit, running: Running) -> None:
        if self.is_traced:
            unit.slices.append((running.began, unit.clock, running.stream.label, running.stream.where))
        if unit.is_mover:
            unit.program.append((running.began, unit.clock, "busy"))
        unit.spend(running.drain, "busy")
        unit.settled = max(unit.settled, unit.clock + running.settle)
        unit.stream = None
        unit.step_over()

    def _bind(self, unit: SimulatedUnit, stream: Stream) -> list[Ready]:
        """Return the phases of a stream with their queues; equal streams of a unit share them."""
        held = self.bound.get((unit.number, id(stream)))
        if held is None:
            alike = (unit.number, stream.phases)
            if alike not in self.alike:
                self.alike[alike] = [self._bound_phase(unit, phase) for phase in stream.phases]
            held = self.bound[unit.number, id(stream)] = (stream, self.alike[alike])
        return held[1]

    def _bound_phase(self, unit: SimulatedUnit, phase: Phase) -> Ready:
        takes = [(self._incoming(unit, take), take.is_whole) for take in phase.takes]
        gives = [
            (self._outgoing(unit, give), give.granules, give.offset, give.duration, give.latency)
            for give in phase.gives
        ]
        return takes, phase.cost, gives

    def _incoming(self, unit: SimulatedUnit, take: Take) -> Fifo:
        sender = self.partner(unit, take.peer)
        cores = -take.peer.cores % self.cores
        number = -1 if sender is None else sender.number
        return self._fifo(number, unit.number, take.peer.kind, unit.role, cores)

    def _outgoing(self, unit: SimulatedUnit, give: Give) -> Fifo:
        receiver = self.partner(unit, give.peer)
        number = -1 if receiver is None else receiver.number
        role = (give.peer.kind, give.peer.corelet)
        return self._fifo(unit.number, number, unit.role[0], role, give.peer.cores)

    def _fifo(self, sender: int, receiver: int, kind: str, role: Role, cores: int) -> Fifo:
        key = (sender, (receiver, cores))
        if key not in self.fifos:
            _, _, capacity = self.prices.channel(kind, role[0], role[1], cores)
            self.fifos[key] = Fifo(
                len(self.fifos), sender, receiver, None if capacity is None else granules_of(capacity)
            )
        return self.fifos[key]

    def _stream(self, unit: SimulatedUnit, running: Running) -> bool:
        """Run one iteration of a stream; return True at its end, False if there are more or it must wait.

        One iteration at a time keeps coupled streams in step, so that a steady state shows early. A phase
        takes its messages one by one as they come, then has its results leave one by one as there is room;
        the
        unit stalls until the last has its turn.
        """
        phases, last = running.phases, len(running.phases) - 1
        phase, left, clock = running.phase, running.left, unit.clock
        taken, given, start = running.taken, running.given, running.start
        stalled_input = stalled_space = busy = 0
        blocked: tuple[str, Fifo] | None = None
        while left:
            takes, cost, gives = phases[phase]
            if start < clock:
                start = clock
            while taken < len(takes):
                fifo, is_whole = takes[taken]
                if not fifo.arrivals:
                    blocked = ("input", fifo)
                    break
                arrival, duration, _ = fifo.arrivals[0]
                if is_whole:
                    arrival += duration
                elif duration > cost:
                    arrival += duration - cost
                if arrival > start:
                    stalled_input += arrival - start
                    start = arrival
                fifo.receive(start, clock, cost)
                taken += 1
                self._touch(fifo.sender, "space", fifo)
            if blocked is not None:
                break
            while given < len(gives):
                fifo, granules, offset, duration, latency = gives[given]
                if not fifo.has_room(granules):
                    blocked = ("space", fifo)
                    break
                room = fifo.take_room(granules) - offset
                if room > start:
                    stalled_space += room - start
                    start = room
                fifo.send(start + offset + latency, duration, granules)
                given += 1
                self._touch(fifo.receiver, "input", fifo)
            if blocked is not None:
                break
            busy += cost
            clock = start + cost
            taken = given = 0
            if phase < last:
                phase += 1
                continue
            phase = 0
            left -= 1
            break
        running.phase, running.left, unit.clock = phase, left, clock
        running.taken, running.given, running.start = taken, given, start
        spent = unit.spent
        spent["input"] += stalled_input
        spent["space"] += stalled_space
        spent["busy"] += busy
        if blocked is not None:
            unit.waits_for = blocked
            return False
        if not left:
            return True
        self._wake(unit)
        if unit.is_compute and left > 1 and running.looks < LOOKS and not running.is_led:
            running.looks += 1
            for moved in self.steady.look(unit):
                moved.waits_for = None
                self._wake(moved)
        return False

    def _touch(self, number: int, cause: str, fifo: Fifo) -> None:
        """Wake a unit that waits for a queue."""
        if number >= 0:
            unit = self.units[number]
            if unit.waits_for is not None and unit.waits_for[1] is fifo and unit.waits_for[0] == cause:
                unit.waits_for = None
                self._wake(unit)

    # ---- transfers -----------------------------------------------------------------------------------------
    def _issue(self, unit: SimulatedUnit, transfer: Transfer) -> None:
        unit.count_traffic(transfer.traffic)
        unit.spend(transfer.setup, "setup")
        descriptor = Descriptor(transfer, unit.clock, unit)
        unit.queue.append(descriptor)
        unit.last_issued = descriptor
        unit.pending += 1
        if len(unit.queue) == 1:
            self._offer(descriptor)

    def _offer(self, descriptor: Descriptor) -> None:
        """The oldest descriptor of a unit: schedule its start, or let it meet the other members of its
        group."""
        unit, transfer = descriptor.unit, descriptor.transfer
        descriptor.is_offered = True
        descriptor.began = max(descriptor.issued + transfer.meeting, unit.engine_free)
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
        own = {instance.number for instance in self.classes[unit.group].instances[unit.role]}
        return frozenset(number for number in transfer.group if own & set(self.groups[number].members))

    def _participants(self, family: frozenset[int]) -> int:
        """How many simulated units take part in a meeting of a family of groups."""
        members = {member for number in family for member in self.groups[number].members}
        return sum(
            1
            for one in self.classes
            for instances in one.instances.values()
            if any(instance.number in members for instance in instances)
        )

    def _schedule(self, members: list[Descriptor]) -> None:
        self.serial += 1
        start = max(descriptor.began for descriptor in members)
        for descriptor in members:
            descriptor.began = start
        heapq.heappush(self.starts, (start, self.serial, members))

    def _begin(self, members: list[Descriptor]) -> None:
        """Data starts to move; device memory and rings carry it once for a whole group."""
        unit, transfer = members[0].unit, members[0].transfer
        count = len(self._family(unit, transfer)) if transfer.group else unit.multiplicity
        name = {"read": "ddr_read", "write": "ddr_write", "ring": "ring"}[transfer.side]
        hops = (-transfer.cores * transfer.step) % self.cores if transfer.side == "ring" else 1
        self.moved[name] = self.moved.get(name, 0) + transfer.bytes * hops * count
        self.fluid.start(self._kind(members), transfer.bytes, count, members)

    def _end(self, members: list[Descriptor], time: int) -> None:
        """The data of a transfer has moved: later descriptors may go on, signals travel behind it."""
        for descriptor in members:
            unit, transfer = descriptor.unit, descriptor.transfer
            alone = (
                -(-transfer.bytes * (1 << 32) // ceiling(transfer.rate))
                if transfer.rate
                else time - descriptor.began
            )
            unit.moves.append((descriptor.began, time, min(alone, time - descriptor.began)))
            if self.is_traced:
                label = {"read": "load", "write": "store", "ring": "pull"}[transfer.side]
                unit.slices.append((descriptor.began, time, label, transfer.where))
            done = time + transfer.latency if transfer.bytes else time
            unit.engine_free = time
            unit.settled = max(unit.settled, done)
            unit.pending -= 1
            unit.queue.popleft()
            for counter, earliest, travel in descriptor.signals:
                self._raise_signal(counter, max(earliest, unit.settled) + travel)
            if unit.queue:
                self._offer(unit.queue[0])
            if unit.waits_for is not None and unit.waits_for[0] == "transfers" and not unit.pending:
                self._wake(unit)

    def _kind(self, members: list[Descriptor]) -> Kind:
        """Flows of one side, ceiling and set of shared resources are one kind."""
        transfer = members[0].transfer
        rates = [descriptor.transfer.rate for descriptor in members if descriptor.transfer.rate is not None]
        resources: list[tuple[Hashable, int]] = []
        for descriptor in members:
            core = self.classes[descriptor.unit.group].cores[0]
            for direction, distance in descriptor.transfer.ports:
                resources.append((("port", self.class_of.get((core + distance) % self.cores), direction), 1))
            resources += self._segments(descriptor)
        return Kind(transfer.side, ceiling(min(rates, default=None)), tuple(sorted(set(resources), key=str)))

    def _segments(self, descriptor: Descriptor) -> list[tuple[Hashable, int]]:
        """Ring links a pull travels over: one by one, or by their equal load when all cores pull alike."""
        transfer = descriptor.transfer
        if not transfer.cores:
            return []
        hops = (-transfer.cores * transfer.step) % self.cores
        one = self.classes[descriptor.unit.group]
        if one.multiplicity > 1:
            return [(("ring", transfer.step), hops)]
        source = (one.cores[0] + transfer.cores) % self.cores
        return [(("ring", transfer.step, (source + transfer.step * k) % self.cores), 1) for k in range(hops)]

    def _capacities(self) -> dict[Hashable, int]:
        device = self.prices.device
        found: dict[Hashable, int] = {}
        for direction in self.prices.shared_ports():
            rates = [
                self.prices.core_port(unit.kind, direction) for unit in device.units if unit.per == "core"
            ]
            known = [rate for rate in rates if rate is not None]
            for group in range(len(self.classes)):
                if known:
                    found["port", group, direction] = ceiling(max(known))
        for ring in device.rings:
            if ring.corelet is not None:
                continue
            for step, hop in zip(ring.steps, ring.hops, strict=True):
                rate = ceiling(link_rate(hop, device))
                found["ring", step] = rate
                found |= {("ring", step, position): rate for position in range(device.cores)}
        return found
