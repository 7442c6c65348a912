"""Positions that follow a loop variable through divisions and remainders: tabulated over the loop's
iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from headrace.schedule.lower.index import Expr, Term, Var, substitute, variables
from headrace.schedule.lower.order.accesses import Range

LONGEST = 512
"""Loops with more iterations are not tabulated."""


@dataclass(frozen=True)
class Swing:
    """A position at each iteration of the loop of `var`, up to a constant."""

    var: Var
    values: tuple[int, ...]

    def difference(self, distance: np.ndarray) -> np.ndarray:
        """Return [1, distances, iterations]: the position that many iterations later, less the one now."""
        at, later = self._iterations(distance)
        values = np.array(self.values)
        return np.asarray(values[later] - values[at])[None]

    def happens(self, distance: np.ndarray) -> np.ndarray:
        """Return [1, distances, iterations]: the later iteration is one of the loop."""
        count = len(self.values)
        later = np.arange(count)[None, :] + distance.reshape(-1, 1)
        inside: np.ndarray = (later >= 0) & (later < count)
        return inside[None]

    def _iterations(self, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.values)
        at = np.broadcast_to(np.arange(count)[None, :], (distance.size, count))
        return at, np.clip(at + distance.reshape(-1, 1), 0, count - 1)


def swing(terms: tuple[tuple[Term, int], ...], loops: Mapping[Var, Range]) -> Swing | None:
    """Return the sum of coefficient x term as a table; None if it depends on more than one short, known
    loop.
    """
    expr = Expr(0, terms)
    found = variables(expr)
    if len(found) != 1:
        return None
    (var,) = found
    loop = loops.get(var)
    if loop is None:
        return None
    bounds = (loop.low, loop.count, loop.step)
    numbers = [b.const for b in bounds if b.is_number and isinstance(b.const, int)]
    if len(numbers) < 3 or not 0 < numbers[1] <= LONGEST:
        return None
    values = _table(expr, var, *numbers)
    return Swing(var, values) if values is not None else None


@lru_cache(maxsize=1024)
def _table(expr: Expr, var: Var, low: int, count: int, step: int) -> tuple[int, ...] | None:
    values = []
    for k in range(count):
        value = substitute(expr, {var: Expr(low + k * step)})
        if not value.is_number or not isinstance(value.const, int):
            return None
        values.append(value.const)
    return tuple(values)
