"""The rows of a vector phase between the products of a contraction, as both share the units of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from headrace.schedule.build import rows
from headrace.schedule.build.emitter import Emitter, Pipeline
from headrace.schedule.build.indices import Index
from headrace.schedule.build.vector import Phase, sources_of, targets_of
from headrace.schedule.phases.beside import Beside
from headrace.schedule.phases.passes import step_of

Turn = Literal["first", "last"]


@dataclass(frozen=True)
class Here:
    """One place of the rows, in loops that others have opened."""

    at: Mapping[str, Index]

    @contextmanager
    def nest(self) -> Iterator[Mapping[str, Index]]:
        """Yield the coordinates; there is no loop to open."""
        yield self.at


class Guest:
    """The vector phase that runs beside a contraction."""

    def __init__(self, phase: Phase, plan: Beside) -> None:
        self.phase, self.plan = phase, plan
        self.made = step_of(
            phase.shape, plan.lane, plan.elements, frozenset({plan.row}), phase.device, phase.plan.unit
        )
        self.slots = rows.Slots(phase, plan.lane, plan.elements, self.made)
        self.sources, self.targets = sources_of(phase), targets_of(phase)

    def among(self, count: int, block: Index, is_last: bool, column: Index, corelet: Index) -> Rows:
        """Return `count` rows of a block of products with those of this phase between them."""
        number = self.plan.counts[-1 if is_last else 0]
        place = lambda row: self.where(block, column, corelet, row)  # noqa: E731
        return Rows(Index(0), Index(count), self if number else None, number, place)

    def where(self, block: Index, column: Index, corelet: Index, row: Index) -> Here:
        """Return the place of a row beside a block of products, whose first column is `column`."""
        plan = self.plan
        if plan.by == "columns":
            return Here({plan.row: row, plan.lane: column})
        share = self.phase.shape.extents[plan.row] // self.phase.corelets
        first = corelet * share + block * plan.counts[0]
        return Here({plan.row: first + row, plan.lane: Index(0)})

    def read(self, pipe: Pipeline, here: Here) -> None:
        """Emit what the reader sends for a row."""
        rows.read(self.phase, self.made, self.slots, pipe, here, self.sources)

    def compute(self, pipe: Pipeline, here: Here) -> None:
        """Emit the step of the vector unit."""
        rows.compute(self.phase, self.made, self.slots, pipe, here, {})

    def write(self, pipe: Pipeline, here: Here) -> None:
        """Emit what the writer takes for a row."""
        rows.write(self.phase, self.made, self.slots, pipe, here, self.targets)


@dataclass(frozen=True)
class Rows:
    """The rows of products in a block, and the `rows` of a `guest` between them, which lie at `place`."""

    first: Index
    count: Index
    guest: Guest | None = None
    rows: int = 0
    place: Callable[[Index], Here] | None = None


def walk(
    emit: Emitter,
    found: Rows,
    product: Callable[[Index], None] | None,
    beside: Callable[[Guest, Here], None] | None = None,
    turn: Turn = "first",
) -> None:
    """Emit the loops over the rows of a block; `beside` emits a row of the guest, before the products that
    follow it or (turn "last") after them. A unit may have to do with one of both only.

    All units of a block walk the same loops.
    """
    if found.guest is None:
        _products(emit, found.count, found.first, product)
        return
    between, total = found.guest.plan.between, found.count.const
    assert found.place is not None and not found.count.terms
    with emit.loop(found.rows, "q", "parallel_loop") as number:
        if beside is not None and turn == "first":
            beside(found.guest, found.place(number))
        if between == 1 and product is not None:
            product(number + found.first)
        else:
            _products(emit, Index(between), number * between + found.first, product)
        if beside is not None and turn == "last":
            beside(found.guest, found.place(number))
    done = found.rows * between
    if total > done:
        _products(emit, Index(total - done), found.first + done, product)


def _products(emit: Emitter, count: Index, first: Index, product: Callable[[Index], None] | None) -> None:
    if product is not None:
        with emit.loop(count, "r", "parallel_loop") as number:
            product(number + first)
