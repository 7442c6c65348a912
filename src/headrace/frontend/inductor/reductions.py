"""What lowerings of ours are built from: a buffer of sums (or products, or "dot"s), and lowerings in place
of others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.virtualized import ops

from headrace.frontend.memory import NAME

aten = torch.ops.aten

Lowering = Callable[..., Any]


def replace_lowerings(own: Mapping[Any, Lowering]) -> None:
    """Uses our lowerings for tensors on our device; one that returns NotImplemented leaves it to the one
    before.
    """
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


def reduced(
    kind: str, like: Any, body: Lowering, ranges: Sequence[Any], reduced: Sequence[Any], dtype: Any
) -> Any:
    """A buffer of `ranges`, each element the fold over `reduced` of `body(index, reduced index)`."""
    if kind == "dot" and any(n == 0 for n in reduced):
        kind = "sum"  # of nothing, which Inductor knows to be 0
    result = ir.Reduction.create(
        device=like.get_device(),
        dst_dtype=dtype,
        src_dtype=dtype,
        inner_fn=body,
        ranges=list(ranges),
        reduction_ranges=list(reduced),
        reduction_type=kind,
        reduction_hint=ir.ReductionHint.DEFAULT,
    )
    if isinstance(result.data.data, ir.Reduction):
        result.realize()
    return result


def lowered(overload: Any, *args: Any, **keywords: Any) -> Any:
    """The result of another operator's lowering."""
    return lowering.lowerings[overload](*args, **keywords)


def alone(x: Any) -> tuple[Any, Any]:
    """(value, index) of the only element of a tensor without dims, as sorts and medians give them."""
    place = lowered(aten.full.default, [], 0, dtype=torch.int64, device=x.get_device())
    return lowered(aten.clone.default, x), place


def position(index: Any) -> Any:
    """A loop index as a value."""
    return ops.index_expr(index, torch.int64)


def realized(tensor: Any) -> Any:
    """The tensor, computed into a buffer of its own."""
    tensor.realize()
    return tensor


def is_static(*sizes: Any) -> bool:
    """Whether sizes are plain numbers."""
    return all(isinstance(n, int) or getattr(n, "is_Integer", False) for n in sizes)
