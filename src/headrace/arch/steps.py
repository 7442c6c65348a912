"""What one step of a vector or matrix unit costs: the prices search and timing share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.arch.classes import FREE
from headrace.arch.device import Device, Matrix, Unit
from headrace.ir.diagnostics import Diagnostic, HeadraceError

_WIDTH = {
    "i1": 1,
    "i8": 8,
    "f8E4M3FN": 8,
    "i16": 16,
    "f16": 16,
    "bf16": 16,
    "i32": 32,
    "f32": 32,
    "i64": 64,
    "f64": 64,
    "index": 64,
}


@dataclass(frozen=True)
class StepOp:
    """One op of a step: price class, elements of its widest vector, widest element type it touches.

    `args` are positions of earlier ops of the step whose results it uses (for the latency of the step);
    `is_reduction` marks a scan of which only the last lane is used.
    """

    op_class: str
    elements: int
    dtype: str
    args: tuple[int, ...] = ()
    is_reduction: bool = False


@dataclass(frozen=True)
class Port:
    """A vector that enters or leaves a step as a message."""

    elements: int
    dtype: str


def bit_width(dtype: str) -> int:
    """Return the bits of an element type as the vector unit holds it (i1: 1)."""
    return _WIDTH[dtype]


def granules(elements: int, dtype: str, device: Device, unit: str | Unit) -> int:
    """Return the issues one pass over `elements` takes: elements over lanes, rounded up (0 elements: 0)."""
    return -(-elements // device.lanes(unit, dtype))


def step_cycles(ops: Iterable[StepOp], ports: Sequence[Port], device: Device, unit: str | Unit) -> float:
    """Return the issue cycles of one step (dfir-encoding §8); a step without priced ops moves its largest
    message.
    """
    found = device.unit(unit) if isinstance(unit, str) else unit
    streamed = widest_port(ports)
    total = sum(_op_cycles(op, streamed, found, device) for op in ops)
    if total == 0 and ports:
        move = found.op_cycles.get("move", 1)
        total = max(granules(port.elements, port.dtype, device, found) for port in ports) * move
    return total


def step_latency(ops: Sequence[StepOp], unit: Unit) -> float:
    """Return the cycles from a step's operands to its results: op latencies along the longest chain of
    uses.
    """
    return max(finished(ops, unit, [0.0] * len(ops)), default=0.0) or unit.op_latency.get("move", 1)


def finished(ops: Sequence[StepOp], unit: Unit, ready: Sequence[float]) -> list[float]:
    """Return the cycles until each op is done; operands from elsewhere are there after those in `ready`."""
    done: list[float] = []
    for op, start in zip(ops, ready, strict=True):
        own = 0 if op.op_class == FREE else unit.op_latency.get(_latency_class(op), 1)
        done.append(own + max([start, *(done[arg] for arg in op.args)]))
    return done


def widest_port(ports: Iterable[Port]) -> str | None:
    """Return the widest element type among the vectors that stream through a step.

    Single elements (row statistics, column operands) do not stream, so they count only if nothing else
    passes.
    """
    listed = list(ports)
    streams = [port for port in listed if port.elements > 1] or listed
    return max((port.dtype for port in streams), key=bit_width, default=None)


def matrix_cycles(
    k: int, n: int, dtype: str, matrix: Matrix, output_bytes: int = 0, link_bytes: float | None = None
) -> float:
    """Return the cycles of one row against a k x n block: passes of the array, or its output on the link if
    slower.
    """
    macs = matrix.macs.get(dtype)
    if macs is None:
        known = ", ".join(sorted(matrix.macs))
        raise HeadraceError(
            Diagnostic(f"the matrix unit does not multiply {dtype}", hint=f"it multiplies {known}")
        )
    passes = math.ceil(k / matrix.rows) * math.ceil(n / matrix.columns)
    cycles = passes * matrix.rows * matrix.columns / macs
    return max(cycles, output_bytes / link_bytes) if link_bytes else cycles


def _op_cycles(op: StepOp, streamed: str | None, unit: Unit, device: Device) -> float:
    if op.op_class == FREE:
        return 0
    count = -(-op.elements // _lanes(op.dtype, streamed, unit, device))
    if op.is_reduction:
        return (count - 1) * unit.op_cycles.get("arith", 1) + unit.op_cycles.get("lane_reduce", 1)
    return count * unit.op_cycles.get(op.op_class, 1)


def _lanes(dtype: str, streamed: str | None, unit: Unit, device: Device) -> int:
    own = device.lanes(unit, dtype)
    if unit.wide_internal and dtype == "f32" and streamed is not None:
        return max(own, device.lanes(unit, streamed))
    return own


def _latency_class(op: StepOp) -> str:
    return "lane_reduce" if op.is_reduction else op.op_class
