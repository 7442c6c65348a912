"""Conflicts in device memory within a party whose cores ran apart: whether what passes orders them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headrace.schedule.verify.cores.exchanges import Joined, Knowledge
from headrace.schedule.verify.programs.sweeps import Reach
from headrace.schedule.verify.run import Record, Run
from headrace.schedule.verify.spans import corner

Access = tuple[int, str, int, Any, int]
"""The number of the core in its party, kind and corelet of the unit, the op, the number of its touch."""


@dataclass(frozen=True)
class Conflict:
    """Two accesses that share bytes, one of them a write; `apart`: the bytes from where the first begins to
    where the second does.
    """

    first: Access
    second: Access
    apart: int

    @property
    def is_within(self) -> bool:
        """Whether both are of one core."""
        return self.first[0] == self.second[0]

    def moved(self, core: int) -> Conflict:
        """The same within another core."""
        return Conflict((core, *self.first[1:]), (core, *self.second[1:]), self.apart)


def conflicts(met: Iterable[tuple[Reach, Reach]], party: Sequence[int]) -> frozenset[Conflict]:
    """Return the conflicts within a party."""
    places = {core: at for at, core in enumerate(party)}
    return frozenset(
        Conflict(_access(a, places), _access(b, places), corner(b.touch) - corner(a.touch))
        for a, b in met
        if a.core in places and b.core in places
    )


def _access(reach: Reach, places: dict[int, int]) -> Access:
    handle = reach.handle
    return places[handle.core], handle.kind, handle.corelet, reach.op, reach.place


def are_ordered(asked: Iterable[Conflict], shown: Iterable[Conflict], joined: Joined) -> bool:
    """Whether all conflicts `asked` for, in the party or ones alike, are in order; those `shown` are its own.

    Conflicts within a core that one of its kind which ran has itself, equally far apart, that run has shown.
    Of all others every event of one access must be over before any of the other's begins, or the other way
    round.
    """
    party = list(joined.cores)
    homes = [party.index(joined.cores[core].run.home) for core in party]
    known = {one for one in shown if one.is_within and homes[one.first[0]] == one.first[0]}
    moved = {one.moved(homes[one.first[0]]) if one.is_within else one for one in asked}
    records = _Records(joined)
    return all(records.order(one) for one in moved - known)


class _Records:
    """What the units of a party did, by unit and op, and what they know of other cores."""

    def __init__(self, joined: Joined) -> None:
        self.joined, self.party = joined, list(joined.cores.items())
        self.found: dict[Run, dict[tuple[int, Any], list[Record]]] = {}

    def of(self, access: Access) -> tuple[int, int, list[Record]]:
        """The core and the number of the unit of an access, and its events."""
        place, kind, corelet, op, _ = access
        core, apart = self.party[place]
        unit = next(u.clock.at for u in apart.run.units if u.handle[::2] == (kind, corelet))
        if apart.run not in self.found:
            events = self.found[apart.run] = {}
            for record in apart.run.records:
                events.setdefault((record.unit, record.op), []).append(record)
        return core, unit, self.found[apart.run].get((unit, op), [])

    @cached_property
    def knowledge(self) -> Knowledge:
        return Knowledge(self.joined)

    def order(self, one: Conflict) -> bool:
        """Whether all events of a conflict's accesses are over before or begin after those of the other; what
        touches of one event share, only a run of the core itself tells right from wrong.
        """
        (core, unit, mine), (other, its, others) = self.of(one.first), self.of(one.second)
        if not mine or not others:
            return True
        if one.is_within and unit == its:
            is_of_one_event = one.first[3] is one.second[3] and one.first[4] != one.second[4]
            return not is_of_one_event and _are_complete(mine, others)
        ends, over = (np.array([r.end for r in found]) for found in (mine, others))
        if one.is_within:
            known = np.array([r.start.of(unit) for r in others])
            seen = np.array([r.start.of(its) for r in mine])
        else:
            known = np.array([self.knowledge.of(other, r.start, core, unit) for r in others])
            seen = np.array([self.knowledge.of(core, r.start, other, its) for r in mine])
        return bool(((ends[:, None] <= known[None, :]) | (over[None, :] <= seen[:, None])).all())


def _are_complete(mine: list[Record], others: list[Record]) -> bool:
    """Whether transfers of one unit are complete when those of another op of it begin."""
    if not all("load_and_store" in records[0].op.name for records in (mine, others)):
        return True
    ends, over = (np.array([r.end for r in records]) for records in (mine, others))
    complete, done = (np.array([r.complete for r in records]) for records in (mine, others))
    is_same = np.array([[a is b for b in others] for a in mine]) if mine[0].op is others[0].op else False
    return bool(((ends[:, None] <= done[None, :]) | (over[None, :] <= complete[:, None]) | is_same).all())
