"""Sets, orders and maps of a transfer as strided boxes of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.ir.affine import AffineSet

from headrace.machine.decode.affine import Range, apply_map, permutation, ranges, shifts
from headrace.machine.decode.meanings import View
from headrace.machine.decode.reading import affine_map, affine_set, fault
from headrace.machine.image import NOWHERE, Box, Dim, Index, Limit, Symbol
from headrace.machine.index import of
from headrace.numbers.dtypes import itemsize

NewCoordinate = Callable[[Index], Symbol]


@dataclass(frozen=True)
class Space:
    """An ordered box of integer points: a position per dim over `coordinates` (outermost first)."""

    positions: tuple[Index, ...]
    coordinates: tuple[Symbol, ...]
    extents: tuple[Index, ...]

    @property
    def size(self) -> Index:
        out = Index(1)
        for extent in self.extents:
            out = out * extent
        return out


@dataclass(frozen=True)
class Window:
    """Where a vector lies relative to the subscripts; `shift` names the map that moves them with time."""

    run: Space
    times: Space
    shift: str | None
    symbols: tuple[Index, ...]


def space(
    op: Operation, key: str, order_key: str, symbols: Sequence[Index], new_coordinate: NewCoordinate
) -> Space:
    """The points of set `key` in the order of map `order_key`."""
    set_: AffineSet = affine_set(op, key)
    found: list[Range] = ranges(op, set_, symbols, key)
    order = permutation(op, affine_map(op, order_key), [r.extent for r in found], order_key)
    names = {d: new_coordinate(found[d].extent) for d in order}
    positions = tuple(r.low + of(names[d]) if d in names else r.low for d, r in enumerate(found))
    return Space(positions, tuple(names[d] for d in order), tuple(found[d].extent for d in order))


def box(op: Operation, view: View, subscripts: Sequence[Index], window: Window) -> Box:
    """The bytes that `view[subscripts + shift(time) + run]` touches; a fault where ranks do not fit."""
    position = _positions(op, view, subscripts, window)
    address = view.base + apply_map(view.layout, position)[0] * itemsize(view.dtype) + _shift(view, position)
    coordinates = (*window.times.coordinates, *window.run.coordinates)
    extents = (*window.times.extents, *window.run.extents)
    limits = _limits(view, position, coordinates, extents)
    split = _linear(address, coordinates)
    count = len(window.times.coordinates)
    if split is None:
        dims = [Dim(e, 0) for e in extents]
        return Box(
            view.place, _at_zero(address, coordinates), tuple(dims[:count]), tuple(dims[count:]), view.dtype,
            limits, address, coordinates, view.base, view.buffer,
        )  # fmt: skip
    base, strides = split
    dims = [Dim(e, s) for e, s in zip(extents, strides, strict=True)]
    return Box(
        view.place,
        base,
        tuple(dims[:count]),
        tuple(dims[count:]),
        view.dtype,
        limits,
        view_start=view.base,
        buffer=view.buffer,
    )


def _shift(view: View, position: Sequence[Index]) -> Index:
    """What the page of a position adds to its address."""
    out, is_open = Index(), Index(1)
    for page in view.pages:
        here = is_open
        for place, low, high in zip(position, page.low, page.high, strict=True):
            here = here * _is_at_least(place, Index(low)) * _is_at_least(Index(high), place)
        out = out + here * page.shift
        is_open = is_open - here
    return out + is_open * NOWHERE if view.pages else out


def _is_at_least(a: Index, b: Index) -> Index:
    """1 where a >= b, else 0; a constant where the ranges of the two decide."""
    low, high = (a - b).low, (a - b).high
    if low is not None and low >= 0:
        return Index(1)
    return Index() if high is not None and high < 0 else a.apply("ge", b)


def first_dim_stride(op: Operation, view: View) -> int:
    """Bytes between neighbours along the first dim of a view; a fault if its layout is not linear there."""
    rank = len(view.shape)
    at = [apply_map(view.layout, [Index(k)] + [Index()] * (rank - 1))[0].constant for k in (0, 1, 2)]
    if None in at or at[2] - at[1] != at[1] - at[0]:  # type: ignore[operator]
        fault(op, "the direct view of an indirect transfer must be linear in its first dimension")
    return (at[1] - at[0]) * itemsize(view.dtype)  # type: ignore[operator]


def _positions(op: Operation, view: View, subscripts: Sequence[Index], window: Window) -> list[Index]:
    rank = len(view.shape)
    if len(subscripts) != rank:
        fault(op, f"{len(subscripts)} subscripts for a view of rank {rank}")
    shift = [Index()] * rank
    if window.shift is not None:
        shift = shifts(op, window.shift, window.times.positions, window.symbols, rank)
    run = window.run.positions
    if len(run) < rank or any(p.constant != 0 for p in run[rank:]):
        fault(op, f"a set of {len(run)} dimensions for a view of rank {rank}")
    return [a + b + c for a, b, c in zip(subscripts, shift, run, strict=False)]


def _linear(address: Index, coordinates: Sequence[Symbol]) -> tuple[Index, list[int]] | None:
    strides = []
    for symbol in coordinates:
        split = address.split(symbol)
        if split is None:
            return None
        stride, address = split
        strides.append(stride)
    return address, strides


def _at_zero(address: Index, coordinates: Sequence[Symbol]) -> Index:
    return address.replace({c: Index() for c in coordinates})


def _limits(
    view: View, position: Sequence[Index], coordinates: Sequence[Symbol], extents: Sequence[Index]
) -> tuple[Limit, ...]:
    """The dims whose positions are not proven to lie inside the view."""
    out = []
    for size, place in zip(view.shape, position, strict=True):
        if size < 0:
            continue
        ends = _ends(place, coordinates, extents)
        if ends is None:
            continue
        low, high = ends
        is_inside = low.low is not None and low.low >= 0 and high.high is not None and high.high < size
        if not is_inside:
            out.append(Limit(low, high, Index(size)))
    return tuple(out)


def _ends(
    place: Index, coordinates: Sequence[Symbol], extents: Sequence[Index]
) -> tuple[Index, Index] | None:
    """The least and greatest value of a position over a box; None if it is not linear in the coordinates."""
    low = high = place
    for symbol, extent in zip(coordinates, extents, strict=True):
        split_low, split_high = low.split(symbol), high.split(symbol)
        if split_low is None or split_high is None:
            return None
        slope = split_low[0]
        first, last = (Index(), extent - 1) if slope >= 0 else (extent - 1, Index())
        low, high = split_low[1] + first * slope, split_high[1] + last * slope
    return low, high
