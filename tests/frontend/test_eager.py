"""Operators outside compiled graphs: on the host, over device memory, counted."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import headrace
from headrace.ir.diagnostics import HeadraceError


def both(function, *args):
    """The results of `function` on the CPU and on the device, both as CPU tensors."""
    moved = [a.to("headrace") if isinstance(a, torch.Tensor) else a for a in args]
    return function(*args), function(*moved).cpu()


r = torch.randn
CASES = {
    "arithmetic": (lambda x, y: (x * 2 + y).relu() / 3, (r(4, 5), r(5))),
    "matmul": (lambda x, y: x @ y, (r(4, 5), r(5, 3))),
    "softmax": (lambda x: torch.softmax(x, -1), (r(4, 5),)),
    "indexing": (lambda x, i: x[i, 1:], (r(4, 5), torch.tensor([3, 0]))),
    "mask": (lambda x: x[x > 0], (r(4, 5),)),
    "cumsum": (lambda x: x.cumsum(-1), (r(4, 5),)),
    "sort": (lambda x: x.sort(-1)[0], (r(4, 5),)),
    "conv": (lambda x, w: F.conv2d(x, w, padding=1), (r(1, 2, 6, 6), r(3, 2, 3, 3))),
    "attention": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (r(1, 2, 5, 4),)),
    "complex": (lambda x: torch.view_as_complex(x).conj().abs(), (r(4, 2),)),
    "where": (lambda x: torch.where(x > 0, x, torch.zeros_like(x)), (r(7),)),
    "layer_norm": (lambda x: F.layer_norm(x, (5,)), (r(4, 5),)),
}


@pytest.mark.parametrize("name", CASES)
def test_eager_operators_agree_with_the_cpu(name: str) -> None:
    function, args = CASES[name]
    expected, actual = both(function, *args)
    torch.testing.assert_close(actual, expected)
    assert actual.stride() == expected.stride()


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_layers_agree_with_the_cpu(kind) -> None:
    torch.manual_seed(0)
    layer, x = kind(4, 5), r(3, 2, 4)
    expected = layer(x)[0]
    torch.testing.assert_close(layer.to("headrace")(x.to("headrace"))[0].cpu(), expected)


def test_in_place_operators_reach_the_base_through_views() -> None:
    x = torch.zeros(4, 4, device="headrace")
    x[1:3].add_(1)
    x.t()[0].mul_(5)
    assert x.sum().item() == 16
    assert torch.is_nonzero(x.sum()) and not bool(x.sum() - 16)


def test_an_out_argument_of_another_shape_is_resized() -> None:
    out = torch.empty(0, device="headrace")
    torch.add(torch.ones(3, device="headrace"), 1, out=out)
    assert out.tolist() == [2, 2, 2]


def test_training_on_the_device_follows_the_cpu() -> None:
    torch.manual_seed(0)
    host = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    device = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    device.load_state_dict(host.state_dict())
    device.to("headrace")
    x, y = r(6, 4), r(6, 2)
    for model, place in ((host, "cpu"), (device, "headrace")):
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(model(x.to(place)), y.to(place)).backward()
            optimizer.step()
    for a, b in zip(host.parameters(), device.parameters(), strict=True):
        torch.testing.assert_close(b.detach().cpu(), a.detach())


def test_autocast_casts_as_on_other_devices() -> None:
    x = torch.ones(2, 2, device="headrace")
    with torch.autocast("headrace", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        assert torch.softmax(x.half(), -1).dtype == torch.float32


def test_tensors_of_two_devices_do_not_mix() -> None:
    with pytest.raises(RuntimeError, match="device"):
        torch.ones(2, 2, device="headrace") @ torch.ones(2, 2)


def test_eager_operators_are_counted_by_name() -> None:
    x = torch.ones(3, device="headrace")
    with headrace.record() as recording:
        (x + 1).sum()
    assert recording.eager_ops == {"aten.add": 1, "aten.sum": 1}
    assert not recording.fallback_ops


def test_error_mode_raises_with_the_name_and_a_hint() -> None:
    x = torch.ones(3, device="headrace")
    headrace.set_fallback("error")
    place = rf"{re.escape(__file__)}:\d+: error: aten.cumsum"
    with pytest.raises(HeadraceError, match=rf"{place}.*\(on float32\[3\]\)\n  hint: torch.compile"):
        x.cumsum(0)
    assert x.cpu().tolist() == [1, 1, 1]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(HeadraceError, match="unknown fallback mode"):
        headrace.set_fallback("sometimes")
