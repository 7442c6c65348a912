"""Vector clocks: up to which time of every unit a unit knows what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

STEP_BITS = 24
Clock = tuple[int, ...]
"""Up to which time of each unit of a core something is known to have happened."""


@dataclass(frozen=True)
class Known:
    """What a unit knows at a moment: the clock of its own core, whose units have the numbers from `low` on,
    and of others what signals between cores told of all their units; of a core that runs apart instead how
    much came in through each of its ports (`far`).
    """

    low: int
    near: Clock
    far: Clock

    def of(self, unit: int) -> int:
        """Return up to which time another unit is known."""
        at = unit - self.low
        if 0 <= at < len(self.near):
            return self.near[at]
        return self.far[unit] if self.far else 0


class Stamp(NamedTuple):
    """What a signal or message tells of its sender: the clock of its core (`near`; empty if the receiver is
    on another), of all cores or through ports (`far`; empty if there are no others), the sender's time, and
    what must have passed through ports before (`needs`).
    """

    near: Clock
    far: Clock
    time: int
    needs: Clock = ()


class UnitClock:
    """The clock of unit `number`, the one at place `at` of its core, whose units begin with number `low`.

    `base` is the clock of its core as it was sent last, until it learns something; `merged` are the clocks it
    took in last, by the place of their senders in the core. Where the core runs apart, `needs` counts what
    must have passed through each of its `ports` for the unit to be where it is.
    """

    def __init__(self, number: int, low: int, near: int, far: int, ports: int = 0) -> None:
        self.number, self.low, self.at = number, low, number - low
        self.near = [0] * near
        self.far: Clock = (0,) * (far or ports)
        self.needs: Clock = (0,) * ports
        self.base: Clock | None = None
        self.merged: dict[int, Clock] = {}
        self.known: Known | None = None

    @property
    def time(self) -> int:
        """The unit's own time."""
        return self.near[self.at]

    def set_time(self, time: int) -> None:
        """Let time pass; what was sent before keeps the earlier one."""
        self.near[self.at] = time

    def clock(self) -> Clock:
        """The clock of its core; its own entry may be older than its time."""
        if self.base is None:
            self.base = tuple(self.near)
        return self.base

    def knows(self) -> Known:
        """What it knows now."""
        base = self.clock()
        if self.known is None or self.known.near is not base or self.known.far is not self.far:
            self.known = Known(self.low, base, self.far)
        return self.known

    def knows_at(self, time: int) -> Known:
        """What it knows at a time of its own, which counts too."""
        near = list(self.near)
        near[self.at] = time
        return Known(self.low, tuple(near), self.far)

    def stamp(self, time: int) -> Stamp:
        """What it tells a unit of its core."""
        return Stamp(self.clock(), self.far, time, self.needs)

    def stamp_abroad(self, time: int) -> Stamp:
        """What it tells a unit of another core."""
        whole = list(self.far)
        whole[self.low : self.low + len(self.near)] = self.near
        whole[self.number] = time
        return Stamp((), tuple(whole), time)

    def learn(self, sender: int, stamp: Stamp) -> None:
        """Take in what a sender, at that place in its core, told."""
        if not stamp.near:
            self.far = tuple(map(max, self.far, stamp.far))
            self.near[:] = map(max, self.near, stamp.far[self.low : self.low + len(self.near)])
        else:
            if self.merged.get(sender) is not stamp.near:
                self.merged[sender] = stamp.near
                self.near[:] = map(max, self.near, stamp.near)
            if self.near[sender] < stamp.time:
                self.near[sender] = stamp.time
            self.far = _later(self.far, stamp.far)
            self.needs = _later(self.needs, stamp.needs)
        self.base = None

    def need(self, needs: Clock) -> None:
        """Be no further than what needs this."""
        self.needs = _later(self.needs, needs)

    def exchange(self, port: int, count: int, is_heard: bool) -> None:
        """Pass something through a port, the so manieth; what comes in is known."""
        self.needs = (*self.needs[:port], count, *self.needs[port + 1 :])
        if is_heard:
            self.far = (*self.far[:port], count, *self.far[port + 1 :])


def _later(mine: Clock, other: Clock) -> Clock:
    """The later of both in each place; `other` itself where it is nowhere earlier."""
    if mine is other:
        return mine
    later = tuple(map(max, mine, other))
    return other if later == other else later
