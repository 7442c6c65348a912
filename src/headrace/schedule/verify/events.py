"""What a unit program does, as events: signals, and work of steps that move messages and touch boxes of
memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from headrace.numbers.dtypes import itemsize
from headrace.schedule.verify.values import Handle, View


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


@dataclass(frozen=True)
class Work:
    """`steps` repetitions of a script of messages, with the memory they come from or go to."""

    steps: int
    script: tuple[Message, ...]
    touches: tuple[Touch, ...]
    op: Any
    group: Any = None


Event = Signal | Work
