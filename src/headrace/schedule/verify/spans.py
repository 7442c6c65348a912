"""Sets of bytes that boxes cover over all their steps, as runs of bytes; whether two of them meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from headrace.schedule.verify.programs.events import Touch

Array = np.ndarray[Any, Any]

MOST_RUNS = 1 << 22
"""A set of more runs than this counts as all bytes between its first and its last."""


def byte_range(touch: Touch) -> tuple[int, int]:
    """Return the first byte and the end of all a touch covers."""
    first, end = touch.hull()
    view = touch.view
    low = high = view.start
    for a, b, stride in zip(first, end, view.strides, strict=True):
        low += min(a * stride, (b - 1) * stride)
        high += max(a * stride, (b - 1) * stride)
    return low * view.itemsize, (high + 1) * view.itemsize


def corner(touch: Touch) -> int:
    """The byte at which a touch begins at its first step."""
    view = touch.view
    return (view.start + sum(a * s for a, s in zip(touch.low, view.strides, strict=True))) * view.itemsize


def have_one_layout(a: Touch, b: Touch) -> bool:
    """True if elements of equal subscripts are the same bytes, and of others other ones."""
    one, other = a.view, b.view
    alike = (one.start, one.strides, one.itemsize) == (other.start, other.strides, other.itemsize)
    return alike and all(_is_packed(view.strides, view.shape) for view in (one, other))


def share_bytes(a: Touch, b: Touch) -> bool:
    """True if two touches of one memory share a byte at any of their steps."""
    (low, high), (first, end) = byte_range(a), byte_range(b)
    if low >= end or first >= high:
        return False
    if have_one_layout(a, b):
        if not hulls_meet(a, b):
            return False
        if (found := _by_dims(a, b)) is not None:
            return found
    return _runs_meet(runs(a), runs(b))


def hulls_meet(a: Touch, b: Touch) -> bool:
    """True if the boxes around all steps of two touches of one layout meet."""
    (first, end), (other, last) = a.hull(), b.hull()
    return all(x < q and p < y for x, y, p, q in zip(first, end, other, last, strict=True))


@dataclass(frozen=True)
class Hulls:
    """Of many touches of one memory: first bytes, ends, numbers of their layouts, first subscripts and ends,
    [touches] or [touches, dims].
    """

    low: Array
    end: Array
    layout: Array
    first: Array
    last: Array

    def meet(self, a: Any, b: Any) -> Array:
        """Whether the touches `a` may share bytes with the touches `b`: numbers, or arrays of them."""
        inside = (self.first[a] < self.last[b]) & (self.first[b] < self.last[a])
        near = (self.low[a] < self.end[b]) & (self.low[b] < self.end[a])
        found: Array = near & ((self.layout[a] != self.layout[b]) | inside.all(axis=-1))
        return found

    def regions(self) -> Array:
        """The region of memory each touch is in: those of different regions share no bytes."""
        order = np.argsort(self.low, kind="stable")
        reached = np.maximum.accumulate(self.end[order])
        is_first = np.append(False, self.low[order][1:] >= reached[:-1]) if len(order) else order
        regions = np.empty(len(order), np.int64)
        regions[order] = np.cumsum(is_first)
        return regions


def hulls(touches: Sequence[Touch]) -> Hulls:
    """The boxes around all steps of touches; a layout in which subscripts share bytes is like no other."""
    rank = max((len(touch.low) for touch in touches), default=0)
    ranges = np.array([byte_range(touch) for touch in touches], np.int64).reshape(-1, 2)
    numbers: dict[Any, int] = {}
    layout, first, last = [], [], []
    for place, touch in enumerate(touches):
        view = touch.view
        is_packed = _is_packed(view.strides, view.shape)
        key = (view.start, view.strides, view.itemsize) if is_packed else place
        layout.append(numbers.setdefault(key, len(numbers)))
        low, end = touch.hull()
        first.append((*low, *(0,) * (rank - len(low))))
        last.append((*end, *(1,) * (rank - len(end))))
    corners = (np.array(ends, np.int64).reshape(-1, rank) for ends in (first, last))
    return Hulls(ranges[:, 0], ranges[:, 1], np.array(layout, np.int64), *corners)


def _by_dims(a: Touch, b: Touch) -> bool | None:
    """Whether two touches of one layout share elements, dim by dim; None if a step of one moves along several
    dims.
    """
    if any(sum(map(bool, moves)) > 1 for touch in (a, b) for _, moves in touch.times):
        return None
    if a.is_indirect or b.is_indirect:
        return None
    return all(_runs_meet(_along(a, d), _along(b, d)) for d in range(len(a.low)))


@cache
def _is_packed(strides: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    """True if subscripts inside a view never share elements with others."""
    dims = sorted(zip(map(abs, strides), shape, strict=True), key=lambda dim: dim[0])
    span: int | None = 1
    for stride, extent in dims:
        if span is None or stride < span:
            return False
        span = stride * extent if extent is not None else None
    return True


def _along(touch: Touch, dim: int) -> tuple[Array, int]:
    """The runs of subscripts along one dim."""
    steps = [(1, touch.extents[dim]), *((moves[dim], n) for n, moves in touch.times if moves[dim])]
    return _runs(touch.low[dim], steps)


def runs(touch: Touch) -> tuple[Array, int]:
    """(first bytes in order, length of each) of the runs of bytes a touch covers."""
    view = touch.view
    if touch.is_indirect:
        first, end = touch.hull()
        extents = tuple(b - a for a, b in zip(first, end, strict=True))
        touch = Touch(view, touch.is_write, first, extents, ())
    strides = [s * view.itemsize for s in view.strides]
    start = corner(touch)
    steps = [(1, view.itemsize), *zip(strides, touch.extents, strict=True)]
    steps += [(sum(m * s for m, s in zip(moves, strides, strict=True)), n) for n, moves in touch.times]
    return _runs(start, steps)


def _runs(start: int, steps: list[tuple[int, int]]) -> tuple[Array, int]:
    """The runs of start + the sum of k * stride, 0 <= k < count, over (stride, count) of steps."""
    start += sum(stride * (count - 1) for stride, count in steps if stride < 0)
    length = 1
    apart: list[tuple[int, int]] = []
    for stride, count in sorted((abs(stride), count) for stride, count in steps if stride and count > 1):
        if not apart and stride <= length:
            length += stride * (count - 1)
        else:
            apart.append((stride, count))
    if prod(count for _, count in apart) > MOST_RUNS:
        return np.array([start]), length + sum(stride * (count - 1) for stride, count in apart)
    firsts = np.array([start])
    for stride, count in apart:
        firsts = (firsts[:, None] + np.arange(count) * stride).reshape(-1)
    return np.unique(firsts), length


def _runs_meet(a: tuple[Array, int], b: tuple[Array, int]) -> bool:
    (firsts, length), (others, size) = a, b
    # the first run of b that ends behind the beginning of each run of a
    at = np.searchsorted(others, firsts - size, side="right")
    inside = at < len(others)
    return bool((others[at[inside]] < firsts[inside] + length).any())
