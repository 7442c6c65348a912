"""Where values between phases live: in the scratchpad while there is room, otherwise in device memory."""

from __future__ import annotations

from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Value
from headrace.schedule.phases.outline import Outline, flat_groups
from headrace.schedule.search.pricing import rounded


def bytes_of(value: Value) -> int:
    """Return the scratchpad bytes of a whole value."""
    return rounded(prod(value.shape) * itemsize(value.dtype))


def place_homes(outline: Outline, room: int) -> dict[str, str]:
    """Return "lx" or "scratch" for every value in `outline.homes`: small ones first, `room` bytes in all."""
    kinds = dict.fromkeys(outline.homes, "scratch")
    left = room
    scattered = {v for v, stores in outline.stores.items() if any(s.indirect for s in stores)}
    for value in sorted(outline.homes, key=lambda v: (bytes_of(outline.names.values[v]), v)):
        size = bytes_of(outline.names.values[value])
        if size <= left and value not in scattered:
            kinds[value] = "lx"
            left -= size
    return kinds


def lifetimes(outline: Outline) -> dict[str, tuple[int, int]]:
    """Return the numbers of the first and last phase that touch a value."""
    found: dict[str, tuple[int, int]] = {}
    for number, group in enumerate(flat_groups(outline.items)):
        names = [*group.produced, *(a.value for c in group.computes for a in c.ins)]
        names += [o.init for c in group.computes for o in c.outs if isinstance(o.init, str)]
        for name in names:
            source = outline.names.aliases.get(name, name)
            first, _ = found.get(source, (number, number))
            found[source] = (first, number)
    return {v: found.get(v, (0, 0)) or (0, 0) for v in outline.homes}
