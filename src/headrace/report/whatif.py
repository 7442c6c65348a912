"""Devices with one thing made ideal: timing a program on them tells what that thing costs.

Each change is one cause of waiting: the run on the changed device is simulated like any other, so the saving
is what the simulation says and not an estimate. Savings overlap; they do not add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from headrace.arch.cost import CLASSES, Bound, ddr_cycles
from headrace.arch.device import Device, Link, Memory, Unit, canonical
from headrace.machine.timing import Timing

FREE = 1 << 30
"""A rate that nothing here comes near."""
DEEPER = 8
"""Factor by which the queues of `queues` are deeper."""


@dataclass(frozen=True)
class WhatIf:
    """One change: its name, the device with it, and what it is in words ("without set-up")."""

    name: str
    device: Device
    words: str
    detail: float = 0.0


def what_ifs(device: Device, bound: Bound, timing: Timing) -> Iterator[WhatIf]:
    """Yield the changes that may matter to a run; what the bound itself needs is only scaled to the need."""
    yield WhatIf("latency", _without_latency(device), "hiding it")
    movers = tuple(replace(unit, outstanding=None) for unit in device.units)
    yield WhatIf("requests", replace(device, units=movers), "enough requests in flight")
    prompt = tuple(replace(unit, setup_cycles=0) for unit in device.units)
    yield WhatIf("setup", replace(device, units=prompt), "hiding them")
    yield WhatIf("signals", _without_signals(device), "instant signals and loop control")
    yield WhatIf("serial", _unserialised(device), "hiding all three")
    if any(unit.space for unit in timing.units.values()):
        yield WhatIf("queues", _links(device, _deeper), f"queues {DEEPER} times as deep")
    yield WhatIf("scratchpad", _free_scratchpad(device), "unlimited scratchpad ports")
    yield WhatIf("links", _links(device, _unlimited), "unlimited links between units")
    if device.rings:
        yield WhatIf("ring", _free_ring(device), "an unlimited ring")
    if device.memory("global").multicast is not None:
        yield WhatIf("meeting", _memory(device, multicast=_prompt(device)), "no meeting of multicasts")
    if device.memory("global").access_bytes > 1:
        yield WhatIf("bursts", _memory(device, access_bytes=1), "no rounding to bursts")
    yield from _excess(device, bound, timing)
    for unit in device.units:
        if unit.is_compute and unit.kind in timing.units:
            yield WhatIf(f"latency of {unit.kind}", _unit(device, unit, **_quick(unit)), "results at once")
            if unit.kind != bound.resource:
                yield WhatIf(unit.kind, _unit(device, unit, **_speed(unit, FREE)), f"{unit.kind} work hidden")


def _excess(device: Device, bound: Bound, timing: Timing) -> Iterator[WhatIf]:
    """The resource that sets the bound, faster by as much as it works more than the bound needs."""
    if bound.resource == "ddr":
        actual = ddr_cycles(timing.bytes["ddr_read"], timing.bytes["ddr_write"], device)
        ratio = actual / bound.parts["ddr"] if bound.parts.get("ddr") else 1.0
        memory = device.memory("global")
        if ratio > 1.005 and memory.sustained_gbps:
            faster = _memory(
                device,
                sustained_gbps=memory.sustained_gbps * ratio,
                turnaround_ns_per_byte=memory.turnaround_ns_per_byte / ratio,
            )
            yield WhatIf("excess", faster, "each byte moved once", ratio)
        return
    unit = device.find_unit(bound.resource)
    if unit is None or unit.kind not in timing.units or not bound.cycles:
        return
    ratio = timing.units[unit.kind].busy / device.instances(unit) / bound.cycles
    if ratio > 1.005:
        words = f"{unit.kind} doing only what the bound counts"
        yield WhatIf("excess", _unit(device, unit, **_speed(unit, ratio)), words, ratio)


def once_read(device: Device, timing: Timing, saved_bytes: int) -> Device:
    """The device with a memory faster by what goes when so many of a run's bytes are not read again."""
    moved = timing.bytes["ddr_read"] + timing.bytes["ddr_write"]
    ratio = moved / max(1, moved - saved_bytes)
    memory = device.memory("global")
    return _memory(
        device,
        sustained_gbps=memory.sustained_gbps and memory.sustained_gbps * ratio,
        turnaround_ns_per_byte=memory.turnaround_ns_per_byte / ratio,
        read_bytes_per_cycle=memory.read_bytes_per_cycle and round(memory.read_bytes_per_cycle * ratio),
    )


