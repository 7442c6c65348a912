"""The steps of a vector phase: what one row needs, in how many passes, and what every pass reads and
computes.

A row that fits the registers is received once. A longer one is received once a pass: each pass repeats the
pointwise
prefix and ends in reductions, so that only single elements live from pass to pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.arch.cost import Port, StepOp, op_class, step_cycles
from headrace.arch.device import Device
from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.graph import Compute, Out
from headrace.schedule.phases.bodyops import priced_entries
from headrace.schedule.phases.shape import Operand, Shape
from headrace.schedule.ring import message_cycles


@dataclass(frozen=True)
class Pass:
    """One pass over a row: operands received at its start, Computes evaluated in order."""

    reads: tuple[Operand, ...]
    computes: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One row (or lane chunk) of a vector phase.

    `resident` operands are received before the point loops; `lanes` of a Compute is whether its values are
    vectors.
    """

    resident: tuple[Operand, ...]
    passes: tuple[Pass, ...]
    is_vector: tuple[bool, ...]


def covers(compute: Compute, shape: Shape, lane: str) -> bool:
    """Return whether the Compute's iteration space contains the lane dim."""
    return any(shape.merged[d.name] == lane for d in compute.dims)


def has_lane(operand: Operand, lane: str) -> bool:
    """Return whether the operand is a vector along the lane dim."""
    return operand.surface.stride(lane) != 0


def levels(shape: Shape) -> list[int]:
    """Return for every Compute how many reductions lie before it on the longest chain."""
    found: list[int] = []
    after: dict[str, int] = {}
    for c, compute in enumerate(shape.group.computes):
        level = max(
            (after.get(a.value, 0) for i, a in enumerate(compute.ins) if (c, i) not in shape.reads), default=0
        )
        found.append(level)
        reduces = any(d.kind == "reduction" for d in compute.dims)
        for out in compute.outs:
            after[out.value] = level + 1 if reduces else level
    return found


def single_pass(shape: Shape, resident: tuple[Operand, ...]) -> tuple[Pass, ...]:
    """Return the one pass that receives everything once."""
    reads = tuple(o for o in shape.inputs if o not in resident)
    return (Pass(reads, tuple(range(len(shape.group.computes)))),)


def row_passes(shape: Shape, lane: str, resident: tuple[Operand, ...]) -> tuple[Pass, ...]:
    """Return the passes of a long row: one for each reduction, those first that need none before them, and
    one more if vectors leave the step.

    A row is not held while a reduction takes it, so no second one may follow in the same pass, and vectors
    come before it; numbers are received before vectors, which then need not wait for them.
    """
    computes = shape.group.computes
    level = levels(shape)
    vector = [covers(c, shape, lane) for c in computes]
    leaving = {o.value for o in shape.outputs}
    reductions = sorted((c for c, k in enumerate(computes) if _reduces(k)), key=lambda c: level[c])
    last = [c for c, k in enumerate(computes) if vector[c] and _leaves(k, leaving)]
    targets = [(level[c], [c]) for c in reductions]
    if last and reductions and max(level[c] for c in last) <= targets[-1][0]:
        targets[-1] = (targets[-1][0], [*targets[-1][1], *last])
    elif last:
        targets.append((level[reductions[-1]] + 1 if reductions else 0, last))
    passes: list[Pass] = []
    done: set[int] = set()
    received: set[Operand] = set(resident)
    for number, (depth, wanted) in enumerate(targets):
        needed = _needed(shape, wanted, vector, done)
        scalars = [c for c in range(len(computes)) if not vector[c] and c not in done and level[c] <= depth]
        chosen = sorted({*needed, *(_needed(shape, scalars, vector, done) if number else [])})
        if number == len(targets) - 1:
            chosen = sorted(
                {
                    *chosen,
                    *(c for c in range(len(computes)) if not vector[c] and c not in done and c not in chosen),
                }
            )
        reads = [
            o for o in _reads(shape, chosen) if o not in resident and (has_lane(o, lane) or o not in received)
        ]
        reads.sort(key=lambda o: has_lane(o, lane))
        received |= set(reads)
        done |= {c for c in chosen if not vector[c] or any(d.kind == "reduction" for d in computes[c].dims)}
        order = sorted(chosen, key=lambda c: (level[c], _reduces(computes[c]), c))
        passes.append(Pass(tuple(reads), tuple(order)))
    return tuple(passes)


