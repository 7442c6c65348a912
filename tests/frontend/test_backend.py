"""`backend="headrace"` on CPU tensors: results on the CPU, weights kept on the device, in-place changes
come back.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

import headrace


def test_a_cpu_model_gives_cpu_results(engine: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval()
    compiled, x = torch.compile(model, backend="headrace"), torch.randn(3, 8)
    with torch.no_grad(), headrace.record() as recording:
        result = compiled(x)
        first_transfers = recording.transfers
        compiled(x)
    assert result.device.type == "cpu" and recording.launches
    torch.testing.assert_close(result, model(x))
    assert recording.transfers - first_transfers == 2  # the input and the result; weights stay
    with torch.no_grad():
        model[0].weight.mul_(2)
        torch.testing.assert_close(compiled(x), model(x))


def test_attention_keeps_its_device_form_and_factories_move(engine: str) -> None:
    def attend(q: torch.Tensor) -> torch.Tensor:
        mask = torch.arange(5)[None, :] <= torch.arange(5, device="cpu")[:, None]
        return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    q = torch.randn(1, 2, 5, 4)
    headrace.set_fallback("error")
    compiled = torch.compile(attend, backend="headrace", fullgraph=True)
    torch.testing.assert_close(compiled(q), attend(q))


def test_in_place_changes_of_inputs_come_back(engine: str) -> None:
    def write(cache: torch.Tensor, position: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        cache.index_copy_(0, position, value)
        return cache.sum(0)

    cache, value = torch.zeros(6, 3), torch.randn(1, 3)
    compiled = torch.compile(write, backend="headrace", fullgraph=True)
    result = compiled(cache, torch.tensor([2]), value)
    torch.testing.assert_close(cache[2], value[0])
    torch.testing.assert_close(result, value[0])


def test_gradients_reach_cpu_parameters(engine: str) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), torch.randn(5, 4)
    compiled = torch.compile(model, backend="headrace")
    compiled(x).square().sum().backward()
    actual = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).square().sum().backward()
    for a, p in zip(actual, model.parameters(), strict=True):
        torch.testing.assert_close(a, p.grad)
