"""Fixtures of the PyTorch room: the engine that runs kernels, and a check of compiled code against the
CPU.
"""

from __future__ import annotations

import atexit
import copy
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import headrace
from headrace.frontend import launcher, session
from headrace.frontend.host.interpreter import interpret
from headrace.frontend.recording import Recording

_CACHE = tempfile.mkdtemp(prefix="headrace-inductor-")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = _CACHE  # graphs cached by another checkout name its files
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)

ENGINES = ["machine", pytest.param("oracle", marks=pytest.mark.long)]


@pytest.fixture(autouse=True)
def restore_fallback_mode() -> Iterator[None]:
    """Every test starts and ends with the default mode and without remembered warnings."""
    before = session.set_fallback("warn")
    session._warned.clear()
    yield
    session.set_fallback(before)


def oracle(kernel: launcher.LoopKernel, arguments: Sequence[torch.Tensor]) -> tuple[None, None]:
    """An engine that runs a kernel's loop program on the host."""
    interpret(kernel.program, arguments)
    return None, None


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """What runs the kernels: the loop interpreter ("oracle") or the whole path through the machine."""
    if request.param == "oracle":
        with launcher.engine_override(oracle):
            yield request.param
    else:
        with headrace.use(engine=request.param):
            yield request.param


@dataclass(frozen=True)
class Compared:
    """A compiled run: its results on the CPU and what was recorded."""

    results: list[torch.Tensor]
    recording: Recording


TOLERANCES = {torch.float8_e4m3fn: 0.0, torch.float16: 4e-3, torch.bfloat16: 4e-2, torch.float32: 2e-5}
Check = Callable[..., Compared]


def to(device: str, value: Any) -> Any:
    """Tensors and modules of a tree, copied to a device."""
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to(device)
    return pytree.tree_map(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, value)


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf.detach() for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def compare(
    function: Any,
    *args: Any,
    tolerance: float | None = None,
    native: bool = True,
    more: tuple[Any, ...] = (),
    dynamic: bool | None = None,
) -> Compared:
    """Runs `function` on the CPU and compiled on the device; shapes, types, strides and values must
    agree.

    With `native`, no operator may run on the host; `more` are further argument lists for the same compiled
    code.
    """
    torch._dynamo.reset()
    headrace.set_fallback("error" if native else "allow")
    compiled = torch.compile(to("headrace", function), fullgraph=True, dynamic=dynamic)
    with torch.no_grad(), headrace.record() as recording:
        for arguments in (args, *more):
            placed = to("headrace", arguments)
            on_device = tensors(compiled(*placed))
            results = [x.cpu() for x in on_device]
            for expected, device, actual in zip(
                tensors(function(*arguments)), on_device, results, strict=True
            ):
                assert expected.stride() == device.stride() or not expected.numel()
                bound = tolerance or TOLERANCES.get(expected.dtype, 1e-6)
                torch.testing.assert_close(actual, expected, rtol=bound, atol=bound, equal_nan=True)
    return Compared(results, recording)
