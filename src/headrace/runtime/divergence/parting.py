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
from headrace.runtime.divergence.lanes import FEW, Lanes, is_same, lanes, scale, sums_of, wide
from headrace.runtime.divergence.statements import Computed, Trail, sources
from headrace.semantics.linalg import reduce_nest
from headrace.semantics.named import CONTRACTIONS

Array = np.ndarray[Any, Any]
SAMPLES = 48
"""Elements of a statement that are looked up, beside the watched one."""
MOST = 0.9
"""The part of them that has to be there."""
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
    """One element of one execution: index, operands, result."""

    element: tuple[int, ...]
    operands: tuple[float, ...]
    result: float


@dataclass(frozen=True)
class _Seen:
    """One op of the machine looked up for the points of a statement: per point whether a lane has its
    operands, whether the result is right, and of the first such lane the number.
    """

    lanes: Lanes
    found: Array
    right: Array
    first: Array

    @property
    def carries_out(self) -> bool:
        """Whether it does what the statement does."""
        count = float(self.found.sum())
        return count >= SOME * len(self.found) and float(self.right.sum()) >= MOST * count


def parting(trail: Trail, records: Sequence[Record]) -> Parting | None:
    """Return where the values of a tile part from those of the machine's core; None where all are there."""
    units = lanes(records)
    by_op: dict[Operation, list[Computed]] = {}
    for one in trail.computed:
        by_op.setdefault(one.op, []).append(one)
    points = {op: _points(runs, trail.element) for op, runs in by_op.items() if runs[0].kind == "pointwise"}
    seen = {op: [_look_up(unit, found) for unit in units] for op, found in points.items()}
    taken = {id(s.lanes.record) for found in seen.values() for s in found if s.carries_out}
    free = [unit for unit in units if id(unit.record) not in taken]
    values = _values(records)
    hidden: list[Operation] = []
    wrong: Parting | None = None
    for op, runs in by_op.items():
        if op in points:
            is_right = _is_right(seen[op], points[op])
            found = _wrong_lane(op, points[op], [s for s in seen[op] if s.lanes in free])
            if found is None and not is_right:
                found = _half_right(op, points[op], free)
            if found is not None:
                return wrong or _with_hidden(found, hidden)
        else:
            is_right = _is_there(runs, trail.element, values)
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


def _points(runs: Sequence[Computed], watched: tuple[int, ...]) -> list[_Point]:
    """Elements of a statement to look up, the watched one of the last execution first."""
    chosen = np.random.default_rng(0)
    found = []
    for k, one in enumerate(reversed(runs)):
        arrays = [np.broadcast_to(x, one.result.shape) for x in one.inputs]
        count = -(-SAMPLES // min(len(runs), SAMPLES))
        elements = [
            np.unravel_index(n, one.result.shape) for n in chosen.integers(one.result.size, size=count)
        ]
        focus = _focus(one.result.shape, watched)
        for element in [*([focus] if focus is not None and k == 0 else []), *elements]:
            at = tuple(int(n) for n in element)
            operands = tuple(float(wide(x[at])[0]) for x in arrays)
            found.append(_Point(at, operands, float(wide(one.result[at])[0])))
        if len(found) > 2 * SAMPLES:
            break
    return found


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
            same = is_same(unit.result[matches], point.result, unit.scales[-1])
            right[k] = bool(same.any())
            first[k] = matches[int(same.argmax())]
    return _Seen(unit, found, right, first)


def _matches(unit: Lanes, point: _Point) -> Array:
    """The lanes of an op with the operands of a point, in one order or the other."""
    if len(unit.operands) != len(point.operands):
        return np.zeros(0, np.int64)
    orders = (
        list(permutations(range(len(point.operands))))
        if len(point.operands) < 3
        else [range(len(point.operands))]
    )
    for order in orders:
        wanted = [point.operands[i] for i in order]
        hits = min((unit.with_operand(j, v) for j, v in enumerate(wanted)), key=len)[: FEW * FEW]
        for j, value in enumerate(wanted):
            hits = hits[is_same(unit.operands[j][hits], value, unit.scales[j])]
        if len(hits):
            return hits
    return np.zeros(0, np.int64)


def _is_right(seen: Sequence[_Seen], points: Sequence[_Point]) -> bool:
    """Whether some op of the machine gives each of the results, of most and of the watched element."""
    if not seen:
        return False
    right = np.any([s.right for s in seen], axis=0)
    return bool(right[0]) and float(right.mean()) >= MOST


def _wrong_lane(op: Operation, points: Sequence[_Point], seen: Sequence[_Seen]) -> Parting | None:
    """An op that carries out no statement, takes a statement's operands and gives another result: that
    statement computed wrong, whether or not another op computes it right.
    """
    for one in seen:
        if one.found[0] and not one.right[0] and float(one.found.mean()) >= MOST:
            return _at_lane(op, points[0], one.lanes, int(one.first[0]))
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
    hits = unit.with_operand(place, value)[:FEW]
    if not len(hits) or is_same(unit.operands[1 - place][hits], other, unit.scales[1 - place]).any():
        return -1, False
    return int(hits[0]), not is_same(unit.result[hits], point.result, unit.scales[-1]).any()


def _at_lane(op: Operation, point: _Point, unit: Lanes, lane: int) -> Parting:
    value = float(unit.result[lane])
    return Parting(op, point.element, point.result, value, unit.record, unit.instance(lane))


def _values(records: Sequence[Record]) -> list[Array]:
    """The values that each op of the machine received or computed, sorted; last all that were received."""
    found = [np.unique(np.concatenate([wide(x) for x in record.results])) for record in records]
    received = [v for v, record in zip(found, records, strict=True) if isinstance(record.node, Receive)]
    return [*found, np.unique(np.concatenate(received))] if received else found


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
    for known in values[-1:] if last.kind == "loaded" else values[:-1]:
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
