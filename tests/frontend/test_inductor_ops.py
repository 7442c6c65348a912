"""Operators compiled for the device agree with the CPU, and none of the native list runs on the host."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .conftest import compare

torch.manual_seed(0)
r = torch.randn
ints = torch.arange(-6, 7)
f16, bf16 = torch.float16, torch.bfloat16

POINTWISE = {
    "chain": (lambda x, y: ((x * 2 + y).relu().sin() - 1) * torch.sigmoid(y), (r(4, 5), r(5))),
    "several results": (lambda x: (x + 1, x * 2, (x + 1) * x), (r(6, 7),)),
    "comparisons": (lambda x, y: (x < y, x >= y, x == y, x != y, x > 0, x <= 1), (r(4, 5), r(4, 5))),
    "where and clamp": (lambda x: torch.where(x > 0, x, -x).clamp(0.1, 1.0), (r(4, 5),)),
    "integers": (lambda i: (i // 3, i % 3, -i, i * i - 2, i.abs(), i & 3, i.clamp(min=0)), (ints,)),
    "logic": (lambda x, y: ((x > 0) & (y > 0), (x > 0) | ~(y > 0), (x > 0) ^ (y > 0)), (r(9), r(9))),
    "exp and log": (lambda x: (x.exp(), x.abs().log(), x.abs().log1p(), x.expm1()), (r(8, 9),)),
    "roots": (lambda x: (x.abs().sqrt(), torch.rsqrt(x * x + 1), x.reciprocal()), (r(8, 9),)),
    "activations": (lambda x: (x.tanh(), x.sigmoid(), x.erf(), F.silu(x), F.gelu(x)), (r(8, 9),)),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), (r(8, 9),)),
    "trigonometry": (lambda x: (x.sin(), x.cos()), (r(8, 9),)),
    "powers": (lambda x, y: (x.abs().pow(1.5), x.pow(2), x.pow(3), x.abs().pow(y)), (r(8, 9), r(8, 9))),
    "extremes": (lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), x.abs()), (r(8, 9), r(8, 9))),
    "rounding": (lambda x: (x.floor(), x.ceil(), x.trunc(), x.round()), (r(8, 9) * 3,)),
    "casts of floats": (lambda x: (x.half(), x.bfloat16(), x.int(), x.long(), x > 0), (r(4, 5) * 4,)),
    "casts of integers": (lambda i: (i.float(), i.half(), i.int(), i.bool()), (ints,)),
    "f16": (lambda x, y: (x * y + x).tanh(), (r(6, 33).to(f16), r(6, 33).to(f16))),
    "bf16": (lambda x, y: (x * y + x).tanh(), (r(6, 33).to(bf16), r(6, 33).to(bf16))),
    "mixed types": (lambda x, y: x + y.float(), (r(6, 5), r(6, 5).to(f16))),
    "scalar tensor": (lambda x, y: x * y, (r(4, 5), torch.tensor(2.5))),
    "constants": (lambda x: x.new_full((3,), 2.0) + torch.arange(3, device=x.device), (r(1),)),
}
REDUCTIONS = {
    "sums": (lambda x: (x.sum(-1), x.sum(0), x.sum()), (r(16, 33),)),
    "short": (lambda x: x.sum(-1), (r(6, 5),)),
    "mean": (lambda x: (x.mean(0), x.mean(-1, keepdim=True)), (r(16, 33),)),
    "extremes": (lambda x: (x.amax(1), x.amin(0), x.amax((0, 1))), (r(16, 33),)),
    "variance": (lambda x: (x.var(1), x.std(0)), (r(16, 33),)),
    "any and all": (lambda x: ((x > 2).any(1), (x > -9).all(0)), (r(16, 33),)),
    "softmax": (lambda x: torch.softmax(x, -1), (r(6, 33),)),
    "softmax over rows": (lambda x: torch.softmax(x, 0), (r(6, 33),)),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), (r(6, 33),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (33,), w, b), (r(6, 33), r(33), r(33))),
    "rms_norm": (lambda x, w: F.rms_norm(x, (33,), w), (r(6, 33), r(33))),
    "group_norm": (lambda x: F.group_norm(x, 2), (r(2, 4, 6),)),
    "f16 softmax": (lambda x: torch.softmax(x, -1), (r(6, 33).to(f16),)),
    "bf16 layer_norm": (lambda x: F.layer_norm(x, (33,)), (r(6, 33).to(bf16),)),
}
CONTRACTIONS = {
    "mm": (lambda a, b: a @ b, (r(5, 7), r(7, 9))),
    "addmm and relu": (lambda a, b, c: F.relu(torch.addmm(c, a, b)), (r(5, 17), r(17, 9), r(9))),
    "addmm scaled": (lambda a, b, c: torch.addmm(c, a, b, alpha=0.5, beta=2), (r(5, 17), r(17, 9), r(9))),
    "linear": (lambda x, w, b: F.linear(x, w, b), (r(2, 5, 17), r(9, 17), r(9))),
    "linear and gelu": (lambda x, w: F.gelu(F.linear(x, w)), (r(5, 17), r(9, 17))),
    "linear and residual": (lambda x, w: x + F.linear(x, w), (r(5, 17), r(17, 17))),
    "bmm": (torch.bmm, (r(3, 5, 17), r(3, 17, 9))),
    "baddbmm": (
        lambda c, a, b: torch.baddbmm(c, a, b, alpha=0.5, beta=2.0),
        (r(3, 5, 9), r(3, 5, 17), r(3, 17, 9)),
    ),
    "broadcast": (lambda a, b: a @ b, (r(2, 3, 5, 17), r(17, 9))),
    "mv and outer": (lambda a, v: (a @ v, torch.outer(v, v)), (r(5, 17), r(17))),
    "prologue": (lambda a, b, c: (a * 2).relu() @ b + c, (r(5, 17), r(17, 9), r(5, 9))),
    "einsum": (lambda a, b: torch.einsum("bik,bjk->bij", a, b), (r(2, 5, 17), r(2, 9, 17))),
    "heads projected, one row a core": (
        lambda x, w: F.linear(x.transpose(1, 2).reshape(2, 12, 32), w),
        (r(2, 4, 12, 8), r(32, 32)),
    ),
    "chain": (lambda a, b, c: F.relu(a @ b) @ c, (r(5, 7), r(7, 9), r(9, 3))),
    "f16": (lambda x, w, b: F.linear(x, w, b), (r(6, 33).to(f16), r(7, 33).to(f16), r(7).to(f16))),
    "bf16": (lambda x, w: F.linear(x, w), (r(6, 33).to(bf16), r(7, 33).to(bf16))),
    "conv2d": (lambda x, w, b: F.relu(F.conv2d(x, w, b, padding=1)), (r(2, 3, 8, 8), r(4, 3, 3, 3), r(4))),
    "conv2d grouped": (
        lambda x, w: F.conv2d(x, w, None, stride=2, dilation=2, groups=2),
        (r(1, 4, 12, 12), r(6, 2, 3, 3)),
    ),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=2), (r(2, 3, 16), r(5, 3, 5))),
}
q, k, v = r(1, 4, 7, 8), r(1, 2, 9, 8), r(1, 2, 9, 8)
ATTENTION = {
    "causal": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (q,)),
    "cross": (F.scaled_dot_product_attention, (r(1, 2, 7, 8), k, v)),
    "grouped heads": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (q, k, v)),
    "bool mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True),
        (q, k, v, torch.ones(7, 9, dtype=torch.bool).tril()),
    ),
    "additive mask and scale": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.3),
        (r(1, 2, 7, 8), k, v, r(7, 9)),
    ),
    "causal grouped f16": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True),
        (q.to(f16), k[:, :, :7].to(f16)),
    ),
    "by hand": (lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / 3, -1) @ v, (r(1, 2, 7, 8), k, v)),
}
INDEXED = {
    "embedding": (lambda w, i: F.embedding(i, w) * 2, (r(10, 8), torch.randint(0, 10, (3, 4)))),
    "gather": (lambda x, i: x.gather(1, i), (r(4, 10), torch.randint(0, 10, (4, 3)))),
    "index": (lambda x, i: (x.index_select(0, i), x[i - 5], x[:, i]), (r(10, 10), torch.arange(5))),
    "index_put": (lambda x, i, v: x.index_put((i,), v), (r(10, 4), torch.tensor([1, 4, 9]), r(3, 4))),
    "index_copy": (lambda x, i, v: x.index_copy(0, i, v), (r(10, 4), torch.tensor([1, 4, 9]), r(3, 4))),
}
MOVEMENT = {
    "permute and slice": (lambda x: (x.t() + 1, x[1:5:2, ::3] * 2), (r(6, 9),)),
    "flip": (lambda x: x.flip(0), (r(6, 9),)),
    "aliases": (lambda x: (x.t(), x[1:], x.view(-1)), (r(6, 9),)),
    "view of a slice": (lambda x: (x[2:4] * 2).view(3, -1), (r(6, 9),)),
    "expand": (lambda x: x[:, None].expand(-1, 3, -1) * 1.5, (r(4, 5),)),
    "cat": (lambda x, y: torch.cat([x, y * 2], 1), (r(6, 9), r(6, 4))),
    "stack and split": (
        lambda x, y: (torch.stack([x, y], 1), *[a * 2 for a in x.split(2, 1)]),
        (r(6, 8), r(6, 8)),
    ),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 1)), (r(6, 8),)),
    "roll": (lambda x: x.roll(2, 1), (r(6, 8),)),
    "tril and fill": (lambda x: (x.tril(), x.masked_fill(x > 0, 0)), (r(6, 8),)),
    "reshape that copies": (lambda x: x.t().reshape(3, -1) * 2, (r(6, 8),)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 0), (r(4, 5),)),
    "pooling": (lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 2)), (r(1, 2, 8, 8),)),
    "one_hot and arange": (lambda x: torch.arange(5, device=x.device) + x, (r(5),)),
}


def cases(table: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("name", table)


@cases(POINTWISE)
def test_pointwise_operators_agree_with_the_cpu(engine: str, name: str) -> None:
    function, args = POINTWISE[name]
    compare(function, *args)


@cases(REDUCTIONS)
def test_reductions_agree_with_the_cpu(engine: str, name: str) -> None:
    function, args = REDUCTIONS[name]
    compare(function, *args)


@cases(CONTRACTIONS)
def test_contractions_agree_with_the_cpu(engine: str, name: str) -> None:
    function, args = CONTRACTIONS[name]
    compare(function, *args)


@cases(ATTENTION)
def test_attention_agrees_with_the_cpu(engine: str, name: str) -> None:
    function, args = ATTENTION[name]
    compare(function, *args)


@cases(INDEXED)
def test_indexed_access_agrees_with_the_cpu(engine: str, name: str) -> None:
    function, args = INDEXED[name]
    compare(function, *args)


@cases(MOVEMENT)
def test_data_movement_agrees_with_the_cpu(engine: str, name: str) -> None:
    function, args = MOVEMENT[name]
    compare(function, *args)


MASKS = {
    "no mask": (None, None),
    "a causal mask": (torch.ones(7, 7, dtype=torch.bool).triu(1), None),
    "padding": (None, torch.arange(7) > torch.tensor([[4], [6]])),
    "both": (torch.ones(7, 7, dtype=torch.bool).triu(1), torch.arange(7) > torch.tensor([[4], [6]])),
}


@pytest.mark.parametrize("norm_first", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "mask", [pytest.param(m, marks=[] if m == "padding" else pytest.mark.long) for m in MASKS]
)
def test_layers_of_encoders_are_native(mask: str, norm_first: bool) -> None:
    """PyTorch takes one fused operator for the whole layer in evaluation."""
    keywords: dict[str, Any] = {"batch_first": True, "norm_first": norm_first, "activation": "gelu"}
    layer = nn.TransformerEncoderLayer(16, 2, 32, **keywords).eval()
    compare(layer, r(2, 7, 16), *MASKS[mask])


@pytest.mark.parametrize("need_weights", [True, pytest.param(False, marks=pytest.mark.long)])
def test_attention_modules_are_native(need_weights: bool) -> None:
    class Attend(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return self.attend(x, x, x, key_padding_mask=mask, need_weights=need_weights)

    compare(Attend().eval(), r(2, 7, 16), torch.arange(7) > torch.tensor([[4], [6]]))


def test_an_mlp_agrees_with_the_cpu(engine: str) -> None:
    layers = nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8), nn.Softmax(-1)
    compare(nn.Sequential(*layers).eval(), r(4, 16))


def test_one_compiled_graph_serves_many_sizes(engine: str) -> None:
    compared = compare(
        lambda x: torch.softmax(x * 2, -1), r(6, 33), more=((r(4, 21),), (r(9, 7),)), dynamic=True
    )
    assert len(compared.recording.graphs) == 1


SECOND_SHAPES = {
    "strided views": (lambda b: b[1::2] + b[1::2], [(r(9, 128).half(),), (r(14, 96).half(),)]),
    "halves exchanged": (
        lambda x: torch.cat([-x[..., 32:], x[..., :32]], -1),
        [(r(2, 4, 21, 64).half(),), (r(3, 3, 5, 64).half(),)],
    ),
    "mean and broadcast": (
        lambda x, y: x.mean(-1, keepdim=True) + torch.zeros_like(x) + y,
        [(r(6, 200), r(6, 200)), (r(5, 67), r(5, 67))],
    ),
    "exp before a product": (
        lambda x, w: torch.exp(x) @ w,
        [(r(4, 100), r(100, 64)), (r(7, 100), r(100, 64))],
    ),
    "gathers": (
        lambda w, i: F.embedding(i, w),
        [(r(491, 64), torch.tensor([[1, 2], [4, 9]])), (r(300, 64), torch.tensor([[7, 2, 299]]))],
    ),
}


@cases(SECOND_SHAPES)
def test_a_second_shape_compiles_no_second_graph(name: str) -> None:
    function, (first, *more) = SECOND_SHAPES[name]
    compared = compare(function, *first, more=tuple(more), dynamic=True, tolerance=1e-4)
    assert len(compared.recording.graphs) == 1


HOST = {
    "long sort": (lambda x: x.sort(-1)[0], (r(1, 1033),), "aten.sort"),
    "most frequent": (lambda x: x.mode()[0], (r(6, 33).round(),), "aten.mode"),
    "inverse": (lambda x: torch.linalg.inv(x), (r(5, 5),), "aten.linalg_inv_ex"),
    "double precision": (lambda x: x * 2, (r(5).double(),), "aten.mul"),
    "special function": (lambda x: x.abs().lgamma(), (r(5),), "aten.lgamma"),
}


@cases(HOST)
def test_what_is_not_native_runs_on_the_host_and_is_listed(engine: str, name: str) -> None:
    function, args, operator = HOST[name]
    compared = compare(function, *args, native=False)
    facts = compared.recording.graphs[0].facts
    assert list(facts.host_ops) == list(facts.host_reasons) == [operator]
    assert all(facts.host_reasons.values())
    assert sum(compared.recording.fallback_ops.values()) >= 1
