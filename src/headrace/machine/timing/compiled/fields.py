"""The memory `advance` runs on: one array of int64 with rows of these columns; times in ticks.

Rows refer to each other by address, the place of their first entry in the memory.
"""

from __future__ import annotations

# units: `STACK` is the first of the counts of the loops a unit is in
PC, CLOCK, SETTLED, STREAM, LEFT, PHASE, TAKEN, GIVEN, START, WAIT, WHAT, READY, DONE, DEPTH = range(14)
BUSY, INPUT, SPACE, SIGNAL, SETUP, SIGNALS, STACK = range(14, 21)
# what a unit waits for (`WAIT`; `WHAT` is the address of the queue or counter)
NOTHING, A_MESSAGE, ROOM, A_SIGNAL = range(4)

# code: op and three numbers
SPEND, REPEAT, AGAIN, OPEN, NOTIFY, AWAIT, FENCE, END = range(8)
LINE = 4

# streams
COUNT, FIRST, PHASES, SET_UP, DRAIN, SETTLE, OPENED = range(7)
STREAM_ROW = 7
# phases
COST, TAKE, TAKES, GIVE, GIVES = range(5)
PHASE_ROW = 5
# takes
FROM, IS_WHOLE = range(2)
TAKE_ROW = 2
# gives
TO, GRANULES, OFFSET, DURATION, LATENCY = range(5)
GIVE_ROW = 5

# queues: rings of arrivals (time, duration, granules) and of returns (time, granules)
CAPACITY, SENDER, RECEIVER, FREE, FREE_SINCE, RETURNED = range(6)
ARRIVALS, ARRIVAL_ROOM, ARRIVAL, ARRIVED = range(6, 10)
RETURNS, RETURN_ROOM, RETURN, RETURNING = range(10, 14)
QUEUE_ROW = 14
ARRIVAL_ROW, RETURN_ROW = 3, 2

# counters: rings of times
AWAITED_BY, TIMES, TIME_ROOM, TIME, PENDING = range(5)
COUNTER_ROW = 5

NOBODY = -1
"""The address of a unit that is not in the memory."""
