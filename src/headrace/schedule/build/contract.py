"""Contraction phases: tile loops over rows, columns and depth, loads where their dims are fixed, blocks in
between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

from xdsl.ir import SSAValue

from headrace.schedule.build import rows
from headrace.schedule.build.beside import Guest
from headrace.schedule.build.blocks import Block, Blocks, emit_blocks
from headrace.schedule.build.indices import Index
from headrace.schedule.build.joint import Joint, joint
from headrace.schedule.build.leaving import During, Finished, Leaving
from headrace.schedule.build.memory import Buffered
from headrace.schedule.build.tiles import Part, first_apart, parts, tapered
from headrace.schedule.build.vector import Phase, buffers, load, results_of, shifted, store_tile
from headrace.schedule.phases.contraction import Roles, Run, accumulator, behind_dim, roles, runs
from headrace.schedule.phases.shape import Operand

Origin = dict[str, Index]
Extents = dict[str, int]


@dataclass(frozen=True)
class State:
    """Where the loops stand: origin and extents of the tile, buffers that hold the operands loaded so far.

    `panel` holds weights of the whole depth while tiles of rows pass; the first of these fills it. `loops`
    are the variables of the loops over tiles, which run `count` times in all. Where results leave during the
    next tile, `due` are those that leave during this one, `waiting` is where its own wait, by value.
    """

    origin: Origin = field(default_factory=dict)
    extents: Extents = field(default_factory=dict)
    held: dict[Operand, Buffered] = field(default_factory=dict)
    panel: Buffered | None = None
    is_filling: bool = False
    loops: tuple[Index, ...] = ()
    count: int = 1
    due: Sequence[Finished] = ()
    waiting: Mapping[str, Buffered] = field(default_factory=dict)


class Contraction:
    """The emission of one contraction phase."""

    def __init__(self, phase: Phase, guest: Guest | None = None) -> None:
        self.guest = guest
        self.phase, self.plan, self.shape = phase, phase.plan, phase.shape
        self.emit = phase.emit
        self.swapped = "swapped" in self.plan.order
        self.roles: Roles = roles(phase.shape, self.swapped)
        compute = phase.shape.group.computes[0]
        matrix = phase.device.unit(self.plan.unit).matrix
        self.sums = accumulator(compute, matrix, self.roles.rows.dtype)
        self.extras = [o for o in phase.shape.inputs if o not in self.roles.factors]
        self.psum: dict[int, SSAValue] = {}
        self.streams: dict[tuple[Operand, str], list[Buffered]] = {}
        self.leaving = self._leaving() if self.plan.copies.get("waiting") else None

    def _leaving(self) -> Leaving:
        """What leaves one tile behind, and when."""
        dim, results = behind_dim(self.plan, self.roles), results_of(self.shape)
        sizes = {dim: self.shape.extents[dim]}, {dim: self.plan.tile[dim]}
        found = tapered(dim, self.plan.taper, len(self.plan.kept)) if self.plan.taper else parts(*sizes, {})
        is_larger = len(found) == 2 and found[0].trips == 1 and found[0].tile[dim] > found[1].tile[dim]
        if self.plan.kept or not is_larger:
            found = [piece for part in found for piece in first_apart(part)]
        stored = [o for o in results if o.storage.kind != "lx"]
        return Leaving(self.phase, self.roles.row, stored, found, bool(self.plan.kept))

    def loops(self) -> list[str]:
        """Dims of the tile loops outside the depth, outermost first."""
        r = self.roles
        pair = [r.column, r.row] if self.plan.order.startswith("column") else [r.row, r.column]
        return [*r.outer, *(d for d in pair if d)]

    def run(self) -> None:
        """Emit the phase."""
        turn = self.phase.turn
        state, number = State(), Index(0)
        if turn is not None:
            state, number = State(loops=(turn.number,), count=turn.trips), turn.number
        state = self._load(state, self._ready(set()), state.count, number)
        self._level(self.loops(), state)

    def _fixed_after(self, dims: Sequence[str]) -> set[str]:
        """Dims whose tiles still change in the loops over `dims` and in the depth."""
        r = self.roles
        inside = [*dims, *r.outer_depth, *([r.depth] if r.depth else [])]
        return {d for d in inside if self.plan.tile[d] < self.shape.extents[d]}

    def _ready(self, held: set[Operand], left: Sequence[str] | None = None) -> list[Operand]:
        """Operands not loaded yet that no remaining loop moves; operands of the epilogue with rows wait for
        its tiles.
        """
        moving = self._fixed_after(self.loops() if left is None else left)
        found = []
        for operand in self.shape.inputs:
            if operand in held or operand.storage.kind == "lx" or moving & set(operand.surface.dims):
                continue
            if operand in self.extras and operand.surface.stride(self.roles.row):
                continue
            found.append(operand)
        return found

    def _level(self, dims: list[str], state: State) -> None:
        if not dims:
            self._depth(state)
            return
        dim, rest = dims[0], dims[1:]
        if dim == self.roles.row and self.plan.taper and self.leaving is None:
            for number, part in enumerate(tapered(dim, self.plan.taper, len(self.plan.kept))):
                self._part(part, dim, rest, replace(state, is_filling=bool(self.plan.kept) and number == 0))
            return
        if self.leaving is not None and dim == behind_dim(self.plan, self.roles):
            self._one_behind(self.leaving, dim, rest, state)
            return
        for part in parts({dim: self.shape.extents[dim]}, {dim: self.plan.tile[dim]}, {}):
            self._part(part, dim, rest, state)

    def _one_behind(self, leaving: Leaving, dim: str, rest: list[str], state: State) -> None:
        """Emit the tiles of the innermost loop, each storing results of tiles before."""
        for piece, part in enumerate(leaving.pieces):
            is_filling = bool(self.plan.kept) and not piece
            self._part(part, dim, rest, replace(state, is_filling=is_filling), piece)
        leaving.last(state.origin, self._tile(state))

    def _part(self, part: Part, dim: str, rest: list[str], state: State, piece: int | None = None) -> None:
        """Emit a part of the tiles along a dim; `piece` is its number if results leave one behind."""
        extents = {**state.extents, dim: part.tile[dim]}
        start = part.runs[0][1]
        with ExitStack() as stack:
            number = Index(0)
            if part.trips > 1:
                number = stack.enter_context(self.emit.loop(part.trips, _iv(dim, self.roles)))
            origin = {**state.origin, dim: number * part.tile[dim] + start}
            inner = replace(state, origin=origin, extents=extents)
            if part.trips > 1:
                inner = replace(inner, loops=(*state.loops, number), count=state.count * part.trips)
            if self.leaving is not None and piece is not None:
                due = self.leaving.due(piece, number, state.origin, self._tile(state))
                inner = replace(inner, due=due, waiting=self.leaving.waiting(piece, number))
            inner = self._load(inner, self._ready(set(state.held), rest), part.trips, number)
            if dim == self.roles.column and self.plan.kept:
                whole = {**self._tile(inner), self.roles.depth: self.shape.extents[self.roles.depth]}
                made = buffers(self.phase, self.roles.weights, whole, 1)
                inner = replace(inner, panel=made[0])
            self._level(rest, inner)

    def _load(
        self,
        state: State,
        operands: list[Operand],
        trips: int,
        number: Index,
        is_filling: bool = False,
        place: str = "",
    ) -> State:
        """Emit the loads of operands whose tile is now known, into buffers that rotate over the loop just
        entered; of a step of the panel, too, if it is being filled. `place` is where in the depth they are.
        """
        if not operands and not is_filling:
            return state
        held = dict(state.held)
        tile = self._tile(state)
        weights = self.roles.weights
        copies = min(self.plan.copies.get("filling" if is_filling else "in", 1), trips)
        wide = {o: joint(self.phase, o, tile) for o in operands}
        made = {o: self._buffers(o, w, copies, place) for o, w in wide.items()}
        loops = state.loops if number in state.loops else (*state.loops, number)
        chosen = {o: rows.selected(self.emit, b, *loops) for o, b in made.items()}
        with self.emit.pipeline() as pipe, pipe.stage(self.phase.units.loader):
            if is_filling and state.panel is not None:
                load(self.phase, weights, self._slice(state, state.panel), state.origin, tile)
            for operand, buffer in chosen.items():
                w = wide[operand]
                load(w.phase, w.operand, buffer, state.origin, w.tile)
                held[operand] = shifted(buffer, w.own)
        return replace(state, held=held)

    def _buffers(self, operand: Operand, wide: Joint, copies: int, place: str) -> list[Buffered]:
        """The buffers of an operand; where tiles come one behind the other, those of all of them are the
        same.
        """
        if self.leaving is None or not place:
            return buffers(wide.phase, wide.operand, wide.tile, copies)
        mark = (operand, place)
        if mark not in self.streams:
            most = dict(self.plan.tile)
            if self.plan.kept:
                most[self.roles.row] = (
                    0 if place.startswith("filling") else max(self.plan.taper[1:], default=0)
                )
            tile = {d: n if d == self.roles.depth else max(n, most[d]) for d, n in wide.tile.items()}
            self.streams[mark] = buffers(wide.phase, wide.operand, tile, copies)
        return self.streams[mark]

    def _slice(self, state: State, panel: Buffered) -> Buffered:
        """The panel from the depth on at which the loops stand."""
        depth = self.roles.depth
        return shifted(panel, {depth: state.origin.get(depth, Index(0))})

    def _tile(self, state: State) -> Extents:
        return {**self.plan.tile, **self._whole(), **state.extents}

    def _whole(self) -> Extents:
        return {d: e for d, e in self.shape.extents.items() if self.plan.tile[d] >= e}

    def _depth(self, state: State) -> None:
        """Emit the depth: the first and the last piece of the sum apart, a loop over the pieces between."""
        size = self.plan.blocks["filling"] if state.is_filling else self.plan.tile.get(self.roles.depth, 1)
        dims, inner = self._pieces(size)
        places = runs(prod(count for _, count, _ in dims), 1)
        leaving = During(self.leaving, state.due, places if len(places) > 1 else inner)
        for place in places:
            with self._repeated(place.count) as number:
                at = self._coordinates(number + place.start, dims)
                around = replace(state, origin={**state.origin, **at})
                if place.count > 1:
                    around = replace(around, loops=(*state.loops, number))
                leaving.step(place, number)
                for run in inner:
                    first, last = run.is_first and place.is_first, run.is_last and place.is_last
                    own = replace(run, is_first=first, is_last=last)
                    self._piece(around, own, number, place.count, partial(leaving.step, run))

    def _pieces(self, size: int) -> tuple[list[tuple[str, int, int]], list[Run]]:
        """The dims of the depth that one loop counts through (name, places, step of a place), and the runs
        of the tiled dim inside of each place; that dim counts places, too, unless its last tile is smaller.
        """
        depth, total = self.roles.depth, self.shape.extents.get(self.roles.depth, 1)
        outer = [(dim, self.shape.extents[dim], 1) for dim in self.roles.outer_depth]
        if depth and total % size == 0:
            return [*outer, (depth, total // size, size)], [Run(0, 1, size, True, True)]
        return outer, runs(total, size)

    def _coordinates(self, number: Index, places: list[tuple[str, int, int]]) -> Origin:
        """The coordinates of a place, the last dim the fastest."""
        found: Origin = {}
        for position, (dim, count, step) in reversed(list(enumerate(places))):
            found[dim] = (self.emit.remainder(number, count) if position else number) * step
            number = self.emit.quotient(number, count) if position else number
        return found

    @contextmanager
    def _repeated(self, count: int) -> Iterator[Index]:
        if count == 1:
            yield Index(0)
            return
        with self.emit.loop(count, "k") as number:
            yield number

    def _piece(
        self, state: State, run: Run, place: Index, places: int, before: Callable[[Index], None]
    ) -> None:
        """Emit a run of the tiled depth at a place: load the factors that stream, multiply; `before`
        emits what goes ahead of a tile of that number.
        """
        depth = self.roles.depth
        with self._repeated(run.count) as number:
            before(number)
            inner = replace(state, extents=self._tile(state))
            if depth:
                start = state.origin.get(depth, Index(0)) + run.start
                origin = {**state.origin, depth: number * run.extent + start}
                inner = replace(inner, origin=origin, extents={**inner.extents, depth: run.extent})
            operands = self._ready(set(state.held), []) or self._streamed(state)
            last = number if run.count > 1 else place
            where = "filling " if state.is_filling else ""
            where += "first" if run.is_first else "last" if run.is_last else "middle"
            inner = self._load(inner, operands, run.count * places, last, state.is_filling, where)
            self._tile_blocks(inner, run)

    def _streamed(self, state: State) -> list[Operand]:
        """The two factors, if they are not loaded yet: the depth is the innermost loop."""
        factors = self.roles.factors if state.panel is None else (self.roles.rows,)
        return [o for o in factors if o not in state.held and o.storage.kind != "lx"]

    def _tile_blocks(self, state: State, run: Run) -> None:
        """Emit the blocks of one tile: chunks of the depth, the last of the whole sum by stages of result
        rows.
        """
        depth = state.extents.get(self.roles.depth, 1)
        for chunk in runs(depth, self.plan.blocks["depth"]):
            is_first, is_last = run.is_first and chunk.is_first, run.is_last and chunk.is_last
            products = range(len(self.roles.all_weights) - is_last)
            with ExitStack() as stack:
                number = Index(0)
                if chunk.count > 1:
                    number = stack.enter_context(self.emit.loop(chunk.count, "kc"))
                at, count = number * chunk.extent + chunk.start, state.extents.get(self.roles.row, 1)
                number = number + chunk.start // self.plan.blocks["depth"]
                for product in products:
                    block = Block(at, chunk.extent, Index(0), count, is_first, False, number)
                    emit_blocks(self._blocks(state, state, {}, {}, product), block)
            if is_last:
                self._results(state, chunk, is_first)

    def _results(self, state: State, chunk: Run, is_first: bool) -> None:
        """Emit the last chunk: stages of rows whose results leave as soon as they are complete."""
        row = self.roles.row
        total = state.extents.get(row, 1)
        size = min(self.plan.blocks["rows"], total)
        depth = Index(chunk.start)
        for part in parts({row: total}, {row: size}, {}):
            with ExitStack() as stack:
                number = Index(0)
                if part.trips > 1:
                    number = stack.enter_context(self.emit.loop(part.trips, "s"))
                first = number * part.tile[row] + part.runs[0][1]
                origin = dict(state.origin)
                if row:
                    origin[row] = state.origin.get(row, Index(0)) + first
                tile = {**state.extents, row: part.tile[row]}
                blocks = self._staged(state, State(origin, tile, state.held), part, number)
                last = Index(chunk.start // self.plan.blocks["depth"])
                emit_blocks(blocks, Block(depth, chunk.extent, first, tile[row], is_first, True, last))
                if self.leaving is None:
                    store_tile(self.phase, origin, tile, blocks.outs)

    def _staged(self, tile_state: State, state: State, part: Part, number: Index) -> Blocks:
        """Load what only this stage of rows needs and choose where its results go."""
        emit, phase = self.emit, self.phase
        tile = state.extents
        late = [o for o in self.extras if o not in state.held and o.storage.kind != "lx"]
        copies = min(self.plan.copies.get("out", 1), part.trips * tile_state.count)
        loops = (*tile_state.loops, number) if part.trips > 1 else tile_state.loops
        ins = {o: rows.selected(emit, buffers(phase, o, tile, copies), *loops) for o in late}
        if ins:
            with emit.pipeline() as pipe, pipe.stage(phase.units.loader):
                for operand, buffer in ins.items():
                    load(phase, operand, buffer, state.origin, tile)
        results = {o.value: o for o in results_of(phase.shape)}
        outs: dict[str, Buffered] = {}
        for value, operand in results.items():
            if operand.storage.kind == "lx":
                outs[value] = shifted(phase.memory.operand(operand, self.shape.extents), state.origin)
            elif self.leaving is not None:
                first = number * tile.get(self.roles.row, 1) + part.runs[0][1]
                outs[value] = shifted(tile_state.waiting[value], {self.roles.row: first})
            else:
                outs[value] = rows.selected(emit, buffers(phase, operand, tile, copies), *loops)
        extras = {**ins}
        for operand in self.extras:
            if operand in state.held:
                extras[operand] = state.held[operand]
            elif operand.storage.kind == "lx":
                extras[operand] = shifted(phase.memory.operand(operand, self.shape.extents), state.origin)
        return self._blocks(tile_state, state, extras, outs, len(self.roles.others))

    def _blocks(
        self,
        tile_state: State,
        state: State,
        extras: Mapping[Operand, Buffered],
        outs: Mapping[str, Buffered],
        product: int,
    ) -> Blocks:
        """The tile of one of the products; what ends with results has the sums of all others beside it."""
        factors = []
        for operand in (self.roles.rows, self.roles.all_weights[product]):
            if operand.storage.kind == "lx":
                factors.append(
                    shifted(self.phase.memory.operand(operand, self.shape.extents), tile_state.origin)
                )
            elif operand == self.roles.weights and tile_state.panel is not None:
                factors.append(self._slice(tile_state, tile_state.panel))
            else:
                factors.append(tile_state.held[operand])
        size = tile_state.extents.get(self.roles.column, 1)
        psum = self._partial_sums(product)
        others = [self._partial_sums(number) for number in range(product)] if outs else []
        fixed = (self.phase, self.roles, size, self.sums)
        complete = tuple(sums for sums in others if sums is not None)
        return Blocks(*fixed, factors[0], factors[1], psum, extras, outs, state.origin, self.guest, complete)

    def _partial_sums(self, product: int) -> SSAValue | None:
        """The buffer of a product's partial sums, one for the phase, or None if one chunk is the whole sum
        and becomes the result at once.
        """
        depth = self.shape.extents.get(self.roles.depth, 1)
        chunk = min(self.plan.blocks["depth"], self.plan.tile.get(self.roles.depth, 1))
        is_last = product == len(self.roles.others)
        if is_last and depth <= chunk and not self.roles.outer_depth:
            return None
        if product not in self.psum:
            sizes = (self.plan.tile.get(self.roles.row, 1), self.plan.tile.get(self.roles.column, 1))
            self.psum[product] = self.phase.memory.alloc(sizes, self.sums, "psum")
        return self.psum[product]


def _iv(dim: str, found: Roles) -> str:
    return {found.row: "m", found.column: "n"}.get(dim, "o")


def build_contract(phase: Phase, guest: Guest | None = None) -> None:
    """Emit a contraction phase, and a vector phase beside it."""
    Contraction(phase, guest).run()
