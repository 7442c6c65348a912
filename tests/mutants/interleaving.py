"""Runs an image in a random legal order: any order FIFOs, signals and multicast meetings allow.

Units, and every copy in flight, are actors that do one small action at a time: a message, a vector read or
written, a piece of a copy. A signal is posted once the unit's earlier copies are complete; a fence waits for
them. Which actor goes next is the order's choice (`Order`); all else is what the program says.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from headrace.machine.execute import indirect
from headrace.machine.execute.access import put, take
from headrace.machine.execute.arenas import Scratchpads
from headrace.machine.execute.exchange import checked
from headrace.machine.execute.execution import Execution
from headrace.machine.execute.handlers import HANDLERS
from headrace.machine.execute.run import named
from headrace.machine.execute.team import Team, new_team
from headrace.machine.image import Copy, Image, Load, Read, Receive, Send, Signal, Store, Wait, Write
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]
Life = Iterator[Key | None]
"""What an actor does: yields None after an action, or the key of what it waits for."""


class Hang(Exception):
    """Nobody can go on, or something is left over at the end."""


class Order:
    """A random choice among actors: uniform, or by priorities that change now and then."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_uniform = seed % 2 == 0

    def pick(self, ready: list[Actor]) -> Actor:
        """The actor that goes next."""
        if self.is_uniform:
            return ready[self.random.randrange(len(ready))]
        if self.random.random() < 0.02:
            self.random.choice(ready).priority = self.random.random()
        return max(ready, key=lambda a: a.priority)

    def priority(self) -> float:
        """The priority of a new actor."""
        return self.random.random()

    def piece(self, steps: int) -> int:
        """How many vectors of a copy move at once."""
        return steps if self.random.random() < 0.5 else self.random.randint(1, steps)

    def span(self, unit: str, where: Any, after: float) -> tuple[float, float] | None:
        """When the next run of an op starts and ends on a unit; None for an order without times."""
        return None


@dataclass(eq=False)
class Actor:
    """A unit or a copy in flight."""

    life: Life
    priority: float
    name: str = ""
    when: float = 0.0


@dataclass
class Pipe:
    """Messages from one instance to another."""

    capacity: int | None
    messages: deque[Array] = field(default_factory=deque)
    used: int = 0

    def takes(self, size: int) -> bool:
        return self.capacity is None or not self.messages or self.used + size <= self.capacity


