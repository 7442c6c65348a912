"""Exactly what indirect accesses of many tiles touch, found by reading their index views."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.semantics.access import OutOfBounds, Tile, View
from headrace.semantics.batches.boxes import coordinates

Array = np.ndarray[Any, Any]
Span = tuple[tuple[int, int, int], ...]
"""The dims along which every cell is a whole run: (dim, first coordinate, extent)."""


def direct_span(tile: Tile) -> Span | None:
    """The dims that a variable of their own walks, alike in all tiles; None where cells cannot be told
    apart."""
    view, fixed = tile.base, len(tile.captured)
    if not isinstance(view, View) or view.points is not None or not _is_injective(view):
        return None
    if tile.points is not None:
        return ()
    used = [{d for e in s.maps for d in e.used_dims() if d >= fixed} for s in tile.subscripts]
    found = []
    for d, subscript in enumerate(tile.subscripts):
        form = subscript.form
        if form is None or len(used[d]) != 1 or any(used[d] & u for k, u in enumerate(used) if k != d):
            continue
        (variable,) = used[d]
        captured = [c for k, c in enumerate(tile.captured) if form.coefficients[k]]
        if form.coefficients[variable] != 1 or any(np.ndim(c) for c in captured):
            continue
        first = form.const + sum(
            int(form.coefficients[k] * c) for k, c in enumerate(tile.captured) if np.ndim(c) == 0
        )
        at = variable - fixed
        found.append((d, int(first + tile.starts[at]), tile.shape[tile.axes[at]]))
    return tuple(found)


def _is_injective(view: View) -> bool:
    """Whether different coordinates are different places in memory."""
    reach = 0
    for stride, size in sorted(zip(view.strides, view.sizes, strict=True)):
        if size > 1:
            if stride <= reach:
                return False
            reach += stride * (size - 1)
    return True


def cells(tile: Tile, span: Span, count: int) -> Array | None:
    """Numbers of the coordinates along the dims that are not in `span`, [tiles, cells]; None outside the
    view."""
    view: Any = tile.base
    whole = {d for d, _, _ in span}
    kept = [d for d in range(len(view.sizes)) if d not in whole]
    if not kept:
        return np.zeros((count, 1), np.int64)
    try:
        found = coordinates(tile)
    except OutOfBounds:
        return None
    if any(found[d].size and (found[d].min() < 0 or found[d].max() >= view.sizes[d]) for d in kept):
        return None
    at = np.ravel_multi_index(np.broadcast_arrays(*(found[d] for d in kept)), [view.sizes[d] for d in kept])
    each = at.shape[1:] if at.ndim > len(tile.shape) else at.shape
    return np.broadcast_to(at, (count, *each)).reshape(count, -1)
