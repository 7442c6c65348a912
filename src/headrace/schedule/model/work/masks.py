"""What an affine mask discards: above the diagonal of causal attention nobody looks.

A mask is a comparison of coordinates that selects a constant instead of what was computed. A contraction
whose result only such a select reads need not be done there; a contraction of an operand that is 0 there (the
exponential of a huge negative constant, divided by what is not masked) neither. Values are followed where
dims keep their names. Nor need the vector unit compute there what is known or not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from headrace.schedule.graph import Axis, Compute, Scalar, Statement
from headrace.schedule.model.statements import coordinate, input_number, reads
from headrace.schedule.model.work.points import Points

LOWEST = -1e29
"""A constant at or below this is minus infinity for an exponential."""
COUNT_LIMIT = 1 << 26
"""Masks of which more numbers or positions than this are to be looked at are not counted."""
_COMPARES = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
_COMPARES["ge"] = np.greater_equal
_SUMS = {"arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply}
_KEEPS_ZERO = ("arith.extf", "arith.truncf", "arith.mulf")
_EXPONENTIALS = ("math.exp", "math.exp2", "spyreop.exp")


@dataclass(frozen=True)
class Mask:
    """Where body[condition] is `holds`, a value walked by `dims` is "unused", "low" or "zero"."""

    body: tuple[Scalar, ...]
    condition: int
    holds: bool
    dims: tuple[str, ...]
    kind: str


def masks(block: Sequence[Statement], everywhere: Sequence[Statement]) -> dict[str, Mask]:
    """The masks of values of one block; `everywhere` are all statements that may read them."""
    found: dict[str, Mask] = {}
    readers = Counter(name for s in everywhere for name in reads(s))
    for s in block:
        if isinstance(s, Compute):
            for access in s.ins:
                mask = _discarded(s, access.value) if readers[access.value] == 1 else None
                if mask is not None:
                    found[access.value] = mask
            if len(s.outs) == 1 and s.outs[0].combiner is None:
                made = _selected(s) or _carried_on(s, found)
                if made is not None:
                    found[s.outs[0].value] = made
    return found


def live_points(c: Compute, known: Mapping[str, Mask], points: Points) -> int:
    """Points of a contraction, over all its runs, that no mask discards."""
    extents = {d.name: d.extent for d in c.dims}
    out = known.get(c.outs[0].value)
    candidates = [(out, c.outs[0].axes)] if out is not None and out.kind == "unused" else []
    for access in c.ins:
        mask = known.get(access.value)
        if mask is not None and mask.kind == "zero":
            candidates.append((mask, access.axes))
    for mask, axes in candidates:
        if mask is not None and _walk(axes) == mask.dims:
            return visible(mask, extents, points)
    return prod(extents.values()) * len(points)


def hidden(c: Compute, known: Mapping[str, Mask]) -> tuple[list[Mask | None], frozenset[int]]:
    """Return for every entry of a body the mask under which nobody has to compute it, and the entries that
    only say what is masked: where that is so is known before the kernel runs.
    """
    found: list[Mask | None] = []
    for s in c.body:
        found.append(_entry(c, s, found, known))
    if len(c.outs) != 1:
        return found, frozenset()
    (out,) = c.outs
    unused = known.get(out.value)
    if unused is not None and unused.kind == "unused" and unused.dims == _walk(out.axes):
        found = [mask or unused for mask in found]
    mask = _selected(c)
    if mask is None:
        return found, frozenset()
    root = c.body[out.result]
    computed = _below(c.body, root.args[2 if mask.holds else 1])
    deciding = _below(c.body, root.args[0]) - computed
    found = [one or (mask if position in computed else None) for position, one in enumerate(found)]
    return found, deciding | {out.result}


def _below(body: Sequence[Scalar], position: int) -> frozenset[int]:
    """An entry and all that it is computed of."""
    args = [_below(body, a) for a in body[position].args]
    return frozenset([position]).union(*args)


def _selected(c: Compute) -> Mask | None:
    """The mask of a result that is a select between something and a very low constant."""
    root = c.body[c.outs[0].result]
    dims = _walk(c.outs[0].axes)
    if root.op != "arith.select" or dims is None or not _is_affine(c.body, root.args[0]):
        return None
    for branch, holds in ((root.args[1], True), (root.args[2], False)):
        entry = c.body[branch]
        if entry.op == "const" and isinstance(entry.attr, float) and entry.attr <= LOWEST:
            return Mask(c.body, root.args[0], holds, dims, "low")
    return None


def _carried_on(c: Compute, known: Mapping[str, Mask]) -> Mask | None:
    """The mask of an exponential of something low, or of a product or cast of something that is 0."""
    states: list[Mask | None] = []
    for s in c.body:
        states.append(_entry(c, s, states, known))
    result = states[c.outs[0].result]
    return result if result is not None and result.dims == _walk(c.outs[0].axes) else None


def _entry(c: Compute, s: Scalar, states: Sequence[Mask | None], known: Mapping[str, Mask]) -> Mask | None:
    if s.op == "in":
        access = c.ins[input_number(s)]
        mask = known.get(access.value)
        return (
            mask if mask is not None and mask.dims == _walk(access.axes) and mask.kind != "unused" else None
        )
    masked = [states[a] for a in s.args]
    first = masked[0] if masked else None
    if s.op in _KEEPS_ZERO and any(m is not None and m.kind == "zero" for m in masked):
        return next(m for m in masked if m is not None and m.kind == "zero")
    if s.op == "arith.divf" and first is not None and first.kind == "zero" and masked[1] is None:
        return first
    if first is None or first.kind != "low":
        return None
    if s.op in _EXPONENTIALS:
        return replace(first, kind="zero")
    return (
        first
        if s.op in ("arith.extf", "arith.truncf") or (s.op == "arith.subf" and masked[1] is None)
        else None
    )


def _discarded(c: Compute, name: str) -> Mask | None:
    """The mask of an input from which only one branch of selects on one condition takes something."""
    accesses = [a for a in c.ins if a.value == name]
    dims = _walk(accesses[0].axes)
    if len(accesses) != 1 or dims is None or any(o.init == name for o in c.outs):
        return None
    depends: set[int] = set()
    guards: set[tuple[int, bool]] = set()
    for position, s in enumerate(c.body):
        wanted = [k for k, a in enumerate(s.args) if a in depends]
        if s.op == "arith.select" and len(wanted) == 1 and wanted[0] and _is_affine(c.body, s.args[0]):
            guards.add((s.args[0], wanted[0] == 2))
        elif wanted or (s.op == "in" and c.ins[input_number(s)].value == name):
            depends.add(position)
    if len(guards) != 1 or any(o.result in depends for o in c.outs):
        return None
    condition, holds = guards.pop()
    return Mask(c.body, condition, holds, dims, "unused")


def _is_affine(body: Sequence[Scalar], position: int) -> bool:
    """Whether an entry compares coordinates and numbers."""
    s = body[position]
    return s.op == "arith.cmpi" and all(_is_coordinate(body, a) for a in s.args)


def _is_coordinate(body: Sequence[Scalar], position: int) -> bool:
    s = body[position]
    if s.op in _SUMS or s.op in ("arith.index_cast", "arith.extsi"):
        return all(_is_coordinate(body, a) for a in s.args)
    return s.op == "index" or (s.op == "const" and isinstance(s.attr, int))


def _walk(axes: Sequence[Axis]) -> tuple[str, ...] | None:
    """The dims that walk a value, one per axis of more than one position; None when they are shifted."""
    if any(a.offset for a in axes):
        return None
    return tuple(a.dim for a in axes if a.dim is not None)


def visible(mask: Mask, extents: Mapping[str, int], points: Points) -> int:
    """Return the points of a nest, along some or all of its dims, where the mask does not hold, summed over
    its runs.
    """
    leaves = sorted(set(_leaves(mask.body, mask.condition)))
    used = [d for d in mask.dims if any(coordinate(mask.body[p])[0] == d for p in leaves)]
    walked = {None, *used} if extents.keys() >= set(used) else set()
    if any(coordinate(mask.body[p])[0] not in walked for p in leaves):
        return prod(extents.values()) * len(points)
    offsets = np.stack([points.linear(coordinate(mask.body[p])[1]) for p in leaves])
    distinct, counts = np.unique(offsets, axis=1, return_counts=True)
    dims = [(d, extents[d]) for d in used]
    total, kept = prod(n for _, n in dims), 0
    for column, count in zip(distinct.T, counts, strict=True):
        held = _held(mask, dims, dict(zip(leaves, column.tolist(), strict=True)))
        if held is None or len(counts) * sum(n for _, n in dims) > COUNT_LIMIT:
            return prod(extents.values()) * len(points)
        kept += int(count) * (total - held if mask.holds else held)
    return kept * prod(n for d, n in extents.items() if d not in used)


def _leaves(body: Sequence[Scalar], position: int) -> list[int]:
    s = body[position]
    return [position] if s.op == "index" else [p for a in s.args for p in _leaves(body, a)]


def _held(mask: Mask, dims: Sequence[tuple[str, int]], offsets: Mapping[int, int]) -> int | None:
    """At how many positions of the dims it depends on the condition holds; `offsets` of every coordinate in
    it. None if that are too many to look at.
    """
    grid = dict(zip((d for d, _ in dims), np.indices([n for _, n in dims], sparse=True), strict=True))

    def value(position: int) -> np.ndarray:
        s = mask.body[position]
        if s.op == "const":
            return np.asarray(s.attr)
        if s.op == "index":
            dim, _ = coordinate(s)
            return np.asarray(offsets[position] + (0 if dim is None else grid[dim]))
        args = [value(a) for a in s.args]
        return np.asarray(_SUMS[s.op](*args)) if s.op in _SUMS else args[0]

    compare = mask.body[mask.condition]
    relation = str(compare.attr)
    relation = relation if relation in _COMPARES else relation[1:]
    one, other = (value(a) for a in compare.args)
    total = prod(n for _, n in dims)
    if one.size * other.size == total:  # each side has dims of its own
        return _pairs(relation, one.ravel(), np.sort(other.ravel()))
    if total > COUNT_LIMIT:
        return None
    return int(np.broadcast_to(_COMPARES[relation](one, other), [n for _, n in dims]).sum())


def _pairs(relation: str, one: np.ndarray, other: np.ndarray) -> int:
    """Pairs of numbers of both, the second in rising order, of which a relation holds."""
    below, upto = (int(np.searchsorted(other, one, side).sum()) for side in ("left", "right"))
    every = len(one) * len(other)
    found = {"gt": below, "ge": upto, "le": every - below, "lt": every - upto, "eq": upto - below}
    return found.get(relation, every - found["eq"])
