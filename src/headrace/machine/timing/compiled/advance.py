"""Units run ahead in machine code until none can go on; import it only where there is much to run.

The twin of `Engine._run` and what it calls, on a memory as `fields` describes it (`m`). A unit runs until it
has to wait; messages and signals carry their times, so the order in which units run changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from headrace.machine.execute.half import compiled
from headrace.machine.timing.compiled.fields import (
    A_MESSAGE,
    A_SIGNAL,
    AGAIN,
    ARRIVAL,
    ARRIVAL_ROOM,
    ARRIVAL_ROW,
    ARRIVALS,
    ARRIVED,
    AWAIT,
    AWAITED_BY,
    BUSY,
    CAPACITY,
    CLOCK,
    COST,
    COUNT,
    DEPTH,
    DONE,
    DRAIN,
    DURATION,
    END,
    FENCE,
    FIRST,
    FREE,
    FREE_SINCE,
    FROM,
    GIVE,
    GIVE_ROW,
    GIVEN,
    GIVES,
    GRANULES,
    INPUT,
    IS_WHOLE,
    LATENCY,
    LEFT,
    LINE,
    NOBODY,
    NOTHING,
    NOTIFY,
    OFFSET,
    OPEN,
    OPENED,
    PC,
    PENDING,
    PHASE,
    PHASE_ROW,
    PHASES,
    READY,
    RECEIVER,
    REPEAT,
    RETURN,
    RETURN_ROOM,
    RETURN_ROW,
    RETURNED,
    RETURNING,
    RETURNS,
    ROOM,
    SENDER,
    SET_UP,
    SETTLE,
    SETTLED,
    SETUP,
    SIGNAL,
    SIGNALS,
    SPACE,
    SPEND,
    STACK,
    START,
    STREAM,
    TAKE,
    TAKE_ROW,
    TAKEN,
    TAKES,
    TIME,
    TIME_ROOM,
    TIMES,
    TO,
    WAIT,
    WHAT,
)

Array = np.ndarray[Any, Any]
TURN = 1024
"""Iterations of a stream in one turn of a unit: queues without a limit stay short."""
STILL = -1
"""What a call ends with when nothing can run; else the address of a queue or counter whose ring is full."""
_OVER, _AGAIN, _FULL = range(3)


@compiled
def advance(m: Array, size: int, end: int) -> int:
    """Run all units that are ready (rows of `size` up to `end`), until none is."""
    is_still = False
    while not is_still:
        is_still = True
        for u in range(0, end, size):
            if m[u + READY]:
                is_still = False
                m[u + READY] = 0
                m[u + WAIT] = NOTHING
                full = _run(m, u)
                if full != STILL:
                    m[u + READY] = 1
                    return int(full)
    return STILL


@register_jitable
def _run(m: Array, u: int) -> int:
    """Run one unit's program until it has to wait, its turn is over, or it ends."""
    while True:
        if m[u + STREAM] >= 0:
            outcome = _stream(m, u)
            if outcome == _FULL:
                return m[u + WHAT]  # type: ignore[no-any-return]
            if outcome == _AGAIN:
                return STILL
            stream = m[u + STREAM]
            m[u + CLOCK] += m[stream + DRAIN]
            m[u + BUSY] += m[stream + DRAIN]
            m[u + SETTLED] = max(m[u + SETTLED], m[u + CLOCK] + m[stream + SETTLE])
            m[u + STREAM] = -1
            m[u + PC] += LINE
        at = m[u + PC]
        op, first = m[at], m[at + 1]
        if op == OPEN:
            m[first + OPENED] += 1
            m[u + CLOCK] += m[first + SET_UP]
            m[u + SETUP] += m[first + SET_UP]
            m[u + STREAM], m[u + LEFT], m[u + START] = first, m[first + COUNT], m[u + CLOCK]
            m[u + PHASE] = m[u + TAKEN] = m[u + GIVEN] = 0
            continue
        if op == SPEND:
            m[u + CLOCK] += first
            m[u + SETUP] += first
        elif op == REPEAT:
            m[u + STACK + m[u + DEPTH]] = first
            m[u + DEPTH] += 1
        elif op == AGAIN:
            level = u + STACK + m[u + DEPTH] - 1
            m[level] -= 1
            if m[level] > 0:
                m[u + PC] = first
            else:
                m[u + DEPTH] -= 1
        elif op == NOTIFY:
            if m[at + 3]:
                _settle(m, u)
            if first != NOBODY:
                if m[first + PENDING] == m[first + TIME_ROOM]:
                    return first  # type: ignore[no-any-return]
                last = _wrapped(m[first + TIME] + m[first + PENDING], m[first + TIME_ROOM])
                m[m[first + TIMES] + last] = max(m[u + CLOCK], m[u + SETTLED]) + m[at + 2]
                m[first + PENDING] += 1
                _touch(m, m[first + AWAITED_BY], A_SIGNAL, first)
            m[u + SIGNALS] += 1
        elif op == AWAIT:
            if m[first + PENDING] == 0:
                m[u + WAIT], m[u + WHAT] = A_SIGNAL, first
                return STILL
            due = m[m[first + TIMES] + m[first + TIME]]
            m[first + TIME] = _wrapped(m[first + TIME] + 1, m[first + TIME_ROOM])
            m[first + PENDING] -= 1
            if due > m[u + CLOCK]:
                m[u + SIGNAL] += due - m[u + CLOCK]
                m[u + CLOCK] = due
        elif op == FENCE:
            _settle(m, u)
        elif op == END:
            m[u + DONE] = 1
            return STILL
        m[u + PC] += LINE


