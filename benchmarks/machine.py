"""Speed of the virtual accelerator: `headrace bench machine`.

Execution: decoded images on device memory, warm (the run is on its tape), beside the eager op of PyTorch on
the same values in the same process, taken in turns, one thread each; CPU time of this process, the least of
`RUNS`. A product and the MLP block (two programs here, three products and the gate there) are compared with
f32 eager, since f16 eager has no fast product on a CPU, everything else with f16.
`stream_by_vectors`: 64 MiB per tensor, vector by vector as another scheduler writes it, beside NumPy.
Timing: simulated cycles per second of CPU time, nothing executed, compiled code loaded. Memory: the bytes of
the arguments; what the process holds more after the runs than before them, without anything taken off; the
sum of both without `CACHE_BYTES` over the former, which has a target; and the most that the process held more
while the engine ran, with the device's scratchpads (2 MiB a core), which are freed once a tape is played.
What any process holds of compiled code and of BLAS is there before.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import gc
import math
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernels import kernel_text
from benchmarks.kernels.blocks import attention, gated
from benchmarks.kernels.by_vectors import KINDS, LANES, Stream
from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.machine.decode import decode
from headrace.machine.execute import execute
from headrace.machine.execute.arenas import drop
from headrace.machine.execute.tape import took
from headrace.machine.execute.tape.tapes import PATIENCE_S
from headrace.machine.timing import time as simulate
from headrace.numbers.memory import Memory
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Program

RUNS = 7
CACHE_BYTES = 4 << 20
"""What the machine may hold beside twice the data: tables of tapes, slabs of products."""
WARM_RUNS = 3
"""Runs before the measured ones: by the engine, and the first one of the tape."""
STREAMS = {
    "32 cores, tiles of 32 rows": Stream("add", 32, 512, 16),
    "32 cores, tiles of 2 rows": Stream("add", 32, 8192, 1),
    "2 cores, tiles of 32 rows": Stream("add", 2, 8192, 16),
}
HEADS, LENGTH, WIDTH = 8, 512, 64
ROWS, INNER, OUTER = 256, 1024, 4096
"""The MLP block: rows, model width, hidden width."""
LAYER_ROWS = 256
"""Rows of the decoder layer: 4096 wide, 32 heads of 128 (8 of keys), 14336 hidden, as in models of 8B."""

Arrays = dict[str, Any]


def rows() -> list[dict[str, Any]]:
    """Every figure of the docstring, with the targets of the project."""
    return [*_execution(), *_streams(), *_timing()]


# ---- execution ---------------------------------------------------------------------------------------------
def _execution() -> list[dict[str, Any]]:
    from headrace.machine.execute.tape.program import COLUMNS
    from headrace.machine.execute.tape.vm import play

    play(np.zeros((0, COLUMNS), np.int64), np.zeros(1, np.int64), 0)  # compiled before memory is measured
    square = np.ones((1024, 1024), np.float32)
    square @ square  # so are the buffers that BLAS keeps in any process
    found, ratios = [], []
    for label, chain, eager, target in _cases():
        ours, theirs, data, held, most = _side_by_side(chain, eager)
        ratios.append(ours / theirs)
        found += [
            _row(f"{label}", round(1e3 * ours, 2), "ms"),
            _row("  eager", round(1e3 * theirs, 2), "ms"),
            _row("  over eager", round(ours / theirs, 2), "x", target),
            _row("  data", round(data / 2**20, 1), "MiB"),
            _row("  held beside the data", round(held / 2**20, 1), "MiB"),
            _row(
                f"  data and held beyond {CACHE_BYTES >> 20} MiB, over the data",
                round(1 + max(0, held - CACHE_BYTES) / data, 2),
                "x",
                2,
            ),
            _row("  most held beside while the engine ran", round(most / 2**20, 1), "MiB"),
        ]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return [*found, _row("geometric mean over eager", round(mean, 2), "x", 1.4), *_conditions()]


def _cases() -> list[
    tuple[str, list[tuple[str, dict[str, Any]]], Callable[[Arrays], Callable[[], Any]], float]
]:
    """Label, kernels run in order (text, arguments renamed), the eager op, the target."""
    row = {"rows": 4096, "columns": 2048}
    norm = {"rows": 2048, "columns": 4096}
    square = {"m": 1024, "k": 1024, "n": 1024, "k_step": 128}
    first = gated(ROWS, INNER, OUTER, k_step=128)
    second = kernel_text("matmul", m=ROWS, k=OUTER, n=INNER, k_step=128)
    return [
        ("GEMM 1024^3", [(kernel_text("matmul", **square), {})], _matmul, 1.3),
        ("softmax 4096x2048", [(kernel_text("softmax", **row), {})], _softmax, 2.5),
        ("layernorm 2048x4096", [(kernel_text("layernorm", **norm), {})], _layernorm, 2.5),
        ("add 16 MiB", [(kernel_text("vector_add", rows=1, columns=2**23), {})], _add, 2.5),
        (f"attention {HEADS}x{LENGTH}x{WIDTH}", [(attention(HEADS, LENGTH, WIDTH), {})], _attention, 1.0),
        (f"MLP {ROWS}x{INNER}x{OUTER}", [(first, {}), (second, {"a": "h", "b": "d"})], _mlp, 1.3),
    ]


def _side_by_side(
    chain: list[tuple[str, dict[str, Any]]], eager: Callable[[Arrays], Callable[[], Any]]
) -> tuple[float, float, int, int, int]:
    """Seconds of the machine and of eager; bytes of the data, held besides after the runs, at most during."""
    memory, arrays, launches, most = Memory(1 << 32), {}, [], 0
    for text, names in chain:
        program = Kernel(text, "benchmark").compile("spyre")
        launches.append((program.image, memory, _bound(program, names, memory, arrays)))

    def run() -> None:
        for image, memory, values in launches:
            execute(image, memory, values)

    theirs = eager({name: array for name, (_, array) in arrays.items()})
    theirs()
    before = _settled_bytes()
    _forget_most()
    for k in range(WARM_RUNS):
        run()
        most = max(0, _most_bytes() - before) if k == 0 else most
        for image, _, _ in launches:
            took(image, PATIENCE_S)
    held = max(0, _settled_bytes() - before)
    ours_s = theirs_s = math.inf
    for _ in range(RUNS):
        ours_s = min(ours_s, _seconds(run))
        theirs_s = min(theirs_s, _seconds(theirs))
    data = sum(array.nbytes for _, array in arrays.values())
    return ours_s, theirs_s, data, held, most


def _resident_bytes() -> int:
    """What this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _settled_bytes() -> int:
    """What this process holds once what nobody needs is given back, of earlier cases too."""
    gc.collect()
    drop()
    return _resident_bytes()


