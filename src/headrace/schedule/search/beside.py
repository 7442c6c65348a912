"""Which vector phases run beside the contraction that follows them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from math import ceil, prod

from headrace.arch.cost import Port, matrix_cycles, step_cycles, step_latency
from headrace.arch.device import Device
from headrace.arch.products import fill_cycles
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.beside import Beside, beside
from headrace.schedule.phases.contraction import Roles, by_block, roles
from headrace.schedule.phases.decided import Spans
from headrace.schedule.phases.items import followed
from headrace.schedule.phases.outline import Outline
from headrace.schedule.phases.passes import compute_ops, has_lane, step_of
from headrace.schedule.phases.shape import Shape
from headrace.schedule.plan import PhasePlan
from headrace.schedule.units import units


def with_beside(
    made: Outline, shapes: Sequence[Shape], phases: Sequence[PhasePlan], results: int, device: Device
) -> list[PhasePlan]:
    """Return the plans of the phases of a class of these shapes, those of contractions with the phase beside
    them and with `results` copies of what they store.
    """
    pairs = zip(phases, shapes, strict=True)
    found = [_rotating(plan, one, results, device) for plan, one in pairs]
    for number in followed(made.items):
        one, other = found[number : number + 2]
        rows, products = shapes[number : number + 2]
        if other.kind == "contract":
            other = _in_alike_blocks(other, products, one, rows, device)
        plan = beside(other, products, one, rows, device)
        if plan is not None:
            cycles = _section_cycles(one, rows, plan, device)
            found[number + 1] = _joint(other, products, one, plan, cycles, made.ranges, device)
    last = found[-1]
    if last.kind == "contract" and not last.beside and last.runs == 1:
        found[-1] = _in_stages(last, shapes[-1])
    return found


def _in_stages(plan: PhasePlan, products: Shape) -> PhasePlan:
    """The plan of the last product, whose results leave a quarter of the rows at a time: nothing else is left
    to do.
    """
    rows = products.extents.get(roles(products, "swapped" in plan.order).row, 1)
    return replace(plan, blocks={**plan.blocks, "rows": max(1, rows // 4)})


def _in_alike_blocks(
    host: PhasePlan, products: Shape, guest: PhasePlan, rows: Shape, device: Device
) -> PhasePlan:
    """The plan of a contraction whose depth is cut into so many alike blocks that as many rows run beside
    each; as it is where there is no such number.
    """
    matrix = device.unit(host.unit).matrix
    found = roles(products, "swapped" in host.order)
    extent, most = products.extents.get(found.depth, 1), host.blocks["depth"]
    each = max((e for d, e in rows.extents.items() if d != guest.lane), default=1) // device.corelets
    if matrix is None or extent <= most:
        return host
    for count in range(-(-extent // most), each + 1):
        depth, rest = divmod(extent, count)
        if not rest and each % count == 0 and depth % matrix.rows == 0:
            return replace(host, blocks={**host.blocks, "depth": depth})
    return host


def _section_cycles(guest: PhasePlan, rows: Shape, plan: Beside, device: Device) -> list[float]:
    """Cycles of the vector unit for each section of a row: all passes but the last come before the first.

    What they give is waited for while other rows are computed, but the vector unit begins a section only when
    all it takes for that is there, of which the queue before it holds a part.
    """
    row = guest.parts[guest.unit] / sum(plan.counts)
    if not rows.reduced:
        return [row / len(plan.turns)] * len(plan.turns)
    step = step_of(rows, plan.lane, plan.elements, frozenset({plan.row}), device, guest.unit)
    count = len(plan.turns)
    size = plan.elements // count
    issued = [_pass_cycles(one.computes, rows, size, guest.unit, device)[0] for one in step.passes]
    *front, last = [cycles / sum(issued) * row for cycles in issued]
    taken = size * sum(itemsize(o.dtype) for o in rows.inputs if has_lane(o, plan.lane))
    if count > 1:  # what the passes before the last take comes while they run
        return [sum(front) + last / count, *[last / count] * (count - 1)]
    late = _late(taken * (len(front) + 1), guest, device)
    return [sum(front) + last + late]


def _late(size: int, guest: PhasePlan, device: Device) -> float:
    """Cycles until what the queue before the vector unit does not hold of so many bytes has come."""
    link = device.find_link(units(device).reader, guest.unit)
    if link is None or link.bandwidth is None or link.capacity_bytes is None:
        return 0.0
    return max(0, size - link.capacity_bytes) / link.bandwidth


def waits(plan: PhasePlan, rows: Shape, made: Container[str], device: Device) -> float:
    """Return the cycles a phase waits besides its work: long rows of a vector phase for what they reduce, one
    after the other, a contraction for the first block of weights if the phase right before makes these.
    """
    if plan.kind == "contract":
        found = roles(rows, "swapped" in plan.order)
        depth = min(plan.blocks["depth"], rows.extents.get(found.depth, 1))
        width = min(plan.blocks["columns"], rows.extents.get(found.column, 1))
        is_strided = found.weights.surface.stride(found.column) > 1
        is_late = found.weights.value in made
        return fill_cycles(depth, width, found.weights.dtype, is_strided, device) if is_late else 0.0
    if plan.kind != "vector" or not rows.reduced or plan.chunk:
        return 0.0
    others = {d: e for d, e in rows.extents.items() if d != plan.lane}
    step = step_of(rows, plan.lane, plan.step, frozenset(others), device, plan.unit)
    if len(step.passes) == 1:
        return 0.0  # the next row begins meanwhile
    each = sum(_pass_cycles(one.computes, rows, plan.step, plan.unit, device)[1] for one in step.passes)
    return each * ceil(prod(others.values()) / device.corelets)


def stored_bytes(rows: Shape) -> int:
    """Return the bytes one run of a phase stores to device memory on a core."""
    return sum(rows.volume(o) * itemsize(o.dtype) for o in rows.outputs if o.storage.kind != "lx")


def _pass_cycles(
    computes: Sequence[int], rows: Shape, elements: int, unit: str, device: Device
) -> tuple[float, float]:
    """Cycles to issue a pass on so many lanes, and from then on to its result."""
    ops = [op for c in computes for op in compute_ops(rows.group.computes[c], elements, device, unit)]
    chain = [replace(op, args=(k - 1,) if k else ()) for k, op in enumerate(ops)]
    return step_cycles(ops, [], device, unit), step_latency(chain, device.unit(unit))


def _rotating(plan: PhasePlan, products: Shape, results: int, device: Device) -> PhasePlan:
    """The plan of a contraction in one tile with copies of its buffers, for the loop over strips, and its
    results in one stage; of a low one, with as many columns in a block as the matrix unit holds, so that
    blocks of the next contraction do not take longer to bring in.
    """
    if plan.kind != "contract" or any(plan.tile[d] < e for d, e in plan.extents.items()):
        return plan
    rows = max(plan.blocks["rows"], *plan.tile.values())
    found, matrix = roles(products, "swapped" in plan.order), device.unit(plan.unit).matrix
    width, columns = plan.blocks["columns"], products.extents.get(found.column, 1)
    if products.extents.get(found.depth, 1) <= plan.blocks["depth"] and matrix is not None:
        size, room = plan.blocks["depth"] * itemsize(found.weights.dtype), matrix.resident_bytes or 0
        registers = device.unit(units(device).vector).registers_bytes or 1 << 60
        most = min(room // size, registers // (2 * itemsize("f32")))  # a result beside what it is made of
        while 2 * width <= most and columns % (2 * width * device.corelets) == 0:
            width *= 2
    blocks = {**plan.blocks, "rows": rows, "columns": width}
    return replace(plan, copies={"in": 3, "out": results}, blocks=blocks)


def _joint(
    host: PhasePlan,
    products: Shape,
    guest: PhasePlan,
    plan: Beside,
    sections: Sequence[float],
    ranges: Spans,
    device: Device,
) -> PhasePlan:
    """The plan of a contraction with a phase beside it, and what both take together.

    Either unit sets the pace of a row and its products; a row in one section lets as many be made meanwhile
    as the queue between both has room for. The next block begins when the partial sums are back.
    """
    vector, found = units(device).vector, roles(products, "swapped" in host.order)
    width = min(host.blocks["columns"], products.extents[found.column])
    last = _epilogues(products, found, width, ranges, device)
    passing = step_cycles([], [Port(width, "f32")], device, vector)
    rows, chunks = products.extents[found.row], -(-products.extents[found.depth] // host.blocks["depth"])
    depth = min(host.blocks["depth"], products.extents[found.depth])
    matrix = device.unit(host.unit).matrix
    assert matrix is not None
    product = matrix_cycles(depth, width, found.rows.dtype, matrix)
    link = device.find_link(host.unit, vector)
    room = link.capacity_bytes if link is not None else None
    queue = plan.products if room is None else room // (width * itemsize("f32"))
    back = 4.0 * device.signal_cycles + matrix.latency_cycles
    total = 0.0
    for block, count in enumerate(plan.counts):
        each = last[block // chunks] if block % chunks == chunks - 1 else passing
        work = sum(sections) + plan.products * each
        held_up = sections[0] + max(0, plan.turns[0] - queue) * product if len(sections) == 1 else 0.0
        total += count * max(plan.products * product, work, held_up)
        total += (rows - count * plan.products) * product
        total += back if chunks > 1 else 0.0
    parts = {**host.parts, host.unit: round(total, 1)}
    return replace(host, beside=guest.name, parts=parts)


def _epilogues(products: Shape, found: Roles, width: int, ranges: Spans, device: Device) -> list[float]:
    """Cycles of the vector unit for a row of each block of the last corelet, whose columns are the last."""
    ports = [Port(width, "f32"), *(Port(width, o.dtype) for o in products.outputs)]
    vector = units(device).vector
    blocks = by_block(products, found, width, ranges)
    cycles = []
    for computes in blocks[-max(1, len(blocks) // device.corelets) :]:
        ops = [op for c in computes[1:] for op in compute_ops(c, width, device, vector)]
        cycles.append(step_cycles(ops, ports, device, vector))
    return cycles
