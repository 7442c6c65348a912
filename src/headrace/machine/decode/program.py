"""One `dataflow.program_unit` body, decoded for a list of instances that take the same regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from headrace.ir.text import location
from headrace.machine.decode import control, transfers
from headrace.machine.decode.builder import Builder
from headrace.machine.decode.handles import Handles
from headrace.machine.decode.meanings import (
    FloatArgument,
    GroupHandle,
    MemoryHandle,
    PerInstance,
    UnitHandle,
    View,
    Words,
)
from headrace.machine.decode.opaque import opaque
from headrace.machine.decode.reading import (
    affine_map,
    attribute,
    boolean,
    dtype_of,
    fault,
    integers,
    is_vector,
    keyword,
    name_of,
    shape_of,
    text,
)
from headrace.machine.decode.scalars import integer_op
from headrace.machine.decode.vectors import constant_node, vector_node
from headrace.machine.image import (
    Extract,
    Index,
    Load,
    Node,
    Place,
    Receive,
    Send,
    Signal,
    Store,
    Value,
    VectorOp,
    Wait,
)
from headrace.machine.index import constant, of
from headrace.numbers.dtypes import itemsize

_SILENT = ("scf.yield", "agen.yield", "uniform.yield", "dataflow.return", "func.return")
_TRANSFERS: dict[str, Callable[[Operation, transfers.Scope], Node]] = {
    "agen.composite_load_and_store": transfers.copy,
    "agen.composite_indirect_load_and_store": transfers.indirect_copy,
    "agen.composite_load": transfers.read,
    "agen.composite_store": transfers.write,
    "agen.composite_memory_interleave": transfers.interleave,
}


class ProgramDecoder:
    """Walks a body once; `env` maps SSA values to what they stand for (see `meanings`)."""

    def __init__(
        self, builder: Builder, handles: Handles, env: dict[SSAValue, Any], address_unit: str
    ) -> None:
        self.builder = builder
        self.handles = handles
        self.env = env
        self.address_unit = address_unit
        self.rebind: Callable[[Any], Any] = builder.rebind
        self.scope = transfers.Scope(self.index, self.view, self.peer, self.group, builder.coordinate)

    # ---- what a value stands for ---------------------------------------------------------------------------
    def meaning(self, value: SSAValue) -> Any:
        """What the value stands for; a fault if nothing defined it."""
        if value not in self.env:
            owner = value.owner
            if isinstance(owner, Operation):
                fault(owner, "this value is not available here")
            raise KeyError(value)
        return self.env[value]

    def index(self, value: SSAValue) -> Index:
        """The value as an integer expression."""
        found = self.meaning(value)
        if isinstance(found, Index):
            return found
        if isinstance(found, PerInstance) and all(isinstance(i, int | Index) for i in found.items):
            return self.per_instance_index([constant(i) for i in found.items])
        fault(_user(value), "an integer is expected here")

    def peer(self, value: SSAValue) -> Index:
        """The value as the number of a unit instance."""
        found = self.meaning(value)
        items = found.items if isinstance(found, PerInstance) else (found,) * len(self.builder.instances)
        if not all(isinstance(i, UnitHandle) for i in items):
            fault(_user(value), "a unit handle is expected here")
        return self.builder.table([i.number for i in items])

    def group(self, value: SSAValue) -> Index:
        """The value as the number of a multicast group, -1 for none."""
        found = self.meaning(value)
        items = found.items if isinstance(found, PerInstance) else (found,) * len(self.builder.instances)
        return self.builder.table([i.number if isinstance(i, GroupHandle) else -1 for i in items])

    def view(self, value: SSAValue) -> View:
        """The value as a memory view."""
        found = self.meaning(value)
        if not isinstance(found, View):
            fault(_user(value), "a memory view is expected here")
        return found

    def value(self, value: SSAValue) -> Value:
        """The value as a vector register."""
        found = self.meaning(value)
        if not isinstance(found, Value):
            fault(_user(value), "a vector is expected here")
        return found

    def define(self, result: SSAValue) -> Value:
        """A new register for an SSA vector or float scalar."""
        register = self.builder.value(shape_of(result.type), dtype_of(_owner(result), result.type))
        self.env[result] = register
        return register

    # ---- blocks --------------------------------------------------------------------------------------------
    def block(self, block: Block) -> tuple[Node, ...]:
        """The nodes of a block, in program order."""
        return tuple(self.ops(block.ops))

    def ops(self, ops: Iterable[Operation]) -> list[Node]:
        """The nodes of some ops, in their order."""
        nodes: list[Node] = []
        for op in ops:
            found = self.op(op)
            if isinstance(found, list):
                nodes.extend(found)
            elif found is not None:
                nodes.append(found)
        return nodes

    def op(self, op: Operation) -> Node | list[Node] | None:
        """The node of an op; None if it only names a value; a list for an inlined region."""
        name = name_of(op)
        if name in _SILENT:
            return None
        if name in _TRANSFERS:
            return _TRANSFERS[name](op, self.scope)
        handler = _HANDLERS.get(name)
        if handler is not None:
            node: Node | list[Node] | None = handler(self, op)
            return node
        if self.handles.define(op, self.env):
            for result in op.results:
                self.env[result] = self.rebind(self.env[result])
            return None
        return self._pure(op)

    def _pure(self, op: Operation) -> Node | None:
        if len(op.results) != 1 or op.regions:
            fault(op, "this op is not supported in a unit program")
        result = op.results[0]
        if is_vector(result.type):
            register = self.define(result)
            if name_of(op) in ("arith.constant", "vectorchain.constant_bitstream"):
                return constant_node(op, register)
            node = vector_node(op, register, self._operand, self.index)
            if node is None:
                fault(op, "this op is not supported in a unit program")
            return node
        if name_of(op) == "arith.constant":
            self.env[result] = Index(int(attribute(op, "value").value.data))
            return None
        found = integer_op(op, [self.index(v) for v in op.operands])
        if found is None:
            fault(op, "this op is not supported in a unit program")
        self.env[result] = found
        return None

    def _operand(self, value: SSAValue) -> Value:
        found = self.meaning(value)
        if isinstance(found, FloatArgument):
            fault(_user(value), "a floating-point argument must be broadcast to a vector first")
        return self.value(value)

    # ---- handlers ------------------------------------------------------------------------------------------
    def memory_view(self, op: Operation) -> None:
        """`dataflow.get_logical_memory_view`."""
        result = op.results[0]
        dtype = dtype_of(op, result.type)
        start = self.meaning(op.operands[1])
        place = self._place(op, op.operands[0])
        base = self._start(op, start, place, dtype)
        layout = affine_map(op, "layout_map")
        if len(layout.results) != 1 or layout.num_symbols:
            fault(op, "layout_map must have one result and no symbols")
        shape = shape_of(result.type)
        if layout.num_dims != len(shape):
            fault(op, f"layout_map has {layout.num_dims} dimensions for a view of rank {len(shape)}")
        self.env[result] = View(place, base, dtype, layout, shape)

    def _start(self, op: Operation, start: Any, place: Place, dtype: str) -> Index:
        """Bytes: elements for constants and arguments, words where the value is a symbol."""
        items = start.items if isinstance(start, PerInstance) else (start,)
        if any(isinstance(i, Words) for i in items):
            word = self.handles.word_bytes(self.builder.instances[0], place.kind)
            words = [i.index if isinstance(i, Words) else None for i in items]
            if None in words:
                fault(op, "a start address mixes symbols and numbers")
            return self.per_instance_index([w for w in words if w is not None]) * word
        scale = 1 if self.address_unit == "byte" else itemsize(dtype)
        return self.index(op.operands[1]) * scale

    def per_instance_index(self, items: Sequence[Index]) -> Index:
        """One expression for items that differ per instance by a constant only."""
        if len(set(items)) == 1:
            return items[0]
        differences = [(i - items[0]).constant for i in items]
        if None not in differences:
            return items[0] + self.builder.table([d for d in differences if d is not None])
        out = Index()
        for k, item in enumerate(items):
            out = out + self.builder.table([int(j == k) for j in range(len(items))]) * item
        return out

    def _place(self, op: Operation, value: SSAValue) -> Place:
        found = self.meaning(value)
        items = found.items if isinstance(found, PerInstance) else (found,) * len(self.builder.instances)
        first = items[0]
        if not all(isinstance(i, MemoryHandle) and i.kind == first.kind for i in items):
            fault(op, "a view needs a memory handle")
        if first.kind == "register":
            return Place("register", first.name, self.builder.table(self.builder.instances))
        return Place(first.kind, first.name, self.builder.table([i.owner for i in items]))

    def vector_load(self, op: Operation) -> Load:
        """`agen.vector_load`."""
        view = self.view(op.operands[0])
        count = affine_map(op, "affine_map").num_dims
        at = transfers.subscripts(op, self.scope, "affine_map", op.operands[1 : 1 + count])
        found = transfers.vector_box(op, self.scope, view, at, "load")
        result = self.define(op.results[0])
        _check_vector(op, found.dtype, result)
        return Load(found, result, location(op))

    def vector_store(self, op: Operation) -> Store:
        """`agen.vector_store`."""
        view, vector = self.view(op.operands[1]), self.value(op.operands[0])
        at = transfers.subscripts(op, self.scope, "affine_map", op.operands[2:])
        found = transfers.vector_box(op, self.scope, view, at, "store")
        _check_vector(op, found.dtype, vector)
        return Store(vector, found, location(op))

    def send(self, op: Operation) -> Send:
        """`dataflow.send`."""
        return Send(self.peer(op.operands[0]), self.value(op.operands[1]), keyword(op, "dir"), location(op))

    def receive(self, op: Operation) -> Receive:
        """`dataflow.receive`."""
        return Receive(self.peer(op.operands[0]), self.define(op.results[0]), location(op))

    def sync_send(self, op: Operation) -> Signal:
        """`dataflow.sync_send`."""
        waits = boolean(op, "wait_immediately_for_async_transfers")
        return Signal(self.peer(op.operands[0]), text(op, "dbgName"), waits, location(op))

    def sync_recv(self, op: Operation) -> Wait:
        """`dataflow.sync_recv`."""
        return Wait(self.peer(op.operands[0]), text(op, "dbgName"), location(op))

    def rendezvous(self, op: Operation) -> list[Node]:
        """`implicit_sync_on_streaming_buffer`: this unit's half of a rendezvous."""
        peer, where = self.peer(op.operands[1]), location(op)
        return [Signal(peer, "", True, where), Wait(peer, "", where)]

    def extract(self, op: Operation) -> Node:
        """`vector.extract` of one lane: an integer of the program, or a one-lane vector."""
        source, at = self.value(op.operands[0]), integers(op, "static_position")
        lane = 0
        for extent, k in zip(source.shape, at, strict=False):
            lane = lane * extent + k
        if len(at) != len(source.shape) or len(op.operands) > 1 or lane < 0:
            fault(op, "only one lane at a constant position can be extracted")
        result = op.results[0]
        if is_vector(result.type):
            register = self.define(result)
            return VectorOp(
                "vector.extract", "extract", (source,), register, (("lane", lane),), where=location(op)
            )
        symbol = self.builder.symbol("loaded", "loaded")
        self.env[result] = of(symbol)
        return Extract(source, lane, symbol, location(op))

    def broadcast(self, op: Operation) -> Node:
        """`vector.broadcast`, `vector.splat`, also of a floating-point argument of the entry function."""
        source = self.meaning(op.operands[0])
        result = self.define(op.results[0])
        if isinstance(source, FloatArgument):
            details = (("argument", source.name),)
            return VectorOp(name_of(op), "argument", (), result, details, where=location(op))
        if isinstance(source, Index):
            return VectorOp(name_of(op), "index", (), result, (), (source,), location(op))
        return VectorOp(name_of(op), "broadcast", (self.value(op.operands[0]),), result, where=location(op))

    def cast_to_scalar(self, op: Operation) -> Node | None:
        """`arith.sitofp` & co. of an integer of the program give a one-lane vector; anything else is
        element-wise.
        """
        source = self.meaning(op.operands[0])
        if isinstance(source, Index):
            result = self.define(op.results[0])
            return VectorOp(name_of(op), "index", (), result, (), (source,), location(op))
        return self._pure(op)


