"""Convolutions as loop-level "dot" reductions over (input channels of a group, window).

Padding, and the zeros between the elements of a transposed convolution's input, are written out first, so
that every window is a plain strided view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.virtualized import ops
from torch.utils._sympy.functions import FloorDiv, ModularIndexing

from headrace.frontend.inductor.reductions import lowered, position, realized, reduced

aten = torch.ops.aten


def convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """x [N, C, ...], weight [O, C / groups, ...] ([C, O / groups, ...] when transposed) → [N, O, ...]."""
    rank = len(weight.get_size()) - 2
    if len(x.get_size()) != rank + 2:
        return NotImplemented
    stride, padding, dilation, output_padding = (
        list(v) * rank if len(v) == 1 else list(v) for v in (stride, padding, dilation, output_padding)
    )
    if transposed:
        window = weight.get_size()[2:]
        reach = [d * (w - 1) for d, w in zip(dilation, window, strict=True)]
        low = [r - p for r, p in zip(reach, padding, strict=True)]
        high = [first + more for first, more in zip(low, output_padding, strict=True)]
        x, weight, stride = _spread(x, stride), _turned(weight, groups), [1] * rank
    else:
        low = high = padding
    if any(low) or any(high):
        pads = [p for sides in reversed(list(zip(low, high, strict=True))) for p in sides]
        x = realized(lowered(aten.constant_pad_nd.default, x, pads, 0))
    result = _unpadded(x, weight, stride, dilation, groups)
    if bias is None:
        return result
    shaped = lowered(aten.view.default, bias, [bias.get_size()[0], *[1] * rank])
    return lowered(aten.add.Tensor, result, shaped)


def _unpadded(x: Any, weight: Any, stride: Sequence[int], dilation: Sequence[int], groups: int) -> Any:
    load_x, load_w = realized(x).make_loader(), realized(weight).make_loader()
    batch, _, *space = x.get_size()
    channels_out, channels_in, *window = weight.get_size()
    out_space = [
        FloorDiv(n - d * (w - 1) - 1, s) + 1
        for n, d, w, s in zip(space, dilation, window, stride, strict=True)
    ]
    per_group = FloorDiv(channels_out, groups)

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        image, channel, *place = index
        depth, *offset = inner
        source = depth if groups == 1 else FloorDiv(channel, per_group) * channels_in + depth
        at = [o * s + k * d for o, s, k, d in zip(place, stride, offset, dilation, strict=True)]
        return ops.dot(load_x([image, source, *at]), load_w([channel, depth, *offset]))

    ranges = [batch, channels_out, *out_space]
    return reduced("dot", x, body, ranges, [channels_in, *window], weight.get_dtype())


def _spread(x: Any, stride: Sequence[int]) -> Any:
    """x with stride - 1 zeros between neighbours."""
    if all(s == 1 for s in stride):
        return x
    batch, channels, *space = x.get_size()
    load = realized(x).make_loader()

    def body(index: Sequence[Any]) -> Any:
        outer, place = list(index[:2]), index[2:]
        mask: Any = None
        for i, s in zip(place, stride, strict=True):
            if s > 1:
                is_there = ops.eq(position(ModularIndexing(i, 1, s)), position(0))
                mask = is_there if mask is None else ops.and_(mask, is_there)
        at = [FloorDiv(i, s) for i, s in zip(place, stride, strict=True)]
        return ops.masked(mask, lambda: load([*outer, *at]), 0.0)

    ranges = [batch, channels, *((n - 1) * s + 1 for n, s in zip(space, stride, strict=True))]
    return _pointwise(x, body, ranges)


def _turned(weight: Any, groups: int) -> Any:
    """The weight [C, O / groups, ...] of a transposed convolution as [O, C / groups, ...] with its window
    reversed.
    """
    channels_in, per_group, *window = weight.get_size()
    load, depth = realized(weight).make_loader(), FloorDiv(channels_in, groups)

    def body(index: Sequence[Any]) -> Any:
        channel, inner, *place = index
        source = FloorDiv(channel, per_group) * depth + inner
        reverse = [w - 1 - k for w, k in zip(window, place, strict=True)]
        return load([source, ModularIndexing(channel, 1, per_group), *reverse])

    return _pointwise(weight, body, [per_group * groups, depth, *window])


def _pointwise(like: Any, body: Any, ranges: Sequence[Any]) -> Any:
    result = ir.Pointwise.create(
        device=like.get_device(), dtype=like.get_dtype(), inner_fn=body, ranges=list(ranges)
    )
    return realized(result)
