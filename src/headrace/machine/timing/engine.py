"""The event engine: units run ahead on their own clocks, transfers in flight advance in order of time.

A unit runs until something it needs is not known yet: a message, room in a queue, a signal, the end of a
transfer. Messages and signals carry the time at which they arrive, so the order in which units run does not
matter (a Kahn network). Only what is shared, device memory, ports and rings, needs an order: when no unit
can run, the earliest event among transfers is safe to take, because every later one is caused by it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.machine.image import Group
from headrace.machine.timing.activities import Await, Fence, Notify, Spend, Stream, Transfer
from headrace.machine.timing.causes import Cause, after
from headrace.machine.timing.compiled.worth import compilable
from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.fold import CoreClass
from headrace.machine.timing.inflight import InFlight
from headrace.machine.timing.prices import Prices
from headrace.machine.timing.rounds import Rounds
from headrace.machine.timing.steady import SteadyStates
from headrace.machine.timing.unit import Running, SimulatedUnit, Slice
from headrace.machine.timing.wiring import Wiring

if TYPE_CHECKING:
    from headrace.machine.timing.compiled.units import CompiledUnits

LOOKS = 200
"""Iterations of a stream after which its state is looked at before giving up on a steady state."""

MESSAGES = 200_000
"""Messages in and out of queues that a trace notes; of longer runs it shows no queues."""

Takes = list[tuple[Fifo, bool]]
Gives = list[tuple[Fifo, int, int, int, int]]
Blocked = tuple[str, Fifo]
"""What a stream waits for ("input" or "space"), and in which queue."""


class Engine:
    """One schedule: `run` simulates it to its end, or to a deadlock (then some unit is not done).

    `is_traced` keeps slices, `is_recorded` the cause of every moment; both do without shortcuts where those
    would leave something out, with equal times. `is_compiled` runs the units without transfers in machine
    code, where all of them can.
    """

    def __init__(
        self,
        classes: Sequence[CoreClass],
        groups: Sequence[Group],
        prices: Prices,
        is_traced: bool = False,
        is_recorded: bool = False,
        is_compiled: bool = False,
    ) -> None:
        self.wiring = Wiring(classes, prices)
        self.units = self.wiring.units
        self.transfers = InFlight(self.wiring, groups, self._raise_signal, self._wake)
        self.transfers.is_traced = self.is_traced = is_traced
        self.is_recorded = is_recorded
        self.fills: dict[int, list[tuple[int, int]]] | None = {} if is_traced else None
        self.noted = 0
        if is_recorded:
            for unit in self.units:
                unit.record()
        self.compiled = _compiled(self.wiring) if is_compiled else None
        inside = () if self.compiled is None else self.compiled.units
        self.runnable: deque[SimulatedUnit] = deque(unit for unit in self.units if unit not in inside)
        self.steady = SteadyStates(self.units)

    def run(self) -> None:
        """Simulate until nothing can happen any more."""
        is_wanted = not (self.is_traced or self.is_recorded)
        rounds = Rounds(self.wiring, self.transfers, self.compiled, is_wanted)
        while True:
            self._run_all()
            rounds.look()
            due = self.transfers.next_time()
            if due is None:
                break
            self.transfers.advance(due)
        if self.compiled is not None:
            self.compiled.write_back()

    def _run_all(self) -> None:
        """Run units until none can go on before a transfer ends."""
        while True:
            while self.runnable:
                unit = self.runnable.popleft()
                unit.is_queued = False
                self._run(unit)
            for counter in self.compiled.run() if self.compiled is not None else ():
                receiver = self.units[counter.receiver]
                if receiver.waits_for == ("signal", counter):
                    self._wake(receiver)
            if not self.runnable:
                return

    @property
    def end(self) -> int:
        """The time of the last retired access."""
        return max((max(unit.clock, unit.settled) for unit in self.units), default=0)

    @property
    def end_cause(self) -> Cause | None:
        """Why the end came when it did; None without recording."""
        last = max(self.units, key=lambda unit: max(unit.clock, unit.settled), default=None)
        if last is None:
            return None
        return last.settled_cause if last.settled > last.clock else last.cause

    def _wake(self, unit: SimulatedUnit) -> None:
        if not unit.is_queued and not unit.is_done:
            unit.is_queued = True
            self.runnable.append(unit)

    def _run(self, unit: SimulatedUnit) -> None:
        """Run one unit's program until it has to wait or ends."""
        unit.waits_for = None
        while True:
            if unit.stream is not None:
                if not self._stream(unit, unit.stream):
                    return
                self._finish(unit, unit.stream)
            activity = unit.next_activity()
            match activity:
                case None:
                    unit.is_done = True
                    return
                case Stream():
                    self._open(unit, activity)
                    continue
                case Transfer():
                    self.transfers.issue(unit, activity)
                case Notify():
                    if not self._notify(unit, activity):
                        return
                case Await():
                    if not self._await(unit, activity):
                        return
                case Fence():
                    if not self._fence(unit):
                        return
                case Spend():
                    unit.spend(activity.duration, "setup", activity)
            unit.step_over()

    # ---- signals -------------------------------------------------------------------------------------------
    def _notify(self, unit: SimulatedUnit, signal: Notify) -> bool:
        if signal.waits and not self._fence(unit):
            return False
        unit.count_traffic((("signals", 1),))
        counter = self.wiring.counter_to(unit, signal.peer)
        if counter is None:
            return True
        if unit.pending and unit.last_issued is not None:
            unit.last_issued.signals.append((counter, unit.clock, signal.travel))
            unit.last_issued.signal_causes.append(unit.cause)
        else:
            since = max(unit.clock, unit.settled)
            sent = unit.settled_cause if unit.settled > unit.clock else unit.cause
            because = after(sent, since + signal.travel, unit, "signal", signal.tag, signal.where)
            self._raise_signal(counter, since + signal.travel, because)
        return True

    def _raise_signal(self, counter: Counter, time: int, because: Cause | None) -> None:
        if self.compiled is not None and self.compiled.is_awaited(counter):
            self.compiled.raise_signal(counter, time)
            return
        counter.times.append(time)
        if because is not None:
            counter.causes.append(because)
        receiver = self.units[counter.receiver]
        if receiver.waits_for == ("signal", counter):
            self._wake(receiver)

    def _await(self, unit: SimulatedUnit, expected: Await) -> bool:
        counter = self.wiring.counter_from(unit, expected.peer)
        if not counter.times:
            unit.waits_for = ("signal", counter)
            return False
        because = counter.causes.popleft() if counter.causes else None
        unit.wait_until(counter.times.popleft(), "signal", because)
        return True

    def _fence(self, unit: SimulatedUnit) -> bool:
        if unit.pending:
            unit.waits_for = ("transfers", None)
            return False
        unit.wait_until(unit.settled, "input", unit.settled_cause)
        return True

    # ---- streams -------------------------------------------------------------------------------------------
    def _open(self, unit: SimulatedUnit, stream: Stream) -> None:
        unit.count_traffic((*stream.bytes, (stream.label, stream.count)))
        unit.spend(stream.setup, "setup", stream)
        phases, shape = self.wiring.bind(unit, stream)
        unit.stream = Running(phases, shape, stream.count, unit.clock, stream)

    def _finish(self, unit: SimulatedUnit, running: Running) -> None:
        stream = running.stream
        if self.is_traced:
            one = Slice(running.began, unit.clock, stream.label, "", stream.where, stream.bytes)
            unit.slices.append(one)
        if unit.is_mover:
            unit.program.append((running.began, unit.clock, "busy"))
        unit.spend(stream.drain, "busy", stream)
        settled = unit.clock + stream.settle
        unit.settle(settled, after(unit.cause, settled, unit, "latency", stream.label, stream.where))
        unit.stream = None
        unit.step_over()

    def _stream(self, unit: SimulatedUnit, running: Running) -> bool:
        """Run one iteration of a stream; return True at its end, False if there are more or it must wait.

        One iteration at a time keeps coupled streams in step, so that what repeats shows early. A phase
        takes its messages one by one as they come, then its results leave one by one as there is room; the
        unit stalls meanwhile.
        """
        if not running.left:
            return True
        while True:
            takes, cost, gives = running.phases[running.phase]
            if unit.clock >= running.start:
                running.start, running.anchor = unit.clock, unit.cause
            blocked = self._take(unit, running, takes, cost) or self._give(unit, running, gives)
            if blocked is not None:
                unit.waits_for = blocked
                return False
            unit.spent["busy"] += cost
            unit.clock = running.start + cost
            if running.anchor is not None:
                unit.cause = _did(unit, running, unit.clock)
            running.taken = running.given = 0
            running.phase += 1
            if running.phase == len(running.phases):
                running.phase = 0
                running.left -= 1
                break
        if not running.left:
            return True
        self._wake(unit)
        self._look_ahead(unit, running)
        return False

    def _take(self, unit: SimulatedUnit, running: Running, takes: Takes, cost: int) -> Blocked | None:
        """Take the messages a phase still needs; return what it waits for."""
        while running.taken < len(takes):
            fifo, is_whole = takes[running.taken]
            if not fifo.arrivals:
                return "input", fifo
            arrival, duration, _ = fifo.arrivals[0]
            if is_whole:
                arrival += duration
            elif duration > cost:
                arrival += duration - cost
            if arrival > running.start:
                unit.spent["input"] += arrival - running.start
                running.start = arrival
                if running.anchor is not None:
                    running.anchor = after(fifo.arrival_causes[0], arrival, unit, "queue")
            fifo.receive(running.start, unit.clock, cost)
            if running.anchor is not None:
                fifo.arrival_causes.popleft()
                if fifo.capacity is not None:
                    fifo.return_causes.append(_did(unit, running, fifo.returns[-1][0]))
            running.taken += 1
            if self.fills is not None:
                self._note(
                    self.fills, fifo, fifo.returns[-1][0] if fifo.capacity is not None else running.start, -1
                )
            self._touch(fifo.sender, "space", fifo)
        return None

    def _give(self, unit: SimulatedUnit, running: Running, gives: Gives) -> Blocked | None:
        """Send the results a phase still has; return what it waits for."""
        while running.given < len(gives):
            fifo, granules, offset, duration, latency = gives[running.given]
            if not fifo.has_room(granules):
                return "space", fifo
            room = fifo.take_room(granules) - offset
            if room > running.start:
                unit.spent["space"] += room - running.start
                running.start = room
                if running.anchor is not None:
                    running.anchor = fifo.free_cause
            arrival = running.start + offset + latency
            fifo.send(arrival, duration, granules)
            if running.anchor is not None:
                sent = _did(unit, running, running.start + offset)
                fifo.arrival_causes.append(after(sent, arrival, unit, "latency", "queue"))
            if self.fills is not None:
                self._note(self.fills, fifo, running.start + offset, 1)
            running.given += 1
            self._touch(fifo.receiver, "input", fifo)
        return None

    def _note(self, fills: dict[int, list[tuple[int, int]]], fifo: Fifo, time: int, change: int) -> None:
        """A message enters or leaves a queue; a run of too many does without, and is simulated faster."""
        fills.setdefault(fifo.number, []).append((time, change))
        self.noted += 1
        if self.noted > MESSAGES:
            self.fills = None

    def _look_ahead(self, unit: SimulatedUnit, running: Running) -> None:
        """Let the streams coupled to this one jump as far as can be told."""
        if self.is_recorded or self.fills is not None:
            return
        if unit.is_compute and running.left > 1 and running.looks < LOOKS and not running.is_led:
            running.looks += 1
            for moved in self.steady.look(unit):
                moved.waits_for = None
                self._wake(moved)

    def _touch(self, number: int, cause: str, fifo: Fifo) -> None:
        """Wake a unit that waits for a queue."""
        if number >= 0:
            unit = self.units[number]
            if unit.waits_for is not None and unit.waits_for[1] is fifo and unit.waits_for[0] == cause:
                unit.waits_for = None
                self._wake(unit)


def _compiled(wiring: Wiring) -> CompiledUnits | None:
    """The units that can run in machine code, as tables; None if not all without transfers can."""
    inside = compilable(wiring.units)
    if not inside:
        return None
    from headrace.machine.timing.compiled.units import CompiledUnits

    return CompiledUnits(wiring, inside, [unit for unit in wiring.units if unit not in inside])


def _did(unit: SimulatedUnit, running: Running, time: int) -> Cause | None:
    """The cause of a moment inside a phase: what decided its start, then the unit's own work."""
    stream = running.stream
    return after(running.anchor, time, unit, "busy", stream.label, stream.where)
