"""Indirect access tiles: gathers, scatters, and walks that are more than one step per dim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from headrace.numbers.dtypes import is_integer
from headrace.schedule.graph import Indirect, View
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.attributes import literal
from headrace.schedule.model.bodies.body import from_linear, linear
from headrace.schedule.model.ops.subscripts import Subscripts, subscripts_of
from headrace.schedule.model.ops.views import check_shape, leaves, order_of
from headrace.schedule.model.state import MemoryView, Part, Refused, State, Tile


@dataclass(frozen=True)
class Walk:
    """A view walked by variables: dim d is at origin[d] plus the variable axes[d] (None: fixed)."""

    view: View
    origin: tuple[Num, ...]
    axes: tuple[int | None, ...]
    dims: tuple[int, ...]
    """The dims of the view as written that come first here, in order."""


def indirect_tile(state: State, op: Operation) -> Tile:
    """The tile of `ktdp.construct_indirect_access_tile`."""
    s, base = subscripts_of(state, op)
    given = order_of(literal(op, "variables_space_order").data)  # type: ignore[union-attr]
    order = [part for variable in given for part in s.parts[variable]]
    written = tuple(prod(s.extents[part] for part in s.parts[variable]) for variable in given)
    check_shape(op, written)
    if len(base.parts) != 1:
        raise Refused("an indirect access tile on a distributed view is not supported", "use one view")
    part = base.parts[0]
    _check(state, part, s)
    direct = [n if n is None else nm.sub(n, Num(low)) for n, low in zip(s.direct, part.low, strict=True)]
    walk = _walk(part.view, direct, s)
    found = tuple(_indirect(i, walk.dims, order, s) for i in s.indices)
    axis_of = {p: k for k, p in enumerate(order)}
    walked = {a: d for d, a in enumerate(walk.axes) if a is not None}
    axes = tuple(walked.get(p) for p in order)
    used = {axis_of[p] for p in walked} | {a for i in found for a in i.axes if a is not None}
    shape = tuple(s.extents[p] for p in order)
    repeats = tuple(k for k, n in enumerate(shape) if k not in used and n > 1)
    view = MemoryView(walk.view.sizes, base.dtype, (_whole(walk.view),))
    return Tile(view, walk.origin, axes, shape, found, repeats, written)


def _whole(view: View) -> Part:
    return Part(view, tuple(0 for _ in view.sizes), tuple(n - 1 for n in view.sizes))


def _check(state: State, part: Part, s: Subscripts) -> None:
    ranges = dict(state.ranges)
    state.ranges |= s.ranges()
    problems = [
        f"dim {d} {wrong}"
        for d, value in enumerate(s.direct)
        if value is not None and (wrong := leaves(state, value, 1, part.low[d], part.high[d]))
    ]
    for d, view, values in s.indices:
        part = view.parts[0]
        problems += [
            f"the index of dim {d} {wrong}"
            for k, value in enumerate(values)
            if (wrong := leaves(state, value, 1, part.low[k], part.high[k]))
        ]
    state.ranges = ranges
    if problems:
        raise Refused("access out of bounds: " + "; ".join(problems), "shrink the tile or guard it")


def _walk(view: View, subscripts: Sequence[Num | None], s: Subscripts) -> Walk:
    """The view with every variable walking a dim of its own, re-strided where one does more than step."""
    split = [_split(n, s.names) if n is not None else (Num(0), {}) for n in subscripts]
    uses = [v for _, terms in split for v in terms]
    simple = all(len(t) <= 1 and set(t.values()) <= {1} for _, t in split) and len(set(uses)) == len(uses)
    if simple:
        axes = tuple(next(iter(t), None) for _, t in split)
        return Walk(view, tuple(rest for rest, _ in split), axes, tuple(range(len(split))))
    kept = [d for d, n in enumerate(subscripts) if n is None]
    used = sorted(set(uses))
    start = from_linear(view.start)
    for (rest, _), stride in zip(split, view.strides, strict=True):
        start = nm.add(start, nm.scale(rest, stride))
    steps = [
        sum(t.get(v, 0) * stride for (_, t), stride in zip(split, view.strides, strict=True)) for v in used
    ]
    sizes = (*(view.sizes[d] for d in kept), *(s.extents[v] for v in used))
    strides = (*(view.strides[d] for d in kept), *steps)
    walked = View(view.arg, linear(start), view.dtype, sizes, strides, view.space, view.where)
    return Walk(walked, (Num(0),) * len(sizes), (*(None for _ in kept), *used), tuple(kept))


def _split(value: Num, names: tuple[str, ...]) -> tuple[Num, dict[int, int]]:
    """The part of a subscript without variables, and the coefficient of every variable in it."""
    terms = {names.index(n): c for n, c in value.terms.items() if n in names}
    return Num(value.const, {n: c for n, c in value.terms.items() if n not in names}), terms


def _indirect(
    index: tuple[int, MemoryView, tuple[Num, ...]], dims: tuple[int, ...], order: list[int], s: Subscripts
) -> Indirect:
    dim, view, values = index
    if len(view.parts) != 1 or not is_integer(view.dtype):
        raise Refused("an index view must be one view of integers", "store the indices as i32 or i64")
    walk = _walk(view.parts[0].view, values, s)
    axis_of = {p: k for k, p in enumerate(order)}
    axes = tuple(None if a is None else axis_of[a] for a in walk.axes)
    return Indirect(dims.index(dim), walk.view, tuple(linear(o) for o in walk.origin), axes)
