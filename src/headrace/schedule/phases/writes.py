"""When the phases of a class write each value: a carried value is written anew in every iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.names import Names

Place = tuple[int, int]
"""A phase and a Compute in it."""


@dataclass(frozen=True)
class Writes:
    """The places that write each value, in order; an alias is written where its bytes are."""

    places: Mapping[str, Sequence[Place]]
    names: Names

    @staticmethod
    def of(groups: Sequence[Group], names: Names) -> Writes:
        """Return the writes of phases in the order they run in."""
        found: dict[str, list[Place]] = {}
        for number, group in enumerate(groups):
            for at, compute in enumerate(group.computes):
                for out in compute.outs:
                    found.setdefault(names.aliases.get(out.value, out.value), []).append((number, at))
        return Writes(found, names)

    def is_unchanged(self, value: str, made: str, number: int) -> bool:
        """Return whether a phase finds in a value what `made`, computed from it once, was computed from."""
        since = self._of(made)
        return not since or all(not since[-1] < place < (number + 1, 0) for place in self._of(value))

    def _of(self, value: str) -> Sequence[Place]:
        return self.places.get(self.names.aliases.get(value, value), ())
