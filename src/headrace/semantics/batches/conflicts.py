"""Whether tiles are independent: nothing a tile stores is loaded or stored by another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

from headrace.numbers.dtypes import itemsize
from headrace.semantics.access import Distributed, Tile, View
from headrace.semantics.batches.access import boxes, is_inside
from headrace.semantics.batches.frame import BatchFrame, NotBatchable

Array = np.ndarray[Any, Any]
EXACT_BOXES = 2048
"""Up to this many boxes of two ops are compared one by one when their hulls meet."""


@dataclass
class _Touch:
    """The boxes in one view that one op touches: their tiles, first and last coordinates."""

    view: View
    is_store: bool
    tiles: list[Array] = field(default_factory=list)
    lows: list[Array] = field(default_factory=list)
    highs: list[Array] = field(default_factory=list)

    def joined(self) -> tuple[Array, Array, Array]:
        return np.concatenate(self.tiles), np.concatenate(self.lows), np.concatenate(self.highs)


class Touched:
    """All accesses of a function, filled while its addresses are followed."""

    def __init__(self) -> None:
        self._touches: dict[Any, _Touch] = {}
        self.tile_bytes = 0

    def include(self, other: Touched) -> None:
        """Adds what other tiles of the grid touch."""
        self.tile_bytes = max(self.tile_bytes, other.tile_bytes)
        for key, touch in other._touches.items():
            mine = self._touches.setdefault(key, _Touch(touch.view, touch.is_store))
            mine.tiles += touch.tiles
            mine.lows += touch.lows
            mine.highs += touch.highs

    def add(self, op: Operation, tile: Tile, frame: BatchFrame) -> None:
        """An access of `op` in the tiles of `frame`."""
        found = boxes(tile)
        self.tile_bytes = max(self.tile_bytes, int(np.prod(tile.shape)) * itemsize(tile.base.dtype))
        is_store = op.name == "ktdp.store"
        if found is not None and isinstance(tile.base, View):
            if frame.launch.options.bounds == "strict" and not is_inside(tile, found):
                raise NotBatchable("an access leaves its view")
            low, high = found.ends(frame.count)
            self._note(op, tile.base, is_store, frame.tiles, low, high)
        else:
            self._whole(op, tile.base, is_store, frame.tiles)
        for subscript in tile.subscripts:
            if subscript.index is not None:
                self._whole(op, subscript.index, False, frame.tiles)

    def _whole(self, op: Operation, base: View | Distributed, is_store: bool, tiles: Array) -> None:
        for view in (base,) if isinstance(base, View) else base.parts:
            last = np.asarray([n - 1 for n in view.sizes], np.int64).reshape(1, -1)
            high = np.broadcast_to(last, (len(tiles), last.shape[1]))
            self._note(op, view, is_store, tiles, np.zeros_like(high), high)

    def _note(self, op: Operation, view: View, is_store: bool, tiles: Array, low: Array, high: Array) -> None:
        key = (op, is_store, view.address, view.dtype, view.sizes, view.strides)
        touch = self._touches.setdefault(key, _Touch(view, is_store))
        touch.tiles.append(tiles)
        touch.lows.append(low)
        touch.highs.append(high)

    def rewritten(self) -> list[tuple[int, int]]:
        """Spans of bytes, (first, end), that are stored to and may have been loaded before."""
        read = [_span(t) for t in self._touches.values() if not t.is_store]
        stored = [_span(t) for t in self._touches.values() if t.is_store]
        return [(a, b) for a, b in stored if any(a < d and c < b for c, d in read)]

    def conflict(self) -> str:
        """What stands against running tiles together; empty when they are independent."""
        touches = list(self._touches.values())
        for k, one in enumerate(touches):
            for other in touches[k:] if one.is_store else [t for t in touches[k:] if t.is_store]:
                if _meet(one, other):
                    how = "store to" if one.is_store and other.is_store else "read and write"
                    return f"tiles {how} the same memory"
        return ""


def _meet(one: _Touch, other: _Touch) -> bool:
    a, b = _span(one), _span(other)
    if a[1] <= b[0] or b[1] <= a[0]:
        return False
    alike = ("address", "strides", "dtype")
    if any(getattr(one.view, key) != getattr(other.view, key) for key in alike):
        return _boxes_meet(*_ranges(one), *_ranges(other))
    first, second = one.joined(), other.joined()
    a_hull, b_hull = _hulls(first), _hulls(second)
    both = _hulls(tuple(np.concatenate(pair) for pair in zip(a_hull, b_hull, strict=True)))
    if _are_in_rows(both) or not _boxes_meet(*a_hull, *b_hull):
        return False
    if len(first[0]) * len(second[0]) > EXACT_BOXES**2:
        return True
    return _boxes_meet(*first, *second)


def _hulls(joined: tuple[Array, ...]) -> tuple[Array, Array, Array]:
    """One box per tile around all it touches."""
    tiles, lows, highs = joined
    names, of = np.unique(tiles, return_inverse=True)
    low = np.full((len(names), lows.shape[1]), np.iinfo(np.int64).max)
    high = np.full((len(names), lows.shape[1]), np.iinfo(np.int64).min)
    np.minimum.at(low, of, lows)
    np.maximum.at(high, of, highs)
    return names, low, high


def _are_in_rows(hulls: tuple[Array, Array, Array]) -> bool:
    """Whether the boxes of the tiles lie one after the other along some dim."""
    _, low, high = hulls
    for d in range(low.shape[1]):
        order = np.argsort(low[:, d], kind="stable")
        if (high[order[:-1], d] < low[order[1:], d]).all():
            return True
    return False


def _boxes_meet(t: Array, low: Array, high: Array, u: Array, least: Array, most: Array) -> bool:
    """Whether boxes of two different tiles share a point."""
    meet = t[:, None] != u[None, :]
    for d in range(low.shape[1]):
        meet &= (low[:, None, d] <= most[None, :, d]) & (least[None, :, d] <= high[:, None, d])
    return bool(meet.any())


def _ranges(touch: _Touch) -> tuple[Array, Array, Array]:
    """The bytes between the first and the last one each tile touches, as boxes of one dim."""
    tiles, lows, highs = _hulls(touch.joined())
    strides = np.asarray(touch.view.strides, np.int64) * itemsize(touch.view.dtype)
    ends = np.minimum(lows * strides, highs * strides), np.maximum(lows * strides, highs * strides)
    first = touch.view.address + ends[0].sum(axis=1)
    last = touch.view.address + ends[1].sum(axis=1) + itemsize(touch.view.dtype) - 1
    return tiles, first[:, None], last[:, None]


def _span(touch: _Touch) -> tuple[int, int]:
    _, first, last = _ranges(touch)
    return int(first.min()), int(last.max()) + 1
