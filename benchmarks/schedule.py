"""Cycles over bound of the tracked kernels on `spyre`: `headrace bench schedule`.

Deterministic: the same figures on every machine. A row is met when its ratio is at most the target.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import BENCHMARKS, kernel_text
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program

TARGETS = {
    "add_16mib": 1.25,
    "softmax_4096x2048": 1.6,
    "layernorm_4096x2048": 1.6,
    "gemm_1024": 1.8,
    "gemm_2048x4096x4096": 1.8,
}


def rows() -> list[dict[str, Any]]:
    """Three rows a kernel: cycles, bound, ratio."""
    found: list[dict[str, Any]] = []
    for name, (kernel, extents) in BENCHMARKS.items():
        cycles, bound = measure(kernel, extents)
        ratio = cycles / bound
        target = TARGETS.get(name)
        found += [
            _row(f"{name} cycles", cycles, "cycles"),
            _row(f"{name} bound", round(bound), "cycles"),
            _row(f"{name} ratio", round(ratio, 4), "x", target, None if target is None else ratio <= target),
        ]
    return found


def measure(kernel: str, extents: dict[str, Any], device: str = "spyre") -> tuple[int, float]:
    """(cycles, bound) of one kernel, compiled and timed; nothing is executed, timing needs no data."""
    program = Kernel(kernel_text(kernel, **extents), kernel).compile(device)
    assert program.bound is not None
    return timed_cycles(program), program.bound.cycles


def timed_cycles(program: Program) -> int:
    """Cycles of a program at 128-byte aligned addresses."""
    from headrace.machine.timing import time

    return round(time(program.image, {a.name: 0 for a in program.image.arguments}, program.device).cycles)


def _row(
    name: str, value: float, unit: str, target: float | None = None, is_met: bool | None = None
) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "target": target, "met": is_met}
