"""The fast engine of KTIR: alike tiles of the grid run together, equal to `plain` in all it reports.

A function runs tile by tile, as in `plain`, when before it starts one of these holds: it has views of
scratchpads, calls or `scf.while`; loaded elements decide a branch, a bound or an address (those of an
indirect access tile excepted); one tile loads what another one stores, or several ops store to it; an access
leaves its view. `why_not` says which. Tiles that branch, loop or communicate differently run as groups that
do not, which wait for each other where they deliver values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from headrace.ir.diagnostics import HeadraceError
from headrace.numbers.memory import Memory
from headrace.semantics.batches import intertile  # noqa: F401  adds its ops to CONTROL
from headrace.semantics.batches.conflicts import Touched
from headrace.semantics.batches.frame import BatchFrame, BatchLedger, Diverges, NotBatchable
from headrace.semantics.batches.ops import is_joined
from headrace.semantics.batches.plans import Plan, Prepared, prepared
from headrace.semantics.batches.reach import Reach
from headrace.semantics.batches.run import run_block
from headrace.semantics.batches.tape import TAPED, Tape
from headrace.semantics.frame import Launch
from headrace.semantics.options import Options
from headrace.semantics.plain import interpret_by, run_tiles, take_turns
from headrace.semantics.report import Report

__all__ = ["Options", "Report", "interpret", "why_not"]

Array = np.ndarray[Any, Any]
CACHED_BYTES = 2**20
"""Rows of tiles that run together take about this much per tensor, so that what is live stays in a cache."""
JOINED_BYTES = 2**25
"""The same where tiles share an operand of a matrix product or what is delivered to them, which is then
combined once: both are worth more than the cache."""


def interpret(
    module: ModuleOp,
    memory: Memory,
    scalars: Mapping[str, float | int],
    options: Options | None = None,
    function: str | None = None,
) -> Report:
    """As `plain.interpret`, faster: the same memory afterwards, the same report, the same errors.

    Sums of floats are taken in any order, within the bound that `numbers.tolerance` states.
    """
    return interpret_by(_run, module, memory, scalars, options, function)


def why_not(
    module: ModuleOp,
    memory: Memory,
    scalars: Mapping[str, float | int],
    options: Options | None = None,
    function: str | None = None,
) -> list[str]:
    """For every function that would run, why its tiles cannot run together, or nothing; runs none."""
    found: list[str] = []

    def note(launch: Launch, kernel: FuncOp, values: Sequence[Any]) -> None:
        found.append(_plan(launch, kernel, values, prepared(launch, kernel)).reason)

    interpret_by(note, module, memory, scalars, options, function)
    return found


def _run(launch: Launch, kernel: FuncOp, values: Sequence[Any]) -> None:
    known = prepared(launch, kernel)
    plan = known.plan(values, lambda: _plan(launch, kernel, values, known))
    reason = plan.reason
    if plan.touched.has_read_indices:
        reason = plan.touched.conflict(plan.is_in_order)
    if reason:
        run_tiles(launch, kernel, values)
        return
    report = Report(lx_peak_bytes=plan.peak_bytes or 0, lx_peak_at=plan.peak_at)
    running = replace(launch, plans=known.blocks, facts=known.once, mail={}, shared={}, report=report)
    space = launch.memory.bytes
    before = [(first, space[first:end].copy()) for first, end in plan.touched.rewritten]
    tapes: list[Tape | None] = []
    batches = _batches(running, plan, known.facts, tapes)
    try:
        if known.is_inter_tile:
            _take_turns(list(batches), kernel, values, report)
        else:
            for frame in batches:
                _take_turns([frame], kernel, values, report)
    except HeadraceError:
        # The first tile in order is the one to tell of: from the start, tile by tile.
        for first, content in before:
            space[first : first + len(content)] = content
        run_tiles(launch, kernel, values)
        return
    launch.report.read_bytes += report.read_bytes
    launch.report.written_bytes += report.written_bytes
    launch.report.note_peak(report.lx_peak_bytes, report.lx_peak_at)
    for warning in report.warnings:
        launch.report.warn(warning)
    plan.peak_bytes = report.lx_peak_bytes if known.is_alike else None
    plan.peak_at = report.lx_peak_at if known.is_alike else None
    noted = [tape for tape in tapes if tape is not None]
    plan.is_taped = plan.is_taped and sum(len(tape.items) for tape in noted) < TAPED
    plan.tapes = [tape.items for tape in noted] if plan.is_taped else None


def _take_turns(frames: Sequence[BatchFrame], kernel: FuncOp, values: Sequence[Any], report: Report) -> None:
    take_turns({frame.tile: run_block(frame, kernel.body.block, values, ()) for frame in frames})
    for frame in frames:
        report.note_peak(frame.ledger.peak_bytes, frame.ledger.peak_at)


def _batches(running: Launch, plan: Plan, facts: Reach, tapes: list[Tape | None]) -> Iterator[BatchFrame]:
    """The frames to run one after the other, each with a tape, which is added to `tapes`."""
    for group in plan.groups:
        for first in range(0, len(group), plan.size):
            frame = _frame(running, group[first : first + plan.size], facts)
            frame.stored, frame.is_booked = plan.touched.stored, plan.peak_bytes is not None
            if plan.is_taped:
                frame.tape = Tape(None if plan.tapes is None else plan.tapes[len(tapes)])
            tapes.append(frame.tape)
            yield frame


def _plan(launch: Launch, kernel: FuncOp, values: Sequence[Any], known: Prepared) -> Plan:
    """How the tiles run, for these values of the arguments."""
    reason, touched, groups, is_in_order = known.obstacle, Touched(), list[Array](), False
    if not reason:
        following = replace(launch, plans=known.blocks, facts=known.once, mail={}, shared={}, report=Report())
        try:
            groups = _followed(following, kernel, values, known.facts, touched)
            is_in_order = not known.is_inter_tile and bool((np.diff(np.concatenate(groups)) > 0).all())
            reason = touched.conflict(is_in_order) if launch.tiles > 1 else ""
        except (NotBatchable, HeadraceError) as error:
            reason = str(error)
    is_shared = known.is_inter_tile or any(is_joined(known.facts.varying, op) for op in kernel.walk())
    limit = JOINED_BYTES if is_shared else CACHED_BYTES
    return Plan(reason, groups, touched, max(1, limit // max(touched.tile_bytes, 1)), is_in_order)


def _followed(
    launch: Launch, kernel: FuncOp, values: Sequence[Any], facts: Reach, touched: Touched
) -> list[Array]:
    """Groups of tiles that go the same way, with all their accesses in `touched`; computes no tensor."""
    pending, groups = [np.arange(launch.tiles)], []
    while pending:
        group = pending.pop()
        attempt = Touched()
        frame = _frame(launch, group, facts)
        frame.touched = attempt.add
        try:
            take_turns({frame.tile: run_block(frame, kernel.body.block, values, ())})
        except Diverges as different:
            pending += [group[rows] for rows in different.groups]
            continue
        touched.include(attempt)
        groups.append(group)
    return sorted(groups, key=lambda g: int(g[0]))


def _frame(launch: Launch, tiles: Array, facts: Reach) -> BatchFrame:
    order: Any = "C" if launch.options.linearise == "last" else "F"
    coordinates: Any = tuple(np.unravel_index(tiles, launch.grid, order))
    ledger = BatchLedger(len(tiles), facts.varying)
    return BatchFrame(
        launch,
        int(tiles[0]),
        coordinates,
        ledger=ledger,
        tiles=tiles,
        varying=facts.varying,
        known=facts.known,
    )
