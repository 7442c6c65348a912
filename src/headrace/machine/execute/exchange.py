"""Messages and signals between teams: queues of array chunks, and one counter per pair of instances."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.machine.execute.faults import fault
from headrace.machine.image import Value
from headrace.numbers.dtypes import dtype_name, numpy_dtype

Array = np.ndarray[Any, Any]


@dataclass
class Chunk:
    """Messages of one composite op or loop: message t*len(parts)+j is `parts[j][:, t]`; `taken` are consumed.

    A part has the shape [instance, steps, *vector]. `clocks` is for whoever watches the run.
    """

    parts: list[Array]
    steps: int
    taken: int = 0
    clocks: Any = None

    @property
    def left(self) -> int:
        return self.steps * len(self.parts) - self.taken


class Queue:
    """The channels from one team to another, one per pair of partners, in step with each other.

    The instance axis of the chunks is the sender's; `order` gives, for every receiver, its sender's position.
    """

    def __init__(self, order: Sequence[int]) -> None:
        self.order = None if list(order) == list(range(len(order))) else np.array(order)
        self.chunks: deque[Chunk] = deque()
        self.available = 0

    def push(self, parts: list[Array], steps: int) -> None:
        """Appends `steps` rounds of one message from each part."""
        self.chunks.append(Chunk(parts, steps))
        self.available += steps * len(parts)

    def take(self, steps: int, count: int, where: Location) -> list[Array]:
        """The next `steps` rounds of `count` messages, one array per place in a round; `where` they are asked
        for.
        """
        self.available -= steps * count
        if count > 1 and self.chunks and not self._is_aligned(count):
            found = self._regrouped(steps, count, where)
        else:
            found = self._rounds(steps, count, where)
        return found if self.order is None else [x[self.order] for x in found]

    def _is_aligned(self, count: int) -> bool:
        chunk = self.chunks[0]
        return len(chunk.parts) == count and chunk.taken % count == 0

    def _rounds(self, steps: int, count: int, where: Location) -> list[Array]:
        """Whole rounds of chunks that have `count` parts; single messages when `count` is 1."""
        pieces: list[list[Array]] = []
        missing = steps
        while missing:
            chunk = self.chunks[0]
            width = len(chunk.parts)
            if width != count or chunk.taken % width:
                pieces.append(self._single(count))
                missing -= 1
                continue
            first = chunk.taken // width
            n = min(missing, chunk.steps - first)
            pieces.append([p[:, first : first + n] for p in chunk.parts])
            chunk.taken += n * width
            missing -= n
            if not chunk.left:
                self.chunks.popleft()
        return self.joined(pieces, where)

    def _regrouped(self, steps: int, count: int, where: Location) -> list[Array]:
        """Rounds of `count` out of chunks of single messages, or message by message."""
        chunk = self.chunks[0]
        if len(chunk.parts) == 1 and chunk.left >= steps * count:
            part, first = chunk.parts[0], chunk.taken
            chunk.taken += steps * count
            if not chunk.left:
                self.chunks.popleft()
            return [part[:, first + j : first + steps * count : count] for j in range(count)]
        return self.joined([self._single(count) for _ in range(steps)], where)

    def _single(self, count: int) -> list[Array]:
        """One round, message by message."""
        out = []
        for _ in range(count):
            chunk = self.chunks[0]
            t, j = divmod(chunk.taken, len(chunk.parts))
            out.append(chunk.parts[j][:, t : t + 1])
            chunk.taken += 1
            if not chunk.left:
                self.chunks.popleft()
        return out

    def joined(self, pieces: list[list[Array]], where: Location) -> list[Array]:
        """Rounds one after the other as one array per place."""
        if len(pieces) == 1:
            return pieces[0]
        for j, first in enumerate(pieces[0]):
            for piece in pieces[1:]:
                if piece[j].shape[2:] != first.shape[2:] or piece[j].dtype != first.dtype:
                    raise fault("fifo", "messages of different types where one loop expects one type", where)
        return [self.concatenated(column) for column in zip(*pieces, strict=True)]

    def concatenated(self, parts: Sequence[Array]) -> Array:
        """Messages one after the other along the iteration axis."""
        return np.concatenate(parts, axis=1)

    def split(self, senders: int) -> list[Queue]:
        """One queue per sender, with the messages it has sent."""
        out = [Queue([0]) for _ in range(senders)]
        for chunk in self.chunks:
            for k, queue in enumerate(out):
                parts = [p[k : k + 1] if len(p) > 1 else p for p in chunk.parts]
                queue.chunks.append(Chunk(parts, chunk.steps, chunk.taken))
                queue.available += chunk.left
        return out


def checked(
    message: Array, shape: tuple[int, ...], dtype: str, where: Location, sender: Callable[[], str]
) -> Array:
    """A received array in the shape the receiver names; a fault if element count or type differ."""
    if message.dtype != numpy_dtype(dtype) or message.shape[2:] != shape:
        lanes = int(np.prod(message.shape[2:]))
        if message.dtype != numpy_dtype(dtype) or lanes != Value(0, shape, dtype).lanes:
            _mismatch(message, lanes, shape, dtype, where, sender)
        return message.reshape(*message.shape[:2], *shape)
    return message


def _mismatch(
    message: Array, lanes: int, shape: tuple[int, ...], dtype: str, where: Location, sender: Callable[[], str]
) -> NoReturn:
    got = f"{lanes} x {dtype_name(message.dtype)}"
    wanted = f"{Value(0, shape, dtype).lanes} x {dtype}"
    message_text = f"message of {got} from {sender()} where {wanted} is expected"
    raise fault("fifo", message_text, where, "dataflow.receive")
