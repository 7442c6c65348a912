"""Phases that only move: what they copy lies in the scratchpad as in device memory.

Only what strips keep is loaded so, ahead of its use, and only what waits for its turn is stored so. A copy
whose reader comes next does better tile by tile.
"""

from __future__ import annotations

from typing import Literal

from headrace.schedule.phases.part import KEEP, LEAVE
from headrace.schedule.phases.shape import Shape


def straight(shape: Shape) -> Literal["in", "out"] | None:
    """Return whether the loader ("in") or the storer ("out") alone can do the work of a phase: one value,
    copied as it is from device memory to its place in the scratchpad or back, contiguous runs to contiguous
    runs.
    """
    if shape.group.kind != "vector" or len(shape.group.computes) != 1 or len(shape.inputs) != 1:
        return None
    compute, (source,), targets = shape.group.computes[0], shape.inputs, shape.outputs
    if compute.source not in (KEEP, LEAVE) or [s.op for s in compute.body] != ["in"]:
        return None
    if len(targets) != 1 or compute.outs[0].combiner is not None:
        return None
    target = targets[0]
    inside = [o.storage.kind == "lx" for o in (source, target)]
    if inside[0] == inside[1] or source.index is not None or target.index is not None:
        return None
    dims = source.surface.dims
    if source.dtype != target.dtype or dims != target.surface.dims or not dims:
        return None
    if not source.surface.stride(dims[-1]) == target.surface.stride(dims[-1]) == 1:
        return None
    return "out" if inside[0] else "in"
