"""Rule R5 checked: no iteration of a marked loop touches what another one stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.machine.check.shadows import Region

Array = np.ndarray[Any, Any]
Touch = tuple[Any, Region]
_PAIRS = 1 << 20
"""Pairs of iterations compared at once."""


def crosses(store: Region, other: Region, steps: int) -> bool:
    """Whether an iteration of `other` overlaps the bytes another iteration of `store` writes.

    Both regions are of one loop of `steps` iterations, over one memory; what an iteration touches counts
    from its first to its last byte.
    """
    low, high = _spans(store, steps)
    first, last = _spans(other, steps)
    rows = max(1, _PAIRS // max(steps, 1))
    for start in range(0, steps, rows):
        part = slice(start, start + rows)
        meet = (low[part, None] < last[None, :]) & (first[None, :] < high[part, None])
        own = np.arange(start, min(start + rows, steps))
        meet[np.arange(len(own)), own] = False
        if meet.any():
            return True
    return False


def any_crosses(stores: Sequence[Touch], others: Sequence[Touch], steps: int) -> bool:
    """The same for (memory, region) pairs; different memories never meet."""
    return any(a == b and crosses(s, o, steps) for a, s in stores for b, o in others)


def _spans(region: Region, steps: int) -> tuple[Array, Array]:
    """First byte and the one behind the last that every iteration touches."""
    starts = np.zeros(1, np.int64)
    for extent, stride in zip(region.extents[: region.steps], region.strides, strict=False):
        starts = (starts[:, None] + np.arange(extent) * stride).reshape(-1)
    inner = zip(region.extents[region.steps :], region.strides[region.steps :], strict=True)
    ends = [(e - 1) * s for e, s in inner]
    low = region.start + np.broadcast_to(starts, (steps,)) + sum(min(0, e) for e in ends)
    return low, low + sum(abs(e) for e in ends) + region.itemsize
