"""Correct programs to put faults into: hand-written samples and small kernels as the scheduler emits them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from headrace.arch.device import Device
from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.machine.decode import decode
from headrace.machine.execute.arenas import Scratchpads, new_scratchpads
from headrace.machine.image import Image
from headrace.numbers.dtypes import itemsize
from headrace.numbers.memory import Memory
from headrace.runtime.binding import bind
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel, load
from tests.machine import samples
from tests.mutants.rings import ring

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[2]
KERNELS = {
    "copy_column_split": ("sample",),
    "matmul_2d": ("tiny", "spyre-1core"),
    "reduce_generic": ("spyre-1core", "sample"),
    "rope_4x2": ("sample",),
    "scalar_broadcast": ("tiny", "sample"),
    "scatter": ("spyre-1core",),
    "sdpa_2d": ("tiny",),
    "indexed_add": ("tiny",),
    "layernorm": ("sample",),
    "nested_loops": ("tiny", "spyre-1core"),
    "rmsnorm_4x1": ("tiny", "sample"),
    "extract_slice_dynamic": ("tiny",),
    "swiglu_1": ("tiny",),
    "paged_copy": ("tiny", "sample"),
    "ring_reduce": ("sample", "spyre"),
    "ring_reduce_loop": ("tiny",),
    "host_two_kernels": ("tiny",),
}
"""Kernels of `tests/kernels` small enough to run a few thousand times, and for which devices."""


@dataclass(frozen=True)
class Subject:
    """A correct module with inputs: `memory` is device memory before the run, `outputs` are byte ranges."""

    name: str
    module: Any
    device: Device
    memory: Memory
    scalars: dict[str, Any]
    outputs: tuple[tuple[int, int], ...]
    blank: tuple[tuple[int, int], ...] = ()

    @cached_property
    def start(self) -> Array:
        """The bytes of device memory in use, before a run."""
        return self.memory.bytes[: self._top].copy()

    @cached_property
    def _top(self) -> int:
        used = np.flatnonzero(self.memory.bytes[: 1 << 19])
        ends = [high for _, high in self.outputs]
        return max([int(used[-1]) + 1 if used.size else 0, *ends]) + 4096

    @cached_property
    def image(self) -> Image:
        """The program decoded."""
        return decode(self.module, self.device)

    @cached_property
    def pads(self) -> Scratchpads:
        """Scratchpads for the runs of this subject's mutants."""
        return new_scratchpads(self.image)

    def prepare(self, seed: int) -> None:
        """Device memory as before the run; scratchpads and register files full of what only `seed` knows."""
        self.memory.bytes[: len(self.start)] = self.start
        noise = np.random.default_rng(seed).standard_normal(1 << 15).astype(np.float16).view(np.uint8)
        size = self.device.memory("ct_local").size_bytes
        for core in range(self.image.cores):
            pad = self.pads.lx[core * size : core * size + min(size, 1 << 16)]
            pad[:] = noise[: len(pad)]
        for name, registers in self.pads.registers.items():
            self.pads.registers[name][:] = np.resize(noise, len(registers))

    def result(self) -> bytes:
        """The bytes of the outputs now."""
        return b"".join(self.memory.bytes[low:high].tobytes() for low, high in self.outputs)


def hand_written() -> Iterator[Subject]:
    """The sample programs of `tests/machine`."""
    for make in samples.ALL:
        sample = make()
        outputs = tuple((a * x.itemsize, a * x.itemsize + x.nbytes) for a, x in sample.outputs)
        module = parse(samples.text(sample.name))
        yield Subject(sample.name, module, device("spyre"), sample.memory(), dict(sample.scalars), outputs)


def compiled() -> Iterator[Subject]:
    """Small kernels of `tests/kernels` as the scheduler emits them for several devices."""
    for name, devices in KERNELS.items():
        for chip in devices:
            yield of_kernel(load(ROOT / "tests" / "kernels" / f"{name}.mlir"), chip, f"{name} on {chip}")


def of_kernel(kernel: Kernel, chip: str, name: str) -> Subject:
    """A kernel compiled for a device, with seeded inputs in memory."""
    program = compile_kernel(kernel, chip, Options(scalars=default_scalars(kernel, {})))
    memory = Memory(1 << 22)
    arguments = (*program.arguments, *program.scratch)
    binding = bind(arguments, None, memory, 1)
    spans = {
        a.name: (start, start + math.prod(shape) * itemsize(dtype))
        for a in arguments
        if a.name in binding.arrays
        for start, dtype, shape in [binding.arrays[a.name]]
    }
    outputs = tuple(spans[a.name] for a in arguments if a.role in ("out", "inout") and a.name in spans)
    blank = tuple(spans[a.name] for a in arguments if a.role in ("out", "scratch") and a.name in spans)
    module = parse(program.dfir, f"{kernel.file}.dfir")
    return Subject(name, module, program.device, memory, binding.values(arguments), outputs, blank)


def long_ring(rows: int = 40) -> Subject:
    """Rows through the copies of a buffer, in loops that are long for a program that small."""
    far, width = 1 << 13, 64
    memory = Memory(1 << 22)
    values = np.random.default_rng(1).standard_normal(rows * width).astype(np.float16)
    memory.bytes[: values.nbytes] = values.view(np.uint8)
    span = (far * 2, far * 2 + values.nbytes)
    module = parse(ring(rows, rows, rows, far=far))
    return Subject("long ring", module, device("spyre"), memory, {}, (span,), (span,))


@lru_cache(maxsize=1)
def joined_subject() -> Subject:
    """Two cores that exchange signals, each as good as the other."""
    return of_kernel(load(ROOT / "tests" / "kernels" / "ring_reduce.mlir"), "sample", "ring_reduce on sample")


@lru_cache(maxsize=1)
def small_subjects() -> tuple[Subject, ...]:
    """A few programs whose mutants run in a moment."""
    few = [s for s in hand_written() if s.name in ("softmax", "ring_reduce", "resident")]
    folder = ROOT / "tests" / "kernels"
    nested = of_kernel(load(folder / "nested_loops.mlir"), "spyre-1core", "nested_loops on spyre-1core")
    return (*few, nested, joined_subject(), long_ring())


@lru_cache(maxsize=1)
def all_subjects() -> tuple[Subject, ...]:
    """Every program that is put to the test."""
    return (*hand_written(), *compiled(), long_ring())
