"""Steady states of coupled streams: recognised by comparing whole states, left by jumping ahead.

Units joined by queues in their running streams form a component that nothing else influences until one of
its streams ends. Its state is positions inside an iteration, relative clocks and contents of queues; from
equal states it goes on equally. So every step from one state to the next is remembered; where the next
steps are known, the component moves along them at once, whole periods by one multiplication. Exact, because
times are integers and states are complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.machine.timing.fifo import Fifo
from headrace.machine.timing.solve import solve
from headrace.machine.timing.unit import CAUSES, Running, SimulatedUnit

State = tuple[Any, ...]
CHUNK = 4096
"""Most iterations solved at once; longer streams look for a period first."""
Amounts = tuple[int, ...]
"""Time passed, then for each member: iterations done, then ticks spent by cause."""


@dataclass(frozen=True)
class Seen:
    """The streams and the state of a component when its leader was last looked at, and how far all had
    come.
    """

    streams: tuple[Running, ...]
    state: State
    amounts: Amounts


class SteadyStates:
    """Remembers how components go on; `look` is called when a unit has finished an iteration."""

    def __init__(self, units: Sequence[SimulatedUnit]) -> None:
        self.units = units
        self.next: dict[State, tuple[State, Amounts]] = {}
        self.solved: dict[tuple[State, int], tuple[State, Amounts]] = {}

    def look(self, leader: SimulatedUnit) -> list[SimulatedUnit]:
        """Move a unit's component on as far as its future can be told from here; return who moved."""
        running = _running(leader)
        component = self._component(leader)
        if component is None:
            running.seen = None
            return []
        members, fifos = component
        if leader is not next(unit for unit in members if unit.is_compute):
            running.is_led = True
            return []
        for fifo in fifos:
            fifo.settle(self.units[fifo.sender].clock)
        state = self._state(members, fifos, leader.clock)
        left = min(_running(unit).left for unit in members)
        if not running.is_stubborn and 1 < left <= CHUNK:
            if self._solved(state, members, fifos, leader, left):
                return members
            running.is_stubborn = True
        return self._stepped(state, members, fifos, leader)

    def _solved(
        self,
        state: State,
        members: Sequence[SimulatedUnit],
        fifos: Sequence[Fifo],
        leader: SimulatedUnit,
        left: int,
    ) -> bool:
        """Solve all iterations ahead, or take over what was found from an equal state."""
        key = (state, left)
        known = self.solved.get(key)
        if known is not None:
            _restore(known[0], known[1], members, fifos, leader.clock + known[1][0])
            return True
        before = _amounts(members, leader.clock)
        if not solve(members, fifos, left):
            return False
        for fifo in fifos:
            fifo.settle(self.units[fifo.sender].clock)
        passed = tuple(now - was for now, was in zip(_amounts(members, leader.clock), before, strict=True))
        self.solved[key] = (self._state(members, fifos, leader.clock), passed)
        return True

    def _stepped(
        self, state: State, members: list[SimulatedUnit], fifos: list[Fifo], leader: SimulatedUnit
    ) -> list[SimulatedUnit]:
        """Note the state after one more iteration and jump along known states."""
        running = _running(leader)
        amounts = _amounts(members, leader.clock)
        streams = tuple(_running(unit) for unit in members)
        if running.seen is not None and running.seen.streams == streams:
            passed = tuple(now - was for now, was in zip(amounts, running.seen.amounts, strict=True))
            self.next.setdefault(running.seen.state, (state, passed))
        jump = self._follow(state, [_running(unit).left for unit in members])
        running.seen = Seen(streams, state, amounts)
        if jump is None:
            return []
        reached, passed = jump
        _restore(reached, passed, members, fifos, leader.clock + passed[0])
        running.seen = Seen(streams, reached, _amounts(members, leader.clock))
        return members

    def _follow(self, state: State, left: Sequence[int]) -> tuple[State, Amounts] | None:
        """Return the furthest known state in which every stream still has an iteration to do."""
        count = len(left)
        total: Amounts = (0,) * (1 + count * (1 + len(CAUSES)))
        met = {state: total}
        at, steps = state, 0
        while (known := self.next.get(at)) is not None:
            step = known[1]
            further = tuple(a + b for a, b in zip(total, step, strict=True))
            if any(done >= have for done, have in zip(further[1 : 1 + count], left, strict=True)):
                break
            at, total, steps = known[0], further, steps + 1
            before = met.get(at)
            if before is None:
                met[at] = total
                continue
            period = tuple(a - b for a, b in zip(total, before, strict=True))
            times = _periods(period[1 : 1 + count], total[1 : 1 + count], left)
            total = tuple(a + times * b for a, b in zip(total, period, strict=True))
            met = {at: total}
        return (at, total) if steps else None

    def _component(self, leader: SimulatedUnit) -> tuple[list[SimulatedUnit], list[Fifo]] | None:
        """Units and queues joined to a unit by running streams; None if a partner is not streaming."""
        members: dict[int, SimulatedUnit] = {}
        fifos: dict[tuple[int, int], Fifo] = {}
        waiting = [leader.number]
        while waiting:
            number = waiting.pop()
            if number in members:
                continue
            unit = self.units[number] if number >= 0 else None
            if unit is None or unit.stream is None or unit.is_mover:
                return None
            members[number] = unit
            for fifo in unit.stream.fifos:
                fifos[id(fifo), 0] = fifo
                waiting += (fifo.sender, fifo.receiver)
        ordered = sorted(fifos.values(), key=lambda fifo: (fifo.sender, fifo.receiver, fifo.number))
        return [members[number] for number in sorted(members)], ordered

    def _state(self, members: Sequence[SimulatedUnit], fifos: Sequence[Fifo], base: int) -> State:
        """All the future of a component depends on, relative to `base`; what is past counts as past."""
        units, places = self.units, {unit.number: place for place, unit in enumerate(members)}
        return (
            tuple(_position(unit, base) for unit in members),
            tuple(
                (
                    places[fifo.sender],
                    places[fifo.receiver],
                    *fifo.state(units[fifo.sender].clock, units[fifo.receiver].clock, base),
                )
                for fifo in fifos
            ),
        )


