"""Which vector phases run beside the contraction that follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.arch.cost import Port, step_cycles
from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.beside import Beside, beside
from headrace.schedule.phases.contraction import roles
from headrace.schedule.phases.items import followed
from headrace.schedule.phases.outline import Outline
from headrace.schedule.phases.passes import compute_ops
from headrace.schedule.phases.shape import Homes, Shape, shape
from headrace.schedule.plan import PhasePlan
from headrace.schedule.units import units


def with_beside(made: Outline, homes: Homes, phases: Sequence[PhasePlan], device: Device) -> list[PhasePlan]:
    """Return the plans of the phases of a class, those of contractions with the phase beside them."""
    found = [_rotating(plan) for plan in phases]
    for number, (guest, host) in followed(made.items).items():
        one, other = found[number : number + 2]
        products = shape(host, made, homes)
        plan = beside(other, products, one, shape(guest, made, homes), device)
        if plan is not None:
            found[number + 1] = _joint(other, products, one, plan, device)
    return found


def _rotating(plan: PhasePlan) -> PhasePlan:
    """The plan of a contraction in one tile with two copies of its buffers, for the loop over strips, and its
    results in one stage.
    """
    if plan.kind != "contract" or any(plan.tile[d] < e for d, e in plan.extents.items()):
        return plan
    rows = max(plan.blocks["rows"], *plan.tile.values())
    return replace(plan, copies={"in": 3, "out": 2}, blocks={**plan.blocks, "rows": rows})


def _joint(host: PhasePlan, products: Shape, guest: PhasePlan, plan: Beside, device: Device) -> PhasePlan:
    """The plan of a contraction with a phase beside it, and what both take together.

    While the vector unit works on a row, as many products are made as the queue between both has room for.
    """
    vector, found = units(device).vector, roles(products, "swapped" in host.order)
    width, between = min(host.blocks["columns"], products.extents[found.column]), plan.between
    ops = [op for c in products.group.computes[1:] for op in compute_ops(c, width, device, vector)]
    ports = [Port(width, "f32"), *(Port(width, o.dtype) for o in products.outputs)]
    last = step_cycles(ops, ports, device, vector)
    passing = step_cycles([], [Port(width, "f32")], device, vector)
    rows, chunks = products.extents[found.row], -(-products.extents[found.depth] // host.blocks["depth"])
    product = host.parts[host.unit] / (rows * len(plan.counts))
    row = guest.parts[vector] / sum(plan.counts)
    link = device.find_link(host.unit, vector)
    room = link.capacity_bytes if link is not None else None
    queue = between if room is None else room // (width * itemsize("f32"))
    total = 0.0
    for block, count in enumerate(plan.counts):
        each = last if block % chunks == chunks - 1 else passing
        part, turns = row / plan.sections, count * plan.sections
        busy = max(between * product, part + between * each, part + max(0, between - queue) * product)
        total += turns * busy + (rows - turns * between) * product
    parts = {**host.parts, host.unit: round(total, 1)}
    return replace(host, beside=guest.name, parts=parts)
