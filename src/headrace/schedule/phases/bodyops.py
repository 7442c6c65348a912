"""What the entries of a scalar body cost and need of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Linear, Scalar
from headrace.schedule.phases.combiners import ring_combiner
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
