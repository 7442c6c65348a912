"""The lanes of what a core's vector ops computed, looked up by the values of their operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from headrace.machine.check.recorded import Record
from headrace.machine.image import Contract, Reduce, VectorOp

Array = np.ndarray[Any, Any]
NEAR = 2.0**-18
"""Two values are the same if they differ by less than this part of one of them, or by `FLOOR` of the largest
the statement has there: sums whose order is free differ by a few units of f32.
"""
FLOOR = 2.0**-22
COMBINING = frozenset(
    ("add", "mul", "max", "min", "maximum", "minimum", "maxnum", "minnum", "and", "or", "xor")
)
FEW = 64
"""Lanes with the same first operand that are looked at."""


@dataclass(frozen=True, eq=False)
class Lanes:
    """All lanes that one op of the text computed, one after the other, as f64; `spans[k]` is the first lane
    of its k-th execution.
    """

    record: Record
    operands: tuple[Array, ...]
    result: Array
    spans: Array

    @cached_property
    def orders(self) -> tuple[Array, ...]:
        """For every operand the lanes in the order of its values."""
        return tuple(np.argsort(x, kind="stable") for x in self.operands)

    def with_operand(self, slot: int, value: float, floor: float) -> Array:
        """The lanes whose operand is the value."""
        order, x = self.orders[slot], self.operands[slot]
        room = NEAR * abs(value) + floor
        low = np.searchsorted(x, value - room, sorter=order)
        high = np.searchsorted(x, value + room, side="right", sorter=order)
        return np.asarray(order[low:high])

    def instance(self, lane: int) -> int:
        """The instance that computed a lane."""
        return self.record.instances[int(np.searchsorted(self.spans, lane, side="right")) - 1]


def lanes(records: Sequence[Record]) -> list[Lanes]:
    """The lanes of every op that works lane by lane."""
    return [
        _flattened(record)
        for record in records
        if isinstance(record.node, VectorOp)
        and record.inputs[0]
        and _is_by_lane(record.node, record.inputs[0], record.results[0])
    ]


def _is_by_lane(node: VectorOp, inputs: Sequence[Array], result: Array) -> bool:
    if node.name == "vectorchain.scan_with_gap" or node.function == "multiply":
        return False
    try:
        return bool(np.broadcast_shapes(*(x.shape for x in inputs), result.shape) == result.shape)
    except ValueError:
        return False


def _flattened(record: Record) -> Lanes:
    sizes = [x.size for x in record.results]
    columns = zip(*record.inputs, strict=True)
    operands = tuple(
        np.concatenate(
            [wide(np.broadcast_to(x, r.shape)) for x, r in zip(column, record.results, strict=True)]
        )
        for column in columns
    )
    result = np.concatenate([wide(r) for r in record.results])
    return Lanes(record, operands, result, np.cumsum([0, *sizes[:-1]]))


def wide(x: Array) -> Array:
    """The values as one row of f64; NaN, which equals nothing, as a number of its own."""
    return np.nan_to_num(
        np.asarray(x).reshape(-1).astype(np.float64), nan=-1.7e301, posinf=1.6e301, neginf=-1.6e301
    )


def scale(x: Array) -> float:
    """The difference that does not count beside the largest finite value of an array."""
    sizes = np.abs(x[np.abs(x) < 1e300])
    return FLOOR * float(sizes.max()) if sizes.size else 0.0


def is_same(a: float | Array, b: float | Array, floor: float) -> Any:
    """Whether values are the same (see `NEAR`)."""
    return np.abs(np.subtract(a, b)) <= NEAR * np.abs(b) + floor


@dataclass(frozen=True)
class Sum:
    """What an op that combines lanes made of given elements: its result, and which execution did."""

    record: Record
    instance: int
    value: float


def sums_of(records: Sequence[Record], inputs: Sequence[Array]) -> list[Sum]:
    """For every combining op that took elements of `inputs` (an array per operand of the statement), what the
    last execution that took most of them made; those that combine lanes of one vector first, by how many.
    """
    wanted = [np.sort(wide(x)) for x in inputs]
    found: list[tuple[tuple[bool, int], Sum]] = []
    for record in records:
        if not is_combining(record.node):
            continue
        best, touched = (0, 0, 0.0), 0
        for k, (operands, result) in enumerate(zip(record.inputs, record.results, strict=True)):
            count, value = _taken(record.node, operands, result, wanted)
            touched += count > 0
            if count and count >= best[0]:
                best = (count, k, value)
        across = not isinstance(record.node, VectorOp)
        if touched and (across or 2 * touched >= len(wanted[0])):
            found.append(((across, best[0]), Sum(record, record.instances[best[1]], best[2])))
    return [one for _, one in sorted(reversed(found), key=lambda each: each[0], reverse=True)]


def is_combining(node: Any) -> bool:
    """Whether an op adds up (or the like) lanes of one vector, or may add vectors up over its executions."""
    if isinstance(node, VectorOp):
        return len(node.operands) == 2 and node.function in COMBINING
    return isinstance(node, Reduce | Contract)


def _taken(node: Any, operands: Sequence[Array], result: Array, wanted: Sequence[Array]) -> tuple[int, float]:
    """(how many wanted elements went into a lane of the result, the lane's value), of the lane with most."""
    counts: Array
    if isinstance(node, Contract):
        if len(wanted) < 2:
            return 0, 0.0
        sides = [_is_among(x, w).astype(np.float32) for x, w in zip(operands, wanted, strict=False)]
        counts = np.einsum(node.equation, *sides[:2]).reshape(-1)
    elif isinstance(node, Reduce):
        counts = np.array([_is_among(operands[0], wanted[0]).sum()])
    else:
        hits = [np.broadcast_to(_is_among(x, wanted[0]), result.shape) for x in operands]
        counts = np.sum(hits, axis=0).reshape(-1)
    lane = int(counts.argmax())
    return int(counts[lane]), float(wide(result)[lane])


def _is_among(x: Array, known: Array) -> Array:
    """Which elements are among known values (sorted)."""
    flat = wide(x)
    floor = scale(known)
    at = np.clip(np.searchsorted(known, flat), 0, len(known) - 1)
    near = is_same(flat, known[at], floor) | is_same(flat, known[np.maximum(at - 1, 0)], floor)
    return np.asarray(near).reshape(x.shape)
