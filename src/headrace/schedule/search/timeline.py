"""When the phases of a class in strips begin and end: loads run ahead of the work, stores behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod

from headrace.arch.device import Device
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.items import Item, LoopItem, flat_groups
from headrace.schedule.phases.linear import largest
from headrace.schedule.plan import PhasePlan
from headrace.schedule.search.pricing import rates
from headrace.schedule.units import units


@dataclass(frozen=True)
class Part:
    """One run of a phase: cycles of device memory to load and to store for all cores, of work on a core.

    A load brings in the value `fills`, which is free again behind its last reader, or goes to the `buffers`
    of the phase itself: how many runs of phases with the same ones later these are free is `ahead`. `reads`
    are the values it waits for; the part `held` of the stores has to leave before the work is done.
    """

    buffers: object
    load: float
    work: float
    store: float
    ahead: int
    fills: str | None = None
    reads: tuple[str, ...] = ()
    held: float = 0.0


@dataclass
class _Clock:
    """Times from the start on at which the loader, the units that compute and device memory are free, values
    are there and have been read.
    """

    loader: float = 0.0
    work: float = 0.0
    memory: float = 0.0
    stores: list[tuple[float, float]] = field(default_factory=list)
    done: dict[object, list[float]] = field(default_factory=dict)
    there: dict[str, float] = field(default_factory=dict)
    read: dict[str, float] = field(default_factory=dict)

    def run(self, part: Part, latency: float) -> None:
        ready = max([self.work, *(self.there.get(value, 0.0) for value in part.reads)])
        if part.load:
            self.loader = self.moved(max(self.loader, self._free(part)), part.load)
            if part.fills is not None:
                self.there[part.fills] = self.loader + latency
            else:
                ready = max(ready, self.loader + latency)
        if part.work:
            self.work = ready + part.work
        for value in part.reads:
            self.read[value] = self.work
        self.done.setdefault(part.buffers, []).append(max(self.work, self.loader if part.load else 0.0))
        if part.store:
            self._store(part, ready)

    def _free(self, part: Part) -> float:
        """When there is room for what a phase loads."""
        if part.fills is not None:
            return self.read.get(part.fills, 0.0)
        ended = self.done.setdefault(part.buffers, [])
        return ended[-part.ahead] if len(ended) >= part.ahead else 0.0

    def _store(self, part: Part, begun: float) -> None:
        held = part.store * part.held
        if held:
            self.work = max(self.work, self.moved(begun, held))
        self.stores.append((self.work, part.store - held))

    def moved(self, asked: float, cycles: float) -> float:
        """When a transfer asked for at that time is complete: behind the stores that were there first."""
        while self.stores and self.stores[0][0] <= max(asked, self.memory):
            at, size = self.stores.pop(0)
            self.memory = max(self.memory, at) + size
        self.memory = max(self.memory, asked) + cycles
        return self.memory

    def end(self) -> float:
        for at, size in self.stores:
            self.memory = max(self.memory, at) + size
        return max(self.memory, self.work, self.loader)


def strip_cycles(
    items: Sequence[Item],
    phases: Sequence[PhasePlan],
    waits: Sequence[float],
    stored: Sequence[float],
    is_rotating: bool,
    device: Device,
) -> float:
    """Return the cycles of the phases of a class, loops unrolled, one core computing one phase at a time.

    `waits` are what each run of a phase takes besides the work of its slowest unit, `stored` the bytes that
    all cores store in it; `is_rotating` says whether loops over strips rotate the copies of buffers.
    """
    setup = device.unit(units(device).loader).setup_cycles
    latency = device.cycles(device.memory("global").latency_ns) + setup
    guests = {plan.beside for plan in phases}
    groups = flat_groups(items)
    loaded = {v for g, plan in zip(groups, phases, strict=True) for v in g.produced if _is_load(plan, device)}
    parts = []
    for number, (group, plan, wait, size) in enumerate(zip(groups, phases, waits, stored, strict=True)):
        part = _part(number, plan, wait, size, plan.name in guests, is_rotating, device)
        reads = tuple({a.value for c in group.computes for a in c.ins} & loaded)
        fills = next(iter(group.produced)) if _is_load(plan, device) else None
        parts.append(replace(part, reads=reads, fills=fills))
    clock = _Clock()
    for number in _order(items, iter(range(len(phases)))):
        clock.run(parts[number], latency)
    return clock.end() + latency


def _is_load(plan: PhasePlan, device: Device) -> bool:
    """Whether a phase only brings in a value."""
    return plan.unit == units(device).loader


def work_of(plan: PhasePlan) -> float:
    """Return the cycles of the busiest unit of a core in a phase, loads and stores left out."""
    return max((v for k, v in plan.parts.items() if k not in ("ddr", "fill", "drain")), default=0.0)


def _part(
    number: int,
    plan: PhasePlan,
    wait: float,
    stored: float,
    is_guest: bool,
    is_rotating: bool,
    device: Device,
) -> Part:
    """The parts of a phase; the work of one that runs beside another is in that one's. Every byte stored
    costs the way back to reading, as there are more bytes read.
    """
    moved, drain = plan.parts.get("ddr", 0.0), plan.parts.get("drain", stored * rates(device).write)
    work = work_of(plan) + wait + 4 * device.signal_cycles
    movers = (units(device).loader, units(device).storer)
    if is_guest or plan.unit in movers:
        work = 0.0
    if plan.unit == units(device).storer:
        moved = drain = 0.0
    load, copies = max(0.0, moved - drain), plan.copies.get("in", 1) if is_rotating else 1
    # phases in turn take the same buffers: those of loops over strips rotate, the others have one copy
    buffers = (plan.runs > 1, load) if is_rotating and plan.unit not in movers else number
    store = stored * (rates(device).write + rates(device).turnaround)
    tiles = prod(ceil(plan.extents[d] / n) for d, n in plan.tile.items()) if plan.kind == "vector" else 1
    held = max(0.0, 1 - plan.copies.get("out", 1) / tiles)
    return Part(buffers, load, work, store, min(copies, plan.runs), held=held)


def _order(items: Sequence[Item], numbers: Iterator[int]) -> list[int]:
    """The number of the phase of every run in order; a loop runs as often as on the core it does most."""
    found: list[int] = []
    for item in items:
        if isinstance(item, LoopItem):
            found += _order(item.body, numbers) * largest(item.loop.trip)
        elif isinstance(item, Group):
            found.append(next(numbers))
    return found
