"""How much of a scratchpad an image touches."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.machine.boxes import Box
from headrace.machine.image import Image
from headrace.machine.nodes import Copy, Load, Node, Read, Store, Write, walk


def peak_bytes(image: Image) -> int:
    """Return the end of the highest scratchpad address of the image, as far as it is known without running
    it.
    """
    ends = [end for box in _boxes(image) if box.place.kind == "ct_local" if (end := _end(box)) is not None]
    kept = [
        entry.address + entry.bytes
        for schedule in image.schedules
        for entry in (*schedule.lx_in, *schedule.lx_out)
    ]
    return max([*ends, *kept], default=0)


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
