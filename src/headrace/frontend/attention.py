"""Scaled dot-product attention by its definition, so that compiled graphs see two contractions and a softmax.

PyTorch would pick its own decomposition, which scales both operands before the product and widens them to
f32. This one scales the scores, keeps narrow operands narrow (products accumulate and stay in f32) and leaves
grouped heads to the index of the second operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten


def register(run_on_host: Callable[..., Any]) -> list[torch.library.Library]:
    """Makes this the meaning of attention here; eager calls without gradients run as one host operator."""

    def attend(q: Any, k: Any, v: Any, *args: Any, **keywords: Any) -> Any:
        if _wants_gradient(q, k, v) or not _is_plain(q):
            return scaled_dot_product_attention(q, k, v, *args, **keywords)
        return run_on_host(aten.scaled_dot_product_attention.default, q, k, v, *args, **keywords)

    libraries = []
    for key in ("PrivateUse1", "AutogradPrivateUse1"):
        library = torch.library.Library("aten", "IMPL", key)
        library.impl("scaled_dot_product_attention", attend)
        libraries.append(library)
    return libraries


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor has bytes (and is not a stand-in of a tracer)."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter)


def scaled_dot_product_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """softmax(q kᵀ · scale + mask) v for q [..., L, E], k [..., S, E], v [..., S, F]; it has q's type."""
    if enable_gqa and q.dim() > 2 and k.size(-3) != q.size(-3):
        k, v = _repeat_heads(k, q.size(-3)), _repeat_heads(v, q.size(-3))
    scale = 1 / math.sqrt(q.size(-1)) if scale is None else scale
    scores, left = _product(q, k.transpose(-2, -1)), 1.0
    if is_causal or attn_mask is not None or not scale > 0:
        scores = scores * scale
    else:  # or Inductor would take the maxima twice, of scaled scores and of others
        left = scale
    if is_causal:
        rows, columns = (torch.arange(n, device=q.device) for n in (q.size(-2), k.size(-2)))
        scores = scores.masked_fill(columns > rows[:, None], -math.inf)
    if attn_mask is not None:
        is_bool = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -math.inf) if is_bool else scores + attn_mask
    powers, sums = _powers(scores, left, may_be_empty=attn_mask is not None)
    if not dropout_p and not _wants_gradient(q, k, v):
        return (_product(powers.to(v.dtype), v) / sums).to(q.dtype)
    weights = torch.dropout(powers / sums, dropout_p, True) if dropout_p else powers / sums
    return _product(weights.to(v.dtype), v).to(q.dtype)


def _wants_gradient(*operands: torch.Tensor) -> bool:
    """Whether gradients of any of these are to be computed."""
    return torch.is_grad_enabled() and any(x.requires_grad for x in operands)


def _powers(scores: torch.Tensor, scale: float, may_be_empty: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Powers of e to `scale` times the scores over the last dim, the largest of a row 1, and sums; zeros
    and 1 for a row whose every element is masked.
    """
    largest = scores.detach().amax(-1, keepdim=True)
    if not may_be_empty:
        powers = torch.exp((scores - largest) * scale if scale != 1 else scores - largest)
        return powers, powers.sum(-1, keepdim=True)
    is_empty = largest == -math.inf
    powers = torch.exp(scores - largest.masked_fill(is_empty, 0))
    return powers, powers.sum(-1, keepdim=True).masked_fill(is_empty, 1)


def _repeat_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    """[..., H, S, E] with each head repeated so that there are `heads`; loads see through the copy."""
    *outer, own, length, width = x.shape
    wide = x.unsqueeze(-3).expand(*outer, own, heads // own, length, width)
    return wide.reshape(*outer, heads, length, width)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a b in f32 for a [..., L, K], b [..., K, N]; where a gradient is wanted, in their type and widened
    after (the wide product has none).
    """
    if a.dtype == torch.float32 or _wants_gradient(a, b):
        return torch.matmul(a, b).float()
    outer = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left, right = (x.expand(*outer, *x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in (a, b))
    product = torch.bmm(left, right, out_dtype=torch.float32)
    return product.view(*outer, a.size(-2), b.size(-1))
