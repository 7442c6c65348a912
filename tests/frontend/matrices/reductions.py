"""Reductions over any dims, norms, softmax, scans, sorts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
import torch.nn.functional as F

from .case import Case, bf16, case, distinct, f16, i32, n, quick, r, u


def folded(dims: tuple[int, ...], keep: bool = False) -> Any:
    return lambda x: (
        x.sum(dims, keepdim=keep), x.mean(dims, keepdim=keep), x.amax(dims, keepdim=keep), x.amin(dims,
        keepdim=keep) )  # fmt: skip


SHAPES = [(13, 33), (5, 6, 17), (3, 4, 5, 7), (2, 3, 5, 7, 9)]
DIMS = [
    (shape, dims)
    for shape in SHAPES
    for count in (1, 2)
    for dims in itertools.combinations(range(len(shape)), count)
] + [((2, 3, 5, 7, 256), (0, 1, 2, 3, 4)), ((32, 64, 96), (0, 2))]
QUICK_DIMS = [((5, 6, 17), (0, 2))]
WIDE = (2, 3, 5, 7, 256)
WIDE_DIMS = [dims for count in (1, 2) for dims in itertools.combinations(range(5), count)]
SOFTMAX = [(shape, dim) for shape in SHAPES[:3] for dim in range(len(shape))]


def places(dim: int | None) -> Any:
    return lambda x: (x.argmax(dim), x.argmin(dim), *(() if dim is None else (*x.max(dim), *x.min(dim))))


def with_nan(*shape: int) -> Any:
    def make() -> torch.Tensor:
        x = torch.randn(shape)
        x.view(-1)[::5] = torch.nan
        return x

    return make


CASES: dict[str, Case] = {
    **{f"{s} over {d}": case(folded(d), r(*s), is_quick=(s, d) in QUICK_DIMS) for s, d in DIMS},
    **{f"{s} over {d} kept, f16": case(folded(d, True), r(*s, dtype=f16)) for s, d in DIMS[:12]},
    "all": case(lambda x: (x.sum(), x.mean(), x.amax(), x.max(), x.min(), x.prod()), r(4, 9)),
    **{f"{WIDE} over {d}, f16": case(folded(d), r(*WIDE, dtype=f16, scale=0.1)) for d in WIDE_DIMS},
    "large": case(lambda x: (x.sum(0), x.mean(1)), r(512, 1024)),
    "very large": case(
        lambda x, y, z: (x.sum(0), x.mean(1), x.amax(1), y.mean(0), y.amin(0), z.sum((0, 2)), z.mean((0, 2))),
        u(2048, 4096),
        u(4096, 4096),
        u(32, 64, 512),
    ),
    **{
        f"square of {k}": case(
            lambda x: (x.amin(0), x.amin(1), x.softmax(1), x.t() + 1, x.clone() * 2 - x, x @ x.t()),
            r(k, k, dtype=f16, scale=0.1),
        )
        for k in (256, 384, 512)
    },
    "prod": quick(lambda x: (x.prod(1), x.prod(0)), r(4, 9)),
    "whole": quick(lambda x: (x.sum(0), x.sum(), x.amax(1), x.prod(0), x.amin(0)), n(9, 4, 13, low=-9)),
    "whole i32": case(lambda x: (x.sum(0), x.amax(1), x.amin(0)), n(9, 4, 13, low=-9, dtype=i32)),
    "any and all": quick(
        lambda x: (x.any(0), x.all(1), x.any(), x.all(), (x & ~x).any(1), x.sum(1)),
        n(2, 4, 13, dtype=torch.bool),
    ),
    "NaN": quick(lambda x: (x.sum(1), x.amax(1), x.amin(0), x.argmax(1), x.max(0)), with_nan(3, 9)),
    "var and std": case(
        lambda x: (x.var(1), x.std(0), x.var(0, correction=0), *torch.var_mean(x, 1)), r(13, 33)
    ),
    "var f16": case(lambda x: (x.var(1), x.std(0)), r(13, 33, dtype=f16)),
    "norms": case(
        lambda x: (x.norm(dim=1), x.norm(1, 0), x.norm(), torch.linalg.vector_norm(x, 3, 1), x.abs().amax()),
        r(13, 33),
    ),
    "matrix norms": case(
        lambda x: [torch.linalg.matrix_norm(x, p) for p in ("fro", 1, -1, torch.inf, -torch.inf)],
        r(3, 13, 33),
    ),
    "aminmax": case(lambda x: (*x.aminmax(dim=1), *x.aminmax()), r(13, 33)),
    "logsumexp": case(lambda x: (x.logsumexp(1), x.logsumexp((0, 1))), r(13, 33)),
    "count_nonzero": case(lambda x: (x > 0).count_nonzero(1), r(13, 33)),
    **{f"argmax {d}": case(places(d), distinct(5, 7, 9), is_quick=d == 1) for d in (0, 1, 2, None)},
    "argmax ties": quick(lambda x: (x.argmax(1), x.argmin(0), x.argmax(1, keepdim=True)), n(3, 7, 11)),
    "argmax f16": case(places(-1), distinct(5, 67, dtype=f16)),
    **{
        f"softmax {s} over {d}": case(lambda x, d=d: (x.softmax(d), x.log_softmax(d)), r(*s))
        for s, d in SOFTMAX
    },
    "softmax bf16": case(lambda x: x.softmax(-1), r(5, 67, dtype=bf16)),
    "softmax with empty rows": case(lambda x: x.masked_fill(x > -9, -torch.inf).softmax(-1), r(3, 5)),
    "layer_norm": quick(
        lambda x, w, b: (F.layer_norm(x, (33,), w, b), F.layer_norm(x + x, (33,), w, b, 1e-2)),
        r(5, 33),
        r(33),
        r(33),
    ),
    "layer_norm of two dims": case(lambda x: F.layer_norm(x, (7, 9)), r(5, 7, 9)),
    "layer_norm f16": case(
        lambda x, w, b: F.layer_norm(x, (64,), w, b), r(5, 64, dtype=f16), r(64, dtype=f16), r(64, dtype=f16)
    ),
    "rms_norm": case(
        lambda x, w: (F.rms_norm(x, (33,), w), F.rms_norm(x * 2 + x, (33,), w, 1e-5)), r(5, 33), r(33)
    ),
    "group_norm": case(lambda x, w, b: F.group_norm(x, 3, w, b), r(2, 6, 5, 7), r(6), r(6)),
    "batch_norm": case(
        lambda x, m, v, w, b: F.batch_norm(x, m, v.abs() + 0.5, w, b), r(2, 6, 5, 7), r(6), r(6), r(6), r(6)
    ),
    "instance_norm": case(lambda x: F.instance_norm(x), r(2, 6, 5, 7)),
    "cosine and normalize": case(
        lambda x, y: (F.normalize(x, dim=1), F.cosine_similarity(x, y)), r(5, 33), r(5, 33)
    ),
    **{
        f"cumsum {d}": case(lambda x, d=d: (x.cumsum(d), x.long().cumsum(d), (x > 0).cumsum(d)), r(5, 6, 7))
        for d in (0, 1, 2)
    },
    "cumsum long": case(lambda x: x.cumsum(-1), r(3, 1009, scale=0.1)),
    "cumsum f16": case(lambda x: x.cumsum(-1), r(3, 67, dtype=f16, scale=0.1)),
    "cumprod": case(lambda x: x.cumprod(-1), r(3, 17)),
    "cummax": quick(lambda x: (*x.cummax(-1), *x.cummin(0)), with_nan(3, 7)),
    "cummax whole": case(lambda x: (*x.cummax(-1), *(x > 0).cummin(0)), n(5, 3, 17, low=-9)),
    "logcumsumexp": case(
        lambda x: torch.logcumsumexp(torch.cat([x, x[:, :1] - math.inf], 1), 1), r(3, 17, scale=30)
    ),
    **{
        f"topk {k} of {s} over {d}": case(
            lambda x, k=k, d=d: (*x.topk(k, d), *x.topk(k, d, largest=False)), distinct(*s)
        )
        for k, s, d in [(1, (5, 33), 1), (3, (7, 9), 0), (8, (2, 5, 33), -1), (128, (3, 200), 1)]
    },
    "sort": case(lambda x: (*x.sort(1), *x.sort(0, descending=True)), distinct(9, 13)),
    "stable sort with ties": case(
        lambda x: (*x.sort(dim=1, stable=True), x.argsort(dim=0, stable=True)), n(4, 9, 13)
    ),
    "sort NaN": case(
        lambda x: (*x.sort(dim=1, stable=True), *x.sort(dim=1, stable=True, descending=True)), with_nan(3, 9)
    ),
    **{
        f"median and kthvalue over {d}": case(
            lambda x, d=d: (*x.median(d), *x.kthvalue(3, d, keepdim=True), *x.nanmedian(d, keepdim=True)),
            distinct(5, 6, 7),
            is_quick=d == 1,
        )
        for d in (0, 1, 2)
    },
    "median of all": quick(
        lambda x, y, i: (x.median(), y.nanmedian(), y.median(), i.median()),
        distinct(4, 5),
        with_nan(3, 5),
        n(9, 4, 3),
    ),
    "median of rows with NaN": case(
        lambda x: (*x.median(1), x.nanmedian(1)[0], (x * torch.nan).nanmedian(1)[0]), with_nan(4, 6)
    ),
    "median f16": case(lambda x: (x.median(1), x.kthvalue(1, 0)), distinct(5, 67, dtype=f16)),
    "quantile": case(lambda x: (x.quantile(0.3, 1), x.nanquantile(0.5, 0)), distinct(5, 9)),
    "median of a long row": case(lambda x: x.median(-1), distinct(1, 1501), host=("aten.median",)),
    "no dims": quick(
        lambda x: (*x.sort(0), *x.topk(1, 0), *x.cummax(0), *x.median(0), *x.kthvalue(1, 0), *x.max(0)), r()
    ),
    "sort a long row": case(lambda x: x.sort(-1), distinct(1, 1500), host=("aten.sort",)),
    "empty sum": case(lambda x: (x.sum(1), x.sum(0), x.prod(1), x.any(1)), r(0, 5)),
    "sum of nothing": quick(lambda x: (x.sum(1), x.sum(), x.prod(1), (x > 0).all(1)), r(5, 0)),
    "size one": case(lambda x: (x.sum(0), x.mean(2), x.softmax(0), x.argmax(2), x.var(1)), r(1, 4, 1)),
    "sum then broadcast": case(
        lambda x, y: x.mean(-1, keepdim=True) + torch.zeros_like(x) + y,
        r(6, 200, dtype=f16),
        r(6, 200, dtype=f16),
    ),
    "losses": case(
        lambda x, t: (
            F.cross_entropy(x, t),
            F.mse_loss(x, x * 2),
            F.nll_loss(x.log_softmax(1), t),
            F.l1_loss(x, x.cos()),
        ),
        r(9, 5),
        n(5, 9),
    ),
}
