"""Affine maps and sets over whole arrays of points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from headrace.ir import sets
from headrace.ir.sets import Bounds, Linear, contains, evaluate, linear, permutation

__all__ = ["Bounds", "Linear", "box", "contains", "evaluate", "linear", "open_grid", "permutation"]

Array = np.ndarray[Any, Any]
box = lru_cache(maxsize=4096)(sets.box)
"""`ir.sets.box`, remembered: every tile and every launch asks for the same sets."""


def open_grid(extents: Sequence[int], starts: Sequence[int] | None = None) -> list[Array]:
    """One index array per dim, each of extent 1 along all other dims."""
    rank = len(extents)
    first = starts or [0] * rank
    return [
        np.arange(lo, lo + n, dtype=np.int64).reshape([-1 if k == d else 1 for k in range(rank)])
        for d, (n, lo) in enumerate(zip(extents, first, strict=True))
    ]
