"""Who is joined to whom: simulated units by place, the queues and counters between them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from headrace.machine.timing.activities import Give, Peer, Phase, Stream, Take
from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.fold import CoreClass, Role
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.steps import granules_of
from headrace.machine.timing.unit import Ready, SimulatedUnit

NOBODY = -1
"""Stands for a unit that has no program."""


class Wiring:
    """The units of one core of every class, and what joins them; queues and counters are made when first
    used.
    """

    def __init__(self, classes: Sequence[CoreClass], prices: Prices) -> None:
        self.classes, self.prices = classes, prices
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
        self._bound: dict[tuple[int, int], tuple[Stream, list[Ready], int]] = {}
        self._alike: dict[tuple[int, tuple[Phase, ...]], tuple[list[Ready], int]] = {}
        self._shapes: dict[tuple[Phase, ...], int] = {}

    def partner(self, unit: SimulatedUnit, peer: Peer) -> SimulatedUnit | None:
        """Return the simulated unit a peer stands for; None if it has no program."""
        group = self.class_of.get((self.classes[unit.group].cores[0] + peer.cores) % self.cores)
        return None if group is None else self.by_place.get((group, (peer.kind, peer.corelet)))

    def counter_to(self, unit: SimulatedUnit, peer: Peer) -> Counter | None:
        """Return the counter of a unit's signals to a peer; None if the peer has no program."""
        receiver = self.partner(unit, peer)
        return None if receiver is None else self._counter(unit.number, receiver.number, peer.cores)

    def counter_from(self, unit: SimulatedUnit, peer: Peer) -> Counter:
        """Return the counter of a peer's signals to a unit."""
        return self._counter(_number(self.partner(unit, peer)), unit.number, -peer.cores % self.cores)

    def bind(self, unit: SimulatedUnit, stream: Stream) -> tuple[list[Ready], int]:
        """Return the phases of a stream with their queues, shared by equal streams of a unit, and the
        number of their
        shape, equal for all units that do the same with partners in the same places.
        """
        held = self._bound.get((unit.number, id(stream)))
        if held is None:
            alike = (unit.number, stream.phases)
            if alike not in self._alike:
                shape = tuple(_from(unit.role[1], phase) for phase in stream.phases)
                number = self._shapes.setdefault(shape, len(self._shapes))
                self._alike[alike] = [self._ready(unit, phase) for phase in stream.phases], number
            held = self._bound[unit.number, id(stream)] = (stream, *self._alike[alike])
        return held[1], held[2]

    def _ready(self, unit: SimulatedUnit, phase: Phase) -> Ready:
        takes = [(self._incoming(unit, take), take.is_whole) for take in phase.takes]
        gives = [
            (self._outgoing(unit, give), give.granules, give.offset, give.duration, give.latency)
            for give in phase.gives
        ]
        return takes, phase.cost, gives

    def _incoming(self, unit: SimulatedUnit, take: Take) -> Fifo:
        sender = _number(self.partner(unit, take.peer))
        return self._fifo(sender, unit.number, take.peer.kind, unit.role, -take.peer.cores % self.cores)

    def _outgoing(self, unit: SimulatedUnit, give: Give) -> Fifo:
        receiver = _number(self.partner(unit, give.peer))
        role = (give.peer.kind, give.peer.corelet)
        return self._fifo(unit.number, receiver, unit.role[0], role, give.peer.cores)

    def _fifo(self, sender: int, receiver: int, kind: str, role: Role, cores: int) -> Fifo:
        key = (sender, (receiver, cores))
        if key not in self.fifos:
            _, _, capacity = self.prices.channel(kind, role[0], role[1], cores)
            room = None if capacity is None else granules_of(capacity)
            self.fifos[key] = Fifo(len(self.fifos), sender, receiver, room)
        return self.fifos[key]

    def _counter(self, sender: int, receiver: int, cores: int) -> Counter:
        key = (sender, (receiver, cores))
        if key not in self.counters:
            self.counters[key] = Counter(sender, receiver)
        return self.counters[key]


def _number(unit: SimulatedUnit | None) -> int:
    return NOBODY if unit is None else unit.number


def _from(corelet: int, phase: Phase) -> Phase:
    """A phase with the corelets of its partners counted from the unit's own."""
    takes = tuple(replace(take, peer=_seen_from(corelet, take.peer)) for take in phase.takes)
    gives = tuple(replace(give, peer=_seen_from(corelet, give.peer)) for give in phase.gives)
    return replace(phase, takes=takes, gives=gives)


def _seen_from(corelet: int, peer: Peer) -> Peer:
    return replace(peer, corelet=peer.corelet - corelet)
