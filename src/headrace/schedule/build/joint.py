"""Operands that neighbouring cores read as one: a wider box, of which each core uses its own part.

A row of one core's part may begin or end inside an access of device memory, which then moves for both
neighbours; the parts together begin and end with one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.schedule.build.indices import Index
from headrace.schedule.build.vector import Phase, key
from headrace.schedule.phases.linear import add, scale
from headrace.schedule.phases.multicast import joint_base
from headrace.schedule.phases.shape import Operand


@dataclass(frozen=True)
class Joint:
    """What to load for an operand: `operand` of `phase` in tiles of `tile`; the core's own part begins at
    `own` in it.
    """

    phase: Phase
    operand: Operand
    tile: Mapping[str, int]
    own: Mapping[str, Index]


def joint(phase: Phase, operand: Operand, tile: Mapping[str, int]) -> Joint:
    """Return the tile of an operand that its cores read together; the core's own if it reads alone.

    The dim along which the parts are neighbours is that of stride 1, whole in a tile.
    """
    members = phase.plan.joined.get(key(operand), 1)
    if members == 1:
        return Joint(phase, operand, tile, {})
    dim = operand.surface.dims[-1]
    base = joint_base(operand.surface.base, len(phase.cores), members)
    own = phase.memory.number(add(operand.surface.base, scale(base, -1)))
    extents = {**phase.shape.extents, dim: phase.shape.extents[dim] * members}
    return Joint(
        replace(phase, shape=replace(phase.shape, extents=extents)),
        replace(operand, surface=replace(operand.surface, base=base)),
        {**tile, dim: tile[dim] * members},
        {dim: own},
    )
