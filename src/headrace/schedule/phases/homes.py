"""Where values between phases live: in the scratchpad while there is room, otherwise in device memory."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Value
from headrace.schedule.phases.items import flat_groups
from headrace.schedule.phases.outline import Outline
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


def live_bytes(outline: Outline, kinds: Mapping[str, str]) -> list[int]:
    """Return for every phase, in order, the bytes of the values in the scratchpad that are alive while it
    runs: from the first phase or loop of the class that touches them to the last.
    """
    places = [number for number, item in enumerate(outline.items) for _ in flat_groups([item])]
    spans: dict[str, tuple[int, int]] = {}
    for place, group in zip(places, flat_groups(outline.items), strict=True):
        names = [*group.produced, *(a.value for c in group.computes for a in c.ins)]
        names += [o.init for c in group.computes for o in c.outs if isinstance(o.init, str)]
        for name in names:
            source = outline.names.aliases.get(name, name)
            spans[source] = (spans.get(source, (place, place))[0], place)
    resident = [(spans[v], bytes_of(outline.names.values[v])) for v in outline.homes if kinds[v] == "lx"]
    return [sum(size for (first, last), size in resident if first <= place <= last) for place in places]
