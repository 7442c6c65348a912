"""The reference engine: the KTIR interpreter behind the same binding rules as the machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from headrace.ir.diagnostics import HeadraceError
from headrace.numbers.memory import Memory
from headrace.runtime.binding import bind
from headrace.runtime.kernel import Kernel
from headrace.runtime.program import Run

MEMORY_BYTES = 1 << 37


def run_reference(
    kernel: Kernel,
    inputs: Mapping[str, Any] | None,
    seed: int = 0,
    scalars: Mapping[str, float | int] | None = None,
    options: Any = None,
) -> Run:
    """Interpret a KTIR kernel; `inputs` None means seeded inputs. HeadraceError for a kernel below KTIR."""
    from headrace.semantics.batched import Options, interpret

    if kernel.level != "ktir":
        raise HeadraceError(
            f"the reference engine interprets KTIR, this is {kernel.level}", hint="use --engine machine"
        )
    memory = Memory(MEMORY_BYTES)
    arguments = kernel.arguments_for(scalars or {})
    binding = bind(arguments, inputs, memory, seed)
    try:
        values = {**(scalars or {}), **binding.values(arguments)}
        start = time.perf_counter()
        report = interpret(kernel.module, memory, values, options or Options(), kernel.function)
        elapsed = 1e3 * (time.perf_counter() - start)
        return Run(
            None, binding.outputs(memory), "reference", execute_ms=elapsed, kernel=kernel, reference=report
        )
    finally:
        binding.release(memory)
