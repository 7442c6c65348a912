"""After how many iterations of a loop everything in it that goes in turns is where it was."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import lcm
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr

from headrace.schedule.verify.sets import moduli

MOST = 3000
"""No loop leaves iterations out of a longer period."""


class Periods:
    """The periods of the loops of one function by their number of iterations: the programs of its units have
    the same loops, of which each sees a part, and leave out the same iterations.
    """

    def __init__(self, function: Any, known: Mapping[Any, Any]) -> None:
        self.function, self.numbers = function, known

    def of(self, count: int) -> int:
        """Return the period of the loops of that many iterations."""
        return min(lcm(self._by_count.get(count, 1), self._by_count.get(None, 1)), MOST)

    @cached_property
    def _by_count(self) -> dict[int | None, int]:
        """The periods of loops by iterations; None: those that are not the same for all units."""
        found: dict[int | None, int] = {}
        for op in self.function.walk():
            if op.name == "scf.for":
                count = self._count(op)
                found[count] = lcm(found.get(count, 1), _period(op))
        return found

    def _count(self, loop: Any) -> int | None:
        bounds = [self.numbers.get(value) for value in (loop.lb, loop.ub, loop.step)]
        if not all(isinstance(n, int) for n in bounds):
            return None
        low, high, step = (int(n) for n in bounds if n is not None)
        return max(0, -(-(high - low) // step))


def _period(loop: Any) -> int:
    """What ops in a loop take remainders by, of numbers that follow from its variable; of any numbers if the
    loop carries values.
    """
    found, is_any = 1, bool(loop.iter_args)
    moving = {loop.body.block.args[0]}
    for op in loop.body.walk():
        if not is_any and not any(operand in moving for operand in op.operands):
            continue
        moving.update(op.results)
        moving.update(arg for region in op.regions for block in region.blocks for arg in block.args)
        for attribute in op.properties.values():
            if isinstance(attribute, AffineMapAttr):
                found = lcm(found, *moduli(attribute))
    return found
