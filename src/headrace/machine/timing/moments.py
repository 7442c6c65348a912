"""Moments of the whole engine: all the future depends on, relative to the moment, and the sums that grow.

Two moments are alike if each unit stands at the same place with the same work around it and all times that
still matter are later by the same amount; units that did nothing in between stay as they are. The counts of
the loops tell how many more rounds there are. Exact: what is compared is all the future depends on, and all
of it is integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.inflight import InFlight
from headrace.machine.timing.unit import CAUSES, Descriptor, SimulatedUnit
from headrace.machine.timing.wiring import Wiring

if TYPE_CHECKING:
    from headrace.machine.timing.compiled.snapshot import Snapshot


@dataclass(frozen=True)
class UnitMoment:
    """A unit at a moment: place (what must be equal), counts of its loops and stream, times relative to
    now, sums so far.
    """

    place: tuple[Any, ...]
    counts: tuple[int, ...]
    times: tuple[int, ...]
    clock: int
    spent: tuple[int, ...]
    traffic: Mapping[str, int]
    met: Mapping[frozenset[int], int]
    lengths: tuple[int, int]
    skipped: Mapping[str, int]


@dataclass(frozen=True)
class Moment:
    """The whole engine when no unit can run: everything the future depends on, and the sums that grow."""

    serial: int
    now: int
    lead: int
    units: tuple[UnitMoment, ...]
    links: tuple[tuple[Any, Any], ...]
    flow: tuple[Any, ...]
    moved: Mapping[str, int]
    compiled: Snapshot | None


def place(moment: Moment) -> tuple[Any, ...]:
    """What must be equal at two moments to compare them at all."""
    return (
        *(one.place for one in moment.units),
        b"" if moment.compiled is None else moment.compiled.place,
    )


def unit_moment(unit: SimulatedUnit, now: int) -> UnitMoment:
    """Return a unit at the moment `now`."""
    stream, clock = unit.stream, unit.clock
    running = () if stream is None else (id(stream.phases), stream.phase, stream.taken, stream.given)
    frames = tuple([(id(frame[0]), frame[1]) for frame in unit.stack])
    waiting = None if unit.waits_for is None else (unit.waits_for[0], id(unit.waits_for[1]))
    start = clock if stream is None or stream.start < clock else stream.start
    queue: list[Any] = []
    times = [clock - now, max(unit.settled, clock) - now, max(unit.engine_free - now, 0), start - now]
    for one in unit.queue:
        transfer, signals = one.transfer, []
        due, began = one.issued + transfer.meeting - now, one.began - now
        times += (due if due > 0 else 0, began if began > 0 else 0)
        for counter, earliest, travel in one.signals:
            signals.append((id(counter), travel))
            times.append(earliest - now if earliest > now else 0)
        queue.append((id(transfer), one.is_offered, tuple(signals)))
    return UnitMoment(
        (frames, running, tuple(queue), waiting, unit.pending, unit.is_done),
        (*[frame[2] for frame in unit.stack], 0 if stream is None else stream.left),
        tuple(times),
        clock,
        tuple([unit.spent[cause] for cause in CAUSES]),
        dict(unit.traffic),
        dict(unit.met),
        (len(unit.program), len(unit.moves)),
        dict(unit.skipped),
    )


def link_state(link: Fifo | Counter, wiring: Wiring, now: int) -> tuple[Any, Any]:
    """(content relative to now, absolute content)."""
    return _fifo_state(link, wiring, now) if isinstance(link, Fifo) else _counter_state(link, wiring, now)


def _fifo_state(fifo: Fifo, wiring: Wiring, now: int) -> tuple[Any, Any]:
    if fifo.sender >= 0:
        fifo.settle(wiring.units[fifo.sender].clock)
    sent = wiring.units[fifo.sender].clock if fifo.sender >= 0 else now
    heard = wiring.units[fifo.receiver].clock if fifo.receiver >= 0 else now
    return (
        fifo.state(sent, heard, now),
        (tuple(fifo.arrivals), tuple(fifo.returns), fifo.free, fifo.free_since),
    )


def _counter_state(counter: Counter, wiring: Wiring, now: int) -> tuple[Any, Any]:
    heard = wiring.units[counter.receiver].clock
    return tuple(max(time, heard) - now for time in counter.times), tuple(counter.times)


def flow(transfers: InFlight) -> tuple[Any, ...]:
    """Transfers that move, are about to start, or wait for others of their group."""
    fluid, now = transfers.fluid, transfers.fluid.now
    moving = tuple(
        (
            current.kind,
            current.count,
            tuple(
                (end - current.progress, _named(item[0]))
                for end, _, item in sorted(current.ends, key=_by_end)
            ),
        )
        for current in fluid.currents.values()
    )
    starting = tuple(
        (time - now, _named(members)) for time, _, members in sorted(transfers.starts, key=_by_start)
    )
    meeting = tuple((family, _named(members)) for (family, _), members in transfers.meetings.items())
    return moving, starting, meeting


def _by_end(entry: tuple[int, int, Any]) -> tuple[int, int]:
    return entry[0], entry[1]


def _by_start(entry: tuple[int, int, list[Descriptor]]) -> tuple[int, int]:
    return entry[0], entry[1]


def _named(members: list[Descriptor]) -> tuple[tuple[int, int], ...]:
    return tuple((one.unit.number, id(one.transfer)) for one in members)


# ---- comparing ---------------------------------------------------------------------------------------------
def rounds(before: Moment, now: Moment) -> int:
    """How many more rounds like the one between two moments follow; 0 if they are not alike."""
    if before.flow != now.flow:
        return 0
    for (was, absolute), (then, also) in zip(before.links, now.links, strict=False):
        if was != then and absolute != also:
            return 0
    if len(before.links) != len(now.links):
        return 0
    rounds: list[int] = []
    for one, other in zip(before.units, now.units, strict=True):
        if is_frozen(one, other):
            continue
        left = _left(one, other)
        if left is None:
            return 0
        rounds.append(left)
    return min(rounds, default=0)


def is_frozen(before: UnitMoment, now: UnitMoment) -> bool:
    """The unit did nothing between two moments."""
    return (before.clock, before.counts, before.spent) == (now.clock, now.counts, now.spent)


def _left(before: UnitMoment, now: UnitMoment) -> int | None:
    """Rounds that the one loop that went on still has, leaving one; None if the unit is not alike."""
    if before.times != now.times:
        return None
    passed = [was - count for was, count in zip(before.counts, now.counts, strict=True)]
    moved = [position for position, step in enumerate(passed) if step]
    if len(moved) != 1 or passed[moved[0]] < 0:
        return None
    return (now.counts[moved[0]] - 1) // passed[moved[0]] - 1
