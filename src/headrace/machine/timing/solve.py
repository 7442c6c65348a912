"""Coupled streams in one go: all message times of the iterations ahead, as arrays.

A phase starts when the unit is free, its messages are there and there is room for what it sends. With
constant costs c this is x[k] = max(x[k-1] + c, m[k]), which a running maximum of m[k] - c k solves for all
k at once; m comes from the partners' arrays. Beginning with what is known, every unit is solved in turn
until nothing changes: times only grow, so what is reached is the least solution, the one that going step by
step gives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headrace.machine.timing.fifo import Fifo
from headrace.machine.timing.unit import Running, SimulatedUnit

Times = npt.NDArray[np.int64]
NEVER = -(1 << 60)
SWEEPS = 8
"""Rounds over all units before giving up: streams that wait for each other at every message need many."""


@dataclass(eq=False)
class Queue:
    """Messages of one queue, first those `waiting`, then those sent ahead; returns of room, first those
    `known`.

    `room` names the return that makes room for each message sent (-1: there is room already). The ages
    count changes.
    """

    fifo: Fifo
    arrivals: Times
    durations: Times
    granules: Times
    returns: Times
    room: Times
    waiting: int
    known: int
    arrivals_age: int = 0
    returns_age: int = 0


@dataclass(eq=False)
class Slot:
    """A take or a give of a phase. Its messages are `first`, `first + stride`, ...; `skip` iterations are
    done.
    """

    queue: Queue
    first: int
    stride: int
    skip: int
    is_whole: bool = False
    offset: int = 0
    latency: int = 0

    def span(self, count: int, base: int) -> slice:
        """Return where the messages of `count` iterations are, `base` entries further on."""
        begin = base + self.first
        return slice(begin, begin + self.stride * (count - self.skip), self.stride)


@dataclass(eq=False)
class Line:
    """One unit: the slots and the cost of each phase, and what solving it found."""

    unit: SimulatedUnit
    running: Running
    phases: list[tuple[list[Slot], int, list[Slot]]]
    seen: tuple[int, ...] = ()
    input: int = 0
    space: int = 0
    end: int = 0
    queues: list[Queue] = field(default_factory=list)


def solve(members: Sequence[SimulatedUnit], fifos: Sequence[Fifo], count: int) -> bool:
    """Move a component of streams on by `count` iterations each; False (and no change) if it does not
    settle.
    """
    streams = {unit.number: _running(unit) for unit in members}
    queues: dict[int, Queue] = {}
    for fifo in fifos:
        queue = _queue(fifo, streams[fifo.sender], streams[fifo.receiver], count)
        if queue is None:
            return False
        queues[fifo.number] = queue
    lines = [_line(unit, queues) for unit in members]
    steps = np.arange(count, dtype=np.int64)
    for _ in range(SWEEPS):
        stale = [line for line in lines if line.seen != _ages(line)]
        if not stale:
            break
        for line in stale:
            line.seen = _ages(line)
            _solve(line, steps)
    else:
        return False
    for line in lines:
        _commit(line, count)
    for queue in queues.values():
        _refill(queue)
    return True


def _running(unit: SimulatedUnit) -> Running:
    assert unit.stream is not None
    return unit.stream


def _ages(line: Line) -> tuple[int, ...]:
    """Counts of the changes a unit depends on; -1 makes it differ from never solved."""
    number = line.unit.number
    return (-1, *(q.arrivals_age if q.fifo.receiver == number else q.returns_age for q in line.queues))


# ---- setting up --------------------------------------------------------------------------------------------
def _queue(fifo: Fifo, sender: Running, receiver: Running, count: int) -> Queue | None:
    """The arrays of a queue; None if sender and receiver do not pass equally many messages an iteration."""
    pattern = [(give[3], give[1]) for _, _, gives in sender.phases for give in gives if give[0] is fifo]
    takes = sum(1 for taken, _, _ in receiver.phases for take in taken if take[0] is fifo)
    if len(pattern) != takes:
        return None
    sent = np.tile(np.array(pattern, np.int64), (count, 1))[_done(sender, fifo, 2) :]
    waiting = np.array(fifo.arrivals, np.int64).reshape(-1, 3)
    durations = np.concatenate([waiting[:, 1], sent[:, 0]])
    granules = np.concatenate([waiting[:, 2], sent[:, 1]])
    arrivals = np.zeros(len(durations), np.int64)
    arrivals[: len(waiting)] = waiting[:, 0]
    taken = takes * count - _done(receiver, fifo, 0)
    if taken > len(arrivals):
        return None
    returned = np.array(fifo.returns, np.int64).reshape(-1, 2)
    returns = np.zeros(len(returned) + taken, np.int64)
    returns[: len(returned)] = returned[:, 0]
    room = np.full(len(sent), -1, np.int64)
    if fifo.capacity is not None:
        back = np.cumsum(np.concatenate([returned[:, 1], np.minimum(granules[:taken], fifo.capacity)]))
        wanted = np.cumsum(np.minimum(sent[:, 1], fifo.capacity)) - fifo.free
        room = np.where(wanted > 0, np.searchsorted(back, wanted), -1)
        if room.max(initial=-1) >= len(returns):
            return None
    return Queue(fifo, arrivals, durations, granules, returns, room, len(waiting), len(returned))


def _done(running: Running, fifo: Fifo, side: int) -> int:
    """Messages of the current iteration that have passed already, taken (side 0) or given (side 2)."""
    total = 0
    for number, phase in enumerate(running.phases[: running.phase + 1]):
        entries = phase[0] if side == 0 else phase[2]
        if number == running.phase:
            entries = entries[: running.taken if side == 0 else running.given]  # type: ignore[assignment]
        total += sum(1 for entry in entries if entry[0] is fifo)
    return total


def _line(unit: SimulatedUnit, queues: dict[int, Queue]) -> Line:
    running = _running(unit)
    takes = _slots(running, queues, 0)
    gives = _slots(running, queues, 2)
    phases = [(next(takes), phase[1], next(gives)) for phase in running.phases]
    return Line(unit, running, phases, queues=[queues[fifo.number] for fifo in running.fifos])


def _slots(running: Running, queues: dict[int, Queue], side: int) -> Iterator[list[Slot]]:
    """The slots of every phase, taken or given."""
    entries = [phase[0] if side == 0 else phase[2] for phase in running.phases]
    total: dict[int, int] = {}
    for part in entries:
        for entry in part:
            total[entry[0].number] = total.get(entry[0].number, 0) + 1
    done = {queue.fifo.number: _done(running, queue.fifo, side) for queue in queues.values()}
    position = dict.fromkeys(total, 0)
    for part in entries:
        slots = []
        for entry in part:
            number = entry[0].number
            first = position[number] - done[number]
            position[number] += 1
            skip = 1 if first < 0 else 0
            slot = Slot(queues[number], first + skip * total[number], total[number], skip)
            if side == 0:
                slot.is_whole = bool(entry[1])
            else:
                slot.offset, slot.latency = entry[2], entry[4]  # type: ignore[misc]
            slots.append(slot)
        yield slots


# ---- solving -----------------------------------------------------------------------------------------------
def _solve(line: Line, steps: Times) -> None:
    """Solve one unit against its partners' present times and pass on what changed."""
    running, count = line.running, len(steps)
    now = max(running.start, line.unit.clock)
    bounds = [_bound(phase, count) for phase in line.phases]
    for number, bound in enumerate(bounds):
        if number < running.phase:
            bound[0] = NEVER
        elif number == running.phase:
            bound[0] = max(bound[0], now)
    total = sum(cost for _, cost, _ in line.phases)
    merged, tail = bounds[0].copy(), total
    for (_, cost, _), bound in zip(line.phases, bounds[1:], strict=False):
        tail -= cost
        np.maximum(merged[1:], bound[:-1] + tail, out=merged[1:])
    start = np.maximum.accumulate(merged - steps * total) + steps * total
    line.input = line.space = 0
    previous = np.full(count, NEVER, np.int64)
    last = start + 0
    for (_, cost, _), bound in zip(line.phases[:-1], bounds[1:], strict=True):
        last = np.maximum(last + cost, bound)
    previous[1:] = last[:-1] + line.phases[-1][1]
    for number, (takes, cost, gives) in enumerate(line.phases):
        if number == running.phase:
            previous[0] = now
        previous = _pass_on(line, takes, gives, previous, cost, 1 if number < running.phase else 0) + cost
    line.end = int(previous[-1])


