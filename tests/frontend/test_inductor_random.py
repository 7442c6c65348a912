"""Random graphs of pointwise operators, reductions and contractions agree with the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import compare

Binary = Callable[[Any, Any], Any]
UNARY: dict[str, Callable[[Any], Any]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp of a bounded value": lambda x: torch.exp(x.clamp(-3, 3)),
    "rsqrt of a positive value": lambda x: torch.rsqrt(x * x + 1),
    "abs": torch.abs,
    "where": lambda x: torch.where(x > 0, x, x * 0.5),
    "through a comparison": lambda x: (x > 0).float() * x,
    "transpose twice": lambda x: x.t().contiguous().t(),
    "shift": lambda x: F.pad(x[:, 1:], (0, 1)),
}
BINARY: dict[str, Binary] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "divide": lambda x, y: x / (y.abs() + 1),
}
ROWS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(-1, keepdim=True) / x.size(-1),
    "mean": lambda x: x.mean(0, keepdim=True),
    "amax": lambda x: x.amax(-1, keepdim=True),
    "softmax": lambda x: torch.softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, (x.size(-1),)),
    "var": lambda x: x.var(-1, keepdim=True),
}


@dataclass(frozen=True)
class Program:
    """Steps over a growing list of [m, n] values; each step names an operator and which values it takes."""

    shape: tuple[int, int]
    steps: tuple[tuple[str, str, int, int], ...]

    def __call__(self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = [x, y]
        for kind, name, first, second in self.steps:
            a, b = values[first % len(values)], values[second % len(values)]
            if kind == "unary":
                values.append(UNARY[name](a))
            elif kind == "binary":
                values.append(BINARY[name](a, b))
            elif kind == "rows":
                values.append((a + ROWS[name](a)).expand(self.shape))
            else:
                values.append(torch.tanh(a @ weight) + b)
        return tuple(values[-2:])


def steps() -> st.SearchStrategy[tuple[str, str, int, int]]:
    place = st.integers(0, 7)
    kinds = {"unary": UNARY, "binary": BINARY, "rows": ROWS, "matmul": {"matmul": None}}
    options = [st.tuples(st.just(k), st.sampled_from(sorted(t)), place, place) for k, t in kinds.items()]
    return st.one_of(*options)


PROGRAMS = st.builds(
    Program,
    st.tuples(st.sampled_from([1, 3, 8, 17]), st.sampled_from([1, 5, 16, 33])),
    st.lists(steps(), min_size=1, max_size=7).map(tuple),
)


def check(program: Program) -> None:
    torch.manual_seed(0)
    m, n = program.shape
    compare(program, torch.randn(m, n), torch.randn(m, n), torch.randn(n, n) / n, tolerance=2e-4)


ALLOWED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=ALLOWED)
@given(program=PROGRAMS)
def test_random_graphs_agree_with_the_cpu(engine: str, program: Program) -> None:
    check(program)


@pytest.mark.long
@settings(max_examples=150, deadline=None, suppress_health_check=ALLOWED)
@given(program=PROGRAMS)
def test_many_random_graphs_agree_with_the_cpu(engine: str, program: Program) -> None:
    check(program)
