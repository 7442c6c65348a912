"""After how many iterations of a loop everything in it that goes in turns is where it was."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import lcm
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerType

from headrace.schedule.verify.programs.sets import moduli
from headrace.schedule.verify.programs.values import BINARY, DEFINING

MOST = 3000
"""No loop leaves iterations out of a longer period."""

Period = int | None
"""None: the loop has none, its iterations are no shifted copies of each other."""


class Periods:
    """The periods of the loops of one function by their number of iterations: the programs of its units have
    the same loops, of which each sees a part, and leave out the same iterations.
    """

    def __init__(self, function: Any, known: Mapping[Any, Any]) -> None:
        self.function, self.numbers = function, known

    def of(self, count: int) -> Period:
        """Return the period of the loops of that many iterations."""
        found = _both(self._by_count.get(count, 1), self._by_count.get(None, 1))
        return found if found is not None and found <= MOST else None

    @cached_property
    def _by_count(self) -> dict[int | None, Period]:
        """The periods of loops by iterations; None: those that are not the same for all units."""
        found: dict[int | None, Period] = {}
        for op in self.function.walk():
            if op.name == "scf.for":
                count = self._count(op)
                found[count] = _both(found.get(count, 1), period(op))
        return found

    def _count(self, loop: Any) -> int | None:
        bounds = [self.numbers.get(value) for value in (loop.lb, loop.ub, loop.step)]
        if not all(isinstance(n, int) for n in bounds):
            return None
        low, high, step = (int(n) for n in bounds if n is not None)
        return max(0, -(-(high - low) // step))


def _both(a: Period, b: Period) -> Period:
    return None if a is None or b is None else lcm(a, b)


def period(loop: Any) -> Period:
    """Return after how many iterations all that a loop does is the same again, moved by constants.

    What follows from its variable may be added up, multiplied by numbers, and divided or taken remainders of
    by constants: the period is a multiple of those. Where it decides anything (a branch, a bound, an extent,
    a partner) there is none.
    """
    if any(isinstance(v.type, IndexType | IntegerType) for v in loop.iter_args):
        return None
    found: Period = 1
    moving = {loop.body.block.args[0]}
    for op in loop.body.walk():
        tainted = [operand for operand in op.operands if operand in moving]
        if tainted:
            found = _both(found, _of_op(op, tainted))
            moving.update(op.results if op.name in BINARY or op.name in DEFINING else ())
    return found


def _of_op(op: Any, moving: list[Any]) -> Period:
    """The period of one op of which these operands move."""
    if op.name in ("arith.addi", "arith.subi"):
        return 1
    if op.name == "arith.muli":
        return 1 if len(moving) == 1 else None
    if op.name in DIVIDING:
        return None if moving != [op.operands[0]] else _constant(op.operands[1])
    if op.name in BINARY or op.name in DECIDING or any(v in moving for v in getattr(op, "time_symbols", ())):
        return None
    maps = [attribute for attribute in op.properties.values() if isinstance(attribute, AffineMapAttr)]
    steps = [moduli(attribute) for attribute in maps]
    return None if any(m is None for m in steps) else lcm(*(m for found in steps for m in found or ()))


def _constant(value: Any) -> Period:
    number = getattr(getattr(getattr(value.owner, "value", None), "value", None), "data", None)
    return number if isinstance(number, int) and number > 0 else None


DIVIDING = ("arith.divui", "arith.floordivsi", "arith.ceildivsi", "arith.remui")
DECIDING = (
    "arith.cmpi",
    "arith.select",
    "scf.if",
    "scf.for",
    "uniform.query_map",
    "dataflow.get_unit",
    "dataflow.get_local_unit",
    "dataflow.get_logical_memory_view",
    "dataflow.create_multicast_group",
)