def _bound(phase: tuple[list[Slot], int, list[Slot]], count: int) -> Times:
    """The earliest start of a phase by its messages and by the room for its results."""
    takes, cost, gives = phase
    bound = np.full(count, NEVER, np.int64)
    for slot in takes:
        np.maximum(bound[slot.skip :], _arrival(slot, cost, count), out=bound[slot.skip :])
    for slot in gives:
        room = _room(slot, count)
        if room is not None:
            np.maximum(bound[slot.skip :], room, out=bound[slot.skip :])
    return bound


def _arrival(slot: Slot, cost: int, count: int) -> Times:
    """When a step may start by one of its messages: it is not to outrun it, or needs all of it."""
    queue, span = slot.queue, slot.span(count, 0)
    durations = queue.durations[span]
    return queue.arrivals[span] + (durations if slot.is_whole else np.maximum(durations - cost, 0))


def _room(slot: Slot, count: int) -> Times | None:
    """When a phase may start by the room for one of its results; None if there is no limit."""
    queue = slot.queue
    if queue.fifo.capacity is None:
        return None
    latest = np.maximum.accumulate(np.concatenate([[queue.fifo.free_since], queue.returns]))
    return latest[queue.room[slot.span(count, 0)] + 1] - slot.offset  # type: ignore[no-any-return]


