"""Whether a running maximum can still be minus infinity after the first block: where it can, the loop's
exponential of a difference of two infinities is NaN, and that of one block of all keys is not.

Products of matrices count as finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import numpy as np

from headrace.schedule.graph import Access, Axis, Compute, Loop, Out, Reshape, Scalar
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.bodies.body import from_linear
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import coordinate, input_number, makes

Fixed = Mapping[str, int]
"""Coordinates at which elements are looked at, by dim (of a value: by the number of its axis)."""
Range = tuple[nm.Const, nm.Const]
F16_LEAST = -6e4


class Visible:
    """What is known of the values of a loop's first iteration and of those before it."""

    def __init__(self, loop: Loop, state: State) -> None:
        self.state = state
        self.makers = {name: s for s in (*state.block, *loop.body) for name in makes(s)}
        start = nm.bounds(from_linear(loop.start), state.ranges)
        self.ranges: dict[str, Range] = {**state.ranges, loop.name: start}

    def value(self, name: str, fixed: Fixed | None = None, least: float = -inf) -> bool:
        """Whether all elements of a float value (at some coordinates) are larger than `least`."""
        number = self.state.fills.get(name)
        if number is not None:
            return number > least
        maker = self.makers.get(name)
        if isinstance(maker, Reshape):
            return self.value(maker.source, None, least)
        if not isinstance(maker, Compute):
            return False
        (out,) = (o for o in maker.outs if o.value == name)
        dims = {a.dim: fixed[str(k)] - a.offset for k, a in enumerate(out.axes) if fixed and str(k) in fixed}
        return self._out(maker, out, {d: n for d, n in dims.items() if d is not None}, least)

    def _out(self, c: Compute, out: Out, fixed: Fixed, least: float) -> bool:
        if out.combiner is None:
            return self._entry(c, out.result, fixed, least)
        init = out.init
        started = self.value(init, None, least) if isinstance(init, str) else init is None or init > least
        if out.combiner == "add":
            return started and c.body[out.result].op == "arith.mulf"
        if out.combiner != "max":
            return False
        reduced = [d for d in c.dims if d.kind == "reduction"]
        looks: list[Fixed] = [fixed, *({**fixed, d.name: n} for d in reduced for n in (0, d.extent - 1))]
        return (started and init is not None) or any(
            self._entry(c, out.result, look, least) for look in looks
        )

    def _entry(self, c: Compute, position: int, fixed: Fixed, least: float) -> bool:
        entry = c.body[position]

        def arg(k: int, least: float = least) -> bool:
            return self._entry(c, entry.args[k], fixed, least)

        match entry.op:
            case "const":
                return isinstance(entry.attr, float | int) and entry.attr > least
            case "in":
                access = c.ins[input_number(entry)]
                return self.value(access.value, _at(access, fixed), least)
            case "arith.extf":
                return arg(0)
            case "arith.truncf":
                return arg(0, max(least, F16_LEAST) if entry.dtype == "f16" else least)
            case "arith.sitofp" | "arith.uitofp" | "math.tanh":
                return least == -inf
            case "arith.addf":
                return least == -inf and arg(0) and arg(1)
            case "arith.mulf" | "arith.divf":
                number = self._number(c, entry.args[1])
                other = 0 if number is not None else 1
                if number is None and entry.op == "arith.mulf":
                    number = self._number(c, entry.args[0])
                return least == -inf and number is not None and 0.0 < number < inf and arg(other)
            case "arith.maximumf" | "arith.maxnumf":
                return arg(0) or arg(1)
            case "arith.select":
                truth = self._truth(c, entry.args[0], fixed)
                return (truth is False or arg(1)) and (truth is True or arg(2))
            case _:
                return False

    def _number(self, c: Compute, position: int) -> float | None:
        entry = c.body[position]
        if entry.op == "const" and isinstance(entry.attr, float | int):
            return float(entry.attr)
        return self.state.fills.get(c.ins[input_number(entry)].value) if entry.op == "in" else None

    # -- conditions on coordinates ---------------------------------------------------------------------------

    def _truth(self, c: Compute, position: int, fixed: Fixed) -> bool | None:
        """Whether a condition holds at all of these coordinates (None: not known)."""
        entry = c.body[position]
        if entry.op == "in":
            found = self._through(c.ins[input_number(entry)], fixed)
            return None if found is None else self._truth(*found)
        if entry.op == "arith.cmpi":
            ranges = [self._range(c, a, fixed) for a in entry.args]
            return _compared(str(entry.attr), ranges[0], ranges[1])
        if entry.op in ("arith.andi", "arith.ori"):
            truths = [self._truth(c, a, fixed) for a in entry.args]
            wins = entry.op == "arith.ori"
            if wins in truths:
                return wins
            return None if None in truths else not wins
        return None

    def _range(self, c: Compute, position: int, fixed: Fixed) -> Range | None:
        """The least and the largest that an integer is at these coordinates, per tile."""
        entry = c.body[position]
        if entry.op == "in":
            found = self._through(c.ins[input_number(entry)], fixed)
            return None if found is None else self._range(*found)
        if entry.op == "const" and isinstance(entry.attr, int):
            return entry.attr, entry.attr
        if entry.op == "index":
            return self._index(c, entry, fixed)
        if entry.op in ("arith.index_cast", "arith.extsi", "arith.trunci"):
            return self._range(c, entry.args[0], fixed)
        if entry.op in ("arith.addi", "arith.subi"):
            one, other = (self._range(c, a, fixed) for a in entry.args)
            if one is None or other is None:
                return None
            if entry.op == "arith.subi":
                other = (-other[1], -other[0])
            return one[0] + other[0], one[1] + other[1]
        return None

    def _index(self, c: Compute, entry: Scalar, fixed: Fixed) -> Range:
        dim, offset = coordinate(entry)
        low, high = nm.bounds(from_linear(offset), self.ranges)
        if dim is None:
            return low, high
        extent = next(d.extent for d in c.dims if d.name == dim)
        first, last = (fixed[dim], fixed[dim]) if dim in fixed else (0, extent - 1)
        return low + first, high + last

    def _through(self, access: Access, fixed: Fixed) -> tuple[Compute, int, Fixed] | None:
        """The nest and the entry that make what is read, and the coordinates there."""
        maker = self.makers.get(access.value)
        if not isinstance(maker, Compute) or len(maker.outs) != 1 or maker.outs[0].combiner is not None:
            return None
        out, at = maker.outs[0], _at(access, fixed)
        dims = {a.dim: at[str(k)] - a.offset for k, a in enumerate(out.axes) if str(k) in at}
        return maker, out.result, {d: n for d, n in dims.items() if d is not None}


def _at(access: Access, fixed: Fixed) -> dict[str, int]:
    """The coordinates of what is read, by the number of the value's axis."""

    def place(axis: Axis) -> int | None:
        if axis.dim is None:
            return axis.offset
        return fixed[axis.dim] + axis.offset if axis.dim in fixed else None

    found = ((str(k), place(axis)) for k, axis in enumerate(access.axes))
    return {k: n for k, n in found if n is not None}


def _compared(predicate: str, one: Range | None, other: Range | None) -> bool | None:
    if one is None or other is None:
        return None
    if predicate in ("slt", "sle", "ult", "ule"):
        swapped = {"slt": "sgt", "sle": "sge", "ult": "ugt", "ule": "uge"}[predicate]
        return _compared(swapped, other, one)
    if predicate[0] == "u" and (np.any(one[0] < 0) or np.any(other[0] < 0)):
        return None
    low, high = np.asarray(one[0]) - other[1], np.asarray(one[1]) - other[0]
    if predicate in ("sge", "uge"):
        return True if np.all(low >= 0) else False if np.all(high < 0) else None
    if predicate in ("sgt", "ugt"):
        return True if np.all(low > 0) else False if np.all(high <= 0) else None
    return None
