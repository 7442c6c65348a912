"""Rows longer than the registers of a unit, of which several things are computed, mean the same at all
levels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import ktir
from headrace.arch.presets import device as preset
from headrace.schedule.units import units
from tests.differential.test_kernels import compare

ROWS = 3


def softmax(x: Any) -> Any:
    powers = ktir.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def positions(k: ktir.Builder, columns: int) -> Any:
    return k.arange(columns, "i32").reshape(1, columns)


def spread(k: ktir.Builder, x: Any, columns: int) -> Any:
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    return (x - low) / (high - low + 1e-3)


def three(k: ktir.Builder, x: Any, columns: int) -> Any:
    return x * (x.max(axis=1, keepdims=True) + x.min(axis=1, keepdims=True) + x.sum(axis=1, keepdims=True))


def variance(k: ktir.Builder, x: Any, columns: int) -> Any:
    mean = x.sum(axis=1, keepdims=True) / columns
    return x * ((x * x).sum(axis=1, keepdims=True) / columns - mean * mean)


def first_largest(k: ktir.Builder, x: Any, columns: int) -> Any:
    is_largest = ktir.equal(x, x.max(axis=1, keepdims=True).broadcast(ROWS, columns))
    at = positions(k, columns).broadcast(ROWS, columns)
    return x - ktir.where(is_largest, at, columns).min(axis=1, keepdims=True).cast("f32")


def masked_softmax(k: ktir.Builder, x: Any, columns: int) -> Any:
    last = k.arange(ROWS, "i32").reshape(ROWS, 1) + columns // 2
    return softmax(ktir.where(positions(k, columns) <= last, x, -1e30))


def masked_sum(k: ktir.Builder, x: Any, columns: int) -> Any:
    left = ktir.where(positions(k, columns) < columns // 2, x, 0.0)
    return left.sum(axis=1, keepdims=True).broadcast(ROWS, columns)


def twelve_columns(k: ktir.Builder, x: Any, columns: int) -> Any:
    """Twelve reductions over the rows: as many vectors meet in the sum of them."""
    total = x
    for n in range(1, 13):
        total = total + ktir.tanh(x * (0.1 * n)).max(axis=0, keepdims=True)
    return total


CASES = [spread, three, variance, first_largest, masked_softmax, masked_sum, twelve_columns]


@pytest.mark.parametrize("device", ["spyre-1core", "tiny"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_several_things_are_computed_of_a_row_that_the_registers_do_not_hold(
    case: Callable[[ktir.Builder, Any, int], Any], device: str
) -> None:
    chip = preset(device)
    registers = chip.unit(units(chip).vector).registers_bytes
    assert registers is not None
    columns = registers + 3
    with ktir.kernel("rows") as k:
        x, y = (k.argument(name, (ROWS, columns), "f16") for name in "xy")
        y[:, :] = case(k, x[:, :].load().cast("f32"), columns).cast("f16")
    compare(k.kernel, device, is_checked=True)
