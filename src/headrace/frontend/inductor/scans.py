"""Running folds, over a triangle; sums and products of long dims in blocks with the totals before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import lowering
from torch._inductor.virtualized import ops

from headrace.frontend.inductor.accumulate import pointwise
from headrace.frontend.inductor.reductions import (
    Lowering,
    alone,
    is_static,
    lowered,
    position,
    realized,
    reduced,
)

aten = torch.ops.aten

LONGEST_ROW = 128
"""Elements of a row that is not cut into blocks: n steps an element, against the square root of n with
them.
"""


def running(kind: str) -> Lowering:
    """The lowering of cumsum (`kind` "sum") or cumprod ("prod")."""

    def lower(x: Any, dim: int, *, dtype: Any = None) -> Any:
        is_float = x.get_dtype().is_floating_point
        dtype = dtype or (x.get_dtype() if is_float else torch.int64)
        rank = len(x.get_size())
        x = lowering.to_dtype(x, dtype, copy=True)
        return x if rank == 0 else _running(kind, x, dim % rank, False)

    return lower


def running_extreme(kind: str) -> Lowering:
    """The lowering of cummax (`kind` "max") or cummin ("min"): (values, place of the last one as large)."""

    def lower(x: Any, dim: int) -> Any:
        size, dtype = x.get_size(), x.get_dtype()
        if not size:
            return alone(x)
        dim %= len(size)
        load = realized(x).make_loader()
        values = realized(
            reduced(kind, x, _before(load, dim, _weakest(kind, dtype), dtype), size, [size[dim]], dtype)
        )
        extreme = values.make_loader()

        def place(index: Sequence[Any], inner: Sequence[Any]) -> Any:
            own = load(_moved(index, inner, dim))
            is_it = ops.eq(own, extreme(index))
            if dtype.is_floating_point:
                is_it = ops.logical_or(is_it, ops.isnan(own))  # a NaN stays the extreme
            is_before = ops.le(position(inner[0]), position(index[dim]))
            zero = ops.constant(0, torch.int64)
            return ops.where(ops.logical_and(is_before, is_it), position(inner[0]), zero)

        return values, reduced("max", x, place, size, [size[dim]], torch.int64)

    return lower


def running_logsumexp(x: Any, dim: int) -> Any:
    """log of the running sum of exp, each scaled by the largest value so far."""
    size, dtype = x.get_size(), x.get_dtype()
    if not size:
        return x
    dim %= len(size)
    load = realized(x).make_loader()
    body = _before(load, dim, -math.inf, dtype)
    largest = realized(reduced("max", x, body, size, [size[dim]], dtype)).make_loader()

    def scale(index: Sequence[Any]) -> Any:
        found = largest(index)
        return ops.where(ops.isinf(found), ops.constant(0, dtype), found)

    def power(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        is_before = ops.le(position(inner[0]), position(index[dim]))
        return ops.where(
            is_before, ops.exp(ops.sub(load(_moved(index, inner, dim)), scale(index))), ops.constant(0, dtype)
        )

    total = reduced("sum", x, power, size, [size[dim]], dtype).make_loader()
    return pointwise(x, lambda index: ops.add(ops.log(total(index)), scale(index)))


def _moved(index: Sequence[Any], inner: Sequence[Any], dim: int) -> list[Any]:
    """The index with another place along a dim."""
    return [inner[0] if k == dim else i for k, i in enumerate(index)]


def _before(load: Any, dim: int, neutral: Any, dtype: Any, *, is_exclusive: bool = False) -> Any:
    """The body of a fold over the elements before each one (and itself unless `is_exclusive`)."""

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        compare = ops.lt if is_exclusive else ops.le
        is_before = compare(position(inner[0]), position(index[dim]))
        return ops.where(is_before, load(_moved(index, inner, dim)), ops.constant(neutral, dtype))

    return body


def _weakest(kind: str, dtype: Any) -> Any:
    """The value that never is the extreme."""
    if dtype == torch.bool:
        return kind == "min"
    if dtype.is_floating_point:
        return -math.inf if kind == "max" else math.inf
    limits = torch.iinfo(dtype)
    return limits.min if kind == "max" else limits.max


def _running(kind: str, x: Any, dim: int, is_exclusive: bool) -> Any:
    n = x.get_size()[dim]
    if not is_static(n) or int(n) <= LONGEST_ROW:
        return _triangle(kind, x, dim, is_exclusive)
    return _blocked(kind, x, dim, int(n), is_exclusive)


def _triangle(kind: str, x: Any, dim: int, is_exclusive: bool) -> Any:
    """Each element folded over those before it (and itself)."""
    dtype, size = x.get_dtype(), x.get_size()
    neutral = int(kind == "prod")
    body = _before(realized(x).make_loader(), dim, neutral, dtype, is_exclusive=is_exclusive)
    return reduced(kind, x, body, size, [size[dim]], dtype)


def _width(n: int) -> int:
    """The length of a row: about the square root of n, and a divisor of n if there is one near."""
    root = math.isqrt(n - 1) + 1
    even = [w for w in range(root // 2 + 1, 2 * root) if n % w == 0]
    return min(even, key=lambda w: max(w / root, root / w), default=root)


def _blocked(kind: str, x: Any, dim: int, n: int, is_exclusive: bool) -> Any:
    """Rows of about the square root of n, each begun with the total of the rows before."""
    size, neutral = list(x.get_size()), int(kind == "prod")
    width = _width(n)
    rows = -(-n // width)
    pads = [0, 0] * (len(size) - 1 - dim) + [0, rows * width - n]
    if pads[-1]:
        x = lowered(aten.constant_pad_nd.default, x, pads, neutral)
    blocks = lowered(aten.view.default, realized(x), [*size[:dim], rows, width, *size[dim + 1 :]])
    inside = _running(kind, blocks, dim + 1, is_exclusive)
    total_of = _running(kind, blocks, dim + 1, False) if is_exclusive else inside
    totals = lowered(aten.slice.Tensor, total_of, dim + 1, width - 1, width)
    before = _running(kind, totals, dim, True)
    combine = aten.mul.Tensor if kind == "prod" else aten.add.Tensor
    joined = lowered(combine, inside, before)
    flat = lowered(aten.view.default, joined, [*size[:dim], rows * width, *size[dim + 1 :]])
    row = lowered(aten.slice.Tensor, flat, dim, 0, n)
    return pointwise(row, row.make_loader())  # rows as long as the result's, without the padding
