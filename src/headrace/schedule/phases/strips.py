"""Phases run strip by strip: a block whose Computes share rows becomes loops over strips of these rows.

Inside a loop every phase works on one strip, and what it hands on is a strip that stays in the scratchpad.
What all strips read of device memory may be kept there too, in the layout the matrix unit takes. Where a mask
hides columns from a strip, the loops come in steps, each with the columns that its last strip sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.schedule.graph import (
    Access,
    Axis,
    Compute,
    Linear,
    Load,
    Loop,
    Out,
    Scalar,
    Store,
)
from headrace.schedule.phases.bodyops import coordinate
from headrace.schedule.phases.chain import Walk
from headrace.schedule.phases.combiners import without_single_reductions
from headrace.schedule.phases.keyblocks import in_blocks
from headrace.schedule.phases.linear import add
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.part import as_it_lies, as_taken, kept_copy, part_of
from headrace.schedule.phases.peaks import GRAIN
from headrace.schedule.phases.statements import Block, without_unit_dims
from headrace.schedule.phases.triangle import Triangle


@dataclass(frozen=True)
class Strips:
    """How phases are cut: `rows` of a strip, in how many `steps` the columns grow where a mask hides some,
    whether factors that all strips read are `kept` in the scratchpad, whether a strip begins before the
    one before it ends (`ahead`), how many columns of a softmax come at a time (`block`, 0: all), in how many
    steps later the results of a step are stored (`late`), if it is one of the first `waiting`.
    """

    rows: int
    steps: int = 1
    kept: bool = True
    ahead: bool = False
    block: int = 0
    late: int = 0
    waiting: int = 0


@dataclass(frozen=True)
class Step:
    """A loop of `trips` strips of `rows` from row `start` on, which see `columns` (0: there is no mask);
    `before` of them were seen by earlier steps.
    """

    loop: str
    start: int
    rows: int
    trips: int
    columns: int
    before: int


class Cut:
    """One block on its way into strips."""

    def __init__(self, block: Block, names: Names, rows: Walk, mask: Triangle | None, strips: Strips) -> None:
        self.old, self.names, self.rows, self.mask, self.strips = block, names, rows, mask, strips
        self.computes = {n: s for n, s in enumerate(block.statements) if isinstance(s, Compute)}
        self.kept: dict[tuple[Access, bool], Access] = {}
        self.straight: dict[tuple[Access, tuple[int, ...]], Access] = {}
        self.statements: list[Load | Store | Compute | Loop] = []
        self.bodies = dict(block.bodies)

    def block(self) -> Block:
        """Return the block in strips: what takes no part first, then the loops."""
        for number, statement in enumerate(self.old.statements):
            assert isinstance(statement, Load | Store | Compute)
            is_ours = number in self.rows.dims
            if isinstance(statement, Store):
                is_ours = statement.value in self.rows.axes
            if not is_ours:
                self.statements.append(statement)
        for step in self.steps():
            if self.strips.kept:
                self._keep(step)
            self._loop(step)
        return Block(tuple(self.statements), self.bodies)

    def steps(self) -> list[Step]:
        """The loops over strips that cover all rows."""
        total, size = self.rows.extent, min(self.strips.rows, self.rows.extent)
        whole, rest = divmod(total, size)
        count = max(1, min(self.strips.steps, whole)) if self.mask is not None else 1
        cuts = [(whole * k // count * size, size, whole * (k + 1) // count) for k in range(count)]
        pieces = [(start, size, end - start // size) for start, size, end in cuts]
        if rest:
            pieces.append((whole * size, rest, 1))
        found: list[Step] = []
        before = 0
        for start, rows, trips in pieces:
            self.names.count += 1
            columns = self._columns(start + rows * trips)
            found.append(Step(f"strip{self.names.count}", start, rows, trips, columns, before))
            before = columns
        return found

    def _columns(self, rows: int) -> int:
        if self.mask is None:
            return 0
        grain = max(GRAIN, self.strips.block)
        return min(self.mask.columns.extent, -(-self.mask.limit(rows) // grain) * grain)

    def _column(self, number: int) -> str | None:
        """The dim of a statement along which a mask hides columns."""
        return self.mask.columns.dims.get(number) if self.mask is not None else None

    # -- what all strips read --------------------------------------------------------------------------------

    def _keep(self, step: Step) -> None:
        """Bring in the part that a step sees first of the factors all strips read, once for all products that
        see as much of it.
        """
        done: set[tuple[Access, bool]] = set()
        for number in self.rows.dims:
            compute = self.computes[number]
            for access in compute.ins if compute.contraction is not None else ():
                load = self.names.loads.get(access.value)
                is_row = any(a.dim == self.rows.dims[number] for a in access.axes)
                if load is None or load.indirect or is_row or any(a.offset for a in access.axes):
                    continue
                if (mark := self._mark(access, number)) not in done:
                    done.add(mark)
                    self._keep_factor(compute, mark, load, self._column(number), step)

    def _mark(self, access: Access, number: int) -> tuple[Access, bool]:
        """A factor of a statement, and whether a mask hides a part of it."""
        column = self._column(number)
        return access, column is not None and any(a.dim == column for a in access.axes)

    def _keep_factor(
        self, compute: Compute, mark: tuple[Access, bool], load: Load, column: str | None, step: Step
    ) -> None:
        """Load a part of a factor as it lies and, if its depth runs fastest, turn it."""
        assert compute.contraction is not None
        access, is_cut = mark
        walked = [a.dim for a in access.axes if a.dim is not None]
        first, last = (step.before, step.columns) if is_cut else (0, 0)
        if first == last if is_cut else step.before:
            return
        extents = {d.name: d.extent for d in compute.dims}
        order = as_taken(compute.contraction, walked)
        if mark not in self.kept:
            self.kept[mark] = self._new(access, order, extents)
        cut: dict[str | None, tuple[Linear, int]] = {}
        if is_cut:
            extents[column or ""] = last - first
            cut[column] = (Linear(first), last - first)
        source = replace(access, value=part_of(access, load, cut, self.names))
        self.statements.append(self.names.loads[source.value])
        if order != as_it_lies(access, load):
            straight = self._straight(access, walked, extents)
            self.statements.append(kept_copy(source, straight, extents, self.names))
            self.names.apart |= {straight.value, self.kept[mark].value}
            source = straight
        self.statements.append(kept_copy(source, self.kept[mark], extents, self.names, column, first))

    def _straight(self, access: Access, walked: Sequence[str], extents: Mapping[str, int]) -> Access:
        """Where a part of a factor is loaded before it is turned: one place for all steps, so that the next
        part may come as soon as the one before is turned.
        """
        key = (access, tuple(extents[d] for d in walked))
        if key not in self.straight:
            self.straight[key] = self._new(access, walked, extents)
        return self.straight[key]

    def _new(self, access: Access, order: Sequence[str], extents: Mapping[str, int]) -> Access:
        """A new value in the scratchpad with these dims as axes."""
        old = self.names.values[access.value]
        made = self.names.fresh(access.value, replace(old, shape=tuple(extents[d] for d in order)))
        self.names.computed.add(made.name)
        return Access(made.name, tuple(Axis(d) for d in order))

    # -- the loop of a step ----------------------------------------------------------------------------------

    def _loop(self, step: Step) -> None:
        renamed = {value: self.strip(value, step) for value in self.rows.axes}
        body: list[Load | Store | Compute | Loop] = []
        loaded: dict[Access, str] = {}
        for number, statement in enumerate(self.old.statements):
            if number in self.rows.dims:
                assert isinstance(statement, Compute)
                body += self.compute(number, statement, step, renamed, loaded)
            elif isinstance(statement, Store) and statement.value in self.rows.axes:
                body.append(self.store(statement, step, renamed))
        self.bodies[step.loop] = self._body(Block(tuple(body), {}), step)
        self.statements.append(self.loop(step))

    def _body(self, strip: Block, step: Step) -> Block:
        """What is done for a strip: all its columns at once, or block by block, from where on the mask hides
        some apart from those it never hides.
        """
        if not self.strips.block:
            return strip
        last = step.start + (step.trips - 1) * step.rows
        seen = 0 if self.mask is None else max(0, step.start + 1 + self.mask.shift)
        spans = {step.loop: (step.start, last)}
        return in_blocks(strip, self.names, self.strips.block, self.strips.ahead, seen, spans)

    def loop(self, step: Step) -> Loop:
        """The loop over the strips of a step."""
        self.names.strips.add(step.loop)
        return Loop(step.loop, step.trips, Linear(step.start), step.rows, (), is_parallel=True)

    def strip(self, value: str, step: Step) -> str:
        """A new value for one strip of a value."""
        old = self.names.values[value]
        shape = list(old.shape)
        shape[self.rows.axes[value]] = step.rows
        if self.mask is not None and value in self.mask.columns.axes:
            shape[self.mask.columns.axes[value]] = step.columns
        made = self.names.fresh(value, replace(old, shape=tuple(shape)))
        self.names.computed.add(made.name)
        self.names.stripped.add(made.name)
        return made.name

    def store(self, store: Store, step: Step, renamed: Mapping[str, str]) -> Store:
        """The store of one strip."""
        place = store.axes[self.rows.axes[store.value]]
        assert place is not None
        origin = list(store.origin)
        origin[place] = add(origin[place], Linear(0, ((step.loop, 1),)))
        return replace(store, value=renamed[store.value], origin=tuple(origin))

    def compute(
        self,
        number: int,
        compute: Compute,
        step: Step,
        renamed: Mapping[str, str],
        loaded: dict[Access, str],
    ) -> list[Load | Store | Compute | Loop]:
        """The Compute on one strip, and the loads it is the first to need."""
        row = self.rows.dims[number]
        column = self._column(number)
        sizes = {d.name: d.extent for d in compute.dims} | {row: step.rows}
        if column is not None:
            sizes[column] = step.columns
        loads: list[Load | Store | Compute | Loop] = []

        def strip(access: Access) -> Access:
            if (mark := self._mark(access, number)) in self.kept and compute.contraction is not None:
                return self.kept[mark]
            if access.value in renamed:
                return replace(access, value=renamed[access.value])
            load = self.names.loads.get(access.value)
            if load is None or not any(a.dim == row for a in access.axes):
                return access
            if access not in loaded:
                cut: dict[str | None, tuple[Linear, int]] = {row: (Linear(0, ((step.loop, 1),)), step.rows)}
                if column is not None and not load.indirect:
                    cut[column] = (Linear(), step.columns)
                loaded[access] = part_of(access, load, cut, self.names)
                loads.append(self.names.loads[loaded[access]])
            return replace(access, value=loaded[access])

        def init(out: Out) -> object:
            return strip(Access(out.init, out.axes)).value if isinstance(out.init, str) else out.init

        made = replace(
            compute,
            dims=tuple(replace(d, extent=sizes[d.name]) for d in compute.dims),
            ins=tuple(strip(a) for a in compute.ins),
            outs=tuple(
                replace(o, value=renamed[o.value], init=init(o))  # type: ignore[arg-type]
                for o in compute.outs
            ),
            body=tuple(self._entry(s, row, step) for s in compute.body),
        )
        plain = without_single_reductions(without_unit_dims(made), self.names.values)
        return [*loads, plain]

    def _entry(self, entry: Scalar, row: str, step: Step) -> Scalar:
        """An index entry counts from the first row of the strip on."""
        if entry.op != "index":
            return entry
        dim, offset = coordinate(entry)
        return replace(entry, attr=(dim, add(offset, Linear(0, ((step.loop, 1),))))) if dim == row else entry
