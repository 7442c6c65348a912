"""What in an edited plan says nothing its phase could do: unknown words, missing blocks, rows cut in two."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.arch.device import Device
from headrace.arch.products import multiplying_unit
from headrace.schedule.phases.contraction import roles
from headrace.schedule.phases.halves import halves
from headrace.schedule.phases.shape import Shape
from headrace.schedule.phases.straight import straight
from headrace.schedule.plan import ClassPlan, PhasePlan
from headrace.schedule.units import units

ORDERS = ("column", "row", "column-swapped", "row-swapped")
HOMES = ("lx", "scratch")
BLOCKS = ("depth", "columns", "rows")


def misplaced(chosen: ClassPlan) -> list[tuple[str, str]]:
    """Return (message, hint) for values between phases that are to live nowhere."""
    wrong = {value: place for value, place in chosen.homes.items() if place not in HOMES}
    return [(f"{value} lives in '{place}'", " or ".join(HOMES)) for value, place in wrong.items()]


def meaningless(phase: PhasePlan, made: Shape, device: Device) -> Iterator[tuple[str, str]]:
    """Yield (message, hint) for words and numbers of a phase that its kind has no use for."""
    names = {f"{o.value}#{o.use}" for o in made.inputs}
    for field in ("once", "multicast", "kept"):
        for name in getattr(phase, field):
            if name not in names:
                yield f"'{name}' in {field} is no operand", f"operands are {', '.join(sorted(names))}"
    if phase.kind == "contract":
        if phase.order not in ORDERS:
            yield f"an order '{phase.order}'", ", ".join(ORDERS)
        missing = [name for name in BLOCKS if name not in phase.blocks]
        if missing:
            yield f"no {' and no '.join(missing)} of its blocks", f"blocks give {', '.join(BLOCKS)}"
    if phase.kind != "contract" or phase.order in ORDERS:
        unit = _unit(phase, made, device)
        if phase.unit != unit:
            yield f"it works on {phase.unit}", f"only {unit} of {device.name} does this work"
    if phase.kind == "vector":
        yield from _row(phase, made, device)


def _unit(phase: PhasePlan, made: Shape, device: Device) -> str:
    """The unit that does the work of a phase."""
    if phase.kind == "contract":
        return multiplying_unit(device, roles(made, "swapped" in phase.order).rows.dtype).kind
    way, ours = straight(made), units(device)
    return ours.vector if way is None else ours.loader if way == "in" else ours.storer


def _row(phase: PhasePlan, made: Shape, device: Device) -> Iterator[tuple[str, str]]:
    """What is wrong with the steps of rows: a reduced one is one step, or one and chunks of it."""
    extent = made.extents.get(phase.lane, 1)
    if made.reduced and phase.step != extent:
        yield f"steps of {phase.step} elements of rows that are reduced", f"whole rows of {extent}"
        return
    room = device.unit(units(device).vector).registers_bytes or 1 << 60
    is_cut = halves(made, phase.lane, room) is not None
    if is_cut and not 0 < phase.chunk <= extent:
        yield f"chunks of {phase.chunk} elements of a long row", f"between 1 and {extent}"
    if phase.chunk and not is_cut:
        yield f"chunks of {phase.chunk} elements, but rows come in one piece", "0"
