"""How many iterations of a loop nest lie between two accesses that touch the same bytes, at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headrace.schedule.lower.index import Number, Var, entries
from headrace.schedule.lower.order.overlap import Meeting, column, longest
from headrace.schedule.signals import Apart

SEARCH_LIMIT = 1 << 18

UNKNOWN_REACH = 1 << 12
"""Iterations looked ahead in an outermost loop of unknown length: beyond the period of every rotation."""


@dataclass(frozen=True)
class Trips:
    """A loop of a nest: its variable and iterations (None: not known before launch)."""

    var: Var
    count: Number | None


def shortest(meeting: Meeting, nest: Sequence[Trips]) -> Apart | None:
    """Return the fewest iterations of the whole nest after which the second access meets the first.

    The nest runs row-major, outermost loop first, and the outermost loop advances by at least one iteration.
    None: they never meet. Too large or unknown searches answer 1, which is always safe.
    """
    if any(trips.count is None for trips in nest[1:]):
        return Apart(1, is_exact=False) if _may_meet(meeting, nest) else None
    counts = [1 if trips.count is None else trips.count for trips in nest]
    candidates = [_candidates(meeting, trips, is_outer=k == 0) for k, trips in enumerate(nest)]
    if any(len(c) == 0 for c in candidates):
        return None
    size = max((len(g.swing.values) for g in meeting.gaps if g.swing is not None), default=1)
    for c in candidates:
        size *= len(c)
    if size > SEARCH_LIMIT:
        return Apart(1, is_exact=False)
    grids = [g.reshape(1, -1) for g in np.meshgrid(*candidates, indexing="ij")]
    distances = {trips.var: grid for trips, grid in zip(nest, grids, strict=True)}
    meets = meeting.mask(distances)
    if not meets.any():
        return None
    linear, instances = np.zeros((1, 1), dtype=np.int64), max(len(meets), longest(counts))
    for count, grid in zip(counts, grids, strict=True):
        linear = linear * column(count, instances) + grid
    meets = np.tile(meets, (instances // len(meets), 1))
    meets, linear = np.broadcast_arrays(meets, linear)
    found = linear[meets & (linear > 0)]
    return Apart(max(1, int(found.min()))) if found.size else None


def _candidates(meeting: Meeting, trips: Trips, *, is_outer: bool) -> np.ndarray:
    """Return the distances along one loop worth trying."""
    reach = UNKNOWN_REACH if trips.count is None else max(entries(trips.count)) - 1
    low, high = (1, reach) if is_outer else (-reach, reach)
    if not _matters(meeting, trips.var):
        return np.arange(low, min(low, high) + 1)
    for gap in meeting.gaps:
        if [var for var, _ in gap.moves] != [trips.var] or gap.swing is not None:
            continue
        base, move = entries(gap.base), entries(gap.moves[0][1])
        if len(base) > 1 or len(move) > 1 or not move[0]:
            continue
        ends = sorted(
            [(-max(entries(gap.second)) - base[0]) / move[0], (max(entries(gap.first)) - base[0]) / move[0]]
        )
        low, high = max(low, int(np.floor(ends[0]))), min(high, int(np.ceil(ends[1])))
    return np.arange(low, high + 1)


def _matters(meeting: Meeting, var: Var) -> bool:
    if any(gap.swing is not None and gap.swing.var == var for gap in meeting.gaps):
        return True
    parts = [gap.moves for gap in meeting.gaps]
    if meeting.turn is not None:
        parts.append(meeting.turn.moves)
    return any(var == moved for moves in parts for moved, _ in moves)


def _may_meet(meeting: Meeting, nest: Sequence[Trips]) -> bool:
    """False if some dim or copy keeps them apart whatever the iterations of the nest are."""
    free = {trips.var for trips in nest}
    fixed = tuple(g for g in meeting.gaps if g.swing is None and not any(v in free for v, _ in g.moves))
    turn = meeting.turn
    if turn is not None and any(var in free for var, _ in turn.moves):
        turn = None
    return Meeting(fixed, turn, meeting.runs).at({})
