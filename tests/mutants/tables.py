"""Faults in what one core has of its own: its number in a table, its partner, how often it does something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from headrace.ir.uniform import DefImmutableMappingOp, QueryMapOp
from tests.mutants.mutators import SYNCS, Change, at, constant, own_numbers, programs_of_several


def tables(module: Any) -> Iterator[Change]:
    """One core has a number that is off by one, the number or partner of another, or runs a loop once more or
    less often.
    """
    for program, units in programs_of_several(module):
        for query in own_numbers(program):
            yield from _entries(query, units)
        for loop in program.walk():
            if loop.name == "scf.for":
                yield from _bounds(loop, program, units)


def _entries(query: Any, units: list[SSAValue]) -> Iterator[Change]:
    mapping = query.map.owner
    keys, values = list(mapping.keys), list(mapping.values_)
    for unit in (units[0], units[len(units) // 2], units[-1]):
        if unit not in keys:
            continue
        place = keys.index(unit)
        name = f"{unit.name_hint} {query.result.name_hint}: {at(query)}"
        number = constant(values[place])
        for amount in (-1, 1) if number is not None else ():
            yield f"off by {amount}: {name}", _renumbered(mapping, place, number + amount)
        for other in units:
            if other in keys and values[keys.index(other)] is not values[place]:
                yield f"swapped: {other.name_hint} {name}", _swapped(mapping, place, keys.index(other))
                yield f"as another: {other.name_hint} {name}", _copied(mapping, place, keys.index(other))


def _renumbered(mapping: Any, place: int, number: int) -> Callable[[], None]:
    def change() -> None:
        value = ConstantOp.from_int_and_width(number, IndexType())
        mapping.parent.insert_op_before(value, mapping)
        mapping.operands[len(mapping.keys) + place] = value.result

    return change


def _copied(mapping: Any, place: int, other: int) -> Callable[[], None]:
    first = len(mapping.keys)
    return lambda: mapping.operands.__setitem__(first + place, mapping.operands[first + other])


def _swapped(mapping: Any, place: int, other: int) -> Callable[[], None]:
    def change() -> None:
        first = len(mapping.keys)
        one, two = mapping.operands[first + place], mapping.operands[first + other]
        mapping.operands[first + place], mapping.operands[first + other] = two, one

    return change


def _bounds(loop: Any, program: Any, units: list[SSAValue]) -> Iterator[Change]:
    """A loop runs once more or less often in one core: credits, steps, messages."""
    count, step = constant(loop.ub), constant(loop.step)
    if count is None or step is None:
        return
    word = "credits" if any(op.name in SYNCS for op in loop.body.block.ops) else "iterations"
    for unit in (units[0], units[-1]):
        for amount in (-step, step):
            yield (
                f"{word} of a core by {amount}: {unit.name_hint}: {at(loop)}",
                _bounded(loop, program, units.index(unit), count, count + amount),
            )


def _bounded(loop: Any, program: Any, number: int, count: int, other: int) -> Callable[[], None]:
    def change() -> None:
        me, units = program.region.block.args[0], list(program.units)
        bounds = [ConstantOp.from_int_and_width(n, IndexType()) for n in (count, other)]
        values = [bounds[k == number].result for k in range(len(units))]
        mapping = DefImmutableMappingOp(operands=[units, values], result_types=[IndexType()])
        query = QueryMapOp(operands=[mapping.result, me], result_types=[IndexType()])
        loop.parent.insert_ops_before([*bounds, mapping, query], loop)
        loop.operands[1] = query.result

    return change
