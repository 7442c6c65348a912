"""The device memory of this process: one, shared by launches, PyTorch tensors and bound arrays."""

from __future__ import annotations

from headrace.numbers.memory import Memory
from headrace.runtime.selection import selection

_memory: Memory | None = None


def device_memory() -> Memory:
    """The memory, made at the first call with the size of the current device's DDR; it costs what is touched.

    A later device of another size gets its own memory once nothing is allocated any more.
    """
    global _memory
    size_bytes = selection().device.memory("global").size_bytes
    if _memory is None or (_memory.size_bytes != size_bytes and not _memory.allocated_bytes):
        _memory = Memory(size_bytes)
    return _memory
