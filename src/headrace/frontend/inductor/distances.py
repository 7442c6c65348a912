"""Distances of all rows of one matrix to all rows of another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor.virtualized import ops

from headrace.frontend.inductor.accumulate import pointwise
from headrace.frontend.inductor.reductions import lowered, realized, reduced

aten = torch.ops.aten


def distances(a: Any, b: Any, p: float, compute_mode: int | None = None) -> Any:
    """out[..., i, j] = the p-norm of a[..., i, :] - b[..., j, :], summed as such (never by a product)."""
    outer = list(torch.broadcast_shapes(tuple(a.get_size()[:-2]), tuple(b.get_size()[:-2])))
    (m, k), (n, _) = a.get_size()[-2:], b.get_size()[-2:]
    dtype, rank = a.get_dtype(), len(outer)
    load_a = realized(lowered(aten.expand.default, a, [*outer, m, k])).make_loader()
    load_b = realized(lowered(aten.expand.default, b, [*outer, n, k])).make_loader()

    def power(value: Any, exponent: float) -> Any:
        return ops.pow(value, ops.constant(exponent, dtype))

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        left, right = load_a([*index[:rank], index[rank], *inner]), load_b([*index[:rank], index[-1], *inner])
        apart = ops.abs(ops.sub(left, right))
        if p == 0:
            return ops.to_dtype(ops.ne(apart, ops.constant(0, dtype)), dtype)
        if p == 2:
            return ops.mul(apart, apart)
        return apart if p in (1, math.inf) else power(apart, p)

    kind = "max" if p == math.inf and k != 0 else "sum"
    total = reduced(kind, a, body, [*outer, m, n], [k], dtype)
    if p in (0, 1, math.inf):
        return total
    load = total.make_loader()
    return pointwise(total, lambda at: ops.sqrt(load(at)) if p == 2 else power(load(at), 1 / p))
