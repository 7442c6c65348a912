"""Memory views: sizes against the memref, coordinate sets against sizes, parts of a distributed view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, StridedLayoutAttr

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.ktdp.spaces import MemorySpaceAttr, SpyreMemorySpaceAttr
from headrace.ir.rules.scope import Rule, Scope, error, tiles_of, warning
from headrace.ir.sets import box

Box = list[tuple[int, int]]


def _view(scope: Scope, op: Any) -> Iterator[Diagnostic]:
    yield from _space(op)
    yield from _layout(op)
    sizes, shape = _extents(scope, op, op.static_sizes, op.sizes), op.result.type.get_shape()
    for dim, (size, extent) in enumerate(zip(sizes, shape, strict=True)):
        if size is not None and extent not in (size, DYNAMIC_INDEX):
            yield error(
                op,
                f"size {size} of dim {dim} does not match the extent {extent} of {op.result.type}",
                "the memref type has the view's sizes",
            )
    for dim, stride in enumerate(_extents(scope, op, op.static_strides, op.strides)):
        if stride is not None and stride < 0:
            yield warning(
                op, f"stride {stride} of dim {dim} is negative", "start the view at its lowest element"
            )
    points = op.coordinate_set.data
    if points.num_dims != len(sizes):
        yield error(op, f"coordinate_set has {points.num_dims} dims, but the view has rank {len(sizes)}")
    elif points.num_symbols > len(op.sizes):
        yield error(
            op,
            f"coordinate_set has {points.num_symbols} symbols but the view has {len(op.sizes)} dynamic sizes",
            "symbols stand for the dynamic sizes, from left to right",
        )
    else:
        yield from _set_against_sizes(op, sizes)


def _space(op: Any) -> Iterator[Diagnostic]:
    space, named = op.memory_space, op.result.type.memory_space
    if isinstance(space, SpyreMemorySpaceAttr):
        yield error(op, f"nothing is addressed in {space.space.value}", "use #ktdp.memory_space<ct_local>")
    elif space.tile is not None and space.tile >= tiles_of(op):
        yield error(op, f"ct_id {space.tile} names no tile: the grid has {tiles_of(op)}")
    if isinstance(named, MemorySpaceAttr) and named != space:
        yield warning(op, f"memory_space is {space}, {op.result.type} says another", "the attribute counts")


def _layout(op: Any) -> Iterator[Diagnostic]:
    """Strides in the memref's type are those of the op."""
    layout = op.result.type.layout
    if isinstance(layout, NoneAttr):
        return
    given = layout.get_strides() if isinstance(layout, StridedLayoutAttr) else None
    strides = [None if s == DYNAMIC_INDEX else s for s in op.static_strides.get_values()]
    if given is None:
        yield error(
            op, f"the layout of {op.result.type} is no list of strides", "leave it out: the op has strides"
        )
    elif any(None not in (a, b) and a != b for a, b in zip(given, strides, strict=False)):
        yield error(op, f"{op.result.type} has other strides than the view", "leave the type's layout out")


def _extents(scope: Scope, op: Any, static: Any, dynamic: Any) -> list[int | None]:
    """Sizes or strides; None for one that is not the same on every tile."""
    values = iter(dynamic)
    found: list[int | None] = []
    for n in static.get_values():
        if n != DYNAMIC_INDEX:
            found.append(int(n))
            continue
        bounds = scope.range_of(op, next(values))
        found.append(bounds[0] if bounds is not None and bounds[0] == bounds[1] else None)
    return found


def _set_against_sizes(op: Any, sizes: list[int | None]) -> Iterator[Diagnostic]:
    bounds = None if op.coordinate_set.data.num_symbols else box(op.coordinate_set.data)
    for dim, ((low, high), size) in enumerate(zip(bounds or (), sizes, strict=bounds is not None)):
        if low is not None and high is not None and size is not None and high - low + 1 > size:
            yield error(
                op,
                f"coordinate_set has {high - low + 1} coordinates along dim {dim}, the view has {size}",
                f"let the set end at {low + size - 1}",
            )


def _distributed(_: Scope, op: Any) -> Iterator[Diagnostic]:
    if not op.memrefs:
        yield error(op, "needs at least one part")
        return
    boxes = [_part(v) for v in op.memrefs]
    known = [b for b in boxes if b is not None]
    for i, a in enumerate(boxes):
        for j, b in enumerate(boxes[:i]):
            if a is not None and b is not None and _overlap(a, b):
                yield warning(op, f"parts {j} and {i} overlap", "a coordinate belongs to one part")
    if len(known) < len(boxes):
        return
    for dim, extent in enumerate(op.results[0].type.get_shape()):
        reach = max(b[dim][1] for b in known) + 1
        if extent not in (reach, DYNAMIC_INDEX):
            yield error(
                op,
                f"the parts end at {reach} along dim {dim}, the result's extent is {extent}",
                "each part's coordinate_set says where in the whole it lies",
            )


def _part(value: Any) -> Box | None:
    """The box of a part, None when it is not known."""
    owner = value.owner
    if getattr(owner, "name", "") != "ktdp.construct_memory_view" or owner.coordinate_set.data.num_symbols:
        return None
    bounds = box(owner.coordinate_set.data)
    if bounds is None or any(low is None or high is None for low, high in bounds):
        return None
    return [(low or 0, high or 0) for low, high in bounds]


def _overlap(a: Box, b: Box) -> bool:
    return all(max(x[0], y[0]) <= min(x[1], y[1]) for x, y in zip(a, b, strict=True))


VIEWS: dict[str, Rule] = {
    "ktdp.construct_memory_view": _view,
    "ktdp.construct_distributed_memory_view": _distributed,
}
