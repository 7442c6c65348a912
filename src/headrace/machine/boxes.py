"""Vectors and the blocks of memory they come from: places, strided boxes, rows chosen by an index tensor.

Addresses, strides and sizes are bytes; extents are numbers of elements or vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from headrace.machine.index import Index, Symbol
from headrace.numbers.dtypes import itemsize

NOWHERE = -(2**60)
"""Added to the address of a position that no page of a view holds: no memory has such bytes."""
MemoryKind = Literal["global", "ct_local", "register"]


@dataclass(frozen=True)
class Place:
    """A memory: device memory, or the copy of `owner`: a core's scratchpad, an instance's register file."""

    kind: MemoryKind
    name: str
    owner: Index = Index()


@dataclass(frozen=True)
class Value:
    """A vector register of a program. The element (i, j, ...) of `shape` is lane i*shape[1]+j, row-major."""

    number: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def lanes(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.lanes * itemsize(self.dtype)


@dataclass(frozen=True)
class Dim:
    """One dimension of a box: `extent` positions, `stride` bytes apart."""

    extent: Index
    stride: int


@dataclass(frozen=True)
class Limit:
    """A dimension of the view behind a box: `low`..`high` (inclusive) are touched, 0..size-1 exist."""

    low: Index
    high: Index
    size: Index


@dataclass(frozen=True)
class Box:
    """A strided block of memory: one vector (`run`, row-major lanes) at each time step (`times`).

    The outermost dim comes first. Byte address of an element = `base` + sum of position x stride over
    `times` and `run`. Where a layout is not linear `address` holds the byte address as an expression over
    `coordinates` (one symbol per dim of `times` + `run`) instead, and the strides are 0. `run` may be
    shorter than the vector it fills: the other lanes load as 0 and are not stored. `view_start` is where
    the view behind the box begins, `buffer` what `headrace.buffer` calls it.
    """

    place: Place
    base: Index
    times: tuple[Dim, ...]
    run: tuple[Dim, ...]
    dtype: str
    limits: tuple[Limit, ...] = ()
    address: Index | None = None
    coordinates: tuple[Symbol, ...] = ()
    view_start: Index = Index()
    buffer: str = ""

    @property
    def itemsize(self) -> int:
        return itemsize(self.dtype)

    @property
    def contiguous_bytes(self) -> int | None:
        """Bytes of the longest contiguous innermost run, times included; None if a run-time value decides.

        A box of a non-linear layout counts element by element.
        """
        total = self.itemsize
        if self.address is not None:
            return total
        for dim in (*reversed(self.run), *reversed(self.times)):
            extent = dim.extent.constant
            if extent == 1:
                continue
            if dim.stride != total:
                return total
            if extent is None:
                return None
            total *= extent
        return total

    @property
    def is_contiguous_run(self) -> bool:
        """One vector of this box lies in one piece."""
        total = self.itemsize
        for dim in reversed(self.run):
            extent = dim.extent.constant
            if extent == 1:
                continue
            if self.address is not None or dim.stride != total:
                return False
            if extent is None:
                return dim is self.run[0]
            total *= extent
        return True


@dataclass(frozen=True)
class Indirect:
    """Rows chosen by an index tensor: integer x `scale` bytes is added to the direct address at each time.

    `box` has one element per time step. `side` says which end of the copy is meant; valid integers are
    0..size-1-offset, offset being the direct view's own first subscript.
    """

    side: Literal["source", "target"]
    box: Box
    scale: int
    size: Index
    offset: Index = Index()
