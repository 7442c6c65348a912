"""Average pooling as a sum over the window divided by a count, for windows that Inductor does not unroll."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.lowering import pooling_size
from torch._inductor.virtualized import ops
from torch.utils._sympy.functions import Max, Min

from headrace.frontend.inductor.reductions import Lowering, is_static, lowered, realized, reduced

aten = torch.ops.aten

MOST_UNROLLED = 25
"""Elements of a window up to which Inductor writes out every load."""


def average(rank: int) -> Lowering:
    """The lowering of avg_pool2d (`rank` 2) or avg_pool3d; NotImplemented for small windows and integers."""

    def lower(
        x: Any,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] | int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        window, padding = _each(kernel_size, rank), _each(padding, rank)
        stride = _each(stride, rank) if stride else window
        space = x.get_size()[-rank:]
        is_small = math.prod(window) <= MOST_UNROLLED
        if is_small or not is_static(*space) or not x.get_dtype().is_floating_point:
            return NotImplemented
        places = [int(pooling_size(n, d, window, stride, padding, ceil_mode)[0]) for d, n in enumerate(space)]
        total = _sums(x, window, stride, padding, places)
        if divisor_override:
            divisors: Any = [divisor_override]
        else:
            reach = padding if count_include_pad else [0] * rank
            divisors = [
                _counted(int(n), *facts)
                for n, *facts in zip(space, window, stride, padding, reach, places, strict=True)
            ]
        return divided(total, divisors, rank, x.get_dtype())

    return lower


def divided(total: Any, divisors: Sequence[Any], rank: int, dtype: Any) -> Any:
    """The sums by the product of the divisors, which are numbers or functions of the place along a dim."""
    load = total.make_loader()

    def body(index: Sequence[Any]) -> Any:
        count = math.prod(d(i) if callable(d) else d for d, i in zip(divisors, index[-rank:], strict=False))
        return ops.to_dtype(ops.truediv(load(index), ops.index_expr(count, torch.float32)), dtype)

    return ir.Pointwise.create(
        device=total.get_device(), dtype=dtype, inner_fn=body, ranges=list(total.get_size())
    )


def _each(value: Sequence[int] | int, rank: int) -> list[int]:
    """One number for every dim."""
    given = [value] if isinstance(value, int) else list(value)
    return given * rank if len(given) == 1 else given


def _sums(
    x: Any, window: Sequence[int], stride: Sequence[int], padding: Sequence[int], places: Sequence[int]
) -> Any:
    """The sums of the windows, in f32: [..., *places]."""
    rank = len(window)
    outer, space = x.get_size()[:-rank], x.get_size()[-rank:]
    ends = [(k - 1) * s + w for k, s, w in zip(places, stride, window, strict=True)]
    behind = [max(0, end - int(n) - p) for end, n, p in zip(ends, space, padding, strict=True)]
    pads = [p for sides in reversed(list(zip(padding, behind, strict=True))) for p in sides]
    if any(pads):
        x = lowered(aten.constant_pad_nd.default, x, pads, 0)
    load = realized(x).make_loader()

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        at = [i * s + r for i, s, r in zip(index[-rank:], stride, inner, strict=True)]
        return ops.to_dtype(load([*index[:-rank], *at]), torch.float32)

    return reduced("sum", x, body, [*outer, *places], list(window), torch.float32)


def _counted(n: int, window: int, stride: int, padding: int, reach: int, places: int) -> Any:
    """How many elements the window at a place covers along a dim of n, `reach` of the padding counted: a
    function of the place where they differ.
    """

    def covered(place: Any, low: Any = Max, high: Any = Min) -> Any:
        start = place * stride - padding
        return high(start + window, n + reach) - low(start, -reach)

    differ = {covered(place, max, min) for place in range(places)}
    return differ.pop() if len(differ) == 1 else covered
