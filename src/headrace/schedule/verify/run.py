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
from headrace.schedule.verify.events import FIRST_STEPS, Event, Filling, Message, Signal, Touch, Work
from headrace.schedule.verify.values import Handle

STEP_BITS = 24
Clock = tuple[int, ...]
"""Up to which time of each unit of a core something is known to have happened."""


@dataclass(frozen=True)
class Known:
    """What a unit knows at a moment: the clock of its own core, whose units have the numbers from `low` on,
    and what signals between cores told of all units of others.
    """

    low: int
    near: Clock
    far: Clock

    def of(self, unit: int) -> int:
        """Return up to which time another unit is known."""
        at = unit - self.low
        if 0 <= at < len(self.near):
            return self.near[at]
        return self.far[unit] if self.far else 0


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


@dataclass
class Channel:
    """Messages on their way, at most `capacity` bytes of them (a longer one passes alone, in pieces): each
    with how many it stands for, the clocks of its sender, the sender's time and the op.
    """

    capacity: int | None
    queue: deque[tuple[tuple[Message, int], Clock, Clock, int, Any]] = field(default_factory=deque)
    bytes: int = 0

    def takes(self, size: int) -> bool:
        return self.capacity is None or not self.queue or self.bytes + size <= self.capacity


class _Unit:
    """A unit and its clocks. `base` is the clock of its core as it was sent last, until it learns something;
    `merged` are the clocks it took in last, by the place of their senders in the core.
    """

    def __init__(self, number: int, handle: Handle, events: Iterator[Event]) -> None:
        self.number, self.handle, self.events = number, handle, events
        self.low = self.at = 0
        self.near: list[int] = []
        self.far: Clock = ()
        self.base: Clock | None = None
        self.merged: dict[int, Clock] = {}
        self.known: Known | None = None
        self.event: Event | None = None
        self.record: Record | None = None
        self.count = 0
        self.step = self.place = 0
        self.is_done = False
        self.waits_for = ""
        self.awaits: Handle | None = None
        self.complete = 0

    def clock(self) -> Clock:
        """The clock of its core; its own entry may be older than its time."""
        if self.base is None:
            self.base = tuple(self.near)
        return self.base

    def knows(self) -> Known:
        """What it knows now."""
        base = self.clock()
        if self.known is None or self.known.near is not base or self.known.far is not self.far:
            self.known = Known(self.low, base, self.far)
        return self.known

    def learn(self, sender: _Unit, base: Clock, far: Clock, time: int) -> None:
        """Take in what a sender knew at that time of its own."""
        if sender.low != self.low:
            whole = list(far)
            whole[sender.low : sender.low + len(base)] = base
            whole[sender.number] = time
            self.far = tuple(map(max, self.far, whole))
            self.near[:] = map(max, self.near, whole[self.low : self.low + len(self.near)])
        else:
            if self.merged.get(sender.at) is not base:
                self.merged[sender.at] = base
                self.near[:] = map(max, self.near, base)
            if self.near[sender.at] < time:
                self.near[sender.at] = time
            if far is not self.far:
                later = tuple(map(max, self.far, far))
                self.far = far if later == far else later
        self.base = None


class Run:
    """Runs programs until all end or none can go on; `findings` and `records` say what happened."""

    def __init__(
        self,
        programs: dict[Handle, Iterator[Event]],
        capacity: Callable[[Handle, Handle], int | None],
        contents: Contents,
    ) -> None:
        self.contents = contents
        ordered = sorted(programs, key=lambda handle: handle.core)
        self.units = [_Unit(n, handle, programs[handle]) for n, handle in enumerate(ordered)]
        self.known = {unit.handle: unit for unit in self.units}
        self._number()
        self.capacity = capacity
        self.signals: dict[tuple[Handle, Handle], deque[tuple[str, Clock, Clock, int, Any]]] = {}
        self.channels: dict[tuple[Handle, Handle], Channel] = {}
        self.records: list[Record] = []
        self.findings: list[Diagnostic] = []
        self.seen: set[Any] = set()

    def _number(self) -> None:
        """Give the units of every core their clock."""
        cores: dict[int, list[_Unit]] = {}
        for unit in self.units:
            cores.setdefault(unit.handle.core, []).append(unit)
        far = (0,) * len(self.units) if len(cores) > 1 else ()
        for units in cores.values():
            for at, unit in enumerate(units):
                unit.low, unit.at, unit.near, unit.far = units[0].number, at, [0] * len(units), far

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
                    f"{len(left)} signals from {sender} to {receiver} are never waited for", left[0][-1]
                )
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
            unit.near[unit.at] = unit.count << STEP_BITS
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
        if isinstance(unit.event, Work) and unit.event.touches:
            time = unit.count << STEP_BITS
            unit.record = Record(unit.number, unit.event.touches, unit.event.op, unit.knows(), time)
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
        if event.kind == "send":
            queue = self.signals.setdefault((unit.handle, event.peer), deque())
            queue.append((event.label, unit.clock(), unit.far, unit.near[unit.at], event.op))
            return True
        queue = self.signals.setdefault((event.peer, unit.handle), deque())
        if not queue:
            unit.waits_for, unit.awaits = f"a signal {event.label!r} from {event.peer}", event.peer
            return None
        label, base, far, time, _ = queue.popleft()
        sender = self.known[event.peer]
        # the peer has seen a signal of this unit, which travels behind its transfers
        seen = base[unit.at] if sender.low == unit.low else far[unit.number]
        unit.complete = max(unit.complete, seen)
        if label and event.label and label != event.label:
            self.fault(
                f"waits for {event.label!r} from {event.peer}, but the next signal is {label!r}", event.op
            )
        unit.learn(sender, base, far, time)
        return True

    def work(self, unit: _Unit, event: Work) -> bool | None:
        """Run steps of a script; None if not one message could move."""
        moved = False
        start, record = unit.count << STEP_BITS, unit.record
        script = [self.way(unit, message) for message in event.script]
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
                record.steps.append(unit.knows())
            unit.near[unit.at] = start + unit.step
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
            channel = self.channels[ends] = Channel(self.capacity(*ends))
        return message, channel

    def pass_on(
        self, unit: _Unit, message: Message, times: int, channel: Channel, time: int, op: Any
    ) -> bool:
        """Push or pop one message that stands for so many; False if it must wait."""
        if message.kind == "push":
            if not channel.takes(times * message.bytes):
                unit.waits_for, unit.awaits = f"space on the way to {message.peer}", message.peer
                return False
            channel.queue.append(((message, times), unit.clock(), unit.far, time, op))
            channel.bytes += times * message.bytes
            return True
        if not channel.queue:
            unit.waits_for, unit.awaits = f"a message from {message.peer}", message.peer
            return False
        (sent, count), base, far, sent_at, _ = channel.queue.popleft()
        channel.bytes -= count * sent.bytes
        if count != times:
            self.fault(f"receives {times} messages from {message.peer} where {count} arrive", op)
        if (sent.elements, sent.dtype) != (message.elements, message.dtype):
            hint = f"{message.peer} sends {sent.elements} x {sent.dtype}"
            self.fault(f"receives {message.elements} x {message.dtype}, which is not what arrives", op, hint)
        unit.learn(self.known[message.peer], base, far, sent_at)
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
