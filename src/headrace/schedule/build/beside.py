"""The rows of a vector phase between the products of a contraction, as both share the units of a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from headrace.schedule.build.emitter import Emitter, Pipeline
from headrace.schedule.build.indices import Index
from headrace.schedule.build.sections import At, Sections
from headrace.schedule.build.vector import Phase, sources_of, targets_of
from headrace.schedule.phases.beside import Beside
from headrace.schedule.phases.passes import step_of

Turn = Literal["first", "last"]


class Guest:
    """The vector phase that runs beside a contraction."""

    def __init__(self, phase: Phase, plan: Beside) -> None:
        self.phase, self.plan = phase, plan
        self.made = step_of(
            phase.shape, plan.lane, plan.elements, frozenset({plan.row}), phase.device, phase.plan.unit
        )
        size = plan.elements // len(plan.turns)
        self.row = Sections(phase, self.made, plan.lane, size, len(plan.turns), plan.joined)
        self.slots = list(dict.fromkeys([*self.row.slots.all(), *self.row.wide.all()]))
        self.sources, self.targets = sources_of(phase), targets_of(phase)

    def among(self, count: int, block: Index, is_last: bool, column: Index, corelet: Index) -> Rows:
        """Return `count` rows of a block of products with those of this phase between them."""
        number = self.plan.counts[-1 if is_last else 0]
        place = lambda row: self.where(block, column, corelet, row)  # noqa: E731
        return Rows(Index(0), Index(count), self if number else None, number, place)

    def where(self, block: Index, column: Index, corelet: Index, row: Index) -> At:
        """Return the place of a row beside a block of products, whose first column is `column`."""
        plan = self.plan
        if plan.by == "columns":
            return {plan.row: row, plan.lane: column}
        share = self.phase.shape.extents[plan.row] // self.phase.corelets
        first = corelet * share + block * plan.counts[0]
        return {plan.row: first + row, plan.lane: Index(0)}

    def read(self, pipe: Pipeline, at: At, section: int) -> None:
        """Emit what the reader sends for a section of a row."""
        self.row.read(pipe, at, section, self.sources)

    def compute(self, pipe: Pipeline, at: At, section: int) -> None:
        """Emit the work of the vector unit on it."""
        self.row.compute(pipe, at, section)

    def write(self, pipe: Pipeline, at: At, section: int) -> None:
        """Emit what the writer takes for it."""
        self.row.write(pipe, at, section, self.targets)


@dataclass(frozen=True)
class Rows:
    """The rows of products in a block, and the `rows` of a `guest` between them, which lie at `place`."""

    first: Index
    count: Index
    guest: Guest | None = None
    rows: int = 0
    place: Callable[[Index], At] | None = None


def walk(
    emit: Emitter,
    found: Rows,
    product: Callable[[Index], None] | None,
    beside: Callable[[Guest, At, int], None] | None = None,
    turn: Turn = "first",
    is_flat: bool = False,
    lead: int = 0,
    behind: Callable[[Index], None] | None = None,
) -> None:
    """Emit the loops over the rows of a block; `beside` emits a section of a row of the guest, before the
    products that follow it or (turn "last") after them. A unit may have to do with one of both only.

    All units of a block walk the same rows in the same order. The products that follow a section lie side by
    side; with `is_flat` they are written out, so that the loop over rows is one of straight-line steps, and
    what a row reduces is waited for while other rows are computed. With `lead`, products come so many
    sections ahead of the one whose turn they follow, as far as they belong to the same row; `behind` is
    emitted for each of them behind the section.
    """
    if found.guest is None or (beside is None and not is_flat):
        _products(emit, found.count, found.first, product)
        return
    guest, place, total = found.guest, found.place, found.count.const
    assert place is not None and not found.count.terms
    turns = guest.plan.turns
    starts = list(accumulate(turns, initial=0))

    def products(first: Index, turn_number: int, product: Callable[[Index], None] | None) -> None:
        count = turns[turn_number]
        if product is None or not count:
            return
        at = first + starts[turn_number]
        if count == 1 or is_flat:
            for offset in range(count):
                product(at + offset)
        else:
            _products(emit, Index(count), at, product)

    with emit.loop(found.rows, "q", "parallel_loop") as number:
        first, here = number * starts[-1] + found.first, place(number)
        for section in range(len(turns)):
            if beside is not None and turn == "first":
                beside(guest, here, section)
            for due in range(section + lead if section else 0, min(section + lead + 1, len(turns))):
                products(first, due, product)
            if beside is not None and turn == "last":
                beside(guest, here, section)
            products(first, section, behind)
    done = found.rows * starts[-1]
    if total > done:
        both = [each for each in (product, behind) if each is not None]
        _products(emit, Index(total - done), found.first + done, _in_turn(both))


def _in_turn(each: list[Callable[[Index], None]]) -> Callable[[Index], None] | None:
    def call(row: Index) -> None:
        for one in each:
            one(row)

    return call if each else None


def _products(emit: Emitter, count: Index, first: Index, product: Callable[[Index], None] | None) -> None:
    if product is not None:
        with emit.loop(count, "r", "parallel_loop") as number:
            product(number + first)
