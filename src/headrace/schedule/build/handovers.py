"""Signals between cores, as KTDF spells them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import StringAttr

from headrace.arch.device import Device
from headrace.schedule.build import mlir
from headrace.schedule.build.emitter import Emitter
from headrace.schedule.graph import Handover
from headrace.schedule.units import units

TEMPLATE = "headrace.handover"


def handover(emit: Emitter, item: Handover, device: Device, cores: Collection[int]) -> None:
    """Append the signals of a handover that these cores send or wait for; nothing if there are none.

    "full" goes from the unit that stores to the one that loads, "free" the other way, "over" between two
    that store.
    """
    if item.kind == "pace":
        pace(emit, device, cores)
        return
    pairs = [pair for pair in item.pairs if pair[0] in cores or pair[1] in cores]
    if not pairs:
        return
    used = units(device)
    ends = {
        "full": (used.storer, used.loader),
        "free": (used.loader, used.storer),
        "over": (used.storer, used.storer),
    }[item.kind]
    _signals(emit, ends, item.kind, pairs)


def pace(emit: Emitter, device: Device, cores: Collection[int]) -> None:
    """Append a signal within each core: what it stores next waits until the rows read so far are read."""
    used = units(device)
    reader = used.feeds.activations.kind if used.feeds is not None else used.reader
    _signals(emit, (reader, used.storer), "pace", [(core, core) for core in cores])


def _signals(emit: Emitter, ends: tuple[str, str], label: str, pairs: Sequence[tuple[int, int]]) -> None:
    op = mlir.make(
        "ktdf.opaque",
        properties={"template_name": StringAttr(TEMPLATE)},
        segments=(0, 0),
        attributes={
            "headrace.from": StringAttr(ends[0]),
            "headrace.to": StringAttr(ends[1]),
            "headrace.label": StringAttr(label),
            "headrace.pairs": mlir.dense([core for pair in pairs for core in pair]),
        },
    )
    emit.block.add_op(op)
