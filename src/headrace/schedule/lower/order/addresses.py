"""Scratchpad addresses of a function's buffers, and which of them share bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic
from headrace.schedule.buffers import Lifetime, ScratchpadFull, live_peak, pack
from headrace.schedule.lower.index import Var, variables
from headrace.schedule.lower.order.accesses import Access, accesses
from headrace.schedule.lower.tree import Block, Buffer, Function, Loop, Stage

Touches = dict[Buffer, list[Access]]

SEARCH_NODES = 50_000
"""Nodes of the exact packing, tried when no fixed order fits: at most some seconds."""


def assign(function: Function, device: Device) -> dict[str, int]:
    """Return the byte address of every buffer that is used; ScratchpadFull if they do not fit."""
    memory = device.memory("ct_local")
    touched = _touches(function)
    for lives in (_always, _by_phase, _by_step):
        lifetimes = lives(function, touched)
        placed = pack(lifetimes, memory.size_bytes, memory.align_bytes, memory.reserved)
        if placed is not None:
            return placed
    if not memory.reserved and live_peak(lifetimes, memory.align_bytes) <= memory.size_bytes:
        from headrace.schedule.packing import solve  # numba, needed only here

        placed = solve(lifetimes, memory.size_bytes, memory.align_bytes, SEARCH_NODES)
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


def _touches(function: Function) -> Touches:
    found: dict[Buffer, list[Access]] = {}
    for access in accesses(function.body):
        if access.memory.buffer is not None:
            found.setdefault(access.memory.buffer, []).append(access)
    return found


def _always(function: Function, touches: Touches) -> list[Lifetime]:
    """Every buffer has bytes of its own, so that phases overlap as far as their data allow."""
    return [Lifetime(buffer.name, buffer.bytes, 0, 0) for buffer in touches]


def _by_phase(function: Function, touches: Touches) -> list[Lifetime]:
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


def _by_step(function: Function, touches: Touches) -> list[Lifetime]:
    """Buffers written and read within one iteration live from their first to their last stage of the loop
    body.

    A buffer spans each loop around it that it outlives: touched outside it, rotating in it, or read before
    written.
    """
    numbers: dict[tuple[int, ...], tuple[int, int]] = {}
    _number(function.body, (), 0, numbers)
    lives = []
    for buffer, touched in touches.items():
        first = min(numbers[a.path][0] for a in touched)
        last = max(numbers[a.path][1] for a in touched)
        depth = max(len(a.path) for a in touched)
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
