"""Where a run stands under the roof of its device: operations per byte against rates."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from headrace.arch.cost import Bound, turnaround_cycles
from headrace.arch.device import Device
from headrace.machine.timing import Timing
from headrace.runtime.program import Program


@dataclass(frozen=True)
class Roofline:
    """GFLOP/s and bytes of a run: `attained`, the `roof` at its intensity, the device's peak and memory rate.

    `flops` is None for a program that does not declare its work. `intensity` and `ridge` are FLOP per byte of
    device memory; `turnaround_cycles` are those a perfect schedule of the same bytes pays too.
    """

    flops: int | None
    ddr_bytes: int
    intensity: float | None
    ridge: float | None
    attained_gflops: float | None
    roof_gflops: float | None
    peak_gflops: float | None
    peak_of: str
    attained_gbps: float
    sustained_gbps: float | None
    turnaround_cycles: float

    def to_json(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {
            name: round(value, 3) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }

    def lines(self) -> list[str]:
        """The figures for a person."""
        rate = f" of {self.sustained_gbps:g} sustained one way" if self.sustained_gbps else ""
        turning = f", turnaround {self.turnaround_cycles:,.0f} cycles" if self.turnaround_cycles >= 1 else ""
        lines = [f"  memory     {self.ddr_bytes:,} bytes at {self.attained_gbps:,.1f} GB/s{rate}{turning}"]
        if self.flops:
            roof = f" of {self.roof_gflops:,.0f} possible at this intensity" if self.roof_gflops else ""
            lines.append(f"  compute    {self.flops:,} FLOP at {self.attained_gflops:,.0f} GFLOP/s{roof}")
            ridge = f"; the ridge of {self.peak_of} is {self.ridge:,.1f}" if self.ridge else ""
            lines.append(f"  intensity  {self.intensity:,.2f} FLOP per byte{ridge}")
        return lines


def roofline(program: Program, timing: Timing, bound: Bound) -> Roofline:
    """Return the roofline figures of a timed program."""
    device = program.device
    moved = timing.bytes["ddr_read"] + timing.bytes["ddr_write"]
    nanoseconds = 1000 * device.microseconds(timing.cycles) or 1.0
    flops = _flops(program)
    peak, name = _peak(program, device)
    sustained = device.memory("global").sustained_gbps
    intensity = flops / moved if flops and moved else None
    roofs = [rate for rate in (peak, intensity * sustained if intensity and sustained else None) if rate]
    return Roofline(
        flops,
        moved,
        intensity,
        peak / sustained if peak and sustained else None,
        flops / nanoseconds if flops else None,
        min(roofs, default=None),
        peak,
        name,
        moved / nanoseconds,
        sustained,
        turnaround_cycles(timing.bytes["ddr_read"], timing.bytes["ddr_write"], device),
    )


def _flops(program: Program) -> int | None:
    from headrace.runtime.summary import flops

    return flops(program) if program.work is not None else None


def _peak(program: Program, device: Device) -> tuple[float | None, str]:
    """(GFLOP/s, unit and type) of what the program's work runs on: its contractions, else its lanes."""
    work = program.work
    if work is None:
        return None, ""
    for unit in device.units:
        if unit.matrix is not None and work.macs:
            dtype = max(work.macs, key=lambda name: work.macs[name])
            if dtype in unit.matrix.macs:
                rate = 2e-3 * unit.matrix.macs[dtype] * device.instances(unit) * device.clock_mhz
                return rate, f"{unit.kind} {dtype}"
    for unit in device.units:
        if unit.is_compute and unit.lanes and work.lane_ops:
            _, dtype = max(work.lane_ops, key=lambda key: work.lane_ops[key])
            if dtype in unit.lanes:
                rate = 1e-3 * unit.lanes[dtype] * device.instances(unit) * device.clock_mhz
                return rate, f"{unit.kind} {dtype}"
    return None, ""
