"""A plan for people: what every phase does, on which unit, in which tiles, what it costs and what it beat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.schedule.plan import ClassPlan, PhasePlan, Plan


def plan_text(plan: Plan) -> str:
    """Return the plan as lines of text."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield f"plan {plan.plan_hash} for {plan.kernel} on {plan.device}"
    gap = (
        f", {plan.gap:+.1%} over the bound of {plan.bound_cycles:.0f} ({plan.resource})"
        if plan.bound_cycles
        else ""
    )
    yield f"  predicted {plan.predicted_cycles:.0f} cycles{gap}"
    yield f"  candidates: {plan.seen} seen, {plan.pruned} pruned, {plan.simulated} simulated"
    if plan.room_bytes:
        yield f"  at most {plan.room_bytes} bytes of scratchpad a phase, values between phases included"
    if not plan.over_ring:
        yield "  values between tiles pass through device memory: predicted to be faster than the ring"
    if plan.in_blocks:
        yield "  loops over blocks of keys stay loops: predicted to be faster than all keys at once"
    if plan.between:
        yield f"  read by later kernels where it was computed: {', '.join(plan.between)}"
    if plan.without:
        yield f"  without {', '.join(plan.without)}"
    for part in plan.classes:
        yield from _class(part)
    if plan.alternatives:
        yield "  beaten:"
        for other in plan.alternatives:
            simulated = "" if other.simulated_cycles is None else f", simulated {other.simulated_cycles:.0f}"
            yield f"    {other.what}: predicted {other.predicted_cycles:.0f}{simulated}"


def _class(part: ClassPlan) -> Iterator[str]:
    yield f"  cores {ranges(part.cores)}"
    if part.strips:
        kept = ", factors of all strips kept in the scratchpad" if part.strips["kept"] else ""
        block = f", in blocks of {part.strips['block']}" if part.strips["block"] else ""
        late, waiting = part.strips["late"], part.strips["waiting"]
        behind = f", results of {waiting} steps stored {late} steps late" if late else ""
        steps = f"columns in {part.strips['steps']} steps{block}{kept}{behind}"
        yield f"    in strips of {part.strips['rows']} rows, {steps}"
    for phase in part.phases:
        yield from _phase(phase)
    for value, place in part.homes.items():
        yield f"    {value} stays in {'the scratchpad' if place == 'lx' else 'device memory (scratch)'}"


def _phase(phase: PhasePlan) -> Iterator[str]:
    yield f"    {phase.name}: {phase.kind} on {phase.unit}: {'; '.join(phase.computes)}"
    if phase.lane:
        chunk = f", chunks of {phase.chunk} after the statistics" if phase.chunk else ""
        yield f"      vectors of {phase.step} along {phase.lane}{chunk}"
    tiles = ", ".join(f"{d} {n} of {phase.extents[d]}" for d, n in phase.tile.items())
    yield f"      tile {tiles or 'of one element'}{_order(phase)}"
    if phase.blocks:
        yield f"      blocks {_pairs(phase.blocks)}"
    if phase.split:
        yield f"      corelets share out {phase.split}"
    yield f"      copies {_pairs(phase.copies)}, {phase.lx_bytes} bytes of scratchpad, {phase.passes} passes"
    if phase.once:
        yield f"      loaded once: {', '.join(phase.once)}"
    if phase.kept:
        yield f"      stays in the scratchpad while rows pass: {', '.join(phase.kept)}"
    if phase.taper:
        yield f"      rows in tiles of {', '.join(map(str, phase.taper))}"
    if phase.multicast:
        yield f"      multicast: {', '.join(phase.multicast)}"
    if phase.joined:
        yield f"      neighbouring cores that read as one: {_pairs(phase.joined)}"
    costs = ", ".join(f"{unit} {cycles:.0f}" for unit, cycles in phase.parts.items())
    runs = f", {phase.runs} times" if phase.runs > 1 else ""
    yield f"      {phase.cycles:.0f} cycles ({costs}){runs}"


def _order(phase: PhasePlan) -> str:
    return f", loops {phase.order} first" if phase.order else ""


def _pairs(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items())


def ranges(numbers: tuple[int, ...]) -> str:
    """Return numbers as ranges: 0-3,6."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
