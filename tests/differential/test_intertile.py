"""Random kernels whose tiles exchange values run alike at all levels, in order, on every kind of device."""

from __future__ import annotations

import pytest

from headrace.runtime.kernel import Kernel
from tests.differential.intertile import draw
from tests.differential.test_kernels import DEVICES, compare

QUICK = [(seed, DEVICES[seed % len(DEVICES)]) for seed in range(8)]
LONG = [(seed, device) for seed in range(8, 68) for device in DEVICES]


@pytest.mark.parametrize("seed,device", QUICK)
def test_tiles_exchange_values(seed: int, device: str) -> None:
    compare(Kernel(draw(seed).text), device, is_checked=True)


@pytest.mark.long
@pytest.mark.parametrize("seed,device", LONG)
def test_many_kernels_of_tiles_that_exchange_values(seed: int, device: str) -> None:
    compare(Kernel(draw(seed).text), device, is_checked=True)