def _pass_on(
    line: Line, takes: list[Slot], gives: list[Slot], previous: Times, cost: int, skip: int
) -> Times:
    """Start times of a phase from the ends of what comes before; returns and arrivals are passed to the
    partners.
    """
    count = len(previous)
    start = previous
    for slot in takes:
        start = start.copy()
        np.maximum(start[slot.skip :], _arrival(slot, cost, count), out=start[slot.skip :])
        _give_back(slot, start[slot.skip :], previous[slot.skip :], cost)
    line.input += int((start - previous)[skip:].sum())
    ready = start
    for slot in gives:
        room = _room(slot, count)
        if room is not None:
            start = start.copy()
            np.maximum(start[slot.skip :], room, out=start[slot.skip :])
        queue = slot.queue
        span = slot.span(count, queue.waiting)
        times = start[slot.skip :] + (slot.offset + slot.latency)
        if not np.array_equal(queue.arrivals[span], times):
            queue.arrivals[span] = times
            queue.arrivals_age += 1
    line.space += int((start - ready)[skip:].sum())
    return start


def _give_back(slot: Slot, start: Times, previous: Times, cost: int) -> None:
    """Room comes back when a message is taken; a long one leaves room when its last piece has entered."""
    queue, count = slot.queue, len(start) + slot.skip
    capacity = queue.fifo.capacity
    if capacity is None:
        return
    span = slot.span(count, 0)
    granules, durations = queue.granules[span], queue.durations[span]
    if (granules > capacity).any():
        begun = np.maximum(previous, start - np.maximum(durations - cost, 0))
        pieces = begun + durations * np.maximum(granules - capacity, 0) // granules
        start = np.where(granules > capacity, pieces, start)
    back = slot.span(count, queue.known)
    if not np.array_equal(queue.returns[back], start):
        queue.returns[back] = start
        queue.returns_age += 1


# ---- taking over -------------------------------------------------------------------------------------------
def _commit(line: Line, count: int) -> None:
    unit, running = line.unit, line.running
    costs = [cost for _, cost, _ in line.phases]
    unit.spent["busy"] += count * sum(costs) - sum(costs[: running.phase])
    unit.spent["input"] += line.input
    unit.spent["space"] += line.space
    unit.clock = running.start = line.end
    running.phase = running.taken = running.given = 0
    running.left -= count


def _refill(queue: Queue) -> None:
    fifo = queue.fifo
    taken = len(queue.returns) - queue.known
    rest = np.stack([queue.arrivals, queue.durations, queue.granules], axis=1)[taken:]
    sizes = [granules for _, granules in fifo.returns]
    fifo.arrivals = deque((int(t), int(d), int(g)) for t, d, g in rest)
    if fifo.capacity is None:
        return
    sizes += [int(g) for g in np.minimum(queue.granules[:taken], fifo.capacity)]
    sent = int(np.minimum(queue.granules[queue.waiting :], fifo.capacity).sum())
    used = int(queue.room.max(initial=-1)) + 1
    fifo.free += sum(sizes[:used]) - sent
    fifo.free_since = max([fifo.free_since, *(int(time) for time in queue.returns[:used])])
    fifo.returns = deque(
        (int(time), size) for time, size in zip(queue.returns[used:], sizes[used:], strict=True)
    )
    fifo.returned = sum(sizes[used:])
