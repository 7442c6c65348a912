"""Fused layers and cells, which PyTorch takes for encoders in evaluation and for recurrent networks, in plain
operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch._inductor import decomposition

from headrace.frontend import cells
from headrace.frontend.memory import NAME

aten = torch.ops.aten

SOURCE, PADDING = 0, 1
"""Kinds of masks (True: not seen): [query, key], [batch, key]; any other is [batch, head, query, key]."""


def install() -> None:
    """Decompositions for tensors on our device; those of others stay fused."""
    table = decomposition.fast_random_decomps()  # the one that the graph being compiled has taken already
    table[aten._native_multi_head_attention.default] = _attention
    table[aten._transformer_encoder_layer_fwd.default] = _layer
    for name, cell in cells.CELLS.items():
        table[getattr(aten, name).default] = _of_ours(cell)


def _of_ours(cell: Callable[..., Any]) -> Callable[..., Any]:
    return lambda inputs, *rest: cell(inputs, *rest) if inputs.device.type == NAME else NotImplemented


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    mask: torch.Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """(values [batch, query, embedding], weights or an empty tensor) of attention with packed projections."""
    if query.device.type != NAME:
        return NotImplemented
    parts = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    q, k, v = (F.linear(x, w, b).unflatten(-1, (num_head, -1)).transpose(1, 2) for x, w, b in parts)
    seen = None if mask is None else ~_of_heads(mask.bool(), mask_type)
    if not need_weights:
        found, weights = F.scaled_dot_product_attention(q, k, v, seen), query.new_empty(0)
    else:
        scores = q * (embed_dim // num_head) ** -0.5 @ k.transpose(-1, -2)
        scores = scores if seen is None else scores.masked_fill(~seen, -torch.inf)
        weights = scores.softmax(-1)
        found = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    return F.linear(found.transpose(1, 2).flatten(2), proj_weight, proj_bias), weights


def _of_heads(mask: torch.Tensor, kind: int | None) -> torch.Tensor:
    """The mask for [batch, head, query, key]."""
    return mask[:, None, None] if kind == PADDING else mask


def _layer(
    src: torch.Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: torch.Tensor,
    norm_bias_1: torch.Tensor,
    norm_weight_2: torch.Tensor,
    norm_bias_2: torch.Tensor,
    ffn_weight_1: torch.Tensor,
    ffn_bias_1: torch.Tensor,
    ffn_weight_2: torch.Tensor,
    ffn_bias_2: torch.Tensor,
    mask: torch.Tensor | None = None,
    mask_type: int | None = None,
) -> Any:
    """A layer: attention, then two linear maps, each with a residual and a norm before or behind."""
    if src.device.type != NAME:
        return NotImplemented

    def attended(x: torch.Tensor) -> torch.Tensor:
        packed = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        found: torch.Tensor = _attention(
            x, x, x, embed_dim, num_heads, *packed, mask, need_weights=False, mask_type=mask_type
        )[0]
        return found

    def fed(x: torch.Tensor) -> torch.Tensor:
        inner = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), ffn_weight_2, ffn_bias_2)

    x, norms = src, ((norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2))
    for part, (weight, bias) in zip((attended, fed), norms, strict=True):
        if norm_first:
            x = x + part(F.layer_norm(x, (embed_dim,), weight, bias, eps))
        else:
            x = F.layer_norm(x + part(x), (embed_dim,), weight, bias, eps)
    return x
