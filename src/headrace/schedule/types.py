"""Which element types a device computes: asked once, before anything is priced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.schedule.graph import Compute, Load, Loop, Statement, Store, TileGraph, Value
from headrace.schedule.units import units


def require_types(graph: TileGraph, device: Device) -> None:
    """HeadraceError naming every statement with a type that no compute unit of the device has lanes for."""
    vector = device.unit(units(device).vector)
    matrix = next((u.matrix for u in device.units if u.matrix is not None), None)
    known = {*vector.lanes, *(matrix.macs if matrix is not None else ())}
    hint = f"{vector.kind} computes {', '.join(sorted(vector.lanes))}"
    found = {
        (where, op): Diagnostic(
            f"device {device.name} has no unit for elements of type {dtype}", where, op, hint
        )
        for part in graph.classes
        for dtype, where, op in _types(part.body, part.values)
        if dtype not in known
    }
    if found:
        raise HeadraceError(list(found.values()))


def _types(body: Iterable[Statement], values: dict[str, Value]) -> Iterator[tuple[str, Location, str]]:
    """Every element type with the place and the op that has it."""
    for statement in body:
        if isinstance(statement, Loop):
            yield from _types(statement.body, values)
        elif isinstance(statement, Compute):
            for entry in statement.body:
                is_op = entry.op not in ("in", "const", "index")
                yield (
                    entry.dtype,
                    entry.where if is_op else statement.where,
                    entry.op if is_op else statement.source,
                )
        elif isinstance(statement, Load | Store):
            name = "ktdp.load" if isinstance(statement, Load) else "ktdp.store"
            yield values[statement.value].dtype, statement.where, name
