"""Views, access tiles, loads and stores of many tiles: captured integers are arrays with a row per tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from headrace.numbers.dtypes import numpy_dtype
from headrace.semantics.access import OutOfBounds, Tile, read, write
from headrace.semantics.affine import evaluate
from headrace.semantics.batches.boxes import boxes, coordinates, cover, pieces
from headrace.semantics.batches.frame import BatchFrame, NotBatchable
from headrace.semantics.frame import element_type
from headrace.semantics.memory import is_global, outside, typed
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


def load_all(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    """The tensors of `ktdp.load`, one row per tile; one for all of them when they load the same."""
    tile: Tile = frame.get(op.operands[0])
    count = frame.count if op.operands[0] in frame.varying else 1
    try:
        out = _loaded(tile, count, frame.launch.options.bounds == "strict")
    except OutOfBounds as error:
        raise outside(frame, op, error) from None
    if is_global(tile):
        frame.launch.report.read_bytes += out.nbytes // count * frame.count
    out = out if op.operands[0] in frame.varying else out.reshape(tile.shape)
    return [typed(frame, op, out, tile.base.dtype, element_type(op.results[0].type))]


def _loaded(tile: Tile, count: int, is_strict: bool) -> Array:
    found = boxes(tile)
    parts = pieces(tile, count) if found is not None and found.is_inside(tile) else None
    if parts is None:
        values = read(tile.base, coordinates(tile), is_strict)
        return np.ascontiguousarray(np.broadcast_to(values, (count, *tile.shape)))
    make = np.empty if cover(parts, tile, count) else np.zeros
    out = make((count, *tile.shape), numpy_dtype(tile.base.dtype))
    for part in parts:
        for rows, window in part.windows():
            out[rows, *part.inside] = window
    return out


def store_all(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    """Writes the rows of `ktdp.store`, one tile after the other where they meet."""
    tile: Tile = frame.get(op.operands[1])
    source, is_strict = op.operands[0], frame.launch.options.bounds == "strict"
    values = frame.array(op, source)
    if values.shape[int(source in frame.varying) :] != tile.shape:
        raise frame.error(op, "the tensor and the tile differ")
    values = typed(frame, op, values, element_type(source.type), tile.base.dtype)
    if is_global(tile):
        frame.launch.report.written_bytes += math.prod(tile.shape) * values.itemsize * frame.count
    values = values if source in frame.varying else frame.spread(values)
    try:
        if op.operands[1] in frame.varying:
            _store(tile, values, frame.count, is_strict)
        else:
            _store(tile, values[-1:], 1, is_strict)
    except OutOfBounds as error:
        raise outside(frame, op, error) from None
    return []


def _store(tile: Tile, values: Array, count: int, is_strict: bool) -> None:
    found = boxes(tile)
    parts = pieces(tile, count) if found is not None and found.is_inside(tile) else None
    if parts is None or not cover(parts, tile, count):
        write(tile.base, coordinates(tile), values, is_strict)
        return
    for part in parts:
        for rows, window in part.windows():
            ends = zip(part.shape, part.steps, strict=True)
            extent = window.itemsize + sum((n - 1) * abs(s) for n, s in ends)
            if abs(window.strides[0]) >= extent:
                window[...] = values[rows, *part.inside]
                continue
            for row, one in zip(np.arange(values.shape[0])[rows], window, strict=True):
                one[...] = values[row, *part.inside]
