"""What attributes and surroundings of KTDF ops say: cores, multicast groups, enumeration order, corelets."""

from __future__ import annotations

from typing import Any

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import location
from headrace.schedule.lower.index import Number, collapse
from headrace.schedule.lower.tree import Handover


def is_zero(number: Number) -> Number:
    """Return 1 for every instance whose number is 0, else 0."""
    return int(number == 0) if isinstance(number, int) else collapse(tuple(int(x == 0) for x in number))


def order(op: Any) -> tuple[int, ...] | None:
    """The dims of the memory side's box from slow to fast: a permutation map or a list of dims."""
    attr = op.attributes.get("headrace.order")
    if attr is None:
        return None
    if hasattr(attr, "get_values"):
        axes = tuple(int(x) for x in attr.get_values())
    else:
        axes = tuple(getattr(e, "position", -1) for e in attr.data.results)
    if sorted(axes) != list(range(len(axes))):
        hint = "list every dim of the box once"
        raise HeadraceError(Diagnostic("headrace.order is no permutation", location(op), op.name, hint))
    return axes


def groups(op: Any) -> tuple[int, ...] | None:
    attr = op.attributes.get("headrace.multicast_groups")
    return tuple(int(x) for x in attr.get_values()) if attr is not None else None


def is_in_parallel(op: Any) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if parent.name == "ktdf.parallel":
            return True
        parent = parent.parent_op()
    return False


def cores_of(op: Any, device: Device) -> tuple[int, ...]:
    listed = op.attributes.get("headrace.cores")
    grid = 1
    for extent in op.attributes["grid"].data:
        grid *= int(extent.value.data)
    cores = tuple(int(x) for x in listed.get_values()) if listed is not None else tuple(range(grid))
    if len(cores) != grid or len(set(cores)) != grid or any(not 0 <= c < device.cores for c in cores):
        hint = f"headrace.cores lists grid numbers below {device.cores}"
        raise HeadraceError(
            Diagnostic(f"cores {list(cores)} do not fit the grid", location(op), op.name, hint)
        )
    return cores


HANDOVER = "headrace.handover"


def handover(op: Any, device: Device) -> Handover:
    """The signals between cores that an opaque op outside of stages stands for."""
    if op.template_name.data != HANDOVER:
        hint = f'outside of a stage only "{HANDOVER}" is known'
        raise HeadraceError(
            Diagnostic(f'unknown opaque op "{op.template_name.data}"', location(op), op.name, hint)
        )
    ends = [op.attributes[f"headrace.{end}"].data for end in ("from", "to")]
    units = [device.find_unit(end) for end in ends]
    cores = [int(c) for c in op.attributes["headrace.pairs"].get_values()]
    pairs = tuple(zip(cores[::2], cores[1::2], strict=True))
    is_within = all(a == b for a, b in pairs)
    kinds = [unit.per if unit is not None else "" for unit in units]
    if kinds[1:] != ["core"] or kinds[0] not in (("core", "corelet") if is_within else ("core",)):
        hint = "name two unit kinds that every core has one of; within a core the first may be a corelet's"
        raise HeadraceError(
            Diagnostic(f"cannot signal from {ends[0]} to {ends[1]}", location(op), op.name, hint)
        )
    sender, receiver = (unit.kind for unit in units if unit is not None)
    return Handover(sender, receiver, op.attributes["headrace.label"].data, pairs, location(op))
