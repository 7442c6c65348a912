"""Scalar bodies of Computes as arith and math ops inside linalg.generic."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, SSAValue

from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.build import mlir
from headrace.schedule.build.emitter import INDEX, Emitter, identity_map, splat_map
from headrace.schedule.graph import Out, Scalar
from headrace.schedule.phases.combiners import COMBINE

_FLOAT_PREDICATES = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
)
_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FIRST_DIM = {"dim": builtin.IntegerAttr(0, builtin.i64)}

Coordinate = Callable[[Scalar], tuple[SSAValue | None, bool]]
"""The coordinate an "index" entry stands for: (index value or None, whether the lane number is added)."""


def constant(emit: Emitter, value: float | int, dtype: str) -> SSAValue:
    """Append a scalar constant."""
    kind = mlir.element(dtype)
    if dtype == "index":
        attr: Any = builtin.IntegerAttr(int(value), INDEX)
    elif is_float(dtype):
        attr = builtin.FloatAttr(float(value), kind)
    else:
        attr = builtin.IntegerAttr(_wrapped(int(value), kind.width.data), kind)
    return emit.add(mlir.make("arith.constant", (), (kind,), {"value": attr}))


def _wrapped(value: int, width: int) -> int:
    return value if width == 1 else (value + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))


def apply(emit: Emitter, name: str, args: Sequence[SSAValue], dtype: str, attr: object = None) -> SSAValue:
    """Append one op by name; `attr` is the predicate of a comparison."""
    properties: dict[str, Any] = {}
    if name == "arith.cmpf":
        properties["predicate"] = builtin.IntegerAttr(_FLOAT_PREDICATES.index(str(attr)), 64)
    elif name == "arith.cmpi":
        properties["predicate"] = builtin.IntegerAttr(_INTEGER_PREDICATES.index(str(attr)), 64)
    return emit.add(mlir.make(name, args, (mlir.element(dtype),), properties))


def evaluate(
    emit: Emitter,
    body: Sequence[Scalar],
    args: Mapping[int, SSAValue],
    coordinate: Coordinate,
    results: Collection[int],
) -> list[SSAValue]:
    """Append the ops of a body; `args` are the values of its inputs by operand number. Returns one value an
    entry, of which the caller takes `results`.

    Where the number of a lane is compared with what is equal for all lanes, that is moved to where lanes
    begin at 0: a scalar op instead of one of all lanes.
    """
    found: list[SSAValue] = []
    places = {p: coordinate(entry) for p, entry in enumerate(body) if entry.op == "index"}
    compared = [_compared_lane(body, entry, places) for entry in body]
    needed = {a for entry, lane in zip(body, compared, strict=True) for a in entry.args if a != lane}
    for position, entry in enumerate(body):
        match entry.op:
            case "arith.cmpi" if (lane := compared[position]) is not None:
                first, other = places[lane][0], found[entry.args[1 - entry.args.index(lane)]]
                moved = apply(emit, "arith.subi", [other, first], "index")
                number = _lane(emit)
                pair = [number if a == lane else moved for a in entry.args]
                found.append(apply(emit, entry.op, pair, entry.dtype, entry.attr))
            case "in":
                found.append(args[entry.attr])  # type: ignore[index]
            case "const":
                found.append(constant(emit, entry.attr, entry.dtype))  # type: ignore[arg-type]
            case "index" if position not in needed and position not in results:
                found.append(emit.constant(0))  # only compared, as the number of a lane
            case "index":
                found.append(_coordinate(emit, entry, *places[position]))
            case _:
                found.append(apply(emit, entry.op, [found[a] for a in entry.args], entry.dtype, entry.attr))
    return found


def _compared_lane(
    body: Sequence[Scalar], entry: Scalar, places: Mapping[int, tuple[SSAValue | None, bool]]
) -> int | None:
    """The argument of a comparison that is the number of a lane, not from 0 on, if the other is the same for
    all lanes.
    """
    lanes = [a for a in entry.args if a in places and places[a][1]] if entry.op == "arith.cmpi" else []
    if str(entry.attr).startswith("u") or len(lanes) != 1 or places[lanes[0]][0] is None:
        return None
    (other,) = (a for a in entry.args if a != lanes[0])
    is_uniform = body[other].op == "const" or other in places
    return lanes[0] if is_uniform and body[lanes[0]].dtype == body[other].dtype == "index" else None


def _coordinate(emit: Emitter, entry: Scalar, value: SSAValue | None, is_lane: bool) -> SSAValue:
    if is_lane:
        lane = _lane(emit)
        value = lane if value is None else apply(emit, "arith.addi", [lane, value], "index")
    assert value is not None
    if entry.dtype == "index":
        return value
    if is_float(entry.dtype):
        whole = apply(emit, "arith.index_cast", [value], "i32")
        return apply(emit, "arith.sitofp", [whole], entry.dtype)
    return apply(emit, "arith.index_cast", [value], entry.dtype)


def _lane(emit: Emitter) -> SSAValue:
    """Append the number of the lane."""
    return emit.add(mlir.make("linalg.index", (), (INDEX,), _FIRST_DIM))


def generic(
    emit: Emitter,
    operands: Sequence[SSAValue],
    results: Sequence[tuple[int, str]],
    fill: Callable[[list[SSAValue]], Sequence[SSAValue]],
) -> list[SSAValue]:
    """Append an all-parallel linalg.generic over one dim; operands of one element (or rank 0) are splat.

    `results` are (elements, type); `fill` appends the body and returns what it yields.
    """
    length = max(n for n, _ in results)
    kinds = [mlir.tensor((n,), dtype) for n, dtype in results]
    empties = [_empty(emit, kind) for kind in kinds]
    splats = tuple(_splat(v, length) for v in operands)
    scalars = [v.type.element_type for v in operands] + [mlir.element(d) for _, d in results]  # type: ignore[attr-defined]
    block = Block(arg_types=scalars)
    with emit.inside(block):
        yielded = fill(list(block.args[: len(operands)]))
        block.add_op(mlir.make("linalg.yield", yielded))
    made = mlir.make(
        "linalg.generic",
        [*operands, *empties],
        kinds,
        _walked(splats, len(results)),
        segments=(len(operands), len(empties)),
        body=block,
    )
    emit.block.add_op(made)
    return list(made.results)


def _empty(emit: Emitter, kind: Any) -> SSAValue:
    """Append a tensor whose elements do not matter."""
    return emit.add(mlir.make("tensor.empty", (), (kind,)))


def _splat(value: SSAValue, length: int) -> int | None:
    """The rank of an operand that is equal for all lanes, None if it has one element a lane."""
    shape = value.type.get_shape()  # type: ignore[attr-defined]
    return None if shape and shape[0] == length else len(shape)


@cache
def _walked(splats: tuple[int | None, ...], results: int) -> Mapping[str, Any]:
    """How a generic walks its operands and that many results."""
    maps = [identity_map() if rank is None else splat_map(rank) for rank in splats]
    return {
        "indexing_maps": builtin.ArrayAttr([*maps, *[identity_map()] * results]),
        "iterator_types": builtin.ArrayAttr([IteratorTypeAttr(IteratorType.PARALLEL)]),
    }


def neutral(combiner: str, dtype: str) -> float | int:
    """Return the value that changes nothing under a combiner."""
    if combiner in ("add", "or"):
        return 0
    if combiner == "mul":
        return 1
    if combiner == "and":
        return -1 if dtype != "i1" else 1
    if is_float(dtype):
        return -math.inf if combiner == "max" else math.inf
    bits = int(mlir.element(dtype).width.data)
    if bits == 1:
        return 0 if combiner == "max" else 1
    return -(1 << (bits - 1)) if combiner == "max" else (1 << (bits - 1)) - 1


def start_of(out: Out, dtype: str) -> float | int:
    """Return the number a reduction starts from: its initial value if that is a number, else the neutral
    one.
    """
    return out.init if isinstance(out.init, int | float) else neutral(out.combiner or "", dtype)


def combine(emit: Emitter, combiner: str, dtype: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """Append the op that combines two scalars."""
    return apply(emit, COMBINE[combiner, is_float(dtype)], [a, b], dtype)


def reduce_row(emit: Emitter, row: SSAValue, combiner: str, dtype: str, init: float | int) -> SSAValue:
    """Append the reduction of a row of `dtype` to a rank-0 tensor, starting from a number."""
    start = filled(emit, init, (), dtype)
    scalar = mlir.element(dtype)
    block = Block(arg_types=[scalar, scalar])
    with emit.inside(block):
        block.add_op(mlir.make("linalg.yield", [combine(emit, combiner, dtype, *block.args)]))
    dims = {"dimensions": mlir.dense([0])}
    return emit.add(mlir.make("linalg.reduce", [row, start], [start.type], dims, body=block))


def converted(emit: Emitter, value: SSAValue, source: str, target: str) -> SSAValue:
    """Append the cast between two types of one kind (float or integer)."""
    if source == target:
        return value
    wider = itemsize(target) > itemsize(source)
    if is_float(source) != is_float(target):
        raise AssertionError(f"no cast from {source} to {target}")
    name = ("extf" if wider else "truncf") if is_float(source) else ("extsi" if wider else "trunci")
    return apply(emit, f"arith.{name}", [value], target)


def matmul(emit: Emitter, row: SSAValue, weights: SSAValue, start: SSAValue) -> SSAValue:
    """Append start + row x weights; the hidden region widens the factors as MLIR's does."""
    kinds = [v.type.element_type for v in (row, weights, start)]  # type: ignore[attr-defined]
    block = Block(arg_types=kinds)
    names = [dtype_name(kind) for kind in kinds]
    with emit.inside(block):
        left, right = (converted(emit, block.args[k], names[k], names[2]) for k in (0, 1))
        product = apply(emit, "arith.mulf" if is_float(names[2]) else "arith.muli", [left, right], names[2])
        block.add_op(mlir.make("linalg.yield", [combine(emit, "add", names[2], product, block.args[2])]))
    operands = [row, weights, start]
    return emit.add(mlir.make("linalg.matmul", operands, [start.type], segments=(2, 1), body=block))


@cache
def dtype_name(kind: Any) -> str:
    """Return the name of an MLIR element type."""
    return str(kind)


def filled(emit: Emitter, number: float | int, shape: tuple[int, ...], dtype: str) -> SSAValue:
    """Append a tensor of equal numbers; the hidden region yields the number, as MLIR's does."""
    empty = _empty(emit, mlir.tensor(shape, dtype))
    start = constant(emit, number, dtype)
    block = Block(arg_types=[start.type, start.type])
    block.add_op(mlir.make("linalg.yield", [block.args[0]]))
    return emit.add(mlir.make("linalg.fill", [start, empty], [empty.type], segments=(1, 1), body=block))
