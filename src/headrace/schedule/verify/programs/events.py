"""What a unit program does, as events: signals, and work of steps that move messages and touch boxes of
memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from headrace.numbers.dtypes import itemsize
from headrace.schedule.verify.programs.values import Handle, View


@dataclass(frozen=True)
class Signal:
    """A sync_send or sync_recv; `peer` None: a fence of the unit's own transfers."""

    kind: Literal["send", "wait", "fence"]
    peer: Handle | None
    label: str
    op: Any


@dataclass(frozen=True)
class Message:
    """One message a step: pushed to or popped from a peer."""

    kind: Literal["push", "pop"]
    peer: Handle
    elements: int
    dtype: str

    @cached_property
    def bytes(self) -> int:
        return self.elements * itemsize(self.dtype)


@dataclass(frozen=True)
class Touch:
    """A box read or written at every step: corner, extents, and per time dim (count, elements moved along
    each dim).

    `is_indirect` marks the table of a gather or scatter: its first dim may be any row.
    """

    view: View
    is_write: bool
    low: tuple[int, ...]
    extents: tuple[int, ...]
    times: tuple[tuple[int, tuple[int, ...]], ...]
    is_indirect: bool = False

    @property
    def is_empty(self) -> bool:
        """True if it moves nothing."""
        return 0 in self.extents or any(count == 0 for count, _ in self.times)

    def hull(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return (first, end) of the box over all steps, along each dim."""
        first, end = list(self.low), [a + e for a, e in zip(self.low, self.extents, strict=True)]
        for count, moves in self.times:
            for d, move in enumerate(moves):
                reach = move * (count - 1)
                first[d] += min(reach, 0)
                end[d] += max(reach, 0)
        if self.is_indirect:
            first[0], end[0] = 0, self.view.shape[0] or 1
        return tuple(first), tuple(end)


FIRST_STEPS, LAST_STEPS = 16, 4
"""Steps at the beginning and the end of an event that stay steps of their own where those between are one."""


@dataclass(frozen=True)
class Work:
    """`steps` repetitions of a script of messages, with the memory they come from or go to; step number
    `FIRST_STEPS` stands for `covered` of them.
    """

    steps: int
    script: tuple[Message, ...]
    touches: tuple[Touch, ...]
    op: Any
    group: Any = None
    covered: int = 1

    def shortened(self) -> Work:
        """Return the work with all steps between the first and the last ones as one, whose messages are as
        long as theirs together: they fill channels as before.
        """
        covered = self.steps - FIRST_STEPS - LAST_STEPS
        if covered <= 1:
            return self
        return replace(self, steps=FIRST_STEPS + 1 + LAST_STEPS, covered=covered)


@dataclass(frozen=True)
class Filling:
    """What an iteration that is left out writes to scratchpads."""

    touches: tuple[Touch, ...]
    op: Any


Event = Signal | Work | Filling
