"""One `dataflow.program_unit` body, decoded for a list of instances that take the same regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from headrace.machine.decode import transfers
from headrace.machine.decode.builder import Builder
from headrace.machine.decode.handles import Handles
from headrace.machine.decode.meanings import (
    FloatArgument,
    GroupHandle,
    PerInstance,
    UnitHandle,
    Units,
    View,
)
from headrace.machine.decode.operands import Operands
from headrace.machine.decode.reading import (
    dtype_of,
    fault,
    integer,
    is_vector,
    name_of,
    shape_of,
)
from headrace.machine.decode.scalars import integer_op, is_integer_op
from headrace.machine.decode.vectors import argument_node, constant_node, vector_nodes
from headrace.machine.image import (
    Index,
    Node,
    Value,
)
from headrace.machine.index import constant
from headrace.machine.options import Options

_SILENT = ("scf.yield", "affine.yield", "agen.yield", "uniform.yield", "dataflow.return", "func.return")

Found = Node | list[Node] | None
"""What an op gives: a node, several, or none where it only names a value."""


@dataclass(frozen=True)
class Table:
    """How ops are decoded, by name.

    `transfers` give None for a composite that is more than one transfer, which `composites` decodes;
    those of `handlers` that are in `naming` only name a value.
    """

    transfers: Mapping[str, Callable[[Operation, transfers.Scope], Found]]
    composites: Mapping[str, Callable[[ProgramDecoder, Operation], list[Node]]]
    handlers: Mapping[str, Callable[[ProgramDecoder, Operation], Found]]
    naming: frozenset[str]


class ProgramDecoder:
    """Walks a body once; `env` maps SSA values to what they stand for, `at` is the op it is at."""

    def __init__(
        self,
        builder: Builder,
        handles: Handles,
        env: dict[SSAValue, Any],
        options: Options,
        table: Table,
        address_unit: str = "element",
    ) -> None:
        self.builder = builder
        self.handles = handles
        self.env = env
        self.options, self.table, self.address_unit = options, table, address_unit
        self.rebind: Callable[[Any], Any] = builder.rebind
        self.at: Any = None
        self.scope = transfers.Scope(
            self.index, self.view, self.peer, self.group, builder.coordinate, self.names
        )

    # ---- what a value stands for ---------------------------------------------------------------------------
    def meaning(self, value: SSAValue) -> Any:
        """What the value stands for; a fault if nothing defined it."""
        if value not in self.env:
            fault(self.at, f"operand %{value.name_hint or ''} is not available here")
        return self.env[value]

    def index(self, value: SSAValue) -> Index:
        """The value as an integer expression."""
        found = self.meaning(value)
        if isinstance(found, Index):
            return found
        if isinstance(found, PerInstance) and all(isinstance(i, int | Index) for i in found.items):
            return self.per_instance_index([constant(i) for i in found.items])
        fault(self.at, "an integer is expected here")

    def peer(self, value: SSAValue) -> Index:
        """The value as the number of a unit instance."""
        found = self.meaning(value)
        items = found.items if isinstance(found, PerInstance) else (found,) * len(self.builder.instances)
        if not all(isinstance(i, UnitHandle) for i in items):
            fault(self.at, "a unit handle is expected here")
        return self.builder.table([i.number for i in items])

    def peers(self, value: SSAValue) -> list[Index]:
        """The value as the numbers of the units it names: one, or all of a group."""
        found = self.meaning(value)
        items = found.items if isinstance(found, PerInstance) else (found,) * len(self.builder.instances)
        if not any(isinstance(i, Units) for i in items):
            return [self.peer(value)]
        groups = [i.members if isinstance(i, Units) else (i,) for i in items]
        if len({len(g) for g in groups}) != 1 or not all(
            isinstance(u, UnitHandle) for g in groups for u in g
        ):
            fault(self.at, "groups of as many units for every unit are expected here")
        return [self.builder.table([u.number for u in row]) for row in zip(*groups, strict=True)]

    def group(self, value: SSAValue) -> Index:
        """The value as the number of a multicast group, -1 for none."""
        found = self.meaning(value)
        items = found.items if isinstance(found, PerInstance) else (found,) * len(self.builder.instances)
        return self.builder.table([i.number if isinstance(i, GroupHandle) else -1 for i in items])

    def view(self, value: SSAValue) -> View:
        """The value as a memory view."""
        found = self.meaning(value)
        if not isinstance(found, View):
            fault(self.at, "a memory view is expected here")
        return found

    def is_loaded(self, index: Index) -> bool:
        """Whether an integer depends on what the program loads from memory."""
        return any(s.role == "loaded" or s in self.builder.loaded for s in index.symbols)

    def value(self, value: SSAValue) -> Value:
        """The value as a vector register."""
        found = self.meaning(value)
        if not isinstance(found, Value):
            fault(self.at, "a vector is expected here")
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

    def op(self, op: Operation) -> Found:
        """The node of an op; None if it only names a value; a list for an inlined region."""
        around, self.at = self.at, op
        found = self._op(op)
        self.at = around
        return found

    def _op(self, op: Operation) -> Found:
        name = name_of(op)
        if name in _SILENT:
            return None
        if name in self.table.transfers:
            found = self.table.transfers[name](op, self.scope)
            return self.table.composites[name](self, op) if found is None else found
        if name in self.table.handlers:
            return self.table.handlers[name](self, op)
        if self.handles.define(op, self.env):
            for result in op.results:
                self.env[result] = self.rebind(self.env[result])
            return None
        return self.pure(op)

    def names(self, op: Operation) -> bool:
        """Defines the results of an op that only names values, whatever unit it stands in; False if not."""
        name = name_of(op)
        table = self.table
        is_work = name in table.transfers or (name in table.handlers and name not in table.naming)
        if is_work or name in _SILENT or op.regions or any(is_vector(r.type) for r in op.results):
            return False
        return bool(op.results) and self.op(op) is None

    def pure(self, op: Operation) -> Found:
        """The node of an op that computes one vector, or None for one that computes an integer."""
        if len(op.results) != 1 or op.regions:
            fault(op, "this op is not executed")
        result = op.results[0]
        if is_vector(result.type):
            register = self.define(result)
            if name_of(op) in ("arith.constant", "vectorchain.constant_bitstream"):
                return constant_node(op, register)
            before: list[Node] = []
            found = vector_nodes(op, register, self._operands(op, before))
            if found is None:
                fault(op, "this op is not executed")
            return [*before, *found]
        if name_of(op) == "arith.constant":
            self.env[result] = Index(integer(op, "value"))
            return None
        number = integer_op(op, [self.index(v) for v in op.operands]) if is_integer_op(op) else None
        if number is None:
            fault(op, "this op is not executed")
        self.env[result] = number
        return None

    def _operands(self, op: Operation, before: list[Node]) -> Operands:
        """How the op sees its operands; nodes that bring arguments into registers go to `before`."""

        def value(operand: SSAValue) -> Value:
            found = self.meaning(operand)
            if not isinstance(found, FloatArgument):
                return self.value(operand)
            register = self.builder.value((), found.dtype)
            before.append(argument_node(found, register, op))
            return register

        return Operands(value, self.index, self.meaning, self.builder.value, self.options)

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


def _owner(value: SSAValue) -> Operation:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    parent = owner.parent_op()
    assert parent is not None
    return parent
