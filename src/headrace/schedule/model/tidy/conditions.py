"""Conditions made of coordinates alone are part of the nest that reads them: a mask is then seen as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from headrace.schedule.graph import Access, Compute, Loop, Scalar, Statement, Value
from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import Num
from headrace.schedule.model.bodies.body import from_linear, linear, pruned
from headrace.schedule.model.statements import coordinate, everything, reads

CHEAP = frozenset(
    {
        *(
            "index",
            "const",
            "arith.cmpi",
            "arith.addi",
            "arith.subi",
            "arith.muli",
            "arith.andi",
            "arith.ori",
        ),
        *("arith.xori", "arith.index_cast", "arith.extsi", "arith.trunci"),
    }
)


def conditions_inside(body: Iterable[Statement], values: Mapping[str, Value]) -> tuple[Statement, ...]:
    """The statements with such conditions, if one nest alone reads them, in its body."""
    body = tuple(body)
    uses = Counter(name for s in everything(body) for name in reads(s) if not isinstance(s, Loop))
    found = {
        s.outs[0].value: s
        for s in everything(body)
        if isinstance(s, Compute) and _is_condition(s, values) and uses[s.outs[0].value] == 1
    }
    return _inside(body, found) if found else body


def _is_condition(c: Compute, values: Mapping[str, Value]) -> bool:
    if c.ins or len(c.outs) != 1 or values[c.outs[0].value].dtype != "i1":
        return False
    walked = [a.dim for a in c.outs[0].axes if not a.offset and a.dim is not None]
    is_plain = c.outs[0].combiner is None and sorted(walked) == sorted(d.name for d in c.dims)
    return is_plain and len(walked) == len(c.outs[0].axes) and all(e.op in CHEAP for e in c.body)


def _inside(body: Iterable[Statement], found: Mapping[str, Compute]) -> tuple[Statement, ...]:
    kept: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = replace(s, body=_inside(s.body, found))
        elif isinstance(s, Compute) and any(a.value in found for a in s.ins):
            s = _with_conditions(s, found)
        kept.append(s)
    return tuple(kept)


def _with_conditions(c: Compute, found: Mapping[str, Compute]) -> Compute:
    entries: list[Scalar] = []
    position: list[int] = []
    for entry in c.body:
        access = c.ins[entry.attr] if entry.op == "in" and isinstance(entry.attr, int) else None
        if access is not None and access.value in found:
            position.append(_entered(found[access.value], access, entries))
            continue
        entries.append(replace(entry, args=tuple(position[a] for a in entry.args)))
        position.append(len(entries) - 1)
    results = tuple(position[o.result] for o in c.outs)
    body, results, ins = pruned(tuple(entries), results, c.ins)
    outs = tuple(replace(o, result=r) for o, r in zip(c.outs, results, strict=True))
    return replace(c, ins=ins, body=body, outs=outs)


def _entered(condition: Compute, read: Access, entries: list[Scalar]) -> int:
    """The position of a condition's result after its entries, at the coordinates of who reads it."""
    axes = dict(zip((a.dim for a in condition.outs[0].axes), read.axes, strict=True))
    first = len(entries)
    for entry in condition.body:
        entry = replace(entry, args=tuple(a + first for a in entry.args))
        if entry.op == "index":
            dim, offset = coordinate(entry)
            if dim is not None:
                walk = axes[dim]
                offset = linear(nm.add(from_linear(offset), Num(walk.offset)))
                entry = replace(entry, attr=(walk.dim, offset))
        entries.append(entry)
    return first + condition.outs[0].result
