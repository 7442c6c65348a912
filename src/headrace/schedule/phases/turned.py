"""Copies whose result runs along another dim than what they read: blocks turned in the registers.

Read along the dim of the result, every element would be an access of its own. So a few short runs of the
operand come as one message, the vector unit turns them, and short runs of the result leave. A block of
a x b elements is turned by log2(min(a, b)) perfect shuffles, each of which takes every vector of its result
from two vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

from headrace.arch.cost import StepOp, step_cycles
from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.shape import Shape

LEAST = 4
"""Elements of a run, at least."""


@dataclass(frozen=True)
class Turned:
    """A block of `lanes` elements along dim `lane`, in which the result runs, and `runs` along `run`, in
    which the operand does.
    """

    lane: str
    lanes: int
    run: str
    runs: int
    dtype: str

    @property
    def elements(self) -> int:
        """Elements of a block."""
        return self.lanes * self.runs

    def cycles(self, device: Device, unit: str) -> float:
        """Return the cycles of the vector unit for a block."""
        count = min(self.lanes, self.runs).bit_length() - 1
        ops = [StepOp("shuffle", self.elements, self.dtype)] * count
        return step_cycles(ops, [], device, unit)

    def accesses(self) -> int:
        """Return the accesses of the busier one of reader and writer for a block."""
        return max(self.lanes, self.runs)


def turned(shape: Shape, lane: str, tile: Mapping[str, int], device: Device, unit: str) -> Turned | None:
    """Return the blocks in which a tile of a copy is turned, None for anything else, or if its extents have
    no even blocks.
    """
    if len(shape.group.computes) != 1 or len(shape.inputs) != 1 or device.unit(unit).matrix is not None:
        return None
    (compute,), (source,) = shape.group.computes, shape.inputs
    is_copy = [s.op for s in compute.body] == ["in"] and all(o.combiner is None for o in compute.outs)
    if not is_copy or any(o.index is not None for o in (source, *shape.outputs)) or shape.reduced:
        return None
    run = next((d for d in shape.extents if source.surface.stride(d) == 1), None)
    if run is None or run == lane or lane not in shape.extents or not source.surface.stride(lane):
        return None
    if any(o.surface.stride(lane) != 1 or not o.surface.stride(run) for o in shape.outputs):
        return None
    registers = device.unit(unit).registers_bytes or 2048
    room = registers // 4 // itemsize(source.dtype)
    lanes = _power(tile[lane], isqrt(room))
    runs = _power(tile[run], room // lanes)
    return Turned(lane, lanes, run, runs, source.dtype) if min(lanes, runs) >= LEAST else None


def _power(extent: int, most: int) -> int:
    """The largest power of two that divides the extent, `most` at most."""
    return min(extent & -extent, 1 << max(0, most.bit_length() - 1))
