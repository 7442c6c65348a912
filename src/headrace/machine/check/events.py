"""What a unit program does as far as others can see: bursts of messages, signals and meetings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from headrace.ir.diagnostics import Location
from headrace.machine.image import (
    Copy,
    If,
    Index,
    Loop,
    Node,
    Program,
    Read,
    Receive,
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
        """For every receiver (bytes, messages) an iteration sends; None if order matters.

        It does if there are other events than messages, or messages to one receiver differ in size.
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


class Walk:
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
