"""A simulated unit: where it is in its body, its own clock, what it spent its time on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headrace.ir.diagnostics import Location
from headrace.machine.timing.activities import Activity, Body, Repeat, Stream, Transfer
from headrace.machine.timing.causes import NOWHERE, Cause, after
from headrace.machine.timing.fifo import Counter, Fifo
from headrace.machine.timing.fold import Role

CAUSES = ("busy", "input", "space", "signal", "bandwidth", "setup")
"""What a unit spends time on; idle is the rest."""


@dataclass(eq=False)
class Descriptor:
    """A transfer a unit has issued at `issued`; `signals` travel behind it: (counter, earliest, travel).

    With recording on, `cause` is that of `issued`, then of `began`, and `signal_causes` those of the signals.
    """

    transfer: Transfer
    issued: int
    unit: SimulatedUnit
    signals: list[tuple[Counter, int, int]] = field(default_factory=list)
    is_offered: bool = False
    began: int = 0
    moved: int = 0
    cause: Cause | None = None
    signal_causes: list[Cause | None] = field(default_factory=list)


@dataclass(frozen=True)
class Slice:
    """Something a unit did, for a trace: ticks, what, of which buffer, where in the text.

    `traffic` has the bytes it moved by name, `moved` those of device memory or rings for all alike units
    together (a multicast counts them at one of its members).
    """

    start: int
    end: int
    label: str
    name: str
    where: Location
    traffic: tuple[tuple[str, int], ...] = ()
    moved: tuple[tuple[str, int], ...] = ()


Ready = tuple[list[tuple[Fifo, bool]], int, list[tuple[Fifo, int, int, int, int]]]
"""A phase bound to its queues: [(queue, whole)], cost, [(queue, granules, offset, duration, latency)]."""


@dataclass(eq=False)
class Running:
    """A stream under way: phases bound to queues, what is left, and the state last looked at; `is_stubborn`
    when solving ahead failed, `is_led` when another unit leads the component.

    `taken` and `given` count the messages of the current phase, `start` is when it can start as far as
    known, and `anchor` (with recording on) the moment that decided it.
    """

    phases: list[Ready]
    shape: int
    left: int
    began: int
    stream: Stream
    phase: int = 0
    taken: int = 0
    given: int = 0
    start: int = 0
    looks: int = 0
    seen: Any = None
    is_stubborn: bool = False
    is_led: bool = False
    anchor: Cause | None = None

    @cached_property
    def fifos(self) -> tuple[Fifo, ...]:
        """The queues the stream uses."""
        used = [fifo for takes, _, _ in self.phases for fifo, _ in takes]
        used += [give[0] for _, _, gives in self.phases for give in gives]
        return tuple(dict.fromkeys(used))


class SimulatedUnit:
    """State of one unit of one class of cores. `clock` is the time until which its program has run.

    A mover's data moves while its program goes on or waits: its time is accounted from the intervals of
    both. The causes are those of `clock`, `settled` and `engine_free`; None without recording.
    """

    def __init__(self, number: int, group: int, role: Role, body: Body, multiplicity: int) -> None:
        self.number = number
        self.group = group
        self.role = role
        self.multiplicity = multiplicity
        self.is_compute = False
        self.is_mover = False
        self.stack: list[list[Any]] = [[body, 0, 1]]
        self.clock = 0
        self.settled = 0
        self.stream: Running | None = None
        self.waits_for: tuple[str, Any] | None = None
        self.is_queued = True
        self.is_done = False
        self.spent = dict.fromkeys(CAUSES, 0)
        self.traffic: dict[str, int] = {}
        self.queue: deque[Descriptor] = deque()
        self.last_issued: Descriptor | None = None
        self.engine_free = 0
        self.pending = 0
        self.met: dict[frozenset[int], int] = {}
        self.program: list[tuple[int, int, str]] = []
        self.moves: list[tuple[int, int, int]] = []
        self.skipped: dict[str, int] = {}
        self.slices: list[Slice] = []
        self.cause: Cause | None = None
        self.settled_cause: Cause | None = None
        self.free_cause: Cause | None = None

    def record(self) -> None:
        """Begin to record causes, before anything has happened."""
        self.cause = self.settled_cause = self.free_cause = Cause(0, None, self, "start")

    def next_activity(self) -> Activity | None:
        """Return the activity the program stands at, None at its end; repeats are entered and left on the
        way.
        """
        stack = self.stack
        while stack:
            frame = stack[-1]
            body, position, left = frame
            if position < len(body):
                activity: Activity = body[position]
                if isinstance(activity, Repeat):
                    frame[1] += 1
                    if activity.count and activity.body:
                        stack.append([activity.body, 0, activity.count])
                    continue
                return activity
            if left > 1:
                frame[1], frame[2] = 0, left - 1
            else:
                stack.pop()
        return None

    def step_over(self) -> None:
        """The activity the program stands at is done."""
        self.stack[-1][1] += 1

    def wait_until(self, time: int, cause: str, because: Cause | None = None) -> None:
        """Stall until `time` for a reason; `because` is the cause of that moment."""
        if time > self.clock:
            self.spent[cause] += time - self.clock
            if self.is_mover:
                self.program.append((self.clock, time, cause))
            self.clock = time
            self.cause = because

    def spend(self, duration: int, cause: str, activity: Any = None) -> None:
        """Be occupied for a duration by an activity."""
        if duration:
            self.spent[cause] += duration
            if self.is_mover:
                self.program.append((self.clock, self.clock + duration, cause))
            self.clock += duration
            if self.cause is not None:
                what, where = getattr(activity, "label", ""), getattr(activity, "where", NOWHERE)
                self.cause = after(self.cause, self.clock, self, cause, what, where)

    def settle(self, time: int, because: Cause | None) -> None:
        """What the unit moved is in memory at `time` at the earliest."""
        if time >= self.settled:
            self.settled, self.settled_cause = time, because

    def count_traffic(self, entries: tuple[tuple[str, int], ...]) -> None:
        """Add bytes moved."""
        for name, size in entries:
            self.traffic[name] = self.traffic.get(name, 0) + size
