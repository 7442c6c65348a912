"""Column phases: rows are combined one after the other into accumulators, across tiles through the
scratchpad.

If one tile holds all there is to combine, its accumulators end as results at once. Otherwise a buffer of
accumulators
is filled with the start values, every tile combines into it, and a last step makes the results. Corelets take
different results, or, when there are too few, different rows and parts of the buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.schedule.build import rows
from headrace.schedule.build.accumulate import Sources, Tile
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.tiles import Part, parts, tile_loop
from headrace.schedule.build.vector import Phase, buffers, load, results_of, shifted, store_tile
from headrace.schedule.graph import Out
from headrace.schedule.phases.passes import accumulator_dtype
from headrace.schedule.phases.shape import Operand


@dataclass(frozen=True)
class Accumulator:
    """One reduction of the phase: Compute and result number, its type while it accumulates."""

    compute: int
    position: int
    out: Out
    dtype: str


class Column:
    """The emission of one column phase."""

    def __init__(self, phase: Phase) -> None:
        self.phase, self.emit, self.shape, self.plan = phase, phase.emit, phase.shape, phase.plan
        self.lane = phase.plan.lane
        self.kept = [d for d in self.shape.extents if d not in self.shape.reduced]
        self.reduced = [d for d in self.shape.extents if d in self.shape.reduced]
        self.lane_is_reduced = self.lane in self.shape.reduced
        self.by_depth = self.plan.split == "depth"
        self.accumulators = [
            Accumulator(c, o, out, accumulator_dtype(out, compute))
            for c, compute in enumerate(self.shape.group.computes)
            for o, out in enumerate(compute.outs)
            if out.combiner is not None
        ]
        self.inits = [o for o in self.shape.inputs if self._is_init(o)]

    def _is_init(self, operand: Operand) -> bool:
        return all(k[1] < 0 for k, o in self.shape.reads.items() if o == operand)

    def run(self) -> None:
        """Emit the phase."""
        held = self._load(
            [o for o in self._memory() if not self._moving(o, self.shape.extents)], {}, 1, Index(0), {}
        )
        tile = {d: self.plan.tile[d] for d in self.kept}
        unit = {} if self.lane_is_reduced else {self.lane: self.plan.step}
        for part in parts(self.shape.extents, tile, unit):
            with tile_loop(self.emit, part, "t") as (origin, number):
                self._outputs(part, origin, number, held)

    def _memory(self) -> list[Operand]:
        return [o for o in self.shape.inputs if o.storage.kind != "lx"]

    def _moving(self, operand: Operand, dims: Mapping[str, int]) -> bool:
        return any(self.plan.tile[d] < self.shape.extents[d] for d in operand.surface.dims if d in dims)

    def _load(
        self,
        operands: list[Operand],
        origin: Mapping[str, Index],
        trips: int,
        number: Index,
        tile: Mapping[str, int],
    ) -> dict[Operand, Buffered]:
        if not operands:
            return {}
        whole = {**self.shape.extents, **tile}
        copies = min(self.plan.copies.get("in", 1), trips)
        made = {o: rows.selected(self.emit, buffers(self.phase, o, whole, copies), number) for o in operands}
        with self.emit.pipeline() as pipe, pipe.stage(self.phase.units.loader):
            for operand, buffer in made.items():
                load(self.phase, operand, buffer, origin, whole)
        return made

    def _outputs(self, part: Part, origin: dict[str, Index], number: Index, held: Sources) -> None:
        """Emit everything for one tile of results."""
        depth = {d: self.shape.extents[d] for d in self.reduced}
        early = [o for o in self._memory() if o not in held and not self._moving(o, depth)]
        whole = {o: shifted(buffer, origin) for o, buffer in held.items()}
        sources = {**whole, **self._load(early, origin, part.trips, number, part.tile)}
        unit = {self.lane: self.plan.step} if self.lane_is_reduced else {}
        pieces = parts(self.shape.extents, {d: self.plan.tile[d] for d in self.reduced}, unit)
        targets = self._targets(part, origin, number)
        if sum(p.trips for p in pieces) == 1 and not self.by_depth:
            tile = Tile(self, part, pieces[0], self._placed(sources, origin), origin)
            tile.direct(targets)
        else:
            sums = self._sums(part)
            Tile(self, part, None, {}, origin).fill(sums)
            for piece in pieces:
                with tile_loop(self.emit, piece, "k") as (inner, count):
                    at = {**origin, **inner}
                    late = [o for o in self._memory() if o not in sources]
                    box = {**part.tile, **piece.tile}
                    found = {o: shifted(buffer, inner) for o, buffer in sources.items()}
                    found |= self._load(late, at, piece.trips, count, box)
                    Tile(self, part, piece, self._placed(found, at), at).accumulate(sums)
            Tile(self, part, None, self._placed(sources, origin), origin).finish(sums, targets)
        store_tile(self.phase, origin, part.tile, targets)

    def _placed(self, sources: Sources, origin: Mapping[str, Index]) -> dict[Operand, Buffered]:
        found = dict(sources)
        for operand in self.shape.inputs:
            if operand.storage.kind == "lx":
                found[operand] = shifted(self.phase.memory.operand(operand, self.shape.extents), origin)
        return found

    def _targets(self, part: Part, origin: Mapping[str, Index], number: Index) -> dict[str, Buffered]:
        found: dict[str, Buffered] = {}
        copies = min(self.plan.copies.get("out", 1), part.trips)
        for value, operand in {o.value: o for o in results_of(self.shape)}.items():
            if operand.storage.kind == "lx":
                found[value] = shifted(self.phase.memory.operand(operand, self.shape.extents), origin)
            else:
                found[value] = rows.selected(
                    self.emit, buffers(self.phase, operand, part.tile, copies), number
                )
        return found

    def _sums(self, part: Part) -> list[Buffered]:
        """One buffer for each accumulator: parts of the corelets, kept dims, lanes."""
        dims = ["part", *(d for d in self.kept if d != self.lane), self.lane]
        count = self.phase.corelets if self.by_depth else 1
        sizes = {**part.tile, "part": count}
        if self.lane_is_reduced:
            sizes[self.lane] = self.plan.step
        shape = [sizes[d] for d in dims]
        zero = (Index(0),) * len(dims)
        return [
            Buffered(self.phase.memory.alloc(shape, a.dtype, "sums"), tuple(dims), zero)
            for a in self.accumulators
        ]


def build_column(phase: Phase) -> None:
    """Emit a column phase."""
    Column(phase).run()
