"""Statements that work element by element, looked up among the lanes of a core's vector ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from xdsl.ir import Operation

from headrace.machine.check.recorded import Record
from headrace.runtime.divergence.lanes import FEW, Lanes, is_same, scale, wide
from headrace.runtime.divergence.statements import Computed

Array = np.ndarray[Any, Any]
SAMPLES = 48
"""Elements of a statement that are looked up, beside the watched one."""
MOST = 0.9
"""The part of them that has to be there."""
FEWEST = 6
"""Elements looked up of each execution at least."""
RUNS = 24
"""Executions looked at."""
SOME = 0.25
"""The part of them that an op has to know to be the one that carries a statement out."""


@dataclass(frozen=True)
class Parting:
    """The first statement whose values part, and the element: `machine` and `record` (the op, by `instance`)
    are None if no op of the machine shows the value. `hidden` are statements it needs that are not to be seen
    on the machine.
    """

    op: Operation
    element: tuple[int, ...]
    reference: float
    machine: float | None = None
    record: Record | None = None
    instance: int = -1
    hidden: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class _Point:
    """One element of one execution: index, operands, result; `floors` are differences that do not count, one
    for every operand and one for the result.
    """

    element: tuple[int, ...]
    operands: tuple[float, ...]
    result: float
    floors: tuple[float, ...]


@dataclass(frozen=True)
class _Seen:
    """One op of the machine looked up for points of a statement: per point whether a lane has its operands,
    whether the result is right, and of the first such lane the number.
    """

    lanes: Lanes
    found: Array
    right: Array
    first: Array

    def part(self, points: slice) -> _Seen:
        """The same for some of the points."""
        return _Seen(self.lanes, self.found[points], self.right[points], self.first[points])

    @property
    def carries_out(self) -> bool:
        """Whether it does what the statement does."""
        count = float(self.found.sum())
        return count >= SOME * len(self.found) and float(self.right.sum()) >= MOST * count


@dataclass(frozen=True)
class Statement:
    """A pointwise statement: points of its executions, those of one after those of the one before (`runs`),
    and what the ops of the machine make of them.
    """

    op: Operation
    points: list[_Point]
    runs: list[slice]
    seen: list[_Seen]


def statement(
    op: Operation, executions: Sequence[Computed], watched: tuple[int, ...], units: Sequence[Lanes]
) -> Statement:
    """A statement looked up on the machine, the first and the last of its executions."""
    if len(executions) > RUNS:
        executions = [*executions[: RUNS // 2], *executions[-RUNS // 2 :]]
    points: list[_Point] = []
    runs = []
    for one in executions:
        begin = len(points)
        points += _points(one, watched if one is executions[-1] else None, -(-SAMPLES // len(executions)))
        runs.append(slice(begin, len(points)))
    return Statement(op, points, runs, [_look_up(unit, points) for unit in units])


def _points(one: Computed, watched: tuple[int, ...] | None, count: int) -> list[_Point]:
    """Elements of an execution to look up, the watched one first."""
    arrays = [np.broadcast_to(x, one.result.shape) for x in one.inputs]
    floors = tuple(scale(wide(x)) for x in (*one.inputs, one.result))
    numbers = np.random.default_rng(0).integers(one.result.size, size=max(count, FEWEST))
    elements = [tuple(int(i) for i in np.unravel_index(n, one.result.shape)) for n in numbers]
    focus = None if watched is None else focus_of(one.result.shape, watched)
    found = []
    for at in [*([] if focus is None else [focus]), *elements]:
        operands = tuple(float(wide(x[at])[0]) for x in arrays)
        found.append(_Point(at, operands, float(wide(one.result[at])[0]), floors))
    return found


def judged(one: Statement, free: Sequence[Lanes]) -> tuple[bool, bool, Parting | None]:
    """(whether the machine has a statement's values; whether it surely computes them wrong; which op does).

    The first execution that is wrong decides.
    """
    spare = [seen for seen in one.seen if seen.lanes in free]
    for run in one.runs:
        points = one.points[run]
        found = _wrong_lane(one.op, points, [seen.part(run) for seen in spare])
        if found is not None:
            return False, True, found
        if not _is_right([seen.part(run) for seen in one.seen]):
            return False, False, _half_right(one.op, points, free)
    return True, False, None


def focus_of(shape: tuple[int, ...], watched: tuple[int, ...]) -> tuple[int, ...] | None:
    """The index that the watched element has in an array of a shape, as far as that is plain."""
    if len(shape) > len(watched):
        return None
    for cut in (watched[: len(shape)], watched[len(watched) - len(shape) :]):
        at = tuple(0 if n == 1 else i for n, i in zip(shape, cut, strict=True))
        if all(i < n for i, n in zip(at, shape, strict=True)):
            return at
    return None


def _look_up(unit: Lanes, points: Sequence[_Point]) -> _Seen:
    found, right = np.zeros(len(points), np.bool_), np.zeros(len(points), np.bool_)
    first = np.zeros(len(points), np.int64)
    for k, point in enumerate(points):
        matches = _matches(unit, point)
        if len(matches):
            found[k] = True
            same = is_same(unit.result[matches], point.result, point.floors[-1])
            right[k] = bool(same.any())
            first[k] = matches[int(same.argmax())]
    return _Seen(unit, found, right, first)


def _matches(unit: Lanes, point: _Point) -> Array:
    """The lanes of an op with the operands of a point, in one order or the other."""
    count = len(point.operands)
    if len(unit.operands) != count or not count:
        return np.zeros(0, np.int64)
    for order in permutations(range(count)) if count < 3 else [range(count)]:
        wanted = [(point.operands[i], point.floors[i]) for i in order]
        hits = min((unit.with_operand(j, *one) for j, one in enumerate(wanted)), key=len)[: FEW * FEW]
        for j, (value, floor) in enumerate(wanted):
            hits = hits[is_same(unit.operands[j][hits], value, floor)]
        if len(hits):
            return hits
    return np.zeros(0, np.int64)


def _is_right(seen: Sequence[_Seen]) -> bool:
    """Whether some op of the machine gives each of the results, of most and of the first."""
    if not seen:
        return False
    right = np.any([s.right for s in seen], axis=0)
    return bool(right[0]) and float(right.mean()) >= MOST


def _wrong_lane(op: Operation, points: Sequence[_Point], seen: Sequence[_Seen]) -> Parting | None:
    """An op that carries out no statement, takes a statement's operands and gives another result: that
    statement computed wrong, whether or not another op computes it right.
    """
    for one in seen:
        wrong = np.flatnonzero(one.found & ~one.right)
        if len(wrong) and float(one.found.mean()) >= MOST and float(one.right.mean()) < MOST:
            return _at_lane(op, points[wrong[0]], one.lanes, int(one.first[wrong[0]]))
    return None


def _half_right(op: Operation, points: Sequence[_Point], free: Sequence[Lanes]) -> Parting | None:
    """An op that carries out no statement and takes one of a statement's two operands, but not the other."""
    if len(points[0].operands) != 2:
        return None
    for unit in free:
        for slot, place in ((0, 0), (1, 1), (0, 1), (1, 0)):
            if len(unit.operands) != 2 or len({one.operands[slot] for one in points}) == 1:
                continue  # a constant tells nothing
            lanes = [_with_other(unit, one, slot, place) for one in points]
            if sum(lane >= 0 for lane, _ in lanes) < MOST * len(points):
                continue
            for point, (lane, is_wrong) in zip(points, lanes, strict=True):
                if is_wrong:
                    return _at_lane(op, point, unit, lane)
    return None


def _with_other(unit: Lanes, point: _Point, slot: int, place: int) -> tuple[int, bool]:
    """A lane with one operand of a point and another one beside it (-1: none), whether its result differs."""
    value, other = point.operands[slot], point.operands[1 - slot]
    hits = unit.with_operand(place, value, point.floors[slot])[:FEW]
    if not len(hits) or is_same(unit.operands[1 - place][hits], other, point.floors[1 - slot]).any():
        return -1, False
    return int(hits[0]), not is_same(unit.result[hits], point.result, point.floors[-1]).any()


def _at_lane(op: Operation, point: _Point, unit: Lanes, lane: int) -> Parting:
    value = float(unit.result[lane])
    return Parting(op, point.element, point.result, value, unit.record, unit.instance(lane))
