"""The bytes of a run: device memory, one scratchpad per core, one register file per instance.

Each memory is one flat byte array; the copies of a memory lie in it one after the other.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.machine.image import Image, Place
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]


@dataclass
class Scratchpads:
    """Bytes of all scratchpads and register files; kept between executions when passed in again.

    `is_kept`: a program has left something there for another one.
    """

    lx: Array
    registers: dict[str, Array]
    is_kept: bool = False


@dataclass(frozen=True)
class Arena:
    """A flat byte array that holds `size` bytes for every owner, one after the other."""

    bytes: Array
    size: int


class Arenas:
    """Finds the arena of a place."""

    def __init__(self, image: Image, memory: Memory, scratch: Scratchpads) -> None:
        self.scratch = scratch
        self._by_name: dict[str, Arena] = {}
        for m in image.memories:
            if m.kind == "global":
                self._by_name[m.name] = Arena(memory.bytes, memory.size_bytes)
            elif m.kind == "ct_local":
                self._by_name[m.name] = Arena(self.scratch.lx, m.size_bytes)
            else:
                self._by_name[m.name] = Arena(self.scratch.registers[m.name], m.size_bytes)

    def of(self, place: Place) -> Arena:
        """The arena of a place."""
        return self._by_name[place.name]


class _Pool:
    """The scratchpads of the last run, for the next one."""

    lock = threading.Lock()
    free: list[Scratchpads] = []


def borrow(image: Image) -> Scratchpads:
    """Scratchpads for a run; they hold what the last run left, as those of a real chip would."""
    lx, registers = _needed(image)
    with _Pool.lock:
        found = _Pool.free.pop() if _Pool.free else None
    if found is None or len(found.lx) < lx:
        found = Scratchpads(np.zeros(lx, np.uint8), {} if found is None else found.registers)
    found.is_kept |= any(s.lx_out for s in image.schedules)
    for name, size in registers.items():
        if name not in found.registers or len(found.registers[name]) < size:
            found.registers[name] = np.zeros(size, np.uint8)
    return found


def give_back(scratch: Scratchpads) -> None:
    """Keeps scratchpads for the next run."""
    with _Pool.lock:
        _Pool.free = [scratch]


def drop() -> None:
    """Frees the scratchpads of the last run, if no program has left anything there for another one.

    What the allocator keeps of them, and of the arrays of a run, goes back to the system where it can.
    """
    with _Pool.lock:
        _Pool.free = [pads for pads in _Pool.free if pads.is_kept]
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _needed(image: Image) -> tuple[int, dict[str, int]]:
    """Bytes of all scratchpads, and of the register files of all instances by name."""
    lx = next((m.size_bytes for m in image.memories if m.kind == "ct_local"), 0)
    count = len(image.instances)
    return lx * image.cores, {m.name: m.size_bytes * count for m in image.memories if m.kind == "register"}


def new_scratchpads(image: Image) -> Scratchpads:
    """Fresh scratchpads and register files, all zero; pages are committed when touched."""
    lx, registers = _needed(image)
    return Scratchpads(np.zeros(lx, np.uint8), {n: np.zeros(size, np.uint8) for n, size in registers.items()})
