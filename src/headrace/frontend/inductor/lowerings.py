"""Our lowerings, by operator; matrix products are loop-level "dot" reductions, so that epilogues fuse and
one index algebra fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch._inductor import inductor_prims, ir, lowering
from torch._inductor.virtualized import ops
from torch.utils._sympy.functions import FloorDiv

from headrace.frontend.inductor import (
    accumulate,
    adaptive,
    bags,
    distances,
    histograms,
    pooling,
    ranks,
    scans,
)
from headrace.frontend.inductor.convolutions import convolution
from headrace.frontend.inductor.reductions import Lowering, lowered, reduced, replace_lowerings

aten = torch.ops.aten


def install() -> None:
    """Our lowerings for tensors on our device."""
    replace_lowerings(
        {
            aten.mm.default: _mm,
            aten.mm.dtype: _mm,
            aten.bmm.default: _bmm,
            aten.bmm.dtype: _bmm,
            aten.addmm.default: _scaled(_mm),
            aten.baddbmm.default: _scaled(_bmm),
            aten.convolution.default: convolution,
            aten.cumsum.default: scans.running("sum"),
            aten.cumprod.default: scans.running("prod"),
            aten.cummax.default: scans.running_extreme("max"),
            aten.cummin.default: scans.running_extreme("min"),
            aten.logcumsumexp.default: scans.running_logsumexp,
            aten.searchsorted.Tensor: ranks.searchsorted,
            aten.bucketize.Tensor: ranks.bucketize,
            aten.avg_pool2d.default: pooling.average(2),
            aten.avg_pool3d.default: pooling.average(3),
            aten._adaptive_avg_pool2d.default: adaptive.average(2),
            aten._adaptive_avg_pool3d.default: adaptive.average(3),
            aten.adaptive_max_pool2d.default: adaptive.largest(2),
            aten.adaptive_max_pool3d.default: adaptive.largest(3),
            aten.glu.default: _gated,
            aten.addbmm.default: _scaled(_summed_bmm),
            aten._int_mm.default: partial(_mm, out_dtype=torch.int32),
            aten._scaled_mm.default: _scaled_mm,
            aten.sort.default: ranks.sort,
            aten.sort.stable: ranks.stable_sort,
            aten.topk.default: ranks.topk,
            aten.kthvalue.default: ranks.kthvalue,
            aten.median.dim: ranks.median(False),
            aten.nanmedian.dim: ranks.median(True),
            aten.median.default: ranks.median_of_all(False),
            aten.nanmedian.default: ranks.median_of_all(True),
            aten._embedding_bag.default: bags.embedding_bag,
            aten._embedding_bag_forward_only.default: bags.embedding_bag,
            aten._cdist_forward.default: distances.distances,
            aten.histc.default: histograms.histc,
            aten.scatter_add.default: accumulate.scatter_add,
            aten.scatter_reduce.two: accumulate.scatter_reduce,
            aten.index_put.default: accumulate.index_put,
            aten._unsafe_index_put.default: accumulate.index_put,
            aten.index_put_.default: accumulate.index_put_in_place,
            inductor_prims._unsafe_index_put_: accumulate.index_put_in_place,
        }
    )


def _matrix_product(a: Any, b: Any, batch: Sequence[Any], m: Any, n: Any, k: Any, dtype: Any) -> Any:
    """out[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n]."""
    for operand in (a, b):
        if not _is_plain_copy(operand):
            operand.realize()
    load_a, load_b, depth = a.make_loader(), b.make_loader(), len(batch)

    def widened(value: Any) -> Any:
        is_wider = not dtype.is_floating_point and dtype != a.get_dtype()
        return ops.to_dtype(value, dtype) if is_wider else value

    def body(index: Sequence[Any], inner: Sequence[Any]) -> Any:
        outer, (row, column) = list(index[:depth]), index[depth:]
        left, right = load_a([*outer, row, inner[0]]), load_b([*outer, inner[0], column])
        return ops.dot(widened(left), widened(right))

    return reduced("dot", a, body, [*batch, m, n], [k], dtype)


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


def _summed_bmm(a: Any, b: Any) -> Any:
    """The sum of a batch of products."""
    return lowered(aten.sum.dim_IntList, _bmm(a, b), [0])


def _gated(x: Any, dim: int = -1) -> Any:
    """The first half of a dim times the sigmoid of the second."""
    dim %= len(x.get_size())
    half = FloorDiv(x.get_size()[dim], 2)
    first = lowered(aten.slice.Tensor, x, dim, 0, half)
    second = lowered(aten.slice.Tensor, x, dim, half, 2 * half)
    return lowered(aten.mul.Tensor, first, lowered(aten.sigmoid.default, second))


def _scaled_mm(
    a: Any,
    b: Any,
    scale_a: Any,
    scale_b: Any,
    bias: Any = None,
    scale_result: Any = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
    *,
    layout: Any = None,
) -> Any:
    """A product of fp8 matrices times their scales (numbers, or one for each row and column), with a bias."""
    if scale_result is not None or not all(_is_row_or_number(s) for s in (scale_a, scale_b)):
        return NotImplemented
    result = _mm(a, b, torch.float32)
    for scale in (scale_a, scale_b):
        result = lowered(aten.mul.Tensor, result, scale)
    if bias is not None:
        result = lowered(aten.add.Tensor, result, bias)
    return lowering.to_dtype(result, out_dtype or a.get_dtype())


def _is_row_or_number(scale: Any) -> bool:
    """Whether a scale serves one value, or one for each row or column (no blocks of either)."""
    return bool(sum(n != 1 for n in scale.get_size()) <= 1)


def _scaled(product: Lowering) -> Lowering:
    """beta * addend + alpha * product."""

    def lower(addend: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1, layout: Any = None) -> Any:
        multiply = partial(lowered, aten.mul.Tensor)
        result = product(a, b)
        result = result if alpha == 1 else multiply(result, alpha)
        if beta == 0:
            return result
        addend = addend if beta == 1 else multiply(addend, beta)
        return lowered(aten.add.Tensor, result, addend)

    return lower
