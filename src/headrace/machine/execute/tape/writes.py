"""The bytes that an op of a tape writes, in the memories of owners that lie side by side."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.machine.execute.tape.views import NotRecordable, Spread, View, is_dense, spread, width


@dataclass
class Write:
    """Bytes written by an op: elements of `size` bytes between `low` and `high` of the owners in between.

    `dims`: their strides and extents, `inner` those inside an owner.
    """

    op: int
    low: int
    high: int
    first_owner: int
    last_owner: int
    is_whole: bool
    size: int
    dims: Spread
    inner: Spread

    def meets(self, other: Write) -> bool:
        return (
            self.low < other.high
            and other.low < self.high
            and self.first_owner <= other.last_owner
            and other.first_owner <= self.last_owner
            and not self._is_beside(other)
        )

    def _is_beside(self, other: Write) -> bool:
        """Whether both lie in columns, of rows at any distance, that have no byte in common."""
        for step in {s for s, _ in (*self.inner, *other.inner)}:
            ahead = (other.low - self.low) % step
            if ahead >= width(self.inner, self.size, step) and (
                ahead + width(other.inner, other.size, step) <= step
            ):
                return True
        return False

    def covers(self, other: Write) -> bool:
        same = (self.low, self.first_owner, self.size, self.dims)
        if same == (other.low, other.first_owner, other.size, other.dims):
            return True
        return (
            self.is_whole
            and self.low <= other.low
            and other.high <= self.high
            and self.first_owner <= other.first_owner
            and other.last_owner <= self.last_owner
        )


def written(view: View, op: int, size: int) -> Write:
    """What `op` writes when it writes a view; `size`: bytes of an owner's memory, 0 where none owns bytes.

    NotRecordable for a view that reaches from one owner's memory into the next.
    """
    low, high = view.ends
    item = view.dtype.itemsize
    dims = spread(view)
    if not size:
        return Write(op, low, high, 0, 0, is_dense(dims, item), item, dims, dims)
    first, last = low // size, (high - 1) // size
    inner_low = inner_high = view.offset % size
    count = 1
    for n, s in zip(view.shape, view.strides, strict=True):
        if n == 1 or s == 0:
            continue
        if s % size == 0:
            count *= n
            continue
        inner_low += min(0, (n - 1) * s)
        inner_high += max(0, (n - 1) * s)
    inner_high += item
    if inner_low < 0 or inner_high > size:
        raise NotRecordable
    inner = tuple(d for d in dims if d[0] % size)
    is_whole = count == last - first + 1 and is_dense(inner, item)
    return Write(op, inner_low, inner_high, first, last, is_whole, item, dims, inner)
