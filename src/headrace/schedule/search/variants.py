"""Plans that differ from the best one in some phases: what differs, and which is fastest on the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.schedule.plan import Alternative, ClassPlan, PhasePlan, Plan


def side_by_side(classes: Sequence[ClassPlan]) -> float:
    """Cycles of classes of cores side by side: of the slowest, and of device memory for all of them."""
    moved = sum(phase.parts.get("ddr", 0.0) * phase.runs for part in classes for phase in part.phases)
    return max([moved if len(classes) > 1 else 0.0, *(part.cycles for part in classes)])


def fastest(best: Plan, others: Sequence[PhasePlan], simulate: Callable[[Plan], float], tries: int) -> Plan:
    """The fastest plan met on the way from the best one by changing a phase at a time: a change stays where
    the machine takes less long with it, so that several phases may end up changed. `others` are listed from
    the cheapest on for each phase; at most `tries` changes are simulated, each listed with its cycles.
    """
    winner, least = best, simulate(best)
    tried: list[Alternative] = []
    for phase in _by_promise(others):
        classes = tuple(_with_phase(part, phase) for part in winner.classes)
        if len(tried) == tries or classes == winner.classes:
            continue
        total = side_by_side(classes)
        variant = replace(winner, classes=classes, predicted_cycles=round(total, 1))
        cycles = simulate(variant)
        own = next((p for part in winner.classes for p in part.phases if p.name == phase.name), phase)
        what = f"{phase.name}: {difference(own, phase)}"
        tried.append(Alternative(what, variant.predicted_cycles, cycles))
        if cycles < least:
            winner, least = variant, cycles
    return replace(winner, simulated=1 + len(tried), alternatives=(*tried, *best.alternatives))


def _by_promise(others: Sequence[PhasePlan]) -> list[PhasePlan]:
    """The second best of every phase, then the third best: every phase gets its turn, long ones first."""
    ranks: Counter[tuple[object, ...]] = Counter()
    ranked: list[tuple[int, float, int, PhasePlan]] = []
    for phase in others:
        mark = (phase.name, *phase.extents.items())
        ranked.append((ranks[mark], -phase.cycles, len(ranked), phase))
        ranks[mark] += 1
    return [phase for *_, phase in sorted(ranked, key=lambda entry: entry[:3])]


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
