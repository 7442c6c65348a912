"""Rounds of a whole schedule: when every unit, queue and transfer is again as it was, only later, the
rounds between are repeated by arithmetic.

Two moments are alike if each unit stands at the same place with the same work around it and all times that
still matter are later by the same amount; units that did nothing in between stay as they are. The counts of
the loops tell how many more rounds there are. Exact: what is compared is all the future depends on, and all
of it is integers.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.machine.timing.activities import Body, Repeat
from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.inflight import InFlight
from headrace.machine.timing.movers import repeat
from headrace.machine.timing.unit import CAUSES, Descriptor, SimulatedUnit
from headrace.machine.timing.wiring import Wiring

if TYPE_CHECKING:
    from headrace.machine.timing.compiled.snapshot import Snapshot
    from headrace.machine.timing.compiled.units import CompiledUnits

ENOUGH = 8
"""Iterations a loop must have for its rounds to be looked for."""
UNLIMITED = 1 << 60
PATIENCE = 120
"""Moments kept before a loop is given up, and only the loops around it are looked at."""
OUTERMOST = 2
"""Where the outermost loops are in a unit's stack, below them the program itself."""


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


class Rounds:
    """Looks at the engine whenever a loop of its first mover has gone on, and jumps over rounds that
    repeat.
    """

    def __init__(
        self, wiring: Wiring, transfers: InFlight, compiled: CompiledUnits | None, is_wanted: bool
    ) -> None:
        self.transfers, self.compiled = transfers, compiled
        inside = () if compiled is None else compiled.units
        self.units = [unit for unit in wiring.units if unit not in inside]
        self.wiring = wiring
        movers = (unit for unit in wiring.units if unit.is_mover and _has_loop(unit.stack[0][0]))
        self.marker = next(movers, None) if is_wanted else None
        self.counts: tuple[int, ...] = ()
        self.moments: dict[tuple[Any, ...], list[Moment]] = {}
        self.kept = 0
        self.level: int | None = None
        self.leads: list[tuple[int, int]] = []

    def look(self) -> None:
        """Compare this moment with earlier ones; jump if it repeats one of them."""
        if self.marker is None or self.marker.is_done:
            return
        counts = tuple(frame[2] for frame in self.marker.stack)[: self.level]
        if counts == self.counts:
            return
        if self.kept >= PATIENCE:
            self._look_further_out(len(counts) - 1)
            return
        self.counts = counts
        self.leads.append(self.transfers.fluid.extremes())
        moment = self._moment()
        alike = self.moments.setdefault(_place(moment), [])
        for earlier in reversed(alike):
            times = min(
                _rounds(earlier, moment), self._rounds_by_lead(earlier, moment), self._inside(earlier, moment)
            )
            if times > 0:
                self._jump(earlier, moment, times)
                self.moments.clear()
                self.kept = 0
                return
        alike.append(moment)
        self.kept += 1

    def _look_further_out(self, level: int) -> None:
        """A loop has no rounds that are alike; those around it may."""
        self.level, self.counts, self.kept = level, (), 0
        self.moments.clear()
        if level < OUTERMOST:
            self.marker = None

    def _rounds_by_lead(self, before: Moment, now: Moment) -> int:
        """How many more rounds the same side pays turnaround at every moment, leaving one."""
        drift = now.lead - before.lead
        if drift == 0:
            return UNLIMITED
        leads = self.leads[before.serial : now.serial]
        lowest, highest = min(low for low, _ in leads), max(high for _, high in leads)
        if lowest > 0:
            return UNLIMITED if drift > 0 else lowest // -drift - 1
        if highest < 0:
            return UNLIMITED if drift < 0 else -highest // drift - 1
        return 0

    def _inside(self, before: Moment, now: Moment) -> int:
        """How many more rounds the compiled units have."""
        if self.compiled is None or before.compiled is None or now.compiled is None:
            return UNLIMITED
        found = self.compiled.rounds(before.compiled, now.compiled)
        return UNLIMITED if found is None else found

    def _links(self) -> list[Fifo | Counter]:
        """Queues and counters, those to compiled units left out."""
        if self.compiled is None:
            return [*self.wiring.fifos.values(), *self.wiring.counters.values()]
        return [one for one in self.wiring.counters.values() if not self.compiled.is_awaited(one)]

    def _moment(self) -> Moment:
        transfers, now = self.transfers, self.transfers.fluid.now
        return Moment(
            len(self.leads),
            now,
            transfers.fluid.lead,
            tuple(_unit_moment(unit, now) for unit in self.units),
            tuple(_link_state(link, self.wiring, now) for link in self._links()),
            _flow(transfers),
            dict(transfers.moved),
            None if self.compiled is None else self.compiled.snapshot(now),
        )

    def _jump(self, before: Moment, now: Moment, times: int) -> None:
        """Move everything that takes part on by `times` rounds."""
        period = now.now - before.now
        shift, transfers = period * times, self.transfers
        for unit, was, then in zip(self.units, before.units, now.units, strict=True):
            if not _is_frozen(was, then):
                _jump_unit(unit, was, then, times, period)
        for link, (_, absolute), (_, also) in zip(self._links(), before.links, now.links, strict=True):
            if absolute != also:
                link.shift(shift)
        if self.compiled is not None and before.compiled is not None and now.compiled is not None:
            self.compiled.jump(before.compiled, now.compiled, times, period)
        transfers.starts = [(time + shift, serial, members) for time, serial, members in transfers.starts]
        heapq.heapify(transfers.starts)
        transfers.meetings = {
            (family, members[0].unit.met[family] - 1): members
            for (family, _), members in transfers.meetings.items()
        }
        for name, size in now.moved.items():
            transfers.moved[name] += (size - before.moved.get(name, 0)) * times
        transfers.fluid.jump(shift, (now.lead - before.lead) * times)


