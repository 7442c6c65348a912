"""What compiled units did from a state until none could go on, remembered for when they are in it again.

A state is everything the future of the units depends on, relative to the clock of the first. Of loops only
what a run needed counts: those it went round in without leaving need enough turns left, and those around them
do not matter. Exact for the reason that jumping over rounds is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headrace.machine.execute.half import compiled
from headrace.machine.timing.compiled import fields as f
from headrace.machine.timing.compiled.fields import (
    ARRIVAL,
    ARRIVAL_ROW,
    ARRIVALS,
    ARRIVED,
    BUSY,
    CLOCK,
    DEPTH,
    DONE,
    FREE,
    FREE_SINCE,
    GIVEN,
    LEFT,
    PC,
    PENDING,
    PHASE,
    READY,
    RETURN,
    RETURN_ROW,
    RETURNED,
    RETURNING,
    RETURNS,
    SETTLED,
    STACK,
    START,
    STREAM,
    TAKEN,
    TIME,
    TIMES,
    WAIT,
    WHAT,
)
from headrace.machine.timing.compiled.snapshot import CLOCKS, PLACE, SUMS, note, width
from headrace.machine.timing.compiled.tables import Tables

Array = np.ndarray[Any, Any]
MOST = 256
"""Runs remembered."""
PATIENCE = 48
"""Runs in a row of which none was known, before nothing is remembered any more."""


@dataclass(frozen=True)
class _State:
    """A moment of the units relative to `base`: `key` is all of it but the counts of loops and streams
    (one row a unit, the stream's last) and what is summed up.
    """

    key: bytes
    base: int
    place: Array
    relative: Array
    counts: Array
    sums: Array
    opened: Array


@dataclass(frozen=True)
class _Run:
    """What happened from a state on: `is_free` marks the counts that do not matter, `passed` what the others
    lose; those that lose something have to be more than that.
    """

    counts: Array
    is_free: Array
    passed: Array
    ticks: int
    place: Array
    relative: Array
    after: Array
    sums: Array
    opened: Array

    def fits(self, counts: Array) -> bool:
        """Whether it goes the same way with these counts."""
        is_enough = self.is_counted & (counts > self.passed)
        return bool((self.is_free | is_enough | (counts == self.counts)).all())

    @cached_property
    def is_counted(self) -> Array:
        """The counts that are only counted down."""
        return self.passed > 0


class Memo:
    """Runs of the units of `tables` by the state they began in."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.known: dict[bytes, list[_Run]] = {}
        self.kept = self.missed = 0
        self.is_on = True

    def run(self, advance: Callable[[], None]) -> None:
        """Do what `advance` does: run units until none can go on."""
        tables = self.tables
        ready = tables.memory[READY : tables.end : tables.size]
        if not ready.any():
            return
        if not self.is_on:
            advance()
            return
        before = self._state(ready.tobytes())
        runs = self.known.get(before.key)
        for one in runs or ():
            if one.fits(before.counts) and self._apply(one, before):
                self.missed = 0
                return
        advance()
        self.missed += 1
        if self.missed > PATIENCE or self.kept >= MOST:
            self.is_on = False
            self.known.clear()
        elif runs is None:
            self.known[before.key] = []  # what comes a second time is worth remembering
        else:
            runs.append(self._run_from(before))
            self.kept += 1

    def _state(self, ready: bytes) -> _State:
        tables, m = self.tables, self.tables.memory
        base = int(m[CLOCK])
        place, relative, absolute, starts = note(tables, base)
        units = tables.end // tables.size
        blocks = absolute[: units * width(tables)].reshape(units, -1)
        counts, sums = blocks[:, CLOCKS:-SUMS].copy(), blocks[:, -SUMS:].copy()
        return _State(
            place.tobytes() + relative.tobytes() + ready,
            base,
            place,
            relative,
            counts,
            sums,
            m[tables.streams + f.OPENED],
        )

    def _run_from(self, before: _State) -> _Run:
        """The run from a state to now."""
        now = self._state(b"")
        is_free, passed = _used(before, now)
        return _Run(
            before.counts,
            is_free,
            passed,
            now.base - before.base,
            now.place,
            now.relative,
            now.counts,
            now.sums - before.sums,
            now.opened - before.opened,
        )

    def _apply(self, run: _Run, before: _State) -> bool:
        """Put the units where a run leaves them; False if a ring is too small for that."""
        tables = self.tables
        counts = np.where(
            run.is_free, before.counts, np.where(run.passed > 0, before.counts - run.passed, run.after)
        )
        is_done = _restore(
            tables.memory, tables.size, tables.end, tables.queues, tables.slots,
            before.base + run.ticks, run.place, run.relative, counts, run.sums,
        )  # fmt: skip
        if is_done:
            tables.memory[tables.streams + f.OPENED] += run.opened
        return bool(is_done)


def _used(before: _State, now: _State) -> tuple[Array, Array]:
    """(which counts do not matter for a run, how much those that a unit only counted down have lost)."""
    is_free = np.zeros(before.counts.shape, np.bool_)
    passed = np.zeros(before.counts.shape, np.int64)
    was, then = (s.place[: len(before.counts) * PLACE].reshape(-1, PLACE) for s in (before, now))
    lost = before.counts - now.counts
    for row, change in enumerate(lost):
        moved = np.flatnonzero(change)
        if len(moved) != 1 or change[moved[0]] < 0 or was[row, -1] != then[row, -1]:
            continue
        level, left = int(moved[0]), len(change) - 1
        if level == left and (was[row, :2] != then[row, :2]).any():
            continue
        is_free[row, :level] = True
        passed[row, level] = change[level]
    return is_free, passed


@compiled
def _restore(
    m: Array,
    size: int,
    end: int,
    queues: Array,
    counters: Array,
    now: int,
    place: Array,
    relative: Array,
    counts: Array,
    sums: Array,
) -> bool:
    """Put units, queues and counters into a state that `note` has noted; False, and nothing, without room."""
    p = end // size * PLACE
    for q in queues:
        arrived, returning = place[p], place[p + 1]
        if arrived > m[q + f.ARRIVAL_ROOM] or returning > m[q + f.RETURN_ROOM]:
            return False
        p += 3 + 2 * arrived + returning
    for c in counters:
        if place[p] > m[c + f.TIME_ROOM]:
            return False
        p += 1
    p, b, row = 0, 0, 0
    depth = size - STACK
    for u in range(0, end, size):
        m[u + PC], m[u + STREAM], m[u + PHASE], m[u + TAKEN] = (
            place[p],
            place[p + 1],
            place[p + 2],
            place[p + 3],
        )
        m[u + GIVEN], m[u + WAIT], m[u + WHAT] = place[p + 4], place[p + 5], place[p + 6]
        m[u + DONE], m[u + DEPTH], m[u + READY] = place[p + 7], place[p + 8], 0
        p += PLACE
        m[u + CLOCK], m[u + SETTLED], m[u + START] = (
            now + relative[b],
            now + relative[b + 1],
            now + relative[b + 2],
        )
        b += CLOCKS + depth + 1 + SUMS
        for level in range(depth):
            m[u + STACK + level] = counts[row, level]
        m[u + LEFT] = counts[row, depth]
        for k in range(SUMS):
            m[u + BUSY + k] += sums[row, k]
        row += 1
    for q in queues:
        arrived, returning = place[p], place[p + 1]
        m[q + ARRIVED], m[q + RETURNING], m[q + FREE] = arrived, returning, place[p + 2]
        m[q + ARRIVAL] = m[q + RETURN] = 0
        p += 3
        for i in range(arrived):
            at = m[q + ARRIVALS] + i * ARRIVAL_ROW
            m[at], m[at + 1], m[at + 2] = now + relative[b], place[p], place[p + 1]
            p += 2
            b += 1
        returned = 0
        for i in range(returning):
            at = m[q + RETURNS] + i * RETURN_ROW
            m[at], m[at + 1] = now + relative[b], place[p]
            returned += place[p]
            p += 1
            b += 1
        m[q + RETURNED] = returned
        m[q + FREE_SINCE] = now + relative[b]
        b += 1
    for c in counters:
        m[c + PENDING], m[c + TIME] = place[p], 0
        p += 1
        for i in range(m[c + PENDING]):
            m[m[c + TIMES] + i] = now + relative[b]
            b += 1
        b += 1
    return True
