"""The first statement whose values the machine does not compute, found by comparing values alone.

A DFIR op does not name the statement it carries out, so values say it: a pointwise op of the machine carries
out a statement if it gives the statement's result on lanes with the statement's operands; a sum is there if
its value is. A statement that nothing on the machine shows may be fused into another one; it counts as right
if one that needs it is. An op with a statement's operands that carries out none computes it wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap

from headrace.machine.check.recorded import Record
from headrace.machine.image import Receive
from headrace.runtime.divergence.lanes import FEW, Lanes, is_combining, is_same, lanes, scale, sums_of, wide
from headrace.runtime.divergence.statements import Computed, Trail, sources
from headrace.semantics.linalg import reduce_nest
from headrace.semantics.named import CONTRACTIONS

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
class _Statement:
    """A pointwise statement: points of its executions, those of one after those of the one before (`runs`),
    and what the ops of the machine make of them.
    """

    op: Operation
    points: list[_Point]
    runs: list[slice]
    seen: list[_Seen]


def parting(trail: Trail, records: Sequence[Record]) -> Parting | None:
    """Return where the values of a tile part from those of the machine's core; None where all are there."""
    units = lanes(records)
    by_op: dict[Operation, list[Computed]] = {}
    for one in trail.computed:
        by_op.setdefault(one.op, []).append(one)
    pointwise = {
        op: _statement(op, runs, trail.element, units)
        for op, runs in by_op.items()
        if runs[0].kind == "pointwise"
    }
    taken = {id(s.lanes.record) for one in pointwise.values() for s in one.seen if s.carries_out}
    free = [unit for unit in units if id(unit.record) not in taken]
    received, combined = _values(records)
    hidden: list[Operation] = []
    wrong: Parting | None = None
    for op, runs in by_op.items():
        if op in pointwise:
            is_right, is_sure, found = _judged(pointwise[op], free)
            if found is not None and is_sure:
                return _with_hidden(found, hidden)
        else:
            known_values = [received] if runs[0].kind == "loaded" else combined
            is_right = _is_there(runs, trail.element, known_values)
            found = None if is_right else _wrong_sum(runs[-1], trail.element, records, taken)
        if is_right:
            known = sources(op.operands)
            hidden = [one for one in hidden if one not in known]
            wrong = None if wrong is not None and wrong.op in known else wrong
        elif found is not None:
            wrong = wrong or _with_hidden(found, hidden)
        elif wrong is None:
            hidden.append(op)
    if wrong is not None or not hidden:
        return wrong
    first = by_op[hidden[0]][-1]
    element = _focus(first.result.shape, trail.element) or (0,) * first.result.ndim
    return Parting(hidden[0], element, float(wide(first.result[element])[0]))


def _with_hidden(found: Parting, hidden: Sequence[Operation]) -> Parting:
    """The parting with those hidden statements that its own one needs."""
    known = sources(found.op.operands)
    return replace(found, hidden=tuple(one for one in hidden if one in known))