@register_jitable
def _wrapped(place: int, room: int) -> int:
    """The place in a ring (a division would be slower)."""
    return place if place < room else place - room


@register_jitable
def _settle(m: Array, u: int) -> None:
    """What the unit wrote is in memory before it goes on."""
    if m[u + SETTLED] > m[u + CLOCK]:
        m[u + INPUT] += m[u + SETTLED] - m[u + CLOCK]
        m[u + CLOCK] = m[u + SETTLED]


@register_jitable
def _touch(m: Array, u: int, wait: int, what: int) -> None:
    """Wake a unit that waits for this."""
    if u != NOBODY and m[u + WAIT] == wait and m[u + WHAT] == what:
        m[u + READY] = 1


@register_jitable
def _stream(m: Array, u: int) -> int:
    """Go on with a unit's stream: it is over, waits, its turn is over, or a queue without a limit is full.

    The unit's columns are held in locals meanwhile, which are registers.
    """
    stream = m[u + STREAM]
    phase, last_phase = m[stream + FIRST], m[stream + FIRST] + (m[stream + PHASES] - 1) * PHASE_ROW
    phase += m[u + PHASE] * PHASE_ROW
    clock, start, left = m[u + CLOCK], m[u + START], m[u + LEFT]
    taken, given = m[u + TAKEN], m[u + GIVEN]
    busy, waited, stuck = 0, 0, 0
    outcome, q, wait, turn = _OVER, 0, NOTHING, TURN
    while left > 0 and outcome == _OVER:
        cost = m[phase + COST]
        start = max(start, clock)
        while taken < m[phase + TAKES]:
            take = m[phase + TAKE] + taken * TAKE_ROW
            q = m[take + FROM]
            arrived, oldest = m[q + ARRIVED], m[q + ARRIVAL]
            if arrived == 0:
                outcome, wait = _AGAIN, A_MESSAGE
                break
            message = m[q + ARRIVALS] + oldest * ARRIVAL_ROW
            due, duration, granules = m[message], m[message + 1], m[message + 2]
            if m[take + IS_WHOLE]:
                due += duration
            elif duration > cost:
                due += duration - cost
            if due > start:
                waited += due - start
                start = due
            m[q + ARRIVAL] = _wrapped(oldest + 1, m[q + ARRIVAL_ROOM])
            m[q + ARRIVED] = arrived - 1
            capacity = m[q + CAPACITY]
            if capacity >= 0:
                back = start
                if granules > capacity:
                    begun = max(clock, start - max(0, duration - cost))
                    back = begun + duration * (granules - capacity) // granules
                    granules = capacity
                owed = m[q + RETURNING]
                message = m[q + RETURNS] + _wrapped(m[q + RETURN] + owed, m[q + RETURN_ROOM]) * RETURN_ROW
                m[message] = back
                m[message + 1] = granules
                m[q + RETURNING] = owed + 1
                m[q + RETURNED] += granules
            taken += 1
            _touch(m, m[q + SENDER], ROOM, q)
        while given < m[phase + GIVES] and outcome == _OVER:
            give = m[phase + GIVE] + given * GIVE_ROW
            q = m[give + TO]
            capacity, offset, arrived = m[q + CAPACITY], m[give + OFFSET], m[q + ARRIVED]
            if capacity >= 0:
                wanted, free = min(m[give + GRANULES], capacity), m[q + FREE]
                if free + m[q + RETURNED] < wanted:
                    outcome, wait = _AGAIN, ROOM
                    break
                since = m[q + FREE_SINCE]
                while free < wanted:
                    oldest = m[q + RETURN]
                    message = m[q + RETURNS] + oldest * RETURN_ROW
                    free += m[message + 1]
                    m[q + RETURNED] -= m[message + 1]
                    since = max(since, m[message])
                    m[q + RETURN] = _wrapped(oldest + 1, m[q + RETURN_ROOM])
                    m[q + RETURNING] -= 1
                m[q + FREE] = free - wanted
                m[q + FREE_SINCE] = since
                if since - offset > start:
                    stuck += since - offset - start
                    start = since - offset
            elif arrived == m[q + ARRIVAL_ROOM]:
                outcome = _FULL
                break
            newest = _wrapped(m[q + ARRIVAL] + arrived, m[q + ARRIVAL_ROOM])
            message = m[q + ARRIVALS] + newest * ARRIVAL_ROW
            m[message] = start + offset + m[give + LATENCY]
            m[message + 1] = m[give + DURATION]
            m[message + 2] = m[give + GRANULES]
            m[q + ARRIVED] = arrived + 1
            given += 1
            _touch(m, m[q + RECEIVER], A_MESSAGE, q)
        if outcome == _OVER:
            busy += cost
            clock = start + cost
            taken = given = 0
            if phase != last_phase:
                phase += PHASE_ROW
                continue
            phase = m[stream + FIRST]
            left -= 1
            turn -= 1
            if turn == 0 and left > 0:
                outcome, m[u + READY] = _AGAIN, 1
    m[u + CLOCK], m[u + START], m[u + LEFT] = clock, start, left
    m[u + PHASE] = (phase - m[stream + FIRST]) // PHASE_ROW
    m[u + TAKEN], m[u + GIVEN] = taken, given
    m[u + BUSY] += busy
    m[u + INPUT] += waited
    m[u + SPACE] += stuck
    m[u + WAIT], m[u + WHAT] = wait, q
    return outcome
