"""Loads of more than anybody looks at shrink to the box that is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.schedule.graph import Access, Axis, Compute, Linear, Load, Loop, Statement, Value
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.bodies.body import from_linear, linear
from headrace.schedule.model.statements import everything, reads

Box = list[tuple[int, int]]
"""First and one past the last position along every axis."""


def narrowed(body: Sequence[Statement], values: dict[str, Value]) -> tuple[Statement, ...]:
    """The block with such loads shrunk; `values` receives their new shapes."""
    boxes = _boxes(everything(body), values)
    lows = {name: [low for low, _ in box] for name, box in boxes.items()}
    for name, box in boxes.items():
        values[name] = replace(values[name], shape=tuple(high - low for low, high in box))
    return tuple(_moved(s, lows) for s in body)


def _boxes(statements: Sequence[Statement], values: Mapping[str, Value]) -> dict[str, Box]:
    """The box of every loaded value that is read by Computes only, and not as a whole."""
    found: dict[str, Box] = {}
    whole: set[str] = set()
    for s in statements:
        if isinstance(s, Compute):
            extents = {d.name: d.extent for d in s.dims}
            for access in s.ins:
                box = [(a.offset, a.offset + (1 if a.dim is None else extents[a.dim])) for a in access.axes]
                known = found.setdefault(access.value, box)
                found[access.value] = [
                    (min(a, c), max(b, d)) for (a, b), (c, d) in zip(known, box, strict=True)
                ]
            whole |= {o.init for o in s.outs if isinstance(o.init, str)}
        elif not isinstance(s, Loop):
            whole |= reads(s)
        else:
            whole |= {n for c in s.carried for n in (c.init, c.yielded)}
    loads = {s.value: s for s in statements if isinstance(s, Load) and not s.indirect}
    return {
        name: box
        for name, box in found.items()
        if name in loads and name not in whole and tuple(b - a for a, b in box) != values[name].shape
    }


def _moved(s: Statement, lows: Mapping[str, Sequence[int]]) -> Statement:
    if isinstance(s, Loop):
        return replace(s, body=tuple(_moved(t, lows) for t in s.body))
    if isinstance(s, Load) and s.value in lows:
        origin = list(s.origin)
        for axis, low in zip(s.axes, lows[s.value], strict=True):
            if axis is not None:
                origin[axis] = _plus(origin[axis], low)
        return replace(s, origin=tuple(origin))
    if isinstance(s, Compute) and any(a.value in lows for a in s.ins):
        return replace(s, ins=tuple(_shifted(a, lows[a.value]) if a.value in lows else a for a in s.ins))
    return s


def _plus(value: Linear, offset: int) -> Linear:
    return linear(nm.add(from_linear(value), Num(offset)))


def _shifted(access: Access, lows: Sequence[int]) -> Access:
    return Access(
        access.value, tuple(Axis(a.dim, a.offset - low) for a, low in zip(access.axes, lows, strict=True))
    )
