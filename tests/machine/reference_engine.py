"""A plain simulator to hold the engine against: every message, every signal, every bit of memory's work.

No folding of cores, no steady states, no rounds, no fluid: units run in their own time and remember every
time of every queue as a list; device memory is one server that hands out small chunks in turn. Slow, and
short enough to be checked by reading. Prices come from the same expansion as the engine's; closed forms check
those elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from headrace.arch.device import Device
from headrace.machine.image import Image, Schedule
from headrace.machine.timing.activities import (
    Await,
    Body,
    Fence,
    Notify,
    Peer,
    Phase,
    Repeat,
    Spend,
    Stream,
    Transfer,
)
from headrace.machine.timing.expand import expand
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.steps import granules_of
from headrace.machine.timing.ticks import TICKS

CHUNKS = 64
"""Parts of the smallest transfer under way that device memory hands out in turn."""
Place = tuple[int, str, int]
"""Core, kind and corelet of a unit."""


@dataclass
class Queue:
    """Every message ever sent (first granule, duration, granules), every time a granule's room came back."""

    capacity: int | None
    sent: list[tuple[int, int, int]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    received: int = 0
    used: int = 0

    def size(self, granules: int) -> int:
        """Granules of room a message takes."""
        return granules if self.capacity is None else min(granules, self.capacity)

    def room(self, granules: int) -> int | None:
        """When there is room for one more message; None if that is not known yet."""
        if self.capacity is None:
            return 0
        needed = self.used + self.size(granules) - self.capacity
        if needed <= 0:
            return 0
        return self.freed[needed - 1] if needed <= len(self.freed) else None

    def free(self, time: int, granules: int) -> None:
        """Room comes back, in the order of the messages."""
        last = self.freed[-1] if self.freed else 0
        self.freed += [max(time, last)] * granules


@dataclass
class Move:
    """A transfer of one unit; `units` are all that take part in it once its group has met."""

    transfer: Transfer
    issued: int
    unit: Unit
    units: list[Unit] = field(default_factory=list)
    began: int = 0
    served: int = 0
    done: int = 0
    turn: int = 0
    paced: int = 0
    signals: list[tuple[list[int], int, int]] = field(default_factory=list)


class Unit:
    """One unit of one core: a generator that stops wherever it has to wait."""

    def __init__(self, place: Place, number: int, body: Body, chip: Chip) -> None:
        self.place, self.number, self.chip = place, number, chip
        self.clock = self.settled = self.free = 0
        self.moves: list[Move] = []
        self.last: Move | None = None
        self.is_offered = False
        self.is_done = False
        self.steps = self.run(body)

    def run(self, body: Body) -> Iterator[None]:
        """Do the activities in order; every `yield` is a moment at which something is not known yet."""
        for one in body:
            match one:
                case Repeat():
                    for _ in range(one.count):
                        yield from self.run(one.body)
                case Spend():
                    self.clock += one.duration
                case Stream():
                    yield from self.stream(one)
                case Transfer():
                    self.clock += one.setup
                    self.last = Move(one, self.clock, self)
                    self.moves.append(self.last)
                case Notify():
                    if one.waits:
                        yield from self.fence()
                    self.signal(one)
                case Await():
                    raised = self.chip.signals(self.peer(one.peer), self.place)
                    while not raised:
                        yield
                    self.clock = max(self.clock, raised.pop(0))
                case Fence():
                    yield from self.fence()

    def fence(self) -> Iterator[None]:
        """Wait for the unit's own transfers."""
        while self.moves:
            yield
        self.clock = max(self.clock, self.settled)

    def signal(self, one: Notify) -> None:
        """Raise a signal behind the transfers under way."""
        raised = self.chip.signals(self.place, self.peer(one.peer))
        if self.moves and self.last is not None:
            self.last.signals.append((raised, self.clock, one.travel))
        else:
            raised.append(max(self.clock, self.settled) + one.travel)

    def stream(self, one: Stream) -> Iterator[None]:
        """Iteration by iteration, phase by phase."""
        self.clock += one.setup
        for _ in range(one.count):
            for phase in one.phases:
                yield from self.phase(phase)
        self.clock += one.drain
        self.settled = max(self.settled, self.clock + one.settle)

    def phase(self, one: Phase) -> Iterator[None]:
        """Begin when every message is there and every result will find room; then work for `cost`."""
        start = self.clock
        for take in one.takes:
            queue = self.chip.queue(self.peer(take.peer), self.place)
            while len(queue.sent) == queue.received:
                yield
            arrival, duration, granules = queue.sent[queue.received]
            queue.received += 1
            late = duration if take.is_whole else max(0, duration - one.cost)
            start = max(start, arrival + late)
            free = start
            if queue.capacity is not None and granules > queue.capacity:
                begun = max(self.clock, start - max(0, duration - one.cost))
                free = begun + duration * (granules - queue.capacity) // granules
            if queue.capacity is not None:
                queue.free(free, queue.size(granules))
        for give in one.gives:
            queue = self.chip.queue(self.place, self.peer(give.peer))
            while (free_at := queue.room(give.granules)) is None:
                yield
            start = max(start, free_at - give.offset)
            queue.used += queue.size(give.granules)
            queue.sent.append((start + give.offset + give.latency, give.duration, give.granules))
        self.clock = start + one.cost

    def peer(self, peer: Peer) -> Place:
        """The place a relative peer means."""
        return ((self.place[0] + peer.cores) % self.chip.device.cores, peer.kind, peer.corelet)


class Chip:
    """All units of a schedule, the queues and signals between them, and device memory."""

    def __init__(self, schedule: Schedule, image: Image, device: Device) -> None:
        self.image, self.device = image, device
        self.prices = Prices(device, {program.kind for program in schedule.programs})
        assert not self.prices.shared_ports(), "core ports shared by several DMA units are not modelled here"
        self.queues: dict[tuple[Place, Place], Queue] = {}
        self.raised: dict[tuple[Place, Place], list[int]] = {}
        self.units = [
            Unit((instance.core, instance.kind, instance.corelet), instance.number, body, self)
            for program in schedule.programs
            for instances, body in expand(program, image, self.prices, {}, None)
            for instance in instances
        ]
        self.meeting: dict[tuple[int, int], list[Move]] = {}
        self.met: dict[tuple[int, int], int] = {}
        self.moving: list[Move] = []
        self.now = 0
        self.read = self.written = 0
        self.turns = 0

    def queue(self, sender: Place, receiver: Place) -> Queue:
        """The queue from one unit to another."""
        if (sender, receiver) not in self.queues:
            cores = (receiver[0] - sender[0]) % self.device.cores
            _, _, capacity = self.prices.channel(sender[1], receiver[1], receiver[2], cores)
            self.queues[sender, receiver] = Queue(None if capacity is None else granules_of(capacity))
        return self.queues[sender, receiver]

    def signals(self, sender: Place, receiver: Place) -> list[int]:
        """Times of signals that were raised and not awaited yet."""
        return self.raised.setdefault((sender, receiver), [])

    def run(self) -> int:
        """Run to the end; the time of the last retired access in ticks."""
        while True:
            self.run_units()
            for unit in self.units:
                if unit.moves and not unit.is_offered:
                    self.offer(unit)
            if not self.moving:
                break
            while not self.serve():
                pass
        assert all(unit.is_done and not unit.moves for unit in self.units), "a program does not end"
        return max(max(unit.clock, unit.settled) for unit in self.units)

    def run_units(self) -> None:
        """Let every unit run until none gets any further."""
        before: object = None
        while before != (before := self.facts()):
            for unit in self.units:
                if not unit.is_done:
                    unit.is_done = next(unit.steps, self) is self

    def facts(self) -> list[object]:
        """All that changes when something happens."""
        queues = [(len(queue.sent), queue.received, len(queue.freed)) for queue in self.queues.values()]
        units = [(unit.clock, unit.is_done, len(unit.moves)) for unit in self.units]
        return [queues, units, [len(raised) for raised in self.raised.values()]]

    # ---- device memory ----
    def offer(self, unit: Unit) -> None:
        """Begin the oldest transfer of a unit, with the others of its group."""
        move = unit.moves[0]
        unit.is_offered = True
        move.began = max(move.issued + move.transfer.meeting, unit.free)
        group = self.group(unit, move.transfer)
        if group is None:
            move.units = [unit]
            self.moving.append(move)
            return
        turn = self.met.get((group, unit.number), 0)
        self.met[group, unit.number] = turn + 1
        met = self.meeting.setdefault((group, turn), [])
        met.append(move)
        if len(met) == len(self.image.groups[group].members):
            first = met[0]
            first.began, first.units = max(one.began for one in met), [one.unit for one in met]
            self.moving.append(first)

    def group(self, unit: Unit, transfer: Transfer) -> int | None:
        """The multicast group of a unit at a transfer."""
        mine = [g for g in transfer.group if unit.number in self.image.groups[g].members]
        return mine[0] if mine else None

    def serve(self) -> bool:
        """Hand a chunk to the transfer whose turn it is, or end one that has all its bytes (then True)."""
        ended = [move for move in self.moving if move.served >= move.transfer.bytes]
        waiting = [move for move in self.moving if move.served < move.transfer.bytes]
        next_chunk = min((max(self.now, self.ready(move)) for move in waiting), default=None)
        next_end = min((self.end(move) for move in ended), default=None)
        if next_end is not None and (next_chunk is None or next_end <= next_chunk):
            move = min(ended, key=self.end)
            self.moving.remove(move)
            self.finish(move, next_end)
            return True
        assert next_chunk is not None
        ready = [move for move in waiting if self.ready(move) <= next_chunk]
        move = min(ready, key=lambda one: one.turn)
        chunk = max(1, min(one.transfer.bytes for one in ready) // CHUNKS)
        size = min(chunk, move.transfer.bytes - move.served)
        if move.transfer.rate is not None:
            move.paced = next_chunk + round(size * TICKS / move.transfer.rate)
        self.turns += 1
        move.turn = self.turns
        self.now = next_chunk + self.cost(move.transfer.side, size)
        move.served += size
        move.done = self.now
        return False

    def ready(self, move: Move) -> int:
        """When a transfer may have its next chunk by its own ceiling, which holds at every moment."""
        return max(move.began, move.paced)

    def end(self, move: Move) -> int:
        """When the last byte has moved."""
        return max(move.began, self.ready(move), move.done)

    def cost(self, side: str, size: int) -> int:
        """Ticks of a chunk: bytes over the sustained rate, turnaround for what balances reads and writes."""
        memory = self.device.memory("global")
        assert memory.sustained_gbps is not None
        before = min(self.read, self.written)
        self.read += size if side == "read" else 0
        self.written += size if side == "write" else 0
        turned = min(self.read, self.written) - before
        plain = size / self.device.bytes_per_cycle(memory.sustained_gbps)
        return round(TICKS * (plain + turned * self.device.cycles(memory.turnaround_ns_per_byte)))

    def finish(self, move: Move, time: int) -> None:
        """The data has moved for every unit that takes part."""
        for unit in move.units:
            own = unit.moves.pop(0)
            unit.is_offered = False
            unit.free = time
            unit.settled = max(unit.settled, time + (own.transfer.latency if own.transfer.bytes else 0))
            for raised, earliest, travel in own.signals:
                raised.append(max(earliest, unit.settled) + travel)


def reference_cycles(image: Image, device: Device) -> float:
    """Return the cycles of an image, schedules one after the other."""
    return sum(Chip(schedule, image, device).run() for schedule in image.schedules) / TICKS
