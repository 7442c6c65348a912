"""An image whose loads of equal bytes by several units are one multicast: for asking what sharing would save.

Units share a load if each of them comes to it as often as the others and reads the same bytes every time. The
results of the program are those of separate loads; only its timing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from headrace.arch.device import Device
from headrace.ir.diagnostics import Location
from headrace.machine.image import Group, Image, Program, Symbol
from headrace.machine.index import of
from headrace.machine.nodes import Copy, If, Loop, Node
from headrace.machine.operands import Visit, visits


@dataclass(frozen=True)
class Shared:
    """A load that `units` units make separately though they read the same `bytes` (of one of them)."""

    name: str
    units: int
    bytes: int
    where: Location


def share_reads(
    image: Image, scalars: Mapping[str, float], device: Device
) -> tuple[Image, tuple[Shared, ...]]:
    """Return the image with multicast groups for loads of equal bytes, and what they share; the image itself
    where nothing is shared that is not yet, or the memory has no multicast.
    """
    multicast = device.memory("global").multicast
    if multicast is None:
        return image, ()
    groups = list(image.groups)
    found: list[Shared] = []
    chosen: dict[tuple[int, int], tuple[int, ...]] = {}
    for visit in visits(image, scalars):
        parts = _alike(visit)
        largest = max((len(part) for part in parts), default=0)
        if visit.side != "read" or visit.node.group is not None or not visit.is_known:
            continue
        if not 1 < largest <= multicast.max_consumers:
            continue
        numbers = [-1] * len(visit.program.instances)
        for part in parts:
            members = tuple(visit.program.instances[m] for m in part)
            for member in part:
                numbers[member] = len(groups)
            groups.append(Group(len(groups), members, "global"))
        chosen[visit.program.number, id(visit.node)] = tuple(numbers)
        found.append(
            Shared(visit.name, largest, visit.bytes // len(np.unique(visit.members)), visit.node.where)
        )
    if not found:
        return image, ()
    schedules = tuple(
        replace(schedule, programs=tuple(_grouped(program, chosen) for program in schedule.programs))
        for schedule in image.schedules
    )
    return replace(image, schedules=schedules, groups=tuple(groups)), tuple(found)


def _alike(visit: Visit) -> list[list[int]]:
    """The members of a program by what they read, in order; each part reads the same bytes at every visit."""
    parts: dict[bytes, list[int]] = {}
    for member in np.unique(visit.members):
        parts.setdefault(visit.starts[visit.members == member].tobytes(), []).append(int(member))
    return list(parts.values())


def _grouped(program: Program, chosen: Mapping[tuple[int, int], tuple[int, ...]]) -> Program:
    """The program with its chosen loads in groups, one table of group numbers a load."""
    tables = list(program.tables)
    slots = program.slots

    def rewritten(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        nonlocal slots
        out: list[Node] = []
        for node in nodes:
            numbers = chosen.get((program.number, id(node)))
            if isinstance(node, Copy) and numbers is not None:
                tables.append((slots, numbers))
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
