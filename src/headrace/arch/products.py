"""What a product of matrices costs the unit that multiplies: rows stream past blocks of weights it holds."""

from __future__ import annotations

from functools import lru_cache

from headrace.arch.device import Device, Unit
from headrace.arch.routes import matrix_feeds, matrix_unit, readers, vector_unit
from headrace.arch.steps import Port, matrix_cycles, step_cycles
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.numbers.dtypes import itemsize

RESIDENT_BYTES = 32768
"""Bytes of weights a unit holds whose file does not say."""


@lru_cache(maxsize=256)
def multiplying_unit(device: Device, dtype: str) -> Unit:
    """Return the unit that contracts a type: the matrix unit if it lists the type, else the vector unit.

    Raises HeadraceError if the device has neither.
    """
    matrix = matrix_unit(device)
    if matrix is not None and matrix.matrix is not None and dtype in matrix.matrix.macs:
        return matrix
    vector = vector_unit(device)
    if vector is None:
        raise HeadraceError(Diagnostic(f"device {device.name} has no unit that multiplies {dtype}"))
    return vector


def resident_block(columns: int, depth: int, dtype: str, device: Device) -> tuple[int, int]:
    """Return (depth, columns) of the largest block of a factor that the unit holds at once."""
    unit, size = multiplying_unit(device, dtype), itemsize(dtype)
    if unit.matrix is not None:
        room, widest, grain = (
            unit.matrix.resident_bytes or RESIDENT_BYTES,
            unit.matrix.columns,
            unit.matrix.rows,
        )
    else:
        room, grain = (unit.registers_bytes or RESIDENT_BYTES) // 2, 1
        widest = min(device.lanes(unit, dtype), room // size)
    width = min(widest, columns)
    deepest = max(1, room // (size * width))
    deepest = max(1, deepest // grain * grain) if deepest > grain else deepest
    return min(deepest, depth), width


def row_cycles(depth: int, width: int, dtype: str, sums: str, is_strided: bool, device: Device) -> float:
    """Return the cycles of one row against a block; `is_strided`: the row's elements lie apart in memory."""
    unit = multiplying_unit(device, dtype)
    if unit.matrix is None:
        return depth * -(-width // device.lanes(unit, dtype)) * 2.0
    vector = vector_unit(device)
    link = device.find_link(unit.kind, vector.kind) if vector is not None else None
    cycles = matrix_cycles(
        depth, width, dtype, unit.matrix, width * itemsize(sums), link.bandwidth if link else None
    )
    if is_strided:
        return max(cycles, depth)
    source = device.find_link(matrix_feeds(device).activations.kind, unit.kind)
    return max(cycles, depth * itemsize(dtype) / source.bandwidth) if source and source.bandwidth else cycles


def fill_cycles(depth: int, width: int, dtype: str, is_strided: bool, device: Device) -> float:
    """Return the cycles to bring a block to the unit; `is_strided`: its columns lie apart in memory."""
    unit = multiplying_unit(device, dtype)
    reader = matrix_feeds(device).weights if unit.matrix is not None else readers(unit, device)[0]
    if is_strided:
        return depth * width / reader.strided_accesses_per_cycle
    link = device.find_link(reader.kind, unit.kind)
    return depth * width * itemsize(dtype) / ((link.bandwidth if link else None) or 128)


def passing_cycles(width: int, dtype: str, sums: str, device: Device) -> float:
    """Return the cycles of the vector unit to hand a row of partial sums on to the scratchpad."""
    vector = vector_unit(device)
    if multiplying_unit(device, dtype).matrix is None or vector is None:
        return 0.0
    return step_cycles([], [Port(width, sums)], device, vector)
