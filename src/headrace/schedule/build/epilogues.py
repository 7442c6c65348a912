"""Runs of column blocks whose epilogues are alike: a mask is computed only where it can hide something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.arch.cost import Port, matrix_cycles, step_cycles
from headrace.schedule.build.indices import Index
from headrace.schedule.graph import Compute
from headrace.schedule.phases.contraction import by_block
from headrace.schedule.phases.passes import compute_ops

if TYPE_CHECKING:
    from headrace.schedule.build.blocks import Block, Blocks

Run = tuple["Blocks", Index, Index]
"""A tile with the epilogue of a run, the run's first block on this corelet and how many it has there."""


def alike(tile: Blocks, block: Block, width: int, share: tuple[Index, Index], cl: Index) -> list[Run]:
    """Return the column blocks `share` (first, count) of a corelet in runs with an epilogue each; one run if
    the vector unit keeps up with the matrix unit anyway.
    """
    phase, column = tile.phase, tile.roles.column
    whole, count = [(tile, *share)], share[1]
    is_cut = phase.plan.tile.get(column) != phase.shape.extents.get(column) or phase.plan.split != "columns"
    if not block.is_last or is_cut or count.terms or phase.corelets > 2:
        return whole
    if tile.guest is None and not _is_slower(tile, block, width):
        return whole
    made = by_block(phase.shape, tile.roles, width, phase.memory.ranges)
    found: list[Run] = []
    for computes in dict.fromkeys(made):
        own = [
            [b for b in range(k * count.const, (k + 1) * count.const) if made[b] == computes]
            for k in range(phase.corelets)
        ]
        if any(blocks != list(range(blocks[0], blocks[0] + len(blocks))) for blocks in own if blocks):
            return whole
        starts = [blocks[0] if blocks else k * count.const for k, blocks in enumerate(own)]
        found.append(
            (_with(tile, computes), _by_corelet(starts, cl), _by_corelet([len(one) for one in own], cl))
        )
    return found


def _is_slower(tile: Blocks, block: Block, width: int) -> bool:
    """Whether the vector unit takes longer for a row of the last block than the matrix unit."""
    phase, kind = tile.phase, tile.phase.units.vector
    matrix = phase.device.unit(phase.plan.unit).matrix
    ops = [op for c in phase.shape.group.computes[1:] for op in compute_ops(c, width, phase.device, kind)]
    cycles = step_cycles(ops, [Port(width, tile.sums)], phase.device, kind)
    return matrix is None or cycles > matrix_cycles(block.extent, width, tile.roles.rows.dtype, matrix)


def _with(tile: Blocks, computes: tuple[Compute, ...]) -> Blocks:
    shape = replace(tile.phase.shape, group=replace(tile.phase.shape.group, computes=computes))
    return replace(tile, phase=replace(tile.phase, shape=shape))


def _by_corelet(numbers: Sequence[int], cl: Index) -> Index:
    """The number of this corelet, one of two at most."""
    return Index(numbers[0]) + cl * (numbers[-1] - numbers[0])
