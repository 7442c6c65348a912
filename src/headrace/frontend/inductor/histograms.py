"""Histograms of equal bins: every bin counts the elements it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor.utils import sympy_product
from torch._inductor.virtualized import ops

from headrace.frontend.inductor.reductions import lowered, position, realized, reduced

aten = torch.ops.aten


def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements lie in each of `bins` parts of [min, max].

    An element on an edge belongs to the bin behind it, except on the last edge; others and NaN do not count.
    NotImplemented for the range of the data and for other types than f32.
    """
    dtype = x.get_dtype()
    if min >= max or dtype != torch.float32:
        return NotImplemented
    count = sympy_product(x.get_size())
    load = realized(lowered(aten.view.default, realized(x), [count])).make_loader()

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        value, low = load(inner), ops.constant(float(min), dtype)
        high = ops.constant(float(max), dtype)
        reach = ops.mul(ops.sub(value, low), ops.constant(float(bins), dtype))
        place = ops.to_dtype(ops.truediv(reach, ops.sub(high, low)), torch.int64)
        place = ops.minimum(place, ops.constant(bins - 1, torch.int64))
        is_inside = ops.logical_and(ops.ge(value, low), ops.le(value, high))
        is_it = ops.logical_and(is_inside, ops.eq(place, position(index[0])))
        return ops.to_dtype(is_it, dtype)

    return reduced("sum", x, body, [bins], [count], dtype)
