"""Random operators give the CPU's numbers for a seed, eager and compiled, in the order of the program."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import headrace

RANDOM: dict[str, Any] = {
    "several": lambda x: torch.cat([torch.rand_like(x), torch.randn_like(x), torch.rand_like(x) * 2]),
    "dropout": lambda x: F.dropout(x, 0.5, training=True) + F.dropout(x, 0.2, training=True),
    "whole": lambda x: torch.randint(0, 9, (4, 5), device=x.device) + torch.randint_like(x, 7),
    "factories": lambda x: torch.rand(4, 5, device=x.device) + torch.randn(4, 5, device=x.device),
    "in place": lambda x: x.clone().uniform_(2, 3) + x.clone().normal_() + x.clone().exponential_(),
    "bernoulli": lambda x: torch.bernoulli(x) + x.clone().bernoulli_(0.3),
    "chosen": lambda x: (torch.multinomial(x, 2) * 2, torch.randperm(7, device=x.device) + 1)[0],
}
QUICK = ("several", "dropout")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.long) for n in RANDOM]
)
def test_random_operators_give_the_numbers_of_the_cpu(name: str) -> None:
    torch._dynamo.reset()
    headrace.set_fallback("allow")
    function, x = RANDOM[name], torch.rand(4, 5)
    found = []
    for run, place in ((function, "cpu"), (function, "headrace"), (torch.compile(function), "headrace")):
        torch.manual_seed(3)
        with torch.no_grad():
            found.append(run(x.to(place)).cpu())
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(found[2], found[0], rtol=0, atol=1e-6)


SCRIPT = """
import torch, headrace
headrace.set_fallback("allow")
layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
x = torch.ones(2, 5, 8)

def function(x, layer):
    return layer(x) + torch.rand_like(x)

torch.manual_seed(0)
expected = function(x, layer)
torch.manual_seed(0)
with torch.no_grad(), headrace.record() as recording:
    found = torch.compile(function)(x.to("headrace"), layer.to("headrace")).cpu()
torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
assert "aten.rand_like" in recording.fallback_ops, recording.fallback_ops
assert not any("encoder" in name for name in recording.fallback_ops), recording.fallback_ops
"""


@pytest.mark.long
def test_the_first_graph_of_a_process_is_compiled_like_every_other() -> None:
    """Inductor has chosen its decompositions before it asks for our back-end."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "kind", [nn.LSTM, *(pytest.param(k, marks=pytest.mark.long) for k in (nn.GRU, nn.RNN))]
)
def test_recurrent_layers_are_one_native_graph_where_dynamo_may_trace_them(
    kind: type[nn.RNNBase],
) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer, x = kind(3, 4, num_layers=2, bidirectional=True).eval(), torch.randn(4, 2, 3)
    headrace.set_fallback("error")
    allowed = torch._dynamo.config.patch(allow_rnn=True)
    with torch.no_grad(), allowed, headrace.record() as recording:
        expected = layer(x)[0]
        found = torch.compile(layer.to("headrace"), fullgraph=True)(x.to("headrace"))[0].cpu()
    torch.testing.assert_close(found, expected)
    assert len(recording.graphs) == 1 and not recording.fallback_ops and not recording.eager_ops
