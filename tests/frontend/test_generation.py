"""Greedy generation with a key/value cache, for a batch of prompts of different lengths: the tokens and the
logits of the CPU at every step, natively.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, StaticCache

import headrace

LENGTHS = (5, 3, 7)
STEPS = 4
CONFIG = LlamaConfig(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=96,
    max_position_embeddings=32,
    initializer_range=0.3,
    pad_token_id=0,
    attn_implementation="sdpa",
)


def prompts(lengths: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Random prompts padded on the left to the longest, and the mask of what is not padding."""
    longest = max(lengths)
    tokens = torch.zeros(len(lengths), longest, dtype=torch.int64)
    for row, length in enumerate(lengths):
        tokens[row, longest - length :] = torch.randint(1, CONFIG.vocab_size, (length,))
    return tokens, (tokens != 0).long()


def static(rows: int, longest: int, device: torch.device) -> Any:
    cache = StaticCache(config=CONFIG, max_cache_len=longest + STEPS)
    cache.early_initialization(rows, 2, 8, torch.float32, device)
    return cache


def growing(rows: int, longest: int, device: torch.device) -> Any:
    return DynamicCache(config=CONFIG)


@torch.no_grad()
def generate(
    model: Callable[..., Any], tokens: torch.Tensor, mask: torch.Tensor, make: Callable[..., Any]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The logits of the last position and the tokens chosen, step by step.

    A static cache gets a mask of its whole length, so that nothing changes its shape from step to step.
    """
    cache = make(len(tokens), tokens.size(1), tokens.device)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    if make is static:
        mask = torch.cat([mask, torch.ones_like(mask[:, :STEPS])], 1)
    logits, chosen = [], []
    for _ in range(STEPS):
        output = model(
            input_ids=tokens, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True
        )
        logits.append(output.logits[:, -1].cpu())
        tokens = output.logits[:, -1].argmax(-1)[:, None]
        chosen.append(tokens.cpu())
        positions = positions[:, -1:] + 1
        if make is growing:
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], 1)
    return logits, chosen


@pytest.mark.parametrize(
    ("make", "lengths", "graphs"),
    [
        pytest.param(static, LENGTHS, 2, id="static cache, ragged prompts"),
        pytest.param(static, (6,), 2, id="static cache, one prompt", marks=pytest.mark.long),
        pytest.param(growing, LENGTHS, 3, id="growing cache, ragged prompts", marks=pytest.mark.long),
        pytest.param(growing, (4, 4), 3, id="growing cache, equal prompts", marks=pytest.mark.long),
    ],
)
def test_generated_tokens_are_those_of_the_cpu(
    make: Callable[..., Any], lengths: tuple[int, ...], graphs: int
) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    headrace.set_fallback("allow")
    model = LlamaForCausalLM(CONFIG).eval()
    tokens, mask = prompts(lengths)
    expected_logits, expected = generate(model, tokens, mask, make)
    compiled = torch.compile(copy.deepcopy(model).to("headrace"), fullgraph=True)
    with headrace.record() as recording:
        logits, chosen = generate(compiled, tokens.to("headrace"), mask.to("headrace"), make)
    for actual, wanted in zip(logits, expected_logits, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-4)
    assert torch.equal(torch.cat(chosen, 1), torch.cat(expected, 1))
    assert not recording.fallback_ops and not recording.graph_breaks, recording.fallback_reasons
    assert len(recording.graphs) == graphs
