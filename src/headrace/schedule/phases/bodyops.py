"""What the entries of a scalar body cost and need of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Linear, Scalar
from headrace.schedule.phases.combiners import ring_combiner
from headrace.schedule.phases.linear import add, scale
from headrace.schedule.ring import hops, is_ring


def priced_entries(body: Sequence[Scalar]) -> Iterator[tuple[str, str]]:
    """Yield (op name, widest type it touches) of every entry that is an op."""
    for entry in body:
        if entry.op in ("in", "const", "index"):
            continue
        dtypes = [entry.dtype, *(body[a].dtype for a in entry.args)]
        if is_ring(entry):
            combining = ring_combiner(entry, entry.dtype)
            yield from [(combining, entry.dtype)] * hops(entry) if combining is not None else []
            continue
        yield entry.op, max(dtypes, key=itemsize)


def coordinate(entry: Scalar) -> tuple[str | None, Linear]:
    """Return what an "index" entry is: the dim it counts along, and what is added."""
    found = entry.attr
    assert isinstance(found, tuple)
    dim, offset = found
    return dim, offset


def affine(body: tuple[Scalar, ...], position: int) -> tuple[dict[str, int], Linear] | None:
    """Return an integer entry as coefficients of dims and a number, None if it is no such sum."""
    entry = body[position]
    if entry.op == "const" and isinstance(entry.attr, int):
        return {}, Linear(entry.attr)
    if entry.op == "index":
        dim, offset = coordinate(entry)
        return ({} if dim is None else {dim: 1}), offset
    if entry.op in ("arith.index_cast", "arith.extsi"):
        return affine(body, entry.args[0])
    if entry.op not in ("arith.addi", "arith.subi"):
        return None
    left, right = (affine(body, a) for a in entry.args)
    if left is None or right is None:
        return None
    sign = 1 if entry.op == "arith.addi" else -1
    terms = {d: left[0].get(d, 0) + sign * right[0].get(d, 0) for d in {*left[0], *right[0]}}
    return terms, add(left[1], scale(right[1], sign))
