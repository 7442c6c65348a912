"""What an image moves to and from device memory, operand by operand: bytes asked for and distinct ones.

Loops are unrolled as arrays: one entry for each time each unit comes to a transfer. Nothing is executed and
no time passes here; a transfer whose address or count is only known in a run is left out and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.ir.diagnostics import Location
from headrace.machine.boxes import Box
from headrace.machine.image import Image, Program
from headrace.machine.index import Index
from headrace.machine.nodes import Copy, If, Loop, Node

Numbers = npt.NDArray[np.int64]
LARGEST = 1 << 28
"""Most granules whose use is marked one by one."""


@dataclass(frozen=True)
class Visit:
    """One transfer in the text: for every time it is come to, by which member of its program and where.

    `members` are positions in the program's instances, `starts` byte addresses. A visit has `run_bytes`
    contiguous bytes at each of its `offsets`.
    """

    program: Program
    node: Copy
    side: str
    name: str
    members: Numbers
    starts: Numbers
    run_bytes: int
    offsets: Numbers

    @property
    def bytes(self) -> int:
        """Bytes of all visits together."""
        return self.run_bytes * len(self.offsets) * len(self.starts)


@dataclass(frozen=True)
class Operand:
    """One argument (or constant address) in one direction: bytes `moved`, `distinct` ones among them (None if
    not known before the run), `units` that move them, `where` the first transfer stands.
    """

    name: str
    side: str
    moved: int
    distinct: int | None
    units: int
    where: Location = field(default=Location(), compare=False)


class Unknown(Exception):
    """A count or an address depends on the run."""


def operands(image: Image, scalars: Mapping[str, float]) -> list[Operand]:
    """Return the operands of an image in device memory, those that move most first."""
    by_name: dict[tuple[str, str], list[Visit]] = {}
    for visit in visits(image, scalars):
        by_name.setdefault((visit.name, visit.side), []).append(visit)
    found = [
        Operand(
            name,
            side,
            sum(one.bytes for one in listed),
            _distinct(listed),
            len({(one.program.number, int(m)) for one in listed for m in np.unique(one.members)}),
            listed[0].node.where,
        )
        for (name, side), listed in by_name.items()
    ]
    return sorted(found, key=lambda one: -one.moved)


def visits(image: Image, scalars: Mapping[str, float]) -> Iterator[Visit]:
    """Yield the transfers of an image between device memory and scratchpads, those known before the run."""
    for schedule in image.schedules:
        for program in schedule.programs:
            env: list[Any] = [None] * program.slots
            for slot, values in program.tables:
                env[slot] = np.array(values, np.int64)
            for slot, name in program.arguments:
                env[slot] = int(scalars[name]) if name in scalars else None
            members = np.arange(len(program.instances), dtype=np.int64)
            yield from _nodes(program, program.body, env, members)


def _nodes(program: Program, nodes: Sequence[Node], env: list[Any], members: Numbers) -> Iterator[Visit]:
    for node in nodes:
        try:
            match node:
                case Copy():
                    visit = _visit(program, node, env, members)
                    if visit is not None:
                        yield visit
                case Loop() if not node.is_data_dependent:
                    yield from _loop(program, node, env, members)
                case If() if not node.is_data_dependent:
                    taken = _values(node.condition, env, members) != 0
                    for body, mask in ((node.then, taken), (node.otherwise, ~taken)):
                        yield from _nodes(program, body, _chosen(env, mask), members[mask])
        except Unknown:
            continue


def _loop(program: Program, node: Loop, env: list[Any], members: Numbers) -> Iterator[Visit]:
    lower, upper, step = (_values(index, env, members) for index in (node.lower, node.upper, node.step))
    trips = np.maximum(0, -(-(upper - lower) // step))
    rows = np.repeat(np.arange(len(members)), trips)
    turn = np.arange(len(rows)) - np.repeat(np.cumsum(trips) - trips, trips)
    inner = _chosen(env, rows)
    inner[node.iv.slot] = lower[rows] + step[rows] * turn
    for carried in node.indices:
        inner[carried.argument.slot] = None
        env[carried.result.slot] = None
    yield from _nodes(program, node.body, inner, members[rows])


def _chosen(env: list[Any], rows: Any) -> list[Any]:
    return [value[rows] if isinstance(value, np.ndarray) else value for value in env]


def _values(index: Index, env: list[Any], members: Numbers) -> Numbers:
    try:
        found = np.asarray(index.evaluate(env), np.int64)
    except TypeError:
        raise Unknown from None
    return np.broadcast_to(found, members.shape)


def _visit(program: Program, node: Copy, env: list[Any], members: Numbers) -> Visit | None:
    box, side = (node.source, "read") if node.source.place.kind == "global" else (node.target, "write")
    if box.place.kind != "global" or not len(members):
        return None
    if box.address is not None or node.indirect is not None:
        raise Unknown
    run_bytes, dims = _shape(box, env, members)
    offsets = np.zeros(1, np.int64)
    for extent, stride in dims:
        offsets = (offsets[:, None] + np.arange(extent, dtype=np.int64) * stride).reshape(-1)
    starts = _values(box.base, env, members)
    return Visit(program, node, side, buffer_name(box), members, starts, run_bytes, offsets)


def _shape(box: Box, env: list[Any], members: Numbers) -> tuple[int, list[tuple[int, int]]]:
    """(bytes of a contiguous run, [(extent, stride)] of what lies outside it)."""
    dims = []
    for dim in (*box.times, *box.run):
        extents = _values(dim.extent, env, members)
        if (extents != extents[0]).any():
            raise Unknown
        dims.append((int(extents[0]), dim.stride))
    length = box.itemsize
    outer = [dim for dim in dims if dim[0] != 1]
    while outer and outer[-1][1] == length:
        length *= outer.pop()[0]
    return length, outer


def buffer_name(box: Box) -> str:
    """Return the run-time argument an address is made of, else the constant address of the view."""
    for index in (box.view_start, box.base):
        for symbol in sorted(index.symbols, key=lambda one: one.slot):
            if symbol.role == "argument":
                return symbol.name
    start = box.view_start.constant
    return f"@{start}" if start is not None else "device memory"


def _distinct(listed: Sequence[Visit]) -> int | None:
    """Bytes that at least one visit touches."""
    places = [(np.unique(one.starts), one) for one in listed]
    low = min(int(starts[0] + one.offsets.min()) for starts, one in places)
    high = max(int(starts[-1] + one.offsets.max()) + one.run_bytes for starts, one in places)
    granule = 0
    for starts, one in places:
        for values in (starts - low, one.offsets):
            granule = gcd(granule, int(np.gcd.reduce(values)))
        granule = gcd(granule, one.run_bytes)
    if not granule or (high - low) // granule > LARGEST:
        return None
    change = np.zeros((high - low) // granule + 1, np.int64)
    for starts, one in places:
        at = ((starts - low)[:, None] + one.offsets).reshape(-1) // granule
        change += np.bincount(at, minlength=len(change))
        change -= np.bincount(at + one.run_bytes // granule, minlength=len(change))
    return int((np.cumsum(change) > 0).sum()) * granule
