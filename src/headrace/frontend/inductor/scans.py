"""Running sums and products: sums over a triangle; of long dims in blocks, whose totals are summed before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import lowering
from torch._inductor.virtualized import ops

from headrace.frontend.inductor.accumulate import pointwise
from headrace.frontend.inductor.reductions import Lowering, is_static, lowered, position, realized, reduced

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


def _running(kind: str, x: Any, dim: int, is_exclusive: bool) -> Any:
    n = x.get_size()[dim]
    if not is_static(n) or int(n) <= LONGEST_ROW:
        return _triangle(kind, x, dim, is_exclusive)
    return _blocked(kind, x, dim, int(n), is_exclusive)


def _triangle(kind: str, x: Any, dim: int, is_exclusive: bool) -> Any:
    """Each element folded over those before it (and itself)."""
    dtype, size = x.get_dtype(), x.get_size()
    load, neutral = realized(x).make_loader(), int(kind == "prod")

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        source = [inner[0] if k == dim else i for k, i in enumerate(index)]
        compare = ops.lt if is_exclusive else ops.le
        is_before = compare(position(inner[0]), position(index[dim]))
        return ops.where(is_before, load(source), ops.constant(neutral, dtype))

    return reduced(kind, x, body, size, [size[dim]], dtype)


def _blocked(kind: str, x: Any, dim: int, n: int, is_exclusive: bool) -> Any:
    """Rows of about the square root of n, each begun with the total of the rows before."""
    size, neutral = list(x.get_size()), int(kind == "prod")
    width = math.isqrt(n - 1) + 1
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
