"""Launching recorded kernels: loop program → KTIR → program for the selected device → device memory."""

from __future__ import annotations

import hashlib
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from headrace.arch.device import Device
from headrace.frontend import session
from headrace.frontend.compile import loop_program_to_ktir
from headrace.frontend.host.interpreter import interpret as interpret_loops
from headrace.frontend.lower.kernel import KernelText
from headrace.frontend.memory import BASE
from headrace.ir.diagnostics import Diagnostic, HeadraceError, Location
from headrace.numbers.dtypes import itemsize
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.memory import device_memory
from headrace.runtime.program import Program, Run
from headrace.runtime.selection import Selection, selection


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


def compiled_or_refused(loop_program: Mapping[str, Any], chosen: Selection) -> CompiledKernel | HeadraceError:
    """The kernel of a loop program, ready to launch on the selected engine; why there is none otherwise."""
    try:
        compiled = compiled_kernel(loop_program, chosen.device)
        if chosen.engine == "machine":
            compiled.program.image  # noqa: B018  the launch takes it from here
        return compiled
    except HeadraceError as error:
        return error
    except Exception as error:  # a fault of ours must not stop the user's program
        return internal_error(error)


def internal_error(error: Exception) -> HeadraceError:
    """A fault of the compiler as the reason of a fallback."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    hint = "please report it; this kernel runs on the host"
    return HeadraceError(
        Diagnostic(f"a fault of the compiler: {text} ({place})", op="loop program", hint=hint)
    )


def run_kernel(kernel: Any, tensors: Sequence[torch.Tensor]) -> tuple[CompiledKernel, Run] | None:
    """Runs a recorded kernel (a `LoopKernel`) on device tensors with the selected engine and device.

    None when it cannot be compiled for them: its loops ran on the host instead (HeadraceError in fallback
    mode "error").
    """
    chosen = selection()
    key = (chosen.device.sha256, chosen.engine)
    compiled = kernel.compiled.get(key)
    if compiled is None:
        compiled = kernel.compiled[key] = compiled_or_refused(kernel.program, chosen)
    if isinstance(compiled, HeadraceError):
        session.note_host_kernel(kernel.name, kernel.source, kernel.operators, compiled)
        interpret_loops(kernel.program, tensors)
        return None
    names = [name for name, _, _ in kernel.program["args"]]
    addresses = {name: int(t.data_ptr()) - BASE for name, t in zip(names, tensors, strict=True)}
    memory = device_memory()
    held = [memory.allocate(s.elements * itemsize(s.dtype)) for s in compiled.text.scratch]
    addresses |= {s.name: address for s, address in zip(compiled.text.scratch, held, strict=True)}
    try:
        if chosen.engine == "reference":
            return compiled, _interpret(compiled, addresses)
        return compiled, _launch(compiled, addresses)
    except HeadraceError as error:
        raise HeadraceError(_stopped(kernel, error)) from error
    finally:
        for address in held:
            memory.free(address)


def _stopped(kernel: Any, error: HeadraceError) -> list[Diagnostic]:
    """What stopped a kernel, in the words of the program it comes from: operators, operands, source line."""
    program = kernel.program
    read = [(name, dtype) for name, role, dtype in program["args"] if role != "out"]
    operands = ", ".join(f"{dtype}[{', '.join(program['layouts'][name][0])}]" for name, dtype in read)
    where = Location(*session.file_and_line(kernel.source)) if kernel.source else None
    hint = "the same call on CPU tensors shows what PyTorch says to it"
    return [
        Diagnostic(
            f"{found.op}: {found.message} (kernel {kernel.name} on {operands})",
            where,
            ", ".join(kernel.operators),
            found.hint or hint,
        )
        for found in error.diagnostics
    ]


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
