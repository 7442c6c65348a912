"""What the independent checker of the emitted DFIR takes: `headrace bench verify [--only PART]`.

Every kernel of the schedule's suite, its DFIR printed and parsed as the command line does: CPU seconds of one
check, and the most memory that the process held, the parsed text included.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import SUITE, suite_text
from headrace.runtime import cache
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program
from headrace.schedule.verify import verify

DEVICE = "spyre"
MOST_S, MOST_MB = 10.0, 500.0
"""Targets of every kernel."""


def rows(only: str = "") -> list[dict[str, Any]]:
    """Seconds and megabytes of the kernels whose name contains `only`, and the largest of both."""
    found = [row for name in SUITE if only in name for row in _rows(name)]
    most = {
        unit: max((row["value"] for row in found if row["unit"] == unit), default=0.0) for unit in TARGETS
    }
    return [*found, *(_row("largest", most[unit], unit) for unit in TARGETS)] if found else []


def _rows(name: str) -> list[dict[str, Any]]:
    program = _emitted(name)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the most held begins anew
    start = time.process_time()
    wrong = verify(program.dfir_module, program.device)
    seconds = time.process_time() - start
    assert not wrong, (name, [str(one) for one in wrong])
    return [_row(name, seconds, "s"), _row(name, _most_bytes() / 2**20, "MiB")]


def _emitted(name: str) -> Program:
    """The program of an entry of the suite, read again from its text."""
    kernel = Kernel(suite_text(name))
    program = kernel.compile(DEVICE, scalars=default_scalars(kernel, {})).reparsed()
    cache.clear()
    return program


def _most_bytes() -> int:
    """The most that this process has held in memory since that began anew."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


TARGETS = {"s": MOST_S, "MiB": MOST_MB}


def _row(name: str, value: float, unit: str) -> dict[str, Any]:
    return {
        "name": f"{name} verify",
        "value": round(value, 2),
        "unit": unit,
        "target": TARGETS[unit],
        "met": value <= TARGETS[unit],
    }
