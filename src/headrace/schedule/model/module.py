"""model: a function of a KTIR module as a TileGraph for one device."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, product

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from headrace.arch.device import Device
from headrace.ir.arguments import grid
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.schedule.graph import Arg, CoreClass, Statement, TileGraph
from headrace.schedule.model.entry import KernelRun, launch, memory_arguments
from headrace.schedule.model.evaluate import evaluate
from headrace.schedule.model.state import Blocks, Split, State
from headrace.schedule.model.statements import changed, names
from headrace.schedule.model.tensors import Constant, Integer
from headrace.schedule.model.tidy.cleanup import (
    drop_dead,
    look_through,
    number_inits,
    share,
    simplify_reshapes,
)
from headrace.schedule.model.tidy.conditions import conditions_inside
from headrace.schedule.model.tidy.contraction import recognise_all
from headrace.schedule.model.tidy.dims import unify
from headrace.schedule.model.tidy.factoring import factored
from headrace.schedule.model.tidy.hoisting import hoisted
from headrace.schedule.model.tidy.invariants import split_invariants
from headrace.schedule.model.tidy.joining import joined as parts_joined
from headrace.schedule.model.tidy.meetings import missed
from headrace.schedule.model.tidy.narrowing import narrowed
from headrace.schedule.model.tidy.pieces import Piece
from headrace.schedule.model.tidy.rounds import core_classes
from headrace.schedule.model.tidy.sequence import in_sequence
from headrace.schedule.model.work.total import work_of
from headrace.schedule.ring import Use, is_sound, uses


def model(
    module: ModuleOp,
    device: Device,
    scalars: Mapping[str, float | int] | None = None,
    function: str | None = None,
    without: Collection[str] = (),
    between: Collection[str] | None = None,
    blocks: Blocks = "joined",
) -> TileGraph:
    """The TileGraph of a function, or of all that a module runs, on the cores of `device`.

    `scalars` gives arguments that are no addresses their values, by name without the percent sign; the
    function's `headrace.example` stands in for those not given. With "ring" in `without`, values between
    tiles pass through device memory. What one kernel of a module stores to an argument in `between` (None:
    any) and the same cores load again in a later one is read where it was computed. `blocks`: what
    becomes of loops over blocks of keys that carry a running maximum. HeadraceError carries everything that
    cannot be scheduled.
    """
    name, runs = launch(module, function, scalars or {})
    for use in uses(device, without):
        kernels = [_kernel(module, run, device.cores, use, blocks) for run in runs]
        joined, kept = in_sequence([k.classes for k in kernels], between)
        classes = least = _finished(joined)
        if is_sound(use, joined) and is_sound(use, classes):
            break
    if between is not None and len(runs) > 1:
        least = _finished(in_sequence([k.classes for k in kernels])[0])
    scratch = {name: arg for k in kernels for name, arg in k.scratch.items()}
    args = (*memory_arguments(module, function, scalars or {}), *scratch.values())
    has_blocks = any(k.has_blocks for k in kernels)
    if any(k.goes_on for k in kernels):  # what only a longer loop needs is no work
        work = model(module, device, scalars, function, without, between, "exact").work
    else:
        work = work_of(least, scratch)
    return TileGraph(name, grid(runs[0].kernel), args, classes, work, kept, has_blocks)


@dataclass(frozen=True)
class _Kernel:
    """One kernel on the cores, and the memory it needs besides its arguments."""

    classes: tuple[CoreClass, ...]
    scratch: Mapping[str, Arg]
    has_blocks: bool
    goes_on: bool
    """Whether some loop is as long on all tiles as on the one where it is longest. Loops that would have to
    be unrolled to end earlier do not count: their rows are worth what whole rows are.
    """


def _kernel(module: ModuleOp, run: KernelRun, cores: int, ring: Use, blocks: Blocks) -> _Kernel:
    tiles = grid(run.kernel)
    coordinates = np.array([c[::-1] for c in product(*(range(n) for n in reversed(tiles)))], np.int64)
    pieces = _pieces(module, run.kernel, coordinates, run.bindings, ring, blocks)
    further = {arg for s in pieces.values() for arg in s.read_further}
    if further & {arg for piece in pieces for arg in changed(piece.body)}:
        pieces = _pieces(module, run.kernel, coordinates, run.bindings, ring, "exact")
    goes_on = any(s.goes_on for s in pieces.values())
    lost = missed(list(pieces))
    if lost:
        raise HeadraceError(lost)
    later = State(module, coordinates[:1])
    later.counter = max(s.counter for s in pieces.values())
    scratch = {name: arg for s in pieces.values() for name, arg in s.scratch.items()}
    has_blocks = any(s.has_blocks for s in pieces.values())
    return _Kernel(core_classes(list(pieces), cores, later), scratch, has_blocks, goes_on)


def _pieces(
    module: ModuleOp,
    function: FuncOp,
    coordinates: np.ndarray,
    bound: Mapping[str, Constant | Integer],
    ring: Use,
    blocks: Blocks,
) -> dict[Piece, State]:
    """The function evaluated group by group, groups parted wherever their tiles do not do the same."""
    groups = [np.arange(len(coordinates))]
    pieces: dict[Piece, State] = {}
    findings: list[Diagnostic] = []
    while groups:
        tiles = groups.pop(0)
        try:
            state = evaluate(module, function, coordinates[tiles], bound, ring, blocks)
        except Split as parting:
            keys = np.broadcast_to(parting.keys, tiles.shape)
            groups = [tiles[keys == key] for key in np.unique(keys)] + groups
            continue
        findings += [d for d in state.diagnostics if d not in findings]
        pieces[Piece(tuple(int(t) for t in tiles), state.values, _cleaned(state))] = state
    if findings:
        raise HeadraceError(findings)
    return pieces


def _cleaned(state: State) -> tuple[Statement, ...]:
    body = tuple(state.block)
    for _ in range(2):  # the second round sees what the first made equal
        body = number_inits(body)
        body = simplify_reshapes(body, state.values)
        body = look_through(share(body, state.values), state.values)
        body = conditions_inside(body, state.values)
        body = drop_dead(body, ())
    return body


def _finished(classes: tuple[CoreClass, ...]) -> tuple[CoreClass, ...]:
    """The classes with contractions marked, dims unified and named, unused values gone."""
    numbers: Iterator[int] = count()
    more: Iterator[int] = count()

    def fresh() -> str:
        return f"w{next(more)}"

    done = []
    for c in classes:
        values = dict(c.values)
        body = parts_joined(hoisted(c.body), values)
        body = factored(
            split_invariants(body, values, lambda: f"w{next(more)}"), values, lambda: f"w{next(more)}"
        )
        body = narrowed(drop_dead(share(body, values), ()), values)
        body = unify(recognise_all(body, values), values, lambda: f"d{next(numbers)}")
        used = names(body)
        done.append(CoreClass(c.cores, {n: v for n, v in values.items() if n in used}, body))
    return tuple(done)
