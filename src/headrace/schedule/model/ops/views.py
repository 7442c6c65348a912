"""Memory views and direct access tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from headrace.ir.ktdp import MemorySpaceAttr, SpyreMemorySpaceAttr
from headrace.ir.text import location
from headrace.numbers.dtypes import is_known
from headrace.schedule.graph import Indirect, View
from headrace.schedule.model.algebra import affine
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.attributes import dtype_of, integers, literal
from headrace.schedule.model.bodies.body import from_linear, linear
from headrace.schedule.model.state import MemoryView, Part, Refused, State, Tile
from headrace.schedule.model.tensors import Tensor


def memory_view(state: State, op: Operation) -> MemoryView:
    """The view of `ktdp.construct_memory_view`."""
    sizes, strides = _numbers(state, op)
    dtype = dtype_of(op.results[0].type)
    if not is_known(dtype):
        raise Refused(f"elements of type {dtype} are not supported")
    start = state.integer(op.operands[0])
    low, high = _region(state, op, sizes)
    held = tuple(min(n, b - a + 1) for n, a, b in zip(sizes, low, high, strict=True))
    view = View(
        start.arg,
        linear(Num(start.const, start.terms)),
        dtype,
        held,
        tuple(strides),
        _space(op),
        location(op),
    )
    return MemoryView(
        tuple(sizes), dtype, (Part(view, low, tuple(a + n - 1 for a, n in zip(low, held, strict=True))),)
    )


def _numbers(state: State, op: Operation) -> tuple[list[int], list[int]]:
    dynamic = [state.integer(v) for v in list(op.operands)[1:]]
    lists: list[list[int]] = []
    for name in ("static_sizes", "static_strides"):
        lists.append([state.fixed(dynamic.pop(0)) if n == DYNAMIC_INDEX else n for n in integers(op, name)])
    if any(n < 0 for n in lists[0]):
        raise Refused("a size of the view is negative")
    return lists[0], lists[1]


def _space(op: Operation) -> Literal["global", "ct_local"]:
    attr = literal(op, "memory_space")
    if attr is None:
        return "global"
    if not isinstance(attr, MemorySpaceAttr | SpyreMemorySpaceAttr):
        raise Refused(f"unknown memory space {attr}", "use #ktdp.memory_space<global> or <ct_local>")
    if attr.tile is not None:
        raise Refused(
            "the scratchpad of a given tile is not supported",
            "use ct_local without ct_id, or pass the data through memory",
        )
    return "ct_local" if attr.is_local else "global"


def _region(state: State, op: Operation, sizes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Inclusive corners of the coordinate set: its symbols are the dynamic sizes."""
    attr = literal(op, "coordinate_set")
    whole = tuple(0 for _ in sizes), tuple(n - 1 for n in sizes)
    if attr is None or attr.data.num_dims != len(sizes):
        return whole
    dynamic = integers(op, "static_sizes").count(DYNAMIC_INDEX)
    symbols = [state.integer(v) for v in list(op.operands)[1 : 1 + dynamic]]
    corners = affine.box(attr.data, symbols) if attr.data.num_symbols <= len(symbols) else None
    if corners is None:
        raise Refused("the coordinate set is no box", "describe parts of a matrix by one view each")
    return tuple(state.fixed(a) for a, _ in corners), tuple(state.fixed(b) for _, b in corners)


def distributed_view(state: State, op: Operation) -> MemoryView:
    """The view of `ktdp.construct_distributed_memory_view`: the partitions of its operands."""
    bound = [state.get(v) for v in op.operands]
    parts = tuple(p for b in bound if isinstance(b, MemoryView) for p in b.parts)
    if len(bound) != len([b for b in bound if isinstance(b, MemoryView)]) or not parts:
        raise Refused("a partition is no memory view")
    kind = op.results[0].type
    assert isinstance(kind, MemRefType)
    rank = len(kind.get_shape())
    reach = [1 + max(p.high[k] for p in parts) for k in range(rank)]
    shape = tuple(reach[k] if n < 0 else n for k, n in enumerate(kind.get_shape()))
    return MemoryView(shape, parts[0].view.dtype, parts)


