"""Sums of products with more in them than two operands: what does not depend on the sum goes behind it.

sum over k of c * m[i] * f(a[i, k]) * b[k, j] is c * m[i] * (sum over k of a'[i, k] * b[k, j]) with a' = f(a)
a value of its own, so that a matrix unit can do the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from headrace.numbers.dtypes import is_narrow_float
from headrace.schedule.graph import Access, Axis, Compute, Dim, Loop, Out, Scalar, Statement, Value
from headrace.schedule.model.bodies.body import pruned
from headrace.schedule.model.statements import renamed
from headrace.schedule.model.tidy.invariants import dims_of

_WIDENINGS = ("arith.extf",)


def factored(
    body: Iterable[Statement], values: dict[str, Value], fresh: Callable[[], str]
) -> tuple[Statement, ...]:
    """The block with such sums split into operands, a plain sum of products and what follows it."""
    result: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = replace(s, body=factored(s.body, values, fresh))
        result += _Split(s, values, fresh).statements() if _is_float_sum(s) else [s]  # type: ignore[arg-type]
    return tuple(result)


def _is_float_sum(s: Statement) -> bool:
    if not isinstance(s, Compute) or len(s.outs) != 1 or s.outs[0].combiner != "add":
        return False
    root = s.body[s.outs[0].result]
    return root.op in ("arith.mulf", "arith.negf") and root.dtype in ("f32", "f64")


class _Split:
    """One sum, its factors sorted into two operands and what is outside of the sum."""

    def __init__(self, c: Compute, values: dict[str, Value], fresh: Callable[[], str]) -> None:
        self.c, self.values, self.fresh = c, values, fresh
        self.out = c.outs[0]
        self.dims = dims_of(c)
        self.dtype = c.body[self.out.result].dtype
        self.summed = {d.name for d in c.dims if d.kind == "reduction"}
        self.negative = False
        factors = self._factors(self.out.result)
        self.outside = [f for f in factors if not self.dims[f] & self.summed]
        self.inside = [f for f in factors if self.dims[f] & self.summed]

    def _factors(self, position: int) -> list[int]:
        s = self.c.body[position]
        if s.op == "arith.mulf" and s.dtype == self.dtype:
            return [f for a in s.args for f in self._factors(a)]
        if s.op == "arith.negf" and s.dtype == self.dtype:
            self.negative = not self.negative
            return self._factors(s.args[0])
        return [position]

    def statements(self) -> list[Statement]:
        """The statements the sum becomes; itself when there is nothing to gain."""
        sides = self._sides()
        if sides is None:
            return [self.c]
        plain = [self._plain(side) for side in sides]
        if len({p[1] for p in plain if p is not None} | {self.dtype for p in plain if p is None}) > 1:
            plain = [p if p is not None and p[1] == self.dtype else None for p in plain]
        if not self.outside and not self.negative and None not in plain:
            return [self.c]
        made: list[Statement] = []
        operands: list[tuple[Access, str]] = []
        for side, known in zip(sides, plain, strict=True):
            if known is None:
                own, access = self._operand(side)
                made.append(own)
                known = access, self.dtype
            operands.append(known)
        return [*made, *self._sum(operands)]

    def _sides(self) -> tuple[list[int], list[int]] | None:
        """The factors of the left and of the right operand of a matrix product; None when it is none."""
        kept = [self.dims[f] - self.summed for f in self.inside]
        if len(self.inside) < 2:
            return None
        order = sorted(range(len(kept)), key=lambda k: -len(kept[k]))
        first = order[0]
        second = next((k for k in order[1:] if not kept[k] <= kept[first]), None)
        if second is None or kept[first] <= kept[second]:
            return None
        sides: tuple[list[int], list[int]] = ([], [])
        for k, factor in enumerate(self.inside):
            fits = [side for side, main in ((0, first), (1, second)) if kept[k] <= kept[main]]
            if not fits:
                return None
            sides[fits[0] if k != second else 1].append(factor)
        covers = [frozenset(d for f in side for d in self.dims[f]) for side in sides]
        return sides if all(self.summed <= c for c in covers) else None

    def _plain(self, side: list[int]) -> tuple[Access, str] | None:
        """The input a side is, widened or not."""
        if len(side) != 1:
            return None
        entry = self.c.body[side[0]]
        if entry.op in _WIDENINGS:
            entry = self.c.body[entry.args[0]]
        if entry.op != "in" or not isinstance(entry.attr, int):
            return None
        return self.c.ins[entry.attr], entry.dtype

    def _operand(self, side: list[int]) -> tuple[Compute, Access]:
        """A nest that computes the product of some factors, and how the sum reads it."""
        wanted = {d for f in side for d in self.dims[f]}
        walked = [d for d in self.c.dims if d.name in wanted]
        axes = tuple(Axis(d.name) for d in walked)
        name = self._value(tuple(d.extent for d in walked), self.dtype)
        entries = list(self.c.body)
        position = self._product(entries, side)
        own = self._nest(walked, entries, position, self.c.ins, Out(name, axes, position))
        return own, Access(name, axes)

    def _product(self, entries: list[Scalar], factors: list[int]) -> int:
        position = factors[0]
        for f in factors[1:]:
            entries.append(Scalar("arith.mulf", (position, f), self.dtype, None, self.c.where))
            position = len(entries) - 1
        return position

    def _sum(self, operands: list[tuple[Access, str]]) -> list[Statement]:
        entries: list[Scalar] = []
        for k, (_, dtype) in enumerate(operands):
            entries.append(Scalar("in", (), dtype, k))
        for k, (_, dtype) in enumerate(operands):
            if dtype != self.dtype:
                entries.append(Scalar("arith.extf", (k,), self.dtype))
        wide = iter(range(2, len(entries)))
        args = tuple(k if dtype == self.dtype else next(wide) for k, (_, dtype) in enumerate(operands))
        entries.append(Scalar("arith.mulf", args, self.dtype, None, self.c.where))
        ins = tuple(a for a, _ in operands)
        plain = not self.outside and not self.negative
        out = replace(self.out, result=len(entries) - 1)
        if plain:
            return [replace(self.c, ins=ins, body=tuple(entries), outs=(out,))]
        name = self._value(self.values[out.value].shape, self.dtype)
        sums = replace(self.c, ins=ins, body=tuple(entries), outs=(replace(out, value=name, init=0.0),))
        return [sums, self._after(name)]

    def _after(self, name: str) -> Compute:
        """init + outside x sum, in the result's type."""
        walked = [d for d in self.c.dims if d.name not in self.summed]
        ins, entries = list(self.c.ins), list(self.c.body)

        def enter(s: Scalar) -> int:
            entries.append(s)
            return len(entries) - 1

        def read(value: str, dtype: str) -> int:
            ins.append(Access(value, self.out.axes))
            return enter(Scalar("in", (), dtype, len(ins) - 1))

        position = self._product(entries, [*self.outside, read(name, self.dtype)])
        if self.negative:
            position = enter(Scalar("arith.negf", (position,), self.dtype))
        kind = self.values[self.out.value].dtype
        if isinstance(self.out.init, str):
            start = read(self.out.init, kind)
            wide = enter(Scalar("arith.extf", (start,), self.dtype)) if kind != self.dtype else start
            position = enter(Scalar("arith.addf", (wide, position), self.dtype))
        elif self.out.init:
            start = enter(Scalar("const", (), self.dtype, self.out.init))
            position = enter(Scalar("arith.addf", (start, position), self.dtype))
        if is_narrow_float(kind) and kind != self.dtype:
            position = enter(Scalar("arith.truncf", (position,), kind))
        out = Out(self.out.value, self.out.axes, position)
        return self._nest(walked, entries, position, tuple(ins), out)

    def _value(self, shape: tuple[int, ...], dtype: str) -> str:
        name = self.fresh()
        self.values[name] = Value(name, shape, dtype, self.c.where)
        return name

    def _nest(
        self, walked: list[Dim], entries: list[Scalar], position: int, ins: tuple[Access, ...], out: Out
    ) -> Compute:
        """A pointwise Compute over fresh dims."""
        body, results, used = pruned(tuple(entries), (position,), ins)
        dims = tuple(Dim(d.name, d.extent, "parallel") for d in walked)
        nest = Compute(
            dims, used, (replace(out, result=results[0]),), body, None, self.c.where, self.c.source
        )
        new = {d.name: self.fresh() for d in walked}
        moved = renamed(nest, lambda n: n, lambda d: new.get(d, d))
        assert isinstance(moved, Compute)
        return moved
