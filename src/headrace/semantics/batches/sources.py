"""Where in memory the tensors of many tiles lie: windows that are found once, for loads and for stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.semantics.access import Tile, View
from headrace.semantics.batches.boxes import boxes, cover, pieces

Array = np.ndarray[Any, Any]
Spans = Sequence[tuple[int, int]]
"""Runs of bytes, (first, end)."""


@dataclass(frozen=True)
class Window:
    """Memory as the tiles at `rows` have it `inside` their tensors: one axis of tiles, then the tensor's.

    `is_apart`: no two tiles share a byte, as far as strides tell.
    """

    rows: Any
    inside: tuple[slice, ...]
    memory: Array
    is_apart: bool


@dataclass(frozen=True)
class Source:
    """The windows of an access, which hold all its elements when it `is_covered`; None for places that have
    to be looked up.

    `borrowed` is memory that is the tensors as they are, not to be written to.
    """

    windows: list[Window] | None = None
    is_covered: bool = False
    borrowed: Array | None = None


def source(tile: Tile, count: int) -> Source:
    """The windows of `count` tiles; OutOfBounds outside of memory."""
    found = boxes(tile)
    parts = pieces(tile, count) if found is not None and found.is_inside(tile) else None
    if parts is None:
        return Source()
    windows = []
    for part in parts:
        ends = zip(part.shape, part.steps, strict=True)
        reach = sum((n - 1) * abs(s) for n, s in ends)
        for rows, memory in part.windows():
            is_apart = abs(memory.strides[0]) >= reach + memory.itemsize
            windows.append(Window(rows, part.inside, memory, is_apart))
    return Source(windows, cover(parts, tile, count))


def loaded(tile: Tile, count: int, is_varying: bool, stored: Spans | None) -> Source:
    """The same for a load, with the memory itself when one window is all there is and nothing is stored to
    it; None for `stored` when that is not known."""
    found, base = source(tile, count), tile.base
    if stored is None or found.windows is None or len(found.windows) != 1 or not found.is_covered:
        return found
    memory = found.windows[0].memory
    if not isinstance(base, View) or not memory.flags.c_contiguous or memory.size == 0:
        return found
    first = memory.ctypes.data - base.space.ctypes.data
    if any(start < first + memory.nbytes and first < end for start, end in stored):
        return found
    shape = (count, *tile.shape) if is_varying else tile.shape
    lent = np.asarray(_Lender(memory.reshape(-1).view(np.uint8)))
    return Source(found.windows, True, lent.view(memory.dtype).reshape(shape))


class _Lender:
    """What an array over bytes that are only read is made of, so that the ledger counts it as a buffer of
    its own."""

    def __init__(self, content: Array) -> None:
        self._content = content
        interface = dict(content.__array_interface__)
        self.__array_interface__ = {**interface, "data": (interface["data"][0], True)}
