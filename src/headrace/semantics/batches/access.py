"""Views, access tiles, loads and stores of many tiles: captured integers are arrays with a row per tile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.ir import Operation

from headrace.numbers.dtypes import itemsize, numpy_dtype
from headrace.semantics.access import OutOfBounds, Tile, View, memory_window, read, store
from headrace.semantics.affine import evaluate
from headrace.semantics.batches.frame import BatchFrame, NotBatchable
from headrace.semantics.frame import element_type
from headrace.semantics.memory import outside, typed
from headrace.semantics.tiles import base_of, displaced, indirect_subscripts, walk

Array = np.ndarray[Any, Any]


def access_tile(frame: BatchFrame, op: Any) -> Sequence[Any]:
    """The tile of `ktdp.construct_access_tile`."""
    if op.base in frame.varying:
        raise NotBatchable("a view changes with the tile")
    anchors = [frame.get(v) for v in op.indices]
    first = tuple(_integers(evaluate(e, anchors)) for e in op.base_map.data.results)
    symbols = tuple(int(frame.one(v)) for v in op.symbol_operands)
    points, order = op.access_tile_set.data, op.access_tile_order.data
    return [walk(frame, op, base_of(frame, op), first, displaced(len(first)), points, order, symbols)]


def indirect_access_tile(frame: BatchFrame, op: Any) -> Sequence[Any]:
    """The tile of `ktdp.construct_indirect_access_tile`."""
    if any(v in frame.varying for v in (op.base, *op.indirect_memrefs)):
        raise NotBatchable("a view changes with the tile")
    captured = tuple(_integers(frame.get(v)) for v in op.captured_variables)
    symbols = tuple(int(frame.one(v)) for v in op.symbol_operands)
    points, order = op.variables_space_set.data, op.variables_space_order.data
    return [
        walk(frame, op, base_of(frame, op), captured, indirect_subscripts(frame, op), points, order, symbols)
    ]


def _integers(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) and value.ndim else int(value)


def of_row(tile: Tile, row: int) -> Tile:
    """The access tile of one compute tile of the batch."""
    return replace(tile, captured=tuple(_of_row(c, row) for c in tile.captured))


def _of_row(value: Any, row: int) -> int:
    return int(value[row]) if np.ndim(value) else int(value)


@dataclass(frozen=True)
class Boxes:
    """An access as boxes of a view: first and last coordinate of every dim, numbers or one per tile.

    `starts` counts elements from the view's start, one per tile; `steps` are bytes along the axes.
    """

    lows: tuple[Any, ...]
    highs: tuple[Any, ...]
    starts: Array
    steps: tuple[int, ...]

    def ends(self, count: int) -> tuple[Array, Array]:
        """First and last coordinates as [tiles, dims]."""
        return _columns(self.lows, count), _columns(self.highs, count)


def boxes(tile: Tile) -> Boxes | None:
    """The boxes a tile touches; None for gathers and sets that are no boxes."""
    view = tile.base
    if not isinstance(view, View) or view.points is not None or tile.points is not None:
        return None
    fixed, item = len(tile.captured), itemsize(view.dtype)
    dims = (*tile.captured, *tile.starts)
    steps = [0] * len(tile.shape)
    start: Any = 0
    lows, highs = [], []
    for subscript, stride in zip(tile.subscripts, view.strides, strict=True):
        form = subscript.form
        if form is None:
            return None
        first: Any = form.const
        for coefficient, value in zip(form.coefficients, dims, strict=True):
            if coefficient:
                first = first + coefficient * value
        low = high = first
        for coefficient, axis in zip(form.coefficients[fixed:], tile.axes, strict=True):
            steps[axis] += coefficient * stride * item
            reach = coefficient * (tile.shape[axis] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        start = start + first * stride
        lows.append(low)
        highs.append(high)
    count = max([1, *(np.size(c) for c in tile.captured)])
    starts = start if np.ndim(start) else np.full(count, start, np.int64)
    return Boxes(tuple(lows), tuple(highs), starts, tuple(steps))


def _columns(values: Sequence[Any], count: int) -> Array:
    out = np.empty((count, len(values)), np.int64)
    for d, value in enumerate(values):
        out[:, d] = value
    return out


def _windows(tile: Tile, found: Boxes) -> Iterator[tuple[slice, Array]]:
    """Runs of tiles at equal distances, each with its memory: one axis of tiles, then those of the access."""
    view: Any = tile.base
    if not 0 <= min(tile.shape, default=1):
        raise NotBatchable("an empty tile")
    item, starts = itemsize(view.dtype), found.starts
    at = 0
    while at < len(starts):
        step = int(starts[at + 1] - starts[at]) if at + 1 < len(starts) else 0
        unequal = np.flatnonzero(np.diff(starts[at:]) != step)
        n = int(unequal[0]) + 1 if len(unequal) else len(starts) - at
        window = memory_window(view, int(starts[at]), (n, *tile.shape), (step * item, *found.steps))
        yield slice(at, at + n), window
        at += n


def is_inside(tile: Tile, found: Boxes) -> bool:
    """Whether all boxes are inside the view."""
    ends = zip(found.lows, found.highs, tile.base.sizes, strict=True)
    return 0 in tile.shape or all(np.all(low >= 0) and np.all(high < size) for low, high, size in ends)


def load_all(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    """The tensors of `ktdp.load`, one row per tile."""
    tile: Tile = frame.get(op.operands[0])
    is_strict = frame.launch.options.bounds == "strict"
    found = boxes(tile)
    try:
        if found is not None and is_inside(tile, found):
            out = np.empty((frame.count, *tile.shape), numpy_dtype(tile.base.dtype))
            for rows, window in _windows(tile, found):
                out[rows] = window
        else:
            out = _gathered(frame, tile, is_strict)
    except OutOfBounds as error:
        raise outside(frame, op, error) from None
    frame.launch.report.read_bytes += out.nbytes
    return [typed(frame, op, out, tile.base.dtype, element_type(op.results[0].type))]


def _gathered(frame: BatchFrame, tile: Tile, is_strict: bool) -> Array:
    """Elements at coordinates that are no boxes, those of all tiles at once."""
    ahead = (-1, *(1 for _ in tile.shape))
    captured: tuple[Any, ...] = tile.captured
    rows = tuple(c.reshape(ahead) if np.ndim(c) else c for c in captured)
    values = read(tile.base, replace(tile, captured=rows).coordinates(), is_strict)
    return np.ascontiguousarray(np.broadcast_to(values, (frame.count, *tile.shape)))


def store_all(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    """Writes the rows of `ktdp.store`."""
    tile: Tile = frame.get(op.operands[1])
    source, is_strict = op.operands[0], frame.launch.options.bounds == "strict"
    values = frame.array(op, source)
    if values.shape[int(source in frame.varying) :] != tile.shape:
        raise frame.error(op, "the tensor and the tile differ")
    values = typed(frame, op, values, element_type(source.type), tile.base.dtype)
    frame.launch.report.written_bytes += math.prod(tile.shape) * values.itemsize * frame.count
    values = values if source in frame.varying else frame.spread(values)
    if op.operands[1] not in frame.varying:
        store(tile, values[-1], is_strict)
        return []
    found = boxes(tile)
    if found is not None and is_inside(tile, found):
        for rows, window in _windows(tile, found):
            window[...] = values[rows]
    else:
        for row in range(frame.count):
            store(of_row(tile, row), values[row], is_strict)
    return []
