"""Messages on their way from one unit to another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.schedule.verify.clocks import Clock, Stamp
from headrace.schedule.verify.programs.events import Message


@dataclass
class Channel:
    """Messages on their way, at most `capacity` bytes of them (a longer one passes alone, in pieces): each
    with how many it stands for, what it tells of its sender, and the op.

    `port`: its number if the other end is on a core that does not run. Where cores run apart, `freed` are the
    messages taken that no later one needed the room of yet, with what taking them needs.
    """

    capacity: int | None
    port: int | None = None
    is_apart: bool = False
    queue: deque[tuple[tuple[Message, int], Stamp, Any]] = field(default_factory=deque)
    bytes: int = 0
    freed: deque[tuple[int, Clock]] = field(default_factory=deque)
    freed_bytes: int = 0

    def takes(self, size: int) -> bool:
        """Whether there is room for a message of so many bytes."""
        return self.capacity is None or not self.queue or self.bytes + size <= self.capacity

    def room(self, size: int) -> Iterator[Clock]:
        """What those takings need that make room for a message."""
        while self.freed and self.capacity is not None:
            if self.bytes + self.freed_bytes + size <= self.capacity:
                return
            taken, needs = self.freed.popleft()
            self.freed_bytes -= taken
            yield needs

    def free(self, size: int, needs: Clock) -> None:
        """Note that a message of so many bytes was taken, which needs this."""
        if self.capacity is not None:
            self.freed.append((size, needs))
            self.freed_bytes += size
