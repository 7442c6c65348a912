"""Access tiles: which coordinates of a view an op touches, and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr, AffineMap, AffineSet

from headrace.semantics.access import Distributed, Subscript, Tile, View
from headrace.semantics.affine import box, contains, evaluate, linear, permutation
from headrace.semantics.frame import Frame, Handler

Array = np.ndarray[Any, Any]


def _access_tile(frame: Frame, op: Any) -> Sequence[Any]:
    base = base_of(frame, op)
    anchors = frame.integers(op.indices)
    symbols = frame.integers(op.symbol_operands)
    rank = len(op.base_map.data.results)
    first = tuple(int(evaluate(e, anchors)) for e in op.base_map.data.results)
    subscripts = displaced(rank)
    order: AffineMap = op.access_tile_order.data
    return [walk(frame, op, base, first, subscripts, op.access_tile_set.data, order, symbols)]


@lru_cache(maxsize=64)
def displaced(rank: int) -> tuple[Subscript, ...]:
    """Subscripts of a direct access tile: coordinate d is the anchor's, a captured integer, plus the
    displacement's, a variable."""
    dims = [AffineExpr.dimension(d) for d in range(2 * rank)]
    return tuple(_direct(dims[d] + dims[rank + d], 2 * rank) for d in range(rank))


def _direct(map: AffineExpr, dims: int) -> Subscript:
    return Subscript((map,), form=linear(map, dims))


def _indirect_access_tile(frame: Frame, op: Any) -> Sequence[Any]:
    base = base_of(frame, op)
    subscripts = indirect_subscripts(frame, op)
    captured, symbols = frame.integers(op.captured_variables), frame.integers(op.symbol_operands)
    order: AffineMap = op.variables_space_order.data
    return [walk(frame, op, base, captured, subscripts, op.variables_space_set.data, order, symbols)]


def indirect_subscripts(frame: Frame, op: Any) -> tuple[Subscript, ...]:
    """The subscripts of an indirect access tile, those through index views with their views."""
    direct: tuple[Subscript | None, ...] = frame.once("subscripts", op, lambda: _subscripts(op))
    indices = iter(frame.get(v) for v in op.indirect_memrefs)
    return tuple(
        s or Subscript(tuple(map.data.results), next(indices))
        for s, map in zip(direct, op.per_dim_subscript_maps, strict=True)
    )


def _subscripts(op: Any) -> tuple[Subscript | None, ...]:
    """The direct subscripts of an indirect access tile, None for the others."""
    kinds = [bool(kind.value.data) for kind in op.per_dim_subscript_kinds]
    maps = [map.data for map in op.per_dim_subscript_maps]
    return tuple(None if k else _direct(m.results[0], m.num_dims) for k, m in zip(kinds, maps, strict=True))


def base_of(frame: Frame, op: Any) -> View | Distributed:
    """The view an access tile is of."""
    base = frame.get(op.base)
    if not isinstance(base, View | Distributed):
        raise frame.error(op, "access tiles of tensors are not supported", "use tensor.extract_slice")
    return base


def walk(
    frame: Frame,
    op: Operation,
    base: View | Distributed,
    captured: tuple[Any, ...],
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
    captured: tuple[Any, ...],
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


TILES: dict[str, Handler] = {
    "ktdp.construct_access_tile": _access_tile,
    "ktdp.construct_indirect_access_tile": _indirect_access_tile,
}
"""The handlers of both ops, by name."""
