"""Programs of an Image as bodies of activities: loops walked, prices evaluated, equal iterations written
once.

A program runs on many cores; it is expanded once for all cores on which every number that matters for time
(trip counts, extents, conditions, alignment, relative places of peers) is the same. Where a number differs,
`Split` says how the cores fall apart, and each part is expanded on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headrace.arch.device import Unit
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.machine.image import Group, Image, Instance, Program
from headrace.machine.index import Index, Symbol
from headrace.machine.nodes import (
    Copy,
    Extract,
    If,
    Loop,
    Node,
    Read,
    Signal,
    Step,
    Store,
    Wait,
    Write,
)
from headrace.machine.timing.activities import (
    Activity,
    Await,
    Body,
    Fence,
    Notify,
    Peer,
    Repeat,
    Spend,
    Stream,
)
from headrace.machine.timing.influence import Influence
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.steps import residents, steps
from headrace.machine.timing.ticks import ticks
from headrace.machine.timing.transfers import reader, transfer, writer

Trips = Mapping[tuple[int, int], Sequence[int]]
"""Counts a run took in data-dependent loops and branches, by (instance number, loop or branch number)."""


class Split(Exception):
    """Cores of one expansion differ in `labels` (one per instance)."""

    def __init__(self, labels: Sequence[int]) -> None:
        super().__init__()
        self.labels = tuple(labels)


class Expansion:
    """Expands one program for instances (all of one corelet number) that are assumed alike."""

    def __init__(
        self,
        program: Program,
        members: Sequence[int],
        image: Image,
        prices: Prices,
        scalars: Mapping[str, float],
        trips: Trips | None,
    ) -> None:
        self.program, self.image, self.prices, self.trips = program, image, prices, trips
        self.instances: list[Instance] = [image.instances[program.instances[m]] for m in members]
        self.unit: Unit = prices.unit(program.kind)
        self.cores = np.array([instance.core for instance in self.instances], np.int64)
        self.env: list[Any] = [None] * program.slots
        for slot, values in program.tables:
            self.env[slot] = _folded(np.array(values, np.int64)[list(members)])
        for slot, name in program.arguments:
            self.env[slot] = int(scalars[name]) if name in scalars else None
        self.stationary = residents(program.body)
        self.influence = Influence(prices.device.memory("global").access_bytes)
        self.taken: dict[int, int] = {}
        self.peers: dict[bytes | int, Peer] = {}

    def body(self) -> Body:
        """Return the activities of the whole program; raises Split where the cores differ."""
        return self._nodes(self.program.body)

    # ---- what `transfers` asks ----
    def evaluate(self, index: Index, modulus: int = 0) -> int:
        """Return the value of an index (or its remainder); raises Split if the cores differ."""
        try:
            value = index.evaluate(self.env)
        except TypeError:
            if modulus:  # a value loaded from memory: timing does not depend on data
                return 0
            unknown = sorted(symbol.name for symbol in index.symbols if self.env[symbol.slot] is None)
            message = f"cycles depend on {', '.join(unknown) or 'a loaded value'}, not known before the run"
            hint = "give every run-time argument a value"
            raise HeadraceError(Diagnostic(message, hint=hint)) from None
        if modulus:
            value = value % modulus
        return self._uniform(value)

    def peer(self, index: Index) -> Peer:
        """Return the unit an index names, relative to this core."""
        numbers = index.evaluate(self.env)
        key = numbers.tobytes() if isinstance(numbers, np.ndarray) else int(numbers)
        if key not in self.peers:
            self.peers[key] = self._peer(np.broadcast_to(np.asarray(numbers), self.cores.shape))
        return self.peers[key]

    def _peer(self, numbers: np.ndarray[Any, Any]) -> Peer:
        peers = [self.image.instances[int(number)] for number in numbers]
        places = [
            (peer.kind, peer.corelet, (peer.core - int(core)) % self.prices.device.cores)
            for peer, core in zip(peers, self.cores, strict=True)
        ]
        kinds = {place: k for k, place in enumerate(dict.fromkeys(places))}
        if len(kinds) > 1:
            raise Split([kinds[place] for place in places])
        return Peer(*places[0])

    def distance(self, index: Index) -> int:
        """Return how many cores further on the core an index names is."""
        owners = np.broadcast_to(np.asarray(index.evaluate(self.env)), self.cores.shape)
        return self._uniform((owners - self.cores) % self.prices.device.cores)

    def groups(self, index: Index) -> tuple[Group, ...]:
        """Return the multicast groups that the cores belong to."""
        numbers = np.broadcast_to(np.asarray(index.evaluate(self.env)), self.cores.shape)
        sizes = [0 if n < 0 else len(self.image.groups[int(n)].members) for n in numbers]
        self._uniform(np.array(sizes))
        return tuple(self.image.groups[n] for n in sorted({int(n) for n in numbers if n >= 0}))

    # ---- nodes ----
    def _nodes(self, nodes: Iterable[Node]) -> Body:
        out: list[Activity] = []
        straight: list[Step] = []
        for node in nodes:
            if isinstance(node, Step):
                straight.append(node)
                if isinstance(node, Extract):
                    self.env[node.symbol.slot] = None
                continue
            self._step(straight, out)
            self._node(node, out)
        self._step(straight, out)
        return tuple(out)

    def _step(self, straight: list[Step], out: list[Activity]) -> None:
        """Append the step made of collected straight-line nodes."""
        if straight:
            found = self._stream(straight, 1, straight[0].where)
            straight.clear()
            if found is not None:
                out.append(found)

    def _node(self, node: Node, out: list[Activity]) -> None:
        match node:
            case Copy():
                out.append(transfer(node, self))
            case Read():
                out.extend(reader(node, self))
            case Write():
                out.extend(writer(node, self))
            case Signal():
                out.extend(self._signal(node))
            case Wait():
                out += [Await(self.peer(node.peer), node.tag, node.where), *self._issue()]
            case Loop():
                out.extend(self._loop(node))
            case If():
                out.extend(self._if(node))

    def _issue(self) -> Body:
        return (Spend(ticks(self.unit.issue_cycles)),) if self.unit.issue_cycles else ()

    def _signal(self, node: Signal) -> Body:
        peer = self.peer(node.peer)
        if peer.cores == 0 and (peer.kind, peer.corelet) == (self.unit.kind, self.instances[0].corelet):
            return (Fence(node.where), *self._issue())
        travel = self.prices.travel(peer.cores)
        return (*self._issue(), Notify(peer, travel, node.waits, node.tag, node.where))

    # ---- loops ----
    def _loop(self, node: Loop) -> Body:
        lower, step = self.evaluate(node.lower), self.evaluate(node.step)
        trip = max(0, -(-(self.evaluate(node.upper) - lower) // step)) if not node.is_data_dependent else None
        if trip is None:
            trip = self._counted(node.number, node.where)
        if trip == 0:
            self._leave(node, lower)
            return ()
        for carried in node.indices:
            self.env[carried.argument.slot] = self._known(carried.initial)
        if node.kind is not None:
            folded = self._marked(node, trip)
            if folded is not None:
                return folded
        found = self._sequence(node, lower, step, trip)
        self._leave(node, lower + step * trip)
        return found

    def _marked(self, node: Loop, trip: int) -> Body | None:
        """A marked nest of straight-line steps as one stream; None if it holds anything else."""
        inner: Loop = node
        while len(inner.body) == 1 and isinstance(inner.body[0], Loop) and inner.body[0].kind is not None:
            below = inner.body[0]
            if self.influence.symbols_of((below,)) & {inner.iv} or below.is_data_dependent:
                return None
            lower, upper, step = (self.evaluate(index) for index in (below.lower, below.upper, below.step))
            trip *= max(0, -(-(upper - lower) // step))
            inner = below
        if not trip or not all(isinstance(one, Step) for one in inner.body):
            return None if trip else ()
        if self.influence.symbols_of(inner.body) & {node.iv, inner.iv}:
            return None
        has_state = bool(inner.carried) or any(isinstance(one, Store) for one in inner.body)
        found = self._stream([n for n in inner.body if isinstance(n, Step)], trip, node.where, has_state)
        return () if found is None else (found,)

    def _stream(
        self, nodes: Sequence[Step], count: int, where: Location, has_state: bool = True
    ) -> Stream | None:
        priced = steps(nodes, self.unit, self.stationary, self.peer, self.prices)
        is_empty = all(not p.takes and not p.gives and not p.cost for p in priced.phases)
        if is_empty:
            return None
        traffic = tuple((name, size * count) for name, size in priced.traffic)
        drain = priced.latency if has_state else 0
        return Stream(count, priced.phases, 0, drain, 0, traffic, "step", where)

    def _sequence(self, node: Loop, lower: int, step: int, trip: int) -> Body:
        """A loop iteration by iteration; one that does not depend on its iteration is written once."""
        issue = self._issue()
        varying: set[Symbol] = {node.iv, *(carried.argument for carried in node.indices)}
        self.env[node.iv.slot] = lower
        if not self.influence.symbols_of(node.body) & varying and not self.influence.is_data_dependent(
            node.body
        ):
            return _repeated(trip, (*issue, *self._nodes(node.body)))
        out: list[tuple[int, Body]] = []
        for k in range(trip):
            self.env[node.iv.slot] = lower + step * k
            body = (*issue, *self._nodes(node.body))
            self._next(node)
            if out and out[-1][1] == body:
                out[-1] = (out[-1][0] + 1, body)
            else:
                out.append((1, body))
        return tuple(activity for times, body in out for activity in _repeated(times, body))

    def _next(self, node: Loop) -> None:
        """Carried integers enter the next iteration."""
        values = [self._known(carried.yielded) for carried in node.indices]
        for carried, value in zip(node.indices, values, strict=True):
            self.env[carried.argument.slot] = value

    def _leave(self, node: Loop, last: int) -> None:
        self.env[node.iv.slot] = last
        for carried in node.indices:
            held = self.env[carried.argument.slot]
            self.env[carried.result.slot] = self._known(carried.initial) if held is None else held

    def _if(self, node: If) -> Body:
        if node.is_data_dependent:
            taken = bool(self._counted(node.number, node.where))
        else:
            taken = bool(self._uniform(np.asarray(node.condition.evaluate(self.env)) != 0))
        body = self._nodes(node.then if taken else node.otherwise)
        for choice in node.indices:
            self.env[choice.result.slot] = self._known(choice.then if taken else choice.otherwise)
        return (*self._issue(), *body)

    def _known(self, index: Index) -> Any:
        """The value of an index, None if it depends on a loaded one."""
        if any(self.env[s.slot] is None for s in index.symbols):
            return None
        return index.evaluate(self.env)

    def _counted(self, number: int, where: Location) -> int:
        """The count a run took the next time it came to a data-dependent loop or branch."""
        if self.trips is None:
            hint = "execute the program first and pass the trip counts it returns"
            raise HeadraceError(Diagnostic("control flow depends on loaded values", where, hint=hint))
        visit = self.taken.get(number, 0)
        self.taken[number] = visit + 1
        counts = [self.trips.get((instance.number, number), ()) for instance in self.instances]
        return self._uniform(np.array([taken[visit] if visit < len(taken) else 0 for taken in counts]))

    def _uniform(self, value: Any) -> int:
        if not isinstance(value, np.ndarray):
            return int(value)
        if value.ndim == 0 or (value == value.flat[0]).all():
            return int(value.flat[0])
        raise Split([int(v) for v in value])


def _folded(values: Any) -> Any:
    return int(values[0]) if (values == values[0]).all() else values


def _repeated(count: int, body: Body) -> Body:
    """`count` times a body, as a longer stream where it is a single one with control before it."""
    if count == 1:
        return body
    control = sum(part.duration for part in body if isinstance(part, Spend))
    streams = [part for part in body if not isinstance(part, Spend)]
    if len(streams) == 1 and isinstance(streams[0], Stream) and not streams[0].setup:
        one = streams[0]
        if one.count == 1 and isinstance(body[-1], Stream):
            first = replace(
                one.phases[0], cost=one.phases[0].cost + control, gives=_later(one.phases[0].gives, control)
            )
            traffic = tuple((name, size * count) for name, size in one.bytes)
            return (replace(one, count=count, phases=(first, *one.phases[1:]), bytes=traffic),)
    return (Repeat(count, body),)


def _later(gives: tuple[Any, ...], control: int) -> tuple[Any, ...]:
    return tuple(replace(give, offset=give.offset + control) for give in gives)


def expand(
    program: Program, image: Image, prices: Prices, scalars: Mapping[str, float], trips: Trips | None
) -> list[tuple[tuple[Instance, ...], Body]]:
    """Return the instances of a program in parts that do the same, with the body each part runs."""
    by_corelet: dict[int, list[int]] = {}
    for position, number in enumerate(program.instances):
        by_corelet.setdefault(image.instances[number].corelet, []).append(position)
    waiting = list(by_corelet.values())
    found: list[tuple[tuple[Instance, ...], Body]] = []
    while waiting:
        members = waiting.pop()
        expansion = Expansion(program, members, image, prices, scalars, trips)
        try:
            found.append((tuple(expansion.instances), expansion.body()))
        except Split as split:
            parts: dict[int, list[int]] = {}
            for member, label in zip(members, split.labels, strict=True):
                parts.setdefault(label, []).append(member)
            waiting.extend(parts.values())
    return found
