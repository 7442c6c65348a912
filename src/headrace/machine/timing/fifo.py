"""Queues between units: when messages arrive, and when room for the next one is free again."""

from __future__ import annotations

from collections import deque
from typing import Any

from headrace.machine.timing.causes import Cause


class Fifo:
    """One channel. Room is counted in granules; a message longer than the queue passes through in pieces.

    `arrivals` holds (first granule there, duration, granules) of the messages not yet received; `returns`
    holds (time, granules) given back by the receiver and not yet used by the sender. With recording on,
    `arrival_causes` and `return_causes` go with them, and `free_cause` with `free_since`.
    """

    __slots__ = (
        "arrival_causes",
        "arrivals",
        "capacity",
        "free",
        "free_cause",
        "free_since",
        "number",
        "receiver",
        "return_causes",
        "returned",
        "returns",
        "sender",
    )

    def __init__(self, number: int, sender: int, receiver: int, capacity: int | None) -> None:
        self.number = number
        self.sender = sender
        self.receiver = receiver
        self.capacity = capacity
        self.arrivals: deque[tuple[int, int, int]] = deque()
        self.returns: deque[tuple[int, int]] = deque()
        self.free = capacity or 0
        self.free_since = 0
        self.returned = 0
        self.arrival_causes: deque[Cause | None] = deque()
        self.return_causes: deque[Cause | None] = deque()
        self.free_cause: Cause | None = None

    def has_room(self, granules: int) -> bool:
        """Return whether it is known when `granules` (at most the capacity) are free."""
        return self.capacity is None or self.free + self.returned >= min(granules, self.capacity)

    def take_room(self, granules: int) -> int:
        """Return the time at which `granules` are free, and take them."""
        if self.capacity is None:
            return 0
        wanted = min(granules, self.capacity)
        while self.free < wanted:
            time, given = self.returns.popleft()
            self.free += given
            self.returned -= given
            if self.return_causes:
                cause = self.return_causes.popleft()
                self.free_cause = cause if time >= self.free_since else self.free_cause
            self.free_since = max(self.free_since, time)
        self.free -= wanted
        return self.free_since

    def send(self, time: int, duration: int, granules: int) -> None:
        """Append a message whose first granule arrives at `time`."""
        self.arrivals.append((time, duration, granules))

    def receive(self, time: int, clock: int, cost: int) -> None:
        """Take the next message in a step that starts at `time` and lasts `cost`, by a unit free since
        `clock`.

        Its room is free again then; a message longer than the queue is drained from when its first granule
        is there, and leaves room for the next when its last piece has entered.
        """
        _, duration, granules = self.arrivals.popleft()
        if self.capacity is None:
            return
        if granules > self.capacity:
            begun = max(clock, time - max(0, duration - cost))
            time = begun + duration * (granules - self.capacity) // granules
            granules = self.capacity
        self.returns.append((time, granules))
        self.returned += granules

    def settle(self, sender_clock: int) -> None:
        """Count room that is free by now as free (equal states then look equal)."""
        returns = self.returns
        while returns and returns[0][0] <= sender_clock:
            self.free += returns[0][1]
            self.returned -= returns.popleft()[1]

    def state(self, sent: int, heard: int, base: int) -> tuple[Any, ...]:
        """Return the content relative to `base`; what is past for the sender (its clock is `sent`) or the
        receiver (`heard`) counts as just past.
        """
        arrivals = tuple(
            (max(time, heard - duration) - base, duration, granules)
            for time, duration, granules in self.arrivals
        )
        returns = tuple((time - base, granules) for time, granules in self.returns)
        return arrivals, returns, self.free, max(self.free_since, sent) - base

    def shift(self, ticks: int) -> None:
        """Move all times by `ticks`."""
        self.arrivals = deque(
            (time + ticks, duration, granules) for time, duration, granules in self.arrivals
        )
        self.returns = deque((time + ticks, granules) for time, granules in self.returns)
        self.free_since += ticks


class Counter:
    """Signals from one unit to another: times at which those not yet awaited become visible, with their
    causes if these are recorded. `slot` is its row in the tables of compiled units, -1 without one.
    """

    __slots__ = ("causes", "receiver", "sender", "slot", "times")

    def __init__(self, sender: int, receiver: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self.slot = -1
        self.times: deque[int] = deque()
        self.causes: deque[Cause | None] = deque()

    def shift(self, ticks: int) -> None:
        """Move all times by `ticks`."""
        self.times = deque(time + ticks for time in self.times)