def _place(moment: Moment) -> tuple[Any, ...]:
    """What must be equal at two moments to compare them at all."""
    return (
        *(one.place for one in moment.units),
        b"" if moment.compiled is None else moment.compiled.place,
    )


def _has_loop(body: Body) -> bool:
    return any(isinstance(one, Repeat) and (one.count >= ENOUGH or _has_loop(one.body)) for one in body)


# ---- moments -----------------------------------------------------------------------------------------------
def _unit_moment(unit: SimulatedUnit, now: int) -> UnitMoment:
    stream = unit.stream
    running = () if stream is None else (id(stream.phases), stream.phase, stream.taken, stream.given)
    queue = tuple(
        (id(one.transfer), one.is_offered, tuple((id(counter), travel) for counter, _, travel in one.signals))
        for one in unit.queue
    )
    frames = tuple((id(frame[0]), frame[1]) for frame in unit.stack)
    waiting = None if unit.waits_for is None else (unit.waits_for[0], id(unit.waits_for[1]))
    start = unit.clock if stream is None else max(stream.start, unit.clock)
    times = [unit.clock, max(unit.settled, unit.clock), max(unit.engine_free, now), start]
    for one in unit.queue:
        times += [max(one.issued + one.transfer.meeting, now), max(one.began, now)]
        times += [max(earliest, now) for _, earliest, _ in one.signals]
    return UnitMoment(
        (frames, running, queue, waiting, unit.pending, unit.is_done),
        (*(frame[2] for frame in unit.stack), 0 if stream is None else stream.left),
        tuple(time - now for time in times),
        unit.clock,
        tuple(unit.spent[cause] for cause in CAUSES),
        dict(unit.traffic),
        dict(unit.met),
        (len(unit.program), len(unit.moves)),
    )


def _link_state(link: Fifo | Counter, wiring: Wiring, now: int) -> tuple[Any, Any]:
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


def _flow(transfers: InFlight) -> tuple[Any, ...]:
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
def _rounds(before: Moment, now: Moment) -> int:
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
        if _is_frozen(one, other):
            continue
        left = _left(one, other)
        if left is None:
            return 0
        rounds.append(left)
    return min(rounds, default=0)


def _is_frozen(before: UnitMoment, now: UnitMoment) -> bool:
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


# ---- jumping -----------------------------------------------------------------------------------------------
def _jump_unit(unit: SimulatedUnit, before: UnitMoment, now: UnitMoment, times: int, period: int) -> None:
    shift = period * times
    unit.clock += shift
    unit.settled += shift
    unit.engine_free += shift
    for frame, was, count in zip(unit.stack, before.counts, now.counts, strict=False):
        frame[2] -= (was - count) * times
    for cause, was, spent in zip(CAUSES, before.spent, now.spent, strict=True):
        unit.spent[cause] += (spent - was) * times
    for name, size in now.traffic.items():
        unit.traffic[name] += (size - before.traffic.get(name, 0)) * times
    for family, count in now.met.items():
        unit.met[family] += (count - before.met.get(family, 0)) * times
    for one in unit.queue:
        one.issued += shift
        one.began += shift
        one.signals = [(counter, earliest + shift, travel) for counter, earliest, travel in one.signals]
    if unit.stream is not None:
        unit.stream.left -= (before.counts[-1] - now.counts[-1]) * times
        unit.stream.start += shift
        unit.stream.began += shift
        unit.stream.seen = None
    if unit.is_mover:
        repeat(unit, before.lengths, period, times)
