"""The ktdp ops of one tile: who it is, views, loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineSet

from headrace.numbers.dtypes import itemsize
from headrace.numbers.rounding import cast
from headrace.semantics.access import Distributed, OutOfBounds, Tile, View, load, store
from headrace.semantics.affine import box
from headrace.semantics.frame import Frame, Handler, element_type, known_element_type
from headrace.semantics.tiles import TILES

Array = np.ndarray[Any, Any]


def _tile_id(frame: Frame, op: Operation) -> Sequence[Any]:
    wanted = len(op.results)
    if any(n > 1 for n in frame.launch.grid[wanted:]):
        raise frame.error(op, f"{wanted} coordinates of a grid of {list(frame.launch.grid)}")
    return [*frame.coordinates, *(0 for _ in range(wanted))][:wanted]


def _view(frame: Frame, op: Any) -> Sequence[Any]:
    dtype = known_element_type(frame, op, op.result.type)
    sizes = _mixed(frame, op.static_sizes, op.sizes)
    strides = _mixed(frame, op.static_strides, op.strides)
    symbols = frame.integers(op.sizes)
    is_local = _is_local(frame, op)
    space = frame.launch.memory.bytes
    if is_local:
        owner = op.memory_space.tile
        space = frame.launch.scratchpad(frame.tile if owner is None else owner)
    origin, points = _coordinates(frame, op, sizes, symbols)
    unit = itemsize(dtype) if frame.launch.options.address_unit == "element" else 1
    address = frame.integer(op.offset) * unit
    return [View(space, address, dtype, sizes, strides, not is_local, origin, points, symbols)]


def _is_local(frame: Frame, op: Any) -> bool:
    if not hasattr(op.memory_space, "is_local"):
        raise frame.error(
            op, f"unknown memory space {op.memory_space}", "write #ktdp.memory_space<global> or <ct_local>"
        )
    return bool(op.memory_space.is_local)


def _mixed(frame: Frame, static: Any, dynamic: Sequence[Any]) -> tuple[int, ...]:
    operands = iter(dynamic)
    return tuple(frame.integer(next(operands)) if n == DYNAMIC_INDEX else int(n) for n in static.get_values())


def _coordinates(
    frame: Frame, op: Any, sizes: tuple[int, ...], symbols: tuple[int, ...]
) -> tuple[tuple[int, ...], AffineSet | None]:
    """The smallest coordinate of a view, and its set when it is more than a bound on each dim or tighter
    than sizes."""
    points: AffineSet = op.coordinate_set.data
    if points.num_dims != len(sizes):
        raise frame.error(op, f"the coordinate set has {points.num_dims} dims, the view {len(sizes)}")
    symbols = symbols[: points.num_symbols]
    bounds = box(points, symbols) if symbols else frame.once("box", op, lambda: box(points))
    if bounds is None:
        return (0,) * len(sizes), points
    origin = tuple(low or 0 for low, _ in bounds)
    ends = zip(bounds, origin, sizes, strict=True)
    is_whole = all(high is None or high - first + 1 >= n for (_, high), first, n in ends)
    return origin, None if is_whole else points


def _distributed(frame: Frame, op: Any) -> Sequence[Any]:
    parts = tuple(frame.get(v) for v in op.operands)
    if not all(isinstance(p, View) for p in parts):
        raise frame.error(op, "a part is not a plain memory view")
    reach = [
        max((p.origin[d] + p.sizes[d] for p in parts), default=0)
        for d in range(len(op.results[0].type.get_shape()))
    ]
    sizes = tuple(
        end if n == DYNAMIC_INDEX else n for n, end in zip(op.results[0].type.get_shape(), reach, strict=True)
    )
    return [Distributed(parts, element_type(op.results[0].type), sizes)]


def _load(frame: Frame, op: Operation) -> Sequence[Any]:
    tile: Tile = frame.get(op.operands[0])
    try:
        values = load(tile, frame.launch.options.bounds == "strict")
    except OutOfBounds as error:
        raise outside(frame, op, error) from None
    if is_global(tile):
        frame.launch.report.read_bytes += values.nbytes
    return [typed(frame, op, values, tile.base.dtype, element_type(op.results[0].type))]


def _store(frame: Frame, op: Operation) -> Sequence[Any]:
    values = frame.array(op, op.operands[0])
    tile: Tile = frame.get(op.operands[1])
    if values.shape != tile.shape:
        raise frame.error(op, f"a tensor of {list(values.shape)} into a tile of {list(tile.shape)}")
    values = typed(frame, op, values, element_type(op.operands[0].type), tile.base.dtype)
    try:
        store(tile, values, frame.launch.options.bounds == "strict")
    except OutOfBounds as error:
        raise outside(frame, op, error) from None
    if is_global(tile):
        frame.launch.report.written_bytes += values.nbytes
    if frame.launch.on_store is not None:
        frame.launch.on_store(frame, op)
    return []


def typed(frame: Frame, op: Operation, values: Array, src: str, dst: str) -> Array:
    """Values loaded or to be stored in the other type, with a warning when there is one."""
    if src == dst:
        return values
    frame.warn(op, f"converts {src} to {dst}: the tensor's element type is not the view's")
    return cast(values, src, dst)


def is_global(tile: Tile) -> bool:
    """Whether a tile is of device memory, at least in part."""
    return tile.base.is_global if isinstance(tile.base, View) else any(p.is_global for p in tile.base.parts)


def outside(frame: Frame, op: Operation, error: OutOfBounds) -> Exception:
    """The error to raise about an access outside its view."""
    tile = f"tile {list(frame.coordinates)}: " if frame.launch.tiles > 1 else ""
    return frame.error(
        op, f"{tile}{error}", "guard the access, or pass bounds=mask to read zeros and drop writes"
    )


def _runtime_arg(frame: Frame, op: Any) -> Sequence[Any]:
    kind = ("value", "granularity", "upperbound")[op.kind.value.data]
    if kind == "value":
        return [frame.get(op.operands[0])]
    bound = getattr(op.operands[0].type, kind)
    if not isinstance(bound, IntAttr):
        raise frame.error(op, f"the argument has no {kind}")
    return [bound.data]


MEMORY: dict[str, Handler] = {
    "ktdp.get_compute_tile_id": _tile_id,
    "ktdp.construct_memory_view": _view,
    "ktdp.construct_distributed_memory_view": _distributed,
    **TILES,
    "ktdp.load": _load,
    "ktdp.store": _store,
    "ktdp.runtime_arg_extract": _runtime_arg,
}
"""The handler of every ktdp op that needs no other tile, by name."""
