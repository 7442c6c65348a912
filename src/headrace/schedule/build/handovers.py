"""Signals between cores, as KTDF spells them."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64

from headrace.arch.device import Device
from headrace.ir import ktdf
from headrace.schedule.build.emitter import Emitter
from headrace.schedule.graph import Handover
from headrace.schedule.units import units

TEMPLATE = "headrace.handover"


def handover(emit: Emitter, item: Handover, device: Device, cores: Collection[int]) -> None:
    """Append the signals of a handover that these cores send or wait for; nothing if there are none.

    "full" goes from the unit that stores to the one that loads, "free" the other way, "over" between two
    that store.
    """
    pairs = [pair for pair in item.pairs if pair[0] in cores or pair[1] in cores]
    if not pairs:
        return
    used = units(device)
    ends = {
        "full": (used.storer, used.loader),
        "free": (used.loader, used.storer),
        "over": (used.storer, used.storer),
    }[item.kind]
    op = ktdf.OpaqueOp.build(
        operands=[[], []],
        properties={"template_name": StringAttr(TEMPLATE)},
        attributes={
            "headrace.from": StringAttr(ends[0]),
            "headrace.to": StringAttr(ends[1]),
            "headrace.label": StringAttr(item.kind),
            "headrace.pairs": DenseArrayBase.from_list(i64, [core for pair in pairs for core in pair]),
        },
        result_types=[[]],
    )
    emit.block.add_op(op)
