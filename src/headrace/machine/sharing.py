"""An image whose loads of equal bytes by several units are one multicast: for asking what sharing would save.

Units share the loads of an argument if each of them reads the same pieces of it, each as often as the others.
Where all come to a load in the same order, every load is a multicast. Where the order differs, a piece is
read once only if the units agree on an order; how long that takes does not depend on which one, so the k-th
load of each is timed as one multicast. The results of the program are those of separate loads; only its
timing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headrace.arch.device import Device
from headrace.ir.diagnostics import Location
from headrace.machine.image import Group, Image, Program, Symbol
from headrace.machine.index import of
from headrace.machine.nodes import Copy, If, Loop, Node
from headrace.machine.operands import Visit, visits
from headrace.machine.unrolled import Numbers

Reads = list[tuple[Visit, int, Numbers]]
"""The loads of one unit: (load, member of its program, where it reads each time)."""
Key = tuple[int, int]
"""A load: number of its program, identity of its node."""


@dataclass(frozen=True)
class Shared:
    """Loads that `units` units make separately though they read the same `bytes` (of one of them).

    `is_in_order`: they come to them in the same order. `saved_bytes` are read again by all units together.
    """

    name: str
    units: int
    bytes: int
    where: Location
    is_in_order: bool = True
    saved_bytes: int = 0


@dataclass
class _Plan:
    """Groups to add, and for each load the group of every member of its program that is in one."""

    groups: list[Group]
    numbers: dict[Key, dict[int, int]] = field(default_factory=dict)
    found: list[Shared] = field(default_factory=list)

    def join(self, places: Iterable[tuple[Visit, int]], most: int) -> None:
        """Make the units at these places (a load and a member of its program) groups of at most `most`."""
        units: dict[int, list[tuple[Visit, int]]] = {}
        for visit, member in places:
            units.setdefault(visit.program.instances[member], []).append((visit, member))
        count = -(-len(units) // most)
        ordered = sorted(units)
        for part in (ordered[k::count] for k in range(count)):
            if len(part) > 1:
                for visit, member in (place for unit in part for place in units[unit]):
                    self.numbers.setdefault(_key(visit), {})[member] = len(self.groups)
                self.groups.append(Group(len(self.groups), tuple(part), "global"))


def share_reads(
    image: Image, scalars: Mapping[str, float], device: Device
) -> tuple[Image, tuple[Shared, ...]]:
    """Return the image with multicast groups for loads of equal bytes, and what they share; the image itself
    where nothing is shared that is not yet, or the memory has no multicast.
    """
    multicast = device.memory("global").multicast
    if multicast is None:
        return image, ()
    alike: dict[tuple[str, int, bytes], list[Visit]] = {}
    for visit in visits(image, scalars):
        if visit.side == "read" and visit.node.group is None and visit.is_known and len(visit.members):
            alike.setdefault((visit.name, visit.run_bytes, visit.offsets.tobytes()), []).append(visit)
    plan = _Plan(list(image.groups))
    for listed in alike.values():
        _share(listed, multicast.max_consumers, plan)
    if not plan.found:
        return image, ()
    schedules = tuple(
        replace(schedule, programs=tuple(_grouped(program, plan.numbers) for program in schedule.programs))
        for schedule in image.schedules
    )
    return replace(image, schedules=schedules, groups=tuple(plan.groups)), tuple(plan.found)


def _key(visit: Visit) -> Key:
    return visit.program.number, id(visit.node)


def _share(listed: Sequence[Visit], most: int, plan: _Plan) -> None:
    """Plan the groups for the loads of one argument in pieces of one shape."""
    reads: dict[int, Reads] = {}
    for visit in listed:
        for member in np.unique(visit.members):
            starts = visit.starts[visit.members == member]
            reads.setdefault(visit.program.instances[member], []).append((visit, int(member), starts))
    mixed: set[int] = set()
    for units in _parts(reads, _bag):
        ways = {tuple((_key(visit), starts.tobytes()) for visit, _, starts in reads[unit]) for unit in units}
        if len(ways) > 1:
            mixed.update(units)
            _join_all(units, reads, most, plan)
    for visit in listed:
        mine = {
            unit: [one for one in reads[unit] if one[0] is visit]
            for unit in reads
            if unit not in mixed and any(one[0] is visit for one in reads[unit])
        }
        parts = _parts(mine, lambda loads: loads[0][2].tobytes())
        for units in parts:
            plan.join([(visit, mine[unit][0][1]) for unit in units], most)
        if parts:
            once = visit.bytes // len(np.unique(visit.members))
            largest = min(most, max(map(len, parts)))
            saved = once * sum(len(units) - -(-len(units) // most) for units in parts)
            plan.found.append(Shared(visit.name, largest, once, visit.node.where, True, saved))


def _bag(loads: Reads) -> bytes:
    """What a unit reads, in no order."""
    return np.sort(np.concatenate([starts for _, _, starts in loads])).tobytes()


def _parts(reads: Mapping[int, Reads], key: Callable[[Reads], bytes]) -> list[list[int]]:
    """The units that read alike, by what `key` says of their loads; those that are alone left out."""
    found: dict[bytes, list[int]] = {}
    for unit, loads in reads.items():
        found.setdefault(key(loads), []).append(unit)
    return [units for units in found.values() if len(units) > 1]


def _join_all(units: Sequence[int], reads: Mapping[int, Reads], most: int, plan: _Plan) -> None:
    """Make the k-th load of each unit one multicast, wherever it stands in the text."""
    plan.join([(visit, member) for unit in units for visit, member, _ in reads[unit]], most)
    visit = reads[units[0]][0][0]
    piece = visit.run_bytes * len(visit.offsets)
    once = piece * sum(len(starts) for _, _, starts in reads[units[0]])
    saved = once * (len(units) - -(-len(units) // most))
    ways = {tuple(starts.tobytes() for _, _, starts in reads[unit]) for unit in units}
    shared = Shared(visit.name, min(most, len(units)), once, visit.node.where, len(ways) == 1, saved)
    plan.found.append(shared)


def _grouped(program: Program, chosen: Mapping[Key, Mapping[int, int]]) -> Program:
    """The program with its chosen loads in groups, one table of group numbers a load."""
    tables = list(program.tables)
    slots = program.slots

    def rewritten(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nonlocal slots
        out: list[Node] = []
        for node in nodes:
            of_member = chosen.get((program.number, id(node)))
            if isinstance(node, Copy) and of_member is not None:
                tables.append((slots, tuple(of_member.get(m, -1) for m in range(len(program.instances)))))
                node = replace(node, group=of(Symbol(slots, "table", "group")))
                slots += 1
            elif isinstance(node, Loop):
                node = replace(node, body=rewritten(node.body))
            elif isinstance(node, If):
                node = replace(node, then=rewritten(node.then), otherwise=rewritten(node.otherwise))
            out.append(node)
        return tuple(out)

    body = rewritten(program.body)
    return replace(program, body=body, tables=tuple(tables), slots=slots)
