"""Steady states of coupled streams: found by comparing whole states, left by jumping over whole periods.

Units joined by queues in their running streams form a component that nothing else influences until one of
its streams
ends. If its state (positions inside an iteration, relative clocks, contents of the queues) returns after
some iterations,
everything until then repeats: times move on by the same amount, counters grow by the same amounts. Exact,
because times are
integers and the comparison is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.machine.timing.fifo import Fifo
from headrace.machine.timing.unit import Running, SimulatedUnit


def jump(leader: SimulatedUnit, units: Sequence[SimulatedUnit]) -> None:
    """Let the component of a paused unit jump over as many periods as all its streams still have, if it is
    periodic."""
    component = _component(leader, units)
    if component is None:
        return
    members, fifos = component
    for fifo in fifos:
        fifo.settle(units[fifo.sender].clock)
    assert leader.stream is not None
    seen = leader.stream.seen
    state = _state(members, fifos, leader.clock, units)
    now = [(_running(unit).left, unit.clock, dict(unit.spent)) for unit in members]
    before = seen.get(state)
    if before is None:
        seen[state] = now
        return
    periods = [old_left - left for (old_left, _, _), (left, _, _) in zip(before, now, strict=True)]
    if min(periods) <= 0:
        return
    times = min(left // period for (left, _, _), period in zip(now, periods, strict=True)) - 1
    if times < 1:
        return
    _leap(members, fifos, before, periods, times)
    seen.clear()


def _leap(
    members: Sequence[SimulatedUnit],
    fifos: Sequence[Fifo],
    before: Sequence[Any],
    periods: Sequence[int],
    times: int,
) -> None:
    """Move a component on by `times` periods."""
    passed = (members[0].clock - before[0][1]) * times
    for unit, (_, _, spent), period in zip(members, before, periods, strict=True):
        _running(unit).left -= period * times
        unit.clock += passed
        _running(unit).start += passed
        for cause, was in spent.items():
            unit.spent[cause] += (unit.spent[cause] - was) * times
    for fifo in fifos:
        fifo.shift(passed)


def _running(unit: SimulatedUnit) -> Running:
    assert unit.stream is not None
    return unit.stream


def _component(
    leader: SimulatedUnit, units: Sequence[SimulatedUnit]
) -> tuple[list[SimulatedUnit], list[Fifo]] | None:
    """The units and queues joined to a unit by running streams; None if a partner is not streaming through
    its queue."""
    members: dict[int, SimulatedUnit] = {}
    fifos: dict[int, Fifo] = {}
    waiting = [leader]
    while waiting:
        unit = waiting.pop()
        if unit.number in members:
            continue
        if unit.stream is None:
            return None
        members[unit.number] = unit
        for takes, _, gives in unit.stream.phases:
            for fifo in [entry[0] for entry in takes] + [entry[0] for entry in gives]:
                if fifo.sender < 0 or fifo.receiver < 0:
                    return None
                fifos[id(fifo)] = fifo
                waiting += [units[fifo.sender], units[fifo.receiver]]
    return [members[number] for number in sorted(members)], _ordered(fifos.values())


def _ordered(fifos: Any) -> list[Fifo]:
    return sorted(fifos, key=lambda fifo: (fifo.sender, fifo.receiver))


def _state(
    members: Sequence[SimulatedUnit], fifos: Sequence[Fifo], base: int, units: Sequence[SimulatedUnit]
) -> tuple[Any, ...]:
    """Everything the future of the component depends on, relative to `base`; what is past counts as past."""
    own = tuple(_position(unit, base) for unit in members)
    queues = []
    for fifo in fifos:
        heard, sent = units[fifo.receiver].clock, units[fifo.sender].clock
        arrivals = tuple(
            (max(time - heard, -duration), duration, granules) for time, duration, granules in fifo.arrivals
        )
        returns = tuple((time - sent, granules) for time, granules in fifo.returns)
        queues.append((arrivals, returns, fifo.free, max(fifo.free_since - sent, 0)))
    return own, tuple(queues)


def _position(unit: SimulatedUnit, base: int) -> tuple[int, ...]:
    """Where a unit stands in an iteration of its stream."""
    running = _running(unit)
    start = max(running.start - unit.clock, 0)
    return (id(running.phases), running.phase, running.taken, running.given, start, unit.clock - base)
