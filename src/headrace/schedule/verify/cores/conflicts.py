"""Conflicts in device memory within parties that one core has run for: whether its run orders them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.schedule.verify.cores.symmetry import Symmetry
from headrace.schedule.verify.programs.sweeps import Reach
from headrace.schedule.verify.programs.values import Handle
from headrace.schedule.verify.run import Record, Run
from headrace.schedule.verify.spans import corner


@dataclass(frozen=True)
class Conflict:
    """Two accesses that share bytes, one of them a write: each by its unit (kind, corelet), op and touch;
    `there` and `back`: the number of the second's core as seen from that of the first, and the other way;
    `apart`: the bytes from where the first begins to where the second does.
    """

    first: tuple[tuple[str, int], Any, int]
    second: tuple[tuple[str, int], Any, int]
    there: int
    back: int
    apart: int


def conflicts(met: Iterable[tuple[Reach, Reach]], party: Symmetry) -> dict[Conflict, int]:
    """Return the conflicts within a party, each with a core that has the first access: home if it has one."""
    found: dict[Conflict, int] = {}
    for a, b in met:
        if a.core in party.images and b.core in party.images:
            first, second = (((r.handle.kind, r.handle.corelet), r.op, r.place) for r in (a, b))
            there, back = party.distance(a.core, b.core), party.distance(b.core, a.core)
            one = Conflict(first, second, there, back, corner(b.touch) - corner(a.touch))
            if found.get(one) != party.home:
                found[one] = a.core
    return found


def are_ordered(met: Sequence[tuple[Reach, Reach]], parties: Sequence[Symmetry], run: Run) -> bool:
    """Whether the run of the first party's home proves the order of all conflicts within all `parties`.

    Conflicts within a core that this core has itself, equally far apart, the run has shown. Of all others
    every event of one access must be over before any of the other's begins, or the other way round.
    """
    shown = {
        one for one, core in conflicts(met, parties[0]).items() if core == parties[0].home and one.there == 0
    }
    asked = {one for party in parties for one in conflicts(met, party)} - shown
    known = _Records(run)
    return all(known.order(one) for one in asked)


class _Records:
    """What the units of a core did, by unit and op."""

    def __init__(self, run: Run) -> None:
        self.units = {_kind(unit.handle): unit.clock.number for unit in run.units}
        self.found: dict[tuple[int, Any], list[Record]] = {}
        for record in run.records:
            self.found.setdefault((record.unit, record.op), []).append(record)

    def order(self, one: Conflict) -> bool:
        """Whether all events of a conflict's accesses are over before or begin after those of the other."""
        (kind, op, _), (other_kind, other_op, _) = one.first, one.second
        unit, other = self.units[kind], self.units[other_kind]
        mine, others = self.found.get((unit, op), []), self.found.get((other, other_op), [])
        if not mine or not others:
            return True
        if unit == other and one.there == 0:
            return _are_complete(mine, others)
        count = len(self.units)
        ends, over = (np.array([r.end for r in found]) for found in (mine, others))
        known = np.array([r.start.of(unit + one.back * count) for r in others])
        seen = np.array([r.start.of(other + one.there * count) for r in mine])
        return bool(((ends[:, None] <= known[None, :]) | (over[None, :] <= seen[:, None])).all())


def _are_complete(mine: list[Record], others: list[Record]) -> bool:
    """Whether transfers of one unit are complete when those of another op of it begin."""
    if not all("load_and_store" in records[0].op.name for records in (mine, others)):
        return True
    ends, over = (np.array([r.end for r in records]) for records in (mine, others))
    complete, done = (np.array([r.complete for r in records]) for records in (mine, others))
    is_same = np.array([[a is b for b in others] for a in mine]) if mine[0].op is others[0].op else False
    return bool(((ends[:, None] <= done[None, :]) | (over[None, :] <= complete[:, None]) | is_same).all())


def _kind(handle: Handle) -> tuple[str, int]:
    return handle.kind, handle.corelet
