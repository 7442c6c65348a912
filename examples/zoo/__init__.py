"""Small models with seeded random weights: the true structure of known models at reduced depth and width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from zoo import plain, transformer

MODELS: dict[str, Callable[[], tuple[torch.nn.Module, dict[str, Any]]]] = {
    **transformer.MODELS,
    **plain.MODELS,
}
"""By name, a function that makes the model and its inputs, by parameter name."""


@dataclass(frozen=True)
class Example:
    """A model in evaluation mode and keyword inputs for it, in one type."""

    model: torch.nn.Module
    inputs: dict[str, Any]


def example(name: str, dtype: torch.dtype = torch.float32) -> Example:
    """A model with seeded weights rounded to `dtype` and seeded inputs; equal at every call."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    cast = {key: x.to(dtype) if torch.is_floating_point(x) else x for key, x in inputs.items()}
    return Example(model.eval().to(dtype).requires_grad_(False), cast)
