"""Random programs of pointwise operators, views, reductions, scans, sorts, gathers and products agree with
the CPU, compiled and eager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace

from .conftest import compare, tensors, to

Unary = Callable[[torch.Tensor], torch.Tensor]
Binary = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

ANY: dict[str, Unary] = {
    "transpose and reshape": lambda x: x.t().reshape(x.shape),
    "transpose twice": lambda x: x.t().contiguous().t(),
    "shift": lambda x: F.pad(x[:, 1:], (0, 1)) if x.size(1) else x,
    "flip": lambda x: x.flip(1),
    "flip rows": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 1),
    "halves exchanged": lambda x: torch.cat([x[:, x.size(1) // 2 :], x[:, : x.size(1) // 2]], 1),
    "every second row first": lambda x: torch.cat([x[::2], x[1::2]]),
    "one row for all": lambda x: x[-1:].expand_as(x) if x.size(0) else x,
    "lower triangle": lambda x: x.tril(),
    "negated": lambda x: -x,
    "size one between": lambda x: (x[:, None, :] * 1).squeeze(1),
}
"""On values of any type; the result has the shape of the operand."""

FLOAT: dict[str, Unary] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp of a bounded value": lambda x: torch.exp(x.clamp(-3, 1)),
    "rsqrt of a positive value": lambda x: torch.rsqrt(x * x + 1),
    "leaky": lambda x: torch.where(x > 0, x, x * 0.5),
    "sum of a row": lambda x: x + x.sum(-1, keepdim=True) / max(x.size(1), 1),
    "mean of a column": lambda x: x - x.sum(0, keepdim=True) / max(x.size(0), 1),
    "running mean": lambda x: x.cumsum(0) / max(x.size(0), 1),
    "softmax": lambda x: torch.softmax(x, -1) if x.numel() else x,
    "layer_norm": lambda x: F.layer_norm(x, (x.size(1),), eps=1e-2) if x.numel() else x,
    "largest of a column": lambda x: x - x.amax(0, keepdim=True) if x.numel() else x,
    "through f16": lambda x: x.half().float(),
}
INTEGER: dict[str, Unary] = {
    "remainder": lambda i: i % 5,
    "halved": lambda i: i // 2,
    "running sum": lambda i: i.cumsum(1) % 17,
    "sorted": lambda i: i.sort(1)[0] if i.numel() else i,
    "order": lambda i: i.argsort(dim=0, stable=True) if i.numel() else i,
    "place of the largest": lambda i: (i + i.argmax(1, keepdim=True)) if i.numel() else i,
    "sum": lambda i: (i + i.sum(0)) % 13,
    "rows chosen": lambda i: i[i[:, 0] % i.size(0)] if i.numel() else i,
    "gathered": lambda i: i.gather(1, i % i.size(1)) if i.numel() else i,
    "scattered": lambda i: i.scatter_add(0, i % i.size(0), i) % 11 if i.numel() else i,
    "compared": lambda i: (i > i.flip(0)).long() * 3,
    "in i8": lambda i: ((i.to(torch.int8) * 29 - 100) // 3).long(),
    "in u8": lambda i: ((i.to(torch.uint8) * 7) % 31 >> 1).long(),
    "largest so far": lambda i: i.cummax(0)[0] + i.cummax(0)[1] if i.numel() else i,
    "in i32": lambda i: (i.int() * 2).long() % 19,
    "bits": lambda i: (i & 3) | (i << 1) & 8,
}
BINARY: dict[str, Binary] = {
    "add": torch.add,
    "sub": torch.sub,
    "maximum": torch.maximum,
    "where": lambda x, y: torch.where(x < y, x, y),
    "product": lambda x, y: x * y.clamp(-2, 2),
}


@dataclass(frozen=True)
class Program:
    """Steps over growing lists of [m, n] floats and of [m, n] integers; a step names an operator and its
    operands.
    """

    shape: tuple[int, int]
    steps: tuple[tuple[str, str, int, int], ...]

    def __call__(self, x: torch.Tensor, i: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
        floats, integers = [x, x.flip(0) * 0.5], [i, i % 3]
        for kind, name, first, second in self.steps:
            pool = integers if kind.startswith("integer") else floats
            a, b = pool[first % len(pool)], pool[second % len(pool)]
            match kind:
                case "float" | "integer":
                    found = (ANY.get(name) or (FLOAT | INTEGER)[name])(a)
                case "float of two" | "integer of two":
                    found = BINARY[name](a, b)
                case "product":
                    found = torch.tanh(a @ weight) + b
                case _:
                    found = a + integers[second % len(integers)] * 0.25
            pool.append(found.clamp(-8, 8) if pool is floats else found % 23)
        return floats[-1], floats[-2], integers[-1], integers[-2]


def steps() -> st.SearchStrategy[tuple[str, str, int, int]]:
    place = st.integers(0, 30)
    kinds = {
        "float": [*ANY, *FLOAT],
        "integer": [*ANY, *INTEGER],
        "float of two": [*BINARY],
        "integer of two": [*BINARY],
        "product": ["product"],
        "mixed": ["mixed"],
    }
    options = [st.tuples(st.just(k), st.sampled_from(t), place, place) for k, t in kinds.items()]
    return st.one_of(*options)


def programs(fewest: int, most: int) -> st.SearchStrategy[Program]:
    extents = st.sampled_from([0, 1, 2, 3, 7, 8, 13, 17, 33])
    return st.builds(
        Program, st.tuples(extents, extents), st.lists(steps(), min_size=fewest, max_size=most).map(tuple)
    )


def check(program: Program) -> None:
    torch.manual_seed(0)
    m, n = program.shape
    arguments = torch.randn(m, n), torch.randint(-9, 10, (m, n)), torch.randn(n, n) / max(n, 1)
    compare(program, *arguments, tolerance=2e-3)
    headrace.set_fallback("allow")  # eager operators run on the host
    with torch.no_grad():
        eager = program(*to("headrace", arguments))
    for actual, expected in zip(tensors(eager), program(*arguments), strict=True):
        torch.testing.assert_close(actual.cpu(), expected, rtol=2e-3, atol=2e-3)


ALLOWED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=ALLOWED)
@given(program=programs(2, 5))
def test_random_graphs_agree_with_the_cpu(engine: str, program: Program) -> None:
    check(program)


@pytest.mark.long
@settings(max_examples=300, deadline=None, suppress_health_check=ALLOWED)
@given(program=programs(10, 30))
def test_many_random_graphs_agree_with_the_cpu(engine: str, program: Program) -> None:
    check(program)


@pytest.mark.long
def test_a_scatter_beside_a_gather() -> None:
    check(Program((13, 13), (("integer", "gathered", 7, 18), ("integer", "scattered", 9, 0))))


def test_two_indices_that_are_computed_do_not_share_a_buffer(engine: str) -> None:
    """One of positions, one of values from memory: the loop program may call the second what the first is."""
    two = "integer of two"
    steps = (("integer", "roll", 1, 0), ("integer", "gathered", 2, 0), (two, "maximum", 1, 2))
    check(Program((33, 33), (*steps, (two, "maximum", 3, 4), (two, "maximum", 3, 5))))
