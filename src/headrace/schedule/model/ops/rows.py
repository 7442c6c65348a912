"""Accesses no unit makes as they are: through one index tensor of row numbers, computed and stored first.

That is several index tensors, or one walked by a variable that walks the view, too. All these dims become
one dim of rows; an index outside its dim becomes row -1, which no unit accepts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd, prod

from xdsl.ir import Operation

from headrace.ir.rules.scope import tiles_of
from headrace.ir.text import location
from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Arg, Axis, Dim, Indirect, Linear, Load, Out, Store, View
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.bodies.body import Body, Operand, linear
from headrace.schedule.model.bodies.scalars import integer
from headrace.schedule.model.state import MemoryView, Part, State, Tile
from headrace.schedule.model.tensors import Integer

NO_ROW = -1


def with_one_index(state: State, tile: Tile, view: View, op: Operation) -> tuple[Tile, View]:
    """The same access with at most one index tensor, whose axes walk nothing else; emits what computes it."""
    walked = sorted({a for i in tile.indirect for a in i.axes if a is not None})
    both = {a: d for a in walked if (d := tile.axes[a]) is not None}
    if len(tile.indirect) < 2 and not both:
        return tile, view
    folded = {*both.values(), *(i.view_dim for i in tile.indirect)}
    apart = gcd(*(view.strides[d] for d in folded))
    rows = 1 + sum((view.sizes[d] - 1) * view.strides[d] // apart for d in folded)
    index = _stored(state, tile, view, walked, both, apart, op)
    kept = [d for d in range(len(view.sizes)) if d not in folded]
    place = {d: 1 + k for k, d in enumerate(kept)}
    flat = replace(
        view,
        sizes=(rows, *(view.sizes[d] for d in kept)),
        strides=(apart, *(view.strides[d] for d in kept)),
    )
    part = Part(flat, (0,) * len(flat.sizes), tuple(n - 1 for n in flat.sizes))
    made = replace(
        tile,
        view=MemoryView(flat.sizes, tile.view.dtype, (part,)),
        origin=(Num(0), *(tile.origin[d] for d in kept)),
        axes=tuple(None if d is None else place.get(d) for d in tile.axes),
        indirect=(index,),
    )
    return made, flat


def _stored(
    state: State,
    tile: Tile,
    view: View,
    walked: Sequence[int],
    both: Mapping[int, int],
    apart: int,
    op: Operation,
) -> Indirect:
    """The row numbers, computed by the vector unit and laid in memory of each tile's own.

    `both` are the axes that walk a dim of the view as well.
    """
    where, shape = location(op), tuple(tile.shape[a] for a in walked)
    body = Body(state.dims(shape), state.ranges)
    dims = dict(zip(walked, body.dims, strict=True))
    dtype = max((i.index.dtype for i in tile.indirect), key=itemsize)
    row: Operand = Integer(_direct(tile, view, both, apart, dims), dtype)
    inside: Operand | None = None
    for i in tile.indirect:
        own = [a for a in i.axes if a is not None]
        name = state.value([tile.shape[a] for a in own], i.index.dtype, where)
        axes = tuple(k for k, a in enumerate(i.axes) if a is not None)
        state.block.append(Load(name, i.index, i.origin, axes, (), where))
        at: Operand = body.read(name, tuple(Axis(dims[a].name) for a in own), i.index.dtype)
        if i.index.dtype != dtype:
            at = body.apply("arith.extsi", [at], dtype)
        for predicate, limit in (("sge", 0), ("slt", view.sizes[i.view_dim])):
            holds = body.apply("arith.cmpi", [at, integer(limit, dtype)], "i1", predicate)
            inside = holds if inside is None else body.apply("arith.andi", [inside, holds], "i1")
        factor = integer(view.strides[i.view_dim] // apart, dtype)
        row = body.apply("arith.addi", [row, body.apply("arith.muli", [at, factor], dtype)], dtype)
    assert inside is not None
    result = body.apply("arith.select", [inside, row, integer(NO_ROW, dtype)], dtype)
    value = state.value(shape, dtype, where)
    walk = tuple(Axis(d.name) for d in body.dims)
    state.compute(body, [Out(value, walk, result)], where, op.name)
    sizes = (tiles_of(op), *shape)
    scratch = View(_name(state, op), Linear(), dtype, sizes, _packed(sizes), "global", where)
    state.scratch[scratch.arg] = Arg(scratch.arg, dtype, sizes, "scratch")
    origin = (linear(nm.number(state.tiles)), *(Linear() for _ in shape))
    state.block.append(Store(value, scratch, origin, tuple(range(1, len(sizes))), (), where))
    state.stores[scratch.space, scratch.arg] += 1
    return Indirect(0, scratch, origin, (None, *walked))


def _direct(tile: Tile, view: View, both: Mapping[int, int], apart: int, dims: Mapping[int, Dim]) -> Num:
    """What the directly walked dims add to the row number."""
    total = Num(0)
    for axis, d in both.items():
        here = nm.add(tile.origin[d], Num(0, {dims[axis].name: 1}))
        total = nm.add(total, nm.scale(here, view.strides[d] // apart))
    return total


def _name(state: State, op: Operation) -> str:
    module = op.get_toplevel_object()
    assert isinstance(module, Operation)
    number = [o for o in module.walk() if o.name in ("ktdp.load", "ktdp.store")].index(op)
    state.runs[op] += 1
    return f"rows{number}_{state.runs[op]}"


def _packed(sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(sizes[k + 1 :]) for k in range(len(sizes)))
