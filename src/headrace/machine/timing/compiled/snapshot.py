"""What the future of compiled units depends on, as arrays: to find rounds that repeat, and to jump over them.

Every unit, queue and counter is a block. Two moments are alike if their `places` are equal and every block is
equal relative to now or, where nothing happened in between, as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.extending import register_jitable

from headrace.machine.execute.half import compiled
from headrace.machine.timing.compiled.fields import (
    ARRIVAL,
    ARRIVAL_ROOM,
    ARRIVAL_ROW,
    ARRIVALS,
    ARRIVED,
    AWAITED_BY,
    BUSY,
    CLOCK,
    DEPTH,
    DONE,
    FREE,
    FREE_SINCE,
    GIVEN,
    LEFT,
    OPENED,
    PC,
    PENDING,
    PHASE,
    RECEIVER,
    RETURN,
    RETURN_ROOM,
    RETURN_ROW,
    RETURNED,
    RETURNING,
    RETURNS,
    SENDER,
    SETTLED,
    SIGNALS,
    STACK,
    START,
    STREAM,
    TAKEN,
    TIME,
    TIME_ROOM,
    TIMES,
    WAIT,
    WHAT,
)
from headrace.machine.timing.compiled.tables import Tables

Array = np.ndarray[Any, Any]
EVER = -(1 << 62)
"""A time before all others: whoever is not in the tables may still wait for any moment."""
PLACE, SUMS = 9, SIGNALS + 1 - BUSY
"""Entries of a unit's place; sums at the end of its block."""
CLOCKS = 3
"""Times at the beginning of a unit's block."""


@dataclass(frozen=True)
class Snapshot:
    """A moment: `place` must be equal; `relative` and `absolute` have a block for every unit, then every
    queue and counter, beginning at `starts`; `opened` counts the streams opened so far.

    Of a unit's block, relative: clock, settled, start; absolute: clock, counts of loops and stream, sums.
    """

    place: bytes
    relative: Array
    absolute: Array
    starts: Array
    opened: Array


def snapshot(tables: Tables, now: int) -> Snapshot:
    """Return the moment `now` of tables on which no unit can run."""
    place, relative, absolute, starts = note(tables, now)
    return Snapshot(place.tobytes(), relative, absolute, starts, tables.memory[tables.streams + OPENED])


def note(tables: Tables, now: int) -> tuple[Array, Array, Array, Array]:
    """Return `place`, `relative`, `absolute` and `starts` of a moment (see `Snapshot`)."""
    m, queues, counters = tables.memory, tables.queues, tables.slots
    units = tables.end // tables.size
    places, size = _sizes(m, queues, counters)
    places, size = places + units * PLACE, size + units * width(tables)
    place, starts = np.empty(places, np.int64), np.empty(units + len(queues) + len(counters), np.int64)
    relative, absolute = np.zeros(size, np.int64), np.zeros(size, np.int64)
    used, filled = _note(m, tables.size, tables.end, queues, counters, now, place, relative, absolute, starts)
    return place[:used], relative[:filled], absolute[:filled], starts


@compiled
def _sizes(m: Array, queues: Array, counters: Array) -> tuple[int, int]:
    """Most entries of place, and of the blocks, that queues and counters need."""
    places, size = 3 * len(queues) + len(counters), len(queues) + len(counters)
    for q in queues:
        places += 2 * m[q + ARRIVED] + m[q + RETURNING]
        size += m[q + ARRIVED] + m[q + RETURNING]
    for c in counters:
        size += m[c + PENDING]
    return places, size


