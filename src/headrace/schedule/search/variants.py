"""Plans that differ from the best one in a phase: what differs, and the fastest of them on the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.schedule.plan import Alternative, ClassPlan, PhasePlan, Plan


def side_by_side(classes: Sequence[ClassPlan]) -> float:
    """Cycles of classes of cores side by side: of the slowest, and of device memory for all of them."""
    moved = sum(phase.parts.get("ddr", 0.0) * phase.runs for part in classes for phase in part.phases)
    return max([moved if len(classes) > 1 else 0.0, *(part.cycles for part in classes)])


def fastest(best: Plan, others: list[PhasePlan], simulate: Callable[[Plan], float]) -> Plan:
    """The fastest of the plan and its variants by one phase; every variant is listed with its cycles."""
    winner, least = best, simulate(best)
    tried: list[Alternative] = []
    for phase in others:
        classes = tuple(_with_phase(part, phase) for part in best.classes)
        total = side_by_side(classes)
        variant = replace(best, classes=classes, predicted_cycles=round(total, 1))
        cycles = simulate(variant)
        own = next((p for part in best.classes for p in part.phases if p.name == phase.name), phase)
        what = f"{phase.name}: {difference(own, phase)}"
        tried.append(Alternative(what, variant.predicted_cycles, cycles))
        if cycles < least:
            winner, least = variant, cycles
    return replace(winner, simulated=1 + len(others), alternatives=(*tried, *best.alternatives))


def _with_phase(part: ClassPlan, phase: PhasePlan) -> ClassPlan:
    """The class with a phase replaced, where name and dims are the same."""
    same = [
        replace(phase, runs=p.runs) if (p.name, p.extents) == (phase.name, phase.extents) else p
        for p in part.phases
    ]
    return replace(part, phases=tuple(same))


def difference(best: PhasePlan, other: PhasePlan) -> str:
    changes = [
        f"{d} {best.tile[d]} -> {other.tile.get(d)}" for d in best.tile if best.tile[d] != other.tile.get(d)
    ]
    if best.order != other.order:
        changes.append(f"order {best.order} -> {other.order}")
    return "tile " + ", ".join(changes) if changes else "same tile"
