"""Composite ops as loops over their time steps: gathers and scatters through FIFOs, bodies that compute.

A plain composite is one node (`transfers`). Where every step reads an integer from memory first, or does more
than pass its vector on, the steps are spelled out: one loop per time dim around the nodes of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from headrace.ir.text import location
from headrace.machine.decode.affine import shifts
from headrace.machine.decode.blocks import Space, Window, box, first_dim_stride, space
from headrace.machine.decode.meanings import View
from headrace.machine.decode.reading import (
    attribute,
    body_of,
    dtype_of,
    fault,
    segments,
    shape_of,
)
from headrace.machine.decode.transfers import expect_one_type, product, subscripts
from headrace.machine.image import Box, Copy, Extract, Index, Load, Loop, Node, Store, Value, VectorOp
from headrace.machine.index import of
from headrace.numbers.dtypes import is_integer, itemsize

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder

_NO_TIME = Space((), (), ())


class Steps:
    """The time steps of one composite op, and what a step needs."""

    def __init__(self, decoder: ProgramDecoder, op: Operation, symbols: Sequence[SSAValue]) -> None:
        self.decoder, self.op = decoder, op
        self.symbols = tuple(decoder.index(v) for v in symbols)
        self.times = space(op, "time_set", "time_order", self.symbols, decoder.builder.coordinate)

    def box(self, view: View, at: Sequence[Index], side: str) -> Box:
        """The vector of a step at a position."""
        run = space(self.op, f"{side}_set", f"{side}_order", self.symbols, self.decoder.builder.coordinate)
        return box(self.op, view, at, Window(run, _NO_TIME, None, ()))

    def moved(self, at: Sequence[Index], key: str) -> list[Index]:
        """A position moved by a time map; where the op has no such map it stays."""
        if attribute(self.op, key) is None:
            return list(at)
        found = shifts(self.op, key, self.times.positions, self.symbols, len(at))
        return [a + b for a, b in zip(at, found, strict=True)]

    def loops(self, body: Sequence[Node]) -> list[Node]:
        """The nodes of a step inside one loop per time dim, the slowest outermost."""
        nodes = tuple(body)
        for iv, extent in reversed(list(zip(self.times.coordinates, self.times.extents, strict=True))):
            number = self.decoder.builder.loop()
            nodes = (Loop(number, iv, Index(), extent, Index(1), nodes, where=location(self.op)),)
        return list(nodes)


def picked(
    decoder: ProgramDecoder,
    op: Operation,
    index: View,
    at: Sequence[Index],
    view: View,
    place: Sequence[Index],
) -> tuple[list[Node], View, list[Index]]:
    """(nodes that read one integer, the view, the position): where that integer moves a direct access to.

    An element of type `index` is an element address and moves the view, any other integer is a coordinate of
    the view's first dim.
    """
    if not is_integer(index.dtype):
        fault(op, f"the index view has element type {index.dtype}")
    if not place:
        fault(op, "the direct view of an indirect access needs a dimension")
    one = Space((Index(),) * len(index.shape), (), ())
    found = box(op, index, at, Window(one, _NO_TIME, None, ()))
    value = decoder.builder.value((1,), index.dtype)
    symbol = decoder.builder.symbol("loaded", "loaded")
    where = location(op)
    nodes: list[Node] = [Load(found, value, where), Extract(value, 0, symbol, where)]
    if index.dtype == "index":
        moved = View(
            view.place, view.base + of(symbol) * itemsize(view.dtype), view.dtype, view.layout, view.shape
        )
        return nodes, moved, list(place)
    first_dim_stride(op, view)
    return nodes, view, [place[0] + of(symbol), *place[1:]]


def vector_load(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.indirect_vector_load`."""
    index, direct, index_ops, direct_ops, *_ = segments(op)
    if decoder.options.indirect_vector == "lane":
        return _lanes_load(decoder, op, index, direct, index_ops, direct_ops)
    nodes, view, at = _picked_vector(decoder, op, index, direct, index_ops, direct_ops)
    found = _vector_box(decoder, op, view, at, "load")
    result = decoder.define(op.results[0])
    expect_one_type(op, found.dtype, result.dtype)
    return [*nodes, Load(found, result, location(op))]


