"""Pairs of accesses that touch the same bytes and that nothing orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from headrace.ir.diagnostics import Diagnostic
from headrace.ir.text import location
from headrace.schedule.verify.programs.events import FIRST_STEPS, LAST_STEPS, Touch
from headrace.schedule.verify.programs.values import Handle
from headrace.schedule.verify.run import Record
from headrace.schedule.verify.spans import Hulls, byte_range, have_one_layout, hulls, share_bytes

EXACT_LIMIT = 1 << 22
MOST_GROUPS = 64
"""Groups of touches of a region, by unit and view, that are looked at pair by pair."""

MOST_PAIRS = 1 << 18
"""Pairs of events that are compared at a time."""

SHORTENED = FIRST_STEPS + 1 + LAST_STEPS


@dataclass(frozen=True)
class _Seen:
    record: Record
    touch: Touch


def races(records: Sequence[Record], units: Sequence[Handle]) -> Iterator[Diagnostic]:
    """Yield one finding for every pair of ops with conflicting, unordered accesses of one memory."""
    by_memory: dict[Handle, list[_Seen]] = {}
    for record in records:
        for touch in record.touches:
            if "." not in touch.view.memory.kind:
                by_memory.setdefault(touch.view.memory, []).append(_Seen(record, touch))
    reported = set()
    for seen in by_memory.values():
        for a, b in _suspects(seen):
            key = frozenset((id(a.record.op), id(b.record.op)))
            if key not in reported and _meet(a, b):
                reported.add(key)
                yield _finding(a, b, units)


def in_flight(records: Sequence[Record], units: Sequence[Handle]) -> Iterator[Diagnostic]:
    """Yield a finding for copies of one unit that meet although the first may not be complete."""
    copies: dict[int, list[Record]] = {}
    reported = set()
    for record in records:
        if "load_and_store" not in record.op.name:
            continue
        open_ = [r for r in copies.get(record.unit, ()) if r.end > record.complete]
        copies[record.unit] = [*open_, record]
        for earlier in open_:
            key = (id(earlier.op), id(record.op))
            if key not in reported and _overlap(earlier, record):
                reported.add(key)
                message = f"{units[record.unit]} overlaps its own transfer in flight; a fence is missing"
                hint = f"the other transfer is at {location(earlier.op)}"
                yield Diagnostic(message, location(record.op), record.op.name, hint)


def _overlap(a: Record, b: Record) -> bool:
    """True if two transfers share bytes that one of them writes."""
    return any(_share(x, y) for x in a.touches for y in b.touches if x.is_write or y.is_write)


def _share(x: Touch, y: Touch) -> bool:
    return x.view.memory == y.view.memory and share_bytes(x, y)


def overwritten_indices(records: Sequence[Record], units: Sequence[Handle]) -> Iterator[Diagnostic]:
    """Yield a finding for every gather or scatter that writes over the indices it reads."""
    reported = set()
    for record in records:
        if len(record.touches) < 3 or id(record.op) in reported:
            continue
        reads = [t for t in record.touches if not t.is_write and not t.is_indirect]
        writes = [t for t in record.touches if t.is_write]
        if any(_share(x, y) for x in reads for y in writes):
            reported.add(id(record.op))
            message = f"{units[record.unit]} writes over the indices it reads"
            yield Diagnostic(message, location(record.op), record.op.name)


def _suspects(seen: Sequence[_Seen]) -> Iterator[tuple[_Seen, _Seen]]:
    """Pairs of different units whose boxes around all steps meet, one writing, that the clocks of whole
    events leave open.

    What a unit knows grows along its program: the events of another unit that are open to one of its own
    follow each other. Scatters with each other are left out: equal targets are undefined, not wrong.
    """
    boxes = hulls([s.touch for s in seen])
    writes = np.array([s.touch.is_write for s in seen])
    scatters = writes & np.array([s.touch.is_indirect for s in seen])
    done = np.array([max(s.record.end, s.record.time) for s in seen])
    for mine, others in _neighbours(seen, boxes):
        unit, other = seen[mine[0]].record.unit, seen[others[0]].record.unit
        a, b = np.array(mine), np.array(others)
        if not (writes[a].any() or writes[b].any()):
            continue
        known = np.array([seen[k].record.start.of(other) for k in mine])
        seen_by = np.array([seen[k].record.start.of(unit) for k in others])
        low = np.searchsorted(done[b], known, side="right")
        counts = np.maximum(np.searchsorted(seen_by, done[a], side="left") - low, 0)
        for part in _parts(counts):
            left = np.repeat(a[part], counts[part])
            starts = np.cumsum(counts[part]) - counts[part]
            right = b[np.arange(len(left)) + np.repeat(low[part] - starts, counts[part])]
            open_ = (writes[left] | writes[right]) & boxes.meet(left, right)
            open_ &= ~(scatters[left] & scatters[right])
            for at in np.flatnonzero(open_).tolist():
                yield seen[left[at]], seen[right[at]]


def _neighbours(seen: Sequence[_Seen], boxes: Hulls) -> Iterator[tuple[list[int], list[int]]]:
    """The touches of two units each, by number in order, that may share bytes: in a region those of views
    that begin alike, where these are few, else all of a unit.
    """
    regions: dict[int, dict[tuple[int, int], list[int]]] = {}
    for k, (one, region) in enumerate(zip(seen, boxes.regions().tolist(), strict=True)):
        view = one.touch.view
        mark = one.record.unit, view.start * view.itemsize
        regions.setdefault(region, {}).setdefault(mark, []).append(k)
    for groups in regions.values():
        if len(groups) > MOST_GROUPS:
            groups = _by_unit(groups)
        ends = {mark: (boxes.low[listed].min(), boxes.end[listed].max()) for mark, listed in groups.items()}
        for (our, mine), (their, others) in combinations(groups.items(), 2):
            (low, end), (first, last) = ends[our], ends[their]
            if our[0] != their[0] and low < last and first < end:
                yield mine, others


def _by_unit(groups: dict[tuple[int, int], list[int]]) -> dict[tuple[int, int], list[int]]:
    """The groups of each unit as one."""
    found: dict[tuple[int, int], list[int]] = {}
    for (unit, _), listed in groups.items():
        found.setdefault((unit, 0), []).extend(listed)
    return {mark: sorted(listed) for mark, listed in found.items()}


def _parts(counts: np.ndarray) -> Iterator[slice]:
    """The counts in parts of `MOST_PAIRS` together, or of one count."""
    total, begun = np.cumsum(counts), 0
    while begun < len(counts):
        before = total[begun - 1] if begun else 0
        stop = max(int(np.searchsorted(total, before + MOST_PAIRS, side="right")), begun + 1)
        yield slice(begun, stop)
        begun = stop


def _meet(a: _Seen, b: _Seen) -> bool:
    """True if some step of one touches bytes of a step of the other that the clocks of steps leave open."""
    open_ = ~_ordered(a.record, b.record) & ~_ordered(b.record, a.record).T
    if not open_.any():
        return False
    return bool((open_ & _step_overlap(a, b)).any())


def _ordered(before: Record, after: Record) -> np.ndarray:
    """[steps of before, steps of after]: the first is seen by the second."""
    times = before.time + 1 + np.arange(len(before.steps))
    seen = np.array([known.of(before.unit) for known in after.steps])
    return times[:, None] <= seen[None, :]


def _step_overlap(a: _Seen, b: _Seen) -> np.ndarray:
    """[steps of a, steps of b]: their boxes share bytes."""
    rows, columns = len(a.record.steps), len(b.record.steps)
    if have_one_layout(a.touch, b.touch) and rows * columns <= EXACT_LIMIT:
        found: np.ndarray = np.ones((rows, columns), dtype=bool)
        low, end = stepped(a.touch, rows)
        other, last = stepped(b.touch, columns)
        for d in range(low.shape[1]):
            found &= (other[None, :, d] < end[:, None, d]) & (low[:, None, d] < last[None, :, d])
        return found
    return np.full((rows, columns), share_bytes(a.touch, b.touch))


def stepped(touch: Touch, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first corner of the box at each step and its end, [steps, dims] each.

    An event of one step (a copy) covers all its times at once, the middle one of a shortened event all steps
    that it stands for.
    """
    grid = np.array([touch.low])
    for count, moves in touch.times:
        walk = np.arange(count)[:, None] * np.array(moves)[None, :]
        grid = (grid[:, None, :] + walk[None, :, :]).reshape(-1, len(touch.low))
    end = grid + np.array(touch.extents)
    if touch.is_indirect or steps not in (len(grid), SHORTENED):
        first, last = touch.hull()
        return np.array([first] * steps), np.array([last] * steps)
    if len(grid) == steps:
        return grid, end
    middle = slice(FIRST_STEPS, len(grid) - LAST_STEPS)
    parts = (slice(0, FIRST_STEPS), slice(len(grid) - LAST_STEPS, len(grid)))
    lows = [grid[parts[0]], grid[middle].min(axis=0, keepdims=True), grid[parts[1]]]
    ends = [end[parts[0]], end[middle].max(axis=0, keepdims=True), end[parts[1]]]
    return np.concatenate(lows), np.concatenate(ends)


def _finding(a: _Seen, b: _Seen, units: Sequence[Handle]) -> Diagnostic:
    words = ["writes" if s.touch.is_write else "reads" for s in (a, b)]
    memory = a.touch.view.memory
    (start, end), (begin, last) = byte_range(a.touch), byte_range(b.touch)
    low, high = max(start, begin), min(end, last)
    first, second = units[a.record.unit], units[b.record.unit]
    bytes_ = f"bytes {low}..{high} of {memory}"
    message = f"{first} {words[0]} and {second} {words[1]} {bytes_} in no order"
    other = location(b.record.op)
    return Diagnostic(message, location(a.record.op), a.record.op.name, f"the other access is at {other}")
