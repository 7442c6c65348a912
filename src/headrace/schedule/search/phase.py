"""The cheapest plan of one phase, and what came second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic
from headrace.schedule.buffers import ScratchpadFull
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.shape import Shape
from headrace.schedule.plan import Alternative, PhasePlan
from headrace.schedule.search.memo import carried_over, signature
from headrace.schedule.search.strategies import least_plans, plans
from headrace.schedule.search.timeline import work_of
from headrace.schedule.search.variants import difference
from headrace.schedule.search.vector import Limits, describe


@dataclass
class Found:
    """What was found for a phase of some shape in so much `room`: plans from the best on, how many were
    tried, how many of those did not fit, and the bytes of scratchpad the largest takes.
    """

    room: int
    shape: Shape
    plans: tuple[PhasePlan, ...]
    tried: int
    pruned: int
    lx_bytes: int
    is_counted: bool = False

    def holds_for(self, room: int) -> bool:
        """Whether so much room has the same candidates."""
        return room == self.room or self.lx_bytes <= room < self.room


@dataclass
class Tally:
    """Counts of the search, what came second, and what was found for phases by what their plans depend on."""

    seen: int = 0
    pruned: int = 0
    simulated: int = 0
    alternatives: list[Alternative] = field(default_factory=list)
    known: dict[object, list[Found]] = field(default_factory=dict)
    runners_up: list[PhasePlan] = field(default_factory=list)

    def count(self, name: str, best: PhasePlan, others: Sequence[PhasePlan], found: Found) -> None:
        """Take over what was found for a phase: the best of the others are kept as alternatives."""
        found.is_counted = True
        self.seen += found.tried
        self.pruned += found.pruned
        self.runners_up += others
        for other in others[:2]:
            what = f"{name}: {difference(best, other)}"
            self.alternatives.append(Alternative(what, round(other.cycles, 1)))

    def add(self, other: Tally) -> None:
        """Take over the counts of a part of the search."""
        self.seen += other.seen
        self.pruned += other.pruned
        self.alternatives += other.alternatives
        self.runners_up += other.runners_up


def phase_plan(name: str, ours: Shape, cores: int, device: Device, limits: Limits, tally: Tally) -> PhasePlan:
    """The cheapest candidate of a phase.

    Where all candidates that were found for more room fit in less, less room leads to the same ones: what all
    of the scratchpad would be used for is looked at first. That does not hold for products over all rows,
    whose candidates depend on the room.
    """
    is_alike = limits.is_repeated or ours.group.kind == "vector"
    most = device.memory("ct_local").size_bytes if is_alike else limits.lx_bytes
    mark = signature(ours, cores), replace(limits, lx_bytes=0) if is_alike else limits
    known = tally.known.setdefault(mark, [])
    for room in (most, limits.lx_bytes):
        if not any(f.room == room or f.holds_for(limits.lx_bytes) for f in known):
            known.append(_found(name, ours, cores, device, replace(limits, lx_bytes=room)))
    found = next(f for f in known if f.holds_for(limits.lx_bytes))
    if not found.plans:
        raise ScratchpadFull(_too_large(ours.group, limits))
    best = carried_over(found.plans[0], found.shape, ours, name)
    if not found.is_counted:
        tally.count(name, best, [carried_over(p, found.shape, ours, name) for p in found.plans[1:]], found)
    return best


def _found(name: str, ours: Shape, cores: int, device: Device, limits: Limits) -> Found:
    """The best plans of a phase, none if not even the least tiles fit."""
    order = _work if limits.is_repeated else _cycles
    tried = list(plans(name, ours, device, cores, limits))
    if not any(tried):
        tried += least_plans(name, ours, device, cores, limits)
    fitting = sorted((p for p in tried if p is not None), key=order)
    largest = max((p.lx_bytes for p in fitting), default=0)
    return Found(limits.lx_bytes, ours, tuple(fitting[:4]), len(tried), len(tried) - len(fitting), largest)


def _cycles(plan: PhasePlan) -> tuple[float, ...]:
    return (plan.cycles,)


def _work(plan: PhasePlan) -> tuple[float, ...]:
    """The cycles of the busiest unit of the core, then those of device memory, which works beside other
    phases; of phases that stay in the scratchpad the one of fewest tiles.
    """
    ddr = plan.parts.get("ddr", 0.0)
    tiles = prod(ceil(plan.extents[d] / n) for d, n in plan.tile.items())
    if ddr:  # what copies of a tile hold leaves while other phases run
        tiles = tiles > plan.copies["out"]
    return work_of(plan), ddr, tiles, plan.cycles


def _too_large(group: Group, limits: Limits) -> Diagnostic:
    compute = group.computes[0]
    hint = "use a device with a larger scratchpad, or shorter rows"
    message = f"not even one step of the phase fits {limits.lx_bytes} bytes of scratchpad"
    return Diagnostic(message, compute.where, describe(compute), hint)
