"""Whether the channels of a stage exist on the device and end at its unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.ir.text import location
from headrace.schedule.lower.tree import Apply, Node, PointLoop, Slot, Stage, Transfer

Use = tuple[Slot, bool, Location, str]
"""A channel end, whether the stage sends, where, and by which op."""


def check_channels(stage: Stage, slots: dict[Any, Slot], device: Device) -> None:
    """Raise HeadraceError for every channel that does not lead to or from the stage's unit, or has no
    datapath.
    """
    found = []
    for slot, is_send, where, name in _uses(stage.body, slots):
        mine = slot.source if is_send else slot.target
        if mine.lower() != stage.unit.lower():
            verb = "sends into" if is_send else "receives from"
            message = f"{stage.unit} {verb} a channel from {slot.source} to {slot.target}"
            found.append(Diagnostic(message, where, name, f"use a slot that ends at {stage.unit}"))
        elif not _exists(slot, device):
            message = f"{device.name} has no datapath from {slot.source} to {slot.target}"
            found.append(Diagnostic(message, where, name, "see `headrace devices` for its links"))
    if found:
        raise HeadraceError(found)


def _exists(slot: Slot, device: Device) -> bool:
    if device.find_link(slot.source, slot.target) is not None:
        return True
    return slot.is_between_cores and device.find_ring(slot.source, slot.target) is not None


def _uses(nodes: Sequence[Node], slots: dict[Any, Slot]) -> Iterator[Use]:
    for node in nodes:
        if isinstance(node, PointLoop):
            yield from _uses(node.body, slots)
        elif isinstance(node, Transfer):
            for end, is_send in ((node.target, True), (node.source, False)):
                if isinstance(end, Slot):
                    yield end, is_send, node.where, "ktdf.data_transfer"
        elif isinstance(node, Apply):
            op: Any = node.op
            if op.name in ("ktdf.read_from_fifo", "ktdf.write_to_fifo") and op.fifo_slot in slots:
                yield slots[op.fifo_slot], op.name == "ktdf.write_to_fifo", location(op), op.name
