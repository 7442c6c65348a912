"""What a class does in order: phases, loops around phases, meetings of cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from headrace.schedule.graph import Handover, Loop
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.linear import largest

Item: TypeAlias = "Group | LoopItem | Handover"


@dataclass(frozen=True)
class LoopItem:
    """A loop around phases."""

    loop: Loop
    body: tuple[Item, ...]


def flat_groups(items: Sequence[Item]) -> list[Group]:
    """Return the phases of items and of the loops in them, in order."""
    found: list[Group] = []
    for item in items:
        if isinstance(item, LoopItem):
            found += flat_groups(item.body)
        elif isinstance(item, Group):
            found.append(item)
    return found


def runs_of(items: Sequence[Item]) -> list[int]:
    """Return how often each of `flat_groups` runs, on the core on which it does most often."""
    found: list[int] = []
    for item in items:
        if isinstance(item, LoopItem):
            found += [largest(item.loop.trip) * n for n in runs_of(item.body)]
        elif isinstance(item, Group):
            found.append(1)
    return found


def followed(items: Sequence[Item]) -> dict[int, tuple[Group, Group]]:
    """Return the phases that another one follows directly, by their number, each with that one."""
    return dict(_followed(items, iter(range(len(flat_groups(items))))))


def _followed(items: Sequence[Item], numbers: Iterator[int]) -> Iterator[tuple[int, tuple[Group, Group]]]:
    before: tuple[int, Group] | None = None
    for item in items:
        if isinstance(item, LoopItem):
            yield from _followed(item.body, numbers)
        here = (next(numbers), item) if isinstance(item, Group) else None
        if before is not None and here is not None:
            yield before[0], (before[1], here[1])
        before = here
