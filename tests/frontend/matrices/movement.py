"""Views, copies, joins, pads and fills."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from .case import Case, case, f16, modulo, n, quick, r, u

TRANSPOSES = [
    ((67, 256), 0, 1),
    ((109, 32), 0, 1),
    ((5, 6, 17), 0, 2),
    ((5, 6, 17), 1, 2),
    ((3, 4, 5, 7), 1, 3),
    ((3, 4, 5, 7), 0, 1),
    ((77, 41, 63), 0, 2),
    ((1088, 320), 0, 1),
]
LARGE_TRANSPOSES = [((769, 4096, 63), 0, 2), ((49159, 4096), 0, 1)]
PADS = [(1, 2), (0, 0, 2, 1), (1, 2, 0, 1), (-1, 2), (2, -1, -1, -1), (3, 0)]


def written(x: Any, make: Any) -> Any:
    y = x.clone()
    make(y)
    return y


CASES: dict[str, Case] = {
    **{
        f"transpose {s} {a} {b}": case(
            lambda x, a=a, b=b: (x.transpose(a, b).contiguous(), x.transpose(a, b) * 2),
            modulo(*s),
            is_quick=s == (3, 4, 5, 7),
        )
        for s, a, b in TRANSPOSES
    },
    **{
        f"transpose {s} {a} {b}": case(lambda x, a=a, b=b: x.transpose(a, b).contiguous(), u(*s))
        for s, a, b in LARGE_TRANSPOSES
    },
    "permute": case(
        lambda x: (x.permute(2, 0, 3, 1).contiguous(), x.permute(3, 2, 1, 0) + 1), modulo(3, 4, 5, 7)
    ),
    "reshapes": case(
        lambda x: (x.t().reshape(3, -1) * 2, x.t().reshape(-1), x.reshape(4, 12).t().reshape(6, 8) + 1),
        r(6, 8),
    ),
    "reshapes of primes": case(lambda x: (x.t().reshape(-1) * 2, x.t().contiguous().view(5, 7)), r(5, 7)),
    "flatten, squeeze": case(
        lambda x: (x.flatten(1) + 1, x.unsqueeze(1).squeeze(0) * 2, x.flatten()), r(1, 5, 6)
    ),
    "expand and repeat": quick(
        lambda x: (x[:, None].expand(-1, 3, -1) * 1.5, x.repeat(2, 3), x.repeat_interleave(3, 1), x.tile(2)),
        r(4, 5),
    ),
    "flip": quick(lambda x: (x.flip(0), x.flip(1), x.flip((0, 1)) + x), modulo(6, 9)),
    "roll": quick(lambda x: (x.roll(2, 1), x.roll((1, 3), (0, 1)), x.roll(1)), modulo(6, 8)),
    "rot90": case(lambda x: x.rot90(), modulo(6, 8)),
    "cat": quick(
        lambda x, y: (torch.cat([x, y], 1), torch.cat([x, x * 2, x], 0), torch.cat([y + 1, x], -1)),
        r(6, 9),
        r(6, 4),
    ),
    "cat 1d, 3d, 4d": case(
        lambda x, y, z: (
            torch.cat([x, x]),
            torch.cat([y, y[:1]]),
            torch.cat([z, z[:, :1]], 1),
            torch.cat([z, z], 3),
        ),
        r(7),
        r(3, 4, 5),
        r(2, 3, 1, 5),
    ),
    "cat with nothing": case(
        lambda x, y: (torch.cat([x, y], 1), torch.cat([torch.zeros(0, device=y.device), y[0]])),
        r(6, 0),
        r(6, 4),
    ),
    "stack": case(
        lambda x, y: (torch.stack([x, y]), torch.stack([x, y], 1), torch.stack([x, y], 2)), r(6, 4), r(6, 4)
    ),
    "split and chunk": case(
        lambda x: [a * 2 for a in (*x.split(3, 1), *x.chunk(4, 0), *x.split([1, 7], 1), *x.unbind(0))],
        r(6, 8),
    ),
    "slices": quick(
        lambda x: (x[1:5:2, ::3] * 2, x[:, 32:96] + 1, x[..., -1], x[2], x[:, 3::7].sum(0)), r(6, 128)
    ),
    **{
        f"pad {p}": case(lambda x, p=p: (F.pad(x, p), F.pad(x, p, value=3)), r(6, 8), is_quick=p == (-1, 2))
        for p in PADS
    },
    "pad by reflection": case(
        lambda x: (
            F.pad(x, (2, 2, 1, 1), mode="reflect"),
            F.pad(x, (1, 1, 1, 1), mode="replicate"),
            F.pad(x, (1, 2, 1, 0), mode="circular"),
        ),
        r(1, 2, 6, 8),
    ),
    "pad a long row": case(lambda x: F.pad(x, (0, 32)), r(1, 2460, dtype=f16)),
    "unfold": case(lambda x, y: (x.unfold(1, 3, 2) * 2, F.unfold(y, 3)), r(4, 9), r(1, 2, 5, 6)),
    "fold": case(lambda x: F.fold(x, (5, 6), 2), r(1, 8, 20)),
    "tril and triu": case(lambda x: (x.tril(), x.triu(1), x.tril(-2), x.triu(-3)), r(6, 8)),
    "diagonal": case(lambda x: (x.diagonal() * 2, x.diag(1), torch.diag(x[0]), torch.diag_embed(x)), r(5, 7)),
    "assignments": quick(
        lambda x: (
            written(x, lambda y: y[:, 2:5].fill_(1)),
            written(x, lambda y: y[1].add_(2)),
            written(x, lambda y: y[::2, 1:].mul_(3)),
        ),
        r(6, 8),
    ),
    "assignment at an offset": case(
        lambda x: written(x, lambda y: y[:, 32:96].fill_(1)), r(63, 128, dtype=f16)
    ),
    "aliases": case(lambda x: (x.t(), x[1:], x.view(-1)), r(6, 9)),
    "change an input": quick(lambda x, y: (x.add_(y), x[0] * 2), r(6, 9), r(6, 9)),
    "change a view of an input": case(lambda x: (x[1:3].mul_(2), x.sum()), r(6, 9)),
    "input with an offset": quick(
        lambda x: x + x, lambda: torch.arange(9 * 128).reshape(9, 128).half()[1::2]
    ),
    "inputs with strides": case(
        lambda x, y: x * 2 + y, lambda: torch.randn(8, 6).t(), lambda: torch.randn(6, 24)[:, ::3]
    ),
    "expanded input": case(lambda x, y: x * y, lambda: torch.randn(1, 8).expand(6, 8), r(6, 8)),
    "overlapping input": case(lambda x: x * 2, lambda: torch.randn(20).unfold(0, 5, 3)),
    "meshgrid": case(lambda x, y: [a + b for a, b in [torch.meshgrid(x, y, indexing="ij")]], r(4), r(5)),
    "one_hot": quick(lambda x: F.one_hot(x, 5), n(5, 3, 4)),
    "bucketize": case(lambda x, b: (x[..., None] >= b).sum(-1), r(4, 5), lambda: torch.linspace(-2, 2, 7)),
    "complex positions": case(
        lambda x: torch.cat([-x[..., 64:], x[..., :64]], -1), r(1, 4, 11, 128, dtype=f16)
    ),
    "channels last": case(
        lambda x: (x + 1).contiguous(), lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    ),
    "empty views": case(lambda x: (x[:, 3:3] + 1, x[6:].t(), torch.cat([x, x[:0]])), r(6, 4)),
}
