"""KTIR to DFIR in a warm process: `headrace bench compile [--only PART]`.

Ten kernels of the schedule's suite: milliseconds of one core from parsed KTIR to DFIR at default effort, the
least of three, where they go (model, search, build, lower), and the milliseconds of a text compiled before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import suite_text
from headrace.ir.collector import collector_paused
from headrace.runtime import cache
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel
from headrace.schedule import compile as steps

KERNELS = (
    "add_64mib", "chain_64mib", "softmax_4096x2048", "layernorm_8192x8192", "transpose_4096", "gemm_2048",
    "gemm_512x12800x4096", "decode_4x4096x12800", "attention_8_kv_heads", "mlp_512_rows",
)  # fmt: skip
STAGES = ("model", "search", "build", "lower")
DEVICE = "spyre"
TIMES = 3
MEDIAN_MS, MOST_MS, CACHED_MS = 150.0, 2000.0, 5.0
"""Targets: of the median kernel, of every kernel, of every kernel compiled before."""


def rows(only: str = "") -> list[dict[str, Any]]:
    """Milliseconds of the kernels whose name contains `only`, their stages, and the medians."""
    names = [name for name in KERNELS if only in name]
    if not names:
        return []
    Kernel(suite_text("softmax_512x768")).compile(DEVICE)
    Kernel(suite_text("gemm_1024")).compile(DEVICE)
    found: list[dict[str, Any]] = []
    whole: list[float] = []
    for name in names:
        kernel = Kernel(suite_text(name))
        scalars = default_scalars(kernel, {})
        took, parts = min(_compiled(kernel, scalars) for _ in range(TIMES))
        again = min(_cached(name, scalars) for _ in range(TIMES))
        whole.append(took)
        found.append(_row(f"{name} compile", took, MOST_MS))
        found += [_row(f"{name} {stage}", part) for stage, part in zip(STAGES, parts, strict=True)]
        found.append(_row(f"{name} cached", again, CACHED_MS))
    return [*found, _row("median compile", median(whole), MEDIAN_MS)]


def table(found: list[dict[str, Any]]) -> list[list[str]]:
    """The rows as lines of a table, a kernel a line; the first line is the head."""
    by_name = {row["name"]: row for row in found}
    lines = [["kernel, ms", "compile", *STAGES, "cached", "met"]]
    for name in dict.fromkeys(key.rsplit(" ", 1)[0] for key in by_name):
        cells = [by_name.get(f"{name} {part}") for part in ("compile", *STAGES, "cached")]
        met = all(cell["met"] for cell in cells if cell is not None and cell["target"] is not None)
        shown = ["" if cell is None else f"{cell['value']:.1f}" for cell in cells]
        lines.append([name, *shown, "yes" if met else "no"])
    return lines


def _compiled(kernel: Kernel, scalars: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
    """Milliseconds of a compile in full, and of its stages, which are timed where the compiler calls them."""
    spent = dict.fromkeys(STAGES, 0.0)
    originals: dict[str, Callable[..., Any]] = {stage: getattr(steps, stage) for stage in STAGES}

    def timed(stage: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return originals[stage](*args, **kwargs)
            finally:
                spent[stage] += 1000 * (time.process_time() - start)

        return call

    cache.clear()
    assert kernel.module is not None  # parsed before the clock starts
    try:
        for stage in STAGES:
            setattr(steps, stage, timed(stage))
        with collector_paused():
            start = time.process_time()
            kernel.compile(DEVICE, scalars=scalars)
            whole = 1000 * (time.process_time() - start)
    finally:
        for stage, original in originals.items():
            setattr(steps, stage, original)
    return whole, tuple(spent[stage] for stage in STAGES)


def _cached(name: str, scalars: dict[str, Any]) -> float:
    """Milliseconds of compiling an equal text again, nothing of it parsed."""
    kernel = Kernel(suite_text(name))
    start = time.process_time()
    kernel.compile(DEVICE, scalars=scalars)
    return 1000 * (time.process_time() - start)


def _row(name: str, value: float, target: float | None = None) -> dict[str, Any]:
    is_met = None if target is None else value <= target
    return {"name": name, "value": round(value, 2), "unit": "ms", "target": target, "met": is_met}