@compiled
def _note(
    m: Array,
    size: int,
    end: int,
    queues: Array,
    counters: Array,
    now: int,
    place: Array,
    relative: Array,
    absolute: Array,
    starts: Array,
) -> tuple[int, int]:
    """Fill the arrays of a snapshot; (entries of place, entries of the blocks)."""
    p, b, k = 0, 0, 0
    for u in range(0, end, size):
        for column in (PC, STREAM, PHASE, TAKEN, GIVEN, WAIT, WHAT, DONE, DEPTH):
            place[p] = m[u + column]
            p += 1
        starts[k] = b
        k += 1
        clock, is_streaming = m[u + CLOCK], m[u + STREAM] >= 0
        relative[b] = clock - now
        relative[b + 1] = max(m[u + SETTLED], clock) - now
        relative[b + 2] = (max(m[u + START], clock) if is_streaming else clock) - now
        absolute[b] = clock
        b += CLOCKS
        for level in range(size - STACK):
            absolute[b] = m[u + STACK + level] if level < m[u + DEPTH] else 0
            b += 1
        absolute[b] = m[u + LEFT] if is_streaming else 0
        b += 1
        for column in range(BUSY, SIGNALS + 1):
            absolute[b] = m[u + column]
            b += 1
    for q in queues:
        sent = m[m[q + SENDER] + CLOCK] if m[q + SENDER] >= 0 else now
        heard = m[m[q + RECEIVER] + CLOCK] if m[q + RECEIVER] >= 0 else now
        _make_free(m, q, sent)
        place[p], place[p + 1], place[p + 2] = m[q + ARRIVED], m[q + RETURNING], m[q + FREE]
        p += 3
        starts[k] = b
        k += 1
        for i in range(m[q + ARRIVED]):
            at = m[q + ARRIVALS] + (m[q + ARRIVAL] + i) % m[q + ARRIVAL_ROOM] * ARRIVAL_ROW
            place[p], place[p + 1] = m[at + 1], m[at + 2]
            p += 2
            relative[b] = max(m[at], heard - m[at + 1]) - now
            absolute[b] = m[at]
            b += 1
        for i in range(m[q + RETURNING]):
            at = m[q + RETURNS] + (m[q + RETURN] + i) % m[q + RETURN_ROOM] * RETURN_ROW
            place[p] = m[at + 1]
            p += 1
            relative[b] = m[at] - now
            absolute[b] = m[at]
            b += 1
        relative[b] = max(m[q + FREE_SINCE], sent) - now
        absolute[b] = m[q + FREE_SINCE]
        b += 1
    for c in counters:
        heard = m[m[c + AWAITED_BY] + CLOCK] if m[c + AWAITED_BY] >= 0 else EVER
        place[p] = m[c + PENDING]
        p += 1
        starts[k] = b
        k += 1
        for i in range(m[c + PENDING]):
            at = m[c + TIMES] + (m[c + TIME] + i) % m[c + TIME_ROOM]
            relative[b] = max(m[at], heard) - now
            absolute[b] = m[at]
            b += 1
        b += 1
    return p, b


@register_jitable
def _make_free(m: Array, q: int, clock: int) -> None:
    """Count room that is free by now as free (equal states then look equal)."""
    while m[q + RETURNING] > 0:
        at = m[q + RETURNS] + m[q + RETURN] * RETURN_ROW
        if m[at] > clock:
            return
        m[q + FREE] += m[at + 1]
        m[q + RETURNED] -= m[at + 1]
        m[q + RETURN] = (m[q + RETURN] + 1) % m[q + RETURN_ROOM]
        m[q + RETURNING] -= 1


# ---- comparing and jumping ---------------------------------------------------------------------------------
def rounds(before: Snapshot, now: Snapshot, tables: Tables) -> int | None:
    """Return how many more rounds like the one between two moments of equal place follow; None: no limit."""
    is_moving = np.logical_or.reduceat(now.absolute != before.absolute, now.starts)
    if (is_moving & np.logical_or.reduceat(now.relative != before.relative, now.starts)).any():
        return 0
    block, found = width(tables), None
    for row in np.flatnonzero(is_moving[: tables.end // tables.size]):
        counts = slice(now.starts[row] + CLOCKS, now.starts[row] + block - SUMS)
        left, passed = now.absolute[counts], before.absolute[counts] - now.absolute[counts]
        moved = np.flatnonzero(passed)
        if len(moved) != 1 or passed[moved[0]] < 0:
            return 0
        times = int((left[moved[0]] - 1) // passed[moved[0]] - 1)
        found = times if found is None else min(found, times)
    return found


def jump(tables: Tables, before: Snapshot, now: Snapshot, times: int, period: int) -> None:
    """Move what went on between two moments on by `times` rounds of `period` ticks."""
    m, change = tables.memory, (now.absolute - before.absolute) * times
    is_moving = np.logical_or.reduceat(change != 0, now.starts)
    units, queues, counters = np.split(is_moving, np.cumsum([tables.end // tables.size, len(tables.queues)]))
    shift, depth = period * times, tables.size - STACK
    for row in np.flatnonzero(units):
        u, counts = row * tables.size, now.starts[row] + CLOCKS
        for column in (CLOCK, SETTLED, START):
            m[u + column] += shift
        m[u + STACK : u + STACK + depth] += change[counts : counts + depth]
        m[u + LEFT] += change[counts + depth]
        sums = now.starts[row] + width(tables) - SUMS
        m[u + BUSY : u + SIGNALS + 1] += change[sums : sums + SUMS]
    for q in tables.queues[queues]:
        m[m[q + ARRIVALS] :][: m[q + ARRIVAL_ROOM] * ARRIVAL_ROW : ARRIVAL_ROW] += shift
        m[m[q + RETURNS] :][: m[q + RETURN_ROOM] * RETURN_ROW : RETURN_ROW] += shift
        m[q + FREE_SINCE] += shift
    for c in tables.slots[counters]:
        m[m[c + TIMES] :][: m[c + TIME_ROOM]] += shift
    m[tables.streams + OPENED] += (now.opened - before.opened) * times


def width(tables: Tables) -> int:
    """Entries of the block of a unit."""
    return CLOCKS + tables.size - STACK + 1 + SUMS
