"""Cycles over bound of the tracked kernels on `spyre`: `headrace bench schedule [--only PART]`.

Deterministic: the same figures on every machine. A row is met when its ratio is at most the target. A kernel
that cannot be compiled yet keeps its row: no cycles, not met, and the reason.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import SUITE, suite_text
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program


def rows(only: str = "") -> list[dict[str, Any]]:
    """Cycles, bound and ratio of the kernels whose name contains `only`, or the reason there are none."""
    found: list[dict[str, Any]] = []
    for name, entry in SUITE.items():
        if only not in name:
            continue
        try:
            cycles, bound = measure(suite_text(name))
        except HeadraceError as error:
            row = _row(f"{name} ratio", None, "x", entry.target, False)
            found.append({**row, "reason": error.diagnostics[0].message})
            continue
        ratio = cycles / bound
        found += [
            _row(f"{name} cycles", cycles, "cycles"),
            _row(f"{name} bound", round(bound), "cycles"),
            _row(f"{name} ratio", round(ratio, 4), "x", entry.target, ratio <= entry.target),
        ]
    return found


def table(found: list[dict[str, Any]]) -> list[list[str]]:
    """The rows as lines of a table, a kernel a line; the first line is the head."""
    by_name = {row["name"]: row for row in found}
    lines = [["kernel", "cycles", "bound", "ratio", "target", "met"]]
    for name in dict.fromkeys(key.rsplit(" ", 1)[0] for key in by_name):
        ratio = by_name[f"{name} ratio"]
        last = [f"≤ {ratio['target']}", "yes" if ratio["met"] else "no"]
        if ratio["value"] is None:
            lines.append([name, f"not compiled: {ratio['reason']}", "", "", *last])
            continue
        cycles, bound = (f"{by_name[f'{name} {part}']['value']:,}" for part in ("cycles", "bound"))
        lines.append([name, cycles, bound, f"{ratio['value']:.3f}", *last])
    return lines


def measure(text: str, device: str = "spyre") -> tuple[int, float]:
    """(cycles, bound) of one kernel, compiled and timed; nothing is executed, timing needs no data."""
    kernel = Kernel(text)
    program = kernel.compile(device, scalars=default_scalars(kernel, {}))
    assert program.bound is not None
    return timed_cycles(program), program.bound.cycles


def timed_cycles(program: Program) -> int:
    """Cycles of a program at 128-byte aligned addresses."""
    from headrace.machine.timing import time

    scalars = {a.name: 0 for a in program.image.arguments}
    return round(time(program.image, scalars, program.device).cycles)


def _row(
    name: str, value: float | None, unit: str, target: float | None = None, is_met: bool | None = None
) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "target": target, "met": is_met}
