"""Every time each unit comes to each transfer of an image: loops unrolled as arrays, nothing executed.

One entry for each time each member of a program comes to a node, in order. What depends on loaded values is
not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.machine.boxes import Box
from headrace.machine.image import Image, Program, Schedule
from headrace.machine.index import Index
from headrace.machine.nodes import If, Loop, Node

Numbers = npt.NDArray[np.int64]
LONGEST = 1 << 16
"""Most iterations of a loop whose carried integers are followed one by one."""


class Unknown(Exception):
    """A count or an address depends on the run."""


@dataclass(frozen=True)
class Arrival:
    """A node of a program and every time one of its `members` (positions in its instances) comes to it."""

    program: Program
    node: Node
    members: Numbers
    env: list[Any]

    def values(self, index: Index) -> Numbers:
        """Return the value of an index at every arrival; raises Unknown."""
        return _values(index, self.env, self.members)


def arrivals(image: Image, scalars: Mapping[str, float]) -> Iterator[Arrival]:
    """Yield the nodes of an image that are neither loops nor branches; those inside of loops and branches
    that depend on the run are left out.
    """
    for schedule in image.schedules:
        yield from of_schedule(schedule, scalars)


def of_schedule(schedule: Schedule, scalars: Mapping[str, float]) -> Iterator[Arrival]:
    """Yield the arrivals at the nodes of one schedule, program by program."""
    for program in schedule.programs:
        env: list[Any] = [None] * program.slots
        for slot, values in program.tables:
            env[slot] = np.array(values, np.int64)
        for slot, name in program.arguments:
            env[slot] = int(scalars[name]) if name in scalars else None
        members = np.arange(len(program.instances), dtype=np.int64)
        yield from _nodes(program, program.body, env, members)


def _nodes(program: Program, nodes: Sequence[Node], env: list[Any], members: Numbers) -> Iterator[Arrival]:
    for node in nodes:
        try:
            match node:
                case Loop():
                    if not node.is_data_dependent:
                        yield from _loop(program, node, env, members)
                case If():
                    if not node.is_data_dependent:
                        taken = _values(node.condition, env, members) != 0
                        for body, mask in ((node.then, taken), (node.otherwise, ~taken)):
                            yield from _nodes(program, body, _chosen(env, mask), members[mask])
                case _ if len(members):
                    yield Arrival(program, node, members, env)
        except Unknown:
            continue


def _loop(program: Program, node: Loop, env: list[Any], members: Numbers) -> Iterator[Arrival]:
    lower, upper, step = (_values(index, env, members) for index in (node.lower, node.upper, node.step))
    trips = np.maximum(0, -(-(upper - lower) // step))
    rows = np.repeat(np.arange(len(members)), trips)
    turn = np.arange(len(rows)) - np.repeat(np.cumsum(trips) - trips, trips)
    carried = _carried(node, env, members, (lower, step, trips)) if node.indices else {}
    inner = _chosen(env, rows)
    inner[node.iv.slot] = lower[rows] + step[rows] * turn
    for slot, values in carried.items():
        inner[slot] = None if values is None else values[turn, rows]
    yield from _nodes(program, node.body, inner, members[rows])
    for one in node.indices:
        held = carried[one.argument.slot]
        env[one.result.slot] = None if held is None else held[trips, np.arange(len(members))]


def _carried(
    node: Loop, env: list[Any], members: Numbers, bounds: tuple[Numbers, Numbers, Numbers]
) -> dict[int, Numbers | None]:
    """The values of carried integers, [turn, member] by slot of the argument, one turn more than the loop
    has; None for those that follow from what the body does.
    """
    lower, step, trips = bounds
    longest = int(trips.max(initial=0))
    slots = [one.argument.slot for one in node.indices]
    if longest > LONGEST:
        return dict.fromkeys(slots)
    found: dict[int, list[Numbers]] = {}
    inner = list(env)
    for one in node.indices:
        found[one.argument.slot] = [_or_none(one.initial, env, members)]
    for turn in range(longest):
        inner[node.iv.slot] = lower + step * turn
        for slot in slots:
            inner[slot] = found[slot][turn]
        for one in node.indices:
            found[one.argument.slot].append(_or_none(one.yielded, inner, members))
    return {
        slot: None if any(one is None for one in values) else np.stack(values)
        for slot, values in found.items()
    }


def _or_none(index: Index, env: list[Any], members: Numbers) -> Any:
    try:
        return _values(index, env, members)
    except Unknown:
        return None


def _chosen(env: list[Any], rows: Any) -> list[Any]:
    return [value[rows] if isinstance(value, np.ndarray) else value for value in env]


def _values(index: Index, env: list[Any], members: Numbers) -> Numbers:
    try:
        found = np.asarray(index.evaluate(env), np.int64)
    except TypeError:
        raise Unknown from None
    return np.broadcast_to(found, members.shape)


def shape(box: Box, arrival: Arrival) -> tuple[int, list[tuple[int, int]]]:
    """Return (bytes of a contiguous run, [(extent, stride)] of what lies outside it); raises Unknown."""
    dims = []
    for dim in (*box.times, *box.run):
        extents = arrival.values(dim.extent)
        if (extents != extents[0]).any():
            raise Unknown
        dims.append((int(extents[0]), dim.stride))
    length = box.itemsize
    outer = [dim for dim in dims if dim[0] != 1]
    while outer and outer[-1][1] == length:
        length *= outer.pop()[0]
    return length, outer
