"""The ktdp ops of one tile: who it is, views, access tiles, loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap, AffineSet

from headrace.numbers.dtypes import itemsize
from headrace.numbers.rounding import cast
from headrace.semantics.access import Distributed, OutOfBounds, Subscript, Tile, View, load, store
from headrace.semantics.affine import box, contains, evaluate, linear, permutation
from headrace.semantics.frame import Frame, Handler, element_type, known_element_type

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


def _access_tile(frame: Frame, op: Any) -> Sequence[Any]:
    base = _base(frame, op)
    anchors = frame.integers(op.indices)
    symbols = frame.integers(op.symbol_operands)
    rank = len(op.base_map.data.results)
    first = tuple(int(evaluate(e, anchors)) for e in op.base_map.data.results)
    subscripts = _displaced(rank)
    order: AffineMap = op.access_tile_order.data
    return [_walk(frame, op, base, first, subscripts, op.access_tile_set.data, order, symbols)]


@lru_cache(maxsize=64)
def _displaced(rank: int) -> tuple[Subscript, ...]:
    """Coordinate d is the anchor's plus the displacement's: one captured integer and one variable each."""
    dims = [AffineExpr.dimension(d) for d in range(2 * rank)]
    return tuple(_direct(dims[d] + dims[rank + d], 2 * rank) for d in range(rank))


def _direct(map: AffineExpr, dims: int) -> Subscript:
    return Subscript((map,), form=linear(map, dims))


def _indirect_access_tile(frame: Frame, op: Any) -> Sequence[Any]:
    base = _base(frame, op)
    direct: tuple[Subscript | None, ...] = frame.once("subscripts", op, lambda: _subscripts(op))
    indices = iter(frame.get(v) for v in op.indirect_memrefs)
    subscripts = tuple(
        s or Subscript(tuple(map.data.results), next(indices))
        for s, map in zip(direct, op.per_dim_subscript_maps, strict=True)
    )
    captured, symbols = frame.integers(op.captured_variables), frame.integers(op.symbol_operands)
    order: AffineMap = op.variables_space_order.data
    return [_walk(frame, op, base, captured, subscripts, op.variables_space_set.data, order, symbols)]


def _subscripts(op: Any) -> tuple[Subscript | None, ...]:
    """The direct subscripts of an indirect access tile, None for the others."""
    kinds = [bool(kind.value.data) for kind in op.per_dim_subscript_kinds]
    maps = [map.data for map in op.per_dim_subscript_maps]
    return tuple(None if k else _direct(m.results[0], m.num_dims) for k, m in zip(kinds, maps, strict=True))


def _base(frame: Frame, op: Any) -> View | Distributed:
    base = frame.get(op.base)
    if not isinstance(base, View | Distributed):
        raise frame.error(op, "access tiles of tensors are not supported", "use tensor.extract_slice")
    return base


def _walk(
    frame: Frame,
    op: Operation,
    base: View | Distributed,
    captured: tuple[int, ...],
    subscripts: tuple[Subscript, ...],
    points: AffineSet,
    order: AffineMap,
    symbols: tuple[int, ...],
) -> Tile:
    """The tile whose variables run over `points`, sorted by `order`, shaped like the op's result."""
    wanted: tuple[int, ...] = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    bounds = box(points, symbols) if symbols else frame.once("box", op, lambda: box(points))
    turn = frame.once("turn", op, lambda: permutation(order.results))
    if bounds is not None and turn is not None and frame.launch.options.order == "cpu":
        subscripts, turn = _reordered(subscripts, len(captured), turn), tuple(range(len(turn)))
    if bounds is None or turn is None:
        return _scattered(frame, op, base, captured, subscripts, points, order, symbols)
    spans = [_span(low, high, wanted[turn.index(d)]) for d, (low, high) in enumerate(bounds)]
    shape = tuple(spans[d][1] for d in turn)
    if any(n not in (w, DYNAMIC_INDEX) and w != DYNAMIC_INDEX for n, w in zip(shape, wanted, strict=True)):
        raise frame.error(
            op,
            f"the set walked in order gives a tile of {list(shape)}, the result type says {list(wanted)}",
            "the extents of the tile are those of the set, permuted by the order",
        )
    axes = tuple(turn.index(d) for d in range(len(turn)))
    return Tile(base, shape, captured, tuple(s[0] for s in spans), axes, subscripts)


def _span(low: int | None, high: int | None, extent: int) -> tuple[int, int]:
    """First value and number of values; open ends are given by the tile's extent."""
    if low is None:
        low = 0 if high is None else high - extent + 1
    return low, max(extent if high is None else high - low + 1, 0)


