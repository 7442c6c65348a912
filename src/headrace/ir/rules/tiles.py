"""Access tiles: order, set and shape against each other; coordinates against the view where known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType
from xdsl.ir.affine import AffineExpr, AffineMap, AffineSet

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.ranges import Range
from headrace.ir.rules.scope import Rule, Scope, error, hull, is_inside, warning
from headrace.ir.sets import Bounds, box, contains, linear, permutation

MOST_POINTS = 4096
"""Points of a set that is no box are counted up to here."""


def _direct(scope: Scope, op: Any) -> Iterator[Diagnostic]:
    subscripts, rank = op.base_map.data.results, op.base.type.get_num_dims()
    if len(subscripts) != rank:
        yield error(op, f"{len(subscripts)} subscripts of a base of rank {rank}", f"give {rank} subscripts")
        return
    points = op.access_tile_set.data
    yield from _order_and_shape(op, "access_tile", points, op.access_tile_order.data)
    bounds = _finite(points)
    if bounds is None:
        return
    anchors = scope.ranges_of(op, op.indices)
    shape = op.base.type.get_shape()
    for dim, (expression, (low, high)) in enumerate(zip(subscripts, bounds, strict=True)):
        start = _values(expression, anchors)
        if start is not None and low <= high:
            yield from _outside(
                scope, op, dim, (start[0] + low, start[1] + low), (start[0] + high, start[1] + high), shape
            )


def _indirect(scope: Scope, op: Any) -> Iterator[Diagnostic]:
    points = op.variables_space_set.data
    for view in op.indirect_memrefs:
        if not isinstance(view.type.element_type, IntegerType | IndexType):
            yield error(
                op, f"an index memref holds integers, not {view.type.element_type}", "store indices as i32"
            )
    yield from _order_and_shape(op, "variables_space", points, op.variables_space_order.data)
    bounds = _finite(points)
    if bounds is None or any(low > high for low, high in bounds):
        return
    captured = scope.ranges_of(op, op.captured_variables)
    views = iter(op.indirect_memrefs)
    for dim, (kind, map) in enumerate(
        zip(op.per_dim_subscript_kinds, op.per_dim_subscript_maps, strict=True)
    ):
        base, dims = (next(views), None) if kind.value.data else (op.base, dim)
        for at, expression in enumerate(map.data.results):
            yield from _span(
                scope,
                op,
                dim if dims is not None else at,
                expression,
                captured,
                bounds,
                base.type.get_shape(),
            )


def _span(
    scope: Scope,
    op: Any,
    dim: int,
    expression: AffineExpr,
    captured: Sequence[Range | None],
    bounds: Sequence[Range],
    shape: Sequence[int],
) -> Iterator[Diagnostic]:
    """An expression of captured values and variables: its first and last value on every tile."""
    form = linear(expression, len(captured) + len(bounds))
    if form is None:
        return
    lows = [b[0 if c > 0 else 1] for b, c in zip(bounds, form.coefficients[len(captured) :], strict=True)]
    highs = [b[1 if c > 0 else 0] for b, c in zip(bounds, form.coefficients[len(captured) :], strict=True)]
    first = hull(form, [*captured, *((n, n) for n in lows)])
    last = hull(form, [*captured, *((n, n) for n in highs)])
    if first is not None and last is not None:
        yield from _outside(scope, op, dim, first, last, shape)


def _outside(
    scope: Scope, op: Any, dim: int, first: Range, last: Range, shape: Sequence[int]
) -> Iterator[Diagnostic]:
    """A finding when the first or the last coordinate lies outside on every tile and iteration."""
    extent = shape[dim]
    if extent == DYNAMIC_INDEX or (first[1] >= 0 and last[0] < extent):
        return
    say = warning if scope.is_masked or is_inside(op, ("scf.if", "scf.while")) else error
    yield say(
        op,
        f"coordinates {first[0]} to {last[0]} of dim {dim} are outside its extent {extent}",
        "move the tile or make it smaller; --set bounds=mask reads zeros there and drops writes",
    )


def _values(expression: AffineExpr, ranges: Sequence[Range | None]) -> Range | None:
    form = linear(expression, len(ranges))
    return None if form is None else hull(form, ranges)


def _finite(points: AffineSet) -> list[Range] | None:
    """The set as a closed box, None when it is none or depends on symbols."""
    bounds = None if points.num_symbols else box(points)
    if bounds is None or any(low is None or high is None for low, high in bounds):
        return None
    return [(low, high) for low, high in bounds if low is not None and high is not None]


def _order_and_shape(op: Any, name: str, points: AffineSet, order: AffineMap) -> Iterator[Diagnostic]:
    turn = permutation(order.results)
    if turn is None:
        yield error(op, f"{name}_order is no permutation", "let every dim be exactly one result")
        return
    if points.num_symbols:
        return
    wanted: Sequence[int] = op.result.type.get_shape()
    bounds = box(points)
    if bounds is None:
        yield from _count(op, name, points, wanted)
        return
    found = [_extent(b) for b in bounds]
    walked = [found[d] for d in turn]
    if _fits(walked, wanted):
        return
    text = f"{name}_set walked in {name}_order gives a tile of {_shape(walked)}, "
    text += f"the result type says {_shape(wanted)}"
    if _fits(found, wanted):
        yield warning(op, text, "the interpreter reads it the other way with --set order=cpu")
    else:
        yield error(op, text, "the tile's extents are those of the set, permuted by the order")


def _extent(bounds: Bounds) -> int | None:
    low, high = bounds
    return None if low is None or high is None else max(high - low + 1, 0)


def _fits(found: Sequence[int | None], wanted: Sequence[int]) -> bool:
    return all(f is None or w in (f, DYNAMIC_INDEX) for f, w in zip(found, wanted, strict=True))


def _shape(extents: Sequence[int | None]) -> str:
    return "x".join("?" if n in (None, DYNAMIC_INDEX) else str(n) for n in extents)


def _count(op: Any, name: str, points: AffineSet, wanted: Sequence[int]) -> Iterator[Diagnostic]:
    """A set that is no box has as many points as the tile has positions."""
    single = tuple(c for c in points.constraints if len((c.lhs - c.rhs).used_dims()) <= 1)
    bounds = _finite(AffineSet(points.num_dims, 0, single))
    if bounds is None or DYNAMIC_INDEX in wanted:
        return
    if math.prod(max(high - low + 1, 0) for low, high in bounds) > MOST_POINTS:
        return
    inside = sum(
        bool(contains(points, p)) for p in itertools.product(*(range(lo, hi + 1) for lo, hi in bounds))
    )
    if inside != math.prod(wanted):
        yield error(
            op, f"{name}_set has {inside} points, the tile {_shape(wanted)} has {math.prod(wanted)} positions"
        )


def _load(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _element(op, op.access_tile, op.result.type.element_type)


def _store(_: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _element(op, op.access_tile, op.data_tile.type.element_type)


def _element(op: Any, tile: Any, element: Any) -> Iterator[Diagnostic]:
    base = getattr(tile.owner, "base", None)
    if base is not None and base.type.element_type != element:
        yield warning(
            op,
            f"converts between {element} and the view's {base.type.element_type}",
            "load what the view holds and convert with arith.extf or arith.truncf",
        )


TILES: dict[str, Rule] = {
    "ktdp.construct_access_tile": _direct,
    "ktdp.construct_indirect_access_tile": _indirect,
    "ktdp.load": _load,
    "ktdp.store": _store,
}