def order_of(amap: AffineMap) -> list[int]:
    """The displacement dim that every tile dim runs over."""
    found = [e.position for e in amap.results if isinstance(e, AffineDimExpr)]
    if sorted(found) != list(range(amap.num_dims)) or len(found) != len(amap.results):
        raise Refused("the order is no permutation", "use a permutation of the dims")
    return found


def access_tile(state: State, op: Operation) -> Tile:
    """The tile of `ktdp.construct_access_tile`."""
    indices = integers(op, "operandSegmentSizes")[1]
    base = state.get(op.operands[0])
    if not isinstance(base, MemoryView):
        raise Refused(
            "the base of this access tile is no memory view", "slice tensors with tensor.extract_slice"
        )
    amap = literal(op, "base_map").data  # type: ignore[union-attr]
    given = list(op.operands)[1:]
    stored = {k: found for k, v in enumerate(given) if (found := stored_index(state, v)) is not None}
    operands = [Num(0) if k in stored else state.integer(v) for k, v in enumerate(given)]
    indirect = _indexed(amap, stored)
    anchor = affine.apply(amap, operands[:indices], state.ranges)
    region = literal(op, "access_tile_set").data  # type: ignore[union-attr]
    corners = affine.box(region, operands[indices:])
    if corners is None:
        raise Refused("the access tile set is no bounded box", "bound every dim from both sides")
    extents = [state.fixed(nm.add(nm.sub(b, a), Num(1))) for a, b in corners]
    order = order_of(literal(op, "access_tile_order").data)  # type: ignore[union-attr]
    shape = tuple(extents[p] for p in order)
    check_shape(op, shape)
    origin = tuple(nm.add(x, a) for x, (a, _) in zip(anchor, corners, strict=True))
    indexed = {i.view_dim for i in indirect}
    if any(extents[d] != 1 for d in indexed):
        raise Refused("a dim addressed by a number from memory must have extent 1 in the tile")
    return Tile(base, origin, tuple(None if d in indexed else d for d in order), shape, indirect)


def _indexed(amap: AffineMap, stored: Mapping[int, tuple[View, tuple[Num, ...]]]) -> tuple[Indirect, ...]:
    """The view dims whose subscript is a number stored in memory."""
    found: list[Indirect] = []
    for d, expr in enumerate(amap.results):
        used = [k for k in expr.used_dims() if k in stored]
        if used and not isinstance(expr, AffineDimExpr):
            raise Refused(
                "a subscript computed from a number in memory is not supported",
                "store the computed index and use it as it is",
            )
        for k in used:
            view, origin = stored[k]
            found.append(Indirect(d, view, tuple(linear(o) for o in origin), (None,) * len(origin)))
    return tuple(found)


def stored_index(state: State, ssa: SSAValue) -> tuple[View, tuple[Num, ...]] | None:
    """Where an integer that was loaded from memory, and only cast since, is stored."""
    bound = state.get(ssa)
    while isinstance(bound, Tensor) and bound.source in state.casts:
        bound = state.casts[bound.source]
    if not isinstance(bound, Tensor) or bound.shape or bound.source not in state.loads:
        return None
    load, stores = state.loads[bound.source]
    if load.indirect or state.stores[load.view.space, load.view.arg] != stores:
        return None
    origin = [from_linear(o) for o in load.origin]
    for axis, (_, offset) in zip(load.axes, bound.axes, strict=True):
        if axis is not None:
            origin[axis] = nm.add(origin[axis], Num(offset))
    return load.view, tuple(origin)


def check_shape(op: Operation, shape: tuple[int, ...]) -> None:
    """The tile's type must have the extents of its set."""
    if any(n < 1 for n in shape):
        raise Refused("the access tile is empty")
    written = tuple(op.results[0].type.get_shape())
    if len(written) != len(shape) or any(n >= 0 and n != m for n, m in zip(written, shape, strict=True)):
        raise Refused(
            f"the tile set spans {list(shape)}, the type says {list(written)}", "make set and type agree"
        )


def leaves(state: State, value: Num, extent: int, low: int, high: int) -> str:
    """What is wrong with coordinates value .. value + extent - 1 in low .. high; "" when nothing is."""
    first, last = nm.bounds(value, state.ranges)
    reach = int(np.min(first)), int(np.max(np.asarray(last))) + extent - 1
    return (
        ""
        if low <= reach[0] and reach[1] <= high
        else f"reaches {reach[0]}..{reach[1]}, the view holds {low}..{high}"
    )
