"""The synchronisation skeleton with bounded FIFOs: one abstract run decides about deadlock for all runs.

A unit program branches only on constants, arguments and received data, never on timing, so all
interleavings make the same progress. Messages are counted in bytes against the capacity of their channel;
one that is longer than the queue passes while its receiver takes it. The k-th transfers of the members of a
multicast group are one meeting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.ir.diagnostics import Location
from headrace.machine.check.findings import Finding, Findings
from headrace.machine.image import (
    Copy,
    If,
    Image,
    Index,
    Loop,
    Node,
    Program,
    Read,
    Receive,
    Schedule,
    Send,
    Signal,
    Stream,
    Wait,
    Write,
)


@dataclass(frozen=True)
class Event:
    """What a unit wants next: send or take a message, post or await a signal, meet a group."""

    kind: str
    peer: int
    bytes: int = 0
    tag: str = ""
    where: Location = Location()


@dataclass
class Pipe:
    """Messages on the way, as byte counts; `used` bytes of `capacity` are taken."""

    capacity: int | None
    messages: deque[int] = field(default_factory=deque)
    used: int = 0


class Unit:
    """One instance and the event it is at."""

    def __init__(self, instance: int, events: Iterator[Event]) -> None:
        self.instance = instance
        self.events = events
        self.at: Event | None = next(events, None)
        self.is_posted = False

    def step(self) -> None:
        """Goes on to the next event."""
        self.at = next(self.events, None)
        self.is_posted = False


class Skeleton:
    """Units, pipes and counters of one component."""

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
        while unit.at is not None and self._can(unit, unit.at, woken):
            unit.step()
        return woken

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
            pipe.messages.append(event.bytes)
            pipe.used += event.bytes
            unit.is_posted = True
            woken.add(event.peer)
        # A message longer than the queue keeps its sender until the receiver takes it.
        return pipe.capacity is None or pipe.used <= pipe.capacity

    def _take(self, sender: int, me: int, woken: set[int]) -> bool:
        pipe = self._pipe(sender, me)
        if not pipe.messages:
            return False
        pipe.used -= pipe.messages.popleft()
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


# ---- events of a program -----------------------------------------------------------------------------------
class _Walk:
    """Generates the events of one instance; data-dependent counts come from a recorded run."""

    def __init__(
        self, program: Program, member: int, scalars: dict[str, Any], trips: dict[int, list[int]]
    ) -> None:
        self.env: list[Any] = [0] * program.slots
        for slot, table in program.tables:
            self.env[slot] = table[member]
        for slot, name in program.arguments:
            self.env[slot] = int(scalars[name])
        self.me = program.instances[member]
        self.trips = {number: iter(counts) for number, counts in trips.items()}

    def number(self, index: Index) -> int:
        return int(index.evaluate(self.env))

    def block(self, nodes: Sequence[Node]) -> Generator[Event, None, None]:
        for node in nodes:
            match node:
                case Signal():
                    peer = self.number(node.peer)
                    if peer != self.me:
                        yield Event("signal", peer, 0, node.tag, node.where)
                case Wait():
                    yield Event("wait", self.number(node.peer), 0, node.tag, node.where)
                case Send():
                    yield Event("send", self.number(node.peer), node.value.bytes, "", node.where)
                case Receive():
                    yield Event("take", self.number(node.peer), node.result.bytes, "", node.where)
                case Read() | Write():
                    yield from self.stream(node)
                case Copy() if node.group is not None and self.number(node.group) >= 0:
                    yield Event("meet", self.number(node.group), 0, "", node.where)
                case Loop():
                    yield from self.loop(node)
                case If():
                    yield from self.branch(node)

    def stream(self, node: Read | Write) -> Generator[Event, None, None]:
        kind = "send" if isinstance(node, Read) else "take"
        first: Stream = node.streams[0]
        steps = 1
        for dim in first.box.times:
            steps *= self.number(dim.extent)
        events = [Event(kind, self.number(s.peer), s.message_bytes, "", s.where) for s in node.streams]
        for done in range(0, steps, node.granularity):
            for event in events:
                for _ in range(min(node.granularity, steps - done)):
                    yield event

    def loop(self, node: Loop) -> Generator[Event, None, None]:
        if node.is_data_dependent:
            lower, step = 0, 1
            upper = next(self.trips[node.number])
        else:
            lower, upper, step = (self.number(i) for i in (node.lower, node.upper, node.step))
        carried = [self.number(i.initial) for i in node.indices]
        for value in range(lower, upper, step):
            self.env[node.iv.slot] = value
            for i, number in zip(node.indices, carried, strict=True):
                self.env[i.argument.slot] = number
            yield from self.block(node.body)
            carried = [self.number(i.yielded) for i in node.indices]
        for i, number in zip(node.indices, carried, strict=True):
            self.env[i.result.slot] = number

    def branch(self, node: If) -> Generator[Event, None, None]:
        is_then = bool(
            next(self.trips[node.number]) if node.is_data_dependent else self.number(node.condition)
        )
        yield from self.block(node.then if is_then else node.otherwise)
        numbers = [self.number(i.then if is_then else i.otherwise) for i in node.indices]
        for i, number in zip(node.indices, numbers, strict=True):
            self.env[i.result.slot] = number


def run_skeleton(
    image: Image,
    schedule: Schedule,
    instances: Collection[int],
    scalars: dict[str, Any],
    trips: dict[tuple[int, int], list[int]],
    findings: Findings,
) -> None:
    """Adds a finding for every one of some instances that cannot end with the FIFOs the device has."""
    units = []
    for program in schedule.programs:
        for member, instance in enumerate(program.instances):
            if instance in instances:
                mine = {loop: counts for (n, loop), counts in trips.items() if n == instance}
                events = _Walk(program, member, scalars, mine).block(program.body)
                units.append(Unit(instance, events))
    stuck = Skeleton(image, units).run()
    names = image.instances
    waiting = {u.instance for u in stuck}
    for unit in stuck:
        event = unit.at
        assert event is not None
        name = names[unit.instance].name
        text = f"{name} {_wish(event, names)}"
        if event.kind != "meet":
            state = "waits itself" if event.peer in waiting else "has ended"
            text += f", which {state}"
        findings.add(Finding("deadlocks", text, name, "", event.where), (unit.instance, event.where))


def _wish(event: Event, names: Sequence[Any]) -> str:
    match event.kind:
        case "wait":
            return f"waits for a signal{' ' + event.tag if event.tag else ''} from {names[event.peer].name}"
        case "take":
            return f"waits for a message from {names[event.peer].name}"
        case "send":
            return f"waits for space to send {event.bytes} bytes to {names[event.peer].name}"
    return f"waits for the other members of multicast group {event.peer}"
