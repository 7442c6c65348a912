"""Seven small programs that users of such devices reported to go wrong."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .case import Case, case, f16, i32, n, quick, r


def overwritten(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 32:96] = 1
    return y


CASES: dict[str, Case] = {
    "strided views": quick(
        lambda b: (b[1::2] + b[1::2], b[::3, 5:] * 2), lambda: torch.arange(9 * 128).reshape(9, 128).half()
    ),
    "head splits": case(
        lambda x: (
            x.view(1, 64, 32, 128).transpose(1, 2) * 1.0,
            x.view(1, 64, 32, 128).transpose(1, 2).contiguous(),
        ),
        r(1, 64, 4096, dtype=f16),
    ),
    "rotations": quick(lambda x: torch.cat([-x[..., 32:], x[..., :32]], -1), r(1, 4, 21, 64, dtype=f16)),
    "rotations of long rows": case(
        lambda x, y: (torch.cat([-x[..., 64:], x[..., :64]], -1), torch.cat([-y[..., 32:], y[..., :32]], -1)),
        r(1, 32, 41, 128, dtype=f16),
        r(1, 16, 1064, 64, dtype=f16),
    ),
    "sums of all dims": quick(
        lambda x: (x.sum(), x.mean()), r(2, 3, 5, 7, 256, dtype=f16, scale=0.1), tolerance=1e-1
    ),
    "padding and broadcast": quick(
        lambda x, y, z: (x * y, z.mean(-1, keepdim=True) + torch.zeros_like(z) + z),
        r(1, 11, 288, dtype=f16),
        r(1, 11, 1, dtype=f16),
        r(6, 200, dtype=f16),
    ),
    "padding and broadcast of long rows": case(
        lambda x, y: x * y, r(1, 11, 2880, dtype=f16), r(1, 11, 1, dtype=f16)
    ),
    "exp before a product": quick(
        lambda x, w, y: (torch.exp(x) @ w, torch.exp(y)),
        r(4, 100, dtype=f16),
        r(100, 64, dtype=f16),
        r(256, 100, dtype=f16),
        tolerance=1e-2,
    ),
    "short writes": case(
        lambda x, y: (
            F.pad(x, (0, 32)),
            torch.cat([x, torch.zeros(1, 32, dtype=x.dtype, device=x.device)], 1),
            overwritten(y),
            overwritten(y[:63]),
        ),
        r(1, 24608, dtype=f16),
        r(64, 128, dtype=f16),
    ),
    "gathers": quick(
        lambda w, i, k, p, x: (F.embedding(i, w), k[p // 16, p % 16], x.flip(0), x.repeat_interleave(2)),
        r(49159, 64, dtype=f16),
        lambda: torch.tensor([[1, 2], [4, 9]]),
        r(4, 16, 8, dtype=f16),
        n(64, 5, dtype=i32),
        n(9, 2, 2),
    ),
}
