"""Exact scratchpad packing: a depth-first search over canonical packings, for sets no fixed order fits.

A packing can always be pushed down until every buffer rests on another one or on the floor; placing its
buffers by rising address (ties by a given order) builds it again, each one on top of all placed buffers it
meets. The search tries exactly those sequences. It is the method of M. D. Moffitt, "MiniMalloc: A
Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023), with one more bound:
a buffer whose address has been passed must come to rest on a buffer not yet placed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from numba import boolean, int64, njit, types

from headrace.schedule.buffers import Lifetime

Ints = npt.NDArray[np.int64]

FIRST_NODES = 30_000
"""Nodes an order may visit in the first round; every round allows four times as many."""

_INTS = int64[::1]
_FAR = 1 << 60


def solve(
    buffers: Sequence[Lifetime], capacity: int, align: int = 128, nodes: int = 1_000_000, work: float = 0.0
) -> dict[str, int] | None:
    """Byte addresses by name such that buffers alive together are disjoint and end at `capacity` or below.

    Addresses are multiples of `align`. Four orders are tried in rounds (by the most bytes alive together, the
    width and the area of a lifetime), `nodes` search nodes in all; where they run out, constraints are
    solved for the deterministic time `work` (`cpsat.solve`). None if there is no packing, or if none was
    found by either. Deterministic.
    """
    if not buffers:
        return {}
    named = sorted(buffers, key=lambda b: b.name)
    size = np.array([-(-b.bytes // align) for b in named], np.int64)
    first, end = np.array([b.first for b in named]), np.array([b.last + 1 for b in named])
    steps = np.unique(np.concatenate([first, end]))
    lo, hi = np.searchsorted(steps, first).astype(np.int64), np.searchsorted(steps, end).astype(np.int64)
    starts, meets = _meeting(lo, hi)
    share, left = FIRST_NODES, nodes
    while left > 0:
        for order in _orders(size, lo, hi, end - first):
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            place, floor = np.zeros_like(order), np.zeros_like(order)
            waits, budget = np.ones(len(order), np.bool_), np.array([min(share, left)], np.int64)
            fixed = (rank, size, lo, hi, starts, meets, capacity // align)
            if _search(order, 0, -1, fixed, (floor, place, waits, budget)):
                return {b.name: int(at) * align for b, at in zip(named, place, strict=True)}
            if budget[0] >= 0:
                return None
            left -= min(share, left)
        share *= 4
    if work > 0:
        from headrace.schedule import cpsat  # OR-Tools, needed only here

        return cpsat.solve(named, capacity, align, work)
    return None


def _meeting(lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """For every buffer those alive together with it, as one array and where each buffer's part starts."""
    together = (lo[:, None] < hi[None, :]) & (lo[None, :] < hi[:, None])
    np.fill_diagonal(together, False)
    starts = np.concatenate([[0], np.cumsum(together.sum(1))]).astype(np.int64)
    return starts, np.nonzero(together)[1].astype(np.int64)


