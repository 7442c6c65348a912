"""Where values between phases live: in the scratchpad while there is room, otherwise in device memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Value
from headrace.schedule.phases.fuse import Group
from headrace.schedule.phases.items import Item, LoopItem, flat_groups
from headrace.schedule.phases.outline import Outline
from headrace.schedule.phases.part import KEEP
from headrace.schedule.search.pricing import rounded


def bytes_of(value: Value) -> int:
    """Return the scratchpad bytes of a whole value."""
    return rounded(prod(value.shape) * itemsize(value.dtype))


def place_homes(outline: Outline, room: int) -> dict[str, str]:
    """Return "lx" or "scratch" for every value in `outline.homes`: small ones first, `room` bytes in all."""
    kinds = dict.fromkeys(outline.homes, "scratch")
    left = room
    for value in sorted(outline.homes, key=lambda v: (bytes_of(outline.names.values[v]), v)):
        size = bytes_of(outline.names.values[value])
        if size <= left:
            kinds[value] = "lx"
            left -= size
    return kinds


def live_bytes(outline: Outline, kinds: Mapping[str, str], inside: bool = False) -> list[int]:
    """Return for every phase, in order, the bytes of the values in the scratchpad that are alive while it
    runs: from the first phase or loop of the class that touches them to the last; of a loop around loops
    (`inside`) only as long as its own phases and loops do, if every turn makes the values anew.
    """
    groups = flat_groups(outline.items)
    places = [number for number, item in enumerate(outline.items) for _ in flat_groups([item])]
    parts = list(_parts(outline.items)) if inside else places
    touched: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for name in _touched(group):
            touched.setdefault(outline.names.aliases.get(name, name), []).append(number)
    change = [0] * (len(groups) + 1)  # of the bytes alive, from one phase to the next
    for value in outline.homes:
        if kinds[value] == "lx":
            numbers = touched[value]
            is_within = len({places[n] for n in numbers}) == 1 and _is_made_first(groups[numbers[0]], value)
            ends = places if not is_within else parts
            size = bytes_of(outline.names.values[value])
            change[bisect_left(ends, ends[numbers[0]])] += size
            change[bisect_right(ends, ends[numbers[-1]])] -= size
    return list(accumulate(change[:-1]))


def kept_bytes(outline: Outline) -> int:
    """Return the most bytes alive at a time of what is only brought in to be kept, all in the scratchpad: of
    a class in strips they are the same however it is cut.
    """
    computes = [c for group in flat_groups(outline.items) for c in group.computes]
    kept = {o.value for c in computes if c.source == KEEP for o in c.outs}
    return max(live_bytes(outline, {v: "lx" if v in kept else "scratch" for v in outline.homes}))


def _parts(items: Sequence[Item]) -> Iterator[int]:
    """By phase the number of the item it is in, items of loops counted by themselves."""
    number = 0
    for item in items:
        for part in item.body if isinstance(item, LoopItem) else (item,):
            yield from [number] * len(flat_groups([part]))
            number += 1


def _touched(group: Group) -> Iterator[str]:
    yield from group.produced
    for compute in group.computes:
        yield from (a.value for a in compute.ins)
        yield from (o.init for o in compute.outs if isinstance(o.init, str))


def _is_made_first(group: Group, value: str) -> bool:
    """Whether a phase makes all of a value before it reads it."""
    for compute in group.computes:
        if any(a.value == value for a in compute.ins) or any(o.init == value for o in compute.outs):
            return False
        if any(o.value == value for o in compute.outs):
            return True
    return False
