"""What ops that move data touch and pass on, for one unit instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Literal

from headrace.schedule.verify.programs.events import Message, Touch, Work
from headrace.schedule.verify.programs.sets import box_extents, slope
from headrace.schedule.verify.programs.values import Scope

Side = tuple[bool, Any, Any, Any, Any, Any]
"""Is it written, the view, its map and the map's operands, the set of elements, the map of times."""


def message(scope: Scope, op: Any) -> Message:
    """The message of a send or receive."""
    kind, peer, elements, dtype = scope.asked(op, _message)
    return Message(kind, scope[peer], elements, dtype)


def _message(op: Any) -> tuple[Literal["push", "pop"], Any, int, str]:
    """(kind, peer, elements, element type) of a message."""
    is_push = op.name == "dataflow.send"
    vector = op.data.type if is_push else op.result.type
    elements, dtype = prod(map(int, vector.get_shape())), str(vector.element_type)
    return ("push", op.to, elements, dtype) if is_push else ("pop", op.from_, elements, dtype)


def _alone(scope: Scope, op: Any) -> Iterator[Work]:
    """A message outside of any transfer."""
    yield Work(1, (message(scope, op),), (), op)


def _touch(scope: Scope, op: Any, side: Side) -> Touch:
    is_write, memref, amap, operands, elements, time_map = side
    symbols = tuple(scope[v] for v in scope.asked(op, _symbols))
    low = scope.subscripts(amap, operands)
    extents, times = _extents(scope, op, elements, time_map, symbols)
    return Touch(scope[memref], is_write, low, extents[: len(low)], times)


def _extents(scope: Scope, op: Any, elements: Any, time_map: Any, symbols: tuple[int, ...]) -> Any:
    """(box extents, times) of a transfer, which only its symbols change."""
    key = (id(op), id(elements), id(time_map), symbols)
    if key not in scope.shared:
        extents = box_extents(elements, symbols, op)
        counts = box_extents(op.time_set, symbols, op) if time_map is not None else ()
        moves = [slope(time_map, k, symbols) for k in range(len(counts))]
        order = [e.position for e in op.time_order.data.results] if time_map is not None else []
        scope.shared[key] = extents, tuple((counts[k], moves[k]) for k in order)
    return scope.shared[key]


def _symbols(op: Any) -> tuple[Any, ...]:
    return tuple(getattr(op, "time_symbols", ()))


def _copied(op: Any) -> tuple[Side, Side, Any]:
    """Both sides of a copy, and its multicast group."""
    source = (False, op.src, op.src_map, tuple(op.src_indices), op.load_set, op.load_time_addr_map)
    target = (True, op.dst, op.dst_map, tuple(op.dst_indices), op.store_set, op.store_time_addr_map)
    return source, target, op.multicast_info


def _copy(scope: Scope, op: Any) -> Iterator[Work]:
    *sides, info = scope.asked(op, _copied)
    source, target = (_touch(scope, op, side) for side in sides)
    group = scope[info] if info is not None else None
    if not source.is_empty:
        yield Work(1, (), (source, target), op, group)


def _indirect(scope: Scope, op: Any) -> Iterator[Work]:
    """A gather or scatter: the table may be touched in any row, its indices are read."""
    touches = []
    for end, is_write, kind in (("src", False, "load"), ("dst", True, "store")):
        elements, time_map = op.properties[f"{kind}_set"], op.properties[f"{kind}_direct_time_addr_map"]
        memref, amap = getattr(op, f"direct_{end}"), getattr(op, f"direct_{end}_map")
        operands = getattr(op, f"direct_{end}_indices")
        found = _touch(scope, op, (is_write, memref, amap, operands, elements, time_map))
        index = getattr(op, f"indirect_{end}")
        if index is not None:
            found = Touch(found.view, is_write, found.low, found.extents, found.times, True)
            touches.append(_indices(scope, op, end, kind, index))
        touches.append(found)
    if not touches[0].is_empty:
        yield Work(1, (), tuple(touches), op)


def _indices(scope: Scope, op: Any, end: str, kind: str, memref: Any) -> Touch:
    amap, operands = getattr(op, f"indirect_{end}_map"), getattr(op, f"indirect_{end}_indices")
    time_map = op.properties[f"{kind}_indirect_time_addr_map"]
    symbols = tuple(scope[v] for v in op.time_symbols)
    counts = box_extents(op.time_set, symbols, op)
    times = tuple((n, slope(time_map, k, symbols)) for k, n in enumerate(counts))
    low = scope.subscripts(amap, operands)
    return Touch(scope[memref], False, low, (1,) * len(low), times)


def _read(scope: Scope, op: Any) -> Iterator[Work]:
    yield from _stream(
        scope, op, (False, op.memref, op.affine_map, op.indices, op.load_set, op.time_addr_map)
    )


def _write(scope: Scope, op: Any) -> Iterator[Work]:
    yield from _stream(
        scope, op, (True, op.memref, op.affine_map, op.indices, op.store_set, op.time_addr_map)
    )


def _stream(scope: Scope, op: Any, side: Side) -> Iterator[Work]:
    """A transfer to or from a peer, a message a step."""
    touch = _touch(scope, op, side)
    if not touch.is_empty:
        script = tuple(message(scope, child) for child in scope.asked(op, _passing))
        yield Work(prod(count for count, _ in touch.times), script, (touch,), op)


def _passing(op: Any) -> list[Any]:
    """The sends and receives of a step."""
    return [child for child in op.region.block.ops if child.name in MESSAGES]


def _interleave(scope: Scope, op: Any) -> Iterator[Work]:
    """Transfers that take turns: one event with the messages of all at every step."""
    children = [child for child in op.region.block.ops if child.name != "agen.yield"]
    works = [work for child in children for work in TRANSFERS[child.name](scope, child)]
    script = tuple(m for work in works for m in work.script)
    if works:
        yield Work(works[0].steps, script, tuple(t for work in works for t in work.touches), op)


def _vector(scope: Scope, op: Any) -> Iterator[Work]:
    is_write = op.name == "agen.vector_store"
    elements = op.store_set if is_write else op.load_set
    memref = op.operands[1 if is_write else 0]
    touch = _touch(scope, op, (is_write, memref, op.affine_map, op.indices, elements, None))
    yield Work(1, (), (touch,), op)


MESSAGES = ("dataflow.receive", "dataflow.send")
WRITING = (
    "agen.composite_load_and_store",
    "agen.composite_indirect_load_and_store",
    "agen.composite_store",
    "agen.vector_store",
)
TRANSFERS: dict[str, Callable[[Scope, Any], Iterator[Work]]] = {
    "dataflow.receive": _alone,
    "dataflow.send": _alone,
    "agen.composite_load_and_store": _copy,
    "agen.composite_indirect_load_and_store": _indirect,
    "agen.composite_load": _read,
    "agen.composite_store": _write,
    "agen.composite_memory_interleave": _interleave,
    "agen.vector_load": _vector,
    "agen.vector_store": _vector,
}
"""The events of ops that move data."""
