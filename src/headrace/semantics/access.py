"""Views of memory and access tiles as values, and what loading and storing through them does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineExpr, AffineSet

from headrace.numbers.dtypes import itemsize, numpy_dtype
from headrace.semantics.affine import Linear, contains, evaluate

Array = np.ndarray[Any, Any]


class OutOfBounds(Exception):
    """An access at `coordinate` of something with extents `sizes`."""

    def __init__(self, coordinate: Sequence[int], sizes: Sequence[int], what: str = "view") -> None:
        self.coordinate, self.sizes, self.what = tuple(coordinate), tuple(sizes), what
        super().__init__(f"coordinate {list(coordinate)} is outside the {what} of extents {list(sizes)}")


@dataclass(frozen=True)
class View:
    """`sizes` elements of `dtype` in `space`: element (i, j, ..) at byte `address` plus
    (i * strides[0] + j * strides[1] + ..) times the item size.

    `origin` is the smallest global coordinate; `points` (with `symbols`) holds the coordinates the view has
    when they are not the whole box.
    """

    space: Array
    address: int
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    is_global: bool
    origin: tuple[int, ...]
    points: AffineSet | None = None
    symbols: tuple[int, ...] = ()


@dataclass(frozen=True)
class Distributed:
    """One logical array whose coordinates live in several views, each at its origin."""

    parts: tuple[View, ...]
    dtype: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Subscript:
    """One coordinate of an access: a map of captured integers and the tile's variables, or the integer that
    `index` holds at such coordinates. `form` is the map when it is a single linear one."""

    maps: tuple[AffineExpr, ...]
    index: View | Distributed | None = None
    form: Linear | None = None


@dataclass(frozen=True)
class Tile:
    """The coordinates `base` is touched at: variable v is `starts[v]` + 0, 1, .. along tile axis `axes[v]`.

    `points`: the variables' values when they are not a box, one row of coordinates per element.
    """

    base: View | Distributed
    shape: tuple[int, ...]
    captured: tuple[int, ...]
    starts: tuple[int, ...]
    axes: tuple[int, ...]
    subscripts: tuple[Subscript, ...]
    points: Array | None = None

    def variables(self) -> list[Array]:
        """The value of every variable, broadcasting against the others to the tile's shape."""
        rank = len(self.shape)
        if self.points is not None:
            return [self.points[:, v].reshape(self.shape) for v in range(self.points.shape[1])]
        return [
            (start + np.arange(self.shape[axis], dtype=np.int64)).reshape(
                [-1 if k == axis else 1 for k in range(rank)]
            )
            for start, axis in zip(self.starts, self.axes, strict=True)
        ]

    def coordinates(self) -> list[Array]:
        """Every coordinate of the base, broadcasting to the tile's shape; reads the index views."""
        dims: list[Any] = [*self.captured, *self.variables()]
        found = []
        for subscript in self.subscripts:
            values = [np.asarray(evaluate(e, dims), np.int64) for e in subscript.maps]
            if subscript.index is not None:
                values = [read(subscript.index, values).astype(np.int64)]
            rank = len(self.shape)
            found.append(values[0].reshape((1,) * (rank - values[0].ndim) + values[0].shape))
        return found


def load(tile: Tile, is_strict: bool = True) -> Array:
    """A fresh array of the tile's shape with the elements at its coordinates; OutOfBounds, or zeros there."""
    window = _window(tile, is_strict)
    if window is not None:
        return window.copy()
    values = read(tile.base, tile.coordinates(), is_strict)
    return np.ascontiguousarray(np.broadcast_to(values, tile.shape))


def store(tile: Tile, values: Array, is_strict: bool = True) -> None:
    """Writes `values` to the tile's coordinates; of two elements at one coordinate the later one stays."""
    window = _window(tile, is_strict)
    if window is not None:
        window[...] = values
        return
    write(tile.base, tile.coordinates(), values, is_strict)


def write(base: View | Distributed, coordinates: Sequence[Array], values: Array, is_strict: bool) -> None:
    """Writes `values` to the coordinates, which broadcast to their shape, in the order of the values.

    A coordinate that several parts of a distributed view have goes to the first of them.
    """
    left: Array | None = None
    if np.broadcast_shapes((), *(c.shape for c in coordinates)) != values.shape:
        coordinates = [np.broadcast_to(c, values.shape) for c in coordinates]
    for part, local, inside in _parts(base, coordinates):
        if left is None and np.all(inside):
            window, at = _rows(part, local)
            window[at] = values
            return
        left = np.ones(values.shape, np.bool_) if left is None else left
        here = np.broadcast_to(inside, values.shape) & left
        left &= ~here
        if here.any():
            window, at = _rows(part, [np.broadcast_to(c, values.shape)[here] for c in local])
            window[at] = values[here]
    if is_strict and left is not None and left.any():
        raise OutOfBounds(_first([np.broadcast_to(c, values.shape) for c in coordinates], left), base.sizes)


def read(base: View | Distributed, coordinates: Sequence[Array], is_strict: bool = True) -> Array:
    """The elements at the coordinates; a coordinate that no part of a distributed view has reads 0, one that
    several parts have reads the last of them."""
    shape = np.broadcast_shapes(*(c.shape for c in coordinates)) if coordinates else ()
    if is_strict and isinstance(base, Distributed):
        _require_inside(base, coordinates, shape)
    out: Array | None = None
    for part, local, inside in _parts(base, coordinates):
        if np.all(inside):
            window, at = _rows(part, local)
            out = np.asarray(window[at]).reshape(shape)
            continue
        here = np.broadcast_to(inside, shape)
        if is_strict and isinstance(base, View):
            raise OutOfBounds(_first(coordinates, ~here), base.sizes)
        if out is None:
            out = np.zeros(shape, numpy_dtype(base.dtype))
        if here.any():
            window, at = _rows(part, [np.broadcast_to(c, shape)[here] for c in local])
            out[here] = window[at].reshape(-1)
    return np.zeros(shape, numpy_dtype(base.dtype)) if out is None else out


