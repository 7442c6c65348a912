"""Data movement as composite ops: memory to memory, memory to channel, channel to memory, gathers and
scatters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute, Block, Operation, SSAValue

from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.schedule.lower.emit.boxes import Side, Symbols, Walk, factors, run, side, vector_shape
from headrace.schedule.lower.emit.ops import body, box, identity, int32, make, segments, vector
from headrace.schedule.lower.emit.values import ProgramValues
from headrace.schedule.lower.index import ONE, Expr, Var, combine, substitute, variables
from headrace.schedule.lower.tree import Place, PointLoop, Slot, Transfer, trips

Addresses = dict[str, int]


@dataclass(frozen=True)
class Time:
    """A time dim of a composite op: a point loop of the stage."""

    var: Var
    low: Expr
    step: Expr
    count: Expr


def times_of(loops: Sequence[PointLoop]) -> tuple[Time, ...]:
    """Return the time dims of a nest of point loops."""
    return tuple(Time(p.var, p.low, p.step, trips(p.low, p.high, p.step)) for p in loops)


def copy(
    op: Transfer, program: ProgramValues, addresses: Addresses, loops: Sequence[PointLoop] = ()
) -> Operation:
    """Emit a memory-to-memory transfer, or a nest of loops around one, as one composite_load_and_store."""
    source, target = op.source, op.target
    assert isinstance(source, Place) and isinstance(target, Place)
    order = op.order or tuple(range(len(source.sizes)))
    found = factors(source.sizes, target.sizes, order, op.where)
    count = run(found, source, target)
    slow, fast = found[: len(found) - count], found[len(found) - count :]
    times = times_of(loops)
    left = _walk(_paced(source, op, times), [f.left for f in slow], [(f.left, f.size) for f in fast])
    right = _walk(_paced(target, op, times), [f.right for f in slow], [(f.right, f.size) for f in fast])
    shape = _run_shape(left, right, op)
    symbols = Symbols()
    sizes = [*(t.count for t in times), *(f.size for f in slow)]
    for size in (*left.extents, *right.extents, *sizes):
        symbols.size(size)
    a, b = side(left, program, symbols, addresses), side(right, program, symbols, addresses)
    bound = [program.value(e) for e in symbols.exprs]
    group = [] if op.groups is None else multicast(op.groups, program)
    properties = {
        "src_map": a.subscript,
        "dst_map": b.subscript,
        "load_set": a.set,
        "load_order": a.order,
        "store_set": b.set,
        "store_order": b.order,
        "load_time_addr_map": a.time_map,
        "store_time_addr_map": b.time_map,
        **timing(sizes, symbols),
        "operandSegmentSizes": segments(1, 1, len(a.operands), len(b.operands), len(bound), len(group)),
    }
    inner = Block(arg_types=[vector(source.memory.dtype, shape)])
    inner.add_op(make("agen.yield"))
    operands = [a.view, b.view, *a.operands, *b.operands, *bound, *group]
    return program.emit(make("agen.composite_load_and_store", operands, (), properties, [body(inner)]))


def _walk(paced: Walk, slow: Sequence[tuple[int, int]], fast: Sequence[tuple[tuple[int, int], Expr]]) -> Walk:
    """Return the walk of a copy: one run a vector, the loops around it and then the slow factors as time."""
    rank = len(paced.place.sizes)
    extents = [ONE] * rank
    for (dim, _), size in fast:
        extents[dim] = combine("mul", extents[dim], size)
    times = (*paced.times, *((move,) for move in slow))
    return replace(paced, extents=tuple(extents), order=tuple(range(rank)), times=times)


def _run_shape(left: Walk, right: Walk, op: Transfer) -> tuple[int, ...]:
    """Return the vector of one run: its elements in a row; a dynamic run is bounded by the smaller array."""
    elements = 1
    for size in left.extents:
        if size.is_number and isinstance(size.const, int):
            elements *= size.const
            continue
        bounds = [
            walk.place.memory.shape[d]
            for walk in (left, right)
            for d, e in enumerate(walk.extents)
            if e == size and walk.place.memory.shape[d] is not None
        ]
        if not bounds:
            hint = "one side is a buffer, whose shape bounds the run"
            raise HeadraceError(Diagnostic("a run has no static bound", op.where, hint=hint))
        elements *= min(b for b in bounds if b is not None)
    return (elements,)


def timing(counts: Sequence[Expr], symbols: Symbols) -> dict[str, Attribute]:
    sizes = tuple(symbols.size(c) for c in counts) or (1,)
    used = len(symbols.exprs) if any(isinstance(s, str) for s in sizes) else 0
    return {"time_set": box(sizes, used), "time_order": identity(len(sizes))}


def messages(
    ops: Sequence[Transfer], loops: Sequence[PointLoop], program: ProgramValues, addresses: Addresses
) -> None:
    """Emit the transfers of one point of a nest: a composite op each, interleaved message by message if
    several.
    """
    times = times_of(loops)
    if len(ops) == 1:
        _message(ops[0], times, program, addresses)
        return
    inner, outer = Block(), program.here
    # views, maps and subscripts belong in front of the interleave, whose body holds composite ops only
    made = [_build(op, times, program, addresses) for op in ops]
    program.here = outer
    for op in made:
        inner.add_op(op)
    inner.add_op(make("agen.yield"))
    program.emit(make("agen.composite_memory_interleave", (), (), {"granularity": int32(1)}, [body(inner)]))


def _message(op: Transfer, times: Sequence[Time], program: ProgramValues, addresses: Addresses) -> None:
    program.emit(_build(op, times, program, addresses))


def _build(op: Transfer, times: Sequence[Time], program: ProgramValues, addresses: Addresses) -> Operation:
    is_load = isinstance(op.source, Place)
    place, slot = (op.source, op.target) if is_load else (op.target, op.source)
    assert isinstance(place, Place) and isinstance(slot, Slot)
    walk = _paced(place, op, times)
    shape = vector_shape(walk, slot.elements, op.where)
    if slot.shape and slot.elements == _product(slot.shape):
        shape = slot.shape
    symbols = Symbols()
    for size in (*walk.extents, *(t.count for t in times)):
        symbols.size(size)
    found = side(walk, program, symbols, addresses)
    kind = vector(slot.dtype, shape)
    bound = [program.value(e) for e in symbols.exprs]
    peer = slot.target if is_load else slot.source
    other = program.peer(peer, ring=slot.ring_step if is_load else -slot.ring_step)
    steps = timing([t.count for t in times], symbols)
    if is_load:
        return _load(found, other, kind, bound, steps)
    return _store(found, other, kind, bound, steps)


def _product(shape: Sequence[int]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _load(
    found: Side, peer: SSAValue, kind: Attribute, bound: list[SSAValue], steps: dict[str, Attribute]
) -> Operation:
    inner = Block(arg_types=[kind])
    inner.add_op(make("dataflow.send", [peer, inner.args[0]]))
    inner.add_op(make("agen.yield"))
    properties = {
        "affine_map": found.subscript,
        "load_set": found.set,
        "load_order": found.order,
        "time_addr_map": found.time_map,
        **steps,
        "operandSegmentSizes": segments(1, len(found.operands), len(bound)),
    }
    operands = [found.view, *found.operands, *bound]
    return make("agen.composite_load", operands, (), properties, [body(inner)])


def _store(
    found: Side, peer: SSAValue, kind: Attribute, bound: list[SSAValue], steps: dict[str, Attribute]
) -> Operation:
    inner = Block()
    received = make("dataflow.receive", [peer], [kind])
    inner.add_op(received)
    inner.add_op(make("agen.yield", [received.results[0]]))
    properties = {
        "affine_map": found.subscript,
        "store_set": found.set,
        "store_order": found.order,
        "time_addr_map": found.time_map,
        **steps,
        "operandSegmentSizes": segments(1, len(found.operands), 0, len(bound)),
    }
    operands = [found.view, *found.operands, *bound]
    return make("agen.composite_store", operands, (), properties, [body(inner)])


def _paced(place: Place, op: Transfer, times: Sequence[Time]) -> Walk:
    """Return the walk of a box whose corner moves with the point loops."""
    starts = {t.var: t.low for t in times}
    moves: list[list[tuple[int, int]]] = [[] for _ in times]
    corner = []
    for dim, expr in enumerate(place.corner):
        for k, time in enumerate(times):
            step = _pace(expr, time, op)
            if step:
                moves[k].append((dim, step))
        corner.append(substitute(expr, starts))
    moved = replace(place, memory=replace(place.memory, copy=substitute(place.memory.copy, starts)))
    if moved.memory.copy != place.memory.copy:
        raise HeadraceError(Diagnostic("a point loop rotates buffer copies", op.where))
    order = op.order or tuple(range(len(place.sizes)))
    return Walk(moved, place.sizes, order, tuple(tuple(m) for m in moves), tuple(corner))


def _pace(expr: Expr, time: Time, op: Transfer) -> int:
    """Return by how many elements one more iteration moves a corner; an error unless it is a constant."""
    total = 0
    for atom, c in expr.terms:
        if atom == time.var:
            if not isinstance(c, int) or not time.step.is_number or not isinstance(time.step.const, int):
                raise HeadraceError(Diagnostic("a point loop moves a box by different amounts", op.where))
            total += c * time.step.const
        elif not isinstance(atom, Var) and time.var in variables(Expr(0, ((atom, 1),))):
            hint = "subscripts are linear in point loop variables"
            raise HeadraceError(Diagnostic("a subscript is not linear in a point loop", op.where, hint=hint))
    return total


def multicast(groups: Sequence[int], program: ProgramValues) -> list[SSAValue]:
    """Return the multicast group of each instance, or nothing if every group has one member."""
    members: dict[int, list[SSAValue]] = {}
    for group, instance in zip(groups, program.instances, strict=True):
        members.setdefault(group, []).append(program.function.unit(program.kind, instance))
    if max(len(m) for m in members.values()) == 1:
        return []
    memory = program.function.memory("hbm", 0)
    handles = [program.function.multicast(memory, tuple(members[group])) for group in groups]
    return [program.mapped(handles, "group")]
