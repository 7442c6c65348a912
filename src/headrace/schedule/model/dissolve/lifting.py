"""Lifting one Compute out of a loop: which dim takes the loop, and how accesses and coordinates follow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from headrace.schedule.graph import Access, Axis, Compute, Dim, Linear, Loop, Out, Scalar, Statement
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.bodies.body import from_linear, linear
from headrace.schedule.model.dissolve.stays import Stays
from headrace.schedule.model.state import State
from headrace.schedule.model.statements import coordinate


@dataclass(frozen=True)
class Lift:
    """Iterations of a value lie along `axis`, `extent` positions each; None: a new first axis, one each."""

    axis: int | None
    extent: int


class Gathered(Protocol):
    """Which outs of a loop's body take in a term of every iteration."""

    @property
    def body(self) -> tuple[Statement, ...]: ...
    def of(self, out: Out) -> object:
        """Something true if an out does."""

    def result(self, out: Out) -> Out:
        """Such an out as a reduction over the whole loop."""

    def check(self, lifts: Collection[str]) -> None:
        """Stays if that is not all, given the values that differ from iteration to iteration."""


@dataclass(frozen=True)
class _Over:
    """The dim of a Compute that takes the loop: its name, its extent in one iteration, whether it is new."""

    name: str
    extent: int
    is_new: bool


def lift_compute(
    c: Compute,
    loop: Loop,
    trip: int,
    lifts: Mapping[str, Lift],
    gathered: Gathered,
    lifted: Callable[[str, Lift], None],
    state: State,
    is_continued: bool = False,
) -> Compute:
    """The Compute over all iterations; `lifted` is told how results are laid out. Stays when it cannot be.

    `is_continued`: what depends on the loop by its coordinates only is laid out along a dim whose coordinates
    go on from one iteration to the next, if there is one.
    """
    over = _choose(c, loop, lifts, state, is_continued)
    if over is None:
        if any(gathered.of(o) for o in c.outs):
            raise Stays  # the same term every iteration
        return c
    reduces = [bool(gathered.of(o)) for o in c.outs]
    if any(reduces) != all(reduces):
        raise Stays
    dims = _dims(c, over, trip, all(reduces))
    ins = tuple(_access(a, over, lifts.get(a.value)) for a in c.ins)
    body, position = _coordinates(c.body, loop, over)
    outs = []
    for o in c.outs:
        o = replace(o, result=position[o.result])
        outs.append(_gathered(o, over, gathered) if reduces[0] else _laid_out(o, over, lifts, lifted, state))
    return replace(c, dims=dims, ins=ins, body=body, outs=tuple(outs))


def _choose(
    c: Compute, loop: Loop, lifts: Mapping[str, Lift], state: State, is_continued: bool
) -> _Over | None:
    """The dim that takes the loop; None when nothing here changes from iteration to iteration."""
    extents = {d.name: d.extent for d in c.dims}
    along: set[str] = set()
    by_value = False
    for access in c.ins:
        lift = lifts.get(access.value)
        if lift is None:
            continue
        axis = None if lift.axis is None else access.axes[lift.axis]
        if axis is not None and axis.dim is not None:
            if axis.offset or extents[axis.dim] != lift.extent:
                raise Stays
            along.add(axis.dim)
        elif lift.extent != 1:
            raise Stays
        else:
            by_value = True
    if not along:
        by_index = any(loop.name in dict(coordinate(s)[1].terms) for s in c.body if s.op == "index")
        by_init = any(isinstance(o.init, str) and o.init in lifts for o in c.outs)
        going_on = _going_on(c, loop) if is_continued and not by_value and not by_init else None
        if going_on is not None:
            return going_on
        return _Over(state.fresh("d"), 1, True) if by_value or by_index or by_init else None
    name = min(along)
    if len(along) > 1 or (by_value and extents[name] != 1):
        raise Stays
    return _Over(name, extents[name], False)


def _going_on(c: Compute, loop: Loop) -> _Over | None:
    """The dim whose coordinates continue in the next iteration, if all outs walk it; one of one element may
    be left out of the coordinates.
    """
    walked = [{a.dim for a in o.axes} for o in c.outs]
    units = [d.name for d in c.dims if d.extent == 1 and all(d.name in names for names in walked)]
    for s in c.body:
        if s.op == "index":
            dim, offset = coordinate(s)
            by = dict(offset.terms).get(loop.name, 0) * loop.step
            if dim is None and by == 1 and len(units) == 1:
                dim = units[0]
            extent = next((d.extent for d in c.dims if d.name == dim), 0)
            if dim is not None and by == extent and all(dim in names for names in walked):
                return _Over(dim, extent, False)
    return None