def _memory(device: Device, **changes: Any) -> Device:
    memories = tuple(
        replace(memory, **changes) if memory.kind == device.memory("global").kind else memory
        for memory in device.memories
    )
    return replace(device, memories=memories)


def _unit(device: Device, unit: Unit, **changes: Any) -> Device:
    return replace(
        device, units=tuple(replace(one, **changes) if one == unit else one for one in device.units)
    )


def _without_latency(device: Device) -> Device:
    """No latency; where requests in flight set a ceiling, the latency that keeps it at a byte a request."""
    requests = [unit.request_bytes for unit in device.units if unit.request_bytes and unit.outstanding]
    if not requests:
        return _memory(device, latency_ns=0.0)
    largest = max(requests)
    units = tuple(
        replace(unit, request_bytes=max(1, unit.request_bytes // largest)) if unit.request_bytes else unit
        for unit in device.units
    )
    return replace(_memory(device, latency_ns=device.memory("global").latency_ns / largest), units=units)


def _without_signals(device: Device) -> Device:
    return replace(
        device, signal_cycles=0, units=tuple(replace(unit, issue_cycles=0) for unit in device.units)
    )


def _unserialised(device: Device) -> Device:
    quick = _without_signals(_without_latency(device))
    return replace(quick, units=tuple(replace(unit, setup_cycles=0) for unit in quick.units))


def _links(device: Device, change: Any) -> Device:
    return replace(device, links=tuple(change(link, device) for link in device.links))


def _deeper(link: Link, device: Device) -> Link:
    depth = None if link.queue_depth is None else link.queue_depth * DEEPER
    return replace(
        link, queue_depth=depth, queue_bytes=None if link.queue_bytes is None else link.queue_bytes * DEEPER
    )


def _is_memory(kind: str, device: Device) -> Memory | None:
    return device.find_memory(canonical(kind))


def _unlimited(link: Link, device: Device) -> Link:
    joins_units = _is_memory(link.source, device) is None and _is_memory(link.target, device) is None
    return replace(link, bandwidth=None, sustained_gbps=None) if joins_units else link


def _free_scratchpad(device: Device) -> Device:
    def freed(link: Link, device: Device) -> Link:
        ends = {canonical(link.source), canonical(link.target)}
        return replace(link, bandwidth=None, sustained_gbps=None) if "ct_local" in ends else link

    local = device.memory("ct_local")
    memories = tuple(
        replace(one, read_bytes_per_cycle=None, write_bytes_per_cycle=None, banks=1) if one == local else one
        for one in device.memories
    )
    units = tuple(replace(unit, strided_accesses_per_cycle=FREE) for unit in device.units)
    return replace(_links(device, freed), memories=memories, units=units)


def _free_ring(device: Device) -> Device:
    def freed(link: Link) -> Link:
        return replace(link, bandwidth=None, sustained_gbps=None, latency_cycles=0)

    rings = tuple(
        replace(ring, hops=tuple(map(freed, ring.hops)), inject=freed(ring.inject), eject=freed(ring.eject))
        for ring in device.rings
    )
    return replace(device, rings=rings)


def _prompt(device: Device) -> Any:
    multicast = device.memory("global").multicast
    return replace(multicast, sync_cycles=0) if multicast is not None else None


def _quick(unit: Unit) -> dict[str, Any]:
    """No time from operands to results."""
    if unit.matrix is not None:
        return {"matrix": replace(unit.matrix, latency_cycles=0)}
    return {"op_latency": dict.fromkeys(CLASSES, 0)}


def _speed(unit: Unit, factor: float) -> dict[str, Any]:
    """A compute unit `factor` times as fast."""
    changes: dict[str, Any] = {"op_cycles": {kind: unit.op_cycles.get(kind, 1) / factor for kind in CLASSES}}
    if unit.matrix is not None:
        macs = {dtype: round(count * factor) for dtype, count in unit.matrix.macs.items()}
        swap = unit.matrix.swap_cycles if factor < FREE else 0
        changes["matrix"] = replace(unit.matrix, macs=macs, swap_cycles=swap)
    return changes
