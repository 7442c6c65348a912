"""The units a schedule uses, by what they do, found by the links of the device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from headrace.arch.device import Device, Unit
from headrace.arch.routes import (
    MatrixFeeds,
    loaders,
    matrix_feeds,
    matrix_unit,
    readers,
    storers,
    vector_unit,
    writers,
)
from headrace.ir.diagnostics import Diagnostic, HeadraceError


@dataclass(frozen=True)
class Units:
    """Kinds: `loader` and `storer` move tiles, `reader` and `writer` serve the `vector` unit; `matrix` may
    be missing.
    """

    loader: str
    storer: str
    reader: str
    vector: str
    writer: str
    matrix: str | None
    feeds: MatrixFeeds | None


@lru_cache(maxsize=64)
def units(device: Device) -> Units:
    """Return the units of a device; HeadraceError if it cannot move or compute vectors."""
    vector = vector_unit(device)
    if vector is None:
        raise HeadraceError(
            Diagnostic(f"device {device.name} has no vector unit", hint="give a unit simd lanes")
        )
    found = {
        "a unit that loads device memory into the scratchpad": loaders(device),
        "a unit that stores the scratchpad to device memory": storers(device),
        f"a unit that reads the scratchpad for {vector.kind}": readers(vector, device),
        f"a unit that writes results of {vector.kind} to the scratchpad": writers(vector, device),
    }
    missing = [
        Diagnostic(f"device {device.name} lacks {what}", hint="check its links")
        for what, k in found.items()
        if not k
    ]
    if missing:
        raise HeadraceError(missing)
    loader, storer, reader, writer = (_first(kinds) for kinds in found.values())
    matrix = matrix_unit(device)
    feeds = matrix_feeds(device) if matrix is not None else None
    return Units(loader, storer, reader, vector.kind, writer, matrix.kind if matrix else None, feeds)


def _first(kinds: list[Unit]) -> str:
    return kinds[0].kind
