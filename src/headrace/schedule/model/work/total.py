"""The work of a TileGraph: what any plan for it has to move and compute, over all tiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from math import prod

from headrace.arch.cost import FREE, Work, op_class
from headrace.numbers.dtypes import is_float, itemsize
from headrace.schedule.graph import Compute, CoreClass, Load, Loop, Out, Scalar, Store
from headrace.schedule.model.statements import coordinate, everything, input_number
from headrace.schedule.model.work.footprint import Footprint
from headrace.schedule.model.work.masks import Mask, hidden, live_points, masks, visible
from headrace.schedule.model.work.points import Points, walk
from headrace.schedule.ring import PASS, hops, is_ring

Key = tuple[str, str]


def work_of(classes: Sequence[CoreClass], scratch: Container[str] = ()) -> dict[str, int]:
    """The work as `headrace.work` spells it: distinct bytes, MACs by type, lane ops by class and type.

    What passes through the memories called `scratch` need not leave the cores, so it does not count.
    """
    read, written = Footprint(), Footprint()
    macs: Counter[str] = Counter()
    lane_ops: Counter[Key] = Counter()
    for c in classes:
        numbers: dict[object, int] = {}
        known = _masks(c)
        for s, points in walk(c):
            if isinstance(s, Load | Store) and s.view.arg in scratch:
                continue
            if isinstance(s, Load | Store):
                (read if isinstance(s, Load) else written).add(s, c.values, points)
                for i in s.indirect:
                    if i.index.arg not in scratch:
                        read.add_index(i, c.values[s.value].shape, points)
            elif isinstance(s, Compute):
                if s.contraction is not None:
                    macs[c.values[s.ins[0].value].dtype] += live_points(s, known, points)
                else:
                    _count(s, points, known, lane_ops, numbers)
    work = Work(read.size_bytes, written.size_bytes, dict(macs), dict(lane_ops))
    return dict(work.to_attribute())


def _masks(c: CoreClass) -> dict[str, Mask]:
    """The masks of all blocks of a class."""
    everywhere = everything(c.body)
    blocks = [c.body, *(s.body for s in everywhere if isinstance(s, Loop))]
    return {name: mask for block in blocks for name, mask in masks(block, everywhere).items()}


def _count(
    s: Compute,
    points: Points,
    known: Mapping[str, Mask],
    lane_ops: Counter[Key],
    numbers: dict[object, int],
) -> None:
    """Add the lane operations of a nest: every op over the dims it depends on, equal ones once in a class;
    what a mask hides does not count.

    `numbers` numbers the expressions of the class: one stands in another by its number, since a value used
    twice at every step would otherwise be spelled out twice as often at each.
    """
    extents = {d.name: d.extent for d in s.dims}
    keys: list[tuple[int, frozenset[str]]] = []
    masked, deciding = hidden(s, known)

    def lanes(position: int, dims: frozenset[str]) -> int:
        mask, walked = masked[position], {d: extents[d] for d in dims}
        return prod(walked.values()) * len(points) if mask is None else visible(mask, walked, points)

    for position, entry in enumerate(s.body):
        expression, dims = _expression(s, entry, keys)
        is_new = expression not in numbers
        keys.append((numbers.setdefault(expression, len(numbers)), dims))
        if entry.op in ("in", "const", "index") or not is_new or position in deciding:
            continue
        if is_ring(entry):
            _count_ring(entry, prod(extents[d] for d in dims) * len(points), lane_ops)
            continue
        kind = op_class(entry.op, where=entry.where)
        if kind != FREE:
            lane_ops[kind, _widest(s.body, entry)] += lanes(position, dims)
    for out in s.outs:
        if out.combiner is not None:
            walked = {a.dim for a in out.axes if a.dim is not None}
            terms = lanes(out.result, keys[out.result][1] | walked)
            results = prod(extents[d] for d in walked) * len(points)
            lane_ops[_combining(s, out)] += max(terms - results, 0)


def _count_ring(entry: Scalar, points: int, lane_ops: Counter[Key]) -> None:
    """Add what a core combines of the values of other cores; to pass them on is no operation."""
    if entry.op != PASS:
        kind = "arith" if is_float(entry.dtype) else "integer"
        lane_ops[kind, entry.dtype] += hops(entry) * points


def _expression(
    s: Compute, entry: Scalar, keys: list[tuple[int, frozenset[str]]]
) -> tuple[object, frozenset[str]]:
    """What an entry computes, equal for equal expressions in the class, and the dims it depends on."""
    if entry.op == "in":
        access = s.ins[input_number(entry)]
        return ("in", access), frozenset(a.dim for a in access.axes if a.dim is not None)
    if entry.op == "index":
        dim = coordinate(entry)[0]
        return ("index", entry.attr, entry.dtype), frozenset([dim] if dim is not None else [])
    dims = frozenset(d for a in entry.args for d in keys[a][1])
    return (entry.op, tuple(keys[a][0] for a in entry.args), entry.dtype, repr(entry.attr)), dims


def _widest(body: Sequence[Scalar], entry: Scalar) -> str:
    return max([entry.dtype, *(body[a].dtype for a in entry.args)], key=itemsize)


def _combining(s: Compute, out: Out) -> Key:
    """Class and type of the combinations, one less than the terms of every result element."""
    dtype = s.body[out.result].dtype
    return ("arith" if is_float(dtype) else "integer"), dtype
