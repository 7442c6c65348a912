"""What is known of the conditions of a loop's body at some places: coordinates as linear numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.schedule.graph import Access, Axis, Compute, Loop, Reshape, Scalar, Statement
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.bodies.body import from_linear
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import coordinate, input_number, makes

Where = Mapping[str, Num]
"""Coordinates at which elements are looked at: by dim, of a value by the number of its axis; all of those
that are missing.
"""


class Places:
    """The statements before and in a loop, looked at where its variable is `at`; `ranges` are those of what
    `at` and coordinates are made of.
    """

    def __init__(self, loop: Loop, state: State, at: Num, ranges: nm.Ranges) -> None:
        self.loop, self.state, self.at = loop, state, at
        self.ranges: dict[str, tuple[nm.Const, nm.Const]] = {**state.ranges, **ranges}
        self.makers: dict[str, Statement] = {n: s for s in (*state.block, *loop.body) for n in makes(s)}

    def maker(self, name: str) -> Compute | Reshape | None:
        """The nest or the reshape that makes a value, if one does."""
        found = self.makers.get(name)
        return found if isinstance(found, Compute | Reshape) else None

    def truth(self, c: Compute, position: int, where: Where) -> bool | None:
        """Whether a condition holds at all of these places (None: not known, or not the same)."""
        entry = c.body[position]
        if entry.op == "in":
            found = self._through(c.ins[input_number(entry)], where, c)
            return None if found is None else self.truth(*found)
        if entry.op == "arith.cmpi":
            one, other = (self._number(c, a, where) for a in entry.args)
            return None if one is None or other is None else self._compared(str(entry.attr), one, other)
        if entry.op in ("arith.andi", "arith.ori"):
            truths = [self.truth(c, a, where) for a in entry.args]
            wins = entry.op == "arith.ori"
            if wins in truths:
                return wins
            return None if None in truths else not wins
        return None

    def _compared(self, predicate: str, one: Num, other: Num) -> bool | None:
        swapped = {"slt": "sgt", "sle": "sge", "ult": "ugt", "ule": "uge"}.get(predicate)
        if swapped is not None:
            return self._compared(swapped, other, one)
        if predicate[0] == "u" and any(np.any(nm.bounds(n, self.ranges)[0] < 0) for n in (one, other)):
            return None
        low, high = (np.asarray(n) for n in nm.bounds(nm.sub(one, other), self.ranges))
        if predicate in ("sge", "uge"):
            return True if np.all(low >= 0) else False if np.all(high < 0) else None
        if predicate in ("sgt", "ugt"):
            return True if np.all(low > 0) else False if np.all(high <= 0) else None
        return None

    def _number(self, c: Compute, position: int, where: Where) -> Num | None:
        """The integer an entry is."""
        entry = c.body[position]
        if entry.op == "in":
            found = self._through(c.ins[input_number(entry)], where, c)
            return None if found is None else self._number(*found)
        if entry.op == "const" and isinstance(entry.attr, int):
            return Num(entry.attr)
        if entry.op == "index":
            return self._index(c, entry, where)
        if entry.op in ("arith.index_cast", "arith.extsi", "arith.trunci"):
            return self._number(c, entry.args[0], where)
        if entry.op in ("arith.addi", "arith.subi"):
            one, other = (self._number(c, a, where) for a in entry.args)
            if one is not None and other is not None:
                return nm.add(one, other) if entry.op == "arith.addi" else nm.sub(one, other)
        return None

    def _index(self, c: Compute, entry: Scalar, where: Where) -> Num:
        dim, offset = coordinate(entry)
        number = from_linear(offset)
        factor = number.terms.get(self.loop.name, 0)
        rest = Num(number.const, {n: k for n, k in number.terms.items() if n != self.loop.name})
        number = nm.add(rest, nm.scale(self.at, factor))
        return number if dim is None else nm.add(number, self._along(c, dim, where))

    def _along(self, c: Compute, dim: str, where: Where) -> Num:
        """The coordinate along a dim of a nest."""
        if dim not in where:
            extent = next(d.extent for d in c.dims if d.name == dim)
            self.ranges.setdefault(dim, (0, extent - 1))
            return Num(0, {dim: 1})
        return where[dim]

    def read(self, access: Access, where: Where, c: Compute) -> dict[str, Num]:
        """The coordinates of what a nest reads there, by the number of the value's axis."""

        def place(axis: Axis) -> Num:
            if axis.dim is None:
                return Num(axis.offset)
            return nm.add(self._along(c, axis.dim, where), Num(axis.offset))

        return {str(k): place(axis) for k, axis in enumerate(access.axes)}

    def made(self, c: Compute, name: str, where: Where) -> dict[str, Num]:
        """The coordinates along the dims of a nest where it makes a value at `where`."""
        (axes,) = (o.axes for o in c.outs if o.value == name)
        found = {a.dim: nm.sub(where[str(k)], Num(a.offset)) for k, a in enumerate(axes) if str(k) in where}
        return {d: n for d, n in found.items() if d is not None}

    def _through(self, access: Access, where: Where, c: Compute) -> tuple[Compute, int, Where] | None:
        """The nest and the entry that make what is read, and the coordinates there."""
        maker = self.maker(access.value)
        if not isinstance(maker, Compute) or len(maker.outs) != 1 or maker.outs[0].combiner is not None:
            return None
        return maker, maker.outs[0].result, self.made(maker, access.value, self.read(access, where, c))
