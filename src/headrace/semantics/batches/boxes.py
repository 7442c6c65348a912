"""What many tiles touch of a view, as boxes: where each begins and ends, and memory seen through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from headrace.numbers.dtypes import itemsize
from headrace.semantics.access import Distributed, Tile, View, memory_window

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Boxes:
    """The first and last coordinate of every dim of a base, numbers or one per tile.

    `firsts` are the coordinates of each tensor's first element; `walks` the coefficients by tensor axis.
    """

    firsts: tuple[Any, ...]
    lows: tuple[Any, ...]
    highs: tuple[Any, ...]
    walks: tuple[dict[int, int], ...]

    def is_inside(self, tile: Tile) -> bool:
        """Whether all of them are inside the base."""
        ends = zip(self.lows, self.highs, tile.base.sizes, strict=True)
        return 0 in tile.shape or all(np.all(low >= 0) and np.all(high < size) for low, high, size in ends)


def boxes(tile: Tile) -> Boxes | None:
    """The boxes a tile touches; None for gathers and sets that are no boxes."""
    if tile.points is not None:
        return None
    fixed, dims = len(tile.captured), (*tile.captured, *tile.starts)
    firsts, lows, highs, walks = [], [], [], []
    for subscript in tile.subscripts:
        form = subscript.form
        if form is None:
            return None
        first: Any = form.const
        for coefficient, value in zip(form.coefficients, dims, strict=True):
            if coefficient:
                first = first + coefficient * value
        low = high = first
        walk: dict[int, int] = {}
        for coefficient, axis in zip(form.coefficients[fixed:], tile.axes, strict=True):
            if coefficient:
                walk[axis] = walk.get(axis, 0) + coefficient
                reach = coefficient * (tile.shape[axis] - 1)
                low, high = low + min(reach, 0), high + max(reach, 0)
        firsts.append(first)
        lows.append(low)
        highs.append(high)
        walks.append(walk)
    return Boxes(tuple(firsts), tuple(lows), tuple(highs), tuple(walks))


@dataclass(frozen=True)
class Piece:
    """Boxes of one shape in one view: those of the tiles at `rows`, coordinates [tiles, dims] of the view.

    `inside` is where each is in its tile's tensor. `starts` counts elements from the view's start to each
    box's first, `steps` are bytes along the tensor's axes.
    """

    view: View
    rows: Array
    lows: Array
    highs: Array
    starts: Array
    steps: tuple[int, ...]
    shape: tuple[int, ...]
    inside: tuple[slice, ...]

    def windows(self) -> Iterator[tuple[Any, Array]]:
        """Runs of tiles at equal distances, (rows, memory): one axis of tiles, then those of the tensor."""
        item, starts, at = itemsize(self.view.dtype), self.starts, 0
        while at < len(starts):
            step = int(starts[at + 1] - starts[at]) if at + 1 < len(starts) else 0
            unequal = np.flatnonzero(np.diff(starts[at:]) != step)
            n = int(unequal[0]) + 1 if len(unequal) else len(starts) - at
            shape, steps = (n, *self.shape), (step * item, *self.steps)
            rows = self.rows[at : at + n]
            is_run = len(rows) == int(rows[-1]) - int(rows[0]) + 1
            window = memory_window(self.view, int(starts[at]), shape, steps)
            yield slice(int(rows[0]), int(rows[-1]) + 1) if is_run else rows, window
            at += n


def pieces(tile: Tile, count: int) -> list[Piece] | None:
    """The memory that `count` tiles touch through a tile, view by view; None when it is not made of boxes.

    Coordinates that a distributed view has in no part are in no piece.
    """
    found = boxes(tile)
    if found is None:
        return None
    if isinstance(tile.base, View):
        return None if tile.base.points is not None else [_whole(tile, tile.base, found, count)]
    return _parts(tile, tile.base, found, count)


def _whole(tile: Tile, view: View, found: Boxes, count: int) -> Piece:
    item, steps, start = itemsize(view.dtype), [0] * len(tile.shape), np.zeros(count, np.int64)
    for first, walk, stride in zip(found.firsts, found.walks, view.strides, strict=True):
        start += first * stride
        for axis, coefficient in walk.items():
            steps[axis] += coefficient * stride * item
    lows, highs = _columns(found.lows, count), _columns(found.highs, count)
    inside = tuple(slice(0, n) for n in tile.shape)
    return Piece(view, np.arange(count), lows, highs, start, tuple(steps), tile.shape, inside)


def _columns(values: Sequence[Any], count: int) -> Array:
    out = np.empty((count, len(values)), np.int64)
    for d, value in enumerate(values):
        out[:, d] = value
    return out


def _parts(tile: Tile, base: Distributed, found: Boxes, count: int) -> list[Piece] | None:
    """Every box cut with every part; tiles whose boxes are cut alike make one piece."""
    axes = [next(iter(walk)) for walk in found.walks if list(walk.values()) == [1]]
    if len(set(axes)) < len(found.walks) or len(axes) < len(found.walks) or has_overlaps(base):
        return None
    if any(part.points is not None for part in base.parts):
        return None
    lows, highs = _columns(found.lows, count), _columns(found.highs, count)
    out = []
    for part in base.parts:
        origin, sizes = np.asarray(part.origin, np.int64), np.asarray(part.sizes, np.int64)
        first, last = np.maximum(lows, origin), np.minimum(highs, origin + sizes - 1)
        rows = np.flatnonzero((first <= last).all(axis=1))
        cut = np.concatenate([first - lows, last - lows], axis=1)[rows]
        kinds, of = np.unique(cut, axis=0, return_inverse=True)
        for k, kind in enumerate(kinds):
            here = rows[of.reshape(-1) == k]
            out.append(_cut(tile, part, axes, kind, here, first[here] - origin, last[here] - origin))
    return out


def _cut(
    tile: Tile, part: View, axes: Sequence[int], kind: Array, rows: Array, first: Array, last: Array
) -> Piece:
    item, rank = itemsize(part.dtype), len(axes)
    inside, steps = [slice(0, n) for n in tile.shape], [0] * len(tile.shape)
    for d, axis in enumerate(axes):
        inside[axis] = slice(int(kind[d]), int(kind[rank + d]) + 1)
        steps[axis] = part.strides[d] * item
    shape = tuple(s.stop - s.start for s in inside)
    starts = first @ np.asarray(part.strides, np.int64)
    return Piece(part, rows, first, last, starts, tuple(steps), shape, tuple(inside))


def has_overlaps(base: Distributed) -> bool:
    """Whether two parts hold one coordinate."""

    def meet(a: View, b: View) -> bool:
        ends = zip(a.origin, a.sizes, b.origin, b.sizes, strict=True)
        return all(p < q + m and q < p + n for p, n, q, m in ends)

    return any(meet(a, b) for a, b in combinations(base.parts, 2))


def cover(found: Sequence[Piece], tile: Tile, count: int) -> bool:
    """Whether pieces without overlaps hold every element of the tensors of `count` tiles."""
    held = sum(len(p.rows) * int(np.prod(p.shape, dtype=np.int64)) for p in found)
    return held == count * int(np.prod(tile.shape, dtype=np.int64))


def coordinates(tile: Tile) -> list[Array]:
    """The coordinates of all tiles: one axis of tiles, then those of the tensor."""
    ahead = (-1, *(1 for _ in tile.shape))
    captured: tuple[Any, ...] = tile.captured
    return replace(
        tile, captured=tuple(c.reshape(ahead) if np.ndim(c) else c for c in captured)
    ).coordinates()
