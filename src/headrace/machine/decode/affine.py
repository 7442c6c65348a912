"""Affine maps and integer sets as `Index` expressions; sets must be boxes, orders permutations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from headrace.machine.decode.reading import affine_map, fault
from headrace.machine.index import Index, constant


@dataclass(frozen=True)
class Range:
    """Positions low..low+extent-1 of one dimension."""

    low: Index
    extent: Index


def expression(expr: AffineExpr, dims: Sequence[Index], symbols: Sequence[Index]) -> Index:
    """An affine expression over the given dims and symbols."""
    match expr:
        case AffineConstantExpr():
            return Index(expr.value)
        case AffineDimExpr():
            return dims[int(expr.position)]
        case AffineSymExpr():
            return symbols[int(expr.position)]
        case AffineBinaryOpExpr():
            left, right = expression(expr.lhs, dims, symbols), expression(expr.rhs, dims, symbols)
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.Mod:
                    return left % right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right
                case AffineBinaryOpKind.CeilDiv:
                    return -((-left) // right)
    raise TypeError(f"unknown affine expression {expr}")


def apply_map(map_: AffineMap, operands: Sequence[Index], symbols: Sequence[Index] = ()) -> list[Index]:
    """The results of a map; `operands` are its dims, or its dims and symbols if `symbols` is empty.

    The caller has checked that there are enough of both.
    """
    dims = operands[: map_.num_dims]
    rest = operands[map_.num_dims :] if not symbols else symbols
    return [expression(e, dims, rest) for e in map_.results]


def shifts(
    op: Operation, key: str, dims: Sequence[Index], symbols: Sequence[Index], rank: int
) -> list[Index]:
    """The offsets that a time map gives for every dim of a view; a fault where it does not fit."""
    map_ = affine_map(op, key)
    if map_.num_dims != len(dims) or len(map_.results) != rank or map_.num_symbols > len(symbols):
        given = f"{map_.num_dims} dimensions and {map_.num_symbols} symbols to {len(map_.results)} offsets"
        fault(op, f"{key} maps {given}; there are {len(dims)} and {len(symbols)}, for a view of rank {rank}")
    return apply_map(map_, dims, symbols if map_.num_symbols else ())


def ranges(op: Operation, set_: AffineSet, symbols: Sequence[Index], key: str) -> list[Range]:
    """The range of every dimension of a box; a fault if constraints couple dims or leave one open."""
    count = set_.num_dims
    if set_.num_symbols > len(symbols):
        fault(op, f"{key} has {set_.num_symbols} symbols but time_symbols gives {len(symbols)}")
    low: list[Index | None] = [None] * count
    high: list[Index | None] = [None] * count
    zero = [Index()] * count
    for constraint in set_.constraints:
        rest = expression(constraint.lhs, zero, symbols)
        slopes = _slopes(constraint.lhs, count, symbols)
        used = [d for d in range(count) if slopes[d]]
        if len(used) != 1:
            if not used and rest.constant is not None:
                continue
            fault(op, f"{key} is not a box: a constraint couples its dimensions")
        d, slope = used[0], slopes[used[0]]
        if constraint.kind.value == "==" or slope > 0:
            bound = -(rest // slope) if slope > 0 else rest // -slope
            low[d] = bound if low[d] is None else bound.apply("max", low[d])  # type: ignore[arg-type]
        if constraint.kind.value == "==" or slope < 0:
            bound = rest // -slope if slope < 0 else -(rest // slope)
            high[d] = bound if high[d] is None else bound.apply("min", high[d])  # type: ignore[arg-type]
    out = []
    for d, (a, b) in enumerate(zip(low, high, strict=True)):
        if a is None or b is None:
            fault(op, f"{key} leaves dimension {d} unbounded")
        out.append(Range(a, (b - a + 1).apply("max", 0)))
    return out


def _slopes(expr: AffineExpr, count: int, symbols: Sequence[Index]) -> list[int]:
    """The coefficient of each dim in an affine expression."""
    at_zero = expression(expr, [Index()] * count, symbols)
    out = []
    for d in range(count):
        unit = [Index(int(i == d)) for i in range(count)]
        out.append((expression(expr, unit, symbols) - at_zero).constant or 0)
    return out


def permutation(op: Operation, order: AffineMap, extents: Sequence[Index], key: str) -> list[int]:
    """Dims from slowest to fastest as `order` ranks them, dims of extent 1 left out."""
    if order.num_dims != len(extents) or order.num_symbols:
        fault(op, f"{key} orders {order.num_dims} dimensions of a set of {len(extents)}")
    seen: list[int] = []
    for expr in order.results:
        if isinstance(expr, AffineConstantExpr):
            continue
        if not isinstance(expr, AffineDimExpr) or expr.position in seen:
            fault(op, f"{key} is not a permutation of the dimensions")
        seen.append(expr.position)
    missing = [d for d in range(len(extents)) if d not in seen and extents[d] != constant(1)]
    if missing:
        fault(op, f"{key} does not order dimension {missing[0]}")
    return [d for d in seen if extents[d] != constant(1)]
