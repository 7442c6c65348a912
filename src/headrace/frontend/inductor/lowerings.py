"""Matrix products and convolutions as loop-level "dot" reductions, so that epilogues fuse and one index
algebra fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.virtualized import ops
from torch.utils._sympy.functions import FloorDiv

from headrace.frontend.memory import NAME

aten = torch.ops.aten
Lowering = Callable[..., Any]


def install() -> None:
    """Replaces the lowerings of contractions for tensors on our device; others keep theirs."""
    own: dict[Any, Lowering] = {
        aten.mm.default: _mm,
        aten.mm.dtype: _mm,
        aten.bmm.default: _bmm,
        aten.bmm.dtype: _bmm,
        aten.addmm.default: _scaled(_mm),
        aten.baddbmm.default: _scaled(_bmm),
        aten.convolution.default: _convolution,
    }
    for overload, lower in own.items():
        lowering.lowerings[overload] = _for_our_device(lower, lowering.lowerings.get(overload))


def _for_our_device(ours: Lowering, before: Lowering | None) -> Lowering:
    def dispatch(*args: Any, **keywords: Any) -> Any:
        is_ours = any(isinstance(arg, ir.IRNode) and _device(arg) == NAME for arg in args[:3])
        result = ours(*args, **keywords) if is_ours else NotImplemented
        return before(*args, **keywords) if before and result is NotImplemented else result

    return dispatch


def _device(node: ir.IRNode) -> str:
    device = node.get_device()
    return "" if device is None else device.type


def _contract(
    first: Any, second: Any, body: Lowering, ranges: Sequence[Any], reduced: Sequence[Any], dtype: Any
) -> Any:
    """A buffer of `ranges`, each element the sum over `reduced` of `body(index, reduced index)`."""
    result = ir.Reduction.create(
        device=first.get_device(),
        dst_dtype=dtype,
        src_dtype=dtype,
        inner_fn=body,
        ranges=list(ranges),
        reduction_ranges=list(reduced),
        reduction_type="dot",
        reduction_hint=ir.ReductionHint.DEFAULT,
    )
    if isinstance(result.data.data, ir.Reduction):
        result.realize()
    return result


def _matrix_product(a: Any, b: Any, batch: Sequence[Any], m: Any, n: Any, k: Any, dtype: Any) -> Any:
    """out[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n]."""
    for operand in (a, b):
        if not _is_plain_copy(operand):
            operand.realize()
    load_a, load_b, depth = a.make_loader(), b.make_loader(), len(batch)

    def body(index: Sequence[Any], reduced: Sequence[Any]) -> Any:
        outer, (row, column) = list(index[:depth]), index[depth:]
        return ops.dot(load_a([*outer, row, reduced[0]]), load_b([*outer, reduced[0], column]))

    return _contract(a, b, body, [*batch, m, n], [k], dtype)


def _is_plain_copy(operand: Any) -> bool:
    """Whether an operand only rearranges one buffer (the expand of grouped heads), which the loads can do."""
    data = operand.data
    while isinstance(data, (ir.BaseView, ir.StorageBox)):
        data = data.data
    if not isinstance(data, ir.Pointwise):
        return False
    count = data.inner_fn_opcount()
    return bool(count.num_ops - count.nontrivial_read_count <= 0 and count.nontrivial_read_count == 1)


def _mm(a: Any, b: Any, out_dtype: Any = None, *, layout: Any = None) -> Any:
    (m, k), (_, n) = a.get_size(), b.get_size()
    return _matrix_product(a, b, [], m, n, k, out_dtype or a.get_dtype())


def _bmm(a: Any, b: Any, out_dtype: Any = None, *, layout: Any = None) -> Any:
    (batch, m, k), (_, _, n) = a.get_size(), b.get_size()
    return _matrix_product(a, b, [batch], m, n, k, out_dtype or a.get_dtype())


def _scaled(product: Lowering) -> Lowering:
    """beta * addend + alpha * product."""

    def lower(addend: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, layout: Any = None) -> Any:
        multiply = lowering.lowerings[aten.mul.Tensor]
        result = product(a, b)
        result = result if alpha == 1 else multiply(result, alpha)
        if beta == 0:
            return result
        addend = addend if beta == 1 else multiply(addend, beta)
        return lowering.lowerings[aten.add.Tensor](result, addend)

    return lower


def _convolution(
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
    """A convolution as a dot over (input channels of a group, window); transposed ones are not native."""
    if transposed:
        return NotImplemented
    rank = len(weight.get_size()) - 2
    stride, padding, dilation = (
        list(v) * rank if len(v) == 1 else list(v) for v in (stride, padding, dilation)
    )
    batch, _, *space = x.get_size()
    channels_out, channels_in, *window = weight.get_size()
    if any(padding):
        pads = [p for side in reversed(padding) for p in (side, side)]
        x = lowering.lowerings[aten.constant_pad_nd.default](x, pads, 0)
    weight.realize()
    load_x, load_w = x.make_loader(), weight.make_loader()
    out_space = [
        FloorDiv(n + 2 * p - d * (w - 1) - 1, s) + 1
        for n, p, d, w, s in zip(space, padding, dilation, window, stride, strict=True)
    ]
    per_group = FloorDiv(channels_out, groups)

    def body(index: Sequence[Any], reduced: Sequence[Any]) -> Any:
        image, channel, *place = index
        inner, *offset = reduced
        source = inner if groups == 1 else FloorDiv(channel, per_group) * channels_in + inner
        at = [o * s + k * d for o, s, k, d in zip(place, stride, offset, dilation, strict=True)]
        return ops.dot(load_x([image, source, *at]), load_w([channel, inner, *offset]))

    ranges = [batch, channels_out, *out_space]
    result = _contract(x, weight, body, ranges, [channels_in, *window], weight.get_dtype())
    if bias is None:
        return result
    shaped = lowering.lowerings[aten.view.default](bias, [channels_out, *[1] * rank])
    return lowering.lowerings[aten.add.Tensor](result, shaped)
