"""Numbers that differ between the cores of a class, as index values of the core number."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.schedule.build import mlir
from headrace.schedule.build.emitter import INDEX, Emitter
from headrace.schedule.build.indices import Index, of
from headrace.schedule.graph import Number, PerCore


def index(emit: Emitter, value: Number, cores: Sequence[int], core: Index) -> Index:
    """Return the number on this core: arithmetic on the core number if it is regular, else a map keyed by
    it.
    """
    if not isinstance(value, PerCore):
        return Index(value)
    wanted = list(value.values)
    regular = _regular(wanted, list(cores))
    if regular is None:
        return _mapped(emit, wanted, cores, core)
    const, by_quotient, by_remainder, width = regular
    with emit.at_head():
        found = Index(const)
        if by_quotient:
            found = found + emit.quotient(core, width) * by_quotient
        if by_remainder:
            found = found + (emit.remainder(core, width) if width <= max(cores) else core) * by_remainder
        return found


def _regular(wanted: list[int], cores: list[int]) -> tuple[int, int, int, int] | None:
    """Find c + q*(core floordiv w) + r*(core mod w) that gives the wanted numbers; plain multiples first."""
    top = max(cores) + 1
    for width in [top, *(w for w in range(2, top) if top % w == 0)]:
        pairs = [divmod(c, width) for c in cores]
        const = _solve(wanted, pairs)
        if const is not None:
            return (*const, width)
    return None


def _solve(wanted: list[int], pairs: list[tuple[int, int]]) -> tuple[int, int, int] | None:
    q0, r0 = pairs[0]
    by_remainder = _slope(
        [(r - r0, w - wanted[0]) for (q, r), w in zip(pairs, wanted, strict=True) if q == q0]
    )
    if by_remainder is None:
        return None
    rest = [w - by_remainder * r for (_, r), w in zip(pairs, wanted, strict=True)]
    by_quotient = _slope([(q - q0, v - rest[0]) for (q, _), v in zip(pairs, rest, strict=True)])
    if by_quotient is None:
        return None
    return rest[0] - by_quotient * q0, by_quotient, by_remainder


def _slope(points: list[tuple[int, int]]) -> int | None:
    slope = next((y // x for x, y in points if x), 0)
    return slope if all(y == slope * x for x, y in points) else None


def _mapped(emit: Emitter, wanted: list[int], cores: Sequence[int], core: Index) -> Index:
    key = emit.value(core)
    keys = [emit.constant(c) for c in cores]
    results = [emit.constant(v) for v in wanted]
    with emit.at_head():
        table = emit.add(
            mlir.make(
                "uniform.def_immutable_mapping",
                [*keys, *results],
                (INDEX,),
                segments=(len(keys), len(results)),
            )
        )
        return of(emit.add(mlir.make("uniform.query_map", [table, key], (INDEX,))))
