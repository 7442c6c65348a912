"""Faults of one iteration of a loop, or of one core, where many do alike: what a checker that looks at some
of them might miss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects.arith import AddiOp, CmpiOp, ConstantOp
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Operation, SSAValue

from headrace.ir.uniform import DefImmutableMappingOp, QueryMapOp
from tests.mutants.mutators import (
    COPIES,
    SYNCS,
    Change,
    at,
    constant,
    is_device,
    ops_of,
    own_numbers,
    programs_of_several,
)

ONCE = (*SYNCS, *COPIES)
"""What is left out, or differs, once."""


# ---- one iteration ---------------------------------------------------------------------------------------
def iterations(module: Any) -> Iterator[Change]:
    """The first, the last or one in the middle of a loop's iterations leaves something out, or moves data as
    its successor does; or all from there on are out of turn.
    """
    for loop in ops_of(module, "scf.for"):
        low, high, step = (constant(v) for v in (loop.lb, loop.ub, loop.step))
        if low is None or high is None or step is None or high - low <= step:
            continue
        variable = loop.body.block.args[0]
        last = low + (high - low - 1) // step * step
        middle = low + (last - low) // step // 2 * step
        for op in loop.body.block.ops:
            if op.name in ONCE:
                for k in dict.fromkeys((low, middle, last)):
                    yield f"left out in an iteration: {k} of {last}: {at(op)}", _skipped(op, variable, k)
            if op.name in COPIES and variable in op.operands:
                for k in dict.fromkeys((low, middle)):
                    yield (
                        f"as the next iteration: {k} of {last}: {at(op)}",
                        _ahead(op, variable, k, step, "eq"),
                    )
                yield (
                    f"ahead from an iteration: {middle}: {at(op)}",
                    _ahead(op, variable, middle, step, "sge"),
                )


def _skipped(op: Any, variable: SSAValue, k: int) -> Callable[[], None]:
    def change() -> None:
        compare = _compared(op, "ne", variable, k)
        branch = IfOp(compare, [], [YieldOp()])
        op.parent.insert_op_before(branch, op)
        op.detach()
        branch.true_region.block.insert_op_before(op, branch.true_region.block.last_op)

    return change


def _ahead(op: Any, variable: SSAValue, k: int, step: int, when: str) -> Callable[[], None]:
    """A branch, on the iteration, between the op and itself as of the next iteration."""

    def change() -> None:
        compare = _compared(op, when, variable, k)
        size = ConstantOp.from_int_and_width(step, IndexType())
        following = AddiOp(variable, size.result, result_type=IndexType())
        op.parent.insert_ops_before([size, following], op)
        other = op.clone()
        for place, operand in enumerate(other.operands):
            if operand is variable:
                other.operands[place] = following.result
        branch = IfOp(compare, [], [other, YieldOp()], [YieldOp()])
        op.parent.insert_op_before(branch, op)
        op.detach()
        branch.false_region.block.insert_op_before(op, branch.false_region.block.last_op)

    return change


def _compared(op: Operation, how: str, value: SSAValue, k: int) -> CmpiOp:
    number = ConstantOp.from_int_and_width(k, IndexType())
    compare = CmpiOp(value, number.result, how)
    block = op.parent
    assert block is not None
    block.insert_ops_before([number, compare], op)
    return compare


# ---- one core --------------------------------------------------------------------------------------------
def cores(module: Any) -> Iterator[Change]:
    """One core has another's partner, writes where another does, or leaves out a signal or copy."""
    for program, units in programs_of_several(module):
        for query in own_numbers(program):
            yield from _entries(query, units)
        for op in program.walk():
            if op.name in ONCE:
                for unit in (units[0], units[-1]):
                    text = f"left out in a core: {unit.name_hint}: {at(op)}"
                    yield text, _left_out(op, program, units.index(unit))


def _entries(query: Any, units: list[SSAValue]) -> Iterator[Change]:
    """One entry of a map becomes that of another unit, where it names partners or places that are written."""
    mapping = query.map.owner
    values = dict(zip(mapping.keys, mapping.values_, strict=True))
    uses = [use.operation for use in query.result.uses]
    names_partner = any(op.name in (*SYNCS, "dataflow.send", "dataflow.receive") for op in uses)
    is_written = any(op.name == COPIES[0] and query.result in op.dst_indices for op in uses)
    if not names_partner and not (
        is_written and any(is_device(op.dst.owner) for op in uses if op.name == COPIES[0])
    ):
        return
    word = "partner" if names_partner else "place written"
    for unit, other in ((units[0], units[-1]), (units[-1], units[0])):
        if unit in values and other in values and values[unit] is not values[other]:
            place = list(mapping.keys).index(unit)
            yield (
                f"{word} of a core: {unit.name_hint} {query.result.name_hint}: {at(query)}",
                lambda place=place, value=values[other]: _replaced(mapping, place, value),
            )


def _replaced(mapping: Any, place: int, value: SSAValue) -> None:
    mapping.operands[len(mapping.keys) + place] = value


def _left_out(op: Any, program: Any, number: int) -> Callable[[], None]:
    def change() -> None:
        me, units = program.region.block.args[0], list(program.units)
        flags = [ConstantOp.from_int_and_width(k, IndexType()) for k in (0, 1)]
        values = [flags[k == number].result for k in range(len(units))]
        mapping = DefImmutableMappingOp(operands=[units, values], result_types=[IndexType()])
        query = QueryMapOp(operands=[mapping.result, me], result_types=[IndexType()])
        op.parent.insert_ops_before([*flags, mapping, query], op)
        _skipped(op, query.result, 1)()

    return change