class Interleaving(Execution):
    """One run of an image in the order that `order` picks."""

    def __init__(
        self, image: Image, memory: Memory, scalars: dict[str, Any], pads: Scratchpads, order: Order
    ) -> None:
        super().__init__(image, memory, scalars, pads, HANDLERS)
        self.order = order
        self.capacity = {(c.sender, c.receiver): c.capacity_bytes for c in image.channels}
        self.pipes: dict[tuple[int, int], Pipe] = {}
        self.signals: dict[tuple[int, int], int] = {}
        self.flights: dict[int, list[Actor | int]] = {}
        self.issued: dict[tuple[int, int], int] = {}
        self.actors: list[Actor] = []
        self.waiting: dict[Key, list[Actor]] = {}

    def run(self, teams: list[Team]) -> None:
        """Runs single instances to their ends; Hang if they cannot get there."""
        self._settle(teams)
        self.pipes, self.signals, self.flights = {}, {}, {t.ids[0]: [] for t in teams}
        self.issued, self.waiting = {}, {}
        self.units = {
            t.ids[0]: Actor(self._unit(t), self.order.priority(), self.name(t.ids[0])) for t in teams
        }
        self.spans: dict[int, tuple[float, float] | None] = dict.fromkeys(self.units)
        self.actors = list(self.units.values())
        while self.actors:
            actor = self.order.pick(self.actors)
            key = next(actor.life, "end")
            if key is not None:
                self.actors.remove(actor)
            if key is not None and key != "end":
                assert isinstance(key, tuple)
                self.waiting.setdefault(key, []).append(actor)
        left = [f"{a.name} waits for {k}" for k, actors in self.waiting.items() for a in actors]
        left += [f"message {k}" for k, p in self.pipes.items() if p.messages]
        left += [f"signal {k}" for k, n in self.signals.items() if n]
        if left:
            raise Hang("; ".join(left))

    def name(self, instance: int) -> str:
        return self.image.instances[instance].name

    def wake(self, *key: Any) -> None:
        """Whoever waits for this may go on."""
        self.actors.extend(self.waiting.pop(key, ()))

    # ---- units ---------------------------------------------------------------------------------------------
    def _unit(self, team: Team) -> Life:
        """A unit: node by node."""
        while team.frames:
            frame = team.frames[-1]
            if frame.at == len(frame.nodes):
                self._end_block(team, frame)
                continue
            node = frame.nodes[frame.at]
            action = ACTIONS.get(type(node))
            if isinstance(node, Load | Store):
                yield None
            if action is None:
                self.handlers[type(node)](self, team, node)
            else:
                actor = self.units[team.ids[0]]
                span = self.spans[team.ids[0]] = self.order.span(actor.name, node.where, actor.when)
                if span is not None and not isinstance(node, Copy):
                    actor.when = span[0]
                    yield None
                yield from action(self, team, node)
            if team.frames and team.frames[-1] is frame:
                frame.at += 1
        while self.flights[team.ids[0]]:
            yield "flight", team.ids[0]

    def pipe(self, sender: int, receiver: int) -> Pipe:
        """The channel between two instances."""
        key = sender, receiver
        if key not in self.pipes:
            self.pipes[key] = Pipe(self.capacity.get(key))
        return self.pipes[key]

    def push(self, team: Team, peer: int, message: Callable[[], Array], size: int) -> Life:
        """Sends a message as soon as there is room; one longer than the queue keeps its sender."""
        me = team.ids[0]
        pipe = self.pipe(me, peer)
        while not pipe.takes(size):
            yield "space", me, peer
        pipe.messages.append(message())
        pipe.used += size
        self.wake("message", me, peer)
        yield None
        while pipe.capacity is not None and pipe.used > pipe.capacity:
            yield "space", me, peer

    def pop(self, team: Team, peer: int, found: list[Array]) -> Life:
        """Receives the next message into `found`."""
        me = team.ids[0]
        pipe = self.pipe(peer, me)
        while not pipe.messages:
            yield "message", peer, me
        found.append(pipe.messages.popleft())
        pipe.used -= found[-1].nbytes
        self.wake("space", peer, me)
        yield None

    def land(self, me: int, done: Actor | None = None) -> None:
        """A copy is complete: the signals behind which nothing is in flight any more are posted."""
        flight = self.flights[me]
        if done is not None:
            flight.remove(done)
        while flight and not isinstance(flight[0], Actor):
            peer = flight.pop(0)
            self.signals[me, peer] = self.signals.get((me, peer), 0) + 1
            self.wake("signal", me, peer)
        self.wake("flight", me)


def _signal(run: Interleaving, team: Team, node: Signal) -> Life:
    me, peer = team.ids[0], run.members(team, node.peer)[0]
    while (node.waits or peer == me) and run.flights[me]:
        yield "flight", me
    if peer != me:
        run.flights[me].append(peer)
        run.land(me)
        yield None


def _wait(run: Interleaving, team: Team, node: Wait) -> Life:
    key = run.members(team, node.peer)[0], team.ids[0]
    while not run.signals.get(key):
        yield "signal", *key
    run.signals[key] -= 1
    yield None


def _copy(run: Interleaving, team: Team, node: Copy) -> Life:
    me = team.ids[0]
    source, target = run.access(team, node.source, node.where), run.access(team, node.target, node.where)
    index = None if node.indirect is None else run.access(team, node.indirect.box, node.where)
    group = -1 if node.group is None else run.members(team, node.group)[0]
    env = list(team.env)
    if index is None:
        for access in (source, target):
            if access.is_linear:
                access.views(env)  # a fault if it is outside
        pieces = _pieces(run, node, source, target, env)
    else:
        pieces = _indirect(node, source, target, index, env)
    span = run.spans[me]
    start = run.units[me].when if span is None else span[0]
    actor = Actor(iter(()), run.order.priority(), f"copy of {run.name(me)}", start)
    actor.life = _flight(run, me, group, pieces, actor)
    run.flights[me].append(actor)
    run.actors.append(actor)
    yield None


def _flight(run: Interleaving, me: int, group: int, pieces: Life, actor: Actor) -> Life:
    """A copy in flight: it starts when every member of its group has issued its own."""
    if group >= 0:
        count = run.issued[group, me] = run.issued.get((group, me), 0) + 1
        run.wake("meet", group)
        members = [m for m in run.image.groups[group].members if m in run.flights]
        while any(run.issued.get((group, m), 0) < count for m in members):
            yield "meet", group
    span = run.spans[me]
    for k, _ in enumerate(pieces):
        if span is not None:
            actor.when = span[0] + k
        yield None
    if span is not None:
        actor.when = max(actor.when, span[1])
        yield None
    run.land(me, actor)


