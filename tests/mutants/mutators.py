"""Places for one fault in a DFIR module, in eight classes that mirror what the sanitizer looks for.

A mutator lists the places of a module where it applies, as thunks that change the module and say what they
did. Modules are changed in place: mutate a clone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineConstraintExpr, AffineMap, AffineSet
from xdsl.rewriter import Rewriter

from headrace.ir.dataflow.messages import SyncRecvOp, SyncSendOp
from headrace.ir.text import location, parse
from headrace.numbers.dtypes import itemsize

Change = tuple[str, Callable[[], None]]
"""What a change is called, and what makes it."""

SYNCS = ("dataflow.sync_send", "dataflow.sync_recv")
STREAMS = ("agen.composite_load", "agen.composite_store")
COPIES = ("agen.composite_load_and_store", "agen.composite_indirect_load_and_store")
VECTORS = ("agen.vector_load", "agen.vector_store")
MOVES = (*STREAMS, *COPIES, *VECTORS, "agen.composite_memory_interleave")
ACCESSES = (*MOVES, "dataflow.send", "dataflow.receive", "scf.for")


# ---- what the classes are made of --------------------------------------------------------------------------
def programs(module: Any) -> Iterator[Any]:
    return (op for op in module.walk() if op.name == "dataflow.program_unit")


def programs_of_several(module: Any) -> Iterator[tuple[Any, list[SSAValue]]]:
    """The programs that more than one unit runs, with these."""
    return ((p, list(p.units)) for p in programs(module) if len(list(p.units)) > 1)


def own_numbers(program: Any) -> Iterator[Any]:
    """The queries of tables by the unit that runs a program."""
    own = program.region.block.args[0]
    return (op for op in program.walk() if op.name == "uniform.query_map" and op.key is own)


def ops_of(module: Any, *names: str) -> Iterator[Any]:
    for program in programs(module):
        for op in program.walk():
            if op.name in names:
                yield op


def at(op: Operation) -> str:
    place = location(op)
    return f"{op.name} at {place.line}:{place.col}"


def _label(op: Any) -> str:
    return op.dbgName.data if op.dbgName is not None else ""


def _is_fence(op: Any) -> bool:
    return "fence" in _label(op)


def syncs(module: Any) -> list[Any]:
    return [op for op in ops_of(module, *SYNCS) if not _is_fence(op)]


def _plus(op: Operation, value: SSAValue, amount: int) -> SSAValue:
    """value + amount, computed in front of an op."""
    constant = ConstantOp.from_int_and_width(amount, IndexType())
    total = AddiOp(value, constant.result, result_type=IndexType())
    block = op.parent
    assert block is not None
    block.insert_ops_before([constant, total], op)
    return total.result


def _set_operand(op: Operation, old: SSAValue, new: SSAValue) -> None:
    position = next(k for k, v in enumerate(op.operands) if v is old)
    op.operands[position] = new


def _loop_end(loop: Any, amount: int) -> Callable[[], None]:
    def change() -> None:
        loop.operands[1] = _plus(loop, loop.ub, amount)

    return change


def _resized(attribute: Any, amount: int) -> Any | None:
    """A set with its first movable upper bound moved; None if it has none."""
    found = attribute.data
    constraints = list(found.constraints)
    for k, c in enumerate(constraints):
        zero = c.lhs.eval([0] * found.num_dims, [0] * found.num_symbols)
        slopes = [
            c.lhs.eval([int(d == i) for d in range(found.num_dims)], [0] * found.num_symbols) - zero
            for i in range(found.num_dims)
        ]
        if c.kind.name == "ge" and any(s < 0 for s in slopes) and (amount > 0 or zero + amount >= 0):
            constraints[k] = AffineConstraintExpr(c.kind, c.lhs + AffineConstantExpr(amount), c.rhs)
            return AffineSetAttr(AffineSet(found.num_dims, found.num_symbols, tuple(constraints)))
    return None


def _sets(op: Any, names: tuple[str, ...], amount: int) -> Callable[[], None] | None:
    """A change of one set in each of several properties of an op; None if they have no bound to move."""
    new = {n: _resized(op.properties[n], amount) for n in names if n in op.properties}
    if not new or any(v is None for v in new.values()):
        return None
    return lambda: op.properties.update(new)


def _shifted(attribute: Any, dim: int, amount: int) -> Any:
    found = attribute.data
    results = [r + AffineConstantExpr(amount) if k == dim else r for k, r in enumerate(found.results)]
    return AffineMapAttr(AffineMap(found.num_dims, found.num_symbols, tuple(results)))


def _swap(first: Operation, second: Operation) -> Callable[[], None]:
    def change() -> None:
        block = first.parent
        assert block is not None
        first.detach()
        block.insert_op_after(first, second)

    return change


def _erase(*ops: Any) -> Callable[[], None]:
    def change() -> None:
        for op in ops:
            for result in op.results:
                assert not list(result.uses)
            op.detach()
            op.erase()

    return change


def _double(op: Operation) -> Callable[[], None]:
    def change() -> None:
        block = op.parent
        assert block is not None
        block.insert_op_after(op.clone(), op)

    return change


def is_device(view: Any) -> bool:
    unit = view.unit.owner
    return getattr(unit, "name", "") == "dataflow.get_unit" and "core" not in unit.attributes


def _views(module: Any) -> list[Any]:
    """Views of scratchpads and register files."""
    return [v for v in ops_of(module, "dataflow.get_logical_memory_view") if not is_device(v)]


def _is_local(memref: SSAValue) -> bool:
    op = memref.owner
    return isinstance(op, Operation) and op.name == "dataflow.get_logical_memory_view" and not is_device(op)


# ---- the classes -------------------------------------------------------------------------------------------
def order(module: Any) -> Iterator[Change]:
    """Races: an access before its wait or behind its signal, or both signals of a label gone."""
    labels: dict[str, list[Any]] = {}
    for op in syncs(module):
        labels.setdefault(_label(op), []).append(op)
        after, before = op.next_op, op.prev_op
        if (
            op.name == "dataflow.sync_recv"
            and after is not None
            and after.name in MOVES
            and not after.results
        ):
            yield f"wait behind its access: {at(op)}", _swap(op, after)
        if (
            op.name == "dataflow.sync_send"
            and before is not None
            and before.name in MOVES
            and not before.results
        ):
            yield f"signal before its access: {at(op)}", _swap(before, op)
    for label, ops in labels.items():
        yield f"label dropped: {label!r}", _erase(*ops)


def signals(module: Any) -> Iterator[Change]:
    """Lost signals: one signal or wait dropped, doubled, or meant for another unit."""
    for op in syncs(module):
        yield f"dropped: {at(op)}", _erase(op)
        yield f"doubled: {at(op)}", _double(op)
        mine = op.operands[0]
        program = op
        while program.name != "dataflow.program_unit":
            program = program.parent_op()
        peers = {o.operands[0] for o in program.walk() if o.name in SYNCS} - {mine}
        if peers:
            other = sorted(peers, key=lambda v: str(v.name_hint))[0]
            yield f"peer changed: {at(op)}", (lambda o=op, v=other: o.operands.__setitem__(0, v))


def credits(module: Any) -> Iterator[Change]:
    """Deadlock: another number of credits, waits moved in front of the signals that let the partner go on."""
    for loop in ops_of(module, "scf.for"):
        inner = [op for op in loop.body.block.ops if op.name in SYNCS]
        if inner and all(op.name in (*SYNCS, "scf.yield") for op in loop.body.block.ops):
            yield f"credit less: {at(loop)}", _loop_end(loop, -1)
            yield f"credit more: {at(loop)}", _loop_end(loop, 1)
    for op in syncs(module):
        others = [o for o in op.parent.ops if o.name in SYNCS and o is not op]
        if op.name == "dataflow.sync_recv":
            earlier = [o for o in others if o.name == "dataflow.sync_send" and o.is_before_in_block(op)]
            if earlier:
                yield f"wait earlier: {at(op)}", _before(op, earlier[0])
        else:
            later = [o for o in others if o.name == "dataflow.sync_recv" and op.is_before_in_block(o)]
            if later:
                yield f"signal later: {at(op)}", _swap(op, later[-1])
    labels: dict[str, list[Any]] = {}
    for op in syncs(module):
        labels.setdefault(_label(op), []).append(op)
    for label, ops in labels.items():
        yield f"answer awaited before the signal: {label!r}", _answered(ops)
    for loop in ops_of(module, "scf.for"):
        before = loop.prev_op
        if (
            before is not None
            and before.name == "dataflow.sync_send"
            and any(o.name in SYNCS for o in loop.walk())
        ):
            yield f"signal after loop: {at(loop)}", _swap(before, loop)


def _answered(ops: list[Any]) -> Callable[[], None]:
    """Whoever signals waits for an answer first, which comes after the signal has arrived."""

    def change() -> None:
        for op in ops:
            if op.name == "dataflow.sync_send":
                op.parent.insert_op_before(SyncRecvOp.create(operands=[op.to], properties={}), op)
            else:
                op.parent.insert_op_after(SyncSendOp.create(operands=[op.from_], properties={}), op)

    return change


def _before(op: Any, first: Any) -> Callable[[], None]:
    def change() -> None:
        op.detach()
        first.parent.insert_op_before(op, first)

    return change


def messages(module: Any) -> Iterator[Change]:
    """FIFO: a message dropped or doubled, another trip count or number of vectors on one side."""
    for op in ops_of(module, "dataflow.send", "dataflow.receive"):
        inside = op.parent_op()
        if inside is not None and inside.name in STREAMS:
            continue
        if op.name == "dataflow.send":
            yield f"send dropped: {at(op)}", _erase(op)
            yield f"send doubled: {at(op)}", _double(op)
        else:
            yield f"receive doubled: {at(op)}", _double(op)
    for loop in ops_of(module, "scf.for"):
        if any(op.name in ("dataflow.send", "dataflow.receive", *STREAMS) for op in loop.walk()):
            yield f"iteration less: {at(loop)}", _loop_end(loop, -1)
            yield f"iteration more: {at(loop)}", _loop_end(loop, 1)
    for op in ops_of(module, *STREAMS):
        for amount, word in ((-1, "less"), (1, "more")):
            change = _sets(op, ("time_set",), amount)
            if change is not None:
                yield f"vector {word}: {at(op)}", change


def coverage(module: Any) -> Iterator[Change]:
    """Never-written reads: what fills a buffer is gone or fills less of it."""
    fills: dict[Any, list[Any]] = {}
    for op in ops_of(module, *COPIES):
        target = op.dst if op.name == COPIES[0] else op.direct_dst
        if _is_local(target):
            fills.setdefault((target.owner.parent, target.owner.start), []).append(op)
    for ops in fills.values():
        # all fills of a buffer alike: a later one that is short leaves what an earlier one wrote
        yield f"copy dropped: {at(ops[0])}", _erase(*ops)
        for names, word in ((("time_set",), "rows"), (("load_set", "store_set"), "columns")):
            changes = [_sets(op, names, -1) for op in ops]
            if all(changes):
                yield f"{word} missing: {at(ops[0])}", _all(changes)
    stores: dict[Any, list[Any]] = {}
    for op in ops_of(module, "agen.composite_store"):
        if _is_local(op.memref):
            stores.setdefault(op.memref.owner, []).append(op)
    for ops in stores.values():
        yield f"stored elsewhere: {at(ops[0])}", _all([_moved(op, "affine_map", 1) for op in ops])
    for op in ops_of(module, "agen.vector_store"):
        yield f"store dropped: {at(op)}", _erase(op)


def _all(changes: list[Any]) -> Callable[[], None]:
    def change() -> None:
        for one in changes:
            one()

    return change


def _moved(op: Any, name: str, amount: int, dim: int = -1) -> Callable[[], None]:
    attribute = op.properties[name]
    at = dim % len(attribute.data.results)
    return lambda: op.properties.update({name: _shifted(attribute, at, amount)})


def bounds(module: Any) -> Iterator[Change]:
    """Out of bounds: a position shifted by the size of its view, or a view made smaller."""
    maps = {
        "agen.composite_load": ["memref"],
        "agen.composite_store": ["memref"],
        VECTORS[0]: ["memref"],
        VECTORS[1]: ["memref"],
        COPIES[0]: ["src", "dst"],
    }
    for op in ops_of(module, *maps):
        for side in maps[op.name]:
            name = "affine_map" if side == "memref" else f"{side}_map"
            shape = getattr(op, side).type.get_shape()
            for dim, extent in enumerate(shape):
                if extent > 0:
                    yield f"shifted: {at(op)} {side} dim {dim}", _moved(op, name, extent, dim)
                    yield f"before the start: {at(op)} {side} dim {dim}", _moved(op, name, -extent, dim)
    for view in ops_of(module, "dataflow.get_logical_memory_view"):
        shape = list(view.result.type.get_shape())
        for dim, extent in enumerate(shape):
            if extent > 1:
                smaller = [e - 1 if d == dim else e for d, e in enumerate(shape)]
                yield f"view smaller: {at(view)} dim {dim}", _retyped(view, smaller)


def _retyped(view: Any, shape: list[int]) -> Callable[[], None]:
    old = view.result.type
    new = MemRefType(old.element_type, shape, old.layout, old.memory_space)
    return lambda: Rewriter.replace_value_with_new_type(view.result, new) and None


def addresses(module: Any) -> Iterator[Change]:
    """Alignment and overlap: a buffer moved by less than a granule or onto another, a view moved away."""
    buffers: dict[int, list[Any]] = {}
    for view in _views(module):
        start = constant(view.start)
        if start is not None and getattr(view.unit.owner, "name", "") != "dataflow.get_local_unit":
            buffers.setdefault(start * _itemsize(view), []).append(view)
    top = max((low + max(map(_bytes, views)) for low, views in buffers.items()), default=0)
    for low, views in buffers.items():
        for amount in (2, 6, 48):
            yield f"misaligned: buffer at {low} by {amount}", _restarted(views, low + amount)
        for amount in (128, 512, -128, -512):
            if low + amount >= 0:
                yield f"moved: buffer at {low} by {amount}", _restarted(views, low + amount)
        for other in buffers.keys() - {low}:
            yield f"on another: buffer at {low} to {other}", _restarted(views, other)
        for view in views:
            yield f"view away: {at(view)}", _restarted([view], -(-top // 128) * 128)


def constant(value: SSAValue) -> int | None:
    """The number an SSA value is by definition."""
    op = value.owner
    return op.value.value.data if isinstance(op, ConstantOp) else None


def _itemsize(view: Any) -> int:
    return itemsize(str(view.result.type.element_type))


def _bytes(view: Any) -> int:
    """Bytes a view of a fixed size spans."""
    last = view.layout_map.data.eval([max(e, 1) - 1 for e in view.result.type.get_shape()], [])[0]
    return (int(last) + 1) * _itemsize(view)


def _restarted(views: list[Any], start_bytes: int) -> Callable[[], None]:
    def change() -> None:
        for view in views:
            start = ConstantOp.from_int_and_width(start_bytes // _itemsize(view), IndexType())
            view.parent.insert_op_before(start, view)
            view.operands[1] = start.result

    return change


def registers(module: Any) -> Iterator[Change]:
    """Register files: those of another unit, or a value spilled to the file of one unit by all of a kind."""
    for op in ops_of(module, "dataflow.get_local_unit"):
        program = op.parent_op()
        peers = {o.operands[0] for o in program.walk() if o.name in ("dataflow.send", "dataflow.receive")}
        for peer in sorted(peers, key=lambda v: str(v.name_hint)):
            if peer.owner.parent is op.parent:
                yield f"of another unit: {at(op)} {peer.name_hint}", _of_unit(op, peer)
    for program in programs(module):
        for op in program.walk():
            if op.name == "dataflow.send" and op.parent_op().name not in STREAMS and _lanes(op.data.type) > 1:
                for k in {0, len(program.units) - 1}:
                    yield f"spilled to one file: {at(op)} unit {k}", _spilled(op, program.units[k])


def _lanes(kind: Any) -> int:
    return int(prod(kind.get_shape())) if len(kind.get_shape()) == 1 else 0


SPILL = """
#same = affine_map<(d0) -> (d0)>
#all = affine_set<(d0) : (d0 >= 0, -d0 + {last} >= 0)>
func.func @f(%value: vector<{n}x{dtype}>, %unit: index) {{
  %reg = dataflow.get_local_unit %unit {{name = "sfu_reg"}} : index
  %zero = arith.constant 512 : index
  %view = dataflow.get_logical_memory_view %reg, %zero {{layout_map = #same}}
    : index, index, memref<{n}x{dtype}>
  agen.vector_store %value, %view[0] {{store_order = #same, store_set = #all}}
    : memref<{n}x{dtype}>, vector<{n}x{dtype}>
  %again = agen.vector_load %view[0] {{load_order = #same, load_set = #all}}
    : memref<{n}x{dtype}>, vector<{n}x{dtype}>
  func.return
}}
"""


def _spilled(op: Any, unit: SSAValue) -> Callable[[], None]:
    def change() -> None:
        n, dtype = _lanes(op.data.type), str(op.data.type.element_type)
        (function,) = parse(SPILL.format(n=n, dtype=dtype, last=n - 1)).ops
        value, owner = function.body.block.args
        value.replace_all_uses_with(op.data)
        owner.replace_all_uses_with(unit)
        moved = list(function.body.block.ops)[:-1]
        for one in moved:
            one.detach()
            one.location = op.location
        op.parent.insert_ops_before(moved, op)
        op.operands[1] = moved[-1].results[0]

    return change


def _of_unit(op: Any, peer: Any) -> Callable[[], None]:
    def change() -> None:
        op.detach()
        peer.owner.parent.insert_op_after(op, peer.owner)
        op.operands[0] = peer

    return change
