"""What the entries of a scalar body cost and need of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.arch.device import Device
from headrace.numbers.dtypes import itemsize
from headrace.schedule.graph import Scalar


def priced_entries(body: Sequence[Scalar]) -> Iterator[tuple[str, str]]:
    """Yield (op name, widest type it touches) of every entry that is an op."""
    for entry in body:
        if entry.op in ("in", "const", "index"):
            continue
        dtypes = [entry.dtype, *(body[a].dtype for a in entry.args)]
        yield entry.op, max(dtypes, key=itemsize)


def missing_types(body: Sequence[Scalar], device: Device, unit: str) -> list[tuple[Scalar, str]]:
    """Return the entries whose type the unit has no lanes for, with that type."""
    lanes = device.unit(unit).lanes
    return [(s, s.dtype) for s in body if lanes and s.dtype not in lanes and s.dtype != "index"]
