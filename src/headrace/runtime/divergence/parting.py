"""The first statement whose values the machine does not compute, found by comparing values alone.

A DFIR op does not name the statement it carries out, so values say it: a pointwise op of the machine carries
out a statement if it gives the statement's result on lanes with the statement's operands; a sum is there if
its value is. A statement that nothing on the machine shows may be fused into another one; it counts as right
if one that needs it is. An op with a statement's operands that carries out none computes it wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.ir import Operation

from headrace.machine.check.recorded import Record
from headrace.runtime.divergence.lanes import lanes, wide
from headrace.runtime.divergence.pointwise import Parting, focus_of, judged, statement
from headrace.runtime.divergence.statements import Computed, Trail, sources
from headrace.runtime.divergence.sums import is_there, values_of, wrong_sum

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Found:
    """What comparing says of a statement: its values are there, or surely (or perhaps) come out wrong."""

    is_right: bool
    is_sure: bool = False
    parting: Parting | None = None


def parting(trail: Trail, records: Sequence[Record], sound: Sequence[Record] | None = None) -> Parting | None:
    """Return where the values of a tile part from those of the machine's core; None where all are there.

    `sound` are records of a program of the same kernel that gives the right results: what cannot be seen
    there either counts only if nothing else says where.
    """
    compared = _compared(trail, records)
    usual = {} if sound is None else _compared(trail, sound)
    found = _first(trail, {op: one for op, one in compared.items() if op not in usual or usual[op].is_right})
    if sound is None or (found is not None and found.record is not None):
        return found
    other = _first(trail, compared)
    return other if found is None or (other is not None and other.record is not None) else found


def _first(trail: Trail, compared: Mapping[Operation, _Found]) -> Parting | None:
    """The first statement whose values are not there, of some of a trail's."""
    hidden: list[Operation] = []
    wrong: Parting | None = None
    for op, one in compared.items():
        if one.is_sure and one.parting is not None:
            return _with_hidden(one.parting, hidden)
        if one.is_right:
            known = sources(op.operands)
            hidden = [other for other in hidden if other not in known]
            wrong = None if wrong is not None and wrong.op in known else wrong
        elif one.parting is not None:
            wrong = wrong or _with_hidden(one.parting, hidden)
        elif wrong is None:
            hidden.append(op)
    if wrong is not None or not hidden:
        return wrong
    first = next(one for one in reversed(trail.computed) if one.op is hidden[0])
    element = focus_of(first.result.shape, trail.element) or (0,) * first.result.ndim
    return Parting(hidden[0], element, float(wide(first.result[element])[0]))


def _compared(trail: Trail, records: Sequence[Record]) -> dict[Operation, _Found]:
    """Every statement of a trail, in order, looked up on the machine."""
    units = lanes(records)
    by_op: dict[Operation, list[Computed]] = {}
    for computed in trail.computed:
        by_op.setdefault(computed.op, []).append(computed)
    pointwise = {
        op: statement(op, runs, trail.element, units)
        for op, runs in by_op.items()
        if runs[0].kind == "pointwise"
    }
    taken = {id(s.lanes.record) for one in pointwise.values() for s in one.seen if s.carries_out}
    free = [unit for unit in units if id(unit.record) not in taken]
    received, combined = values_of(records)
    found = {}
    for op, runs in by_op.items():
        if op in pointwise:
            found[op] = _Found(*judged(pointwise[op], free))
        elif is_there(runs, trail.element, [received] if runs[0].kind == "loaded" else combined):
            found[op] = _Found(True)
        else:
            found[op] = _Found(False, False, wrong_sum(runs[-1], trail.element, records, taken))
    return found


def _with_hidden(found: Parting, hidden: Sequence[Operation]) -> Parting:
    """The parting with those hidden statements that its own one needs."""
    known = sources(found.op.operands)
    return replace(found, hidden=tuple(one for one in hidden if one in known))
