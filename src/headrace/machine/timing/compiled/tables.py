"""Classes of cores as tables: code of every unit, streams with their phases, queues and counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.machine.timing.activities import (
    Activity,
    Await,
    Body,
    Fence,
    Notify,
    Repeat,
    Spend,
    Stream,
)
from headrace.machine.timing.compiled import fields as f
from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.unit import Ready, SimulatedUnit
from headrace.machine.timing.wiring import Wiring

Array = np.ndarray[Any, Any]
FEW = 64
"""Entries of a ring whose length nothing limits, to begin with."""


class Tables:
    """The memory `advance` runs on, and where things are in it.

    A unit's row has `size` entries, unit k begins at k * size. `queues` and `counters` are the addresses of
    the rows of the engine's own (a counter's `slot` is its place in the list). `opened` says what opening a
    stream once adds to a unit's traffic, (unit's number, entries), `streams` at which addresses streams are.
    """

    def __init__(self, wiring: Wiring, units: Sequence[SimulatedUnit]) -> None:
        self.wiring = wiring
        self.counters: list[Counter] = []
        self.opened: list[tuple[int, tuple[tuple[str, int], ...]]] = []
        self._fifos: dict[int, tuple[int, Fifo]] = {}
        self._code: list[tuple[int, int, int, int]] = []
        self._streams: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, int], tuple[int, Stream]] = {}
        self._bound: dict[int, int] = {}
        self._phases: list[tuple[int, ...]] = []
        self._takes: list[tuple[int, ...]] = []
        self._gives: list[tuple[int, ...]] = []
        self._depth = 0
        starts = []
        for unit in units:
            starts.append(len(self._code))
            self._body(unit, unit.stack[0][0], 1)
            self._code.append((f.END, 0, 0, 0))
        self.size = f.STACK + self._depth
        self.end = self.size * len(units)
        self._addresses = {unit.number: row * self.size for row, unit in enumerate(units)}
        self.memory = self._linked(np.array(starts, np.int64))

    def counter(self, counter: Counter) -> int:
        """Return the number of a counter, a new one if it has none yet."""
        if counter.slot < 0:
            counter.slot = len(self.counters)
            self.counters.append(counter)
        return counter.slot

    def _linked(self, starts: Array) -> Array:
        """All rows one after the other, numbers turned into addresses."""
        units = np.zeros((len(starts), self.size), np.int64)
        code, streams = _table(self._code, f.LINE), _table(self._streams, f.STREAM_ROW)
        phases, takes = _table(self._phases, f.PHASE_ROW), _table(self._takes, f.TAKE_ROW)
        gives = _table(self._gives, f.GIVE_ROW)
        queues = np.zeros((len(self._fifos), f.QUEUE_ROW), np.int64)
        counters = np.zeros((len(self.counters), f.COUNTER_ROW), np.int64)
        tables = (units, code, streams, phases, takes, gives, queues, counters)
        at = np.cumsum([0, *(table.size for table in tables)])
        units[:, f.PC], units[:, f.STREAM], units[:, f.READY] = at[1] + starts * f.LINE, -1, 1
        for op, base, width in ((f.OPEN, at[2], f.STREAM_ROW), (f.AGAIN, at[1], f.LINE)):
            code[code[:, 0] == op, 1] = base + width * code[code[:, 0] == op, 1]
        to_counter = ((code[:, 0] == f.NOTIFY) & (code[:, 1] >= 0)) | (code[:, 0] == f.AWAIT)
        code[to_counter, 1] = at[7] + f.COUNTER_ROW * code[to_counter, 1]
        streams[:, f.FIRST] = at[3] + f.PHASE_ROW * streams[:, f.FIRST]
        phases[:, f.TAKE] = at[4] + f.TAKE_ROW * phases[:, f.TAKE]
        phases[:, f.GIVE] = at[5] + f.GIVE_ROW * phases[:, f.GIVE]
        takes[:, f.FROM] = at[6] + f.QUEUE_ROW * takes[:, f.FROM]
        gives[:, f.TO] = at[6] + f.QUEUE_ROW * gives[:, f.TO]
        rings = self._rings(queues, counters, int(at[-1]))
        self.streams = at[2] + f.STREAM_ROW * np.arange(len(streams))
        self.queues = at[6] + f.QUEUE_ROW * np.arange(len(queues))
        self.slots = at[7] + f.COUNTER_ROW * np.arange(len(counters))
        return np.concatenate([*(table.ravel() for table in tables), np.zeros(rings, np.int64)])

    def _rings(self, queues: Array, counters: Array, begin: int) -> int:
        """Fill queues and counters, their rings from an address on; return the entries of all rings.

        A queue of D granules holds at most D messages and owes D returns.
        """
        at = begin
        for row, (_, fifo) in enumerate(self._fifos.values()):
            sender, receiver = (self._addresses.get(k, f.NOBODY) for k in (fifo.sender, fifo.receiver))
            capacity, many = (-1, FEW) if fifo.capacity is None else (fifo.capacity, fifo.capacity)
            queues[row, : f.ARRIVALS] = capacity, sender, receiver, fifo.free, 0, 0
            queues[row, f.ARRIVALS : f.RETURNS] = at, many, 0, 0
            at += many * f.ARRIVAL_ROW
            queues[row, f.RETURNS :] = at, many, 0, 0
            at += many * f.RETURN_ROW
        for row, one in enumerate(self.counters):
            counters[row] = self._addresses.get(one.receiver, f.NOBODY), at, FEW, 0, 0
            at += FEW
        return at - begin

    # ---- code ----------------------------------------------------------------------------------------------
    def _body(self, unit: SimulatedUnit, body: Body, depth: int) -> None:
        self._depth = max(self._depth, depth)
        for activity in body:
            if isinstance(activity, Repeat):
                if activity.count and activity.body:
                    self._code.append((f.REPEAT, activity.count, 0, 0))
                    start = len(self._code) - 1
                    self._body(unit, activity.body, depth + 1)
                    self._code.append((f.AGAIN, start, 0, 0))
            else:
                self._code.append(self._line(unit, activity))

    def _line(self, unit: SimulatedUnit, activity: Activity) -> tuple[int, int, int, int]:
        match activity:
            case Stream():
                return f.OPEN, self._stream(unit, activity), 0, 0
            case Spend():
                return f.SPEND, activity.duration, 0, 0
            case Notify():
                counter = self.wiring.counter_to(unit, activity.peer)
                row = f.NOBODY if counter is None else self.counter(counter)
                return f.NOTIFY, row, activity.travel, int(activity.waits)
            case Await():
                return f.AWAIT, self.counter(self.wiring.counter_from(unit, activity.peer)), 0, 0
            case Fence():
                return f.FENCE, 0, 0, 0
        raise TypeError(f"{type(activity).__name__} is not for machine code")

    def _stream(self, unit: SimulatedUnit, stream: Stream) -> int:
        known = self._known.get((unit.number, id(stream)))
        if known is not None:
            return known[0]
        phases, _ = self.wiring.bind(unit, stream)
        first = self._bound.get(id(phases))
        if first is None:
            first = self._bound[id(phases)] = len(self._phases)
            for phase in phases:
                self._phase(phase)
        row = len(self._streams)
        self._known[unit.number, id(stream)] = row, stream
        self._streams.append((stream.count, first, len(phases), stream.setup, stream.drain, stream.settle, 0))
        self.opened.append((unit.number, (*stream.bytes, (stream.label, stream.count))))
        return row

    def _phase(self, phase: Ready) -> None:
        takes, cost, gives = phase
        self._phases.append((cost, len(self._takes), len(takes), len(self._gives), len(gives)))
        self._takes += [(self._queue(fifo), int(is_whole)) for fifo, is_whole in takes]
        self._gives += [(self._queue(fifo), *rest) for fifo, *rest in gives]

    def _queue(self, fifo: Fifo) -> int:
        return self._fifos.setdefault(fifo.number, (len(self._fifos), fifo))[0]


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Array:
    return np.array(rows, np.int64).reshape(-1, width)
