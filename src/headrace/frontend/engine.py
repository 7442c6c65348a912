"""Launching recorded kernels: loop program → KTIR → program for the selected device → device memory."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from headrace.arch.device import Device
from headrace.frontend.compile import loop_program_to_ktir
from headrace.frontend.lower.kernel import KernelText
from headrace.frontend.memory import BASE
from headrace.numbers.dtypes import itemsize
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.memory import device_memory
from headrace.runtime.program import Program, Run
from headrace.runtime.selection import selection


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel at every level, for one device."""

    text: KernelText
    kernel: Kernel
    device: Device
    options: Options = Options()

    @property
    def ktir(self) -> str:
        """The KTIR text."""
        return self.text.text

    @cached_property
    def program(self) -> Program:
        """The scheduled program; made at the first launch on the machine."""
        return compile_kernel(self.kernel, self.device, self.options)

    @property
    def plan(self) -> Any:
        """The scheduler's plan as JSON data."""
        return self.program.plan

    @property
    def dfir(self) -> str:
        """The DFIR text."""
        return self.program.dfir


_compiled: dict[tuple[str, ...], CompiledKernel] = {}
_lock = threading.RLock()


def compiled_kernel(loop_program: Mapping[str, Any], device: Device) -> CompiledKernel:
    """The kernel of a loop program for a device; compiled once in a process for equal texts."""
    with _lock:
        text = loop_program_to_ktir(loop_program, device)
        hints = loop_program.get("hints", {})
        key = (hashlib.sha256(text.text.encode()).hexdigest(), device.sha256, str(hints))
        if key not in _compiled:
            options = Options(tuple(hints.get("without", ())), hints.get("effort", 1))
            kernel = Kernel(text.text, f"{loop_program['name']}.mlir")
            _compiled[key] = CompiledKernel(text, kernel, device, options)
        return _compiled[key]


def run_kernel(kernel: Any, tensors: Sequence[torch.Tensor]) -> tuple[CompiledKernel, Run]:
    """Runs a recorded kernel (a `LoopKernel`) on device tensors with the selected engine and device."""
    chosen = selection()
    compiled = kernel.compiled.get(chosen.device.sha256)
    if compiled is None:
        compiled = kernel.compiled[chosen.device.sha256] = compiled_kernel(kernel.program, chosen.device)
    names = [name for name, _, _ in kernel.program["args"]]
    addresses = {name: int(t.data_ptr()) - BASE for name, t in zip(names, tensors, strict=True)}
    memory = device_memory()
    held = [memory.allocate(s.elements * itemsize(s.dtype)) for s in compiled.text.scratch]
    addresses |= {s.name: address for s, address in zip(compiled.text.scratch, held, strict=True)}
    try:
        if chosen.engine == "reference":
            return compiled, _interpret(compiled, addresses)
        return compiled, _launch(compiled, addresses)
    finally:
        for address in held:
            memory.free(address)


def _launch(compiled: CompiledKernel, addresses: Mapping[str, int]) -> Run:
    from headrace.runtime.launch import launch

    outcome = launch(compiled.program, addresses, device_memory())
    return Run(
        compiled.program,
        {},
        timing=outcome.timing,
        execute_ms=outcome.execute_ms,
        timing_ms=outcome.timing_ms,
    )


def _interpret(compiled: CompiledKernel, addresses: Mapping[str, int]) -> Run:
    from headrace.semantics.batched import Options as Meaning
    from headrace.semantics.batched import interpret

    types = {a.name: a.dtype for a in compiled.kernel.arguments if a.kind == "memory"}
    values = {
        name: address // itemsize(types[name]) if name in types else 0 for name, address in addresses.items()
    }
    report = interpret(compiled.kernel.module, device_memory(), values, Meaning())
    return Run(None, {}, "reference", kernel=compiled.kernel, reference=report)
