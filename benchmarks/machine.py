"""Speed of the virtual accelerator: `headrace bench machine`.

`stream_by_vectors`: 64 MiB per tensor of f16, written vector by vector as another scheduler does, executed
beside NumPy adding the same arrays in the same process. CPU time of this process, one thread, the least of
three runs each; parsing and decoding stand apart.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels.by_vectors import KINDS, LANES, Stream
from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.numbers.memory import Memory

RUNS = 3
STREAMS = {
    "32 cores, tiles of 32 rows": Stream("add", 32, 512, 16),
    "32 cores, tiles of 2 rows": Stream("add", 32, 8192, 1),
    "2 cores, tiles of 32 rows": Stream("add", 2, 8192, 16),
}


def rows() -> list[dict[str, Any]]:
    """Seconds of every stream, and what NumPy takes for the same sum."""
    found = []
    for label, stream in STREAMS.items():
        ours, theirs = stream_by_vectors(stream)
        found.append(_row(f"stream_by_vectors {label}", round(ours, 2), "s"))
        found.append(_row("  over numpy", round(ours / theirs, 1), "x"))
    return found


def stream_by_vectors(stream: Stream) -> tuple[float, float]:
    """Seconds of the machine and of NumPy; the sums are compared to the bit."""
    image = decode(parse(stream.text()), device("spyre"))
    memory = Memory((KINDS[stream.kind] + 1) * stream.vectors * LANES * 2)
    random = np.random.default_rng(0)
    a, b, y = (memory.bytes.view(np.float16)[stream.address(o) :][: stream.vectors * LANES] for o in range(3))
    for x in (a, b):
        x[...] = random.standard_normal(x.size, np.float32)
    out = np.empty_like(y)
    ours = theirs = math.inf
    for _ in range(RUNS):
        ours = min(ours, _seconds(lambda: execute(image, memory, {})))
        theirs = min(theirs, _seconds(lambda: np.add(a, b, out=out)))
    assert (y == out).all()
    return ours, theirs


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _row(name: str, value: float, unit: str, target: float | None = None) -> dict[str, Any]:
    met = None if target is None else value <= target
    return {"name": name, "value": value, "unit": unit, "target": target, "met": met}


if __name__ == "__main__":
    for row in rows():
        print(f"{row['name']:<60} {row['value']:>10,} {row['unit']}")