def _forget_most() -> None:
    """Lets `_most_bytes` begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def _most_bytes() -> int:
    """The most that this process has held in memory since `_forget_most`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _bound(program: Program, names: dict[str, Any], memory: Memory, arrays: Arrays) -> dict[str, int]:
    """The element index of every argument; arrays are made once by name, normal values, outputs zero."""
    values, random = {}, np.random.default_rng(0)
    for a in (*program.arguments, *program.scratch):
        name, shape = names.get(a.name, a.name), tuple(int(n) for n in a.shape)
        if name not in arrays:
            at = memory.allocate(2 * math.prod(shape))
            arrays[name] = at, memory.bytes[at:][: 2 * math.prod(shape)].view(np.float16).reshape(shape)
            scale = 1 if len(shape) < 2 or shape[0] * shape[1] > 2**22 else 0.05
            arrays[name][1][...] = scale * random.standard_normal(shape, np.float32)
        values[a.name] = arrays[name][0] // 2
    return values


def _matmul(g: Arrays) -> Callable[[], Any]:
    a, b = (_tensor(g[n]).float() for n in "ab")
    return lambda: a @ b


def _softmax(g: Arrays) -> Callable[[], Any]:
    x = _tensor(g["x"])
    return lambda: x.softmax(-1)


def _layernorm(g: Arrays) -> Callable[[], Any]:
    from torch.nn.functional import layer_norm

    x, w, b = (_tensor(g[n]) for n in "xwb")
    return lambda: layer_norm(x, w.shape, w, b)


def _add(g: Arrays) -> Callable[[], Any]:
    import torch

    a, b = _tensor(g["a"]), _tensor(g["b"])
    out = torch.empty_like(a)
    return lambda: torch.add(a, b, out=out)


def _attention(g: Arrays) -> Callable[[], Any]:
    from torch.nn.functional import scaled_dot_product_attention

    q, v = (_tensor(g[n]).reshape(HEADS, LENGTH, WIDTH) for n in "qv")
    k = _tensor(g["kt"]).reshape(HEADS, WIDTH, LENGTH).transpose(1, 2).contiguous()
    return lambda: scaled_dot_product_attention(q, k, v)


