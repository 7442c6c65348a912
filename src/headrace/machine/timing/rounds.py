"""Rounds of a whole schedule: when every unit, queue and transfer is again as it was, only later, the
rounds between are repeated by arithmetic; those of an outer loop too, whatever was repeated inside them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.machine.timing.activities import Body, Repeat
from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.inflight import InFlight
from headrace.machine.timing.moments import (
    Moment,
    UnitMoment,
    flow,
    is_frozen,
    link_state,
    place,
    rounds,
    unit_moment,
)
from headrace.machine.timing.movers import repeat
from headrace.machine.timing.unit import CAUSES, SimulatedUnit
from headrace.machine.timing.wiring import Wiring

if TYPE_CHECKING:
    from headrace.machine.timing.compiled.units import CompiledUnits

ENOUGH = 8
"""Iterations a loop must have for its rounds to be looked for."""
UNLIMITED = 1 << 60
PATIENCE = 120
"""Moments kept of a loop before it is given up; the loops around and inside it are still looked at."""


@dataclass
class _Level:
    """What is known of the loops at one depth of the marker's: moments by place; None once given up."""

    moments: dict[tuple[Any, ...], list[Moment]] | None = field(default_factory=dict)
    kept: int = 0

    def forget(self) -> None:
        """Begin anew, unless given up."""
        if self.moments is not None:
            self.moments.clear()
            self.kept = 0


class Rounds:
    """Looks at the engine whenever a loop of its first mover has gone on, and jumps over rounds that
    repeat.

    Moments at which an outer loop went on are compared with each other and outlive the jumps inside it.
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
        self.levels: dict[int, _Level] = {}
        self.leads: list[tuple[int, int]] = []

    def look(self) -> None:
        """Compare this moment with earlier ones; jump if it repeats one of them."""
        if self.marker is None or self.marker.is_done:
            return
        counts = tuple([frame[2] for frame in self.marker.stack])
        if counts == self.counts:
            return
        depth = _first_difference(counts, self.counts)
        self.counts = counts
        level = self.levels.setdefault(depth, _Level())
        if level.moments is None:
            return
        if level.kept >= PATIENCE:
            level.moments = None
            if all(one.moments is None for one in self.levels.values()):
                self.marker = None
            return
        self.leads.append(self.transfers.fluid.extremes())
        moment = self._moment()
        alike = level.moments.setdefault(place(moment), [])
        for earlier in reversed(alike):
            times = self._repeats(earlier, moment)
            if times > 0:
                self._jump(earlier, moment, times)
                for at, one in self.levels.items():
                    if at >= depth:
                        one.forget()
                return
        alike.append(moment)
        level.kept += 1

    def _repeats(self, before: Moment, now: Moment) -> int:
        """How many more rounds like the one between two moments follow; 0 if they are not alike."""
        times = rounds(before, now)
        if times > 0:
            times = min(times, self._rounds_by_lead(before, now))
        return min(times, self._inside(before, now)) if times > 0 else 0

    def _rounds_by_lead(self, before: Moment, now: Moment) -> int:
        """How many more rounds the same side pays turnaround at every moment, leaving one."""
        drift = now.lead - before.lead
        if drift == 0:
            return UNLIMITED
        lowest, highest = self._reach(before, now)
        if lowest > 0:
            return UNLIMITED if drift > 0 else lowest // -drift - 1
        if highest < 0:
            return UNLIMITED if drift < 0 else -highest // drift - 1
        return 0

    def _reach(self, before: Moment, now: Moment) -> tuple[int, int]:
        """The least and the greatest lead of reads over writes between two moments."""
        leads = self.leads[before.serial : now.serial]
        return min(low for low, _ in leads), max(high for _, high in leads)

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
            tuple(unit_moment(unit, now) for unit in self.units),
            tuple(link_state(link, self.wiring, now) for link in self._links()),
            flow(transfers),
            dict(transfers.moved),
            None if self.compiled is None else self.compiled.snapshot(now),
        )

    def _jump(self, before: Moment, now: Moment, times: int) -> None:
        """Move everything that takes part on by `times` rounds."""
        period = now.now - before.now
        shift, transfers = period * times, self.transfers
        for unit, was, then in zip(self.units, before.units, now.units, strict=True):
            if not is_frozen(was, then):
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
        drift = (now.lead - before.lead) * times
        lowest, highest = self._reach(before, now)
        self.leads.append((lowest + min(0, drift), highest + max(0, drift)))
        transfers.fluid.jump(shift, drift)


def _first_difference(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """The first place at which two tuples differ, the end of the shorter one if it begins the other."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(one), len(other)))


def _has_loop(body: Body) -> bool:
    return any(isinstance(one, Repeat) and (one.count >= ENOUGH or _has_loop(one.body)) for one in body)


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
        repeat(unit, before.lengths, before.skipped, period, times)
