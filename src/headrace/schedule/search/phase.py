"""The cheapest plan of one phase, and what came second."""

from __future__ import annotations

from dataclasses import dataclass, field
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
class Tally:
    """Counts of the search and what came second."""

    seen: int = 0
    pruned: int = 0
    simulated: int = 0
    alternatives: list[Alternative] = field(default_factory=list)
    known: dict[object, tuple[PhasePlan, Shape]] = field(default_factory=dict)
    runners_up: list[PhasePlan] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take over the counts of a part of the search."""
        self.seen += other.seen
        self.pruned += other.pruned
        self.alternatives += other.alternatives
        self.runners_up += other.runners_up


def phase_plan(name: str, ours: Shape, cores: int, device: Device, limits: Limits, tally: Tally) -> PhasePlan:
    """The cheapest candidate of a phase; the best of the others are kept as alternatives."""
    mark = (signature(ours, cores), limits)
    if mark in tally.known:
        plan, source = tally.known[mark]
        return carried_over(plan, source, ours, name)
    order = _work if limits.is_repeated else _cycles
    tried = list(plans(name, ours, device, cores, limits))
    found = sorted((p for p in tried if p is not None), key=order)
    if not found:
        tried += least_plans(name, ours, device, cores, limits)
        found = sorted((p for p in tried if p is not None), key=order)
    if not found:
        raise ScratchpadFull(_too_large(ours.group, limits))
    tally.seen += len(tried)
    tally.pruned += len(tried) - len(found)
    tally.runners_up += found[1:4]
    best = found[0]
    for other in found[1:3]:
        tally.alternatives.append(Alternative(f"{name}: {difference(best, other)}", round(other.cycles, 1)))
    tally.known[mark] = (best, ours)
    return best


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
