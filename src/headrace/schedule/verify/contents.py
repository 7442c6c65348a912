"""What scratchpads and register files hold along a run: if it was written, and as part of which buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.programs.events import Touch
from headrace.schedule.verify.programs.values import Handle

Array = np.ndarray[Any, Any]
UNNAMED = 1
"""What a byte holds that was written through a view without a name."""


class Contents:
    """A number for every byte of scratchpads and register files: 0 nothing yet, else who wrote it last."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.bytes: dict[Handle, Array] = {}
        self.names: list[str] = ["", ""]
        self.numbers: dict[str, int] = {"": UNNAMED}

    def reside(self, core: int, address: int, size: int) -> None:
        """Bytes of a core's scratchpad that are there before the run."""
        self._of(Handle("lx", core))[address : address + size] = UNNAMED

    def missing(self, core: int, address: int, size: int) -> int | None:
        """The first byte of a range that nothing has written, or None."""
        found = self._of(Handle("lx", core))[address : address + size] == 0
        return address + int(found.argmax()) if found.any() else None

    def store(self, touch: Touch) -> None:
        """Note a write."""
        if touch.view.memory.kind == "hbm":
            return
        number = self.numbers.setdefault(touch.view.buffer, len(self.names))
        if number == len(self.names):
            self.names.append(touch.view.buffer)
        if touch.is_indirect:
            first, end = touch.hull()
            extents = tuple(b - a for a, b in zip(first, end, strict=True))
            touch = Touch(touch.view, True, first, extents, ())
        cells = self._cells(touch)
        if cells is not None:
            cells[...] = number

    def check(self, touch: Touch, unit: Handle, op: Any) -> Iterator[Diagnostic]:
        """Yield a finding if a read finds nothing, or what was written as another buffer."""
        if touch.view.memory.kind == "hbm" or touch.is_indirect:
            return
        cells = self._cells(touch)
        if cells is None:
            return
        number = self.numbers.get(touch.view.buffer, -1)
        if number > UNNAMED and (cells == number).all():
            return
        memory = touch.view.memory
        if not cells.all():
            yield Diagnostic(
                f"{unit} reads bytes of {memory} that nothing has written", location(op), op.name
            )
        elif touch.view.buffer:
            wrong = cells[(cells != number) & (cells != UNNAMED)]
            if wrong.size:
                other = self.names[int(wrong[0])]
                message = f"{unit} reads {touch.view.buffer} where {other} was written over it"
                hint = f"two buffers share bytes of {memory} while both are in use"
                yield Diagnostic(message, location(op), op.name, hint)

    def _of(self, memory: Handle) -> Array:
        if memory not in self.bytes:
            kind = "ct_local" if memory.kind == "lx" else memory.kind.rsplit(".", 1)[-1]
            found = self.device.find_memory(kind)
            size = found.size_bytes if found is not None else 0
            self.bytes[memory] = np.zeros(size, np.int16)
        return self.bytes[memory]

    def _cells(self, touch: Touch) -> Array | None:
        """The bytes of a touch as a view [times…, dims…, byte]; None where they are not all in the memory."""
        held, size = self._of(touch.view.memory), touch.view.itemsize
        strides = [s * size for s in touch.view.strides]
        moves = [sum(m * s for m, s in zip(move, strides, strict=True)) for _, move in touch.times]
        start = touch.view.start * size + sum(a * s for a, s in zip(touch.low, strides, strict=True))
        extents = (*(n for n, _ in touch.times), *touch.extents, size)
        steps = (*moves, *strides, 1)
        ends = [(n - 1) * s for n, s in zip(extents, steps, strict=True)]
        if start + sum(min(e, 0) for e in ends) < 0 or start + sum(max(e, 0) for e in ends) >= len(held):
            return None
        unit = held.itemsize
        return np.ndarray(extents, held.dtype, held, start * unit, tuple(s * unit for s in steps))
