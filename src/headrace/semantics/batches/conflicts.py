"""Whether tiles are independent: nothing a tile stores is loaded or stored by another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from xdsl.ir import Operation

from headrace.numbers.dtypes import itemsize
from headrace.semantics.access import Distributed, Tile, View
from headrace.semantics.batches.boxes import boxes, cover, pieces
from headrace.semantics.batches.cells import Span, cells, direct_span
from headrace.semantics.batches.frame import BatchFrame, NotBatchable

Array = np.ndarray[Any, Any]
EXACT_BOXES = 2048
"""Up to this many boxes of two ops are compared one by one when their hulls meet."""


@dataclass
class _Touch:
    """The boxes in one view that one op touches: their tiles, first and last coordinates.

    `cells` find out exactly what an indirect access touches: [tiles, cells] numbers of coordinates along the
    dims whose ends `span` does not give. They are to be had while nobody writes the index views.
    """

    view: View
    is_store: bool
    tiles: list[Array] = field(default_factory=list)
    lows: list[Array] = field(default_factory=list)
    highs: list[Array] = field(default_factory=list)
    cells: list[Callable[[], Array | None]] = field(default_factory=list)
    span: Span | None = None
    is_index: bool = False

    def alike(self) -> _Touch:
        """One of the same kind, with nothing in it."""
        return _Touch(self.view, self.is_store, span=self.span, is_index=self.is_index)

    def joined(self) -> tuple[Array, Array, Array]:
        return np.concatenate(self.tiles), np.concatenate(self.lows), np.concatenate(self.highs)

    def is_once(self) -> bool:
        """Whether every tile touches it once."""
        tiles = np.concatenate(self.tiles)
        return len(np.unique(tiles)) == len(tiles)


class Touched:
    """All accesses of a function, filled while its addresses are followed."""

    def __init__(self) -> None:
        self._touches: dict[Any, _Touch] = {}
        self.tile_bytes = 0
        self.has_read_indices = False
        """Whether the last `conflict` depends on what index views hold."""

    def include(self, other: Touched) -> None:
        """Adds what other tiles of the grid touch."""
        self.tile_bytes = max(self.tile_bytes, other.tile_bytes)
        for key, touch in other._touches.items():
            mine = self._touches.setdefault(key, touch.alike())
            for name in ("tiles", "lows", "highs", "cells"):
                getattr(mine, name).extend(getattr(touch, name))

    def add(self, op: Operation, tile: Tile, frame: BatchFrame) -> None:
        """An access of `op` in the tiles of `frame`."""
        self.tile_bytes = max(self.tile_bytes, int(np.prod(tile.shape)) * itemsize(tile.base.dtype))
        found, parts = boxes(tile), pieces(tile, frame.count)
        is_store, is_strict = op.name == "ktdp.store", frame.launch.options.bounds == "strict"
        if parts is None:
            self._add_scattered(op, tile, frame, is_store)
        else:
            is_whole = found is not None and found.is_inside(tile)
            if is_strict and not (is_whole and (not is_store or cover(parts, tile, frame.count))):
                raise NotBatchable("an access leaves its view")
            for part in parts:
                self._note(op, part.view, is_store, frame.tiles[part.rows], part.lows, part.highs)
        for subscript in tile.subscripts:
            if subscript.index is not None:
                self._whole(op, subscript.index, False, frame.tiles, is_index=True)

    def _add_scattered(self, op: Operation, tile: Tile, frame: BatchFrame, is_store: bool) -> None:
        span = direct_span(tile)
        if span is None:
            self._whole(op, tile.base, is_store, frame.tiles)
        else:
            find = partial(cells, tile, span, frame.count)
            self._whole(op, tile.base, is_store, frame.tiles, span, find)

    def _whole(
        self,
        op: Operation,
        base: View | Distributed,
        is_store: bool,
        tiles: Array,
        span: Span | None = None,
        find: Callable[[], Array | None] | None = None,
        is_index: bool = False,
    ) -> None:
        for view in (base,) if isinstance(base, View) else base.parts:
            last = np.asarray([n - 1 for n in view.sizes], np.int64).reshape(1, -1)
            high = np.broadcast_to(last, (len(tiles), last.shape[1]))
            touch = self._note(op, view, is_store, tiles, np.zeros_like(high), high, span, is_index)
            if find is not None:
                touch.cells.append(find)

    def _note(
        self,
        op: Operation,
        view: View,
        is_store: bool,
        tiles: Array,
        low: Array,
        high: Array,
        span: Span | None = None,
        is_index: bool = False,
    ) -> _Touch:
        key = (op, is_store, view.address, view.dtype, view.sizes, view.strides, span, is_index)
        touch = self._touches.setdefault(key, _Touch(view, is_store, span=span, is_index=is_index))
        touch.tiles.append(tiles)
        touch.lows.append(low)
        touch.highs.append(high)
        return touch

    @cached_property
    def stored(self) -> list[tuple[int, int]]:
        """Spans of bytes, (first, end), that are stored to."""
        return [_span(t) for t in self._touches.values() if t.is_store]

    @cached_property
    def rewritten(self) -> list[tuple[int, int]]:
        """Those that may have been loaded before."""
        read = [_span(t) for t in self._touches.values() if not t.is_store]
        return [(a, b) for a, b in self.stored if any(a < d and c < b for c, d in read)]

    def conflict(self, is_in_order: bool) -> str:
        """What stands against running tiles together; empty when they are independent.

        `is_in_order`: the groups that run together come one after the other, and so do the tiles of each, so
        that of one op's stores to one place the last tile's stays.
        """
        touches = list(self._touches.values())
        stored = [_span(t) for t in touches if t.is_store]
        indices = [_span(t) for t in touches if t.is_index]
        is_exact = not any(a < d and c < b for a, b in indices for c, d in stored)
        self.has_read_indices = False
        for k, one in enumerate(touches):
            for other in touches[k:] if one.is_store else [t for t in touches[k:] if t.is_store]:
                if one is other and is_in_order and one.is_once():
                    continue
                self.has_read_indices |= is_exact and bool(one.cells and other.cells)
                if _meet(one, other, is_exact):
                    how = "store to" if one.is_store and other.is_store else "read and write"
                    return f"tiles {how} the same memory"
        return ""


def _meet(one: _Touch, other: _Touch, is_exact: bool) -> bool:
    a, b = _span(one), _span(other)
    if a[1] <= b[0] or b[1] <= a[0]:
        return False
    alike = ("address", "strides", "dtype")
    if any(getattr(one.view, key) != getattr(other.view, key) for key in alike):
        return _boxes_meet(*_ranges(one), *_ranges(other))
    if is_exact and one.cells and other.cells and one.span == other.span:
        found = _cells_of(one), _cells_of(other)
        if None not in found:
            return _cells_meet(*found)  # type: ignore[arg-type]
    first, second = one.joined(), other.joined()
    a_hull, b_hull = _hulls(first), _hulls(second)
    both = _hulls(tuple(np.concatenate(pair) for pair in zip(a_hull, b_hull, strict=True)))
    if _are_in_rows(both) or not _boxes_meet(*a_hull, *b_hull):
        return False
    if len(first[0]) * len(second[0]) > EXACT_BOXES**2:
        return True
    return _boxes_meet(*first, *second)


def _cells_of(touch: _Touch) -> tuple[Array, Array] | None:
    """Cells and their tiles, one after the other."""
    found = [find() for find in touch.cells]
    if any(f is None for f in found):
        return None
    each = [np.repeat(t, f.shape[1]) for t, f in zip(touch.tiles, found, strict=True) if f is not None]
    return np.concatenate([f.reshape(-1) for f in found if f is not None]), np.concatenate(each)


def _cells_meet(one: tuple[Array, Array], other: tuple[Array, Array]) -> bool:
    """Whether different tiles touch a cell that is in both."""
    common = np.intersect1d(one[0], other[0])
    at = [np.isin(x, common) for x, _ in (one, other)]
    where = np.concatenate([one[0][at[0]], other[0][at[1]]])
    tiles = np.concatenate([one[1][at[0]], other[1][at[1]]])
    order = np.lexsort((tiles, where))
    where, tiles = where[order], tiles[order]
    return bool(((where[1:] == where[:-1]) & (tiles[1:] != tiles[:-1])).any())


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