def _statement(
    op: Operation, executions: Sequence[Computed], watched: tuple[int, ...], units: Sequence[Lanes]
) -> _Statement:
    """A statement looked up on the machine, the first and the last of its executions."""
    if len(executions) > RUNS:
        executions = [*executions[: RUNS // 2], *executions[-RUNS // 2 :]]
    points: list[_Point] = []
    runs = []
    for one in executions:
        begin = len(points)
        points += _points(one, watched if one is executions[-1] else None, -(-SAMPLES // len(executions)))
        runs.append(slice(begin, len(points)))
    return _Statement(op, points, runs, [_look_up(unit, points) for unit in units])


def _points(one: Computed, watched: tuple[int, ...] | None, count: int) -> list[_Point]:
    """Elements of an execution to look up, the watched one first."""
    arrays = [np.broadcast_to(x, one.result.shape) for x in one.inputs]
    floors = tuple(scale(wide(x)) for x in (*one.inputs, one.result))
    numbers = np.random.default_rng(0).integers(one.result.size, size=max(count, FEWEST))
    elements = [tuple(int(i) for i in np.unravel_index(n, one.result.shape)) for n in numbers]
    focus = None if watched is None else _focus(one.result.shape, watched)
    found = []
    for at in [*([] if focus is None else [focus]), *elements]:
        operands = tuple(float(wide(x[at])[0]) for x in arrays)
        found.append(_Point(at, operands, float(wide(one.result[at])[0]), floors))
    return found


def _judged(one: _Statement, free: Sequence[Lanes]) -> tuple[bool, bool, Parting | None]:
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


def _focus(shape: tuple[int, ...], watched: tuple[int, ...]) -> tuple[int, ...] | None:
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


def _values(records: Sequence[Record]) -> tuple[Array, list[Array]]:
    """(all values that were received, those that each combining op computed), sorted."""
    received = [wide(x) for record in records if isinstance(record.node, Receive) for x in record.results]
    combined = [record for record in records if is_combining(record.node)]
    return (
        np.unique(np.concatenate(received)) if received else np.zeros(1),
        [np.unique(np.concatenate([wide(x) for x in record.results])) for record in combined],
    )


def _is_there(runs: Sequence[Computed], watched: tuple[int, ...], values: Sequence[Array]) -> bool:
    """Whether the values of a load or sum are among those of one op of the machine."""
    last = runs[-1]
    chosen = np.random.default_rng(0)
    numbers = chosen.integers(last.result.size, size=SAMPLES)
    focus = _focus(last.result.shape, watched)
    if focus is not None:
        numbers[0] = int(np.ravel_multi_index(focus, last.result.shape)) if last.result.ndim else 0
    wanted = wide(last.result)[numbers]
    floor = scale(wide(last.result)) if last.kind == "summed" else 0.0
    for known in values:
        at = np.clip(np.searchsorted(known, wanted), 0, len(known) - 1)
        near = is_same(known[at], wanted, floor) | is_same(known[np.maximum(at - 1, 0)], wanted, floor)
        if near[0] and float(near.mean()) >= MOST:
            return True
    return False


def _wrong_sum(
    one: Computed, watched: tuple[int, ...], records: Sequence[Record], taken: set[int]
) -> Parting | None:
    """What the machine made of the elements that go into a sum."""
    focus = _focus(one.result.shape, watched)
    if one.kind != "summed" or focus is None or not one.inputs:
        return None
    inputs = _summed_elements(one, focus)
    if inputs is None:
        return None
    found = sums_of([r for r in records if id(r) not in taken], inputs)
    if not found:
        return None
    last = found[0]
    return Parting(one.op, focus, float(wide(one.result[focus])[0]), last.value, last.record, last.instance)


def _summed_elements(one: Computed, focus: tuple[int, ...]) -> list[Array] | None:
    """Of every operand of a sum the elements that go into one of its results; None if its maps do not say."""
    maps = _maps(one)
    if maps is None:
        return None
    *inputs, result = maps
    if any(not isinstance(e, AffineDimExpr) for m in maps for e in m.results):
        return None
    axis = {e.position: k for k, e in enumerate(result.results)}  # type: ignore[attr-defined]
    out = []
    for x, m in zip(one.inputs, inputs, strict=False):
        dims = [axis.get(e.position) for e in m.results]  # type: ignore[attr-defined]
        out.append(np.asarray(x[tuple(slice(None) if d is None else focus[d] for d in dims)]))
    return out


def _maps(one: Computed) -> tuple[AffineMap, ...] | None:
    """The maps of a sum's inputs and of its result."""
    op, rank = one.op, one.inputs[0].ndim
    given: Any = op.properties.get("indexing_maps", op.attributes.get("indexing_maps"))
    if given is not None and given.data:
        return (*(m.data for m in given.data[: len(one.inputs)]), given.data[-1].data)
    if op.name == "linalg.reduce":
        return reduce_nest(op, rank).maps[: len(one.inputs)] + reduce_nest(op, rank).maps[-1:]
    return CONTRACTIONS.get(op.name.removeprefix("linalg."))
