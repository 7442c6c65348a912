"""Scratchpad addresses of a function's buffers, and which of them share bytes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic
from headrace.schedule.buffers import Lifetime, ScratchpadFull, live_peak, pack
from headrace.schedule.lower.index import Var, variables
from headrace.schedule.lower.order.accesses import Access
from headrace.schedule.lower.tree import Block, Buffer, Function, Loop, Stage
from headrace.schedule.units import units

Touches = dict[Buffer, list[Access]]

SEARCH_NODES = 50_000
"""Nodes of the exact packing, tried when no fixed order fits: at most a second."""

SOLVER_WORK = 0.1
"""Deterministic time of the constraint solver, tried when those nodes run out: about a second."""


def assign(function: Function, found: Iterable[Access], device: Device) -> dict[str, int]:
    """Return the byte address of every buffer of a function that its accesses, `found` in text order, use;
    ScratchpadFull if they do not fit.
    """
    memory = device.memory("ct_local")
    touched = _touches(found)
    for lifetimes in _lifetimes(function, touched, device):
        placed = pack(lifetimes, memory.size_bytes, memory.align_bytes, memory.reserved)
        if placed is not None:
            return placed
    if not memory.reserved and live_peak(lifetimes, memory.align_bytes) <= memory.size_bytes:
        from headrace.schedule.packing import solve  # numba, needed only here

        placed = solve(lifetimes, memory.size_bytes, memory.align_bytes, SEARCH_NODES, SOLVER_WORK)
        if placed is not None:
            return placed
    total = sum(life.bytes for life in lifetimes)
    hint = "use smaller tiles or fewer copies"
    message = f"buffers of {total} bytes do not fit the scratchpad of {memory.size_bytes} bytes"
    raise ScratchpadFull(Diagnostic(message, op=function.name, hint=hint))


def shared(buffers: Sequence[Buffer], addresses: dict[str, int]) -> frozenset[frozenset[Buffer]]:
    """Return the pairs of buffers whose bytes overlap."""
    used = [b for b in buffers if b.name in addresses]
    return frozenset(
        frozenset((a, b))
        for a, b in combinations(used, 2)
        if addresses[a.name] < addresses[b.name] + b.bytes and addresses[b.name] < addresses[a.name] + a.bytes
    )


def _touches(found: Iterable[Access]) -> Touches:
    touches: Touches = {}
    for access in found:
        if access.memory.buffer is not None:
            touches.setdefault(access.memory.buffer, []).append(access)
    return touches


def _lifetimes(function: Function, touches: Touches, device: Device) -> Iterator[list[Lifetime]]:
    """The lifetimes to try, those that let most happen at once first."""
    loaded = _moved(touches, units(device).loader, True)
    stored = _moved(touches, units(device).storer, False)
    by_item = _by_item(function, touches)
    by_phase = _by_phase(by_item)
    yield [replace(life, first=0, last=0) for life in by_item]
    for lives in (by_phase, by_item):
        yield _behind(_ahead(lives, loaded), stored)
        yield _ahead(lives, loaded)
        yield lives
    by_part = _by_step(function, touches, 2)
    yield _ahead(by_part, loaded)
    yield by_part
    yield _by_step(function, touches)


def _ahead(lives: Sequence[Lifetime], loaded: Container[str]) -> list[Lifetime]:
    """The lifetimes with those of `loaded` buffers begun while the loaded ones before them still live: the
    first loads of a phase then need not wait until the phase before has done its last computation.
    """
    ends = sorted({life.last for life in lives if life.name in loaded})
    found = []
    for life in lives:
        before = bisect_left(ends, life.first)
        found.append(replace(life, first=ends[before - 1]) if life.name in loaded and before else life)
    return found


def _behind(lives: Sequence[Lifetime], stored: Container[str]) -> list[Lifetime]:
    """The lifetimes with those of `stored` buffers ended as the next one begins or ends: what takes their
    place then need not wait for device memory.
    """
    events = sorted({e for life in lives if life.name in stored for e in (life.first, life.last)})
    found = []
    for life in lives:
        after = bisect_right(events, life.last)
        is_late = life.name in stored and after < len(events)
        found.append(replace(life, last=events[after] - 1) if is_late else life)
    return found


def _moved(touches: Touches, unit: str, is_written: bool) -> set[str]:
    """The buffers that a unit writes, or reads."""
    return {
        b.name
        for b, listed in touches.items()
        if any(a.unit == unit and a.is_write == is_written for a in listed)
    }


def _by_phase(lives: Sequence[Lifetime]) -> list[Lifetime]:
    """The lifetimes, each as long as all it is joined to by lifetimes that overlap: nothing a phase uses
    shares bytes within it.
    """
    spans: list[list[int]] = []
    for life in sorted(lives, key=lambda life: life.first):
        if spans and life.first <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], life.last)
        else:
            spans.append([life.first, life.last])
    starts = [first for first, _ in spans]
    around = [spans[bisect_right(starts, life.first) - 1] for life in lives]
    return [replace(life, first=a, last=z) for life, (a, z) in zip(lives, around, strict=True)]


def _by_item(function: Function, touches: Touches) -> list[Lifetime]:
    """A buffer lives through the whole top-level items that touch it: nothing inside a loop or a pipeline
    shares bytes.
    """
    numbers: dict[tuple[int, ...], tuple[int, int]] = {}
    _number(function.body, (), 0, numbers)
    lives = []
    for buffer, touched in touches.items():
        steps = [numbers[access.path[:1]] for access in touched]
        first, last = min(first for first, _ in steps), max(last for _, last in steps)
        lives.append(Lifetime(buffer.name, buffer.bytes, first, last))
    return lives


def _by_step(function: Function, touches: Touches, most: int | None = None) -> list[Lifetime]:
    """Buffers written and read within one iteration live from their first to their last stage of the loop
    body; items of loops inside more than `most` - 1 others are one.

    A buffer spans each loop around it that it outlives: touched outside it, rotating in it, or read before
    written.
    """
    numbers: dict[tuple[int, ...], tuple[int, int]] = {}
    _number(function.body, (), 0, numbers)
    lives = []
    for buffer, touched in touches.items():
        first = min(numbers[a.path[:most]][0] for a in touched)
        last = max(numbers[a.path[:most]][1] for a in touched)
        depth = max(len(a.path[:most]) for a in touched)
        for k in range(1, depth):
            for path in {a.path[:k] for a in touched if len(a.path) > k}:
                inside = [a for a in touched if a.path[:k] == path]
                if len(inside) < len(touched) or _outlives(inside, k):
                    first, last = min(first, numbers[path][0]), max(last, numbers[path][1])
        lives.append(Lifetime(buffer.name, buffer.bytes, first, last))
    return lives


def _outlives(inside: Sequence[Access], depth: int) -> bool:
    loop: Var = inside[0].loops[depth - 1].var
    rotates = any(loop in variables(a.memory.copy) for a in inside)
    earliest = min(inside, key=lambda a: (a.path, not a.is_write))
    return rotates or not earliest.is_write


def _number(
    block: Block, path: tuple[int, ...], at: int, numbers: dict[tuple[int, ...], tuple[int, int]]
) -> int:
    """Number the pipelines of a block and its loops in order; stages of one pipeline run at the same time."""
    before = None
    for position, item in enumerate(block):
        here = (*path, position)
        if isinstance(item, Loop):
            numbers[here] = (at, max(at, _number(item.body, here, at, numbers) - 1))
            at, before = numbers[here][1] + 1, None
            continue
        pipeline = item.pipeline if isinstance(item, Stage) else None
        if before is None or pipeline != before:
            at += 1
        before = pipeline
        numbers[here] = (at - 1, at - 1)
    return at
