"""Costly scalar expressions move out of nests that would repeat them along dims they do not depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import prod

from headrace.arch.cost import op_class
from headrace.schedule.graph import Access, Axis, Compute, Dim, Loop, Out, Scalar, Statement, Value
from headrace.schedule.model.bodies.body import pruned
from headrace.schedule.model.statements import coordinate, input_number, renamed
from headrace.schedule.ring import is_ring

_COSTLY = ("divide", "function", "special")
_LEAVES = ("in", "const", "index")


def split_invariants(
    body: Iterable[Statement], values: dict[str, Value], fresh: Callable[[], str]
) -> tuple[Statement, ...]:
    """The block with such expressions as nests of their own; `values` receives their results."""
    result: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = replace(s, body=split_invariants(s.body, values, fresh))
        while isinstance(s, Compute) and (position := _repeated(s)) is not None:
            own, s = _split(s, position, values, fresh)
            result.append(own)
        result.append(s)
    return tuple(result)


def dims_of(c: Compute) -> list[frozenset[str]]:
    """The dims every entry of a body depends on."""
    found: list[frozenset[str]] = []
    for s in c.body:
        if s.op == "in":
            axes = c.ins[input_number(s)].axes
            found.append(frozenset(a.dim for a in axes if a.dim is not None))
        elif s.op == "index":
            dim, _ = coordinate(s)
            found.append(frozenset() if dim is None else frozenset({dim}))
        else:
            found.append(frozenset(d for a in s.args for d in found[a]))
    return found


def _repeated(c: Compute) -> int | None:
    """The first entry that is worth a nest of its own: costly, and used where more dims are walked."""
    dims, extents = dims_of(c), {d.name: d.extent for d in c.dims}
    costly: list[bool] = []
    for s in c.body:
        own = s.op not in _LEAVES and not is_ring(s) and op_class(s.op, where=s.where) in _COSTLY
        costly.append(own or any(costly[a] for a in s.args))
    for position, s in enumerate(c.body):
        if s.op in _LEAVES:
            continue
        for a in s.args:
            more = dims[position] - dims[a]
            if costly[a] and c.body[a].op not in _LEAVES and prod(extents[d] for d in more) > 1:
                return a
    return None


def _split(
    c: Compute, position: int, values: dict[str, Value], fresh: Callable[[], str]
) -> tuple[Compute, Compute]:
    """The nest of one entry, and the Compute that reads its result instead."""
    wanted = dims_of(c)[position]
    walked = [d for d in c.dims if d.name in wanted]
    entry, name = c.body[position], fresh()
    values[name] = Value(name, tuple(d.extent for d in walked), entry.dtype, c.where)
    axes = tuple(Axis(d.name) for d in walked)
    body, results, ins = pruned(c.body, (position,), c.ins)
    own = replace(
        c,
        dims=tuple(Dim(d.name, d.extent, "parallel") for d in walked),
        ins=ins,
        outs=(Out(name, axes, results[0]),),
        body=body,
    )
    new = {d.name: fresh() for d in walked}
    moved = renamed(own, lambda n: n, lambda d: new.get(d, d))
    assert isinstance(moved, Compute)
    return moved, reading(c, position, Access(name, axes))


def reading(c: Compute, position: int, access: Access) -> Compute:
    """The Compute with one entry read from a value."""
    entry = Scalar("in", (), c.body[position].dtype, len(c.ins), c.body[position].where)
    body = (*c.body[:position], entry, *c.body[position + 1 :])
    entries, results, ins = pruned(body, tuple(o.result for o in c.outs), (*c.ins, access))
    outs = tuple(replace(o, result=r) for o, r in zip(c.outs, results, strict=True))
    return replace(c, ins=ins, body=entries, outs=outs)
