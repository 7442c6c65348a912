"""Rows of tokens for a mixture of experts: only those that no rounding sends elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from zoo.routing import decided

LARGE = [[8.0, 4.0, 0.0], [8.0, 1.0, 1.0], [8.0, 1.5, 1.0]]
SMALL = [[0.0, 0.0, 0.0], [0.0, 2**-9, 0.0], [0.0, 2**-9, 0.0]]


class Router(torch.nn.Module):
    """Scores of three experts by token; bf16 cannot hold the small part beside the large one."""

    top_k = 2

    def __init__(self) -> None:
        super().__init__()
        self.large, self.small = (torch.nn.Parameter(torch.tensor(x)) for x in (LARGE, SMALL))

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.large[tokens] + self.small[tokens],)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = Router()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.router(input_ids.reshape(-1))[0]


def test_a_row_with_a_token_between_two_experts_is_left_out() -> None:
    rows = [torch.tensor([row]) for row in ([0, 2], [0, 1], [2, 2], [1, 1])]
    assert [row.tolist() for row in decided(Model(), rows, Router)] == [[[0, 2]], [[2, 2]]]