def _pieces(run: Interleaving, node: Copy, source: Any, target: Any, env: list[Any]) -> Life:
    froms, goals = source.addresses(env)[0], target.addresses(env)[0]
    steps, at = len(froms), 0
    while at < steps:
        n = run.order.piece(steps - at)
        rows = np.zeros((n, max(froms.shape[1], goals.shape[1])), source.dtype)
        rows[:, : froms.shape[1]] = take(source.arena, froms[at : at + n], source.dtype)
        put(target.arena, goals[at : at + n], rows[:, : goals.shape[1]])
        at += n
        yield None


def _indirect(node: Copy, source: Any, target: Any, index: Any, env: list[Any]) -> Life:
    indirect.run(node, source, target, index, env)
    yield None


def _streams(run: Interleaving, team: Team, node: Read | Write) -> list[tuple[Any, ...]]:
    """(stream, access, peer, addresses [step, lane]) of every stream."""
    out = []
    for stream in node.streams:
        access = run.access(team, stream.box, stream.where)
        if access.is_linear:
            access.views(team.env)  # a fault if it is outside
        out.append((stream, access, run.members(team, stream.peer)[0], access.addresses(team.env)[0]))
    return out


def _rounds(steps: int, streams: int, granularity: int) -> Iterator[tuple[int, int]]:
    """(stream, step) of every message in order."""
    for first in range(0, steps, granularity):
        for k in range(streams):
            for t in range(first, min(first + granularity, steps)):
                yield k, t


def _paced(run: Interleaving, team: Team, part: float) -> Life:
    """In an order with times, lets others act until this part of the op's time is over."""
    span = run.spans[team.ids[0]]
    if span is not None:
        run.units[team.ids[0]].when = span[0] + part * (span[1] - span[0])
        yield None


def _read(run: Interleaving, team: Team, node: Read) -> Life:
    found = _streams(run, team, node)
    steps = len(found[0][3])
    for number, (k, t) in enumerate(_rounds(steps, len(found), node.granularity)):
        stream, access, peer, at = found[k]
        yield from _paced(run, team, number / (steps * len(found)))

        def message(stream: Any = stream, access: Any = access, row: Array = at[t]) -> Array:
            lanes = np.zeros(prod(stream.shape), access.dtype)
            lanes[: len(row)] = take(access.arena, row[None], access.dtype)[0]
            return lanes.reshape(1, 1, *stream.shape)

        yield from run.push(team, peer, message, stream.message_bytes)


def _write(run: Interleaving, team: Team, node: Write) -> Life:
    found = _streams(run, team, node)
    steps = len(found[0][3])
    for number, (k, t) in enumerate(_rounds(steps, len(found), node.granularity)):
        stream, access, peer, at = found[k]
        yield from _paced(run, team, number / (steps * len(found)))
        got: list[Array] = []
        yield from run.pop(team, peer, got)
        data = checked(got[0], stream.shape, stream.box.dtype, stream.where, run.partner(team, stream.peer))
        put(access.arena, at[t][None], data.reshape(1, -1)[:, : at.shape[1]])


def _send(run: Interleaving, team: Team, node: Send) -> Life:
    value = team.values[node.value.number]
    size = int(value.nbytes)
    yield from run.push(team, run.members(team, node.peer)[0], lambda: np.array(value), size)


def _receive(run: Interleaving, team: Team, node: Receive) -> Life:
    got: list[Array] = []
    yield from run.pop(team, run.members(team, node.peer)[0], got)
    result = node.result
    team.values[result.number] = checked(
        got[0], result.shape, result.dtype, node.where, run.partner(team, node.peer)
    )


ACTIONS: dict[type, Callable[[Interleaving, Team, Any], Life]] = {
    Signal: _signal,
    Wait: _wait,
    Copy: _copy,
    Read: _read,
    Write: _write,
    Send: _send,
    Receive: _receive,
}


def interleave(
    image: Image, memory: Memory, scalars: dict[str, Any], pads: Scratchpads, order: Order
) -> None:
    """Runs an image in an order; Hang or a HeadraceError where it cannot end as it should."""
    values = named(image, scalars)
    run = Interleaving(image, memory, values, pads, order)
    with np.errstate(all="ignore"):
        for schedule in image.schedules:
            teams: list[Team] = []
            for program in schedule.programs:
                for member in range(len(program.instances)):
                    team = new_team(len(teams), program, [member], values)
                    team.is_unfolded = True
                    teams.append(team)
            run.run(teams)
