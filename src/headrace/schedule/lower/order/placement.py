"""Where each unit's program sends and waits, from the edges between units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from headrace.schedule.signals import Edge, Pair, Path


@dataclass(frozen=True)
class Step:
    """`count` signals of a pair, sent or waited for in a row; or a fence of the unit's own transfers."""

    kind: Literal["send", "wait", "fence"]
    pair: Pair
    count: int = 1
    label: str = "full"


@dataclass
class Placement:
    """What one unit kind does before and after each item of the tree, and at the end of each block."""

    before: dict[Path, list[Step]] = field(default_factory=lambda: defaultdict(list))
    after: dict[Path, list[Step]] = field(default_factory=lambda: defaultdict(list))
    closing: dict[Path, list[Step]] = field(default_factory=lambda: defaultdict(list))


def place(edges: Sequence[Edge], unit: str) -> Placement:
    """Return the signals of a unit kind's program.

    Credits are granted as early as the order of the pair's signals allows, and taken back as late as it
    allows: before the next wait for the same unit, or at the end of the block. So neighbouring loops
    overlap.
    """
    found = Placement()
    fences = {(*e.block, e.receive): e.pair for e in edges if _is_fence(e, unit)}
    edges = [e for e in edges if e.pair.sender != e.pair.receiver or e.pair.shift]
    for edge in edges:
        granted = edge.credits - edge.taken
        if edge.around is not None and edge.pair.sender == unit and granted:
            start = (*edge.around[:-1], max(_after_sends(edges, edge), edge.grant))
            found.before[start].append(Step("send", edge.pair, granted, "free"))
    for edge in edges:
        if edge.around is None or edge.pair.receiver != unit:
            continue
        block = edge.around[:-1]
        left = edge.credits - edge.passed - len(edge.leaves)
        if left:
            returned = Step("wait", edge.pair, left, "free")
            position = min(edge.leaves, default=_next_wait(edges, edge))
            if position is None:
                found.closing[block].append(returned)
            else:
                found.before[(*block, position)].append(returned)
        for leaf in edge.leaves:
            found.before[(*block, leaf)].append(Step("wait", edge.pair, 1, "free"))
    for edge in sorted(edges, key=lambda e: not e.credits):
        if edge.pair.receiver == unit:
            found.before[(*edge.block, edge.receive)].append(_step("wait", edge))
    for path, pair in fences.items():
        found.before[path].append(Step("fence", pair))
    for edge in sorted(edges, key=lambda e: bool(e.credits)):
        if edge.pair.sender == unit:
            found.after[(*edge.block, edge.send)].append(_step("send", edge))
    return found


def _is_fence(edge: Edge, unit: str) -> bool:
    return edge.pair.sender == edge.pair.receiver == unit and not edge.pair.shift


def _step(kind: Literal["send", "wait"], edge: Edge) -> Step:
    return Step(kind, edge.pair, 1, "free" if edge.credits else "full")


def _after_sends(edges: Sequence[Edge], edge: Edge) -> int:
    """Return the position after the last one before a carried edge's loop at which its sender signals its
    receiver.
    """
    assert edge.around is not None
    block, loop = edge.around[:-1], edge.around[-1]
    depth = len(block)
    earlier = []
    for other in edges:
        if other.pair != edge.pair:
            continue
        if other.block == block and other.send < loop:
            earlier.append(other.send)
        elif len(other.block) > depth and other.block[:depth] == block and other.block[depth] < loop:
            earlier.append(other.block[depth])
    return max(earlier, default=-1) + 1


def _next_wait(edges: Sequence[Edge], edge: Edge) -> int | None:
    """Return the first position after a carried edge's loop where its receiver waits for its sender again."""
    assert edge.around is not None
    block, loop = edge.around[:-1], edge.around[-1]
    depth = len(block)
    later = []
    for other in edges:
        if other.pair != edge.pair:
            continue
        if other.block == block and other.receive > loop:
            later.append(other.receive)
        elif len(other.block) > depth and other.block[:depth] == block and other.block[depth] > loop:
            later.append(other.block[depth])
    return min(later, default=None)
