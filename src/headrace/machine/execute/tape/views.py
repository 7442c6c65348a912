"""Blocks of bytes as strided views of numbered regions, and the mathematics of mapping one through a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Dims = tuple[tuple[int, ...], ...]
"""(extent, stride of the first view, stride of the second, …) per dimension, outer first."""
Spread = tuple[tuple[int, int], ...]
"""(stride, extent) per dimension, longest stride first, no stride negative or 0."""


class NotRecordable(Exception):
    """The run contains something that a tape cannot repeat; the engine runs it as always."""


@dataclass(frozen=True)
class View:
    """Elements of `dtype` at `offset` bytes of a region; shape and strides as those of an array."""

    region: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any

    @property
    def ends(self) -> tuple[int, int]:
        """The first byte and the one behind the last."""
        low = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s < 0)
        high = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s > 0)
        return low, high + int(self.dtype.itemsize)


@dataclass(frozen=True)
class Copied:
    """What a copy moved: `dims` pairs the strides of target and source."""

    target: View
    source: View
    dims: Dims


def merged(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Dims:
    """The dimensions of views of one shape, those joined that all of them enumerate as one."""
    out: list[tuple[int, ...]] = []
    for k, n in enumerate(shape):
        steps = tuple(s[k] for s in strides)
        if n == 1:
            continue
        if out and all(o == s * n for o, s in zip(out[-1][1:], steps, strict=True)):
            out[-1] = (out[-1][0] * n, *steps)
        else:
            out.append((n, *steps))
    return tuple(out)


def spread(view: View) -> Spread:
    """The dimensions of a view from its first byte on, longest stride first, whatever order it enumerates."""
    found = sorted(
        ((abs(s), n) for n, s in zip(view.shape, view.strides, strict=True) if n > 1 and s), reverse=True
    )
    out: list[tuple[int, int]] = []
    for s, n in found:
        if out and out[-1][0] == s * n:
            out[-1] = s, out[-1][1] * n
        else:
            out.append((s, n))
    return tuple(out)


def is_dense(dims: Spread, size: int) -> bool:
    """Whether elements of `size` bytes leave no gap between the first and the last one."""
    return not dims or (len(dims) == 1 and dims[0][0] == size)


def width(dims: Spread, size: int, step: int) -> int:
    """Bytes from the first to the last one that elements of `size` bytes take in a row of `step` bytes."""
    return size + sum(s * (n - 1) for s, n in dims if s % step)


def joint(copies: Sequence[Copied | None]) -> Copied | None:
    """One copy that moves what several do, which follow each other at equal distances; None if none does."""
    found = sorted((c for c in copies if c is not None), key=lambda c: c.target.offset)
    if not found or len(found) < len(copies):
        return None
    first = found[0]
    if len(found) == 1:
        return first
    ahead = found[1].target.offset - first.target.offset, found[1].source.offset - first.source.offset
    for k, c in enumerate(found):
        offsets = c.target.offset - k * ahead[0], c.source.offset - k * ahead[1]
        same = (c.dims, c.target.region, c.source.region, c.target.dtype)
        if offsets != (first.target.offset, first.source.offset):
            return None
        if same != (first.dims, first.target.region, first.source.region, first.target.dtype):
            return None
    size = first.target.dtype.itemsize
    dims: list[tuple[int, ...]] = []
    for d in sorted([*first.dims, (len(found), *ahead)], key=lambda d: -d[1]):
        if dims and all(outer == s * d[0] for outer, s in zip(dims[-1][1:], d[1:], strict=True)):
            dims[-1] = dims[-1][0] * d[0], *d[1:]
        else:
            dims.append(d)
    for k, (_, step, _) in enumerate(dims):
        if size + sum(s * (n - 1) for n, s, _ in dims[k + 1 :]) > step:
            return None
    return Copied(first.target, first.source, tuple(dims))


def paired(target: View, source: View) -> Copied:
    """The copy of a view to another one with as many elements, in the order of both."""
    return Copied(target, source, elementwise([target, source]))


def through(copy: Copied, view: View, may_split: bool) -> View | None:
    """Where the bytes of `view`, a part of the copy's target, came from; None if no strided view says it.

    With `may_split` an axis may become several that enumerate the same elements in the same order.
    """
    if view.dtype != copy.target.dtype or any(d[1] <= 0 for d in copy.dims):
        return None
    dims = sorted(copy.dims, key=lambda d: -d[1])
    at, offset = view.offset - copy.target.offset, copy.source.offset
    last: list[int] = []
    for n, s, t in dims:
        q = min(at // s, n - 1) if at >= 0 else -1
        if q < 0:
            return None
        last.append(q)
        at -= q * s
        offset += q * t
    if at:
        return None
    axes: list[tuple[int, int]] = []
    for n, step in zip(view.shape, view.strides, strict=True):
        parts = [(n, 0)] if n == 1 or step == 0 else _mapped(dims, n, step, last)
        if parts is None or (len(parts) > 1 and not may_split):
            return None
        axes.extend(parts)
    if any(end >= n for end, (n, _, _) in zip(last, dims, strict=True)):
        return None
    shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
    return View(copy.source.region, offset, shape, strides, view.dtype)


def _mapped(
    dims: Sequence[tuple[int, ...]], n: int, step: int, last: list[int]
) -> list[tuple[int, int]] | None:
    """The axes of the source that an axis of the target runs through; adds their ends to `last`."""
    for k, (extent, s, t) in enumerate(dims):
        if s > step:
            continue
        if step % s:
            return None
        c = step // s
        wrap = extent // c
        if c * (n - 1) < extent:
            last[k] += c * (n - 1)
            return [(n, c * t)]
        if extent % c or n % wrap or wrap < 2 or last[k] >= c:
            return None
        last[k] += c * (wrap - 1)
        outer = _mapped(dims[:k], n // wrap, step * wrap, last)
        return None if outer is None else [*outer, (wrap, c * t)]
    return None


def elementwise(views: Sequence[View]) -> Dims:
    """Common dimensions of views that enumerate as many elements in order: extent, a stride of each."""
    rest = [list(merged(v.shape, [v.strides])) for v in views]
    dims: list[tuple[int, ...]] = []
    while all(rest):
        ends = [r.pop() for r in rest]
        least = min(n for n, _ in ends)
        if any(n % least for n, _ in ends):
            raise NotRecordable
        dims.append((least, *(s for _, s in ends)))
        for r, (n, s) in zip(rest, ends, strict=True):
            if n > least:
                r.append((n // least, s * least))
    if any(rest):
        raise NotRecordable
    dims.reverse()
    return merged([d[0] for d in dims], [[d[k] for d in dims] for k in range(1, len(views) + 1)])
