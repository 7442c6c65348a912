"""A loop's body as its only iteration: what it carries is what it starts from, and that is often a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

from headrace.schedule.graph import Compute, Loop, Reshape, Scalar, Statement, Value
from headrace.schedule.model.bodies.body import pruned
from headrace.schedule.model.dissolve.stays import Stays
from headrace.schedule.model.statements import aliased, input_number


def restarted(
    loop: Loop, values: Mapping[str, Value], fills: Mapping[str, float | int]
) -> tuple[tuple[Statement, ...], dict[str, str]]:
    """The statements with carried values as before the loop and results as after it, and what of the loop's
    values has another name there. A sum that starts from 0 is what is added to it.

    Stays where two results are one value.
    """
    known = {c.inner: float(fills[c.init]) for c in loop.carried if c.init in fills}
    alias: dict[str, str] = {}
    kept: list[Statement] = []
    for s in loop.body:
        s = aliased(s, alias)
        if isinstance(s, Compute):
            s = _started(_simplified(s, known), kept)
            whole = _copied(s, values)
            if whole is not None and whole not in known:
                alias[s.outs[0].value] = whole
                continue
        elif isinstance(s, Reshape) and s.source in known:
            known[s.value] = known[s.source]
        kept.append(s)
    names = {c.inner: c.init for c in loop.carried}
    results = {alias.get(c.yielded, c.yielded): c.result for c in loop.carried}
    if len(results) != len(loop.carried):
        raise Stays
    names |= results
    names |= {n: names.get(m, m) for n, m in alias.items()}
    return tuple(aliased(s, names) for s in kept), names


def _started(c: Compute, before: list[Statement]) -> Compute:
    """The nest; where it is the larger of a number and a maximum, the maximum starts from that number."""
    root = c.body[c.outs[0].result] if len(c.outs) == 1 else None
    if root is None or root.op != "arith.maximumf" or len(c.body) != 3 or len(c.ins) != 1:
        return c
    numbers = [e.attr for e in c.body if e.op == "const" and isinstance(e.attr, float)]
    for n, s in enumerate(before):
        if isinstance(s, Compute) and numbers and [o.value for o in s.outs] == [c.ins[0].value]:
            (out,) = s.outs
            if out.combiner == "max" and isinstance(out.init, float):
                before[n] = replace(s, outs=(replace(out, init=max(out.init, numbers[0])),))
                position = next(k for k in root.args if c.body[k].op == "in")
                body, results, ins = pruned(c.body, (position,), c.ins)
                return replace(c, ins=ins, body=body, outs=(replace(c.outs[0], result=results[0]),))
    return c


def _simplified(c: Compute, known: dict[str, float]) -> Compute:
    """The nest with numbers for values that are `known`; notes results that are numbers."""
    entries: list[Scalar] = []
    position: list[int] = []
    for entry in c.body:
        entry = replace(entry, args=tuple(position[a] for a in entry.args))
        number = known.get(c.ins[input_number(entry)].value) if entry.op == "in" else None
        if number is not None:
            entry = Scalar("const", (), entry.dtype, number, entry.where)
        same = _same_as(entry, entries)
        if same is None:
            entries.append(entry)
        position.append(len(entries) - 1 if same is None else same)
    results = tuple(position[o.result] for o in c.outs)
    body, places, ins = pruned(tuple(entries), results, c.ins)
    outs = []
    for out, place in zip(c.outs, places, strict=True):
        init = known.get(out.init, out.init) if isinstance(out.init, str) else out.init
        if out.combiner is None and body[place].op == "const":
            known[out.value] = float(body[place].attr)  # type: ignore[arg-type]
        outs.append(replace(out, result=place, init=init))
    return replace(c, ins=ins, body=body, outs=tuple(outs))


def _same_as(entry: Scalar, entries: list[Scalar]) -> int | None:
    """The earlier entry that an op with a neutral number is, or the number it is whatever the other is.

    A product with 0 is 0: the only factor a carried sum has is an exponential of at most 0.
    """

    def numbers(wanted: float) -> Iterator[int]:
        return (k for k, a in enumerate(entry.args) if entries[a].op == "const" and entries[a].attr == wanted)

    if entry.op == "arith.mulf":
        return next((entry.args[k] for k in numbers(0.0)), None)
    if entry.op in ("arith.addf", "arith.maximumf", "arith.maxnumf"):
        neutral = 0.0 if entry.op == "arith.addf" else -inf
        return next((entry.args[1 - k] for k in numbers(neutral)), None)
    if entry.op == "math.fma" and {0, 1} & {*numbers(0.0)}:
        return entry.args[2]
    return None


def _copied(c: Compute, values: Mapping[str, Value]) -> str | None:
    """The value that a nest only copies as it is."""
    if len(c.outs) != 1 or c.outs[0].combiner is not None:
        return None
    out, entry = c.outs[0], c.body[c.outs[0].result]
    if entry.op != "in":
        return None
    access = c.ins[input_number(entry)]
    one, other = values[access.value], values[out.value]
    alike = (one.shape, one.dtype) == (other.shape, other.dtype)
    return access.value if alike and access.axes == out.axes else None
