"""What in the way a program is written makes it slow: measured facts about steps, signals and transfers."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.arch.device import GRANULE_BYTES, Device
from headrace.arch.routes import request_latency, unicast_rate
from headrace.machine.nodes import Signal, walk
from headrace.report.losses import Facts
from headrace.runtime.retime import Retiming

SLOW = 1.3
"""Cycles over the bound from which the style of a program is worth a word."""
NARROW = 512
"""Bytes of a transfer, on average, below which set-up and latency weigh more than data."""
NOTABLE = 0.05
"""Part of the critical path that makes a stage one of those that take turns."""


def style(run: Retiming, facts: Facts) -> Iterator[str]:
    """Yield notes on a slow program that signals at each small step, overlaps nothing or moves little."""
    timing, bound = facts.timing, facts.bound
    moved = timing.bytes["ddr_read"] + timing.bytes["ddr_write"]
    transfers, signals = timing.counts["transfers"], timing.counts["signals"]
    if not transfers or not bound.cycles or timing.cycles / bound.cycles < SLOW:
        return
    stalling = _stalling(run)
    if signals and (stalling or moved / signals <= 2 * GRANULE_BYTES):
        yield _signals(stalling, moved / GRANULE_BYTES / signals, facts)
    yield from _overlap(facts)
    if moved / transfers <= NARROW:
        yield from _narrow(moved / transfers, facts)


def _stalling(run: Retiming) -> int:
    """Signals in the text that stall their sender until its transfers are done."""
    return sum(
        1
        for schedule in run.program.image.schedules
        for program in schedule.programs
        for node in walk(program.body)
        if isinstance(node, Signal) and node.waits
    )


def _signals(stalling: int, vectors: float, facts: Facts) -> str:
    signals = facts.timing.counts["signals"]
    waiting, kind = facts.stall("signal")
    stall = (
        f", {stalling} of the signals in the text stall their sender until its transfers are done"
        if stalling
        else ""
    )
    return (
        f"signals for every step: {signals:,} of them, one for every {vectors:.1f} vectors of 128 bytes"
        f"{stall}; {kind} waits for one {100 * waiting:.0f} % of its time"
    )


def _overlap(facts: Facts) -> Iterator[str]:
    """Units that wait for their own transfers, and stages that take turns on the critical path."""
    own = {
        kind: unit.input / (unit.instances * facts.timing.cycles)
        for kind, unit in facts.timing.units.items()
        if _is_mover(kind, facts.device) and unit.input
    }
    waiting = {kind: part for kind, part in own.items() if part >= NOTABLE}
    if waiting:
        listed = " and ".join(f"{kind} {100 * part:.0f} %" for kind, part in waiting.items())
        yield f"no overlap of transfers: {listed} of the time wait for their own transfers before going on"
    stages = {name: part for name, part in _stages(facts).items() if part >= NOTABLE}
    if len(stages) >= 3:
        listed = ", ".join(f"{name} {100 * part:.0f} %" for name, part in stages.items())
        yield (
            f"no overlap of stages: they take turns on the critical path ({listed}); more copies of the "
            "buffers, with signals that carry credits, would let them run side by side"
        )


def _stages(facts: Facts) -> dict[str, float]:
    """Parts of the critical path by what they belong to: loads, readers, compute units, writers, stores."""
    found: dict[str, float] = {}
    for link in facts.timing.path:
        name = _stage(link.kind, facts.device)
        found[name] = found.get(name, 0.0) + link.cycles / facts.timing.cycles
    return found


def _stage(kind: str, device: Device) -> str:
    unit = device.unit(kind)
    if unit.is_compute:
        return "compute"
    if _is_mover(kind, device):
        return "DMA load" if unit.is_load else "DMA store"
    return "scratchpad read" if unit.is_load else "scratchpad write"


def _is_mover(kind: str, device: Device) -> bool:
    unit = device.unit(kind)
    return unit.per == "core" and not unit.is_compute


def _narrow(size: float, facts: Facts) -> Iterator[str]:
    device = facts.device
    movers = [
        unit for unit in device.units if unit.kind in facts.timing.units and _is_mover(unit.kind, device)
    ]
    for unit in movers[:1]:
        rate, latency = unicast_rate(unit, device), request_latency(unit, device)
        data = f", {size / rate:.1f} cycles of data at its own rate" if rate else ""
        yield (
            f"narrow transfers: {size:,.0f} bytes each{data}, against {unit.setup_cycles} cycles of set-up "
            f"and {latency:.0f} of latency; a whole tile in one transfer pays them once"
        )
