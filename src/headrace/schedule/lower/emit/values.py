"""The values of one unit program: handles of peers, maps, index arithmetic, views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from headrace.ir import affine
from headrace.numbers.dtypes import itemsize
from headrace.schedule.lower.emit.function import FunctionValues, Instance
from headrace.schedule.lower.emit.ops import (
    INDEX,
    affine_map,
    make,
    memref,
    segments,
    strided,
)
from headrace.schedule.lower.index import Expr, Number, Term, Var, repeated, variables
from headrace.schedule.lower.tree import Memory

ARITHMETIC = {
    "floordiv": "arith.divsi",
    "ceildiv": "arith.ceildivsi",
    "mod": "arith.remsi",
    "min": "arith.minsi",
    "max": "arith.maxsi",
    "mul": "arith.muli",
}


class ProgramValues:
    """Values inside one unit program. Ops go to `here`, the block being filled; loop-invariant ones to
    `head`.
    """

    def __init__(
        self, function: FunctionValues, kind: str, instances: Sequence[Instance], me: SSAValue
    ) -> None:
        self.function, self.kind, self.instances, self.me = function, kind, instances, me
        self.corelets = function.device.corelets
        self.is_corelet_unit = function.device.unit(kind).per == "corelet"
        self.head: list[Operation] = []
        self.here: Block | None = None
        self.loops: dict[Var, SSAValue] = {}
        self._maps: dict[tuple[SSAValue, ...], SSAValue] = {}
        self._values: dict[tuple[Block | None, Expr], SSAValue] = {}
        self._views: dict[tuple[Any, ...], SSAValue] = {}
        self._handles: dict[tuple[Any, ...], SSAValue] = {}
        self._numbers: dict[Number, SSAValue] = {}

    def emit(self, op: Operation, *, is_invariant: bool = False) -> Operation:
        """Append an op to the program."""
        if is_invariant or self.here is None:
            self.head.append(op)
        else:
            self.here.add_op(op)
        return op

    @cached_property
    def _own(self) -> list[SSAValue]:
        """The handles of all instances."""
        return [self.function.unit(self.kind, instance) for instance in self.instances]

    # -- one value for each instance -----------------------------------------------------------------------

    def mapped(self, values: Sequence[SSAValue], hint: str = "") -> SSAValue:
        """Return the value of this instance: itself if all are the same, else a query of a map."""
        first = values[0]
        if all(value is first for value in values):
            return first
        key = tuple(values)
        found = self._maps.get(key)
        if found is None:
            sizes = {"operandSegmentSizes": segments(len(key), len(key))}
            table = make("uniform.def_immutable_mapping", [*self._own, *values], [INDEX], sizes)
            query = make("uniform.query_map", [table.results[0], self.me], [INDEX])
            self.head += [table, query]
            found = self._maps[key] = query.results[0]
            if hint:
                table.results[0].name_hint, found.name_hint = f"{hint}_map", hint
        return found

    def number(self, number: Number) -> SSAValue:
        """Return a number that may differ by instance."""
        if isinstance(number, int):
            return self.function.constant(number)
        if number not in self._numbers:
            listed = [self.function.constant(n) for n in self.of_instances(number)]
            self._numbers[number] = self.mapped(listed)
        return self._numbers[number]

    def of_instances(self, number: Number) -> list[int]:
        """Return the number of each instance of this program."""
        if isinstance(number, int):
            return [number] * len(self.instances)
        step = 1 if self.is_corelet_unit else self.corelets
        return list(repeated(number, step * len(self.instances))[::step])

    def peer(
        self,
        kind: str,
        shift: int = 0,
        ring: int = 0,
        corelet: int | None = None,
        pairs: tuple[tuple[tuple[int, int], ...], ...] = (),
    ) -> SSAValue:
        """Return the handle of the unit this one talks to.

        That is the unit of the same core (`ring` cores further on in the class, the last followed by the
        first; or of the core that the `pairs` of its corelet name) and of the same corelet, `shift` corelets
        further on; a unit of the core names the `corelet` it means.
        """
        key = ("peer", kind, shift, ring, corelet, pairs)
        if key in self._handles:
            return self._handles[key]
        per_corelet = self.function.device.unit(kind).per == "corelet"
        cores = list(dict.fromkeys(core for core, _ in self.instances))
        following = {core: cores[(k + ring) % len(cores)] for k, core in enumerate(cores)}
        named = [dict(each) for each in pairs]
        handles = []
        for core, own in self.instances:
            other = (own + shift) % self.corelets if corelet is None else corelet
            there = named[own][core] if named else following[core]
            handles.append(self.function.unit(kind, (there, other if per_corelet else 0)))
        hint = kind.lower() + (f"_{corelet}" if corelet is not None else "") + (f"_{shift}" if shift else "")
        found = self._handles[key] = self.mapped(handles, hint)
        return found

    def memory(self, kind: str) -> SSAValue:
        """Return the device memory ("hbm") or this core's scratchpad ("lx")."""
        key = ("memory", kind)
        if key not in self._handles:
            handles = [self.function.memory(kind, 0 if kind == "hbm" else c) for c, _ in self.instances]
            self._handles[key] = self.mapped(handles, kind)
        return self._handles[key]

    # -- index arithmetic ----------------------------------------------------------------------------------

    def value(self, expr: Expr) -> SSAValue:
        """Return an index value; what no loop changes is computed once at the start of the program."""
        if expr.is_number:
            return self.number(expr.const)
        if expr.const == 0 and len(expr.terms) == 1 and expr.terms[0][1] == 1:
            return self.atom(expr.terms[0][0])
        is_invariant = self._is_invariant(expr)
        key = (None if is_invariant else self.here, expr)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = self._sum(expr, is_invariant)
        return found

    def _is_invariant(self, expr: Expr) -> bool:
        return all(var.is_argument for var in variables(expr))

    def _sum(self, expr: Expr, is_invariant: bool) -> SSAValue:
        total: SSAValue | None = None
        for atom, c in expr.terms:
            part = self.atom(atom)
            if c != 1:
                part = self._binary("arith.muli", part, self.number(c), is_invariant)
            total = part if total is None else self._binary("arith.addi", total, part, is_invariant)
        assert total is not None
        if expr.const != 0:
            total = self._binary("arith.addi", total, self.number(expr.const), is_invariant)
        return total

    def _binary(self, name: str, a: SSAValue, b: SSAValue, is_invariant: bool) -> SSAValue:
        return self.emit(make(name, [a, b], [INDEX]), is_invariant=is_invariant).results[0]

    def atom(self, atom: Var | Term) -> SSAValue:
        """Return the value of a loop variable, an argument or a term that is not linear."""
        if isinstance(atom, Var):
            return self.function.arguments[atom.name] if atom.is_argument else self.loops[atom]
        expr = Expr(0, ((atom, 1),))
        is_invariant = self._is_invariant(expr)
        key = (None if is_invariant else self.here, expr)
        found = self._values.get(key)
        if found is None:
            left, right = self.value(atom.left), self.value(atom.right)
            found = self._values[key] = self._binary(ARITHMETIC[atom.op], left, right, is_invariant)
        return found

    def subscripts(self, exprs: Sequence[Expr]) -> tuple[Attribute, list[SSAValue]]:
        """Return the affine map and operands of a subscript list."""
        operands: list[SSAValue] = []

        def dim(value: SSAValue) -> AffineExpr:
            if value not in operands:
                operands.append(value)
            return AffineExpr.dimension(operands.index(value))

        def linear(expr: Expr) -> AffineExpr:
            total = _zero() if isinstance(expr.const, int) else dim(self.number(expr.const))
            for atom, c in expr.terms:
                if isinstance(c, int):
                    part = affine.mul(of_atom(atom), AffineExpr.constant(c))
                else:
                    part = dim(self.value(Expr(0, ((atom, c),))))
                total = affine.add(total, part)
            return (
                affine.add(total, AffineExpr.constant(expr.const)) if isinstance(expr.const, int) else total
            )

        def of_atom(atom: Var | Term) -> AffineExpr:
            if isinstance(atom, Term) and atom.op in ("mod", "floordiv", "ceildiv"):
                divisor = atom.right
                if divisor.is_number and isinstance(divisor.const, int):
                    rule = {"mod": affine.mod, "floordiv": affine.floordiv, "ceildiv": affine.ceildiv}[
                        atom.op
                    ]
                    return rule(linear(atom.left), AffineExpr.constant(divisor.const))
            return dim(self.atom(atom))

        results = tuple(linear(expr) for expr in exprs)
        return affine_map(len(operands), results), operands

    # -- views ---------------------------------------------------------------------------------------------

    def view(self, memory: Memory, addresses: dict[str, int]) -> SSAValue:
        """Return the view of an array; a buffer of several copies has the copy as its first dim."""
        buffer = memory.buffer
        if buffer is not None:
            start = memory.start + addresses[buffer.name] // itemsize(memory.dtype)
            shape, strides = memory.shape, memory.strides
            if buffer.copies > 1:
                shape, strides = (buffer.copies, *shape), (buffer.stride, *strides)
            where, name = "lx", buffer.name
        else:
            start, shape, strides, where, name = memory.start, memory.shape, memory.strides, "hbm", ""
        is_invariant = self._is_invariant(start)
        key = (None if is_invariant else self.here, where, name, start, memory.dtype, shape, strides)
        found = self._views.get(key)
        if found is None:
            operands = [self.memory(where), self.value(start)]
            layout = {"layout_map": strided(tuple(strides))}
            op = make(
                "dataflow.get_logical_memory_view", operands, [memref(memory.dtype, tuple(shape))], layout
            )
            if name:
                op.attributes["headrace.buffer"] = StringAttr(name)
            found = self._views[key] = self.emit(op, is_invariant=is_invariant).results[0]
            hint = (buffer.name if buffer is not None else memory.argument or "memory").replace(".", "_")
            found.name_hint = hint
        return found


def _zero() -> AffineExpr:
    return AffineExpr.constant(0)
