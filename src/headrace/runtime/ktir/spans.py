"""What a subscript means: a start and a size along every dim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from headrace.runtime.ktir.code import Code
from headrace.runtime.ktir.errors import wrong
from headrace.runtime.ktir.index import Index


@dataclass(frozen=True)
class Span:
    """`size` coordinates from `start` on; `is_single` for one written without a colon."""

    start: Index
    size: int
    is_single: bool = False


def entries(key: Any, rank: int, what: str) -> list[Any]:
    """One subscript a dim: missing ones and "..." stand for whole dims."""
    given = list(key) if isinstance(key, tuple) else [key]
    if any(g is Ellipsis for g in given):
        at = next(k for k, g in enumerate(given) if g is Ellipsis)
        given[at : at + 1] = [slice(None)] * (rank - len(given) + 1)
    if len(given) > rank:
        raise wrong(f"{len(given)} subscripts for {what} of rank {rank}")
    return given + [slice(None)] * (rank - len(given))


def spans(code: Code, key: Any, shape: Sequence[int], what: str) -> list[Span]:
    """The spans of a subscript; HeadraceError for a size not known and for one out of bounds."""
    return [
        span(code, entry, k, n, what)
        for k, (entry, n) in enumerate(zip(entries(key, len(shape), what), shape, strict=True))
    ]


def span(code: Code, entry: Any, dim: int, extent: int, what: str) -> Span:
    """The span of one subscript."""
    if isinstance(entry, slice):
        if entry.step is not None:
            raise wrong(f"dim {dim} of {what}: a slice with a step", "give the view other strides instead")
        start = _index(code, 0 if entry.start is None else entry.start, dim, extent)
        stop = _index(code, extent if entry.stop is None else entry.stop, dim, extent)
        size = stop - start
        if size.terms or size.constant < 1:
            said = f"of {size.constant}" if not size.terms else "that is not constant"
            raise wrong(
                f"dim {dim} of {what}: a slice {said}", "write start:start + size with a number as size"
            )
        found = Span(start, size.constant)
    else:
        found = Span(_index(code, entry, dim, extent), 1, True)
    found.start.require_open()
    _require_inside(code, found, dim, extent, what)
    return found


def _index(code: Code, value: Any, dim: int, extent: int) -> Index:
    if isinstance(value, Index):
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise wrong(
            f"dim {dim}: a subscript of type {type(value).__name__}", "use integers, indices and slices"
        )
    return Index(code, {}, int(value) + extent if value < 0 else int(value))


def _require_inside(code: Code, span: Span, dim: int, extent: int, what: str) -> None:
    known = span.start.range
    if known is None or (code.guards and span.start.terms):
        return
    low, high = known[0], known[1] + span.size
    if low < 0 or high > extent:
        raise wrong(
            f"dim {dim} of {what} has {extent} elements, the slice reaches from {low} to {high}",
            "check the grid and the sizes, or guard it by `with k.when(...)`",
        )
