"""Which lane comes from where: shuffles, packs, merges; and what operands must agree in."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap

from headrace.ir.text import location
from headrace.machine.decode.affine import ranges
from headrace.machine.decode.operands import Operands
from headrace.machine.decode.reading import (
    affine_map,
    affine_set,
    boolean,
    fault,
    integer,
    integers,
    name_of,
    segments,
)
from headrace.machine.image import Index, Node, Value, VectorOp
from headrace.numbers.dtypes import is_float

_ON_INTEGERS = ("neg", "absi", "floor", "selection", "cast", "scan_with_gap", "rotate")
_CASTS = (
    *("cast", "extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui", "extsi", "extui", "trunci"),
    *("index_cast", "index_castui", "bitcast", "fpowi"),
)
"""Functions whose operands may have another type than the result."""


def expect_alike(op: Operation, function: str, operands: Sequence[Value], result: Value) -> None:
    """A fault unless an element-wise op has as many lanes everywhere, and types that go together."""
    wrong = [v for v in operands if v.lanes != result.lanes]
    if wrong:
        fault(op, f"an operand of {wrong[0].lanes} lanes for a result of {result.lanes}")
    if function in _CASTS:
        return
    values = operands[1:] if function == "selection" and len(operands) > 2 else operands
    is_compare = result.dtype == "i1" and name_of(op).rsplit(".", 1)[-1] in (
        "element_wise_compare", "cmpi", "cmpf"
    )  # fmt: skip
    types = {v.dtype for v in values} | (set() if is_compare else {result.dtype})
    if len(types) > 1 and not all(is_float(t) for t in types):
        fault(op, f"types {' and '.join(sorted(types))} in one op")
    if len(operands) == 1 and function not in _ON_INTEGERS and not is_float(result.dtype):
        if function not in ("ctpop", "ctlz", "cttz"):
            fault(op, f"{function} of {result.dtype}: it is a function of floats")


def expect_mask(op: Operation, mask: Value, lanes: int) -> None:
    """A fault unless a mask is a truth value per lane."""
    if mask.dtype != "i1" or mask.lanes != lanes:
        fault(op, f"a mask of {mask.lanes} x {mask.dtype} where {lanes} x i1 is expected")


def lane_sources(
    op: Operation, key: str, map_: AffineMap, points: tuple[int, ...], space: tuple[int, ...]
) -> None:
    """A fault unless a map takes every point of a shape to a position of another one."""
    if map_.num_dims != len(points) or map_.num_symbols or len(map_.results) != len(space):
        fault(
            op,
            f"{key} takes {map_.num_dims} to {len(map_.results)} dimensions, "
            f"not {len(points)} to {len(space)}",
        )
    if not prod(points):
        return
    found = map_.eval(list(np.indices(points)), [])
    for extent, position in zip(space, found, strict=True):
        if np.min(position) < 0 or np.max(position) >= extent:
            fault(op, f"{key} leaves a vector of shape {list(space)}")


# ---- shuffle and pack --------------------------------------------------------------------------------------
def shuffle(op: Operation, result: Value, look: Operands) -> list[Node]:
    """`vectorchain.shuffle`: lanes the mask switches off are 0."""
    parts = segments(op)
    if len(parts) < 4:
        parts = [*parts, *([[]] * (4 - len(parts)))]
    source = look.value(parts[0][0])
    order, repetition = tuple(integers(op, "indices")), integer(op, "repetition")
    nodes: list[Node] = []
    extras = [_scalar(op, v, source.dtype, look, nodes) for part in parts[1:3] for v in part]
    if not order or len(order) * repetition != result.lanes:
        fault(op, f"{len(order)} indices repeated {repetition} times for {result.lanes} lanes")
    if min(order) < -len(extras) or max(order) >= source.lanes:
        fault(op, f"an index is outside the {source.lanes} lanes and {len(extras)} further operands")
    if any(v.dtype != result.dtype for v in (source, *extras)):
        fault(op, "operands and result must have one element type")
    details: tuple[tuple[str, Any], ...] = (("indices", order), ("repetition", repetition))
    operands = [source, *extras]
    if len(parts[3]):
        mask = look.value(parts[3][0])
        expect_mask(op, mask, result.lanes)
        operands.append(mask)
        details = (*details, ("mask", True))
    return [*nodes, VectorOp(name_of(op), "shuffle", tuple(operands), result, details, where=location(op))]


def _scalar(op: Operation, operand: Any, dtype: str, look: Operands, nodes: list[Node]) -> Value:
    """A variable or pad; an integer of the program becomes a lane of the vector's type."""
    found = look.meaning(operand)
    if not isinstance(found, Index):
        return look.value(operand)
    register = look.register((1,), dtype)
    nodes.append(VectorOp("vector.broadcast", "index", (), register, (), (found,), location(op)))
    return register


