"""Every kernel runs on every device as the reference does, or a typed error says why it cannot."""

from __future__ import annotations

import pytest

from .coverage import DEVICES, KERNELS, outcome

SMALL = [name for name in KERNELS if name.startswith("test: ")]
QUICK = [(name, device) for name in SMALL for device in ("tiny",)]
LONG = [(name, device) for name in KERNELS for device in DEVICES if (name, device) not in QUICK]


@pytest.mark.parametrize("kernel,device", QUICK)
def test_a_kernel_runs_on_a_small_device(kernel: str, device: str) -> None:
    outcome(kernel, device, is_checked=True)


@pytest.mark.long
@pytest.mark.parametrize("kernel,device", LONG)
def test_a_kernel_runs_on_a_device(kernel: str, device: str) -> None:
    outcome(kernel, device)
