"""Who waits for whom when nothing can go on."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.machine.timing.activities import Await, Transfer
from headrace.machine.timing.engine import Engine
from headrace.machine.timing.unit import SimulatedUnit


def check_finished(engine: Engine) -> None:
    """Raise HeadraceError, one finding for each unit that waits, if the simulation stopped before its end."""
    waiting = [unit for unit in engine.units if not unit.is_done or unit.queue]
    if waiting:
        ordered = _along_the_cycle(waiting, engine.units)
        findings = [_finding(unit, engine) for unit in ordered]
        head = Diagnostic(
            f"deadlock: {len(waiting)} units wait for each other", hint="each line names what it waits for"
        )
        raise HeadraceError([head, *findings])


def _along_the_cycle(waiting: Sequence[SimulatedUnit], units: Sequence[SimulatedUnit]) -> list[SimulatedUnit]:
    """The waiting units, those of the first cycle of waits first and in its order."""
    seen: list[SimulatedUnit] = []
    at: SimulatedUnit | None = waiting[0]
    while at is not None and at not in seen:
        seen.append(at)
        at = _partner(at, units)
    cycle = seen[seen.index(at) :] if at is not None else seen
    return cycle + [unit for unit in waiting if unit not in cycle]


def _partner(unit: SimulatedUnit, units: Sequence[SimulatedUnit]) -> SimulatedUnit | None:
    if unit.waits_for is None or unit.waits_for[0] == "transfers":
        return None
    cause, what = unit.waits_for
    number = what.receiver if cause == "space" else what.sender
    return units[number] if number >= 0 else None


def _finding(unit: SimulatedUnit, engine: Engine) -> Diagnostic:
    name = _name(unit, engine)
    partner = _partner(unit, engine.units)
    other = _name(partner, engine) if partner is not None else "a unit without a program"
    cause = unit.waits_for[0] if unit.waits_for is not None else "meeting"
    activity = unit.next_activity()
    where: Location | None = getattr(activity, "where", None)
    match cause:
        case "signal":
            tag = f" '{activity.tag}'" if isinstance(activity, Await) and activity.tag else ""
            return Diagnostic(f"{name} waits for signal{tag} from {other}", where, "dataflow.sync_recv")
        case "input":
            return Diagnostic(f"{name} waits for a message from {other}", where, "dataflow.receive")
        case "space":
            return Diagnostic(f"{name} waits for room in the queue to {other}", where, "dataflow.send")
        case "transfers":
            return Diagnostic(f"{name} waits for its own transfers", where, "dataflow.sync_send")
    transfer: Transfer | None = unit.queue[0].transfer if unit.queue else None
    groups = ", ".join(str(number) for number in sorted(transfer.group)) if transfer is not None else ""
    message = f"{name} waits for the other members of multicast group {groups}"
    return Diagnostic(
        message, transfer.where if transfer is not None else None, "agen.composite_load_and_store"
    )


def _name(unit: SimulatedUnit, engine: Engine) -> str:
    instances = engine.wiring.classes[unit.group].instances[unit.role]
    alike = f" (and {len(instances) - 1} alike)" if len(instances) > 1 else ""
    return instances[0].name + alike
