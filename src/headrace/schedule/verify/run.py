"""One abstract run of the units of a core: signals, bounded channels, vector clocks.

Programs branch on nothing a run decides, so this one order of execution stands for all (a Kahn network): a
deadlock here is a deadlock everywhere, and clocks tell which accesses any other order could swap.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.channels import Channel
from headrace.schedule.verify.clocks import STEP_BITS, Known, Stamp, UnitClock
from headrace.schedule.verify.contents import Contents
from headrace.schedule.verify.cores.ports import Exchange, Way
from headrace.schedule.verify.programs.events import FIRST_STEPS, Event, Filling, Message, Signal, Touch, Work
from headrace.schedule.verify.programs.values import Handle


@dataclass
class Record:
    """Memory accesses of one event: what was known when it started and when each step ran, and the time of
    the unit when it ended; `complete`: up to which time the unit's own transfers were known to be complete
    at the start.
    """

    unit: int
    touches: tuple[Touch, ...]
    op: Any
    start: Known
    time: int
    steps: list[Known] = field(default_factory=list)
    end: int = 0
    complete: int = 0


class _Unit:
    """A unit at a place in its program."""

    def __init__(self, handle: Handle, events: Iterator[Event], clock: UnitClock) -> None:
        self.handle, self.events, self.clock = handle, events, clock
        self.event: Event | None = None
        self.record: Record | None = None
        self.script: list[tuple[Message, Channel]] = []
        self.count = 0
        self.step = self.place = 0
        self.is_done = False
        self.waits_for = ""
        self.awaits: Handle | None = None
        self.complete = 0


class Run:
    """Runs programs until all end or none can go on; `findings` and `records` say what happened.

    With `ports` the programs are those of a core that runs apart from those it exchanges signals or messages
    with: it never waits for them, and notes what passes through each of its ports (`exchanges`).
    """

    def __init__(
        self,
        programs: Mapping[Handle, Iterator[Event]],
        capacity: Callable[[Handle, Handle], int | None],
        contents: Contents,
        ports: Mapping[Way, int] | None = None,
    ) -> None:
        self.contents, self.capacity = contents, capacity
        self.ports = ports or {}
        self.exchanges: list[list[Exchange]] = [[] for _ in self.ports]
        self.units = _numbered(programs, len(self.ports))
        self.known = {unit.handle: unit for unit in self.units}
        self.signals: dict[tuple[Handle, Handle], deque[tuple[str, Stamp, Any]]] = {}
        self.channels: dict[tuple[Handle, Handle], Channel] = {}
        self.records: list[Record] = []
        self.findings: list[Diagnostic] = []
        self.seen: set[Any] = set()

    @property
    def home(self) -> int:
        """The core of a run of one."""
        return self.units[0].handle.core

    def run(self) -> None:
        """Run to the end and check what is left over."""
        moved = True
        while moved:
            moved = False
            for unit in self.units:
                while not unit.is_done and self.advance(unit):
                    moved = True
        stuck = [u for u in self.units if not u.is_done]
        if stuck:
            cycle = _cycle({u.handle: u.awaits for u in stuck if u.awaits is not None})
            stuck.sort(key=lambda u: u.handle not in cycle)
            chain = "; ".join(f"{u.handle} waits for {u.waits_for}" for u in stuck)
            if cycle:
                chain += f"; cycle of waits: {' -> '.join(map(str, cycle))}"
            op = stuck[0].event.op if stuck[0].event is not None else None
            self.fault("the units wait for each other", op, chain)
            return
        for (sender, receiver), left in self.signals.items():
            if left:
                message = f"{len(left)} signals from {sender} to {receiver} are never waited for"
                self.fault(message, left[0][-1])
        for (sender, receiver), channel in self.channels.items():
            if channel.queue:
                message = f"{len(channel.queue)} messages from {sender} to {receiver} are never received"
                self.fault(message, channel.queue[0][-1])

    def once(self, found: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
        """What is found at a place for the first time."""
        for one in found:
            key = one.where, one.message
            if key not in self.seen:
                self.seen.add(key)
                yield one

    def fault(self, message: str, op: Any, hint: str = "") -> None:
        where = location(op) if op is not None else None
        self.findings.append(Diagnostic(message, where, getattr(op, "name", ""), hint))

    def advance(self, unit: _Unit) -> bool:
        """Run a unit until it must wait; False if it could not move at all."""
        if unit.event is None:
            unit.event = next(unit.events, None)
            if unit.event is None:
                unit.is_done = True
                return True
            unit.count += 1
            unit.step = unit.place = 0
            unit.clock.set_time(unit.count << STEP_BITS)
            self.open(unit)
        event = unit.event
        if isinstance(event, Filling):
            for touch in event.touches:
                self.contents.store(touch)
            unit.event = None
            return True
        finished = self.signal(unit, event) if isinstance(event, Signal) else self.work(unit, event)
        if finished is None:
            return False
        if finished:
            unit.event = None
        return True

    def open(self, unit: _Unit) -> None:
        unit.record = None
        if isinstance(unit.event, Work):
            unit.script = [self.way(unit, message) for message in unit.event.script]
        if isinstance(unit.event, Work) and unit.event.touches:
            time = unit.count << STEP_BITS
            clock = unit.clock
            unit.record = Record(clock.number, unit.event.touches, unit.event.op, clock.knows(), time)
            unit.record.complete = unit.complete
            self.records.append(unit.record)
            for touch in unit.event.touches:
                if not touch.is_write:
                    self.findings += self.once(self.contents.check(touch, unit.handle, unit.event.op))

    def signal(self, unit: _Unit, event: Signal) -> bool | None:
        if event.kind == "fence":
            unit.complete = unit.count << STEP_BITS
            return True
        assert event.peer is not None
        if (port := self.ports.get(Way(event.kind, unit.handle, event.peer))) is not None:
            self.exchange(unit, port, event.kind == "wait", event.label, 0, unit.clock.time, event.op)
            return True
        if event.kind == "send":
            queue = self.signals.setdefault((unit.handle, event.peer), deque())
            queue.append((event.label, self.told(unit, event.peer, unit.clock.time), event.op))
            return True
        queue = self.signals.setdefault((event.peer, unit.handle), deque())
        if not queue:
            unit.waits_for, unit.awaits = f"a signal {event.label!r} from {event.peer}", event.peer
            return None
        label, stamp, _ = queue.popleft()
        # the peer has seen a signal of this unit, which travels behind its transfers
        seen = stamp.near[unit.clock.at] if stamp.near else stamp.far[unit.clock.number]
        unit.complete = max(unit.complete, seen)
        if label and event.label and label != event.label:
            self.fault(
                f"waits for {event.label!r} from {event.peer}, but the next signal is {label!r}", event.op
            )
        self.learn(unit, event.peer, stamp)
        return True

    def exchange(
        self, unit: _Unit, port: int, is_heard: bool, what: Any, size: int, time: int, op: Any
    ) -> None:
        """Note what passes through a port at a time of the unit."""
        passed, clock = self.exchanges[port], unit.clock
        passed.append(Exchange(what, size, clock.needs, clock.knows_at(time), op))
        clock.exchange(port, len(passed), is_heard)

    def told(self, unit: _Unit, peer: Handle, time: int) -> Stamp:
        """What a signal or message tells a peer."""
        if peer.core == unit.handle.core:
            return unit.clock.stamp(time)
        return unit.clock.stamp_abroad(time)

    def learn(self, unit: _Unit, peer: Handle, stamp: Stamp) -> None:
        """Take in what a peer told."""
        unit.clock.learn(self.known[peer].clock.at if stamp.near else -1, stamp)

    def work(self, unit: _Unit, event: Work) -> bool | None:
        """Run steps of a script; None if not one message could move."""
        moved = False
        start, record = unit.count << STEP_BITS, unit.record
        script = unit.script
        while unit.step < event.steps:
            times = event.covered if unit.step == FIRST_STEPS else 1
            while unit.place < len(script):
                message, channel = script[unit.place]
                if not self.pass_on(unit, message, times, channel, start + unit.step + 1, event.op):
                    return False if moved else None
                unit.place += 1
                moved = True
            unit.place = 0
            unit.step += 1
            if record is not None:
                record.steps.append(unit.clock.knows())
            unit.clock.set_time(start + unit.step)
            moved = True
        if record is not None:
            record.end = start + event.steps
            for touch in event.touches:
                if touch.is_write:
                    self.contents.store(touch)
        return True

    def way(self, unit: _Unit, message: Message) -> tuple[Message, Channel]:
        """The message with the channel it takes."""
        is_push = message.kind == "push"
        ends = (unit.handle, message.peer) if is_push else (message.peer, unit.handle)
        channel = self.channels.get(ends)
        if channel is None:
            port = self.ports.get(Way(message.kind, unit.handle, message.peer))
            channel = self.channels[ends] = Channel(self.capacity(*ends), port, bool(self.ports))
        return message, channel

    def pass_on(
        self, unit: _Unit, message: Message, times: int, channel: Channel, time: int, op: Any
    ) -> bool:
        """Push or pop one message that stands for so many; False if it must wait."""
        size = times * message.bytes
        if channel.port is not None:
            what = (message.elements, message.dtype, times)
            self.exchange(unit, channel.port, message.kind == "pop", what, size, time, op)
            return True
        if message.kind == "push":
            if not channel.takes(size):
                unit.waits_for, unit.awaits = f"space on the way to {message.peer}", message.peer
                return False
            for needs in channel.room(size) if channel.freed else ():
                unit.clock.need(needs)
            channel.queue.append(((message, times), self.told(unit, message.peer, time), op))
            channel.bytes += size
            return True
        if not channel.queue:
            unit.waits_for, unit.awaits = f"a message from {message.peer}", message.peer
            return False
        (sent, count), stamp, _ = channel.queue.popleft()
        channel.bytes -= count * sent.bytes
        if count != times:
            self.fault(f"receives {times} messages from {message.peer} where {count} arrive", op)
        if (sent.elements, sent.dtype) != (message.elements, message.dtype):
            hint = f"{message.peer} sends {sent.elements} x {sent.dtype}"
            self.fault(f"receives {message.elements} x {message.dtype}, which is not what arrives", op, hint)
        self.learn(unit, message.peer, stamp)
        if channel.is_apart:
            channel.free(count * sent.bytes, unit.clock.needs)
        return True


def _numbered(programs: Mapping[Handle, Iterator[Event]], ports: int) -> list[_Unit]:
    """The units by core, with their clocks; there are so many ports."""
    handles = sorted(programs, key=lambda handle: handle.core)
    firsts: dict[int, int] = {}
    for number, handle in enumerate(handles):
        firsts.setdefault(handle.core, number)
    sizes = Counter(handle.core for handle in handles)
    far = len(handles) if len(firsts) > 1 else 0
    return [
        _Unit(h, programs[h], UnitClock(number, firsts[h.core], sizes[h.core], far, ports))
        for number, h in enumerate(handles)
    ]


def _cycle(waits: dict[Handle, Handle]) -> list[Handle]:
    """The units of a cycle of waits, the first one repeated at the end; empty if there is none."""
    for start in waits:
        seen: list[Handle] = []
        at = start
        while at in waits and at not in seen:
            seen.append(at)
            at = waits[at]
        if at in seen:
            return [*seen[seen.index(at) :], at]
    return []
