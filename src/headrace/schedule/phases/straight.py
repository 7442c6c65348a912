"""Phases that only load: what they copy into the scratchpad lies there as in device memory.

Only what strips keep is loaded so, ahead of its use. A copy whose reader comes next does better tile by tile.
"""

from __future__ import annotations

from headrace.schedule.phases.part import KEEP
from headrace.schedule.phases.shape import Shape


def is_straight(shape: Shape) -> bool:
    """Return whether the loader alone can do the work of a phase: one value, copied as it is from device
    memory to its place in the scratchpad, contiguous runs to contiguous runs.
    """
    if shape.group.kind != "vector" or len(shape.group.computes) != 1 or len(shape.inputs) != 1:
        return False
    compute, (source,), targets = shape.group.computes[0], shape.inputs, shape.outputs
    if compute.source != KEEP or [s.op for s in compute.body] != ["in"]:
        return False
    if len(targets) != 1 or compute.outs[0].combiner is not None:
        return False
    target = targets[0]
    is_copy = source.storage.kind != "lx" and source.index is None and target.storage.kind == "lx"
    dims = source.surface.dims
    if not is_copy or source.dtype != target.dtype or dims != target.surface.dims:
        return False
    return bool(dims) and source.surface.stride(dims[-1]) == target.surface.stride(dims[-1]) == 1
