"""Models of `transformers`, made from configurations (nothing is downloaded)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
import transformers as hf

from zoo.routing import decided

VOCABULARY = 384
Made = tuple[torch.nn.Module, dict[str, Any]]

DECODER = {
    "vocab_size": VOCABULARY,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "initializer_range": 0.05,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "use_cache": False,
}
"""What most decoders are configured by; keywords of a model come on top."""

GROUPED = {**DECODER, "num_key_value_heads": 2}


def tokens(batch: int = 2, length: int = 24, vocabulary: int = VOCABULARY) -> torch.Tensor:
    """Seeded token ids without the special ones."""
    return torch.randint(3, vocabulary, (batch, length))


def decoder(config: str, model: str, common: dict[str, Any] = GROUPED, **own: Any) -> Callable[[], Made]:
    """A causal language model from a configuration class and a model class, both by name."""

    def make() -> Made:
        configuration = getattr(hf, config)(**{**common, **own})
        return getattr(hf, model)(configuration), {"input_ids": tokens()}

    return make


ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def granite_hybrid() -> Made:
    config = hf.GraniteMoeHybridConfig(
        **GROUPED,
        layer_types=["mamba", "attention"],
        shared_intermediate_size=256,
        num_local_experts=0,
        num_experts_per_tok=0,
        mamba_n_heads=8,
        mamba_d_head=32,
        mamba_d_state=16,
        mamba_n_groups=1,
        mamba_expand=2,
        mamba_chunk_size=16,
        embedding_multiplier=12.0,
        attention_multiplier=0.18,
        residual_multiplier=0.22,
        logits_scaling=8.0,
    )
    return hf.GraniteMoeHybridForCausalLM(config), {"input_ids": tokens()}


def gpt_oss() -> Made:
    config = hf.GptOssConfig(
        **GROUPED,
        head_dim=32,
        num_local_experts=4,
        num_experts_per_tok=2,
        experts_implementation="batched_mm",
        sliding_window=16,
        layer_types=["sliding_attention", "full_attention"],
    )
    model = hf.GptOssForCausalLM(config)
    router = type(model.model.layers[0].mlp.router)
    rows = decided(model, (tokens(batch=1) for _ in itertools.count()), router)
    return model, {"input_ids": torch.cat(list(itertools.islice(rows, 2)))}


def gpt2() -> Made:
    config = hf.GPT2Config(
        vocab_size=VOCABULARY, n_embd=128, n_layer=2, n_head=4, n_positions=64, use_cache=False
    )
    return hf.GPT2LMHeadModel(config), {"input_ids": tokens()}


def bert() -> Made:
    config = hf.BertConfig(**{k: v for k, v in DECODER.items() if k != "use_cache"})
    mask = torch.ones(2, 24, dtype=torch.long)
    mask[1, 17:] = 0
    return hf.BertForMaskedLM(config), {"input_ids": tokens(), "attention_mask": mask}


def modernbert() -> Made:
    config = hf.ModernBertConfig(
        **{k: v for k, v in DECODER.items() if k not in ("use_cache", "num_hidden_layers")},
        num_hidden_layers=3,
        local_attention=16,
        cls_token_id=1,
        sep_token_id=2,
    )
    mask = torch.ones(2, 24, dtype=torch.long)
    mask[1, 17:] = 0
    return hf.ModernBertForMaskedLM(config), {"input_ids": tokens(), "attention_mask": mask}


def t5() -> Made:
    config = hf.T5Config(
        vocab_size=VOCABULARY, d_model=128, d_kv=32, d_ff=256, num_layers=2, num_heads=4, use_cache=False
    )
    inputs = {"input_ids": tokens(), "decoder_input_ids": tokens(2, 9)}
    return hf.T5ForConditionalGeneration(config), inputs


VISION = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
    "initializer_range": 0.05,
}


def vit() -> Made:
    return hf.ViTForImageClassification(hf.ViTConfig(**VISION)), {"pixel_values": torch.randn(2, 3, 32, 32)}


def clip() -> Made:
    text = {k: v for k, v in DECODER.items() if k != "use_cache"}
    config = hf.CLIPConfig(
        text_config={**text, "max_position_embeddings": 32}, vision_config=VISION, projection_dim=64
    )
    ids = tokens(2, 12)
    ids[:, -1] = 2
    return hf.CLIPModel(config), {"input_ids": ids, "pixel_values": torch.randn(2, 3, 32, 32)}


def whisper() -> Made:
    config = hf.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=128,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        num_mel_bins=16,
        max_source_positions=24,
        max_target_positions=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    inputs = {"input_features": torch.randn(2, 16, 48), "decoder_input_ids": tokens(2, 9)}
    return hf.WhisperForConditionalGeneration(config), inputs


MODELS: dict[str, Callable[[], Made]] = {
    "llama-3.1": decoder("LlamaConfig", "LlamaForCausalLM", rope_parameters=ROPE),
    "granite-3.3": decoder(
        "GraniteConfig",
        "GraniteForCausalLM",
        embedding_multiplier=12.0,
        attention_multiplier=0.18,
        residual_multiplier=0.22,
        logits_scaling=8.0,
        tie_word_embeddings=True,
    ),
    "granite-4-hybrid": granite_hybrid,
    "mistral": decoder("MistralConfig", "MistralForCausalLM", sliding_window=16, head_dim=32),
    "qwen-2.5": decoder("Qwen2Config", "Qwen2ForCausalLM"),
    "qwen-3": decoder("Qwen3Config", "Qwen3ForCausalLM", head_dim=32),
    "gemma-3": decoder(
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        head_dim=32,
        sliding_window=16,
        layer_types=["sliding_attention", "full_attention"],
        query_pre_attn_scalar=32,
    ),
    "gpt-oss": gpt_oss,
    "phi": decoder("PhiConfig", "PhiForCausalLM", DECODER),
    "gpt-2": gpt2,
    "bert": bert,
    "modernbert": modernbert,
    "t5": t5,
    "vit": vit,
    "clip": clip,
    "whisper": whisper,
}
