"""Single lanes and scalars: extraction, broadcast, integers that become vectors, maps that hold vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from headrace.ir.text import location
from headrace.machine.decode.meanings import FloatArgument
from headrace.machine.decode.reading import fault, integers, is_vector, name_of
from headrace.machine.decode.vectors import argument_node
from headrace.machine.image import Extract, Index, Node, Value, VectorOp
from headrace.machine.index import of

if TYPE_CHECKING:
    from headrace.machine.decode.program import ProgramDecoder


def extract(decoder: ProgramDecoder, op: Operation) -> Node:
    """`vector.extract` of one lane: an integer of the program, or a one-lane vector."""
    source, at = decoder.value(op.operands[0]), integers(op, "static_position")
    lane = 0
    for extent, k in zip(source.shape, at, strict=False):
        if not 0 <= k < extent:
            fault(op, "only one lane at a constant position inside the vector can be extracted")
        lane = lane * extent + k
    if len(at) != len(source.shape) or len(op.operands) > 1:
        fault(op, "only one lane at a constant position inside the vector can be extracted")
    result = op.results[0]
    if is_vector(result.type):
        register = decoder.define(result)
        return VectorOp(
            "vector.extract", "extract", (source,), register, (("lane", lane),), where=location(op)
        )
    symbol = decoder.builder.symbol("loaded", "loaded")
    decoder.env[result] = of(symbol)
    return Extract(source, lane, symbol, location(op))


def broadcast(decoder: ProgramDecoder, op: Operation) -> Node:
    """`vector.broadcast`, `vector.splat`, also of a floating-point argument of the entry function."""
    source = decoder.meaning(op.operands[0])
    result = decoder.define(op.results[0])
    if isinstance(source, FloatArgument):
        return argument_node(source, result, op)
    if isinstance(source, Index):
        return VectorOp(name_of(op), "index", (), result, (), (source,), location(op))
    value = decoder.value(op.operands[0])
    fits = value.shape == () or value.shape == result.shape[len(result.shape) - len(value.shape) :]
    if value.dtype != result.dtype or not fits:
        fault(op, "a broadcast repeats a scalar, or a vector along new outer dimensions")
    return VectorOp(name_of(op), "broadcast", (value,), result, where=location(op))


def cast_to_scalar(decoder: ProgramDecoder, op: Operation) -> Node | list[Node] | None:
    """`arith.sitofp` & co.: an integer of the program gives a scalar, anything else is element-wise."""
    source = decoder.meaning(op.operands[0])
    if isinstance(source, Index):
        result = decoder.define(op.results[0])
        return VectorOp(name_of(op), "index", (), result, (), (source,), location(op))
    return decoder.pure(op)


def chosen(decoder: ProgramDecoder, op: Operation, items: Sequence[Any]) -> list[Node]:
    """A map asked with the unit that runs, whose values are vectors: a selection per different vector."""
    result = decoder.define(op.results[0])
    if any(not isinstance(i, Value) or (i.shape, i.dtype) != (result.shape, result.dtype) for i in items):
        fault(op, "a map must hold vectors of the type it is asked for")
    nodes: list[Node] = []
    found: Value = items[0]
    where = location(op)
    values = list(dict.fromkeys(items))
    for k, value in enumerate(values[1:]):
        is_mine: Index = decoder.builder.table([int(i == value) for i in items])
        mask = decoder.builder.value(result.shape, "i1")
        target = result if k == len(values) - 2 else decoder.builder.value(result.shape, result.dtype)
        nodes.append(VectorOp("vector.broadcast", "index", (), mask, (), (is_mine,), where))
        name = "vectorchain.element_wise_selection"
        nodes.append(VectorOp(name, "selection", (mask, value, found), target, where=where))
        found = target
    return nodes
