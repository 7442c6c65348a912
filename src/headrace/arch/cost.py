"""The one cost vocabulary: the work of a module, what it costs at the device's rates, and the bound no plan
can beat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.arch.classes import CLASSES, FREE, op_class
from headrace.arch.device import Device, Memory, Unit
from headrace.arch.routes import loaders, matrix_unit, storers, unicast_rate, vector_unit
from headrace.arch.steps import (
    Port,
    StepOp,
    finished,
    granules,
    matrix_cycles,
    step_cycles,
    step_latency,
)
from headrace.ir.diagnostics import Diagnostic, HeadraceError

__all__ = [
    "CLASSES",
    "FREE",
    "Bound",
    "Port",
    "StepOp",
    "Work",
    "bound",
    "ddr_cycles",
    "finished",
    "granules",
    "matrix_cycles",
    "op_class",
    "step_cycles",
    "step_latency",
    "turnaround_cycles",
]


Key = TypeVar("Key")


@dataclass(frozen=True)
class Work:
    """What a module has to do whatever the plan.

    `read_bytes` and `write_bytes` are distinct bytes of device memory; `macs` counts multiply-adds by
    operand type; `lane_ops` counts element operations by (price class, widest element type).
    """

    read_bytes: int = 0
    write_bytes: int = 0
    macs: Mapping[str, int] = field(default_factory=dict)
    lane_ops: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def __add__(self, other: Work) -> Work:
        return Work(
            self.read_bytes + other.read_bytes,
            self.write_bytes + other.write_bytes,
            _sum(self.macs, other.macs),
            _sum(self.lane_ops, other.lane_ops),
        )

    def to_attribute(self) -> dict[str, int]:
        """Return the flat dictionary of integers of `headrace.work`: keys as "read_bytes", "macs.f16",
        "ops.arith.f16".
        """
        flat = {"read_bytes": self.read_bytes, "write_bytes": self.write_bytes}
        flat |= {f"macs.{dtype}": count for dtype, count in sorted(self.macs.items())}
        return flat | {f"ops.{kind}.{dtype}": count for (kind, dtype), count in sorted(self.lane_ops.items())}

    @staticmethod
    def from_attribute(flat: Mapping[str, int]) -> Work:
        """Return the Work that `to_attribute` wrote; HeadraceError on a key of another form."""
        macs: dict[str, int] = {}
        lane_ops: dict[tuple[str, str], int] = {}
        for key, count in flat.items():
            match key.split("."):
                case ["read_bytes" | "write_bytes"]:
                    pass
                case ["macs", dtype]:
                    macs[dtype] = count
                case ["ops", kind, dtype] if kind in CLASSES:
                    lane_ops[kind, dtype] = count
                case _:
                    hint = "keys are read_bytes, write_bytes, macs.TYPE and ops.CLASS.TYPE"
                    raise HeadraceError(Diagnostic(f"unknown entry {key!r} of headrace.work", hint=hint))
        return Work(flat.get("read_bytes", 0), flat.get("write_bytes", 0), macs, lane_ops)


@dataclass(frozen=True)
class Bound:
    """A lower bound in cycles: the resource that sets it, where the work came from, cycles of every
    resource.
    """

    cycles: float
    resource: str
    source: str = "work"
    parts: Mapping[str, float] = field(default_factory=dict)


def bound(work: Work, device: Device, source: str = "work") -> Bound:
    """Return the largest, over resources, of work over rate with the whole device busy: no plan is faster."""
    parts = {"ddr": ddr_cycles(work.read_bytes, work.write_bytes, device)}
    vector = vector_unit(device)
    matrix = matrix_unit(device)
    lane_cycles = 0.0
    if work.macs or work.lane_ops:
        vector_macs = {dtype: n for dtype, n in work.macs.items() if not _multiplies(matrix, dtype)}
        if matrix is not None:
            parts[matrix.kind] = _matrix_cycles(work, matrix, device)
        lane_cycles = _lane_cycles(work.lane_ops, vector_macs, vector, device)
        if vector is not None:
            parts[vector.kind] = lane_cycles
    resource = max(parts, key=lambda name: parts[name])
    return Bound(parts[resource], resource, source, parts)


def ddr_cycles(read_bytes: int, write_bytes: int, device: Device) -> float:
    """Return the least cycles device memory needs for so many bytes each way, turnaround included, from all
    cores.
    """
    memory = device.memory("global")
    cycles = max(
        _over(read_bytes, memory.read_bytes_per_cycle),
        _over(write_bytes, memory.write_bytes_per_cycle),
        _unit_cycles(
            read_bytes,
            loaders(device),
            device,
            is_multicast=memory.multicast is not None and device.cores > 1,
        ),
        _unit_cycles(write_bytes, storers(device), device),
    )
    if memory.sustained_gbps is None:
        return cycles + turnaround_cycles(read_bytes, write_bytes, device)
    shared = (read_bytes + write_bytes) / device.bytes_per_cycle(memory.sustained_gbps)
    return max(cycles, shared + turnaround_cycles(read_bytes, write_bytes, device))


def turnaround_cycles(read_bytes: int, write_bytes: int, device: Device) -> float:
    """Return the cycles lost to changes of direction: the fitted rate times min(read, written), in any
    order.
    """
    memory: Memory = device.memory("global")
    return device.cycles(memory.turnaround_ns_per_byte) * min(read_bytes, write_bytes)


def _unit_cycles(size: int, units: list[Unit], device: Device, is_multicast: bool = False) -> float:
    """Cycles for `size` bytes through all units of these kinds at once; a multicast is not held to their
    ceiling.
    """
    if not units or size == 0:
        return 0.0
    rates = [unicast_rate(unit, device, is_multicast) for unit in units]
    known = [
        rate * device.instances(unit) for rate, unit in zip(rates, units, strict=True) if rate is not None
    ]
    return size / sum(known) if len(known) == len(units) else 0.0


def _matrix_cycles(work: Work, unit: Unit, device: Device) -> float:
    matrix = unit.matrix
    assert matrix is not None
    cycles = sum(count / matrix.macs[dtype] for dtype, count in work.macs.items() if dtype in matrix.macs)
    return cycles / device.instances(unit)


def _multiplies(unit: Unit | None, dtype: str) -> bool:
    return unit is not None and unit.matrix is not None and dtype in unit.matrix.macs


def _lane_cycles(
    lane_ops: Mapping[tuple[str, str], int], macs: Mapping[str, int], unit: Unit | None, device: Device
) -> float:
    if unit is None:
        return 0.0
    counted: dict[tuple[str, str], int] = dict(lane_ops)
    for dtype, count in macs.items():
        counted["arith", dtype] = counted.get(("arith", dtype), 0) + count
    best = _best_lanes(unit)
    cycles = sum(
        n / best(dtype) * unit.op_cycles.get(kind, 1) for (kind, dtype), n in counted.items() if kind != FREE
    )
    return cycles / device.instances(unit)


def _best_lanes(unit: Unit) -> Callable[[str], int]:
    """Lanes by type; f32 at the widest rate when the unit keeps f32 internally. A type it lacks counts as
    one lane.
    """
    widest = max(unit.lanes.values(), default=1)
    return lambda dtype: widest if dtype == "f32" and unit.wide_internal else unit.lanes.get(dtype, widest)


def _over(size: int, rate: float | None) -> float:
    return size / rate if rate else 0.0


def _sum(one: Mapping[Key, int], other: Mapping[Key, int]) -> dict[Key, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in one.keys() | other.keys()}
