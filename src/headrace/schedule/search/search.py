"""The search: for every phase the cheapest plan that fits, for every value between phases a place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Protocol

from headrace.arch.cost import Work, bound
from headrace.arch.device import Device
from headrace.schedule.buffers import ScratchpadFull
from headrace.schedule.graph import CoreClass, Loop, PerCore, TileGraph
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.items import Item, LoopItem, flat_groups, followed, runs_of
from headrace.schedule.phases.local import without_local_views
from headrace.schedule.phases.outline import Outline
from headrace.schedule.phases.shape import home, shape
from headrace.schedule.phases.strips import Strips
from headrace.schedule.plan import ClassPlan, Plan
from headrace.schedule.replay import class_outline
from headrace.schedule.search.beside import stored_bytes, waits, with_beside
from headrace.schedule.search.homes import bytes_of, kept_bytes, live_bytes, place_homes
from headrace.schedule.search.phase import Tally, phase_plan
from headrace.schedule.search.strips import choices, first_fitting, scratch_cycles
from headrace.schedule.search.timeline import strip_cycles
from headrace.schedule.search.variants import fastest, side_by_side
from headrace.schedule.search.vector import Limits

OPTIMISATIONS = (
    "fusion",
    "double-buffering",
    "multicast",
    "residency",
    "retiling",
    "pacing",
    "ring",
    "joining",
)
"""Names `without` may hold that concern this room; others are read elsewhere."""


TALL = 64
"""Rows of strips that keep factors in the scratchpad from which on no others are tried: a matrix unit is kept
busy by as many, and in lower ones its weights are changed too often.
"""

HOLDING = 1.02
"""What loops read of loads before them is held even if that is predicted to take so many times as long: no
prediction counts that loads in every iteration keep others waiting.
"""

WAITING = 1.02
"""Results of one more step wait if that is predicted to be so many times as fast: no prediction counts that
what is stored and what is computed meanwhile may share bytes then.
"""


class Options(Protocol):
    """What the search reads of a request."""

    @property
    def without(self) -> Iterable[str]: ...
    @property
    def effort(self) -> int: ...


@dataclass(frozen=True)
class Defaults:
    """Options when the caller has none."""

    without: frozenset[str] = frozenset()
    effort: int = 1


def search(
    graph: TileGraph,
    device: Device,
    options: Options | None = None,
    simulate: Callable[..., float] | None = None,
    room: int | None = None,
) -> Plan:
    """Return the plan of a graph for a device; the same inputs always give the same plan.

    A phase gets `room` bytes of the scratchpad (the largest of `rooms` if not given). Where the least tile of
    a fused phase needs more, nothing is fused; ScratchpadFull if even then one does. `simulate` gives the
    cycles of a plan; from effort 2 on, more steps of strips are tried, and plans that differ from the best
    one in some phases are simulated too: the fastest wins.
    """
    graph = without_local_views(graph)
    chosen: Options = options if options is not None else Defaults()
    without = frozenset(name.removeprefix("schedule.") for name in chosen.without)
    tally = Tally()
    room = rooms(device)[0] if room is None else room
    fusing = "fusion" not in without

    def planned() -> tuple[ClassPlan, ...]:
        effort = chosen.effort
        return tuple(_class_plan(c, device, without, fusing, tally, room, effort) for c in graph.classes)

    try:
        classes = planned()
    except ScratchpadFull:
        if not fusing:
            raise
        fusing, tally = False, Tally()
        classes = planned()
    total = side_by_side(classes)
    least = bound(Work.from_attribute({k: v for k, v in graph.work.items() if isinstance(v, int)}), device)
    best = Plan(
        graph.name, device.name, fusing, classes, round(total, 1), round(least.cycles, 1), least.resource,
        tally.seen, tally.pruned, tally.simulated, room, tuple(sorted(without)), tuple(tally.alternatives),
        tuple(sorted({*graph.between.values()})),
    )  # fmt: skip
    if simulate is None or chosen.effort < 2 or not tally.runners_up:
        return best
    return fastest(best, tally.runners_up, simulate, 4 * chosen.effort)


def rooms(device: Device) -> list[int]:
    """Return the bytes of scratchpad to plan phases for, the most first: the next one is for buffers that
    find no addresses although their planned sum fits.
    """
    size = device.memory("ct_local").size_bytes
    return [size * part // 16 for part in (15, 12, 10, 8, 6, 4, 2)]


def spare_bytes(device: Device) -> int:
    """Return what a contraction that is the only phase may take besides: all of its buffers live all the
    time, so that addresses leave no gaps.
    """
    return device.memory("ct_local").size_bytes // 32


def _class_plan(
    part: CoreClass,
    device: Device,
    without: frozenset[str],
    fusing: bool,
    tally: Tally,
    room: int,
    effort: int,
) -> ClassPlan:
    """The plan of a class with as many values between phases in the scratchpad as leave every phase room; in
    strips, if values would go through device memory or from one product to another, and strips are predicted
    to last less long; with what loops read of loads before them held there, likewise.
    """
    made = class_outline(part, device, fusing)
    kinds = place_homes(made, room // 2)
    stripped = None
    products = [group for group in flat_groups(made.items) if group.kind == "contract"]
    may_gain = "scratch" in kinds.values()
    may_gain = may_gain or (bool(kinds) and len(products) > 1 and not _has_loops(part))
    if fusing and may_gain and not {"residency", "retiling"} & without:
        stripped = _stripped(part, device, without, tally, room, effort)
    if stripped is not None and stripped.cycles <= scratch_cycles(made, kinds, len(part.cores), device):
        return stripped
    whole = _resident(part, made, device, without, tally, room)
    if fusing and "residency" not in without:
        held = class_outline(part, device, fusing, is_holding=True)
        if len(held.homes) > len(made.homes):
            plan = _resident(part, held, device, without, tally, room)
            whole = replace(plan, is_holding=True) if plan.cycles <= HOLDING * whole.cycles else whole
    return whole if stripped is None or whole.cycles <= stripped.cycles else stripped


def _has_loops(part: CoreClass) -> bool:
    """Whether loops of a class carry values: strips are for those that do not fit the scratchpad only."""
    return any(isinstance(s, Loop) and s.carried for s in part.body)


def _resident(
    part: CoreClass, made: Outline, device: Device, without: frozenset[str], tally: Tally, room: int
) -> ClassPlan:
    """The plan of an outline with as many values between phases in the scratchpad as leave room."""
    tried: list[dict[str, str]] = []
    for share in (2, 4, 8) if "residency" not in without else ():
        kinds = place_homes(made, room // share)
        if kinds in tried or "lx" not in kinds.values():
            continue
        tried.append(kinds)
        with suppress(ScratchpadFull):
            return _planned(part, made, kinds, device, without, tally, room)
    return _planned(part, made, dict.fromkeys(made.homes, "scratch"), device, without, tally, room)


def _stripped(
    part: CoreClass, device: Device, without: frozenset[str], tally: Tally, room: int, effort: int
) -> ClassPlan | None:
    """The best plan of a class in strips, all values between phases in the scratchpad; None if none fits."""
    found: list[ClassPlan] = []
    has_loops = _has_loops(part)
    outlined = cache(lambda strips: class_outline(part, device, True, strips, has_loops))
    place, is_full = 0, False
    for lists in choices(part, without, effort):
        for several in filter(None, lists):
            best, first = _best(found), several[0]
            if is_full and first.kept:
                continue
            if best is not None and best.strips["ahead"]:
                if first.ahead and not first.late:
                    continue  # at once what is better late
                if not first.ahead and best.strips["rows"] >= TALL:
                    continue  # one after the other what may overlap
            place = first_fitting(several, outlined, place, room)
            if first.kept and place == len(several):
                is_full = kept_bytes(outlined(several[-1])) >= room
            for strips in several[place:]:
                plan = _in_strips(part, strips, outlined(strips), device, without, tally, room)
                if plan is not None:
                    found.append(plan)
                    break
        if any(plan.strips["rows"] >= TALL for plan in found):
            break
    return _best(found)


def _best(found: Sequence[ClassPlan]) -> ClassPlan | None:
    """The fastest of plans in strips; results of more steps wait only where that gains by `WAITING`."""
    best: ClassPlan | None = None
    for plan in found:
        if best is None or plan.cycles * (WAITING if _waits_longer(plan, best) else 1) < best.cycles:
            best = plan
    return best


def _waits_longer(plan: ClassPlan, best: ClassPlan) -> bool:
    """Whether results of more of as many steps wait."""
    one, other = plan.strips, best.strips
    return one["steps"] == other["steps"] and one["waiting"] > other["waiting"] > 0


def _in_strips(
    part: CoreClass,
    strips: Strips,
    made: Outline,
    device: Device,
    without: frozenset[str],
    tally: Tally,
    room: int,
) -> ClassPlan | None:
    """The plan of a class whose outline is cut in such strips; None if they do not fit."""
    with suppress(ScratchpadFull):
        plan = _planned(part, made, dict.fromkeys(made.homes, "lx"), device, without, tally, room, strips)
        return replace(plan, is_holding=_has_loops(part))
    return None


def _planned(
    part: CoreClass,
    made: Outline,
    kinds: dict[str, str],
    device: Device,
    without: frozenset[str],
    tally: Tally,
    room: int,
    strips: Strips | None = None,
) -> ClassPlan:
    """The plan of a class with values between phases at the given places."""
    trial = Tally(known=tally.known)
    homes = {v: home(made.names.values[v], kinds[v]) for v in made.homes}
    shapes = [shape(group, made, homes) for group in flat_groups(made.items)]
    used = [sum(_bytes(made, v) for v in kinds if kinds[v] == "lx")] * len(shapes)
    if strips is not None:
        used = live_bytes(made, kinds, strips.block > 0)
    limits = Limits(
        room,
        1 if "double-buffering" in without else 3,
        "multicast" not in without,
        "residency" not in without,
        "retiling" not in without,
        not {"pacing", "double-buffering"} & without,
    )
    apart = [id(group) for group in _groups_run_unevenly(made.items)]
    phases = []
    runs = runs_of(made.items)
    for number, ours in enumerate(shapes):
        group = ours.group
        is_repeated = strips is not None and (runs[number] > 1 or (strips.ahead and _is_strip(group, made)))
        allowed = replace(limits, lx_bytes=room - used[number], is_repeated=is_repeated)
        if strips is not None and strips.late:  # what waits leaves no gaps either
            allowed = replace(allowed, lx_bytes=allowed.lx_bytes + spare_bytes(device))
        if id(group) in apart:
            allowed = replace(allowed, multicast=False)
        if is_repeated or runs[number] > 1:  # a tile to begin with, in every turn, costs more than it saves
            allowed = replace(allowed, pacing=False)
        if len(used) == 1 and group.kind == "contract" and room == rooms(device)[0]:
            allowed = replace(allowed, lx_bytes=allowed.lx_bytes + spare_bytes(device))
        phase = phase_plan(f"p{number}", ours, len(part.cores), device, allowed, trial)
        phases.append(replace(phase, runs=runs[number]))
    tally.add(trial)
    if strips is not None and strips.ahead:
        # those of a strip in blocks have left long before those of the next one come
        phases = with_beside(made, shapes, phases, 1 if strips.block else 2, device)
    chosen = {} if strips is None else {key: int(value) for key, value in asdict(strips).items()}
    total = 0.0
    if strips is not None:
        before = {number + 1: pair[0].produced for number, pair in followed(made.items).items()}
        pairs = enumerate(zip(phases, shapes, strict=True))
        idle = [waits(plan, one, before.get(number, ()), device) for number, (plan, one) in pairs]
        sent = [stored_bytes(one) * len(part.cores) for one in shapes]
        total = strip_cycles(made.items, phases, idle, sent, strips.ahead, device)
    return ClassPlan(part.cores, tuple(phases), kinds, chosen, round(total, 1))


def _is_strip(group: Group, made: Outline) -> bool:
    """Whether a phase makes or reads a strip of a value."""
    read = {access.value for compute in group.computes for access in compute.ins}
    return bool(made.names.stripped & {*read, *group.produced})


def _groups_run_unevenly(items: Sequence[Item], is_inside: bool = False) -> Iterator[Group]:
    """The phases that some cores run more often than others: their loads never meet in a multicast."""
    for item in items:
        if isinstance(item, LoopItem):
            trip = item.loop.trip
            is_uneven = isinstance(trip, PerCore) and len(set(trip.values)) > 1
            yield from _groups_run_unevenly(item.body, is_inside or is_uneven)
        elif is_inside and isinstance(item, Group):
            yield item


def _bytes(made: Outline, value: str) -> int:
    return bytes_of(made.names.values[value])
