"""Timing one program again: on a changed device, with a changed image, or with its critical path recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.arch.cost import Bound, Work, bound
from headrace.arch.device import Device
from headrace.machine.image import If, Image, Loop, walk
from headrace.machine.operands import Operand, operands
from headrace.machine.timing import Timing
from headrace.machine.timing import time as simulate
from headrace.runtime.program import Program

Trips = Mapping[tuple[int, int], tuple[int, ...]]


@dataclass(frozen=True)
class Retiming:
    """A program with all its cycles depend on: run-time values (arrays start at byte 0), trip counts."""

    program: Program
    values: Mapping[str, float]
    trips: Trips | None = None

    def time(
        self,
        device: Device | None = None,
        image: Image | None = None,
        is_recorded: bool = False,
        is_traced: bool = False,
    ) -> Timing:
        """Return the timing, on another device or with another image if one is given."""
        return simulate(
            image or self.program.image,
            dict(self.values),
            device or self.program.device,
            trips=self.trips,
            is_recorded=is_recorded,
            is_traced=is_traced,
        )

    def operands(self) -> list[Operand]:
        """Return what the program moves to and from device memory, operand by operand."""
        return operands(self.program.image, self.values)

    def bound(self, timing: Timing) -> Bound:
        """Return the lower bound of the program's work; without a declared one, of the bytes and steps of its
        DFIR.
        """
        return self.program.bound or dfir_bound(self.operands(), timing, self.program.device)


def retiming(program: Program, values: Mapping[str, float] | None = None, seed: int = 0) -> Retiming:
    """Return a program ready to be timed; if its control depends on data it is executed once (seeded)."""
    known = {
        a.name: (values or {}).get(a.name, program.scalars.get(a.name, 0)) for a in program.image.arguments
    }
    if not depends_on_data(program.image):
        return Retiming(program, known)
    return Retiming(program, known, _trips(program, seed))


def depends_on_data(image: Image) -> bool:
    """Return whether the number of steps of an image depends on loaded values."""
    return any(
        isinstance(node, Loop | If) and node.is_data_dependent
        for schedule in image.schedules
        for program in schedule.programs
        for node in walk(program.body)
    )


def dfir_bound(moved: list[Operand], timing: Timing, device: Device) -> Bound:
    """Return a bound for a program without declared work: distinct bytes of memory, steps it issues."""
    sums = {"read": 0, "write": 0}
    for one in moved:
        sums[one.side] += one.distinct or 0
    memory = bound(Work(sums["read"], sums["write"]), device, "dfir")
    parts = dict(memory.parts)
    for unit in device.units:
        if unit.is_compute and unit.kind in timing.units:
            parts[unit.kind] = timing.units[unit.kind].busy / device.instances(unit)
    resource = max(parts, key=lambda name: parts[name])
    return Bound(parts[resource], resource, "dfir", parts)


def _trips(program: Program, seed: int) -> Any:
    from headrace.numbers.memory import Memory
    from headrace.runtime.binding import bind
    from headrace.runtime.launch import launch

    memory = Memory(program.device.memory("global").size_bytes)
    binding = bind(program.arguments, None, memory, seed)
    bindings = {**binding.scalars, **binding.addresses}
    return launch(program, bindings, memory, is_timed=False).trips
