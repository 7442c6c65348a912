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
        needs_gradient = torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v))
        if needs_gradient or not _is_plain(q):
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
    scores = _scores(q, k) * (1 / math.sqrt(q.size(-1)) if scale is None else scale)
    if is_causal:
        rows, columns = (torch.arange(n, device=q.device) for n in (q.size(-2), k.size(-2)))
        scores = scores.masked_fill(columns > rows[:, None], -math.inf)
    if attn_mask is None:
        weights = torch.softmax(scores, -1)
    else:
        is_bool = attn_mask.dtype == torch.bool
        weights = _safe_softmax(scores.masked_fill(~attn_mask, -math.inf) if is_bool else scores + attn_mask)
    if dropout_p:
        weights = torch.dropout(weights, dropout_p, True)
    return torch.matmul(weights.to(v.dtype), v)


def _safe_softmax(scores: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dim; zeros for a row whose every element is masked."""
    largest = scores.detach().amax(-1, keepdim=True)
    is_empty = largest == -math.inf
    powers = torch.exp(scores - largest.masked_fill(is_empty, 0))
    return powers / powers.sum(-1, keepdim=True).masked_fill(is_empty, 1)


def _repeat_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    """[..., H, S, E] with each head repeated so that there are `heads`; loads see through the copy."""
    *outer, own, length, width = x.shape
    wide = x.unsqueeze(-3).expand(*outer, own, heads // own, length, width)
    return wide.reshape(*outer, heads, length, width)


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """q kᵀ in f32; where a gradient is wanted, in q's type and widened after (the wide product has none)."""
    if q.dtype == torch.float32 or (torch.is_grad_enabled() and (q.requires_grad or k.requires_grad)):
        return torch.matmul(q, k.transpose(-2, -1)).float()
    outer = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    left = q.expand(*outer, *q.shape[-2:]).reshape(-1, *q.shape[-2:])
    right = k.expand(*outer, *k.shape[-2:]).reshape(-1, *k.shape[-2:])
    product = torch.bmm(left, right.transpose(1, 2), out_dtype=torch.float32)
    return product.view(*outer, q.size(-2), k.size(-2))
