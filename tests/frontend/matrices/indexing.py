"""Gathers and scatters."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from .case import Case, bf16, case, f16, i32, n, quick, r, u


def rows(*shape: int, high: int) -> Any:
    """Different indices along dim 0 in every column."""
    return lambda: torch.stack([torch.randperm(high)[: shape[0]] for _ in range(shape[1])], 1)


def by_itself(x: Any) -> Any:
    return x[x[:, 0] % x.size(0)]


CASES: dict[str, Case] = {
    "embedding": quick(lambda w, i: F.embedding(i, w), r(10, 3), n(10, 2, 4)),
    "embedding of many": case(lambda w, i: F.embedding(i, w) * 2, r(4915, 64, dtype=f16), n(4915, 2, 5)),
    "embedding of a vocabulary": case(lambda w, i: F.embedding(i, w), u(49159, 4096), n(49159, 2, 5)),
    "rows summed": case(lambda w, i: F.embedding(i, w).sum(1), r(10, 8), n(10, 4, 3)),
    "embedding_bag": quick(lambda w, i: F.embedding_bag(i, w), r(10, 8), n(10, 4, 3)),
    **{
        f"embedding_bag {mode} of ragged bags": case(
            lambda w, i, o, mode=mode: (
                F.embedding_bag(i, w, o, mode=mode),
                F.embedding_bag(i, w, o, mode=mode, include_last_offset=True),
                F.embedding_bag(i, w, o, mode=mode, padding_idx=3),
            ),
            r(10, 8),
            n(10, 12),
            torch.tensor([0, 4, 4, 12]),
            is_quick=mode == "max",
        )
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag weighted": case(
        lambda w, i, s: F.embedding_bag(i, w, per_sample_weights=s, mode="sum"),
        r(10, 8),
        n(10, 4, 3, dtype=i32),
        r(4, 3),
    ),
    "embedding_bag f16": case(
        lambda w, i: F.embedding_bag(i, w, mode="sum"), r(10, 8, dtype=f16), n(10, 4, 3)
    ),
    "gather": quick(lambda x, i: (x.gather(1, i), x.t().gather(0, i.t())), r(4, 10), n(10, 4, 3)),
    "gather 3d": case(lambda x, i: x.gather(1, i), r(3, 7, 5), n(7, 3, 4, 5)),
    "gather 4d": case(lambda x, i: x.gather(3, i), r(2, 3, 5, 7), n(7, 2, 3, 5, 9)),
    "index_select": case(lambda x, i: (x.index_select(0, i), x.index_select(1, i)), r(9, 10), n(9, 5)),
    "negative indices": quick(lambda x, i: (x[i], x[:, i]), r(9, 10), n(9, 5, low=-9)),
    "i32 indices": case(lambda x, i: x[i] + 1, r(9, 10), n(9, 5, dtype=i32)),
    "two indices": quick(lambda x, i, j: (x[i, j], x[i, :, j]), r(6, 8, 5), n(5, 3, low=-5), n(5, 3)),
    "two broadcast indices": case(lambda x, i, j: x[i[:, None], j[None, :]], r(6, 8), n(6, 3), n(8, 4)),
    "pages": quick(lambda k, p: k[p // 16, p % 16], r(4, 16, 8), n(64, 11, dtype=i32)),
    "index by a result": case(
        lambda x: (x[x.argmax(0)], x.gather(1, x.argsort(1))),
        lambda: torch.randperm(35).reshape(5, 7).float(),
    ),
    "mask": case(
        lambda x, m: torch.where(m, x, 0) + x.masked_fill(m, 7), r(4, 10), n(2, 4, 10, dtype=torch.bool)
    ),
    "index_put": quick(lambda x, i, v: x.index_put((i,), v), r(10, 4), torch.tensor([1, 4, -1]), r(3, 4)),
    "index_put of two": case(
        lambda x, i, j, v: x.index_put((i, j), v),
        r(10, 4, 3),
        torch.tensor([1, 4, -1]),
        torch.tensor([0, 3, 2]),
        r(3, 3),
    ),
    "index_put accumulated": quick(
        lambda x, i, v: x.index_put((i,), v, accumulate=True), r(4, 3), torch.tensor([0, 1, -1, 1]), r(4, 3)
    ),
    "index_copy": case(lambda x, i, v: x.index_copy(0, i, v), r(10, 4), torch.tensor([1, 4, 9]), r(3, 4)),
    "index_copy into a cache": quick(
        lambda x, i, v: x.index_copy_(2, i, v),
        r(1, 2, 64, 16, dtype=f16),
        torch.tensor([17]),
        r(1, 2, 1, 16, dtype=f16),
    ),
    "index_copy into a long cache": case(
        lambda x, i, v: x.index_copy_(2, i, v),
        u(1, 8, 2048, 128),
        torch.tensor([17, 2047, 4]),
        u(1, 8, 3, 128),
    ),
    "index_add": case(
        lambda x, i, v: (x.index_add(0, i, v), x.index_add(1, i % 4, x[:, :8].t()[:4].t(), alpha=2)[:1]),
        r(8, 8),
        n(5, 4),
        r(4, 8),
    ),
    "index_fill": case(lambda x, i: x.index_fill(1, i, 3.0), r(5, 7), torch.tensor([1, 4])),
    "scatter": quick(lambda x, i, v: x.scatter(0, i, v), r(9, 4), rows(3, 4, high=9), r(3, 4)),
    "scatter 3d": case(
        lambda x, i, v: (x.scatter(1, i, v), x.scatter_add(1, i, v)),
        r(3, 9, 5),
        lambda: torch.rand(3, 9, 5).argsort(1)[:, :4],
        r(3, 4, 5),
    ),
    "scatter 4d": case(
        lambda x, i, v: (x.scatter(3, i, v), x.scatter_reduce(3, i, v, "amax")),
        r(2, 3, 5, 7),
        lambda: torch.rand(2, 3, 5, 7).argsort(3)[..., :3],
        r(2, 3, 5, 3),
    ),
    "scatter a value": case(lambda x, i: x.scatter(0, i, 2.5), r(9, 4), rows(3, 4, high=9)),
    "scatter_add": quick(
        lambda x, i, v: (x.scatter_add(0, i, v), x.scatter_add(1, i % 4, v)), r(9, 4), n(9, 6, 4), r(6, 4)
    ),
    "scatter_add of fewer columns": case(
        lambda x, i, v: x.scatter_add(0, i, v), r(5, 4), n(5, 8, 3), r(8, 4)
    ),
    "scatter_reduce": case(
        lambda x, i, v: [x.scatter_reduce(0, i, v, how) for how in ("sum", "prod", "amax", "amin")],
        r(5, 4),
        n(5, 8, 4),
        r(8, 4),
    ),
    "scatter_reduce of a mean": quick(
        lambda x, i, v: (
            x.scatter_reduce(0, i, v, "mean"),
            x.scatter_reduce(0, i, v, "amax", include_self=False),
        ),
        r(9, 4),
        n(9, 8, 4),
        r(8, 4),
    ),
    "scatter_reduce without the elements": case(
        lambda x, i, v: [
            x.scatter_reduce(0, i, v, how, include_self=False) for how in ("sum", "prod", "amin", "mean")
        ],
        n(9, 9, 4, low=-9),
        n(9, 8, 4),
        n(9, 8, 4, low=-9),
    ),
    "scatter_add f16": case(
        lambda x, i, v: x.scatter_add(0, i, v), r(5, 4, dtype=f16), n(5, 8, 4), r(8, 4, dtype=f16)
    ),
    "scatter_add whole": case(lambda x, i, v: x.scatter_add(0, i, v), n(9, 5, 4), n(5, 8, 4), n(9, 8, 4)),
    "masked_scatter": quick(
        lambda x, m, s: (x.masked_scatter(m, x.flip(0)), x.masked_scatter(m[:1], s)),
        r(4, 5),
        n(2, 4, 5, dtype=torch.bool),
        n(9, 20, dtype=torch.float32),
    ),
    "masked_scatter of long rows": case(
        lambda x, m: x.masked_scatter(m, x * 2), r(7, 61), n(2, 7, 61, dtype=torch.bool)
    ),
    "rows of a triangle by itself": quick(lambda x: by_itself(x.tril() % 23), n(9, 7, 2, low=-9)),
    "isin": quick(lambda x: torch.isin(x, torch.tensor([1, 4], device=x.device)), n(9, 4, 5)),
    "take": case(lambda x, i: (x.take(i), x.take_along_dim(i[:1, None] % 4, 0)), r(4, 5), n(20, 3)),
    "select by a tensor": case(lambda x, i: x[i] * 2, r(4, 5), n(4), is_compiled=False),
    "searchsorted": quick(
        lambda x, v: (torch.searchsorted(x, v), torch.bucketize(v, x, right=True)),
        lambda: torch.arange(-3.0, 6),
        torch.tensor([-7, -3, 0.5, 5, 9, math.nan]),
    ),
    "searchsorted by rows": case(
        lambda x, v: torch.searchsorted(x.sort(1)[0], v, side="right", out_int32=True), r(3, 8), r(3, 5)
    ),
    "histogram": quick(
        lambda x, i: (
            torch.histc(x, 7, -1, 2),
            torch.histc(i.float(), 5, 0, 4),
            torch.histc(x, 3, -0.3, 0.7),
        ),
        lambda: torch.cat([torch.randn(60), torch.tensor([-1.0, 2.0, math.nan, math.inf, -0.3, 0.7])]),
        n(6, 4, 9),
    ),
    "histogram of the range": case(lambda x: torch.histc(x, 5), r(9), host=("aten.histc",)),
    "bf16 rows": case(lambda x, i: x[i] + x[i + 1], r(10, 7, dtype=bf16), n(9, 5)),
}
