"""The compiled units of an engine: run until none can go on, joined to the others by signals alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.machine.timing.compiled import fields as f
from headrace.machine.timing.compiled.advance import STILL, advance
from headrace.machine.timing.compiled.memo import Memo
from headrace.machine.timing.compiled.snapshot import Snapshot, jump, rounds, snapshot
from headrace.machine.timing.compiled.tables import Tables
from headrace.machine.timing.fifo import Counter
from headrace.machine.timing.unit import SimulatedUnit
from headrace.machine.timing.wiring import Wiring

SUMS = {"busy": f.BUSY, "input": f.INPUT, "space": f.SPACE, "signal": f.SIGNAL, "setup": f.SETUP}


class CompiledUnits:
    """`units` of a wiring in tables. The units that stay outside send and await signals only."""

    def __init__(
        self, wiring: Wiring, units: Sequence[SimulatedUnit], outside: Sequence[SimulatedUnit]
    ) -> None:
        self.units = units
        self.tables = Tables(wiring, units)
        self.memo = Memo(self.tables)
        self._outside = {unit.number for unit in outside}
        self._leaving = [one for one in self.tables.counters if one.receiver in self._outside]
        self._leaving_slots = self.tables.slots[np.array([one.slot for one in self._leaving], np.int64)]

    def run(self) -> list[Counter]:
        """Run until no unit can go on; return the counters of units outside that have got signals."""
        self.memo.run(self._advance)
        tables = self.tables
        raised, m = [], tables.memory
        if not m[self._leaving_slots + f.PENDING].any():
            return []
        for counter in self._leaving:
            c = tables.slots[counter.slot]
            if m[c + f.PENDING]:
                counter.times.extend(self._pending(c))
                m[c + f.PENDING] = 0
                raised.append(counter)
        return raised

    def _advance(self) -> None:
        tables = self.tables
        while (full := advance(tables.memory, tables.size, tables.end)) != STILL:
            self._grow(full)

    def is_awaited(self, counter: Counter) -> bool:
        """Return whether a signal goes to one of the units."""
        return counter.receiver not in self._outside

    def raise_signal(self, counter: Counter, time: int) -> None:
        """Add a signal from outside; nobody awaits one without a slot."""
        if counter.slot < 0:
            return
        c = self.tables.slots[counter.slot]
        if self.tables.memory[c + f.PENDING] == self.tables.memory[c + f.TIME_ROOM]:
            self._grow(c)
        m = self.tables.memory
        m[m[c + f.TIMES] + (m[c + f.TIME] + m[c + f.PENDING]) % m[c + f.TIME_ROOM]] = time
        m[c + f.PENDING] += 1
        u = m[c + f.AWAITED_BY]
        if m[u + f.WAIT] == f.A_SIGNAL and m[u + f.WHAT] == c:
            m[u + f.READY] = 1

    def write_back(self) -> None:
        """Put what the units have spent, where they are in time and what they moved into the units."""
        tables, m = self.tables, self.tables.memory
        for row, unit in enumerate(self.units):
            u = row * tables.size
            unit.clock, unit.settled = int(m[u + f.CLOCK]), int(m[u + f.SETTLED])
            unit.is_done = bool(m[u + f.DONE])
            for cause, column in SUMS.items():
                unit.spent[cause] = int(m[u + column])
            if m[u + f.SIGNALS]:
                unit.count_traffic((("signals", int(m[u + f.SIGNALS])),))
        by_number = {unit.number: unit for unit in self.units}
        opened = m[tables.streams + f.OPENED].tolist()
        for (number, entries), times in zip(tables.opened, opened, strict=True):
            if times:
                by_number[number].count_traffic(tuple((name, size * times) for name, size in entries))

    # ---- rounds --------------------------------------------------------------------------------------------
    def snapshot(self, now: int) -> Snapshot:
        """Return the moment `now`; no unit can run."""
        return snapshot(self.tables, now)

    def rounds(self, before: Snapshot, now: Snapshot) -> int | None:
        """Return how many more rounds like that between two moments of equal place follow; None: no limit."""
        return rounds(before, now, self.tables)

    def jump(self, before: Snapshot, now: Snapshot, times: int, period: int) -> None:
        """Move on by `times` rounds of `period` ticks."""
        jump(self.tables, before, now, times, period)

    # ---- rings ---------------------------------------------------------------------------------------------
    def _grow(self, row: int) -> None:
        """Give the ring of a queue without a limit, or of a counter, twice the room, at the end of all."""
        tables, m = self.tables, self.tables.memory
        is_queue = row in tables.queues
        columns = slice(row + (f.ARRIVALS if is_queue else f.TIMES), None)
        width = f.ARRIVAL_ROW if is_queue else 1
        begin, room, first, many = (int(x) for x in m[columns][:4])
        held = np.roll(m[begin : begin + room * width], -first * width)
        m[columns][:3] = len(m), 2 * room, 0
        tables.memory = np.concatenate([m, held, np.zeros(room * width, np.int64)])
        assert many == room

    def _pending(self, c: int) -> list[int]:
        """The times of a counter in order."""
        m = self.tables.memory
        places = m[c + f.TIMES] + (m[c + f.TIME] + np.arange(m[c + f.PENDING])) % m[c + f.TIME_ROOM]
        return [int(time) for time in m[places]]