def _user(value: SSAValue) -> Operation:
    """An op to name in a fault about a value."""
    for use in value.uses:
        return use.operation
    return _owner(value)


def _owner(value: SSAValue) -> Operation:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    parent = owner.parent_op()
    assert parent is not None
    return parent


def _check_vector(op: Operation, dtype: str, value: Value) -> None:
    if dtype != value.dtype:
        fault(op, f"vector of {value.dtype} for a view of {dtype}")


_HANDLERS: dict[str, Any] = {
    "dataflow.get_logical_memory_view": ProgramDecoder.memory_view,
    "dataflow.get_local_unit": control.local_unit,
    "dataflow.send": ProgramDecoder.send,
    "dataflow.receive": ProgramDecoder.receive,
    "dataflow.opaque": opaque,
    "dataflow.sync_send": ProgramDecoder.sync_send,
    "dataflow.sync_recv": ProgramDecoder.sync_recv,
    "dataflow.implicit_sync_on_streaming_buffer": ProgramDecoder.rendezvous,
    "agen.vector_load": ProgramDecoder.vector_load,
    "agen.vector_store": ProgramDecoder.vector_store,
    "vector.extract": ProgramDecoder.extract,
    "vector.broadcast": ProgramDecoder.broadcast,
    "vector.splat": ProgramDecoder.broadcast,
    "arith.sitofp": ProgramDecoder.cast_to_scalar,
    "arith.uitofp": ProgramDecoder.cast_to_scalar,
    "scf.for": control.loop,
    "scf.if": control.branch,
    "uniform.uniformize_regions": control.regions,
    "uniform.query_map": control.query,
}
