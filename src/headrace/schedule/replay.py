"""What a plan means for a graph: the outline of every class again, and storage for the values between phases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.schedule.graph import Arg, CoreClass, TileGraph
from headrace.schedule.outline import Outline, flat_groups, outline
from headrace.schedule.plan import ClassPlan, PhasePlan, Plan
from headrace.schedule.shape import home, reduction_kinds
from headrace.schedule.storage import Storage


@dataclass(frozen=True)
class Layout:
    """A class ready to be built: phases, storage of values between them, and the scratch arguments that takes."""

    outline: Outline
    homes: Mapping[str, Storage]
    scratch: Mapping[str, str]
    arguments: tuple[Arg, ...]


def class_outline(part: CoreClass, device: Device, fusing: bool) -> Outline:
    """Return the phases of a class for a device."""
    return outline(part, reduction_kinds(device.memory("ct_local").size_bytes // 8), fusing)


def layouts(graph: TileGraph, plan: Plan, device: Device) -> list[Layout]:
    """Return the layout of every class; HeadraceError if the plan was made for other work."""
    if len(plan.classes) != len(graph.classes) or plan.kernel != graph.name:
        hint = f"the plan is for {plan.kernel} with {len(plan.classes)} classes of cores"
        raise HeadraceError(Diagnostic(f"the plan does not fit {graph.name}", hint=hint))
    found: list[Layout] = []
    count = 0
    for part, chosen in zip(graph.classes, plan.classes, strict=True):
        made = _layout(part, chosen, device, plan.fusing, count)
        count += len(made.arguments)
        found.append(made)
    return found


def _layout(part: CoreClass, chosen: ClassPlan, device: Device, fusing: bool, count: int) -> Layout:
    made = class_outline(part, device, fusing)
    groups = flat_groups(made.items)
    if (
        len(groups) != len(chosen.phases)
        or set(made.homes) != set(chosen.homes)
        or part.cores != chosen.cores
    ):
        raise HeadraceError(
            Diagnostic("the plan was made for other statements or cores", hint="search again")
        )
    homes = {v: home(made.names.values[v], chosen.homes[v]) for v in made.homes}
    scratch: dict[str, str] = {}
    arguments: list[Arg] = []
    for value in made.homes:
        if chosen.homes[value] == "scratch":
            name = f"scratch{count + len(arguments)}"
            scratch[value] = name
            tensor = made.names.values[value]
            arguments.append(Arg(name, tensor.dtype, (len(part.cores), *tensor.shape), "scratch"))
    return Layout(made, homes, scratch, tuple(arguments))


def check_phase(phase: PhasePlan, device: Device) -> list[Diagnostic]:
    """Return what is wrong with the numbers of a phase plan."""
    found: list[Diagnostic] = []
    for dim, size in phase.tile.items():
        if not 0 < size <= phase.extents.get(dim, 0):
            hint = f"between 1 and {phase.extents.get(dim, 0)}"
            found.append(
                Diagnostic(f"phase {phase.name}: tile {dim} = {size} is no part of the dim", hint=hint)
            )
    room = device.memory("ct_local").size_bytes
    if phase.lx_bytes > room:
        hint = "make tiles smaller or rotate fewer copies"
        found.append(
            Diagnostic(
                f"phase {phase.name}: {phase.lx_bytes} bytes of buffers, {room} in the scratchpad", hint=hint
            )
        )
    return found
