"""Shadow memory: for every cell of a memory, when each unit last read and last wrote it.

A cell is the largest power of the access sizes that divides every address used (2 bytes for f16 programs).
Times are ticks of the unit's own clock. A later access is in order if its vector clock knows those ticks;
older ticks need not be kept, since the accesses that replaced them were themselves checked against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import numpy as np

from headrace.machine.image import Box, Copy, If, Image, Index, Load, Loop, Read, Store, Write, walk
from headrace.numbers.memory import Memory

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Region:
    """The bytes of an access: a strided box whose first `steps` dims are time steps, or explicit addresses.

    `addresses` has the shape [step, lane]. Both are local to the memory of one owner.
    """

    start: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    steps: int
    itemsize: int
    addresses: Array | None = None

    @property
    def count(self) -> int:
        """Number of time steps."""
        return prod(self.extents[: self.steps]) if self.addresses is None else len(self.addresses)

    @property
    def is_empty(self) -> bool:
        return 0 in self.extents if self.addresses is None else not self.addresses.size

    def elements(self) -> Array:
        """The address of every byte of the region."""
        found = np.array([self.start]) if self.addresses is None else self.addresses.reshape(-1)
        for extent, stride in zip(self.extents, self.strides, strict=True):
            found = (found[:, None] + np.arange(extent) * stride).reshape(-1)
        return np.asarray((found[:, None] + np.arange(self.itemsize)).reshape(-1))

    def bytes(self, memory: Array) -> Array:
        """A copy of the bytes of the region."""
        if self.addresses is not None:
            return np.asarray(memory[self.addresses[..., None] + np.arange(self.itemsize)])
        return self._view(memory).copy()

    def put(self, memory: Array, data: Array) -> None:
        """Writes what `bytes` returned back."""
        if self.addresses is not None:
            memory[self.addresses[..., None] + np.arange(self.itemsize)] = data
        else:
            self._view(memory)[...] = data

    def _view(self, memory: Array) -> Array:
        shape, strides = (*self.extents, self.itemsize), (*self.strides, 1)
        return np.ndarray(shape, np.uint8, memory, self.start, strides)

    def span(self) -> tuple[int, int]:
        """First byte and the one behind the last."""
        if self.addresses is not None:
            return int(self.addresses.min()), int(self.addresses.max()) + self.itemsize
        ends = [(e - 1) * s for e, s in zip(self.extents, self.strides, strict=True)]
        return self.start + sum(min(0, e) for e in ends), self.start + sum(
            max(0, e) for e in ends
        ) + self.itemsize


class Plane:
    """One number per cell of a memory, all zero until touched."""

    def __init__(self, cells: int, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.cells = Memory(max(cells, 1) * self.dtype.itemsize).bytes.view(self.dtype)

    def view(self, region: Region, cell: int) -> Array:
        """The cells of a region: [times…, run…, part] (a view), or [step, lane, part] (a copy)."""
        parts = region.itemsize // cell
        if region.addresses is not None:
            return np.asarray(self.cells[self._at(region, cell)])
        size = self.dtype.itemsize
        strides = (*(s // cell * size for s in region.strides), size)
        return np.ndarray(
            (*region.extents, parts), self.dtype, self.cells, region.start // cell * size, strides
        )

    def set(self, region: Region, cell: int, value: Any) -> None:
        """Writes a number, or one per step (shaped for broadcasting), to the cells of a region."""
        if region.addresses is not None:
            self.cells[self._at(region, cell)] = value
        else:
            self.view(region, cell)[...] = value

    @staticmethod
    def _at(region: Region, cell: int) -> Array:
        assert region.addresses is not None
        return np.asarray(region.addresses[..., None] // cell + np.arange(region.itemsize // cell))


class Shadow:
    """The cells of one memory during one schedule; `written` (or not, if inverted) survives schedules."""

    def __init__(self, size_bytes: int, cell: int, written: Plane | None, is_inverted: bool = False) -> None:
        self.cell = cell
        self.count = -(-size_bytes // cell)
        self.reads: dict[int, Plane] = {}
        self.writes: dict[int, Plane] = {}
        self.written = written
        self.is_inverted = is_inverted
        self.buffers: Plane | None = None

    def conflict(
        self, planes: dict[int, Plane], region: Region, me: int, rows: Array
    ) -> tuple[int, int, int] | None:
        """(unit, its tick, byte) of an access of another unit that the clock rows [1 or steps, unit] do not
        know.
        """
        for unit, plane in planes.items():
            if unit == me:
                continue
            found = self.beyond(plane, region, rows[:, unit])
            if found is not None:
                return unit, *found
        return None

    def beyond(self, plane: Plane, region: Region, known: Array) -> tuple[int, int] | None:
        """(tick, byte) of a cell whose tick is beyond what is known at its step."""
        cells = plane.view(region, self.cell)
        late = cells > (int(known[0]) if len(known) == 1 else stepwise(known, region))
        if not late.any():
            return None
        at = np.unravel_index(int(late.argmax()), late.shape)
        return int(cells[at]), _byte(region, at)

    def stamp(self, planes: dict[int, Plane], region: Region, me: int, ticks: Array) -> None:
        """Notes an access at these ticks, one or one per step."""
        if me not in planes:
            planes[me] = Plane(self.count, np.int32)
        planes[me].set(region, self.cell, int(ticks[0]) if len(ticks) == 1 else stepwise(ticks, region))

    def unwritten(self, region: Region) -> int | None:
        """A byte of the region that nothing has written, or None."""
        if self.written is None:
            return None
        cells = self.written.view(region, self.cell) ^ self.is_inverted
        if cells.all():
            return None
        return _byte(region, np.unravel_index(int(cells.argmin()), cells.shape))

    def mark_written(self, region: Region, buffer: int = 0) -> None:
        """Notes that the bytes of a region hold something, of the buffer with this number (0: of no name)."""
        if self.written is not None:
            self.written.set(region, self.cell, not self.is_inverted)
        if buffer and self.buffers is None:
            self.buffers = Plane(self.count, np.int16)
        if self.buffers is not None:
            self.buffers.set(region, self.cell, buffer)

    def of_another(self, region: Region, buffer: int) -> tuple[int, int] | None:
        """(byte, buffer) of a cell of the region that holds what was written as part of another buffer."""
        if self.buffers is None or not buffer:
            return None
        cells = self.buffers.view(region, self.cell)
        wrong = (cells != buffer) & (cells != 0)
        if not wrong.any():
            return None
        at = np.unravel_index(int(wrong.argmax()), wrong.shape)
        return _byte(region, at), int(cells[at])


def stepwise(values: Array, region: Region) -> Array:
    """One number per step, shaped to broadcast over the cells of the region."""
    if region.addresses is not None:
        return values.reshape(-1, 1, 1)
    lead = region.extents[: region.steps]
    return values.reshape(*lead, *(1,) * (len(region.extents) - region.steps + 1))


def _byte(region: Region, at: Sequence[Any]) -> int:
    if region.addresses is not None:
        return int(region.addresses[at[0], at[1]])
    return region.start + sum(int(k) * s for k, s in zip(at, region.strides, strict=False))


def cell_bytes(image: Image, kind: str) -> int:
    """The size of a cell for a kind of memory: divides every address, stride and element size used there."""
    found = 0
    for box in boxes(image):
        if box.place.kind != kind:
            continue
        found = gcd(found, box.itemsize, *(d.stride for d in (*box.times, *box.run)))
        for index in (box.base, box.address or Index()):
            found = gcd(found, index.const, *(c for _, c in index.terms))
    return max(found, 1)


def boxes(image: Image) -> Iterator[Box]:
    """Every box of an image."""
    for schedule in image.schedules:
        for program in schedule.programs:
            for node in walk(program.body):
                match node:
                    case Copy():
                        yield node.source
                        yield node.target
                        if node.indirect is not None:
                            yield node.indirect.box
                    case Read() | Write():
                        yield from (s.box for s in node.streams)
                    case Load() | Store():
                        yield node.box
                    case Loop() | If():
                        pass
