"""Sorting by counting: an element's place is the number of elements that come before it.

n² comparisons for a row of n, all alike; for long rows the host sorts faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor.virtualized import ops

from headrace.frontend.inductor.reductions import lowered, position, realized, reduced

aten = torch.ops.aten


def sort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """(values, indices) sorted along a dim; equal values keep their order, NaN is the largest value."""
    return _first(x, dim, descending, None)


def stable_sort(x: Any, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    """The same."""
    return _first(x, dim, descending, None)


def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """(values, indices) of the k largest (or smallest) along a dim, in order."""
    return _first(x, dim, largest, k)


def searchsorted(
    bounds: Any,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """For every value the number of bounds (along the last dim) that come before it; NotImplemented with a
    sorter, or for rows of bounds that are not those of the values.
    """
    outer, own = bounds.get_size()[:-1], x.get_size()[:-1]
    if sorter is not None or (outer and list(outer) != list(own)):
        return NotImplemented
    load_bound, load = realized(bounds).make_loader(), realized(x).make_loader()
    dtype = torch.promote_types(bounds.get_dtype(), x.get_dtype())
    is_behind = ops.gt if right or side == "right" else ops.ge

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        bound = load_bound([*(index[:-1] if outer else []), inner[0]])
        is_not_before = is_behind(ops.to_dtype(bound, dtype), ops.to_dtype(load(index), dtype))
        return ops.to_dtype(ops.logical_not(is_not_before), kind)

    kind = torch.int32 if out_int32 else torch.int64
    return reduced("sum", x, body, x.get_size(), [bounds.get_size()[-1]], kind)


def bucketize(x: Any, bounds: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The same with the operands exchanged."""
    return searchsorted(bounds, x, out_int32=out_int32, right=right)


def _first(x: Any, dim: int, descending: bool, k: int | None) -> Any:
    size = list(x.get_size())
    if not size:
        return x, lowered(aten.full_like.default, x, 0, dtype=torch.int64)
    dim %= len(size)
    n = size[dim]
    load = realized(x).make_loader()
    dtype = x.get_dtype()

    def placed(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        here, other = load(index), load([inner[0] if d == dim else i for d, i in enumerate(index)])
        low, high = (here, other) if descending else (other, here)
        is_before, is_equal = ops.lt(low, high), ops.eq(low, high)
        if dtype.is_floating_point:
            low_nan, high_nan = ops.isnan(low), ops.isnan(high)
            is_before = ops.logical_or(is_before, ops.logical_and(ops.logical_not(low_nan), high_nan))
            is_equal = ops.logical_or(is_equal, ops.logical_and(low_nan, high_nan))
        is_earlier = ops.lt(position(inner[0]), position(index[dim]))
        counts = ops.logical_or(is_before, ops.logical_and(is_equal, is_earlier))
        return ops.to_dtype(counts, torch.int32)

    ranks = realized(reduced("sum", x, placed, size, [n], torch.int32)).make_loader()

    def found(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        source = [inner[0] if d == dim else i for d, i in enumerate(index)]
        is_it = ops.eq(ops.to_dtype(ranks(source), torch.int64), position(index[dim]))
        return ops.where(is_it, position(inner[0]), ops.constant(0, torch.int64))

    size[dim] = n if k is None else k
    indices = reduced("sum", x, found, size, [n], torch.int64)
    return lowered(aten.gather.default, x, dim, indices), indices
