"""Adaptive pooling: place i of m covers the elements of n from ⌊i n / m⌋ to ⌈(i + 1) n / m⌉."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._inductor.virtualized import ops
from torch.utils._sympy.functions import FloorDiv

from headrace.frontend.inductor.accumulate import pointwise
from headrace.frontend.inductor.pooling import MOST_UNROLLED, divided
from headrace.frontend.inductor.reductions import Lowering, is_static, position, realized, reduced

FARTHEST = 2**62
"""Behind every element of a plane."""


@dataclass(frozen=True)
class Shares:
    """The elements of a plane [..., *space] that each of `places` covers; window: the most along each dim."""

    space: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def window(self) -> tuple[int, ...]:
        """The longest share along every dim."""
        return tuple(
            max(int(self.end(d, i) - self.start(d, i)) for i in range(m)) for d, m in enumerate(self.places)
        )

    def start(self, dim: int, place: Any) -> Any:
        """The first element of a place's share."""
        n, m = self.space[dim], self.places[dim]
        return place * (n // m) if n % m == 0 else FloorDiv(place * n, m)

    def end(self, dim: int, place: Any) -> Any:
        """The element behind a place's share."""
        n, m = self.space[dim], self.places[dim]
        return (place + 1) * (n // m) if n % m == 0 else FloorDiv(place * n + n + m - 1, m)

    def length(self, dim: int) -> int | Callable[[Any], Any]:
        """The elements of a share: a number, or a function of the place where shares differ."""
        n, m = self.space[dim], self.places[dim]
        return n // m if n % m == 0 else lambda place: self.end(dim, place) - self.start(dim, place)

    def at(self, index: Sequence[Any], inner: Sequence[Any]) -> tuple[list[Any], Any]:
        """Where in the plane a step of a place's window is, and whether its share has it (None: always)."""
        at, is_inside = [], None
        for dim, (place, step) in enumerate(zip(index[-len(self.space) :], inner, strict=True)):
            at.append(self.start(dim, place) + step)
            if self.space[dim] % self.places[dim]:
                fits = ops.lt(position(at[-1]), position(self.end(dim, place)))
                is_inside = fits if is_inside is None else ops.and_(is_inside, fits)
        return at, is_inside


def average(rank: int) -> Lowering:
    """The lowering of _adaptive_avg_pool2d (`rank` 2) or 3d; NotImplemented where Inductor unrolls the window
    and for integers.
    """

    def lower(x: Any, places: Sequence[int]) -> Any:
        shares = _shares(x, rank, places)
        if shares is None:
            return NotImplemented
        load = realized(x).make_loader()

        def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
            at, is_inside = shares.at(index, inner)

            def loaded() -> Any:
                return ops.to_dtype(load([*index[:-rank], *at]), torch.float32)

            return loaded() if is_inside is None else ops.masked(is_inside, loaded, 0.0)

        size = [*x.get_size()[:-rank], *places]
        total = reduced("sum", x, body, size, shares.window, torch.float32)
        return divided(total, [shares.length(dim) for dim in range(rank)], rank, x.get_dtype())

    return lower


def largest(rank: int) -> Lowering:
    """The lowering of adaptive_max_pool2d (`rank` 2) or 3d: (values, places in the plane).

    NotImplemented where Inductor unrolls the window, and for integers. A NaN is the largest value, the last
    one where several are.
    """

    def lower(x: Any, places: Sequence[int]) -> Any:
        shares = _shares(x, rank, places)
        if shares is None:
            return NotImplemented
        load, dtype, size = realized(x).make_loader(), x.get_dtype(), [*x.get_size()[:-rank], *places]

        def value(index: Sequence[Any], inner: Sequence[Any]) -> Any:
            at, is_inside = shares.at(index, inner)

            def loaded() -> Any:
                return load([*index[:-rank], *at])

            return loaded() if is_inside is None else ops.masked(is_inside, loaded, -math.inf)

        values = realized(reduced("max", x, value, size, shares.window, dtype))
        extreme = values.make_loader()

        def place(index: Sequence[Any], inner: Sequence[Any]) -> Any:
            at, is_inside = shares.at(index, inner)
            own, flat = value(index, inner), position(_flat(at, shares.space))
            is_it = ops.eq(own, extreme(index))
            is_it = is_it if is_inside is None else ops.logical_and(is_it, is_inside)
            before = ops.where(is_it, flat, ops.constant(FARTHEST, torch.int64))
            return ops.where(ops.isnan(own), ops.sub(ops.constant(-1, torch.int64), flat), before)

        first = reduced("min", x, place, size, shares.window, torch.int64).make_loader()
        return values, _of_last_nan(values, first)

    return lower


def _of_last_nan(values: Any, first: Any) -> Any:
    """The places, of which -1 - p stands for a NaN at p."""

    def body(index: Sequence[Any]) -> Any:
        found = first(index)
        is_nan = ops.lt(found, ops.constant(0, torch.int64))
        return ops.where(is_nan, ops.sub(ops.constant(-1, torch.int64), found), found)

    return pointwise(values, body, torch.int64)


def _shares(x: Any, rank: int, places: Sequence[int]) -> Shares | None:
    space = x.get_size()[-rank:]
    if not is_static(*space) or 0 in (*space, *places) or not x.get_dtype().is_floating_point:
        return None
    found = Shares(tuple(map(int, space)), tuple(places))
    return None if rank == 2 and math.prod(found.window) <= MOST_UNROLLED else found


def _flat(at: Sequence[Any], space: Sequence[int]) -> Any:
    """The number of an element of a plane in order."""
    total: Any = 0
    for place, n in zip(at, space, strict=True):
        total = total * n + place
    return total
