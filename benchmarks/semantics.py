"""Time of the reference engine over direct NumPy, and of what precedes it: `headrace bench semantics`.

A ratio divides the least of five runs or more of a kernel by the least of as many of NumPy on the whole
tensors (same element types, f32 BLAS for f16 products), taken in turns in one process; every time is CPU
time, one BLAS thread, so that other work on the machine disturbs it less. The engine keeps the plan of the
first launch, so that the least is that of a later one.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import kernel_text
from benchmarks.kernels.direct import DIRECT
from benchmarks.kernels.listed import FOLDER, LISTED, listed_text
from headrace.ir.text import parse
from headrace.ir.verify import verify
from headrace.numbers.dtypes import numpy_dtype
from headrace.numbers.memory import Memory
from headrace.runtime.binding import bind
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel
from headrace.semantics.batched import interpret

RUNS = 5
SPENT = 0.4
"""Seconds after which a short kernel has run often enough."""
ROWS = {"1 MiB": {"rows": 512, "columns": 1024}, "16 MiB": {"rows": 4096, "columns": 2048}}
ROW_KERNELS = ("vector_add", "broadcast_add", "softmax", "rmsnorm", "layernorm", "transpose")
CASES: list[tuple[str, str, dict[str, Any]]] = [
    *((f"{name} {size}", name, extents) for name in ROW_KERNELS for size, extents in ROWS.items()),
    ("embedding 2 MiB", "embedding", {"rows": 4096, "columns": 1024, "tokens": 1024}),
    ("embedding 16 MiB", "embedding", {"rows": 4096, "columns": 1024, "tokens": 8192}),
    ("matmul 1024x512x1024, 16 tiles", "matmul", {"m": 1024, "k": 512, "n": 1024, "grid": (4, 4)}),
    ("matmul 1024x512x1024, 16x1 tiles", "matmul", {"m": 1024, "k": 512, "n": 1024, "grid": (16, 1)}),
    ("matmul_bias_gelu 2 MiB", "matmul_bias_gelu", {"m": 1024, "k": 512, "n": 1024, "grid": (16, 1)}),
]
MATMUL = "matmul 1024x512x1024, 16 tiles"


def rows() -> list[dict[str, Any]]:
    """The ratio of every kernel, their geometric mean, and the times that have targets."""
    found, ratios = _parsing(), []
    for label, kernel, direct, arrays, scalars in _cases():
        ours, theirs = measure(kernel, direct, arrays, scalars)
        ratios.append(ours / theirs)
        found.append(_row(f"{label} over numpy", round(ours / theirs, 2), "x"))
        if label == MATMUL:
            found.append(_row(label, round(1e3 * ours, 1), "ms", 60))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    found.append(_row("geometric mean over numpy", round(mean, 2), "x", 3))
    return [*found, *_starts()]


Case = tuple[str, Kernel, Callable[[dict[str, Any]], Any], dict[str, Any] | None, dict[str, float]]


def _cases() -> Iterator[Case]:
    """Label, kernel, NumPy program, arrays (None for any) and scalars; every kernel of the tests is there."""
    assert set(LISTED) == {path.stem for path in FOLDER.glob("*.mlir")}
    for label, name, extents in CASES:
        yield label, Kernel(kernel_text(name, **extents), label), DIRECT[name], None, {}
    for name, how in LISTED.items():
        kernel = Kernel(listed_text(name), name)
        yield name, kernel, how.direct, listed_arrays(name, kernel), how.scalars


def listed_arrays(name: str, kernel: Kernel) -> dict[str, Any]:
    """Seeded arrays for a kernel of `LISTED`, between 1 and 16 MiB of them: normal floats, given integers."""
    random = np.random.default_rng(0)
    given = dict(LISTED[name].integers)
    for a in kernel.arguments_for(LISTED[name].scalars):
        if a.kind == "memory" and a.name not in given:
            given[a.name] = LISTED[name].scale * random.standard_normal(a.shape, np.float32)
            given[a.name] = given[a.name].astype(numpy_dtype(a.dtype))
    size = sum(array.nbytes for array in given.values())
    assert 2**20 <= size <= 2**24, (name, size)
    return given


def measure(
    kernel: Kernel,
    direct: Callable[[dict[str, Any]], Any],
    given: dict[str, Any] | None = None,
    scalars: dict[str, float] | None = None,
) -> tuple[float, float]:
    """Seconds of the reference engine and of NumPy on the same arrays."""
    memory = Memory(1 << 34)
    arguments = kernel.arguments_for(scalars or {})
    binding = bind(arguments, given, memory, 0)
    values = {**default_scalars(kernel, scalars or {}), **binding.values(arguments)}
    arrays = {**binding.outputs(memory), **(given or {}), **(scalars or {})}
    interpret(kernel.module, memory, values)
    _require_alike(kernel.file, binding.outputs(memory), direct(arrays), arguments)
    ours = theirs = math.inf
    done, spent = 0, 0.0
    while done < RUNS or (spent < SPENT and done < 10 * RUNS):
        one = _seconds(lambda: interpret(kernel.module, memory, values))
        other = _seconds(lambda: direct(arrays))
        ours, theirs, done, spent = min(ours, one), min(theirs, other), done + 1, spent + one + other
    binding.release(memory)
    return ours, theirs


def _require_alike(name: str, ours: dict[str, Any], theirs: Any, arguments: Any) -> None:
    """Both sides computed the same, within what f16 of long sums allows; AssertionError otherwise."""
    outs = [a.name for a in arguments if a.role in ("out", "inout")]
    wanted = theirs if isinstance(theirs, dict) else {outs[0]: theirs}
    assert wanted.keys() <= set(outs) and wanted, (name, outs)
    for key, array in wanted.items():
        a, b = ours[key].astype(np.float64), np.asarray(array, np.float64).reshape(ours[key].shape)
        assert np.isfinite(b).all(), (name, key)
        assert np.allclose(a, b, rtol=1e-2, atol=1e-2 * np.abs(b).max()), (name, key)


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _parsing() -> list[dict[str, Any]]:
    """The time to parse and verify the largest test kernel, about 100 ops, the least of a few runs: before
    the kernels run, whose arrays and plans the garbage collector would look through. A plain loop beside it
    tells how fast the processor is just now.
    """
    text = (FOLDER / "paged_attention.mlir").read_text()
    ops = sum(1 for _ in parse(text).walk())
    least = plain = math.inf
    for _ in range(20 * RUNS):
        least = min(least, _seconds(lambda: verify(parse(text))))
        plain = min(plain, _seconds(lambda: sum(k for k in range(100_000))))
    name = f"parse and verify paged_attention, {ops} ops"
    return [
        _row(name, round(1e3 * least, 1), "ms", 35),
        _row(f"{name} over a loop of 100,000 sums", round(least / plain, 1), "x"),
    ]


def _starts() -> list[dict[str, Any]]:
    """How long the command line takes to say what it is, and a bare python beside it."""
    commands = {"bare python start": ["-c", "pass"], "CLI start": ["-m", "headrace.cli.main", "--help"]}
    least = dict.fromkeys(commands, math.inf)
    for _ in range(RUNS):
        for name, arguments in commands.items():
            before = _spent_by_children()
            subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
            least[name] = min(least[name], _spent_by_children() - before)
    return [
        _row("CLI start", round(least["CLI start"], 3), "s", 0.6),
        _row("bare python start", round(least["bare python start"], 3), "s"),
        _row("CLI start over python", round(least["CLI start"] / least["bare python start"], 1), "x"),
    ]


def _spent_by_children() -> float:
    """User and system seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(name: str, value: float, unit: str, target: float | None = None) -> dict[str, Any]:
    met = None if target is None else value <= target
    return {"name": name, "value": value, "unit": unit, "target": target, "met": met}


if __name__ == "__main__":
    for row in rows():
        end = (
            "" if row["target"] is None else f"  target {row['target']}: {'met' if row['met'] else 'MISSED'}"
        )
        print(f"{row['name']:<48}{row['value']:>10} {row['unit']:<3}{end}")