def _mlp(g: Arrays) -> Callable[[], Any]:
    from torch.nn.functional import silu

    x, gate, up, down = (_tensor(g[n]).float() for n in "xgud")
    return lambda: (silu(x @ gate) * (x @ up)) @ down


def _tensor(array: Any) -> Any:
    import torch

    torch.set_num_threads(1)
    return torch.from_numpy(array.copy())


def _conditions() -> list[dict[str, Any]]:
    """Threads, what else the machine does, and which kernels BLAS uses."""
    return [
        _row("threads of each side", 1, ""),
        _row("load average / processors", round(os.getloadavg()[0] / (os.cpu_count() or 1), 2), "x"),
        _row(f"BLAS of NumPy: {_core()}", 1, "thread"),
    ]


def _core() -> str:
    import ctypes

    for path in sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas*")):
        name = getattr(ctypes.CDLL(str(path)), "scipy_openblas_get_corename64_", None)
        if name is not None:
            name.restype = ctypes.c_char_p
            return str(name().decode())
    return "unknown"


# ---- vector by vector --------------------------------------------------------------------------------------
def _streams() -> list[dict[str, Any]]:
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
    for _ in range(3):
        ours = min(ours, _seconds(lambda: execute(image, memory, {})))
        theirs = min(theirs, _seconds(lambda: np.add(a, b, out=out)))
    assert (y == out).all()
    return ours, theirs


# ---- timing ------------------------------------------------------------------------------------------------
def _timing() -> list[dict[str, Any]]:
    import_module("headrace.machine.timing.compiled.advance")  # not measured
    found = []
    square = {"m": 2048, "k": 4096, "n": 4096, "k_step": 128}
    tiles = {
        "GEMM 2048x4096x4096": kernel_text("matmul", **square),
        "softmax 4096x2048": kernel_text("softmax", rows=4096, columns=2048),
        "add 16 MiB": kernel_text("vector_add", rows=1, columns=2**23),
    }
    for label, text in tiles.items():
        found.append(
            _speed(f"timing, tiles, 32 cores: {label}", Kernel(text, label).compile("spyre").image, 20)
        )
    for cores in (2, 32):
        image = decode(parse(Stream("add", cores, 512, 16).text()), device("spyre"))
        found.append(_speed(f"timing, a vector a step, {cores} cores", image, 1))
    layer = 0.0
    for text in decoder_layer():
        scalars = {"eps": 1e-5} if "%eps: f32" in text else {}
        layer += _simulated(Kernel(text, "layer").compile("spyre", scalars=scalars).image)[0]
    label = f"timing, decoder layer of an 8B model, {LAYER_ROWS} rows"
    return [*found, _row(label, round(layer, 2), "s", 1)]


def decoder_layer() -> list[str]:
    """Every launch of the layer, in order; the gate costs what an addition does."""
    n, wide, key, hidden, heads = LAYER_ROWS, 4096, 1024, 14336, 32

    def product(k: int, columns: int) -> str:
        return kernel_text("matmul", m=n, k=k, n=columns, k_step=128)

    norm = kernel_text("rmsnorm", rows=n, columns=wide)
    add, gate = (kernel_text("vector_add", rows=n, columns=columns) for columns in (wide, hidden))
    return [
        norm, product(wide, wide), product(wide, key), product(wide, key),
        attention(heads, n, wide // heads, 1), product(wide, wide), add,
        norm, product(wide, hidden), product(wide, hidden), gate, product(hidden, wide), add,
    ]  # fmt: skip


def _speed(label: str, image: Any, target: float) -> dict[str, Any]:
    seconds, cycles = _simulated(image)
    speed = round(cycles / seconds / 1e6, 2)
    return {**_row(label, speed, "M/s", target), "met": speed >= target}


def _simulated(image: Any) -> tuple[float, float]:
    """Seconds (the least of three) and cycles of a simulation, all arguments at address 0."""
    values, machine = {a.name: 0 for a in image.arguments}, device("spyre")
    cycles, least = 0.0, math.inf
    for _ in range(3):
        start = time.process_time()
        cycles = simulate(image, values, machine).cycles
        least = min(least, time.process_time() - start)
    return least, cycles


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