def pack(op: Operation, result: Value, look: Operands) -> list[Node]:
    """`vectorchain.pack`: lanes of two vectors by number, or in turn; integers are extended with zeros."""
    values = [look.value(v) for v in op.operands]
    a, b = values[:2]
    order, repetition = integers(op, "indices"), integer(op, "repetition")
    if not order or len(order) * repetition != result.lanes:
        fault(op, f"{len(order)} indices repeated {repetition} times for {result.lanes} lanes")
    if a.dtype != b.dtype or is_float(a.dtype) != is_float(result.dtype):
        fault(op, f"{a.dtype} and {b.dtype} cannot be packed as {result.dtype}")
    if look.options.pack == "operand":
        sources = _in_turn(op, order * repetition, (a.lanes, b.lanes))
    else:
        sources = tuple(order) * repetition
        if min(sources) < 0 or max(sources) >= a.lanes + b.lanes:
            fault(op, f"an index is outside the {a.lanes + b.lanes} lanes of both operands")
    details: tuple[tuple[str, Any], ...] = (("sources", sources), ("signed", boolean(op, "sign_extend")))
    if len(values) > 2:
        expect_mask(op, values[2], result.lanes)
        details = (*details, ("mask", True))
    return [VectorOp(name_of(op), "pack", tuple(values), result, details, where=location(op))]


def _in_turn(op: Operation, order: Sequence[int], lanes: tuple[int, int]) -> tuple[int, ...]:
    """Lane numbers over both operands where every index only says whose next lane it is."""
    taken, out = [0, 0], []
    for k in order:
        if k not in (0, 1) or taken[k] >= lanes[k]:
            fault(op, "indices choose operand 0 or 1, each for as many lanes as it has")
        out.append(taken[k] + k * lanes[0])
        taken[k] += 1
    return tuple(out)


# ---- merge -------------------------------------------------------------------------------------------------
def merge(op: Operation, result: Value, look: Operands) -> VectorOp:
    """`vectorchain.merge`: parts of two vectors at places of the result; the rest of it is 0."""
    a, b = (look.value(v) for v in op.operands)
    if {a.dtype, b.dtype} != {result.dtype}:
        fault(op, f"{a.dtype} and {b.dtype} cannot be merged as {result.dtype}")
    sources = [-1] * result.lanes
    for name, value, offset in (("A", a, 0), ("B", b, a.lanes)):
        points = _points(op, f"iteration_space_C{name}")
        target = _lanes(op, f"access_function_C{name}", points, result.shape)
        source = _lanes(op, f"access_function_{name}", points, value.shape)
        for t, s in zip(target, source, strict=True):
            sources[t] = s + offset
    details = (("sources", tuple(sources)),)
    return VectorOp(name_of(op), "pack", (a, b), result, details, where=location(op))


def _points(op: Operation, key: str) -> list[Any]:
    """The integer points of a constant set, one array per dim."""
    found = ranges(op, affine_set(op, key), (), key)
    ends = [(r.low.constant, r.extent.constant) for r in found]
    if any(low is None or extent is None for low, extent in ends):
        fault(op, f"{key} must be a constant box")
    grid = np.indices([max(0, extent or 0) for _, extent in ends]).reshape(len(ends), -1)
    return [grid[d] + (ends[d][0] or 0) for d in range(len(ends))]


def _lanes(op: Operation, key: str, points: list[Any], shape: tuple[int, ...]) -> list[int]:
    map_ = affine_map(op, key)
    if map_.num_dims != len(points) or map_.num_symbols or len(map_.results) != len(shape):
        fault(op, f"{key} does not map {len(points)} dimensions to {len(shape)}")
    lanes = np.zeros(points[0].size if points else 1, np.int64)
    for extent, position in zip(shape, map_.eval(points, []), strict=True):
        place = np.broadcast_to(position, lanes.shape)
        if lanes.size and (place.min() < 0 or place.max() >= extent):
            fault(op, f"{key} leaves a vector of shape {list(shape)}")
        lanes = lanes * extent + place
    return [int(k) for k in lanes]
