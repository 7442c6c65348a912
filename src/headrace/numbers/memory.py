"""Device memory: one lazily committed run of bytes with an allocator over it."""

from __future__ import annotations

import bisect
import mmap
import threading
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from headrace.numbers.dtypes import itemsize, numpy_dtype

ALIGNMENT = 128
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


_LARGE = 1 << 22
"""Bytes from which memory has huge pages where there are any, as NumPy's arrays have."""


class OutOfMemory(MemoryError):
    """No hole is large enough; the message gives the request, what is free, the largest hole and the size."""

    def __init__(self, requested: int, free: int, largest: int, size: int) -> None:
        self.requested_bytes, self.free_bytes, self.largest_bytes, self.size_bytes = (
            requested,
            free,
            largest,
            size,
        )
        super().__init__(
            f"out of device memory: {requested} bytes requested, {free} of {size} bytes free, "
            f"largest hole {largest}"
        )


class Memory:
    """`size_bytes` bytes of device memory; a page costs nothing until it is touched, and reads as zeros.

    `allocate` never hands out address 0. `free` may be called at any time, also by a finaliser that runs
    inside `allocate`.
    """

    def __init__(self, size_bytes: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self.size_bytes = size_bytes
        mapping = mmap.mmap(-1, max(size_bytes, 1), flags=flags)
        if size_bytes >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a kernel without them
                mapping.madvise(mmap.MADV_HUGEPAGE)
        self.bytes: np.ndarray[Any, Any] = np.frombuffer(mapping, np.uint8)[:size_bytes]
        self._blocks: dict[int, tuple[int, int]] = {}  # address -> the granules it took (start, size)
        self._holes = _Holes()
        self._freed: deque[tuple[int, int]] = deque()
        self._lock = threading.RLock()
        self._holes.add(0, size_bytes)

    def allocate(self, nbytes: int, align: int = ALIGNMENT) -> int:
        """The address of a new block of `nbytes` bytes, a multiple of `align`, or OutOfMemory."""
        need = max(_round_up(nbytes, ALIGNMENT), ALIGNMENT)
        with self._lock:
            self._collect()
            for size, start in self._holes.at_least(need):
                address = _round_up(max(start, ALIGNMENT), max(align, ALIGNMENT))
                if address + need <= start + size:
                    self._holes.take(start, address, need)
                    self._blocks[address] = (address, need)
                    return address
            raise self._exhausted(nbytes)

    def allocate_at(self, address: int, nbytes: int) -> None:
        """Takes the bytes from `address` on; ValueError when some are allocated, OutOfMemory past the end."""
        if address < 0 or address + nbytes > self.size_bytes:
            raise self._exhausted(nbytes)
        start = address // ALIGNMENT * ALIGNMENT
        end = min(_round_up(address + max(nbytes, 1), ALIGNMENT), self.size_bytes)
        with self._lock:
            self._collect()
            hole = self._holes.around(start)
            if hole is None or end > sum(hole):
                raise ValueError(f"bytes {address}..{address + nbytes} are allocated already")
            self._holes.take(hole[0], start, end - start)
            self._blocks[address] = (start, end - start)

    def free(self, address: int) -> None:
        """Gives the block at `address` back; KeyError when no block starts there."""
        self._freed.append(self._blocks.pop(address))

    def view(self, address: int, dtype_name: str, count: int) -> np.ndarray[Any, Any]:
        """The `count` elements from byte `address` on, an array over the memory itself, or IndexError."""
        nbytes = count * itemsize(dtype_name)
        if address < 0 or count < 0 or address + nbytes > self.size_bytes:
            raise IndexError(
                f"bytes {address}..{address + nbytes} are outside the memory of {self.size_bytes}"
            )
        return self.bytes[address : address + nbytes].view(numpy_dtype(dtype_name))

    @property
    def allocated_bytes(self) -> int:
        """Bytes in allocated blocks, rounding to the alignment included."""
        return sum(size for _, size in list(self._blocks.values()))

    @property
    def free_bytes(self) -> int:
        """Bytes in holes, of whatever size."""
        with self._lock:
            self._collect()
            return self._holes.total_bytes

    def _collect(self) -> None:
        while self._freed:
            self._holes.add(*self._freed.popleft())

    def _exhausted(self, nbytes: int) -> OutOfMemory:
        return OutOfMemory(nbytes, self.free_bytes, self._holes.largest_bytes, self.size_bytes)


class _Holes:
    """The free runs of bytes: by start (to join neighbours) and by size (to find the smallest that fits)."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._by_size: list[tuple[int, int]] = []
        self.total_bytes = 0

    @property
    def largest_bytes(self) -> int:
        return self._by_size[-1][0] if self._by_size else 0

    def at_least(self, size: int) -> list[tuple[int, int]]:
        """(size, start) of every hole of `size` bytes or more, the smallest first."""
        return self._by_size[bisect.bisect_left(self._by_size, (size, 0)) :]

    def around(self, address: int) -> tuple[int, int] | None:
        """(start, size) of the hole that holds `address`."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._starts[at] + self._sizes[self._starts[at]]:
            return None
        return self._starts[at], self._sizes[self._starts[at]]

    def add(self, start: int, size: int) -> None:
        """Adds a run of free bytes, joined with the holes it touches."""
        at = bisect.bisect_left(self._starts, start)
        if at < len(self._starts) and start + size == self._starts[at]:
            size += self._remove(self._starts[at])
        if at > 0 and self._starts[at - 1] + self._sizes[self._starts[at - 1]] == start:
            start = self._starts[at - 1]
            size += self._remove(start)
        if size > 0:
            bisect.insort(self._starts, start)
            bisect.insort(self._by_size, (size, start))
            self._sizes[start] = size
            self.total_bytes += size

    def take(self, hole: int, start: int, size: int) -> None:
        """Cuts bytes start..start+size out of the hole that begins at `hole`."""
        end = hole + self._remove(hole)
        self.add(hole, start - hole)
        self.add(start + size, end - start - size)

    def _remove(self, start: int) -> int:
        size = self._sizes.pop(start)
        del self._starts[bisect.bisect_left(self._starts, start)]
        del self._by_size[bisect.bisect_left(self._by_size, (size, start))]
        self.total_bytes -= size
        return size


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step
