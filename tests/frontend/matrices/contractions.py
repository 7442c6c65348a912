"""Matrix products, convolutions, pooling, attention."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from .case import Case, bf16, case, distinct, f8, f16, i8, i32, n, quick, r, u

MATMUL = [
    (67, 256, 128),
    (55, 2, 99),
    (67, 255, 128),
    (99, 65, 55),
    (1, 288, 96),
    (44, 1, 288),
    (44, 1, 2880),
    (1, 1, 1),
    (1, 33, 1),
    (5, 1, 1),
]
CONV2D = [  # (n, c, h, w), (o, k), stride, padding, dilation, groups
    ((1, 6, 32, 32), (8, 16), 16, 0, 1, 1),
    ((2, 3, 9, 7), (4, 1), 1, 0, 1, 1),
    ((2, 3, 9, 7), (4, 2), 1, 1, 1, 1),
    ((2, 3, 9, 7), (4, 3), 2, 1, 1, 1),
    ((1, 4, 11, 11), (6, 5), 1, 2, 1, 2),
    ((1, 4, 11, 11), (4, 3), 1, 2, 2, 4),
    ((1, 3, 28, 42), (5, 14), 14, 0, 1, 1),
    ((1, 6, 64, 48), (64, 16), 16, 0, 1, 1),
    ((1, 3, 392, 532), (64, 14), 14, 0, 1, 1),
    ((2, 3, 9, 8), (4, 4), 1, 2, 1, 1),
    *(((1, 4, 9, 8), (4, k), 1, k // 2, 1, 4) for k in (1, 2, 3, 4, 5)),
]
SCALED_SHAPES = [  # rows, columns, depth of fp8 products
    (16, 16, 16),
    (32, 48, 16),
    (48, 32, 64),
    (64, 64, 64),
    (16, 128, 96),
    (128, 16, 32),
    (80, 112, 144),
    (256, 64, 128),
]
SCALES = {"ones": (1.0, 1.0), "powers": (0.25, 8.0), "large": (64.0, 3.0), "small": (1 / 448, 0.01)}


def attend(**options: Any) -> Any:
    return lambda q, k, v, *mask: F.scaled_dot_product_attention(q, k, v, *mask, **options)


def heads(*shape: int, dtype: torch.dtype = torch.float32) -> list[Any]:
    return [r(*shape, dtype=dtype), r(*shape, dtype=dtype), r(*shape, dtype=dtype)]


CASES: dict[str, Case] = {
    **{
        f"matmul {m}x{k}x{w}": case(
            torch.matmul, r(m, k), r(k, w), is_quick=(m, k, w) in ((55, 2, 99), (44, 1, 288))
        )
        for m, k, w in MATMUL
    },
    **{
        f"matmul f16 {m}x{k}x{w}": case(torch.matmul, r(m, k, dtype=f16), r(k, w, dtype=f16))
        for m, k, w in MATMUL
    },
    "matmul bf16": case(torch.matmul, r(33, 65, dtype=bf16), r(65, 9, dtype=bf16)),
    "batched": quick(torch.matmul, r(4, 5, 17), r(4, 17, 9)),
    "batched broadcast": case(torch.matmul, r(2, 1, 5, 17), r(3, 17, 9)),
    "batched by a matrix": case(torch.matmul, r(4, 5, 17), r(17, 9)),
    "vectors": case(
        lambda a, x, y: (a @ x, y @ a, torch.dot(y, y), torch.outer(x, y)), r(5, 17), r(17), r(5)
    ),
    "not contiguous": quick(lambda a, b: (a.t() @ b.t(), a[::2, 1:].t() @ a[::2, 1:]), r(16, 9), r(5, 16)),
    "addmm": case(lambda c, a, b: torch.addmm(c, a, b, alpha=0.5, beta=2), r(9), r(5, 17), r(17, 9)),
    "whole": quick(torch.matmul, n(9, 5, 17, low=-9), n(9, 17, 7, low=-9)),
    "whole i32": case(torch.matmul, n(9, 5, 17, low=-9, dtype=i32), n(9, 17, 7, low=-9, dtype=i32)),
    "bytes": quick(
        lambda a, b: torch._int_mm(a, b), n(128, 17, 8, low=-128, dtype=i8), n(99, 8, 16, dtype=i8)
    ),
    "fp8 with scales": quick(
        lambda a, b, c, s, t: (
            torch._scaled_mm(a, b.t(), s, t, out_dtype=bf16),
            torch._scaled_mm(a, b.t(), s, t, bias=c, out_dtype=torch.float32),
        ),
        r(32, 16, dtype=f8),
        r(48, 16, dtype=f8),
        r(48),
        torch.tensor(0.5),
        torch.tensor(3.0),
    ),
    **{
        f"fp8 {m}x{w}x{k} with {name}": case(
            lambda a, b, s, t: (
                torch._scaled_mm(a, b.t(), s, t, out_dtype=bf16),
                torch._scaled_mm(a, b.t(), s, t, out_dtype=torch.float32),
            ),
            r(m, k, dtype=f8),
            r(w, k, dtype=f8),
            torch.tensor(one),
            torch.tensor(other),
        )
        for m, w, k in SCALED_SHAPES
        for name, (one, other) in SCALES.items()
    },
    "many experts of one row": case(torch.bmm, u(32, 1, 2880), u(32, 2880, 2880), tolerance=2e-2),
    "many rows in batches": case(
        torch.bmm, r(256, 1, 128, dtype=f16), r(256, 128, 512, dtype=f16), tolerance=2e-2
    ),
    "many columns": case(torch.matmul, u(2048, 16), u(16, 65536), tolerance=1e-2),
    "the largest linear map": case(F.linear, u(1, 12800), u(32768, 12800), tolerance=5e-2),
    "tiles of matrices": case(
        lambda a, b: (
            a.view(4, 16, 4, 16).transpose(1, 2) @ b.view(4, 16, 4, 16).transpose(1, 2),
            a[16:48, 32:] @ b[:32, 8:24],
        ),
        r(64, 64),
        r(64, 64),
    ),
    "addbmm": case(lambda c, a, b: torch.addbmm(c, a, b, beta=2), r(9), r(4, 5, 17), r(4, 17, 9)),
    "linear": case(lambda x, w, b: F.linear(x, w, b), r(2, 5, 17), r(9, 17), r(9)),
    "bilinear and einsum": case(
        lambda a, b: (
            torch.einsum("bij,bkj->bik", a, b),
            torch.einsum("bij,bij->b", a, a),
            torch.einsum("bij->ji", a),
        ),
        r(2, 5, 7),
        r(2, 4, 7),
    ),
    "empty": quick(lambda a, b: (a @ b, b.t() @ b), r(0, 5), r(5, 3)),
    "K = 0": quick(torch.matmul, r(4, 0), r(0, 5)),
    "chain": case(lambda a, b, c: torch.relu(a @ b) @ c + a[:, :3], r(9, 17), r(17, 8), r(8, 3)),
    "exp of operand": case(lambda x, w: torch.exp(x) @ w, r(4, 100, dtype=f16), r(100, 64, dtype=f16)),
    **{
        f"conv2d {x} {w} stride {s} padding {p} dilation {d} groups {g}": case(
            lambda x, w, b, a=(s, p, d, g): F.conv2d(x, w, b, *a),
            r(*x),
            r(w[0], x[1] // g, w[1], w[1]),
            r(w[0]),
            is_quick=s == 2,
            tolerance=2e-4 if w[1] > 5 else None,
        )
        for x, w, s, p, d, g in CONV2D
    },
    "conv2d f16": case(
        lambda x, w: F.conv2d(x, w, padding=1), r(2, 3, 9, 7, dtype=f16), r(4, 3, 3, 3, dtype=f16)
    ),
    "conv1d": quick(lambda x, w, b: F.conv1d(x, w, b, padding=2), r(2, 3, 16), r(5, 3, 5), r(5)),
    "conv1d depthwise": case(lambda x, w: F.conv1d(x, w, padding=3, groups=8), r(2, 8, 16), r(8, 1, 4)),
    "conv3d": case(lambda x, w: F.conv3d(x, w, padding=1), r(1, 2, 4, 5, 6), r(3, 2, 3, 3, 3)),
    "conv_transpose2d": quick(
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
        r(1, 4, 5, 5),
        r(4, 3, 3, 3),
        r(3),
    ),
    "conv_transpose1d grouped": case(
        lambda x, w: F.conv_transpose1d(x, w, stride=3, groups=2, dilation=2), r(2, 4, 5), r(4, 3, 3)
    ),
    "pooling": quick(
        lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1)), r(1, 2, 9, 8)
    ),
    "pooling over padding": quick(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), r(1, 2, 9, 8)),
    "unpooling": quick(
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), distinct(1, 2, 4, 6)
    ),
    "pooling of large parts": quick(lambda x: F.adaptive_avg_pool2d(x, (3, 2)), r(1, 1, 17, 18)),
    "pooling of large windows": quick(
        lambda x: (F.avg_pool2d(x, 6, 2, 3, ceil_mode=True, count_include_pad=False), F.avg_pool2d(x, 7, 1)),
        r(1, 2, 9, 8),
    ),
    "pooling to a size": quick(lambda x: F.adaptive_avg_pool2d(x, (3, 2)), r(1, 2, 7, 8)),
    "pooling more": case(
        lambda x: (
            F.avg_pool2d(x, 3, 2, 1),
            F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.avg_pool3d(x, 2),
            F.avg_pool3d(torch.stack([x] * 3, 2), 3, 2, 1),
            F.avg_pool3d(torch.stack([x] * 3, 2), 3, 2, 1, divisor_override=5),
            F.lp_pool2d(x, 2, 2),
            F.adaptive_avg_pool2d(x, (5, 3)),
            F.adaptive_max_pool2d(x, (3, 2)),
            F.adaptive_avg_pool1d(x[0], 3),
            F.adaptive_avg_pool3d(torch.stack([x] * 5, 2), (2, 3, 4)),
        ),
        r(1, 2, 9, 8),
    ),
    "pooling with indices": quick(lambda x: F.max_pool2d(x, 2, return_indices=True), r(1, 2, 5, 4)),
    "pooling with more indices": case(
        lambda x: (
            *F.max_pool2d(x, 3, 2, 1, return_indices=True),
            *F.adaptive_max_pool2d(x, (4, 3), return_indices=True),
        ),
        r(1, 2, 9, 8),
    ),
    "pooling the largest of large parts": quick(
        lambda x: F.adaptive_max_pool2d(x, (2, 3), return_indices=True), distinct(1, 2, 17, 18)
    ),
    "pooling the largest of larger parts": case(
        lambda x, y, z: (
            *F.adaptive_max_pool2d(x, (1, 3), return_indices=True),
            *F.adaptive_max_pool3d(y, (2, 3, 1), return_indices=True),
            *F.adaptive_max_pool2d(z, (2, 2), return_indices=True),
            *F.adaptive_max_pool1d(x[0], 2, return_indices=True),
            F.adaptive_max_pool2d(x, 1),
        ),
        r(1, 2, 31, 13),
        r(2, 5, 6, 7),
        lambda: torch.randint(0, 3, (1, 1, 13, 15)).float().masked_fill(torch.rand(13, 15) > 0.97, torch.nan),
    ),
    "distances": quick(lambda x, y: (torch.cdist(x, y), torch.cdist(x, y, p=1)), r(5, 7), r(4, 7)),
    "distances of batches": case(
        lambda x, y: [torch.cdist(x, y, p=p) for p in (0.0, 1.0, 2.0, 3.0, torch.inf)],
        r(2, 1, 5, 7),
        r(3, 4, 7),
    ),
    "distances of many rows": case(torch.cdist, r(33, 5), r(27, 5), tolerance=2e-4),
    "pooling by four": case(lambda x: (F.avg_pool2d(x, 4, 4), F.max_pool2d(x, 4, 4)), r(2, 3, 32, 20)),
    "pooling 1d": case(lambda x: (F.max_pool1d(x, 2), F.avg_pool1d(x, 3)), r(2, 3, 12)),
    "interpolate": case(
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(7, 5)),
            F.interpolate(x, scale_factor=2, mode="bilinear"),
        ),
        r(1, 2, 5, 6),
    ),
    "pixel_shuffle": case(lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 3)), r(1, 8, 6, 3)),
    "attention by hand": case(
        lambda q, k, v: (q @ k.transpose(-1, -2) / 11.3).softmax(-1) @ v, *heads(2, 4, 33, 16)
    ),
    **{
        f"attention by hand {s}": case(
            lambda q, k, v: (q @ k.transpose(-1, -2) / q.size(-1) ** 0.5).softmax(-1) @ v,
            *heads(*s, dtype=f16),
            tolerance=1e-2,
        )
        for s in ((4, 256, 128), (1, 4, 256, 128), (8, 4, 128, 64))
    },
    **{
        f"attention of 32 heads, {name}": case(
            lambda q, k, v, *mask, o=options: (
                F.scaled_dot_product_attention(
                    q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), *mask, **o
                )
                .transpose(1, 2)
                .contiguous()
            ),
            r(2, 256, 32, 128, dtype=f16),
            r(2, 256, kv, 128, dtype=f16),
            r(2, 256, kv, 128, dtype=f16),
            *([lambda: torch.rand(2, 1, 256, 256) > 0.3] if name == "masked" else []),
            tolerance=1e-2,
        )
        for name, kv, options in (
            ("whole", 32, {}),
            ("causal", 32, {"is_causal": True}),
            ("masked", 32, {}),
            ("grouped", 8, {"enable_gqa": True, "is_causal": True}),
        )
    },
    **{f"attention of {s} patches": case(attend(), *heads(1, 3, s, 64)) for s in (196, 197)},
    "patches with positions": case(
        lambda x, c, p: torch.cat([c.expand(x.size(0), -1, -1), x], 1) + p,
        r(2, 196, 48),
        r(1, 1, 48),
        r(1, 197, 48),
    ),
    "attention": case(attend(), *heads(2, 3, 33, 16)),
    "attention causal": quick(attend(is_causal=True), *heads(1, 2, 13, 16, dtype=f16)),
    **{f"attention causal {s}": case(attend(is_causal=True), *heads(1, 2, s, 16)) for s in (1, 13, 63, 64)},
    "attention grouped": case(attend(enable_gqa=True), r(2, 6, 11, 16), r(2, 2, 11, 16), r(2, 2, 11, 16)),
    "attention causal and grouped": case(
        attend(enable_gqa=True, is_causal=True), r(2, 6, 11, 16), r(2, 2, 11, 16), r(2, 2, 11, 16)
    ),
    "attention with a bool mask": case(attend(), *heads(2, 3, 9, 16), lambda: torch.rand(2, 1, 9, 9) > 0.3),
    "attention with a mask": case(attend(scale=0.2), *heads(2, 3, 9, 16), r(9, 9)),
    "attention with one query": case(attend(), r(1, 3, 1, 16), r(1, 3, 197, 16), r(1, 3, 197, 16)),
    "attention across": case(attend(), r(1, 3, 5, 16), r(1, 3, 19, 16), r(1, 3, 19, 8)),
    "attention of a module": quick(
        lambda x, w, b, v, c: F.multi_head_attention_forward(
            x, x, x, 16, 4, w, b, None, None, False, 0.0, v, c, training=False
        ),
        r(7, 2, 16),
        r(48, 16, scale=0.3),
        r(48),
        r(16, 16, scale=0.3),
        r(16),
    ),
    "attention over transposed heads": case(
        lambda x: (
            F.scaled_dot_product_attention(*[x.view(2, 9, 3, 16).transpose(1, 2)] * 3)
            .transpose(1, 2)
            .reshape(2, 9, 48)
        ),
        r(2, 9, 48),
    ),
    "heads split and joined": case(
        lambda x, w: F.linear(x.transpose(1, 2).reshape(2, 12, 32), w), r(2, 4, 12, 8), r(32, 32)
    ),
}
