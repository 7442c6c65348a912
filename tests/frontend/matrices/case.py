"""One case of an operator matrix, and seeded tensors for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
f8 = torch.float8_e4m3fn
i8, u8, i16, i32, i64 = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64


@dataclass(frozen=True)
class Case:
    """`function(*arguments())` on the CPU is the truth; `host` names operators that may run on the host.

    `is_quick`: part of `make test`. `is_compiled` is False for what Dynamo cannot trace as one graph.
    """

    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    host: tuple[str, ...] = ()
    tolerance: float | None = None
    is_quick: bool = False
    is_compiled: bool = True


def case(function: Callable[..., Any], *makers: Any, **facts: Any) -> Case:
    """A case whose arguments are tensors, or functions that make them; all from one seed."""

    def arguments() -> tuple[Any, ...]:
        torch.manual_seed(7)
        return tuple(m() if callable(m) else m for m in makers)

    return Case(function, arguments, **facts)


def quick(function: Callable[..., Any], *makers: Any, **facts: Any) -> Case:
    """A case that is part of `make test`."""
    return case(function, *makers, is_quick=True, **facts)


def r(*shape: int, dtype: torch.dtype = f32, scale: float = 1.0) -> Callable[[], torch.Tensor]:
    """Normal numbers."""
    return lambda: (torch.randn(shape) * scale).to(dtype)


def u(*shape: int, dtype: torch.dtype = f16) -> Callable[[], torch.Tensor]:
    """Numbers in [-1, 1), made in their own type: for tensors of many megabytes."""
    return lambda: torch.empty(shape, dtype=dtype).uniform_(-1, 1)


def n(high: int, *shape: int, dtype: torch.dtype = i64, low: int = 0) -> Callable[[], torch.Tensor]:
    """Integers in [low, high)."""
    return lambda: torch.randint(low, high, shape).to(dtype)


def distinct(*shape: int, dtype: torch.dtype = f32) -> Callable[[], torch.Tensor]:
    """All different values in random order, exact in f16 for up to 2048 of them."""

    def make() -> torch.Tensor:
        count = int(torch.tensor(shape).prod()) if shape else 1
        return (torch.randperm(count) - count // 2).reshape(shape).to(dtype)

    return make


def modulo(*shape: int, dtype: torch.dtype = f16) -> Callable[[], torch.Tensor]:
    """0, 1, … 250, 0, …: a permutation shows, and f16 holds every value."""
    return lambda: (torch.arange(int(torch.tensor(shape).prod())) % 251).reshape(shape).to(dtype)