def _reordered(subscripts: tuple[Subscript, ...], fixed: int, turn: tuple[int, ...]) -> tuple[Subscript, ...]:
    """Subscripts of a set that lives in the tile's space: displacement d is the tile's dim `turn[d]`."""
    dims = [AffineExpr.dimension(k) for k in range(fixed)] + [AffineExpr.dimension(fixed + d) for d in turn]
    replaced = [tuple(e.replace_dims_and_symbols(dims, []) for e in s.maps) for s in subscripts]
    return tuple(
        Subscript(maps, s.index, None if s.index is not None else linear(maps[0], len(dims)))
        for maps, s in zip(replaced, subscripts, strict=True)
    )


def _scattered(
    frame: Frame,
    op: Operation,
    base: View | Distributed,
    captured: tuple[int, ...],
    subscripts: tuple[Subscript, ...],
    points: AffineSet,
    order: AffineMap,
    symbols: tuple[int, ...],
) -> Tile:
    """A tile over a set that is no box, or in an order that is no permutation: every point is listed and
    sorted."""
    shape: tuple[int, ...] = op.results[0].type.get_shape()  # type: ignore[attr-defined]
    reach = sum(shape) + 1
    dims = [d.reshape(-1) for d in np.broadcast_arrays(*_candidates(points, symbols, shape, reach))]
    inside = np.broadcast_to(contains(points, dims, symbols), dims[0].shape)
    found = np.stack([d[inside] for d in dims], axis=1)
    if len(found) != int(np.prod(shape, dtype=np.int64)):
        raise frame.error(op, f"the set has {len(found)} points, the tile {list(shape)} positions")
    keys = [np.broadcast_to(evaluate(e, list(found.T)), len(found)) for e in order.results]
    found = found[np.lexsort(keys[::-1])]
    return Tile(base, shape, captured, (), (), subscripts, found)


def _candidates(points: AffineSet, symbols: Sequence[int], shape: Sequence[int], reach: int) -> list[Array]:
    """Index arrays of a box that holds the set, from the constraints on single dims."""
    simple = [c for c in points.constraints if len((c.lhs - c.rhs).used_dims()) <= 1]
    bounds = box(AffineSet(points.num_dims, points.num_symbols, tuple(simple)), symbols)
    assert bounds is not None or simple
    ends = bounds or tuple((None, None) for _ in shape)
    spans = [(0 if low is None else low, reach if high is None else high) for low, high in ends]
    rank = len(spans)
    return [
        np.arange(low, high + 1, dtype=np.int64).reshape([-1 if k == d else 1 for k in range(rank)])
        for d, (low, high) in enumerate(spans)
    ]


def _load(frame: Frame, op: Operation) -> Sequence[Any]:
    tile: Tile = frame.get(op.operands[0])
    try:
        values = load(tile, frame.launch.options.bounds == "strict")
    except OutOfBounds as error:
        raise _outside(frame, op, error) from None
    if _is_global(tile):
        frame.launch.report.read_bytes += values.nbytes
    return [_typed(frame, op, values, tile.base.dtype, element_type(op.results[0].type))]


def _store(frame: Frame, op: Operation) -> Sequence[Any]:
    values = frame.array(op, op.operands[0])
    tile: Tile = frame.get(op.operands[1])
    if values.shape != tile.shape:
        raise frame.error(op, f"a tensor of {list(values.shape)} into a tile of {list(tile.shape)}")
    values = _typed(frame, op, values, element_type(op.operands[0].type), tile.base.dtype)
    try:
        store(tile, values, frame.launch.options.bounds == "strict")
    except OutOfBounds as error:
        raise _outside(frame, op, error) from None
    if _is_global(tile):
        frame.launch.report.written_bytes += values.nbytes
    return []


def _typed(frame: Frame, op: Operation, values: Array, src: str, dst: str) -> Array:
    if src == dst:
        return values
    frame.warn(op, f"converts {src} to {dst}: the tensor's element type is not the view's")
    return cast(values, src, dst)


def _is_global(tile: Tile) -> bool:
    return tile.base.is_global if isinstance(tile.base, View) else any(p.is_global for p in tile.base.parts)


def _outside(frame: Frame, op: Operation, error: OutOfBounds) -> Exception:
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
    "ktdp.construct_access_tile": _access_tile,
    "ktdp.construct_indirect_access_tile": _indirect_access_tile,
    "ktdp.load": _load,
    "ktdp.store": _store,
    "ktdp.runtime_arg_extract": _runtime_arg,
}
"""The handler of every ktdp op that needs no other tile, by name."""