def leaving(shape: Shape, step: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the results in the order in which they leave a step: vectors that leave as soon as they are
    computed, because a reduction of the last of several passes takes them too, and what leaves at the end.
    """
    results = tuple(dict.fromkeys(o.value for o in shape.outputs))
    computes = shape.group.computes
    last = step.passes[-1].computes
    if not any(_reduces(computes[c]) for c in last):
        return (), results
    made = [o.value for c in last if not _reduces(computes[c]) for o in computes[c].outs]
    vectors = {o.value for c in last if step.is_vector[c] for o in computes[c].outs}
    early = tuple(v for v in made if v in results and v in vectors)
    return early, tuple(v for v in results if v not in early)


def _leaves(compute: Compute, leaving: set[str]) -> bool:
    reduces = any(d.kind == "reduction" for d in compute.dims)
    return not reduces and any(o.value in leaving for o in compute.outs)


def _needed(shape: Shape, wanted: list[int], vector: list[bool], done: set[int]) -> list[int]:
    """Computes that have to be evaluated (again) for the wanted ones: all vectors, and scalars not yet
    known.
    """
    producer = {o.value: c for c, k in enumerate(shape.group.computes) for o in k.outs}
    found: set[int] = set()
    stack = list(wanted)
    while stack:
        c = stack.pop()
        if c in found or c in done:
            continue
        found.add(c)
        for i, access in enumerate(shape.group.computes[c].ins):
            if (c, i) not in shape.reads:
                stack.append(producer[access.value])
    return sorted(found)


def _reads(shape: Shape, computes: list[int]) -> list[Operand]:
    found = {shape.reads[key]: None for key in shape.reads if key[0] in computes}
    return [o for o in shape.inputs if o in found]


def step_of(shape: Shape, lane: str, elements: int, point: frozenset[str], device: Device, unit: str) -> Step:
    """Return the step of `elements` lanes; `point` are the dims of the point loops (what does not move is
    resident).
    """
    registers = device.unit(unit).registers_bytes
    room = registers if registers is not None else 1 << 60
    fixed = [o for o in shape.inputs if not point & set(o.surface.dims)]
    resident: list[Operand] = []
    used = 0
    for operand in sorted(fixed, key=lambda o: has_lane(o, lane)):
        size = row_bytes(operand, lane, elements)
        if used + size <= room // 2:
            resident.append(operand)
            used += size
    kept = tuple(o for o in shape.inputs if o in resident)
    live = live_bytes(shape, lane, elements)
    has_reduction = bool(shape.reduced)
    passes = single_pass(shape, kept)
    if has_reduction and live > room:
        passes = row_passes(shape, lane, kept)
    vectors = tuple(covers(c, shape, lane) for c in shape.group.computes)
    return Step(kept, passes, vectors)


def row_bytes(operand: Operand, lane: str, elements: int) -> int:
    """Return the bytes of one message of an operand."""
    return itemsize(operand.dtype) * (elements if has_lane(operand, lane) else 1)


def live_bytes(shape: Shape, lane: str, elements: int) -> int:
    """Return the register bytes a row needs if it is received once: inputs and values that live across a
    reduction.
    """
    total = sum(row_bytes(o, lane, elements) for o in shape.inputs)
    level = levels(shape)
    producer = {o.value: c for c, k in enumerate(shape.group.computes) for o in k.outs}
    crossing: dict[str, str] = {}
    for c, compute in enumerate(shape.group.computes):
        for i, access in enumerate(compute.ins):
            if (c, i) in shape.reads:
                continue
            source = shape.group.computes[producer[access.value]]
            if covers(source, shape, lane) and level[producer[access.value]] < level[c]:
                if not any(d.kind == "reduction" for d in source.dims):
                    crossing[access.value] = next(o for o in source.outs if o.value == access.value).value
    sizes = {o.value: itemsize(k.body[o.result].dtype) for k in shape.group.computes for o in k.outs}
    singles = sum(4 for c, k in enumerate(shape.group.computes) if not covers(k, shape, lane) or _reduces(k))
    return total + singles + sum(sizes[v] * elements for v in crossing)


def _reduces(compute: Compute) -> bool:
    return any(d.kind == "reduction" for d in compute.dims)


def accumulator_dtype(out: Out, compute: Compute) -> str:
    """Return the type a reduction accumulates in: sums and products of narrow floats in f32."""
    dtype = compute.body[out.result].dtype
    if out.combiner in ("add", "mul") and is_float(dtype) and itemsize(dtype) < 4:
        return "f32"
    return dtype


def cost(
    shape: Shape, step: Step, lane: str, elements: int, device: Device, unit: str, alone: int | None = None
) -> float:
    """Return the predicted cycles of the compute unit for one step, on the corelet that works `alone`."""
    ops: list[StepOp] = []
    ports = [Port(elements if has_lane(o, lane) else 1, o.dtype) for p in step.passes for o in p.reads]
    values = {
        o.value: (c, k.body[o.result].dtype) for c, k in enumerate(shape.group.computes) for o in k.outs
    }
    for value in dict.fromkeys(o.value for o in shape.outputs):
        c, dtype = values[value]
        reduces = any(d.kind == "reduction" for d in shape.group.computes[c].dims)
        ports.append(Port(elements if step.is_vector[c] and not reduces else 1, dtype))
    for one in step.passes:
        for c in one.computes:
            ops += compute_ops(shape.group.computes[c], elements if step.is_vector[c] else 1, device, unit)
    waited = 0.0
    for c, compute in enumerate(shape.group.computes):
        waited += message_cycles(compute, elements if step.is_vector[c] else 1, device, unit, alone)
    return step_cycles(ops, ports, device, unit) + waited


def compute_ops(compute: Compute, elements: int, device: Device, unit: str) -> list[StepOp]:
    """Return the priced ops of one Compute on so many lanes."""
    found = [
        StepOp(op_class(name, device.unit(unit)), elements, dtype)
        for name, dtype in priced_entries(compute.body)
    ]
    reduces = any(d.kind == "reduction" for d in compute.dims)
    for out in compute.outs:
        if out.combiner is not None and reduces:
            found.append(StepOp("arith", elements, accumulator_dtype(out, compute), is_reduction=True))
    return found


def point_dims(shape: Shape, tile: Mapping[str, int], lane: str) -> frozenset[str]:
    """Return the dims a tile's point loops run over."""
    return frozenset(d for d, e in tile.items() if d != lane and e > 1)