def _orders(size: Ints, lo: Ints, hi: Ints, width: Ints) -> Iterator[Ints]:
    """The orders to try: largest first, by (T)otal bytes alive together, (W)idth, (A)rea."""
    alive = np.zeros(int(hi.max()), np.int64)
    for s, a, z in zip(size, lo, hi, strict=True):
        alive[a:z] += s
    total = np.array([alive[a:z].max() for a, z in zip(lo, hi, strict=True)])
    keys = {"T": -total, "W": -width, "A": -width * size}
    for name in ("TWA", "TAW", "WAT", "ATW"):
        yield np.lexsort(tuple(keys[letter] for letter in reversed(name))).astype(np.int64)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _hopeless(some, at, at_rank, rank, floor, size, lo, hi, room):  # type: ignore[no-untyped-def]
    """True if the waiting buffers `some` cannot all be placed at or above `at`.

    The bytes of a step are at least the lowest address its waiting buffers can get, plus their sizes.
    """
    n = len(some)
    begin, end = lo[some].min(), hi[some].max()
    top = np.maximum(floor[some], at) + size[some]
    by_top = np.argsort(top)
    lowest = np.empty(n, np.int64)
    for k in range(n):
        b = some[k]
        low = floor[b]
        if low < at or (low == at and rank[b] < at_rank):  # passed: it rests on the lowest it can meet
            low = _FAR
            for j in by_top:
                other = some[j]
                if other != b and lo[other] < hi[b] and lo[b] < hi[other]:
                    low = top[j]
                    break
        if low + size[b] > room:
            return True
        lowest[k] = low
    waiting = np.zeros(end - begin + 1, np.int64)
    for b in some:
        waiting[lo[b] - begin] += size[b]
        waiting[hi[b] - begin] -= size[b]
    # steps take the lowest address of their buffers, each step once: `after` leads to the next open step
    after = np.arange(end - begin + 1)
    steps_low = np.full(end - begin, _FAR, np.int64)
    for k in np.argsort(lowest):
        b = some[k]
        step = lo[b] - begin
        while True:
            while after[step] != step:
                after[step] = after[after[step]]
                step = after[step]
            if step >= hi[b] - begin:
                break
            steps_low[step] = lowest[k]
            after[step] = step + 1
    total = 0
    for step in range(end - begin):
        total += waiting[step]
        if total > 0 and steps_low[step] + total > room:
            return True
    return False


@njit(cache=True)  # type: ignore[untyped-decorator]
def _parts(some, lo, hi):  # type: ignore[no-untyped-def]
    """For every buffer of `some` the number of its part, parts sharing no step; and how many there are."""
    by_start = np.argsort(lo[some])
    part = np.zeros(len(some), np.int64)
    count, reach = 0, hi[some[by_start[0]]]
    for k in by_start:
        if lo[some[k]] >= reach:
            count += 1
        part[k] = count
        reach = max(reach, hi[some[k]])
    return part, count + 1


_FIXED = types.Tuple((_INTS, _INTS, _INTS, _INTS, _INTS, _INTS, int64))
_STATE = types.Tuple((_INTS, _INTS, boolean[::1], _INTS))


@njit(boolean(_INTS, int64, int64, _FIXED, _STATE), cache=True)  # type: ignore[untyped-decorator]
def _search(some, at, at_rank, fixed, state):  # type: ignore[no-untyped-def]
    """Place the waiting buffers `some` (in the order tried) at `at` or above; True and their places filled in
    if it can be done, else everything as it was. The budget counts down the nodes left, below zero means
    given up.
    """
    rank, size, lo, hi, starts, meets, room = fixed
    floor, place, waits, budget = state
    n = len(some)
    if n == 0:
        return True
    budget[0] -= 1
    if budget[0] < 0:
        return False
    if _hopeless(some, at, at_rank, rank, floor, size, lo, hi, room):
        return False
    part, count = _parts(some, lo, hi)
    if count > 1:
        before = floor[some]
        for number in range(count):
            if not _search(some[part == number], at, at_rank, fixed, state):
                for k in range(n):
                    floor[some[k]] = before[k]
                    waits[some[k]] = True
                return False
        return True
    lowest_top = (floor[some] + size[some]).min()
    for k in np.argsort(floor[some], kind="mergesort"):
        b = some[k]
        low = floor[b]
        if low >= lowest_top:  # another buffer fits below
            break
        if low < at or (low == at and rank[b] < at_rank):
            continue
        waits[b] = False
        place[b] = low
        met = meets[starts[b] : starts[b + 1]]
        before = floor[met]
        holds_one = False
        for other in met:
            if waits[other]:
                holds_one = True
                floor[other] = max(floor[other], low + size[b])
        if _search(some[some != b], low, rank[b], fixed, state):
            return True
        waits[b] = True
        for j in range(len(met)):
            if waits[met[j]]:
                floor[met[j]] = before[j]
        if budget[0] < 0 or not holds_one:  # nothing rests on it: another place would not help
            return False
    return False