def _dims(c: Compute, over: _Over, trip: int, reduces: bool) -> tuple[Dim, ...]:
    if over.is_new:
        return (Dim(over.name, trip, "reduction" if reduces else "parallel"), *c.dims)
    dims = []
    for d in c.dims:
        if d.name == over.name:
            if d.kind == "reduction" and not reduces and d.extent != 1:
                raise Stays
            d = Dim(d.name, d.extent * trip, "reduction" if reduces else "parallel")
        dims.append(d)
    return tuple(dims)


def _fixed(axis: Axis, over: _Over) -> Axis:
    """An axis of something that is the same in every iteration."""
    if axis.dim != over.name:
        return axis
    if over.extent != 1:
        raise Stays
    return Axis(None, axis.offset)


def _access(access: Access, over: _Over, lift: Lift | None) -> Access:
    axes = [
        _fixed(a, over) if lift is None or k != lift.axis else Axis(over.name)
        for k, a in enumerate(access.axes)
    ]
    if lift is not None and lift.axis is None:
        axes = [Axis(over.name), *axes]
    return replace(access, axes=tuple(axes))


def _gathered(out: Out, over: _Over, gathered: Gathered) -> Out:
    """An accumulator: the loop's dim is reduced, so the out does not walk it."""
    return gathered.result(replace(out, axes=tuple(_fixed(a, over) for a in out.axes)))


def _laid_out(
    out: Out, over: _Over, lifts: Mapping[str, Lift], lifted: Callable[[str, Lift], None], state: State
) -> Out:
    """A result per iteration, laid out along the axis the loop's dim walks, a unit axis, or a new one."""
    shape = state.values[out.value].shape
    walked = [k for k, a in enumerate(out.axes) if a.dim == over.name]
    free = [k for k, a in enumerate(out.axes) if a.dim is None and shape[k] == 1]
    if walked:
        lift = Lift(walked[0], over.extent)
    elif over.extent != 1:
        raise Stays
    else:
        lift = Lift(free[0] if free else None, 1)
    if isinstance(out.init, str) and lifts.get(out.init) != lift:
        raise Stays
    axes = list(out.axes)
    if lift.axis is None:
        axes = [Axis(over.name), *axes]
    else:
        axes[lift.axis] = Axis(over.name)
    lifted(out.value, lift)
    return replace(out, axes=tuple(axes))


def _coordinates(body: tuple[Scalar, ...], loop: Loop, over: _Over) -> tuple[tuple[Scalar, ...], list[int]]:
    """The body with the loop variable replaced by the dim that takes the loop, and entries' new places."""
    entries: list[Scalar] = []
    position: list[int] = []

    def enter(s: Scalar) -> int:
        entries.append(s)
        return len(entries) - 1

    for s in body:
        s = replace(s, args=tuple(position[a] for a in s.args))
        position.append(_coordinate(s, loop, over, enter) if s.op == "index" else enter(s))
    return tuple(entries), position


def _coordinate(s: Scalar, loop: Loop, over: _Over, enter: Callable[[Scalar], int]) -> int:
    dim, offset = coordinate(s)
    terms = dict(offset.terms)
    factor = terms.pop(loop.name, 0)
    rest = nm.add(
        from_linear(replace(offset, terms=tuple(terms.items()))), nm.scale(from_linear(loop.start), factor)
    )
    by = factor * loop.step
    if dim != over.name and not by:
        return enter(s)
    if by == over.extent and (dim == over.name or (dim is None and by == 1)):
        return enter(replace(s, attr=(over.name, linear(rest))))
    whole = enter(replace(s, attr=(over.name, Linear())))
    if dim == over.name and over.extent != 1:
        if by:
            raise Stays
        extent = enter(Scalar("const", (), s.dtype, over.extent))
        local = enter(replace(s, op="arith.remui", args=(whole, extent), attr=None))
        shift = enter(replace(s, attr=(None, linear(rest))))
        return enter(replace(s, op="arith.addi", args=(local, shift), attr=None))
    if over.extent != 1:
        extent = enter(Scalar("const", (), s.dtype, over.extent))
        whole = enter(replace(s, op="arith.divui", args=(whole, extent), attr=None))
    base = enter(replace(s, attr=(None if dim == over.name else dim, linear(rest))))
    if not by:
        return base
    scaled = enter(
        replace(s, op="arith.muli", args=(whole, enter(Scalar("const", (), s.dtype, by))), attr=None)
    )
    return enter(replace(s, op="arith.addi", args=(base, scaled), attr=None))
