"""A product with the softmax of its rows, recognised: what a walk over blocks of columns has to carry.

The largest value of a row and the sum of its exponentials are associative, and what comes of the exponentials
is linear in them. So the columns may come block by block: a larger maximum shrinks what was summed before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.schedule.graph import Access, Axis, Compute, Load, Scalar, Store
from headrace.schedule.phases.chain import Walk, accesses, walk
from headrace.schedule.phases.names import Names
from headrace.schedule.phases.statements import Block

EXPONENTIALS = ("math.exp", "math.exp2")
CASTS = ("arith.truncf", "arith.extf")


@dataclass(frozen=True)
class Softmax:
    """By statement number: the maximum of every row (`top`), the exponentials of what is left when it is
    taken away (`powers`), their sum (`total`), the product that reduces the columns (`mix`), the statement
    between powers and mix that divides by the sum, if any does (`quotient`). `columns` are the dims and axes
    of columns; `rows` the axes by which each statement from the powers on walks a value with one element a
    row; `scale` multiplies what is left when the maximum is taken away.
    """

    columns: Walk
    top: int
    powers: int
    total: int
    mix: int
    quotient: int | None
    rows: Mapping[int, tuple[Axis, ...]]
    scale: float = 1.0


def softmax(block: Block, names: Names) -> Softmax | None:
    """Return the softmax whose columns a block of Loads, Computes and Stores may walk in blocks, None if
    there is none, or if anything else depends on the columns.
    """
    if any(not isinstance(s, Load | Compute | Store) for s in block.statements):
        return None
    computes = {n: s for n, s in enumerate(block.statements) if isinstance(s, Compute)}
    made = {o.value for c in computes.values() for o in c.outs}
    for number, compute in computes.items():
        seed = _maximised(compute, made)
        columns = walk(computes, seed, made, names) if seed is not None else None
        if columns is not None and _are_loads(columns, computes, made, names):
            found = _Parts(computes, columns, names, number).found()
            if found is not None and not any(_stores(s, columns) for s in block.statements):
                return found
    return None


def _stores(statement: object, columns: Walk) -> bool:
    return isinstance(statement, Store) and statement.value in columns.axes


def _maximised(compute: Compute, made: set[str]) -> tuple[str, int] | None:
    """The value whose rows a Compute takes the maxima of, with the axis of its columns."""
    reduced = [d.name for d in compute.dims if d.kind == "reduction"]
    if len(compute.outs) != 1 or compute.outs[0].combiner != "max" or len(reduced) != 1:
        return None
    if len(compute.ins) != 1 or compute.ins[0].value not in made:
        return None
    places = [k for k, a in enumerate(compute.ins[0].axes) if a.dim == reduced[0]]
    return (compute.ins[0].value, places[0]) if len(places) == 1 else None


def _are_loads(columns: Walk, computes: Mapping[int, Compute], made: set[str], names: Names) -> bool:
    """Whether all that walks columns is computed along with them or loaded where it lies."""
    for number, dim in columns.dims.items():
        for value, axes in accesses(computes[number]):
            places = [k for k, a in enumerate(axes) if a.dim == dim]
            if not places or value in columns.axes:
                continue
            load = names.loads.get(value)
            if value in made or load is None or load.indirect or len(places) > 1:
                return False
            if load.axes[places[0]] is None or axes[places[0]].offset:
                return False
    return True


class _Parts:
    """The statements of one softmax, told apart."""

    def __init__(self, computes: Mapping[int, Compute], columns: Walk, names: Names, top: int) -> None:
        self.computes, self.columns, self.names, self.top = computes, columns, names, top

    def found(self) -> Softmax | None:
        """The softmax; None if a statement along the columns is none of its parts."""
        top = self.computes[self.top].outs[0]
        readers = [n for n, c in self.computes.items() if any(v == top.value for v, _ in accesses(c))]
        if len(readers) != 1 or not isinstance(top.init, float) or not self._is_wide(top.value):
            return None
        less = self._less(readers[0])
        powers = self._powers(readers[0], less) if less is not None else None
        reducing = [n for n, dim in self.columns.dims.items() if self._reduces(n, dim)]
        others = [n for n in reducing if n != self.top]
        if powers is None or len(others) != 2:
            return None
        mix = next((n for n in others if self.computes[n].contraction is not None), None)
        total = next((n for n in others if n != mix and self._is_sum(n)), None)
        if mix is None or total is None or not self._is_sum(mix):
            return None
        number, rows, scale = powers
        found = self._linear(number, rows, total, mix)
        return replace(found, scale=scale) if found is not None else None

    def _is_wide(self, value: str) -> bool:
        return self.names.values[value].dtype == "f32"

    def _reduces(self, number: int, dim: str) -> bool:
        return any(d.name == dim and d.kind == "reduction" for d in self.computes[number].dims)

    def _is_sum(self, number: int) -> bool:
        """Whether a statement makes one f32 sum over the columns alone, from 0 on."""
        compute = self.computes[number]
        out = compute.outs[0]
        reduced = [d.name for d in compute.dims if d.kind == "reduction"]
        is_alone = len(compute.outs) == 1 and reduced == [self.columns.dims[number]]
        return is_alone and out.combiner == "add" and out.init == 0 and self._is_wide(out.value)

    def _less(self, number: int) -> tuple[Axis, ...] | None:
        """The axes by which a statement reads the maximum, if it takes it away from what was maximised, and
        at most makes exponentials of that; None if it makes anything else.
        """
        compute, maximum = self.computes[number], self.computes[self.top]
        body = compute.body
        if number not in self.columns.dims or not self._is_pointwise(number):
            return None
        last = body[compute.outs[0].result]
        less, _ = _scaled(body, last.args[0] if last.op in EXPONENTIALS else compute.outs[0].result)
        if body[less].op != "arith.subf":
            return None
        value, top = body[less].args
        reads = [a for a in compute.ins if a.value == maximum.outs[0].value]
        if len(reads) != 1 or body[top].op != "in" or compute.ins[_operand(body[top])] != reads[0]:
            return None
        rows = self._matched(reads[0], maximum, number)
        if rows is None or len(compute.dims) != len(rows) + 1 or sum(top in e.args for e in body) != 1:
            return None
        theirs = _expression(maximum, maximum.outs[0].result, rows | {self.columns.dims[self.top]: ""})
        names = {d: d for d in rows.values()} | {self.columns.dims[number]: ""}
        return reads[0].axes if theirs == _expression(compute, value, names) else None

    def _powers(self, number: int, rows: tuple[Axis, ...]) -> tuple[int, tuple[Axis, ...], float] | None:
        """The statement of the exponentials, its rows and what exponents were multiplied by: the one that
        takes the maximum away, or the only one that reads its result.
        """
        scale, less = 1.0, "arith.subf"
        while True:
            compute = self.computes[number]
            out = compute.outs[0]
            last = compute.body[out.result]
            is_power = last.op in EXPONENTIALS
            inner, factor = _scaled(compute.body, last.args[0] if is_power else out.result)
            scale *= factor
            if compute.body[inner].op != less:
                return None
            if is_power:
                return number, rows, scale
            readers = [n for n, c in self.computes.items() if any(v == out.value for v, _ in accesses(c))]
            if len(readers) != 1 or not self._is_pointwise(readers[0]):
                return None
            number, less = readers[0], "in"
            reader = self.computes[number]
            along = _along(reader.ins[0], out.axes, rows) if len(reader.ins) == 1 else None
            if along is None:
                return None
            rows = along

    def _is_pointwise(self, number: int) -> bool:
        """Whether a statement makes one f32 value, element by element."""
        compute = self.computes[number]
        is_plain = compute.contraction is None and all(d.kind == "parallel" for d in compute.dims)
        is_one = len(compute.outs) == 1 and compute.outs[0].combiner is None
        return is_plain and is_one and self._is_wide(compute.outs[0].value)

    def _matched(self, read: Access, maximum: Compute, number: int) -> dict[str, str] | None:
        """By row dim of the maximum the dim of the statement that reads it."""
        found: dict[str, str] = {}
        for theirs, ours in zip(maximum.outs[0].axes, read.axes, strict=True):
            if theirs.offset or ours.offset or (theirs.dim is None) != (ours.dim is None):
                return None
            if theirs.dim is not None and ours.dim is not None:
                found[theirs.dim] = ours.dim
        if self.columns.dims[number] in found.values() or len(set(found.values())) != len(found):
            return None
        return found

    def _linear(self, powers: int, rows: tuple[Axis, ...], total: int, mix: int) -> Softmax | None:
        """The softmax, if what the product takes is linear in the exponentials."""
        made = self.computes[powers].outs[0]
        values = {made.value: (made.axes, rows)}
        walked, quotient = {powers: rows}, None
        for number, compute in self.computes.items():
            read = [a for a in compute.ins if a.value in values]
            if not read:
                if number in self.columns.dims and self._takes(number, total):
                    return None
                continue
            along = _along(read[0], *values[read[0].value])
            if len(read) > 1 or number not in self.columns.dims or along is None:
                return None
            walked[number] = along
            if number in (total, mix):
                kept = {None, *(a.dim for a in compute.outs[0].axes)}
                if any(a.dim not in kept for a in along):
                    return None
                if number == total and (quotient is not None or not _is_plain(compute, read[0])):
                    return None
                continue
            divides = _divides(compute, read[0], Access(self.computes[total].outs[0].value, along))
            if divides is None or (divides and quotient is not None):
                return None
            quotient = number if divides else quotient
            values[compute.outs[0].value] = compute.outs[0].axes, along
        if total not in walked or mix not in walked:
            return None
        return Softmax(self.columns, self.top, powers, total, mix, quotient, walked)

    def _takes(self, number: int, total: int) -> bool:
        value = self.computes[total].outs[0].value
        return any(v == value for v, _ in accesses(self.computes[number]))


def _along(read: Access, made: tuple[Axis, ...], rows: tuple[Axis, ...]) -> tuple[Axis, ...] | None:
    """The rows of a value made by axes `made`, as its reader walks them."""
    dims = {m.dim: r.dim for m, r in zip(made, read.axes, strict=True) if m.dim is not None}
    if any(a.dim is not None and dims.get(a.dim) is None for a in rows):
        return None
    return tuple(Axis(None if a.dim is None else dims[a.dim], a.offset) for a in rows)


def _scaled(body: tuple[Scalar, ...], position: int) -> tuple[int, float]:
    """An entry without factors that are positive numbers, and these factors."""
    scale = 1.0
    while body[position].op == "arith.mulf":
        numbers = [a for a in body[position].args if body[a].op == "const"]
        factor = body[numbers[0]].attr if len(numbers) == 1 else None
        if not isinstance(factor, float) or not factor > 0:
            break
        scale *= factor
        position = next(a for a in body[position].args if a != numbers[0])
    return position, scale


def _operand(entry: Scalar) -> int:
    assert isinstance(entry.attr, int)
    return entry.attr


def _is_plain(compute: Compute, read: Access) -> bool:
    """Whether a reduction takes what it reads as it is."""
    entry = compute.body[compute.outs[0].result]
    return entry.op == "in" and compute.ins[_operand(entry)] == read


def _divides(compute: Compute, read: Access, total: Access) -> bool | None:
    """Whether a pointwise statement divides what it reads by the sum of the row; None if it does anything
    else to it than that and casts.
    """
    if len(compute.outs) != 1 or compute.outs[0].combiner is not None or compute.contraction is not None:
        return None
    if any(d.kind == "reduction" for d in compute.dims):
        return None
    divides = False
    position = compute.outs[0].result
    while (entry := compute.body[position]).op != "in":
        if entry.op == "arith.divf" and not divides:
            by = compute.body[entry.args[1]]
            if by.op != "in" or compute.ins[_operand(by)] != total or entry.dtype != "f32":
                return None
            divides = True
        elif entry.op not in CASTS:
            return None
        position = entry.args[0]
    others = [a for a in compute.ins if a not in (read, total)]
    is_ours = compute.ins[_operand(entry)] == read and not others
    return divides if is_ours and (divides or len(compute.ins) == 1) else None


def _expression(compute: Compute, position: int, names: Mapping[str, str]) -> object:
    """An entry of a body as a tree over what it reads, dims under their `names`."""
    entry = compute.body[position]
    if entry.op == "in":
        access = compute.ins[_operand(entry)]
        return access.value, tuple((names.get(a.dim or "", a.dim), a.offset) for a in access.axes)
    attr: object = entry.attr
    if isinstance(attr, tuple):
        attr = (names.get(attr[0], attr[0]), *attr[1:])
    return entry.op, entry.dtype, attr, tuple(_expression(compute, a, names) for a in entry.args)
