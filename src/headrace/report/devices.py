"""Devices as data and as text: cores, memories, units, links, peaks, ridge point, where each constant comes
from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headrace.arch.device import Device, Link, Memory, Unit


def peaks(device: Device) -> dict[str, float]:
    """Peak rates: TFLOP/s of the matrix units by type, Gop/s of the vector lanes by type, GB/s of device
    memory.
    """
    rates: dict[str, float] = {}
    for unit in device.units:
        if unit.matrix is not None:
            for dtype, macs in unit.matrix.macs.items():
                rates[f"{unit.kind} {dtype} TFLOP/s"] = (
                    2e-6 * macs * device.instances(unit) * device.clock_mhz
                )
        elif unit.is_compute:
            for dtype, lanes in unit.lanes.items():
                rates[f"{unit.kind} {dtype} Gop/s"] = 1e-3 * lanes * device.instances(unit) * device.clock_mhz
    sustained = device.memory("global").sustained_gbps
    if sustained is not None:
        rates["DDR GB/s, one direction"] = sustained
    return rates


def ridge(device: Device) -> float | None:
    """FLOPs per DDR byte from which f16 contractions are compute-bound; None without matrix unit or DDR
    rate.
    """
    found = [rate for name, rate in peaks(device).items() if name.endswith("f16 TFLOP/s") and " f16" in name]
    sustained = device.memory("global").sustained_gbps
    return 1e3 * found[0] / sustained if found and sustained else None


def device_data(device: Device) -> dict[str, Any]:
    """The device as one JSON object."""
    return {
        "name": device.name,
        "sha256": device.sha256,
        "clock_mhz": device.clock_mhz,
        "cores": device.cores,
        "corelets": device.corelets,
        "peaks": peaks(device),
        "ridge_flops_per_byte": ridge(device),
        "memories": [asdict(memory) for memory in device.memories],
        "units": [{**asdict(unit), "instances": device.instances(unit)} for unit in device.units],
        "links": [asdict(link) for link in device.links],
        "rings": [asdict(ring) for ring in device.rings],
        "sources": dict(device.sources),
    }


def list_text(devices: Sequence[Device]) -> str:
    """One line a device."""
    return "\n".join(
        f"{d.name:<14} {d.cores:>3} cores x {d.corelets} corelets, {d.clock_mhz} MHz, "
        f"{_bytes(d.memory('ct_local').size_bytes)} scratchpad, "
        f"{', '.join(u.kind for u in d.units if u.is_compute)}"
        for d in devices
    )


def device_text(device: Device) -> str:
    """Everything about one device, for reading."""
    lines = [
        f"{device.name}: {device.cores} cores x {device.corelets} corelets at {device.clock_mhz} MHz",
        f"  signal {device.signal_cycles} cycles, launch {device.launch_cycles} cycles, "
        f"sha256 {device.sha256[:16]}",
        "memories",
        *(_memory(memory) for memory in device.memories),
        "units",
        *(_unit(unit, device) for unit in device.units),
        "links (bytes per cycle)",
        *(_link(link) for link in device.links),
    ]
    for ring in device.rings:
        lines.append(f"  ring {ring.kind}: {ring.source} -> {ring.target}, directions {list(ring.steps)}")
    lines.append("peaks")
    lines += [f"  {name:<28} {rate:,.3f}" for name, rate in peaks(device).items()]
    point = ridge(device)
    lines.append(
        f"ridge point: {f'{point:,.0f} FLOP per DDR byte (f16)' if point else 'no matrix unit or DDR rate'}"
    )
    lines.append("sources of constants")
    lines += [f"  {name:<44} {source}" for name, source in sorted(device.sources.items())]
    return "\n".join(lines)


def _memory(memory: Memory) -> str:
    rate = f"{memory.sustained_gbps:g} GB/s sustained" if memory.sustained_gbps else "rate unlimited"
    ports = f"{_rate(memory.read_bytes_per_cycle)} B/cycle read, {_rate(memory.write_bytes_per_cycle)} write"
    size = _bytes(memory.size_bytes)
    return f"  {memory.name:<8} {memory.kind:<10} per {memory.per:<8} {size:>10}  {rate}, {ports}"


def _unit(unit: Unit, device: Device) -> str:
    what = "passive" if unit.passive else f"setup {unit.setup_cycles}"
    if unit.matrix is not None:
        what += ", MAC/cycle " + ", ".join(f"{t} {n}" for t, n in unit.matrix.macs.items())
    elif unit.lanes:
        what += ", lanes " + ", ".join(f"{t} {n}" for t, n in unit.lanes.items())
    if unit.outstanding is not None:
        what += f", {unit.outstanding} x {unit.request_bytes} B in flight"
    if unit.registers_bytes:
        what += f", {_bytes(unit.registers_bytes)} registers"
    return f"  {unit.kind:<8} x{device.instances(unit):<4} per {unit.per:<8} {what}"


def _link(link: Link) -> str:
    queue = f", queue {link.capacity_bytes} B" if link.capacity_bytes is not None else ""
    port = f", port {link.port}" if link.port else ""
    ends = f"{link.source:>9} -> {link.target:<9}"
    return f"  {ends} {_rate(link.bandwidth):>9}, latency {link.latency_cycles}{queue}{port}"


def _rate(rate: float | None) -> str:
    return "unlimited" if rate is None else f"{rate:g}"


def _bytes(size: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return f"{size} B"
