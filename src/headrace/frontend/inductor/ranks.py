"""Sorting by counting: an element's place is the number of elements that come before it.

n² comparisons for a row of n, all alike; for long rows the host sorts faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor.utils import sympy_product
from torch._inductor.virtualized import ops
from torch.utils._sympy.functions import FloorDiv

from headrace.frontend.inductor.reductions import Lowering, alone, lowered, position, realized, reduced

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


def kthvalue(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """(value, index) of the k-th smallest along a dim."""
    return _middle(x, dim, keepdim, lambda _: ops.constant(k - 1, torch.int64))


def median(ignores_nan: bool) -> Lowering:
    """The lowering of median.dim, or of nanmedian.dim: (value, index) of the lower middle along a dim.

    A row with a NaN has the first one as its median, unless NaN is ignored.
    """

    def lower(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
        size = list(x.get_size())
        n = size[dim % len(size)] if size else 1
        if not x.get_dtype().is_floating_point:
            return _middle(x, dim, keepdim, lambda _: ops.index_expr(FloorDiv(n - 1, 2), torch.int64))
        numbers = _numbers(x, dim)

        def place(index: Sequence[Any]) -> Any:
            count, last = numbers(index), ops.index_expr(n - 1, torch.int64)
            half = ops.constant(1, torch.int64)
            if not ignores_nan:
                middle = ops.bitwise_right_shift(last, half)
                return ops.where(ops.gt(count, last), middle, count)
            before = ops.maximum(ops.sub(count, half), ops.constant(0, torch.int64))
            return ops.bitwise_right_shift(before, half)

        return _middle(x, dim, keepdim, place)

    return lower


def median_of_all(ignores_nan: bool) -> Lowering:
    """The lowering of median.default, or of nanmedian.default; NotImplemented for no elements."""

    def lower(x: Any) -> Any:
        count = sympy_product(x.get_size())
        if count == 0:
            return NotImplemented
        return median(ignores_nan)(lowered(aten.view.default, realized(x), [count]), 0)[0]

    return lower


def _numbers(x: Any, dim: int) -> Lowering:
    """The loader of the number of elements along a dim that are no NaN; the dim has extent 1."""
    size = list(x.get_size())
    load = realized(x).make_loader()
    if not size:
        return lambda index: ops.to_dtype(ops.logical_not(ops.isnan(load(index))), torch.int64)
    dim %= len(size)

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        is_nan = ops.isnan(load([inner[0] if d == dim else i for d, i in enumerate(index)]))
        return ops.to_dtype(ops.logical_not(is_nan), torch.int64)

    shape = [1 if d == dim else n for d, n in enumerate(size)]
    return reduced("sum", x, body, shape, [size[dim]], torch.int64).make_loader()  # type: ignore[no-any-return]


def _middle(x: Any, dim: int, keepdim: bool, place: Lowering) -> Any:
    """(values, indices) of the elements at one place of the order along a dim, which may differ by row."""
    if not x.get_size():
        return alone(x)
    dim %= len(x.get_size())
    found = _chosen(x, dim, _ranks(x, dim, False), place, 1)
    return found if keepdim else tuple(lowered(aten.squeeze.dim, y, dim) for y in found)


def _first(x: Any, dim: int, descending: bool, k: int | None) -> Any:
    if not x.get_size():
        return alone(x)
    dim %= len(x.get_size())
    count = x.get_size()[dim] if k is None else k
    return _chosen(x, dim, _ranks(x, dim, descending), lambda index: position(index[dim]), count)


def _ranks(x: Any, dim: int, descending: bool) -> Any:
    """The loader of every element's place in the order along a dim."""
    size, dtype = list(x.get_size()), x.get_dtype()
    load = realized(x).make_loader()

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

    return realized(reduced("sum", x, placed, size, [size[dim]], torch.int32)).make_loader()


def _chosen(x: Any, dim: int, ranks: Lowering, place: Lowering, count: Any) -> tuple[Any, Any]:
    """(values, indices) along a dim, `count` of them, each the element whose rank is `place(index)`."""
    size = list(x.get_size())
    n, size[dim] = size[dim], count

    def found(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        source = [inner[0] if d == dim else i for d, i in enumerate(index)]
        is_it = ops.eq(ops.to_dtype(ranks(source), torch.int64), place(index))
        return ops.where(is_it, position(inner[0]), ops.constant(0, torch.int64))

    indices = reduced("sum", x, found, size, [n], torch.int64)
    return lowered(aten.gather.default, x, dim, indices), indices
