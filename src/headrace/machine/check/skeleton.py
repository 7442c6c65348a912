"""The synchronisation skeleton with bounded FIFOs: one abstract run decides about deadlock for all runs.

A unit program branches only on constants, arguments and received data, never on timing, so all
interleavings make the same progress. Messages are counted in bytes against the capacity of their channel;
one that is longer than the queue passes while its receiver takes it. The k-th transfers of the members of a
multicast group are one meeting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.machine.check.events import Burst, Event, Walk
from headrace.machine.check.findings import Finding, Findings
from headrace.machine.execute.stall import cycle_of
from headrace.machine.image import Image, Schedule


@dataclass
class Pipe:
    """Messages on the way as runs [bytes, count]; `used` bytes of `capacity` are taken."""

    capacity: int | None
    runs: deque[list[int]] = field(default_factory=deque)
    count: int = 0
    used: int = 0

    def push(self, size: int, count: int = 1) -> None:
        """Adds messages of one size at the end."""
        if self.runs and self.runs[-1][0] == size:
            self.runs[-1][1] += count
        else:
            self.runs.append([size, count])
        self.count += count
        self.used += size * count

    def pop(self, count: int = 1) -> None:
        """Takes messages from the front."""
        self.count -= count
        while count:
            run = self.runs[0]
            n = min(count, run[1])
            self.used -= n * run[0]
            run[1] -= n
            count -= n
            if not run[1]:
                self.runs.popleft()


class Unit:
    """One instance: the burst it is in, iterations left, and the next event of the current iteration."""

    def __init__(self, instance: int, bursts: Iterator[Burst]) -> None:
        self.instance = instance
        self.bursts = bursts
        self.burst: Burst | None = None
        self.left = 0
        self.index = 0
        self.is_posted = False
        self.next()

    @property
    def at(self) -> Event | None:
        """The event the unit is at; None at the end."""
        return None if self.burst is None else self.burst.events[self.index]

    def next(self) -> None:
        """Goes on to the next burst."""
        self.burst = next((b for b in self.bursts if b.events and b.repeats > 0), None)
        self.left = 0 if self.burst is None else self.burst.repeats
        self.index = 0

    def step(self) -> None:
        """Goes on to the next event."""
        assert self.burst is not None
        self.is_posted = False
        self.index += 1
        if self.index == len(self.burst.events):
            self.index = 0
            self.skip(1)

    def skip(self, iterations: int) -> None:
        """Whole iterations are done."""
        self.left -= iterations
        if not self.left:
            self.next()


class Skeleton:
    """Units, pipes and counters of some components."""

    def __init__(self, image: Image, units: Sequence[Unit]) -> None:
        self.image = image
        self.units = {u.instance: u for u in units}
        self.capacity = {(c.sender, c.receiver): c.capacity_bytes for c in image.channels}
        self.pipes: dict[tuple[int, int], Pipe] = {}
        self.counters: dict[tuple[int, int], int] = {}
        self.met: dict[int, set[int]] = {}

    def run(self) -> list[Unit]:
        """Runs to the end; the units that cannot go on."""
        ready = deque(self.units.values())
        queued = set(self.units)
        while ready:
            unit = ready.popleft()
            queued.discard(unit.instance)
            for other in self._advance(unit):
                if other in self.units and other not in queued:
                    queued.add(other)
                    ready.append(self.units[other])
        return [u for u in self.units.values() if u.at is not None]

    def _advance(self, unit: Unit) -> set[int]:
        """Runs a unit until it waits; who may go on because of it."""
        woken: set[int] = set()
        while (event := unit.at) is not None:
            if unit.index == 0 and not unit.is_posted and self._whole(unit, woken):
                continue
            if not self._can(unit, event, woken):
                break
            unit.step()
        return woken

    def _whole(self, unit: Unit, woken: set[int]) -> bool:
        """Does as many whole iterations as space and messages allow; whether any."""
        burst = unit.burst
        assert burst is not None
        if burst.sends is None:
            return False
        me, n = unit.instance, unit.left
        for sender, count in burst.takes.items():
            n = min(n, self._pipe(sender, me).count // count)
        for receiver, (size, _) in burst.sends.items():
            pipe = self._pipe(me, receiver)
            if pipe.capacity is not None:
                n = min(n, (pipe.capacity - pipe.used) // size)
        if n <= 0:
            return False
        for sender, count in burst.takes.items():
            self._pipe(sender, me).pop(n * count)
        for receiver, (size, count) in burst.sends.items():
            self._pipe(me, receiver).push(size // count, n * count)
        woken |= burst.takes.keys() | burst.sends.keys()
        unit.skip(n)
        return True

    def _can(self, unit: Unit, event: Event, woken: set[int]) -> bool:
        me = unit.instance
        match event.kind:
            case "signal":
                self.counters[me, event.peer] = self.counters.get((me, event.peer), 0) + 1
                woken.add(event.peer)
                return True
            case "wait":
                if not self.counters.get((event.peer, me), 0):
                    return False
                self.counters[event.peer, me] -= 1
                return True
            case "send":
                return self._send(unit, event, woken)
            case "take":
                return self._take(event.peer, me, woken)
        return self._meet(me, event, woken)

    def _send(self, unit: Unit, event: Event, woken: set[int]) -> bool:
        pipe = self._pipe(unit.instance, event.peer)
        if not unit.is_posted:
            if pipe.capacity is not None and pipe.used and pipe.used + event.bytes > pipe.capacity:
                return False
            pipe.push(event.bytes)
            unit.is_posted = True
            woken.add(event.peer)
        # A message longer than the queue keeps its sender until the receiver takes it.
        return pipe.capacity is None or pipe.used <= pipe.capacity

    def _take(self, sender: int, me: int, woken: set[int]) -> bool:
        pipe = self._pipe(sender, me)
        if not pipe.count:
            return False
        pipe.pop()
        woken.add(sender)
        return True

    def _meet(self, me: int, event: Event, woken: set[int]) -> bool:
        members = set(self.image.groups[event.peer].members) & self.units.keys()
        met = self.met.setdefault(event.peer, set())
        unit = self.units[me]
        if unit.is_posted:
            return me not in met
        met.add(me)
        unit.is_posted = True
        if met < members:
            return False
        met.clear()
        woken |= members - {me}
        return True

    def _pipe(self, sender: int, receiver: int) -> Pipe:
        key = (sender, receiver)
        if key not in self.pipes:
            self.pipes[key] = Pipe(self.capacity.get(key))
        return self.pipes[key]


def run_skeleton(
    image: Image,
    schedule: Schedule,
    instances: Collection[int],
    scalars: dict[str, Any],
    trips: dict[tuple[int, int], list[int]],
    findings: Findings,
) -> bool:
    """Adds a finding for every instance that cannot end with the FIFOs the device has; if there is any."""
    units = []
    for program in schedule.programs:
        for member, instance in enumerate(program.instances):
            if instance in instances:
                mine = {loop: counts for (n, loop), counts in trips.items() if n == instance}
                bursts = Walk(program, member, scalars, mine).block(program.body)
                units.append(Unit(instance, bursts))
    stuck = Skeleton(image, units).run()
    names = image.instances
    partners = {u.instance: _partner(image, u) for u in stuck}
    cycle = cycle_of(partners)
    chain = " -> ".join(names[n].name for n in cycle)
    for unit in sorted(stuck, key=lambda u: u.instance not in cycle):
        event = unit.at
        assert event is not None
        name = names[unit.instance].name
        text = f"{name} {_wish(event, names)}"
        if event.kind != "meet":
            state = "waits itself" if event.peer in partners else "has ended"
            text += f", which {state}"
        if unit.instance in cycle:
            text += f"; cycle of waits: {chain}"
        finding = Finding("deadlocks", text, name, _OPS[event.kind], event.where)
        findings.add(finding, (unit.instance, event.where))
    return bool(stuck)


def _partner(image: Image, unit: Unit) -> int:
    """The instance a stuck unit waits for: of a meeting the first member that is not there."""
    event = unit.at
    assert event is not None
    if event.kind != "meet":
        return event.peer
    others = [m for m in image.groups[event.peer].members if m != unit.instance]
    return others[0] if others else unit.instance


_OPS = {
    "wait": "dataflow.sync_recv",
    "take": "dataflow.receive",
    "send": "dataflow.send",
    "signal": "dataflow.sync_send",
    "meet": "agen.composite_load_and_store",
}


def _wish(event: Event, names: Sequence[Any]) -> str:
    match event.kind:
        case "wait":
            return f"waits for a signal{' ' + event.tag if event.tag else ''} from {names[event.peer].name}"
        case "take":
            return f"waits for a message from {names[event.peer].name}"
        case "send":
            return f"waits for space to send {event.bytes} bytes to {names[event.peer].name}"
    return f"waits for the other members of multicast group {event.peer}"
