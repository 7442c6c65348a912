"""Operators left to the host whose kernels lay results out otherwise than the graph was told."""

from __future__ import annotations

import torch

from headrace.frontend.memory import to_device, with_strides

from .conftest import compare


@torch.library.custom_op("headrace_tests::turned", mutates_args=(), device_types="cpu")
def turned(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).t().contiguous().t()


@torch.library.custom_op("headrace_tests::turned_twice", mutates_args=(), device_types="cpu")
def turned_twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return turned(x), x * 2


@turned.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@turned_twice.register_fake
def _(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return tuple(torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))


def test_kernels_read_results_of_the_host_by_the_strides_the_graph_expects(engine: str) -> None:
    def products(x: torch.Tensor) -> list[torch.Tensor]:
        return [x * part for part in (turned(x), *turned_twice(x))]

    compared = compare(products, torch.randn(3, 5), native=False)
    assert compared.recording.fallback_ops == {"headrace_tests.turned": 1, "headrace_tests.turned_twice": 1}


def test_only_what_lies_otherwise_is_copied() -> None:
    x = to_device(torch.randn(3, 1, 5))
    assert with_strides(x, (5, 99, 1)) is x
    copy = with_strides(x, (1, 3, 3))
    assert copy.stride() == (1, 3, 3) and torch.equal(copy.cpu(), x.cpu())