def vector_store(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.indirect_vector_store`."""
    value, index, direct, index_ops, direct_ops, *_ = segments(op)
    vector = decoder.value(value[0])
    if decoder.options.indirect_vector == "lane":
        return _lanes_store(decoder, op, vector.shape, value, index, direct, index_ops, direct_ops)
    nodes, view, at = _picked_vector(decoder, op, index, direct, index_ops, direct_ops)
    found = _vector_box(decoder, op, view, at, "store")
    expect_one_type(op, found.dtype, vector.dtype)
    return [*nodes, Store(vector, found, location(op))]


def _picked_vector(
    decoder: ProgramDecoder,
    op: Operation,
    index: Sequence[SSAValue],
    direct: Sequence[SSAValue],
    index_ops: Sequence[SSAValue],
    direct_ops: Sequence[SSAValue],
) -> tuple[list[Node], View, list[Index]]:
    at = subscripts(op, decoder.scope, "indirect_map", index_ops)
    place = subscripts(op, decoder.scope, "direct_map", direct_ops)
    return picked(decoder, op, decoder.view(index[0]), at, decoder.view(direct[0]), place)


def _vector_box(decoder: ProgramDecoder, op: Operation, view: View, at: Sequence[Index], side: str) -> Box:
    run = space(op, f"{side}_set", f"{side}_order", (), decoder.builder.coordinate)
    return box(op, view, at, Window(run, _NO_TIME, None, ()))


# ---- one integer per lane ----------------------------------------------------------------------------------
def _lane_places(
    decoder: ProgramDecoder,
    op: Operation,
    side: str,
    index: Sequence[SSAValue],
    direct: Sequence[SSAValue],
    index_ops: Sequence[SSAValue],
    direct_ops: Sequence[SSAValue],
) -> list[tuple[list[Node], Box]]:
    """For every lane the nodes that read its integer, and the element it names."""
    run = space(op, f"{side}_set", f"{side}_order", (), decoder.builder.coordinate)
    extents = [e.constant for e in run.extents]
    if None in extents:
        fault(op, f"{side}_set must have a constant size")
    at = subscripts(op, decoder.scope, "indirect_map", index_ops)
    place = subscripts(op, decoder.scope, "direct_map", direct_ops)
    view, table = decoder.view(direct[0]), decoder.view(index[0])
    out = []
    lanes: list[tuple[int, ...]] = [()]
    for extent in extents:
        lanes = [(*lane, k) for lane in lanes for k in range(extent or 0)]
    for lane in lanes:
        here = {s: Index(k) for s, k in zip(run.coordinates, lane, strict=True)}
        offsets = [p.replace(here) for p in run.positions]
        mine = [a + o for a, o in zip(at, offsets, strict=False)]
        if len(offsets) < len(at):
            fault(op, f"{side}_set of {len(offsets)} dimensions for an index view of rank {len(at)}")
        nodes, moved, start = picked(decoder, op, table, mine, view, [p + Index() for p in place])
        rest = [start[0], *(s + o for s, o in zip(start[1:], offsets[1:], strict=False))]
        one = Space((Index(),) * len(view.shape), (), ())
        out.append((nodes, box(op, moved, rest, Window(one, _NO_TIME, None, ()))))
    return out


def _lanes_load(
    decoder: ProgramDecoder,
    op: Operation,
    index: Sequence[SSAValue],
    direct: Sequence[SSAValue],
    index_ops: Sequence[SSAValue],
    direct_ops: Sequence[SSAValue],
) -> list[Node]:
    result = decoder.define(op.results[0])
    places = _lane_places(decoder, op, "load", index, direct, index_ops, direct_ops)
    if len(places) != result.lanes:
        fault(op, f"load_set has {len(places)} elements for a vector of {result.lanes} lanes")
    nodes: list[Node] = []
    parts = []
    where = location(op)
    for reads, found in places:
        expect_one_type(op, found.dtype, result.dtype)
        part = decoder.builder.value((1,), result.dtype)
        nodes += [*reads, Load(found, part, where)]
        parts.append(part)
    order = (0, *range(-1, -len(parts), -1))
    details = (("indices", order), ("repetition", 1))
    return [*nodes, VectorOp("vectorchain.shuffle", "shuffle", tuple(parts), result, details, where=where)]


def _lanes_store(
    decoder: ProgramDecoder,
    op: Operation,
    shape: tuple[int, ...],
    value: Sequence[SSAValue],
    index: Sequence[SSAValue],
    direct: Sequence[SSAValue],
    index_ops: Sequence[SSAValue],
    direct_ops: Sequence[SSAValue],
) -> list[Node]:
    vector = decoder.value(value[0])
    places = _lane_places(decoder, op, "store", index, direct, index_ops, direct_ops)
    if len(places) > vector.lanes:
        fault(op, f"store_set has {len(places)} elements for a vector of {vector.lanes} lanes")
    nodes: list[Node] = []
    where = location(op)
    for lane, (reads, found) in enumerate(places):
        expect_one_type(op, found.dtype, vector.dtype)
        part = decoder.builder.value((1,), vector.dtype)
        pick = (("indices", (lane,)), ("repetition", 1))
        nodes += [*reads, VectorOp("vectorchain.shuffle", "shuffle", (vector,), part, pick, where=where)]
        nodes.append(Store(part, found, where))
    return nodes


# ---- composite forms ---------------------------------------------------------------------------------------
def gather(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.composite_indirect_load`: every step reads an integer, loads what it names, runs the body."""
    index, direct, index_ops, direct_ops, _, symbols = segments(op)
    steps = Steps(decoder, op, symbols)
    nodes, view, at = _picked_step(decoder, steps, index, direct, index_ops, direct_ops)
    block = body_of(op.regions[0])
    found = steps.box(view, at, "load")
    vector = decoder.define(block.args[0])
    expect_one_type(op, found.dtype, vector.dtype)
    return steps.loops([*nodes, Load(found, vector, location(op)), *decoder.block(block)])


def scatter(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.composite_indirect_store`: every step reads an integer and stores what the body yields there."""
    index, direct, index_ops, direct_ops, _, symbols = segments(op)
    steps = Steps(decoder, op, symbols)
    nodes, view, at = _picked_step(decoder, steps, index, direct, index_ops, direct_ops)
    found = steps.box(view, at, "store")
    body, vector = _yielded(decoder, op)
    expect_one_type(op, found.dtype, vector.dtype)
    return steps.loops([*nodes, *body, Store(vector, found, location(op))])


def _picked_step(
    decoder: ProgramDecoder,
    steps: Steps,
    index: Sequence[SSAValue],
    direct: Sequence[SSAValue],
    index_ops: Sequence[SSAValue],
    direct_ops: Sequence[SSAValue],
) -> tuple[list[Node], View, list[Index]]:
    """The one time map of these forms walks the index view, as there is nothing else to choose with."""
    op = steps.op
    at = steps.moved(subscripts(op, decoder.scope, "indirect_map", index_ops), "time_addr_map")
    place = subscripts(op, decoder.scope, "direct_map", direct_ops)
    return picked(decoder, op, decoder.view(index[0]), at, decoder.view(direct[0]), place)


def read(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.composite_load` whose body does more than send the vector."""
    memory, operands, symbols = segments(op)[:3]
    steps = Steps(decoder, op, symbols)
    at = steps.moved(subscripts(op, decoder.scope, "affine_map", operands), "time_addr_map")
    found = steps.box(decoder.view(memory[0]), at, "load")
    block = body_of(op.regions[0])
    vector = decoder.define(block.args[0])
    expect_one_type(op, found.dtype, vector.dtype)
    return steps.loops([Load(found, vector, location(op)), *decoder.block(block)])


def write(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.composite_store` whose body does more than receive the vector."""
    memory, operands, *rest = segments(op)
    steps = Steps(decoder, op, [v for part in rest for v in part if str(v.type) == "index"])
    at = steps.moved(subscripts(op, decoder.scope, "affine_map", operands), "time_addr_map")
    found = steps.box(decoder.view(memory[0]), at, "store")
    body, vector = _yielded(decoder, op)
    expect_one_type(op, found.dtype, vector.dtype)
    return steps.loops([*body, Store(vector, found, location(op))])


def copy(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.composite_load_and_store` whose body does something between load and store."""
    source, target, source_ops, target_ops, symbols, _ = segments(op)
    steps = Steps(decoder, op, symbols)
    boxes = []
    for side, memory, key, operands in (
        ("load", source, "src_map", source_ops),
        ("store", target, "dst_map", target_ops),
    ):
        at = steps.moved(subscripts(op, decoder.scope, key, operands), f"{side}_time_addr_map")
        boxes.append(steps.box(decoder.view(memory[0]), at, side))
    block = body_of(op.regions[0])
    loaded = decoder.define(block.args[0])
    body, vector = _yielded(decoder, op)
    expect_one_type(op, boxes[0].dtype, loaded.dtype)
    expect_one_type(op, boxes[1].dtype, vector.dtype)
    where = location(op)
    return steps.loops([Load(boxes[0], loaded, where), *body, Store(vector, boxes[1], where)])


def both_indirect(decoder: ProgramDecoder, op: Operation) -> list[Node]:
    """`agen.composite_indirect_load_and_store` with an index view on both sides: a copy per step."""
    parts = segments(op)
    steps = Steps(decoder, op, parts[9])
    nodes: list[Node] = []
    boxes = []
    for side, k, name in (("load", 0, "src"), ("store", 2, "dst")):
        at = subscripts(op, decoder.scope, f"indirect_{name}_map", parts[4 + k])
        place = subscripts(op, decoder.scope, f"direct_{name}_map", parts[5 + k])
        at = steps.moved(at, f"{side}_indirect_time_addr_map")
        place = steps.moved(place, f"{side}_direct_time_addr_map")
        reads, view, start = picked(
            decoder, op, decoder.view(parts[k][0]), at, decoder.view(parts[k + 1][0]), place
        )
        nodes += reads
        boxes.append(steps.box(view, start, side))
    vector = body_of(op.regions[0]).args[0].type
    for found in boxes:
        expect_one_type(op, found.dtype, dtype_of(op, vector))
    lanes = product(Index(n) for n in shape_of(vector)).constant or 0
    return steps.loops([*nodes, Copy(boxes[0], boxes[1], lanes, where=location(op))])


def _yielded(decoder: ProgramDecoder, op: Operation) -> tuple[tuple[Node, ...], Value]:
    """The nodes of a body, and the vector it yields (the loaded one where it yields nothing)."""
    block = body_of(op.regions[0])
    body = decoder.block(block)
    last = block.last_op
    values = list(last.operands) if last is not None else []
    if not values and not block.args:
        fault(op, "the body yields no vector to store")
    return body, decoder.value(values[0] if values else block.args[0])
