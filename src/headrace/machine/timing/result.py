"""What a simulation says: cycles, where every unit's time went, bytes moved, slices for a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headrace.ir.diagnostics import Location
from headrace.machine.timing.movers import spent
from headrace.machine.timing.path import Link
from headrace.machine.timing.ticks import TICKS, cycles
from headrace.machine.timing.unit import CAUSES, SimulatedUnit

BYTES = ("ddr_read", "ddr_write", "ring", "lx_read", "lx_write")
COUNTS = ("transfers", "signals", "read", "step", "write")
"""What is counted beside bytes: descriptors, signals, iterations of readers, steps and writers."""


@dataclass(frozen=True)
class UnitTime:
    """Cycles of all instances of one kind together; the parts sum to instances x cycles of the run."""

    instances: int
    busy: int = 0
    input: int = 0
    space: int = 0
    signal: int = 0
    bandwidth: int = 0
    setup: int = 0
    idle: int = 0


@dataclass(frozen=True)
class Interval:
    """One slice of a track: from `start` to `end` (cycles), what it was, where it stands in the text.

    `label` is "load", "store" or "pull" for a transfer, "read", "write" or "step" for a stream, `name` the
    buffer that is moved; `cores` tells for how many alike cores the track stands. `bytes` are those of the
    scratchpads (of one core), device memory and rings (of all alike cores).
    """

    track: str
    start: float
    end: float
    label: str
    cores: int = 1
    where: Location = Location()
    name: str = ""
    bytes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Fill:
    """Messages in a queue over time: [(cycles, messages from then on)], from one unit to another."""

    sender: str
    receiver: str
    levels: tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class Timing:
    """A timed run. `cycles` go from the first instruction to the last retired access.

    `intervals`, `fills` and `alike` (the units each track stands for) are there when traced.
    `path` is the critical path, empty unless it was recorded; `counts` has an entry for each of `COUNTS`.
    """

    cycles: int
    units: dict[str, UnitTime] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    lx_peak_bytes: int = 0
    intervals: tuple[Interval, ...] = ()
    fills: tuple[Fill, ...] = ()
    alike: dict[str, tuple[str, ...]] = field(default_factory=dict)
    classes: int = 0
    cores: int = 0
    path: tuple[Link, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


def unit_times(runs: Sequence[tuple[Iterable[SimulatedUnit], int]]) -> dict[str, UnitTime]:
    """Return time by kind over schedules run one after the other: [(units, duration in ticks)]."""
    ticks: dict[str, dict[str, int]] = {}
    instances: dict[str, int] = {}
    total = cycles(sum(duration for _, duration in runs))
    for units, _ in runs:
        here: dict[str, int] = {}
        for unit in units:
            kind = unit.role[0]
            here[kind] = here.get(kind, 0) + unit.multiplicity
            sums = ticks.setdefault(kind, dict.fromkeys(CAUSES, 0))
            for cause, amount in spent(unit).items():
                sums[cause] += amount * unit.multiplicity
        for kind, count in here.items():
            instances[kind] = max(instances.get(kind, 0), count)
    found = {}
    for kind in sorted(ticks):
        whole = {cause: amount // TICKS for cause, amount in ticks[kind].items()}
        idle = instances[kind] * total - sum(whole.values())
        found[kind] = UnitTime(instances[kind], **whole, idle=idle)
    return found
