"""Reductions over axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.numbers.dtypes import bit_width, is_float
from headrace.runtime.ktir import shapes
from headrace.runtime.ktir.errors import wrong

if TYPE_CHECKING:
    from headrace.runtime.ktir.values import Value

_COMBINERS = {
    "sum": ("arith.addf", "arith.addi"),
    "prod": ("arith.mulf", "arith.muli"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
}


def reduce(kind: str, value: Value, axis: int | Sequence[int] | None, keepdims: bool) -> Value:
    """The value combined over the axes; sums of narrow floats accumulate as the dtype says: cast to f32
    first to keep them.
    """
    axes = axes_of(value, axis)
    shape = value.extents
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    start = shapes.full(value.code, kept, identity(kind, value.dtype), value.dtype)
    op = _COMBINERS[kind][0 if is_float(value.dtype) else 1]
    text = (
        f"linalg.reduce {{ {op} }} ins({value.use()} : {value.type}) outs({start.use()} : {start.type}) "
        f"dimensions = {list(axes)}"
    )
    result = value.let(text, value.dtype, kept, kind)
    if not keepdims or not axes:
        return result
    whole = tuple(1 if k in axes else n for k, n in enumerate(shape))
    return replace(result, shape=whole, origin=result)


def axes_of(value: Value, axis: int | Sequence[int] | None) -> tuple[int, ...]:
    """The axes, sorted and counted from 0; HeadraceError for one the value does not have."""
    rank = len(value.extents)
    given = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    for k in given:
        if not -rank <= k < rank:
            raise wrong(f"axis {k} of a tensor of rank {rank}")
    return tuple(sorted({k % rank for k in given}))


def identity(kind: str, dtype: str) -> float:
    """What a reduction starts from."""
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if is_float(dtype):
        return -math.inf if kind == "max" else math.inf
    half: int = 1 << (bit_width(dtype) - 1)
    return -half if kind == "max" else half - 1
