"""One abstract run of the units of a core: signals, bounded channels, vector clocks.

Programs branch on nothing a run decides, so this one order of execution stands for all (a Kahn network): a
deadlock here is a deadlock everywhere, and clocks tell which accesses any other order could swap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.contents import Contents
from headrace.schedule.verify.events import Event, Message, Signal, Touch, Work
from headrace.schedule.verify.values import Handle

STEP_BITS = 24
Clock = tuple[int, ...]


@dataclass
class Record:
    """Memory accesses of one event: when it started, when each step ran, and the time of the unit when it
    ended; `complete`: up to which time the unit's own transfers were known to be complete at the start.
    """

    unit: int
    touches: tuple[Touch, ...]
    op: Any
    start: Clock
    time: int
    steps: list[Clock] = field(default_factory=list)
    end: int = 0
    complete: int = 0


@dataclass
class Channel:
    """Messages on their way, at most `capacity` bytes of them (a longer one passes alone, in pieces)."""

    capacity: int | None
    queue: deque[tuple[Message, Clock, Any]] = field(default_factory=deque)
    bytes: int = 0

    def takes(self, message: Message) -> bool:
        return self.capacity is None or not self.queue or self.bytes + message.bytes <= self.capacity


class _Unit:
    def __init__(self, number: int, handle: Handle, events: Iterator[Event]) -> None:
        self.number, self.handle, self.events = number, handle, events
        self.event: Event | None = None
        self.record: Record | None = None
        self.count = 0
        self.step = self.place = 0
        self.is_done = False
        self.waits_for = ""
        self.awaits: Handle | None = None
        self.complete = 0


class Run:
    """Runs programs until all end or none can go on; `findings` and `records` say what happened."""

    def __init__(
        self,
        programs: dict[Handle, Iterator[Event]],
        capacity: Callable[[Handle, Handle], int | None],
        contents: Contents,
    ) -> None:
        self.contents = contents
        self.units = [_Unit(n, h, e) for n, (h, e) in enumerate(programs.items())]
        self.clocks: list[list[int]] = [[0] * len(self.units) for _ in self.units]
        self.capacity = capacity
        self.signals: dict[tuple[Handle, Handle], deque[tuple[str, Clock, Any]]] = {}
        self.channels: dict[tuple[Handle, Handle], Channel] = {}
        self.records: list[Record] = []
        self.findings: list[Diagnostic] = []
        self.seen: set[Any] = set()

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
                self.fault(
                    f"{len(left)} signals from {sender} to {receiver} are never waited for", left[0][2]
                )
        for (sender, receiver), channel in self.channels.items():
            if channel.queue:
                message = f"{len(channel.queue)} messages from {sender} to {receiver} are never received"
                self.fault(message, channel.queue[0][2])

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
            self.clocks[unit.number][unit.number] = unit.count << STEP_BITS
            self.open(unit)
        event = unit.event
        finished = self.signal(unit, event) if isinstance(event, Signal) else self.work(unit, event)
        if finished is None:
            return False
        if finished:
            unit.event = None
        return True

    def open(self, unit: _Unit) -> None:
        unit.record = None
        if isinstance(unit.event, Work) and unit.event.touches:
            start = tuple(self.clocks[unit.number])
            unit.record = Record(
                unit.number, unit.event.touches, unit.event.op, start, unit.count << STEP_BITS
            )
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
        clock = self.clocks[unit.number]
        if event.kind == "send":
            queue = self.signals.setdefault((unit.handle, event.peer), deque())
            queue.append((event.label, tuple(clock), event.op))
            return True
        queue = self.signals.setdefault((event.peer, unit.handle), deque())
        if not queue:
            unit.waits_for, unit.awaits = f"a signal {event.label!r} from {event.peer}", event.peer
            return None
        label, seen, _ = queue.popleft()
        # the peer has seen a signal of this unit, which travels behind its transfers
        unit.complete = max(unit.complete, seen[unit.number])
        if label and event.label and label != event.label:
            self.fault(
                f"waits for {event.label!r} from {event.peer}, but the next signal is {label!r}", event.op
            )
        self.join(clock, seen)
        return True

    def join(self, clock: list[int], seen: Clock) -> None:
        clock[:] = map(max, clock, seen)

    def work(self, unit: _Unit, event: Work) -> bool | None:
        """Run steps of a script; None if not one message could move."""
        moved = False
        clock = self.clocks[unit.number]
        while unit.step < event.steps:
            while unit.place < len(event.script):
                if not self.pass_on(unit, event.script[unit.place], clock, event.op):
                    return False if moved else None
                unit.place += 1
                moved = True
            unit.place = 0
            unit.step += 1
            if unit.record is not None:
                unit.record.steps.append(tuple(clock))
            clock[unit.number] = (unit.count << STEP_BITS) + unit.step
            moved = True
        if unit.record is not None:
            unit.record.end = (unit.count << STEP_BITS) + event.steps
            for touch in event.touches:
                if touch.is_write:
                    self.contents.store(touch)
        return True

    def pass_on(self, unit: _Unit, message: Message, clock: list[int], op: Any) -> bool:
        """Push or pop one message; False if it must wait."""
        is_push = message.kind == "push"
        ends = (unit.handle, message.peer) if is_push else (message.peer, unit.handle)
        channel = self.channels.get(ends)
        if channel is None:
            channel = self.channels[ends] = Channel(self.capacity(*ends))
        if is_push:
            if not channel.takes(message):
                unit.waits_for, unit.awaits = f"space on the way to {message.peer}", message.peer
                return False
            seen = list(clock)
            seen[unit.number] = (unit.count << STEP_BITS) + unit.step + 1
            channel.queue.append((message, tuple(seen), op))
            channel.bytes += message.bytes
            return True
        if not channel.queue:
            unit.waits_for, unit.awaits = f"a message from {message.peer}", message.peer
            return False
        sent, seen_clock, sender = channel.queue.popleft()
        channel.bytes -= sent.bytes
        if (sent.elements, sent.dtype) != (message.elements, message.dtype):
            hint = f"{message.peer} sends {sent.elements} x {sent.dtype}"
            self.fault(f"receives {message.elements} x {message.dtype}, which is not what arrives", op, hint)
        self.join(clock, seen_clock)
        return True


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
