"""Scalar bodies of a Compute: an SSA list under construction, with equal entries shared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.ir.diagnostics import Location
from headrace.schedule.graph import Access, Axis, Dim, Linear, PerCore, Scalar
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.tensors import Constant, Integer

Operand = int | Integer | Constant
"""A body operand: the position of an entry, or a scalar that no entry holds yet."""


def linear(value: Num) -> Linear:
    """A number without address as the graph spells it."""
    const = value.const
    if isinstance(const, np.ndarray):
        return Linear(PerCore(tuple(int(c) for c in const)), tuple(value.terms.items()))
    return Linear(const, tuple(value.terms.items()))


def from_linear(value: Linear) -> Num:
    """The number a `Linear` spells."""
    const = np.array(value.const.values) if isinstance(value.const, PerCore) else value.const
    return Num(const, dict(value.terms))


class Body:
    """Entries, inputs and dims of one Compute being built; Integers may have coordinates as terms."""

    def __init__(self, dims: tuple[Dim, ...], ranges: nm.Ranges) -> None:
        self.dims = dims
        self.ranges = {**ranges, **{d.name: (0, d.extent - 1) for d in dims}}
        self.ins: list[Access] = []
        self.entries: list[Scalar] = []
        self._known: dict[object, int] = {}

    def read(self, value: str, axes: tuple[Axis, ...], dtype: str) -> int:
        """The entry that is an element of a value."""
        access = Access(value, axes)
        if access not in self.ins:
            self.ins.append(access)
        return self._entry(Scalar("in", (), dtype, self.ins.index(access)))

    def apply(
        self, op: str, args: list[Operand], dtype: str, attr: object = None, where: Location | None = None
    ) -> int:
        """The entry that is an op on other operands."""
        return self._entry(Scalar(op, tuple(self.place(a) for a in args), dtype, attr, where or Location()))

    def constant(self, value: float | int, dtype: str) -> int:
        """The entry that is a number."""
        return self._entry(Scalar("const", (), dtype, value))

    def place(self, operand: Operand) -> int:
        """The position of an operand, entering it if need be."""
        if isinstance(operand, int):
            return operand
        if isinstance(operand, Constant):
            return self.constant(operand.value, operand.dtype)
        return self._integer(operand.value, operand.dtype)

    def dtype(self, operand: Operand) -> str:
        """The MLIR type of an operand."""
        return self.entries[operand].dtype if isinstance(operand, int) else operand.dtype

    def _integer(self, value: Num, dtype: str) -> int:
        """Coordinates + loop variables + constant as index entries, scaled and added where needed."""
        names = {d.name for d in self.dims}
        dims = [(n, c) for n, c in value.terms.items() if n in names]
        rest = Num(value.const, {n: c for n, c in value.terms.items() if n not in names})
        if not dims and rest.fixed is not None:
            return self.constant(rest.fixed, dtype)
        plain = next((n for n, c in dims if c == 1), None)
        total = self._entry(Scalar("index", (), dtype, (plain, linear(rest))))
        for name, c in dims:
            if name != plain:
                coordinate = self._entry(Scalar("index", (), dtype, (name, Linear())))
                scaled = coordinate if c == 1 else self._scaled(coordinate, c, dtype)
                total = self._entry(Scalar("arith.addi", (total, scaled), dtype))
        return total

    def _scaled(self, position: int, factor: int, dtype: str) -> int:
        return self._entry(Scalar("arith.muli", (position, self.constant(factor, dtype)), dtype))

    def _entry(self, scalar: Scalar) -> int:
        key = (scalar.op, scalar.args, scalar.dtype, _attr_key(scalar.attr))
        if key not in self._known:
            self._known[key] = len(self.entries)
            self.entries.append(scalar)
        return self._known[key]


def _attr_key(attr: object) -> object:
    return (type(attr).__name__, repr(attr)) if isinstance(attr, float | int) else attr


def pruned(
    body: tuple[Scalar, ...], results: tuple[int, ...], ins: tuple[Access, ...]
) -> tuple[tuple[Scalar, ...], tuple[int, ...], tuple[Access, ...]]:
    """The body, its result positions and its inputs without entries that no result needs."""
    needed = set(results)
    for position in range(len(body) - 1, -1, -1):
        if position in needed:
            needed.update(body[position].args)
    kept = sorted(needed)
    new = {old: i for i, old in enumerate(kept)}
    reads = [body[p].attr for p in kept if body[p].op == "in"]
    used = sorted({r for r in reads if isinstance(r, int)})
    operand = {old: i for i, old in enumerate(used)}
    entries = tuple(renumbered(body[p], new, operand) for p in kept)
    return entries, tuple(new[r] for r in results), tuple(ins[i] for i in used)


def renumbered(scalar: Scalar, positions: Mapping[int, int], operands: Mapping[int, int]) -> Scalar:
    """The entry with its arguments and its input number renamed."""
    attr = operands[scalar.attr] if scalar.op == "in" and isinstance(scalar.attr, int) else scalar.attr
    return Scalar(scalar.op, tuple(positions[a] for a in scalar.args), scalar.dtype, attr, scalar.where)
