"""Results that leave during the next tile: a tile's results wait in the scratchpad, and every step of the
next tile's depth stores some rows of them.

Transfers in flight share device memory evenly, and every core stores for itself, while one multicast load
serves many: stores of a whole tile at once would hold up the loads that the next tile waits for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.schedule.build import rows
from headrace.schedule.build.handovers import pace
from headrace.schedule.build.indices import Index
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.tiles import Part
from headrace.schedule.build.vector import Phase, buffers, shifted, store_tile
from headrace.schedule.phases.contraction import Run
from headrace.schedule.phases.shape import Operand

Origin = Mapping[str, Index]
Sources = Mapping[str, Buffered]


@dataclass(frozen=True)
class Finished:
    """Results that are complete in the scratchpad: where the tile begins, its extents, where they lie by
    value, the dim of rows.
    """

    origin: Origin
    tile: Mapping[str, int]
    sources: Sources
    row: str

    @property
    def count(self) -> int:
        """Rows of the tile."""
        return self.tile.get(self.row, 1)

    def rows(self, first: Index, count: int) -> Finished:
        """Return `count` rows of them from row `first` on."""
        offset = {self.row: first}
        origin = {**self.origin, self.row: self.origin.get(self.row, Index(0)) + first}
        sources = {value: shifted(buffer, offset) for value, buffer in self.sources.items()}
        return Finished(origin, {**self.tile, self.row: count}, sources, self.row)


class Leaving:
    """Where the results of the tiles of the innermost loop wait, and which of them leave during which tile.

    `pieces` are the tiles in order, one or several alike. Those of a first tile larger than all others
    (`is_apart`) have a place of their own, and leave evenly during all others. Where equal tiles follow a
    larger first one, what that has more lies at the beginning of the place of all, and does the same.
    """

    def __init__(
        self, phase: Phase, row: str, results: Sequence[Operand], pieces: Sequence[Part], is_apart: bool
    ) -> None:
        self.phase, self.row, self.pieces, self.is_apart = phase, row, pieces, is_apart
        dims = dict(phase.plan.tile)
        self.large = {o.value: buffers(phase, o, dims, 1) for o in results} if is_apart else {}
        for part in pieces[1:] if is_apart else ():
            dims |= {d: n if part is pieces[1] else max(dims[d], n) for d, n in part.tile.items()}
        copies = min(phase.plan.copies["waiting"], sum(part.trips for part in pieces) - is_apart)
        self.usual = {o.value: buffers(phase, o, dims, copies) for o in results} if copies else {}
        ((self.dim, _, _, largest),) = pieces[0].runs
        is_larger = not is_apart and len(pieces) == 2 and pieces[1].trips > 1
        self.more = largest - pieces[1].tile[self.dim] if is_larger else 0

    def waiting(self, piece: int, number: Index, behind: int = 0) -> Sources:
        """Return where the results of tile `number` of a piece wait, or of a tile `behind` it."""
        tile = sum(part.trips for part in self.pieces[:piece]) - behind
        if self.is_apart and tile <= 0 and not number.terms:
            return {value: made[0] for value, made in self.large.items()}
        found = {}
        for value, made in self.usual.items():
            at = tile % len(made)
            turned = [*made[at:], *made[:at]]
            chosen = rows.selected(self.phase.emit, turned, number) if number.terms else turned[0]
            is_first = not piece and not behind
            found[value] = chosen if is_first else shifted(chosen, {self.dim: Index(self.more)})
        return found

    def due(self, piece: int, number: Index, origin: Origin, tile: Mapping[str, int]) -> list[Finished]:
        """Return what leaves during tile `number` of a piece; its tiles begin at `origin` in the loops
        around and have the extents `tile` but along their own dim.
        """
        found = []
        if piece > int(self.is_apart):
            ((dim, start, count, size),) = self.pieces[piece].runs
            place, extent = number * size + (start - size), size
            if count == 1:
                ((_, start, count, extent),) = self.pieces[piece - 1].runs
                place = Index(start + (count - 1) * extent)
            sources = self.waiting(piece, number, 1)
            found.append(Finished({**origin, dim: place}, {**tile, dim: extent}, sources, self.row))
        slow = self._slow(origin, tile)
        if piece and slow is not None and (share := self._share(slow)):
            done = number + sum(part.trips for part in self.pieces[1:piece])
            found.append(slow.rows(done * share, share))
        return found

    def _slow(self, origin: Origin, tile: Mapping[str, int]) -> Finished | None:
        """The results of the first tile that leave during all others."""
        ((dim, start, _, size),) = self.pieces[0].runs
        made = self.large if self.is_apart else self.usual
        extent = size if self.is_apart else self.more
        if not extent or len(self.pieces) == 1:
            return None
        sources = {value: each[0] for value, each in made.items()}
        return Finished({**origin, dim: Index(start)}, {**tile, dim: extent}, sources, self.row)

    def _share(self, slow: Finished) -> int:
        """Rows of the first tile that leave during each of the others."""
        return slow.count // sum(part.trips for part in self.pieces[1:])

    def last(self, origin: Origin, tile: Mapping[str, int]) -> None:
        """Emit the stores of what is left behind the last tile."""
        ((dim, start, count, size),) = self.pieces[-1].runs
        place = Index(start + (count - 1) * size)
        sources = self.waiting(len(self.pieces), Index(0), 1)
        self.store(Finished({**origin, dim: place}, {**tile, dim: size}, sources, self.row))
        slow = self._slow(origin, tile)
        if slow is not None:
            stored = self._share(slow) * sum(part.trips for part in self.pieces[1:])
            if stored < slow.count:
                self.store(slow.rows(Index(stored), slow.count - stored))

    def store(self, done: Finished) -> None:
        """Emit the stores of finished results."""
        store_tile(self.phase, done.origin, done.tile, done.sources)


class During:
    """Results leave row by row during the steps of the depth of a tile; rows that are too few for one a step
    leave before them.
    """

    def __init__(self, leaving: Leaving | None, due: Sequence[Finished], steps: Sequence[Run]) -> None:
        self.due = due
        others = [run for run in steps if not run.is_last]
        self.run = max(others, key=lambda run: run.count, default=None)
        self.leaving = leaving
        if leaving is not None:
            self._before(leaving)

    def _before(self, leaving: Leaving) -> None:
        """Emit, before the first step, what does not leave in the steps."""
        for done in self.due:
            if left := done.count - self._each(done) * (self.run.count if self.run else 0):
                leaving.store(done.rows(Index(0), left))

    def step(self, run: Run, number: Index) -> None:
        """Emit what leaves in the step of that number of a run, once the rows of the step before are read;
        the last step makes new results.
        """
        due = [done for done in self.due if self._each(done)]
        if run is not self.run or not due or self.leaving is None:
            return
        phase = self.leaving.phase
        pace(phase.emit, phase.device, phase.cores)
        for done in due:
            each = self._each(done)
            self.leaving.store(done.rows(number * each + (done.count - each * run.count), each))

    def _each(self, done: Finished) -> int:
        return done.count // self.run.count if self.run is not None else 0
