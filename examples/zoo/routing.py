"""Inputs on which a mixture of experts has one answer in every type.

A router takes the experts of the largest scores. Where the last one taken and the first one left lie closer
together than rounding moves them, chance decides: PyTorch on the CPU itself sends such a token to other
experts in f32 and in bf16, and comparing outputs says nothing about the device.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch


def decided(
    model: torch.nn.Module,
    rows: Iterable[torch.Tensor],
    router: type[torch.nn.Module],
    dtype: torch.dtype = torch.bfloat16,
) -> Iterable[torch.Tensor]:
    """Those of `rows` (token ids, [1, length]) whose experts no rounding to `dtype` changes.

    Only the CPU is asked. In a row, rounding moves a score by at most what the CPU's scores in `dtype` and in
    f32 (of the same weights) differ by. The row serves when in f32 every token's last expert is ahead of the
    next one by more than twice that.
    """
    rounded = copy.deepcopy(model).eval().to(dtype)
    exact = copy.deepcopy(rounded).float()
    taken = next(module.top_k for module in model.modules() if isinstance(module, router))
    for row in rows:
        scores, others = (torch.cat(routed(each, router, row)) for each in (exact, rounded))
        ranked = scores.sort(-1, descending=True)[0]
        ahead = (ranked[:, taken - 1] - ranked[:, taken]).min()
        if ahead > 2 * (scores - others).abs().max():
            yield row


def routed(model: torch.nn.Module, router: type[torch.nn.Module], row: torch.Tensor) -> list[torch.Tensor]:
    """The scores of every router, in f32: [tokens, experts]."""
    found: list[torch.Tensor] = []
    hooks = [
        module.register_forward_hook(lambda _module, _inputs, outputs: found.append(outputs[0].float()))
        for module in model.modules()
        if isinstance(module, router)
    ]
    with torch.no_grad():
        model(input_ids=row)
    for hook in hooks:
        hook.remove()
    return found
