"""Where the statements of a core class run: a point for every core and iteration of the loops around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headrace.schedule.graph import CoreClass, Linear, Loop, Number, PerCore, Statement


@dataclass(frozen=True)
class Points:
    """`core[p]` is the core (its number in the class) of point p, `variables[name][p]` a variable."""

    core: np.ndarray
    variables: dict[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.core)

    def number(self, value: Number) -> np.ndarray:
        """The number at every point."""
        if isinstance(value, PerCore):
            return np.take(np.array(value.values, np.int64), self.core)
        return np.full(self.core.shape, value, np.int64)

    def linear(self, value: Linear) -> np.ndarray:
        """The linear form at every point."""
        total = self.number(value.const)
        for name, factor in value.terms:
            total = total + factor * self.variables[name]
        return total

    def inside(self, loop: Loop) -> Points:
        """The points of the loop's body."""
        trips = self.number(loop.trip)
        which = np.repeat(np.arange(len(self.core)), trips)
        first = np.concatenate([[0], np.cumsum(trips)[:-1]]) if len(trips) else trips
        iteration = np.arange(len(which)) - first[which]
        variables = {n: v[which] for n, v in self.variables.items()}
        variables[loop.name] = self.linear(loop.start)[which] + iteration * loop.step
        return Points(self.core[which], variables)


def walk(c: CoreClass) -> Iterator[tuple[Statement, Points]]:
    """Every statement of a class that is no loop, with the points where it runs."""
    yield from _walk(c.body, Points(np.arange(len(c.cores))))


def _walk(body: Sequence[Statement], points: Points) -> Iterator[tuple[Statement, Points]]:
    for s in body:
        if isinstance(s, Loop):
            yield from _walk(s.body, points.inside(s))
        else:
            yield s, points
