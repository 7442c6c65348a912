"""A vector phase beside a contraction: its rows run between the rows of the products, so that the matrix unit
works while the vector unit does.

Every unit runs its program in order, and a result of the matrix unit waits in a short queue for the vector
unit. So the rows of both alternate: a row of the vector phase, then products that are ready by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.phases.contraction import Roles, roles
from headrace.schedule.phases.passes import accumulator_dtype, has_lane, leaving, step_of
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.phases.straight import straight
from headrace.schedule.plan import PhasePlan
from headrace.schedule.ring import ring_entry
from headrace.schedule.units import units


@dataclass(frozen=True)
class Beside:
    """How the rows of a vector phase (dims `row`, `lane`) lie between those of a contraction.

    `by` "rows": whole rows, the same number beside every block; "columns": of every row the columns of the
    block. `counts` are the rows of one corelet beside each of its blocks, in order; each comes in as many
    sections as there are `turns`, and after section i come `turns[i]` products. Their partial sums go to the
    matrix unit `lead` turns ahead of the section, as far as they belong to the same row. Passes before the
    last take `joined` sections at once.
    """

    by: Literal["rows", "columns"]
    row: str
    lane: str
    elements: int
    counts: tuple[int, ...]
    turns: tuple[int, ...]
    lead: int = 0
    joined: int = 1

    @property
    def products(self) -> int:
        """Products beside one row."""
        return sum(self.turns)


def beside(host: PhasePlan, products: Shape, guest: PhasePlan, rows: Shape, device: Device) -> Beside | None:
    """Return how the rows of the phase `guest` can run beside the products of `host`, which follows it; None
    if they cannot.
    """
    if not _is_host(host, products, device) or not _is_guest(guest, rows):
        return None
    found = roles(products, "swapped" in host.order)
    made = {o.value for o in rows.outputs}
    taken = {o.value for o in products.inputs}
    written = {o.value for o in products.outputs}
    read = {o.value for o in rows.inputs}
    if made & (taken | written):
        return None
    width = min(host.blocks["columns"], products.extents[found.column])
    across = products.extents[found.column] // (width * device.corelets)
    blocks = across * -(-products.extents[found.depth] // host.blocks["depth"])
    row = next(d for d in rows.extents if d != guest.lane)
    if written & read:
        is_alike = all(_is_alike(o, p, found, row, guest.lane) for o in rows.inputs for p in products.outputs)
        if rows.reduced or not is_alike or dict(rows.extents) != _result(row, guest.lane, found, products):
            return None
        if products.extents[found.depth] > host.blocks["depth"]:
            return None
        counts = (rows.extents[row],) * blocks
        between = products.extents[found.row] // max(counts)
        plan = Beside("columns", row, guest.lane, width, counts, (between,))
    else:
        each, rest = divmod(rows.extents[row], device.corelets)
        if rest or guest.step < rows.extents[guest.lane] or blocks > each or across > 1:
            return None
        counts = _shares(each, blocks)
        if len(set(counts[:-1])) > 1:
            return None
        most, room = products.extents[found.row] // max(counts), _queue(host, products, found, device)
        plan = Beside("rows", row, guest.lane, guest.step, counts, (min(most, room),))
        wanted = min(most, max(-(-most // room), _pieces(plan, rows, guest, device)))
        sections = _sections(wanted, most, plan, rows, guest, device)
        if sections > 1:
            turns = tuple(most * (k + 1) // sections - most * k // sections for k in range(sections))
            plan = replace(
                plan,
                turns=turns,
                lead=max(0, sum(made < room for made in accumulate(turns)) - 1),
                joined=_joined(sections, plan, rows, guest, device),
            )
    step = step_of(rows, plan.lane, plan.elements, frozenset({plan.row}), device, guest.unit)
    return plan if not step.resident and plan.products > 0 else None


def _pieces(plan: Beside, rows: Shape, guest: PhasePlan, device: Device) -> int:
    """In how many pieces a row passes the queue before the vector unit without filling it."""
    room = _reader_queue(guest, device)
    return 1 if room is None else -(-2 * _row_bytes(plan, rows) // room)


def _joined(sections: int, plan: Beside, rows: Shape, guest: PhasePlan, device: Device) -> int:
    """How many sections together fill that queue at most."""
    room, size = _reader_queue(guest, device), _row_bytes(plan, rows)
    fitting = (k for k in range(sections, 1, -1) if sections % k == 0 and room is not None)
    return next((k for k in fitting if size * k <= (room or 0) * sections), 1)


def _reader_queue(guest: PhasePlan, device: Device) -> int | None:
    link = device.find_link(units(device).reader, guest.unit)
    return link.capacity_bytes if link is not None else None


def _row_bytes(plan: Beside, rows: Shape) -> int:
    """Bytes of a row of the widest operand."""
    return plan.elements * max((itemsize(o.dtype) for o in rows.inputs if has_lane(o, plan.lane)), default=1)


def _sections(wanted: int, most: int, plan: Beside, rows: Shape, guest: PhasePlan, device: Device) -> int:
    """The sections of a row, as many as wanted if possible, else some more, not more than `most`: whole
    vectors, and no value that several of them make together but reductions.
    """
    step = step_of(rows, plan.lane, plan.elements, frozenset({plan.row}), device, guest.unit)
    early, late = leaving(rows, step)
    computes = rows.group.computes
    for one in step.passes:
        for c in one.computes:
            is_reduction = any(d.kind == "reduction" for d in computes[c].dims)
            outs = computes[c].outs
            is_wide = all(accumulator_dtype(o, computes[c]) == computes[c].body[o.result].dtype for o in outs)
            if not (is_reduction and is_wide) and not (step.is_vector[c] and not is_reduction):
                return 1
    if any(isinstance(o.init, str) for c in computes for o in c.outs):
        return 1
    if any(has_lane(o, plan.lane) for o in rows.outputs if o.value in late) or not early:
        return 1
    narrow = min(itemsize(o.dtype) for o in (*rows.inputs, *rows.outputs))
    lanes = device.lanes(guest.unit, "f32" if narrow >= 4 else "f16")
    even = [k for k in range(1, most + 1) if plan.elements % (k * lanes) == 0]
    return min((k for k in even if k >= wanted), default=max(even, default=1))


def _is_host(host: PhasePlan, products: Shape, device: Device) -> bool:
    """Whether a contraction has one tile, whose columns the corelets share out in whole blocks."""
    if host.kind != "contract" or host.unit == units(device).vector or host.split != "columns":
        return False
    found = roles(products, "swapped" in host.order)
    if host.taper or host.kept or found.outer or found.outer_depth or "waiting" in host.copies:
        return False
    if not (found.row and found.column and found.depth):
        return False
    extents = products.extents
    if any(host.tile[d] < extents[d] for d in extents) or host.blocks["rows"] < extents[found.row]:
        return False
    width = min(host.blocks["columns"], extents[found.column])
    return extents[found.column] % (width * device.corelets) == 0


def _is_guest(guest: PhasePlan, rows: Shape) -> bool:
    if guest.kind != "vector" or guest.chunk or straight(rows) or len(rows.extents) != 2:
        return False
    if any(ring_entry(compute) is not None for compute in rows.group.computes):
        return False
    return guest.lane in rows.extents and all(o.storage.kind == "lx" for o in (*rows.inputs, *rows.outputs))


def _is_alike(read: Operand, result: Operand, found: Roles, row: str, lane: str) -> bool:
    """Whether what is read is none of the result, or lies under the same coordinates."""
    if read.value != result.value:
        return True
    return (read.storage, read.surface.base) == (result.storage, result.surface.base) and (
        read.surface.stride(row),
        read.surface.stride(lane),
    ) == (result.surface.stride(found.row), result.surface.stride(found.column))


def _result(row: str, lane: str, found: Roles, products: Shape) -> dict[str, int]:
    return {row: products.extents[found.row], lane: products.extents[found.column]}


def _shares(rows: int, blocks: int) -> tuple[int, ...]:
    """Rows beside each block: alike, fewer beside the last."""
    each = -(-rows // blocks)
    return tuple(min(each, max(0, rows - each * k)) for k in range(blocks))


def _queue(host: PhasePlan, products: Shape, found: Roles, device: Device) -> int:
    """For how many products there is room on the way to the matrix unit for their partial sums: one at least,
    which passes piece by piece.
    """
    kinds = units(device)
    link = device.find_link(kinds.feeds.partial_sums.kind, host.unit) if kinds.feeds is not None else None
    size = min(host.blocks["columns"], products.extents[found.column]) * itemsize("f32")
    room = link.capacity_bytes if link is not None else None
    return products.extents[found.row] if room is None else max(1, room // size)
