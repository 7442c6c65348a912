"""How much of a scratchpad an image touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.machine.boxes import Box
from headrace.machine.image import Image
from headrace.machine.nodes import Copy, Load, Node, Read, Store, Write, walk
from headrace.machine.unrolled import Unknown, arrivals, shape


def peak_bytes(image: Image, scalars: Mapping[str, float]) -> int:
    """Return the end of the highest scratchpad address of the image, as far as it is known without running
    it: by the ranges of its integers, or else by following its loops.
    """
    boxes = [box for box in _boxes(image) if box.place.kind == "ct_local"]
    ends = [end for box in boxes if (end := _end(box)) is not None]
    if len(ends) < len(boxes):
        ends += _followed(image, scalars)
    kept = [
        entry.address + entry.bytes
        for schedule in image.schedules
        for entry in (*schedule.lx_in, *schedule.lx_out)
    ]
    return max([*ends, *kept], default=0)


def _followed(image: Image, scalars: Mapping[str, float]) -> Iterator[int]:
    """The ends of the boxes whose ranges are not known, wherever units come to them."""
    for arrival in arrivals(image, scalars):
        for box in _of_node(arrival.node):
            if box.place.kind == "ct_local" and _end(box) is None and box.address is None:
                try:
                    length, outer = shape(box, arrival)
                    start = int(arrival.values(box.base).max())
                except Unknown:
                    continue
                yield start + length + sum(max(0, extent - 1) * stride for extent, stride in outer)


def _boxes(image: Image) -> Iterator[Box]:
    for schedule in image.schedules:
        for program in schedule.programs:
            for node in walk(program.body):
                yield from _of_node(node)


def _of_node(node: Node) -> Iterator[Box]:
    match node:
        case Copy():
            yield node.source
            yield node.target
        case Read() | Write():
            yield from (stream.box for stream in node.streams)
        case Load() | Store():
            yield node.box


def _end(box: Box) -> int | None:
    start = box.base.high if box.address is None else box.address.high
    if start is None:
        return None
    total = start + box.itemsize
    for dim in (*box.times, *box.run):
        extent = dim.extent.high
        if extent is None:
            return None
        total += max(0, extent - 1) * dim.stride
    return total
