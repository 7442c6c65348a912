"""The shadows of a run: what survives a schedule, and what unrelated units did to device memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.machine.check.shadows import Plane, Region, Shadow
from headrace.machine.image import Image, Place, Resident
from headrace.numbers.memory import Memory


class Memories:
    """Finds the shadow of a memory.

    `blank` are ranges of device memory that hold nothing before they are written. Of a scratchpad a schedule
    finds what its `lx_in` names, or whatever the ones before it left where no schedule names anything.
    """

    def __init__(
        self, image: Image, memory: Memory, cells: dict[str, int], blank: Sequence[tuple[int, int]]
    ) -> None:
        self.image, self.cells, self.size = image, cells, memory.size_bytes
        self._shadows: dict[tuple[str, int], Shadow] = {}
        self._written: dict[tuple[str, int], Plane] = {}
        self._noted: list[tuple[Region, int, bool]] = []
        self._others: dict[bool, Plane] = {}
        self._blank = blank
        self._memory = memory
        self._is_declared = any(s.lx_in or s.lx_out for s in image.schedules)
        self._buffers: dict[str, int] = {"": 0}
        self._left: dict[tuple[str, int], Plane] = {}
        self._replaced: list[tuple[Region, np.ndarray[Any, Any]]] = []

    def next_schedule(self) -> None:
        """Everything before is complete."""
        self._shadows, self._noted, self._others = {}, [], {}
        if self._is_declared:
            self._left = {k: plane for k, plane in self._written.items() if k[0] != "global"}
            self._written = {k: plane for k, plane in self._written.items() if k[0] == "global"}

    def enter(self) -> None:
        """A component starts; what the one before did to device memory is foreign now."""
        for region, unit, is_write in self._noted:
            if is_write not in self._others:
                self._others[is_write] = Plane(-(-self.size // self.cells["global"]), np.int16)
            self._others[is_write].set(region, self.cells["global"], unit + 1)
        self._noted = []
        self._shadows = {k: s for k, s in self._shadows.items() if k[0] != "global"}

    def of(self, place: Place, owner: int) -> Shadow:
        """The shadow of a place's memory."""
        key = ("global" if place.kind == "global" else place.name, owner)
        if key not in self._shadows:
            size = self.size if place.kind == "global" else self.image.memory(place.name).size_bytes
            cell = self.cells[place.kind]
            written = self._written_of(key, size, cell)
            self._shadows[key] = Shadow(size, cell, written, is_inverted=place.kind == "global")
        return self._shadows[key]

    def _written_of(self, key: tuple[str, int], size: int, cell: int) -> Plane | None:
        """Which cells hold something; of device memory, which do not (nothing is known of the rest)."""
        if key[0] == "global" and not self._blank:
            return None
        if key not in self._written:
            plane = Plane(-(-size // cell), np.bool_)
            for low, high in self._blank if key[0] == "global" else ():
                plane.cells[low // cell : -(-high // cell)] = True
            self._written[key] = plane
        return self._written[key]

    def buffer(self, name: str) -> int:
        """A number for the name of a buffer; 0 for none."""
        return self._buffers.setdefault(name, len(self._buffers))

    def buffer_name(self, number: int) -> str:
        """The name of a buffer with a number."""
        return list(self._buffers)[number]

    def reside(self, place_name: str, owner: int, resident: Resident, is_promised: bool) -> None:
        """Bytes of a scratchpad are there; `is_promised`: as far as an earlier schedule wrote them."""
        plane, cells = self._cells(place_name, owner, resident)
        left = self._left.get((place_name, owner))
        plane.cells[cells] = True if not is_promised else left is not None and left.cells[cells]

    def lacks(self, place_name: str, owner: int, resident: Resident) -> int | None:
        """The first byte of a resident range that nothing has written, or None."""
        plane, cells = self._cells(place_name, owner, resident)
        found = plane.cells[cells]
        if found.all():
            return None
        return int(cells.start + found.argmin()) * self.cells["ct_local"]

    def _cells(self, place_name: str, owner: int, resident: Resident) -> tuple[Plane, slice]:
        cell = self.cells["ct_local"]
        plane = self._written_of((place_name, owner), self.image.memory(place_name).size_bytes, cell)
        assert plane is not None
        return plane, slice(resident.address // cell, -(-(resident.address + resident.bytes) // cell))

    def foreign(self, region: Region, is_write: bool) -> int | None:
        """A unit of another component that wrote (or, for a write, read) these bytes of device memory."""
        for kind in (True, False) if is_write else (True,):
            plane = self._others.get(kind)
            if plane is not None:
                cells = plane.view(region, self.cells["global"])
                if cells.any():
                    return int(cells.max()) - 1
        return None

    def keep(self, region: Region) -> None:
        """Remembers the bytes of device memory that a write is about to replace."""
        self._replaced.append((region, region.bytes(self._memory.bytes)))

    def restore(self) -> None:
        """Puts every replaced byte of device memory back."""
        while self._replaced:
            region, old = self._replaced.pop()
            region.put(self._memory.bytes, old)

    def note(self, region: Region, unit: int, is_write: bool) -> None:
        """Keeps an access to device memory for the components to come."""
        self._noted.append((region, unit, is_write))