def _periods(period: Amounts, done: Amounts, left: Sequence[int]) -> int:
    """How many more periods leave every stream at least one iteration."""
    return min(
        (have - so_far - 1) // step for step, so_far, have in zip(period, done, left, strict=True) if step
    )


def _running(unit: SimulatedUnit) -> Running:
    assert unit.stream is not None
    return unit.stream


def _position(unit: SimulatedUnit, base: int) -> tuple[int, ...]:
    """Where a unit stands in an iteration of its stream."""
    running = _running(unit)
    start = max(running.start, unit.clock) - base
    return (running.shape, running.phase, running.taken, running.given, start, unit.clock - base)


def _amounts(members: Sequence[SimulatedUnit], clock: int) -> Amounts:
    done = [-_running(unit).left for unit in members]
    spent = [unit.spent[cause] for unit in members for cause in CAUSES]
    return (clock, *done, *spent)


def _restore(
    state: State, passed: Amounts, members: Sequence[SimulatedUnit], fifos: Sequence[Fifo], base: int
) -> None:
    """Put a component into a state, `passed` further on."""
    positions, queues = state
    count = len(members)
    spent = iter(passed[1 + count :])
    for unit, position, done in zip(members, positions, passed[1 : 1 + count], strict=True):
        running = _running(unit)
        _, running.phase, running.taken, running.given, start, clock = position
        running.start, unit.clock = start + base, clock + base
        running.left -= done
        for cause in CAUSES:
            unit.spent[cause] += next(spent)
    for fifo, (_, _, arrivals, returns, free, free_since) in zip(fifos, queues, strict=True):
        fifo.arrivals = deque((time + base, duration, granules) for time, duration, granules in arrivals)
        fifo.returns = deque((time + base, granules) for time, granules in returns)
        fifo.returned = sum(granules for _, granules in returns)
        fifo.free, fifo.free_since = free, free_since + base
