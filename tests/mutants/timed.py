"""The order of a timed run: every action when the timing engine has it happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.ir.diagnostics import HeadraceError
from headrace.machine.image import Image
from headrace.machine.timing import time
from tests.mutants.interleaving import Actor, Order
from tests.mutants.subjects import Subject


class Timed(Order):
    """Picks the ready actor with the earliest time; `intervals` tell when every op starts and ends."""

    def __init__(self, intervals: Sequence[Any]) -> None:
        super().__init__(0)
        self.spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for one in intervals:
            self.spans.setdefault((one.track, str(one.where)), []).append((one.start, one.end))
        for spans in self.spans.values():
            spans.sort()
        self.now = 0.0

    def pick(self, ready: list[Actor]) -> Actor:
        """The ready actor with the earliest time; who waited for it goes on now at the earliest."""
        for actor in ready:
            actor.when = max(actor.when, self.now)
        best = min(ready, key=lambda a: a.when)
        self.now = best.when
        return best

    def span(self, unit: str, where: Any, after: float) -> tuple[float, float] | None:
        """The next interval of the op on the unit."""
        spans = self.spans.get((unit, str(where)))
        return spans.pop(0) if spans else None

    def piece(self, steps: int) -> int:
        """Copies move one vector at a time."""
        return 1


def timed_order(image: Image, subject: Subject) -> Order | None:
    """The order of the timed run of an image; None where the timing engine finds that it hangs."""
    try:
        timing = time(image, subject.scalars, subject.device, is_traced=True, is_folding=False)
    except HeadraceError:
        return None
    return Timed(timing.intervals)
