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
from headrace.semantics.batches.boxes import coordinates
from headrace.semantics.batches.frame import BatchFrame, NotBatchable
from headrace.semantics.batches.sources import Source, loaded, source
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
    is_varying = op.operands[0] in frame.varying
    count = frame.count if is_varying else 1
    try:
        found = frame.taped(lambda: loaded(tile, count, is_varying, frame.stored))
        out = _loaded(tile, count, found, frame.launch.options.bounds == "strict")
    except OutOfBounds as error:
        raise outside(frame, op, error) from None
    if is_global(tile):
        frame.launch.report.read_bytes += out.nbytes // count * frame.count
    out = out if is_varying or out is found.borrowed else out.reshape(tile.shape)
    return [typed(frame, op, out, tile.base.dtype, element_type(op.results[0].type))]


def _loaded(tile: Tile, count: int, found: Source, is_strict: bool) -> Array:
    if found.borrowed is not None:
        return found.borrowed
    shape = (count, *tile.shape)
    if found.windows is None:
        values = read(tile.base, coordinates(tile), is_strict)
        buffer = values if values.base is None else values.base
        is_fresh = isinstance(buffer, np.ndarray) and buffer.flags.owndata and buffer.size == values.size
        if is_fresh and values.shape == shape and values.flags.c_contiguous:
            return values
        return np.array(np.broadcast_to(values, shape), order="C")
    out = (np.empty if found.is_covered else np.zeros)(shape, numpy_dtype(tile.base.dtype))
    for window in found.windows:
        out[window.rows, *window.inside] = window.memory
    return out


def store_all(frame: BatchFrame, op: Operation) -> Sequence[Any]:
    """Writes the rows of `ktdp.store`, one tile after the other where they meet."""
    tile: Tile = frame.get(op.operands[1])
    of, is_varying = op.operands[0], op.operands[1] in frame.varying
    values = frame.array(op, of)
    if values.shape[int(of in frame.varying) :] != tile.shape:
        raise frame.error(op, "the tensor and the tile differ")
    values = typed(frame, op, values, element_type(of.type), tile.base.dtype)
    if is_global(tile):
        frame.launch.report.written_bytes += math.prod(tile.shape) * values.itemsize * frame.count
    values = values if of in frame.varying else frame.spread(values)
    values, count = (values, frame.count) if is_varying else (values[-1:], 1)
    try:
        found = frame.taped(lambda: source(tile, count))
        if found.windows is None or not found.is_covered:
            write(tile.base, coordinates(tile), values, frame.launch.options.bounds == "strict")
            return []
    except OutOfBounds as error:
        raise outside(frame, op, error) from None
    for window in found.windows:
        if window.is_apart or count == 1:
            window.memory[...] = values[window.rows, *window.inside]
            continue
        for row, one in zip(np.arange(count)[window.rows], window.memory, strict=True):
            one[...] = values[row, *window.inside]
    return []
