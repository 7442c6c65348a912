"""The synchronisation skeleton with bounded FIFOs: one abstract run decides about deadlock for all runs.

A unit program branches only on constants, arguments and received data, never on timing, so all
interleavings make the same progress. Messages are counted in bytes against the capacity of their channel;
one that is longer than the queue passes while its receiver takes it. The k-th transfers of the members of a
multicast group are one meeting.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
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
    Wait,
    Write,
)


@dataclass(frozen=True)
class Event:
    """What a unit wants next: "send" or "take" a message, "signal" or "wait", "meet" a group."""

    kind: str
    peer: int
    bytes: int = 0
    tag: str = ""
    where: Location = Location()


@dataclass(frozen=True)
class Burst:
    """Events that a unit does in order, `repeats` times."""

    events: tuple[Event, ...]
    repeats: int = 1

    @cached_property
    def sends(self) -> dict[int, tuple[int, int]] | None:
        """For every receiver (bytes, messages) an iteration sends; None if there are other events than
        messages.

        Also None if messages to one receiver differ in size: then their order matters.
        """
        out: dict[int, tuple[int, int]] = {}
        for event in self.events:
            if event.kind == "take":
                continue
            size, count = out.get(event.peer, (0, 0))
            if event.kind != "send" or (count and size != event.bytes * count):
                return None
            out[event.peer] = (size + event.bytes, count + 1)
        return out

    @cached_property
    def takes(self) -> Counter[int]:
        """Messages an iteration takes, by sender."""
        return Counter(e.peer for e in self.events if e.kind == "take")


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


# ---- events of a program -----------------------------------------------------------------------------------
class _Walk:
    """Generates the bursts of one instance; data-dependent counts come from a recorded run."""

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
        self.fixed: dict[int, tuple[Event, ...] | None] = {}

    def number(self, index: Index) -> int:
        return int(index.evaluate(self.env))

    def block(self, nodes: Sequence[Node]) -> Generator[Burst, None, None]:
        pending: list[Event] = []
        for node in nodes:
            event = self.event(node)
            if event is not None:
                pending.append(event)
            elif isinstance(node, Read | Write | Loop | If):
                if pending:
                    yield Burst(tuple(pending))
                    pending = []
                if isinstance(node, Loop):
                    yield from self.loop(node)
                elif isinstance(node, If):
                    yield from self.branch(node)
                else:
                    yield from self.stream(node)
        if pending:
            yield Burst(tuple(pending))

    def event(self, node: Node) -> Event | None:
        """The one event of a simple node, or None."""
        match node:
            case Signal():
                peer = self.number(node.peer)
                return None if peer == self.me else Event("signal", peer, 0, node.tag, node.where)
            case Wait():
                return Event("wait", self.number(node.peer), 0, node.tag, node.where)
            case Send():
                return Event("send", self.number(node.peer), node.value.bytes, "", node.where)
            case Receive():
                return Event("take", self.number(node.peer), node.result.bytes, "", node.where)
            case Copy() if node.group is not None and self.number(node.group) >= 0:
                return Event("meet", self.number(node.group), 0, "", node.where)
        return None

    def stream(self, node: Read | Write) -> Generator[Burst, None, None]:
        kind = "send" if isinstance(node, Read) else "take"
        steps = prod(self.number(d.extent) for d in node.streams[0].box.times)
        events = [Event(kind, self.number(s.peer), s.message_bytes, "", s.where) for s in node.streams]
        whole, rest = divmod(steps, node.granularity)
        yield Burst(tuple(e for e in events for _ in range(node.granularity)), whole)
        yield Burst(tuple(e for e in events for _ in range(rest)), 1)

    def loop(self, node: Loop) -> Generator[Burst, None, None]:
        if node.is_data_dependent:
            lower, upper, step = 0, next(self.trips[node.number]), 1
        else:
            lower, upper, step = (self.number(i) for i in (node.lower, node.upper, node.step))
        if id(node) not in self.fixed:
            self.fixed[id(node)] = self.straight(node)
        events = self.fixed[id(node)]
        if events is not None:
            yield Burst(events, len(range(lower, upper, step)))
            return
        carried = [self.number(i.initial) for i in node.indices]
        for value in range(lower, upper, step):
            self.env[node.iv.slot] = value
            for i, number in zip(node.indices, carried, strict=True):
                self.env[i.argument.slot] = number
            yield from self.block(node.body)
            carried = [self.number(i.yielded) for i in node.indices]
        for i, number in zip(node.indices, carried, strict=True):
            self.env[i.result.slot] = number

    def straight(self, node: Loop) -> tuple[Event, ...] | None:
        """The events of an iteration if all iterations have the same ones, None if that takes a walk."""
        if node.indices or any(isinstance(n, Read | Write | Loop | If) for n in node.body):
            return None
        found = []
        for inner in node.body:
            peer = getattr(inner, "peer", getattr(inner, "group", None))
            if peer is not None and any(s.role != "table" for s in peer.symbols):
                return None
            event = self.event(inner)
            if event is not None:
                found.append(event)
        return tuple(found)

    def branch(self, node: If) -> Generator[Burst, None, None]:
        known = next(self.trips[node.number]) if node.is_data_dependent else self.number(node.condition)
        is_then = bool(known)
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
                bursts = _Walk(program, member, scalars, mine).block(program.body)
                units.append(Unit(instance, bursts))
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
