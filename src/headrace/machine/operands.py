"""What an image moves to and from device memory, operand by operand: bytes asked for and distinct ones.

Nothing is executed and no time passes here; of a transfer whose address is only known in a run the bytes are
counted, one whose count is only known in a run is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.machine.boxes import Box
from headrace.machine.image import Image, Program
from headrace.machine.nodes import Copy
from headrace.machine.unrolled import Arrival, Numbers, Unknown, arrivals, shape

LARGEST = 1 << 28
"""Most granules whose use is marked one by one."""


@dataclass(frozen=True)
class Visit:
    """One transfer in the text: for every time it is come to, by which member of its program and where.

    `members` are positions in the program's instances, `starts` byte addresses. A visit has `run_bytes`
    contiguous bytes at each of its `offsets`. Where `is_known` is False (gathers, scatters, addresses out of
    memory) the places are not known before the run, only how many bytes they have.
    """

    program: Program
    node: Copy
    side: str
    name: str
    members: Numbers
    starts: Numbers
    run_bytes: int
    offsets: Numbers
    is_known: bool = True

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
    for arrival in arrivals(image, scalars):
        if isinstance(arrival.node, Copy):
            try:
                visit = _visit(arrival, arrival.node)
            except Unknown:
                continue
            if visit is not None:
                yield visit


def _visit(arrival: Arrival, node: Copy) -> Visit | None:
    box, side = (node.source, "read") if node.source.place.kind == "global" else (node.target, "write")
    if box.place.kind != "global":
        return None
    run_bytes, dims = shape(box, arrival)
    offsets = np.zeros(1, np.int64)
    for extent, stride in dims:
        offsets = (offsets[:, None] + np.arange(extent, dtype=np.int64) * stride).reshape(-1)
    is_known = box.address is None and node.indirect is None
    starts = arrival.values(box.base) if is_known else np.zeros(len(arrival.members), np.int64)
    return Visit(
        arrival.program, node, side, buffer_name(box), arrival.members, starts, run_bytes, offsets, is_known
    )


def buffer_name(box: Box) -> str:
    """Return the run-time argument an address is made of, else the constant address of the view."""
    for index in (box.view_start, box.base):
        for symbol in sorted(index.symbols, key=lambda one: one.slot):
            if symbol.role == "argument":
                return symbol.name
    start = box.view_start.constant
    return f"@{start}" if start is not None else "device memory"


def _distinct(listed: Sequence[Visit]) -> int | None:
    """Bytes that at least one visit touches; None if that is not known."""
    if not all(one.is_known for one in listed):
        return None
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
