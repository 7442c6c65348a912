"""The conflicting accesses of every pair of units, and the signals that order them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import inf

import numpy as np

from headrace.arch.device import Device
from headrace.schedule.lower.order.accesses import (
    Access,
    Path,
    Range,
    hull,
    is_between,
    is_far,
    renamed,
)
from headrace.schedule.lower.order.chains import Chains
from headrace.schedule.lower.order.distance import Trips
from headrace.schedule.lower.order.joined import joined
from headrace.schedule.lower.order.meetings import Meetings, Met
from headrace.schedule.lower.order.overlap import Meeting, meeting
from headrace.schedule.lower.tree import Block, Buffer
from headrace.schedule.signals import Apart, Conflict, Edge, Pair
from headrace.schedule.sync import order

Joined = tuple[Access, list[Access]]
"""An access as other pipelines see it, and those it is made of."""

Aliases = frozenset[frozenset[Buffer]]
"""Pairs of buffers that share addresses."""


def signals(
    block: Block, found: Sequence[Access], device: Device, aliases: Aliases = frozenset()
) -> tuple[Edge, ...]:
    """Return the signals that order all conflicting accesses of a control tree, `found` in text order."""
    edges: list[Edge] = []
    users: dict[object, set[str]] = {}
    for access in found:
        users.setdefault(access.key, set()).add(access.unit)
    shared = {key for key, units in users.items() if len(units) > 1}
    meetings, chains = Meetings(device.corelets), Chains(block, found)
    by_unit: dict[str, list[Joined]] = {}
    for one in joined(found):
        by_unit.setdefault(one[0].unit, []).append(one)
    fed = {link.target.lower() for link in device.links if link.queue_depth is not None}
    for pair in _pairs({a.unit for a in found}, device):
        firsts = by_unit[pair.sender]
        seconds = by_unit[pair.receiver]
        conflicts = list(_conflicts(chains, firsts, seconds, pair.shift, meetings, aliases, shared))
        if conflicts:
            edges.extend(order(pair, conflicts, pair.receiver.lower() in fed))
    return tuple(edges)


def fences(found: Iterable[Access], device: Device) -> frozenset[tuple[Path, int]]:
    """Return (path of the stage, node) before which a unit waits for its own transfers of the same stage
    run.
    """
    waits: set[tuple[Path, int]] = set()
    stages: dict[Path, list[Access]] = {}
    for access in found:
        if device.unit(access.unit).per == "core":
            stages.setdefault(access.path, []).append(access)
    for path, listed in stages.items():
        depth = len(path) - 1
        for first, second in combinations(listed, 2):
            if first.node == second.node or not (first.is_write or second.is_write):
                continue
            met = meeting(hull(first, depth), hull(second, depth), {}, 0, device.corelets)
            if met is not None and met.at({}):
                waits.add((path, second.node))
    return frozenset(waits)


def _pairs(kinds: set[str], device: Device) -> Iterator[Pair]:
    for sender in sorted(kinds):
        for receiver in sorted(kinds):
            both = device.unit(sender).per == "corelet" and device.unit(receiver).per == "corelet"
            for shift in range(device.corelets if both else 1):
                if sender != receiver or shift or not both:
                    yield Pair(sender, receiver, shift)


def _conflicts(
    chains: Chains,
    firsts: Sequence[Joined],
    seconds: Sequence[Joined],
    shift: int,
    meetings: Meetings,
    aliases: Aliases,
    shared: Container[object],
) -> Iterator[Conflict]:
    """Yield the conflicts of two units, or of one with itself: transfers of one unit may be in flight
    together.

    What a unit writes into a buffer for others (`shared`) it writes again only after they said so.
    """
    named: dict[Buffer | str, list[Joined]] = {}
    written: dict[Buffer | str, list[Joined]] = {}  # all that a read may conflict with
    for whole, parts in seconds:
        named.setdefault(whole.key, []).append((whole, parts))
        if whole.is_write:
            written.setdefault(whole.key, []).append((whole, parts))
    near: dict[tuple[Buffer | str, bool], list[tuple[list[Joined], bool]]] = {}
    seen: set[tuple[Path, Path]] = set()
    borders = Borders()
    for one in reversed(firsts):
        key = one[0].key, one[0].is_write
        if key not in near:
            near[key] = list(_near(key[0], named if key[1] else written, aliases))
        common = _common_depth(one[0], meetings.corelets) if shift else None
        borders.begin(_root(one))
        for first, second, is_alias in _each(one, near[key], borders):
            if is_alias and (first.path, second.path) in seen:
                continue  # where they stand is all that matters
            is_near = first.pipeline == second.pipeline and not is_alias
            if not is_alias and (is_far(first, second) or (is_near and is_between(first, second))):
                continue
            if first.unit == second.unit and not shift and _is_handed_on(first, second, shared):
                continue
            is_pair = not shift and not is_alias and first.pipeline == second.pipeline
            if is_pair and chains.holds(first, second):
                continue
            depth = max(len(first.loops), len(second.loops)) if common is None else common
            if is_alias:
                seen.add((first.path, second.path))
                borders.add(first, second)
                yield _conflict(first, second, _everywhere, _always, depth + 1)
                continue
            meet = partial(_meet, meetings, first, second, shift)
            anywhere = meet(0)
            if anywhere is None or not anywhere.is_at_once:
                continue
            borders.add(first, second)
            cross = partial(_crosses, first, second, shift, meetings.corelets)
            yield _conflict(first, second, meet, cross, depth + 1)


class Borders:
    """The conflicts found so far between items of the root, those of later items first: an item that waits
    for another one waits for all before that, and so does what comes after it.
    """

    def __init__(self) -> None:
        self.item, self.nearest, self.last = inf, inf, inf

    def begin(self, item: int) -> None:
        """Ask for `item` next: `last` is the last item whose conflicts with it follow from no others."""
        if item < self.item:
            self.item, self.last = item, self.nearest

    def add(self, first: Access, second: Access) -> None:
        """Note a conflict of the item asked for last; a stage happens at once."""
        if first.path[0] < second.path[0]:
            self.nearest = min(self.nearest, second.path[0])
            if len(first.path) == 1:
                self.last = min(self.last, self.nearest)


def _each(
    one: Joined, near: Sequence[tuple[list[Joined], bool]], borders: Borders
) -> Iterator[tuple[Access, Access, bool]]:
    """The pairs of accesses to look at within `borders`: within a pipeline, where what follows what matters,
    one by one. The root runs once: what its earlier items touch never comes after `one`.
    """
    first, parts = one
    for others, is_alias in near:
        begin = bisect_left(others, first.path[0], key=_root)
        for second, more in others[begin:]:
            if second.path[0] > borders.last:
                break
            if first.pipeline == second.pipeline and not is_alias:
                yield from ((part, other, False) for part in parts for other in more)
            else:
                yield first, second, is_alias


def _root(one: Joined) -> int:
    """Where the item of the root stands in which an access is."""
    return one[0].path[0]


def _near(
    key: Buffer | str, named: Mapping[Buffer | str, list[Joined]], aliases: Aliases
) -> Iterator[tuple[list[Joined], bool]]:
    """The accesses of what `key` names and, marked so, of what shares addresses with it, in text order."""
    for other, seconds in named.items():
        is_alias = bool(aliases) and frozenset((key, other)) in aliases
        if is_alias or other == key:
            yield seconds, is_alias


def _is_handed_on(first: Access, second: Access, shared: Container[object]) -> bool:
    is_buffer = isinstance(first.key, Buffer)
    return is_buffer and first.is_write and second.is_write and first.key in shared


Meet = Callable[..., Met | None]
Cross = Callable[[int, np.ndarray, np.ndarray], bool]
EVERYWHERE = Met(Meeting((), None))


def _everywhere(depth: int, outer: int | None = None) -> Met:
    """How accesses of buffers that share addresses meet: nothing is known to keep them apart."""
    return EVERYWHERE


def _always(depth: int, firsts: np.ndarray, seconds: np.ndarray) -> bool:
    """Whether they meet at some iterations."""
    return True


def _meet(
    meetings: Meetings, first: Access, second: Access, shift: int, depth: int, outer: int | None = None
) -> Met | None:
    """Return how two accesses meet when loops outer..depth-1 (None: none) may differ and deeper ones are
    swept over.
    """
    return meetings.met(first, second, shift, depth, () if outer is None else first.loops[outer:depth])


def _common_depth(access: Access, corelets: int) -> int:
    """Return how many loops around an access have equal iterations on all corelets of a core."""
    for depth, around in enumerate(access.loops):
        count = around.count.const
        if around.count.is_number and isinstance(count, tuple):
            if any(count[i] != count[i - i % corelets] for i in range(len(count))):
                return depth
    return len(access.loops)


def _crosses(
    first: Access,
    second: Access,
    shift: int,
    corelets: int,
    depth: int,
    firsts: np.ndarray,
    seconds: np.ndarray,
) -> bool:
    """Whether two accesses meet where the loops of each below the first `depth` stand at these iterations
    [pairs, loops]; deeper loops are swept over.
    """
    ends = [depth + firsts.shape[1], depth + seconds.shape[1]]
    first, second = renamed(hull(first, ends[0]), depth, ends[0]), hull(second, ends[1])
    loops = (*first.loops[depth : ends[0]], *second.loops[depth : ends[1]])
    found = meeting(first, second, {r.var: r for r in loops}, shift, corelets, is_crossing=True)
    if found is None:
        return False
    steps = np.concatenate([firsts, seconds], axis=1).T
    return bool(found.mask({r.var: at[None] for r, at in zip(loops, steps, strict=True)}).any())


def _conflict(first: Access, second: Access, meet: Meet, cross: Cross, longest: int) -> Conflict:
    """Return a conflict for the planner; paths longer than `longest` are cut to the loop that is one item."""

    def together(depth: int) -> bool:
        found = meet(depth)
        return found is not None and found.is_at_once

    def apart(outer: int, depth: int) -> Apart | None:
        found = meet(depth, outer)
        return None if found is None else found.apart(tuple(map(_trips, first.loops[outer:depth])))

    def trips(depth: int) -> int | None:
        count = first.loops[depth].count if depth < len(first.loops) else None
        return count.const if count is not None and count.is_number and isinstance(count.const, int) else None

    return Conflict(first.path[:longest], second.path[:longest], together, apart, trips, cross)


def _trips(loop: Range) -> Trips:
    return Trips(loop.var, loop.count.const if loop.count.is_number else None)