def _require_inside(base: Distributed, coordinates: Sequence[Array], shape: tuple[int, ...]) -> None:
    inside: Any = np.True_
    for coordinate, size in zip(coordinates, base.sizes, strict=True):
        inside = inside & ((coordinate >= 0) & (coordinate < size))
    if not np.all(inside):
        raise OutOfBounds(_first(coordinates, ~np.broadcast_to(inside, shape)), base.sizes)


def _parts(base: View | Distributed, coordinates: Sequence[Array]) -> Iterator[tuple[View, list[Array], Any]]:
    """Every view behind `base`, the coordinates counted from its start, and which of them it has."""
    if isinstance(base, View):
        yield base, list(coordinates), _inside(base, coordinates)
        return
    for part in base.parts:
        local = [c - first for c, first in zip(coordinates, part.origin, strict=True)]
        yield part, local, _inside(part, local)


def _inside(view: View, local: Sequence[Array]) -> Any:
    ends = zip(local, view.sizes, strict=True)
    if view.points is None and all(c.size and c.min() >= 0 and c.max() < n for c, n in ends):
        return np.True_
    inside: Any = np.True_
    for coordinate, size in zip(local, view.sizes, strict=True):
        inside = inside & ((coordinate >= 0) & (coordinate < size))
    if view.points is not None:
        shifted = [c + first for c, first in zip(local, view.origin, strict=True)]
        inside = inside & contains(view.points, shifted, view.symbols)
    return inside


def _first(coordinates: Sequence[Array], wrong: Array) -> list[int]:
    at = tuple(np.argwhere(np.broadcast_to(wrong, wrong.shape))[0])
    return [int(np.broadcast_to(c, wrong.shape)[at]) for c in coordinates]


def _rows(view: View, local: Sequence[Array]) -> tuple[Array, Array]:
    """A window on memory and the positions in it of the elements at `local`.

    Coordinates that change along the last axis only, in equal steps, make that axis a row of the window.
    """
    strides = view.strides
    offsets = [c * s for c, s in zip(local, strides, strict=True)] or [np.zeros((), np.int64)]
    last = [o for o in offsets if o.ndim and o.shape[-1] > 1]
    rest = [o for o in offsets if not (o.ndim and o.shape[-1] > 1)]
    row = sum(last[1:], last[0]).reshape(-1) if last and all(o.size == o.shape[-1] for o in last) else None
    item = itemsize(view.dtype)
    if (
        row is not None
        and row[1] > row[0]
        and np.array_equal(np.diff(row), np.full(row.size - 1, row[1] - row[0]))
    ):
        start = sum(rest[1:], rest[0])[..., 0] if rest and rest[0].ndim else np.zeros((), np.int64)
        start = start + row[0]
        low, high = int(start.min()), int(start.max())
        shape, steps = (high - low + 1, row.size), (item, int(row[1] - row[0]) * item)
        return memory_window(view, low, shape, steps), start - low
    flat = np.asarray(sum(offsets[1:], offsets[0]))
    low, high = (int(flat.min()), int(flat.max())) if flat.size else (0, -1)
    return memory_window(view, low, (high - low + 1,), (item,)), flat - low


def memory_window(view: View, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """An array over the view's memory from element `start` on, `steps` in bytes; OutOfBounds outside the
    memory."""
    offset = view.address + start * itemsize(view.dtype)
    if math.prod(shape) == 0:
        return np.empty(shape, numpy_dtype(view.dtype))
    low = offset + sum((n - 1) * min(s, 0) for n, s in zip(shape, steps, strict=True))
    high = offset + sum((n - 1) * max(s, 0) for n, s in zip(shape, steps, strict=True)) + itemsize(view.dtype)
    if low < 0 or high > view.space.size:
        raise OutOfBounds((low if low < 0 else high - 1,), (view.space.size,), "memory")
    return np.ndarray(shape, numpy_dtype(view.dtype), buffer=view.space, offset=offset, strides=steps)


def _window(tile: Tile, is_strict: bool) -> Array | None:
    """The tile as an array over memory itself when it is a box of one view walked in equal steps, else
    None."""
    view = tile.base
    if not isinstance(view, View) or view.points is not None or tile.points is not None:
        return None
    fixed, start = len(tile.captured), 0
    dims = (*tile.captured, *tile.starts)
    steps = [0] * len(tile.shape)
    item = itemsize(view.dtype)
    ends: list[tuple[int, int]] = []
    for subscript, size, stride in zip(tile.subscripts, view.sizes, view.strides, strict=True):
        form = subscript.form
        if form is None:
            return None
        first = form.const + sum(c * x for c, x in zip(form.coefficients, dims, strict=True))
        low = high = first
        for coefficient, axis in zip(form.coefficients[fixed:], tile.axes, strict=True):
            steps[axis] += coefficient * stride * item
            reach = coefficient * (tile.shape[axis] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        start += first * stride
        ends.append((low if low < 0 else high, size))
    if 0 not in tile.shape and any(not 0 <= at < size for at, size in ends):
        if is_strict:
            raise OutOfBounds([at for at, _ in ends], view.sizes)
        return None
    return memory_window(view, start, tile.shape, tuple(steps))
