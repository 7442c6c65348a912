"""What a plan means for a graph: the outline of every class again, and storage for the values between
phases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.numbers.dtypes import itemsize
from headrace.schedule.edits import meaningless, misplaced
from headrace.schedule.graph import Arg, CoreClass, TileGraph
from headrace.schedule.phases.beside import beside
from headrace.schedule.phases.contraction import behind_dim, has_whole_peaks, roles
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.items import flat_groups, followed
from headrace.schedule.phases.multicast import line_up
from headrace.schedule.phases.outline import Outline, outline
from headrace.schedule.phases.peaks import GRAIN
from headrace.schedule.phases.shape import Shape, home, reduction_kinds, shape
from headrace.schedule.phases.storage import Storage
from headrace.schedule.phases.strips import Strips
from headrace.schedule.plan import ClassPlan, PhasePlan, Plan
from headrace.schedule.ring import apart_entry, exchanged, message_lanes
from headrace.schedule.units import units


@dataclass(frozen=True)
class Layout:
    """A class ready to be built: phases and their shapes in order, storage of values between them, and the
    scratch arguments that takes.
    """

    outline: Outline
    shapes: tuple[Shape, ...]
    homes: Mapping[str, Storage]
    scratch: Mapping[str, str]
    arguments: tuple[Arg, ...]


def class_outline(
    part: CoreClass, device: Device, fusing: bool, strips: Strips | None = None, is_holding: bool = False
) -> Outline:
    """Return the phases of a class for a device; `is_holding` brings what loops read of loads before them
    into the scratchpad once.

    A row reduction over several dims needs every operand of its phase to walk them as one; what was fused
    with one that does not gets phases of its own. So does what leaves a phase and lacks more than the lanes
    of it: it would be written again for every row.
    """
    kind = reduction_kinds(device.memory("ct_local").size_bytes // 8)
    registers = device.unit(units(device).vector).registers_bytes or 1 << 60
    keeping = (device.memory("ct_local").size_bytes // 3, device.memory("global").access_bytes)
    holding = device.memory("ct_local").size_bytes // 4 if is_holding else 0
    apart: frozenset[str] = frozenset()
    while True:
        made = outline(part, kind, fusing, apart, registers, strips, keeping, holding)
        torn = {value for group in flat_groups(made.items) for value in _torn(group, made)}
        if torn <= apart:
            return made
        apart |= torn


def strips_of(chosen: ClassPlan) -> Strips | None:
    """Return how the phases of a class are cut, None if they run one after another over all rows;
    HeadraceError if a plan edited by hand says no such thing.
    """
    found = chosen.strips
    if not found:
        return None
    least = {"rows": 1, "steps": 1, "kept": 0, "ahead": 0, "block": 0, "late": 0, "waiting": 0}
    if found.keys() != least.keys() or any(found[name] < n for name, n in least.items()):
        hint = "rows and steps of at least 1, kept and ahead 1 or 0, block, late and waiting 0 or more"
        raise HeadraceError(
            Diagnostic(f"strips of {dict(found)}", op="plan", hint=f"{hint}; or leave strips empty")
        )
    flags = bool(found["kept"]), bool(found["ahead"])
    return Strips(found["rows"], found["steps"], *flags, found["block"], found["late"], found["waiting"])


def _torn(group: Group, made: Outline) -> set[str]:
    """The values of a group that it cannot compute in one phase."""
    narrow = [c for c in group.computes if len(group.dims - {d.name for d in c.dims}) > 1]
    if group.kind != "vector" or (len(group.reduced) < 2 and not narrow):
        return set()
    homes = {value: home(made.names.values[value], "lx") for value in made.homes}
    found = shape(group, made, homes)
    if len(found.reduced) > 1:
        return set(group.produced)
    leaving = {o.value for o in found.outputs}
    lacking = [c for c in narrow if len(found.extents.keys() - {found.merged[d.name] for d in c.dims}) > 1]
    return {o.value for c in lacking for o in c.outs} & leaving


def layouts(graph: TileGraph, plan: Plan, device: Device) -> list[Layout]:
    """Return the layout of every class; HeadraceError if the plan was made for other work."""
    if len(plan.classes) != len(graph.classes) or plan.kernel != graph.name:
        hint = f"the plan is for {plan.kernel} with {len(plan.classes)} classes of cores"
        raise HeadraceError(Diagnostic(f"the plan does not fit {graph.name}", hint=hint))
    found: list[Layout] = []
    faults: list[Diagnostic] = []
    count = 0
    for part, chosen in zip(graph.classes, plan.classes, strict=True):
        made = _layout(part, chosen, device, plan.fusing, count)
        count += len(made.arguments)
        faults += check(made, chosen, device)
        found.append(made)
    if faults:
        raise HeadraceError(faults)
    return found


def _layout(part: CoreClass, chosen: ClassPlan, device: Device, fusing: bool, count: int) -> Layout:
    made = class_outline(part, device, fusing, strips_of(chosen), chosen.is_holding)
    groups = flat_groups(made.items)
    if (
        len(groups) != len(chosen.phases)
        or set(made.homes) != set(chosen.homes)
        or part.cores != chosen.cores
    ):
        raise HeadraceError(
            Diagnostic("the plan was made for other statements or cores", hint="search again")
        )
    nowhere = [Diagnostic(message, op="plan", hint=hint) for message, hint in misplaced(chosen)]
    if nowhere:
        raise HeadraceError(nowhere)
    homes = {v: home(made.names.values[v], chosen.homes[v]) for v in made.homes}
    scratch: dict[str, str] = {}
    arguments: list[Arg] = []
    for value in made.homes:
        if chosen.homes[value] == "scratch":
            name = f"scratch{count + len(arguments)}"
            scratch[value] = name
            tensor = made.names.values[value]
            arguments.append(Arg(name, tensor.dtype, (len(part.cores), *tensor.shape), "scratch"))
    shapes = tuple(shape(group, made, homes) for group in groups)
    return Layout(made, shapes, homes, scratch, tuple(arguments))


def check(layout: Layout, chosen: ClassPlan, device: Device) -> list[Diagnostic]:
    """Return what is wrong with the phases of a plan, edited by hand or made for another device."""
    found: list[Diagnostic] = []
    for made, phase in zip(layout.shapes, chosen.phases, strict=True):
        wrong = [*_wrong(phase, made, device), *_joined(phase, made, len(chosen.cores), device)]
        found += [Diagnostic(f"phase {phase.name}: {m}", op="plan", hint=hint) for m, hint in wrong]
    return found or _alone(layout, chosen, device)


def _alone(layout: Layout, chosen: ClassPlan, device: Device) -> list[Diagnostic]:
    """What is wrong with phases that are to run beside the one after them."""
    possible = set()
    for number in followed(layout.outline.items):
        guest, host = chosen.phases[number : number + 2]
        rows, products = layout.shapes[number : number + 2]
        if beside(host, products, guest, rows, device) is not None:
            possible.add((host.name, guest.name))
    hint = "only the vector phase right before, in the scratchpad and independent; or leave it empty"
    return [
        Diagnostic(f"phase {p.name}: {p.beside} beside it", op="plan", hint=hint)
        for p in chosen.phases
        if p.beside and (p.name, p.beside) not in possible
    ]


def _wrong(phase: PhasePlan, made: Shape, device: Device) -> Iterator[tuple[str, str]]:
    if phase.kind != made.group.kind:
        yield f"kind {phase.kind}, but it is a {made.group.kind} phase", "search again"
        return
    if dict(phase.extents) != dict(made.extents) or set(phase.tile) != set(made.extents):
        yield "its dims are not those of the statements", f"they are {dict(made.extents)}"
        return
    for dim, size in phase.tile.items():
        if not 0 < size <= made.extents[dim]:
            yield f"a tile of {size} along {dim}", f"between 1 and {made.extents[dim]}"
    if phase.kind == "vector" and made.reduced and any(phase.tile[d] < made.extents[d] for d in made.reduced):
        yield "a tile holds part of a row that is reduced in one step", "give the tile whole rows"
    if phase.lane and phase.lane not in made.extents:
        yield f"no dim {phase.lane} for its vectors", f"dims are {', '.join(made.extents)}"
    elif phase.step < 1:
        yield f"steps of {phase.step} elements", "at least 1"
    if any(count < 1 for count in phase.copies.values()):
        yield "a buffer of no copies", "at least 1"
    faults = list(meaningless(phase, made, device))
    yield from faults
    if faults:
        return
    yield from _blocks(phase, device)
    yield from _rows(phase, made)
    yield from _products(phase, made)
    yield from _messages(phase, made, device)
    room = device.memory("ct_local").size_bytes
    size = buffer_bytes(phase, made)
    if size > room:
        yield (
            f"{size} bytes of buffers, but {room} of scratchpad",
            "make tiles smaller or rotate fewer copies",
        )


def _rows(phase: PhasePlan, made: Shape) -> Iterator[tuple[str, str]]:
    """What is wrong with the tiles of rows of a contraction and with what stays while they pass."""
    is_waiting = "waiting" in phase.copies
    if (phase.taper or phase.kept or is_waiting) and phase.kind != "contract":
        yield f"tapered rows or waiting results in a {phase.kind} phase", "leave out taper, kept and waiting"
        return
    if is_waiting and not behind_dim(phase, roles(made, "swapped" in phase.order)):
        yield "results of one tile wait for the next", "leave out waiting, or cut rows or columns into tiles"
        return
    if is_waiting and any(o.storage.kind == "lx" for o in made.outputs):
        yield "results that a later phase reads wait for the next tile", "leave out waiting"
        return
    if not phase.taper:
        if phase.kept:
            yield f"{', '.join(phase.kept)} kept for rows of one tile", "say in taper how the rows are tiled"
        return
    found = roles(made, "swapped" in phase.order)
    dim = behind_dim(phase, found) if is_waiting else found.row
    extent = made.extents.get(dim, 1)
    if sum(phase.taper) != extent or min(phase.taper) < 1 or max(phase.taper) != phase.tile.get(dim):
        yield (
            f"tiles of {phase.taper} along {dim or 'no dim'}",
            f"they add up to {extent}, the largest is the tile along it",
        )
    weights = f"{found.weights.value}#{found.weights.use}"
    is_possible = phase.order.startswith("column") and not found.outer_depth and found.depth in phase.tile
    if is_possible:
        is_possible = phase.tile[found.depth] < made.extents[found.depth]
    if phase.kept and "filling" not in phase.blocks:
        yield f"{weights} kept, filled in no steps", "give blocks a filling depth"
    elif phase.kept and (phase.kept != (weights,) or not is_possible):
        hint = f"only {weights}, in an order by columns, with one dim of depth in several tiles"
        yield f"{', '.join(phase.kept)} kept", hint


def _messages(phase: PhasePlan, made: Shape, device: Device) -> Iterator[tuple[str, str]]:
    """What is wrong with the steps of a phase whose values pass between cores."""
    lanes = message_lanes(made.group.computes, device, units(device).vector)
    if lanes is not None and phase.step > lanes:
        yield f"messages of {phase.step} elements between cores", f"at most {lanes}"
    elif apart_entry(made.group.computes[0]) is not None:
        step, size = exchanged(made.extents.get(phase.lane, 1), lanes)
        if phase.step != step or any(n != size for n in phase.tile.values()):
            hint = f"steps of {step} in tiles of {size}, as the cores of the other classes have"
            yield f"steps of {phase.step} in tiles of {dict(phase.tile)}", hint


def _products(phase: PhasePlan, made: Shape) -> Iterator[tuple[str, str]]:
    """What is wrong with the tiles of a contraction along dims that count products: one is built at once."""
    if phase.kind != "contract":
        return
    found = roles(made, "swapped" in phase.order)
    if not has_whole_peaks(phase, made):
        yield f"blocks of {phase.blocks['columns']} columns", f"multiples of {GRAIN}, whose maxima are taken"
    if found.others and ("swapped" in phase.order or phase.kept):
        yield (
            "several products with sides exchanged or weights kept",
            "an order by columns or rows, none kept",
        )
    for dim, size in phase.tile.items():
        if dim not in (found.row, found.column, found.depth) and size > 1:
            yield f"a tile of {size} products along {dim}", "1"


def _joined(phase: PhasePlan, made: Shape, cores: int, device: Device) -> Iterator[tuple[str, str]]:
    """What is wrong with the operands that neighbouring cores read as one."""
    if not phase.joined or phase.kind != made.group.kind:
        return
    multicast = device.memory("global").multicast
    most = min(cores, multicast.max_consumers if multicast is not None else 1)
    hint = f"only a contraction's weights with all columns in a tile, cores side by side, at most {most}"
    found = roles(made, "swapped" in phase.order) if phase.kind == "contract" else None
    listed = {f"{o.value}#{o.use}": o for o in found.all_weights} if found is not None else {}
    for name, members in phase.joined.items():
        is_possible = name in listed
        if found is not None and is_possible:
            column, weights = found.column, listed[name]
            is_possible = name in phase.multicast and name not in phase.kept and 1 < members <= most
            is_possible &= weights.storage.kind != "lx" and weights.index is None
            is_possible &= (
                weights.surface.stride(column) == 1 and phase.tile.get(column) == made.extents[column]
            )
            is_possible = is_possible and line_up(weights.surface.base, cores, made.extents[column], members)
        if not is_possible:
            yield f"{members} cores read {name} as one", hint


def _blocks(phase: PhasePlan, device: Device) -> Iterator[tuple[str, str]]:
    for name, value in phase.blocks.items():
        if value < 1:
            yield f"blocks of {value} {name}", "at least 1"
    if phase.kind == "contract" and phase.split not in ("columns", "rows"):
        yield f"corelets split {phase.split}", "columns or rows"
    unit = device.find_unit(phase.unit)
    if unit is not None and unit.matrix is not None and unit.matrix.resident_bytes is not None:
        count = phase.blocks.get("depth", 1) * phase.blocks.get("columns", 1)
        if count > unit.matrix.resident_bytes:
            yield f"a block of {count} elements", f"{phase.unit} keeps {unit.matrix.resident_bytes} bytes"


def buffer_bytes(phase: PhasePlan, made: Shape) -> int:
    """Return the least bytes of scratchpad the tiles of a phase need: one copy in, one out; a contraction has
    only a stage of its results there.
    """
    factors = made.inputs
    staged = dict(phase.tile)
    if phase.kind == "contract":
        found = roles(made, "swapped" in phase.order)
        row, factors = found.row, found.factors
        staged[row] = min(phase.tile.get(row, 1), phase.blocks.get("rows", 1))
    total = 0
    for operand in (*made.inputs, *made.outputs):
        if operand.storage.kind != "lx":
            tile = phase.tile if operand in factors else staged
            members = phase.joined.get(f"{operand.value}#{operand.use}", 1)
            total += prod(tile[d] for d in operand.surface.dims) * itemsize(operand.dtype) * members
    return total
