"""Scratchpad packing by constraints (OR-Tools' CP-SAT), for sets the search of `packing` gives up on.

The variables are addresses; of the buffers alive at one step, none may overlap. Where hardly anything stays
alive across a step, what does is stacked on the floor, the longest-lived below, and both sides of that step
are packed by themselves. One worker, a fixed seed and a limit on CP-SAT's own count of operations: the same
addresses on every machine, whatever the wall time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from ortools.sat.python import cp_model

from headrace.schedule.buffers import Lifetime

SEED = 1

THIN = 16
"""A set is cut at a step across which at most the capacity over this stays alive, ..."""

LEAST_SIDE = 8
"""... and each side of which has at least the buffers over this to itself."""

Units = dict[str, int]
"""Addresses or sizes by name, in units that divide all of them."""


def solve(
    buffers: Sequence[Lifetime], capacity: int, align: int = 128, work: float = 1.0
) -> dict[str, int] | None:
    """Byte addresses by name such that buffers alive together are disjoint and end at `capacity` or below.

    Addresses are multiples of `align`. `work` is CP-SAT's deterministic time, about ten seconds a unit. None
    if there is no packing, or if none was found within it.
    """
    named = sorted(buffers, key=lambda b: b.name)
    unit = (
        align * gcd(*(-(-b.bytes // align) for b in named)) or align
    )  # pushed down, all rest on sums of sizes
    size = {b.name: -(-b.bytes // unit) for b in named}
    placed, _ = _pack(named, size, {}, capacity // unit, work)
    return None if placed is None else {name: at * unit for name, at in placed.items()}


def _pack(
    buffers: Sequence[Lifetime], size: Units, fixed: Mapping[str, int], room: int, work: float
) -> tuple[Units | None, float]:
    """The addresses of `buffers`, some of them `fixed`, and the work that is left."""
    step = _thin_step(buffers, size, room)
    if step is not None:
        placed, left = _both_sides(buffers, step, size, fixed, room, 0.75 * work)
        work = left + 0.25 * work
        if placed is not None:
            return placed, work
    return _whole(buffers, size, fixed, room, work)


def _both_sides(
    buffers: Sequence[Lifetime], step: int, size: Units, fixed: Mapping[str, int], room: int, work: float
) -> tuple[Units | None, float]:
    """What lives across `step` on the floor, then each side of it by itself."""
    placed = dict(fixed)
    across = [b for b in buffers if _crosses(b, step)]
    top = max((fixed[b.name] + size[b.name] for b in across if b.name in fixed), default=0)
    for b in sorted(across, key=lambda b: (b.first - b.last, -b.bytes, b.name)):
        if b.name not in fixed:
            placed[b.name] = top
            top += size[b.name]
    for side in ([b for b in buffers if b.first < step], [b for b in buffers if b.last >= step]):
        found, work = _pack(
            side, size, {b.name: placed[b.name] for b in side if b.name in placed}, room, work
        )
        if found is None:
            return None, work
        placed |= found
    return placed, work


def _thin_step(buffers: Sequence[Lifetime], size: Units, room: int) -> int | None:
    """The step to cut at: little stays alive across it, and both sides have many of the buffers."""
    best, gain = None, 0
    for step in sorted({b.first for b in buffers}):
        across = sum(size[b.name] for b in buffers if _crosses(b, step))
        fewer = min(sum(b.last < step for b in buffers), sum(b.first >= step for b in buffers))
        is_thin = across * THIN <= room and fewer * LEAST_SIDE >= len(buffers)
        if is_thin and (room - across) * fewer > gain:
            best, gain = step, (room - across) * fewer
    return best


def _crosses(buffer: Lifetime, step: int) -> bool:
    return buffer.first < step <= buffer.last


def _whole(
    buffers: Sequence[Lifetime], size: Units, fixed: Mapping[str, int], room: int, work: float
) -> tuple[Units | None, float]:
    """The addresses CP-SAT finds for all buffers at once."""
    if work <= 0 or any(size[b.name] > room for b in buffers):
        return None, work
    model = cp_model.CpModel()
    address, taken = {}, {}
    for b in buffers:
        at = fixed.get(b.name)
        low, high = (0, room - size[b.name]) if at is None else (at, at)
        address[b.name] = model.new_int_var(low, high, b.name)
        taken[b.name] = model.new_fixed_size_interval_var(address[b.name], size[b.name], b.name)
    for together in _alive_together(buffers):
        model.add_no_overlap([taken[name] for name in together])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = SEED
    solver.parameters.max_deterministic_time = work
    status = solver.solve(model)
    left = work - solver.response_proto.deterministic_time
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, left
    return {b.name: solver.value(address[b.name]) for b in buffers}, left


def _alive_together(buffers: Sequence[Lifetime]) -> Iterator[list[str]]:
    """The largest sets of buffers alive at one step, the names in the order of `buffers`."""
    ends = sorted({b.last for b in buffers})
    before = -1 if not buffers else min(b.first for b in buffers) - 1
    for end in ends:  # a set is largest where a buffer ends and one has begun since the last end
        if any(before < b.first <= end for b in buffers):
            yield [b.name for b in buffers if b.first <= end <= b.last]
        before = end
