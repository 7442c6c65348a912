"""One launch on the virtual accelerator: executed for results, timed for cycles, sanitized when asked."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headrace.ir.diagnostics import HeadraceError
from headrace.numbers.dtypes import itemsize
from headrace.numbers.memory import ALIGNMENT, Memory
from headrace.runtime.binding import Binding, bind
from headrace.runtime.memory import device_memory
from headrace.runtime.program import Program, Run

CATEGORIES = ("races", "deadlocks", "uninitialised", "out_of_bounds", "alignment", "fifo", "signals")


@dataclass(frozen=True)
class Outcome:
    """What a launch measured; times of this process in milliseconds. `trips` are the counts of loops over
    loaded values.
    """

    timing: Any
    findings: Mapping[str, list[str]] | None
    execute_ms: float
    timing_ms: float
    trips: Any = None


def launch(
    program: Program,
    bindings: Mapping[str, float | int],
    memory: Memory | None = None,
    is_checked: bool = False,
    is_timed: bool = True,
    is_traced: bool = False,
) -> Outcome:
    """Run a program on device memory as it is; `bindings` gives each argument its byte address or scalar
    value.

    Results are in memory afterwards. Scratch the schedule asks for is allocated for the launch and freed
    after it.
    """
    from headrace.machine.execute import execute

    memory = memory or device_memory()
    held: list[int] = []
    try:
        values = _values(program, bindings, memory, held)
        findings = _sanitize(program, memory, values) if is_checked else None
        start = time.perf_counter()
        result = execute(program.image, memory, values)
        execute_ms = 1e3 * (time.perf_counter() - start)
        start = time.perf_counter()
        timing = _timing(program, values, result.trips, is_traced) if is_timed else None
        return Outcome(timing, findings, execute_ms, 1e3 * (time.perf_counter() - start), result.trips)
    finally:
        for address in held:
            memory.free(address)


def run_program(
    program: Program,
    inputs: Mapping[str, Any] | None,
    seed: int = 0,
    is_checked: bool = False,
    is_traced: bool = False,
    memory: Memory | None = None,
) -> Run:
    """Bind, launch, read back; `inputs` None means seeded inputs."""
    memory = memory or Memory(program.device.memory("global").size_bytes)
    program = _for_scalars(program, inputs or {})
    binding = bind(program.arguments, inputs, memory, seed)
    try:
        outcome = launch(program, _bindings(program, binding), memory, is_checked, is_traced=is_traced)
        outputs = binding.outputs(memory)
    finally:
        binding.release(memory)
    return Run(
        program,
        outputs,
        timing=outcome.timing,
        findings=outcome.findings,
        execute_ms=outcome.execute_ms,
        timing_ms=outcome.timing_ms,
    )


@contextmanager
def bound(
    program: Program, inputs: Mapping[str, Any] | None, memory: Memory, seed: int = 0
) -> Iterator[dict[str, float | int]]:
    """Every run-time argument of the DFIR, with its arrays and scratch in memory for as long as it lasts."""
    binding = bind(program.arguments, inputs, memory, seed)
    held: list[int] = []
    try:
        yield _values(program, _bindings(program, binding), memory, held)
    finally:
        for address in held:
            memory.free(address)
        binding.release(memory)


def _bindings(program: Program, binding: Binding) -> dict[str, float | int]:
    return {**(program.scalars if program.is_foreign else {}), **binding.scalars, **binding.addresses}


def _for_scalars(program: Program, inputs: Mapping[str, Any]) -> Program:
    """The program made for the scalar values among the inputs; compiled anew when they are other ones."""
    names = {a.name for a in program.arguments if a.kind == "scalar"}
    given = {key: value for key, value in inputs.items() if key in names}
    wanted = {**program.scalars, **{k: v.item() if hasattr(v, "item") else v for k, v in given.items()}}
    if wanted == program.scalars:
        return program
    if program.is_foreign:
        return program.with_scalars(wanted)
    if not program.ktir:
        raise HeadraceError(
            f"the program was compiled for {program.scalars}",
            hint="compile the KTIR for the new scalar values",
        )
    from headrace.runtime.compiler import recompile

    return recompile(program, wanted)


def _values(
    program: Program, bindings: Mapping[str, float | int], memory: Memory, held: list[int]
) -> dict[str, float | int]:
    """Every run-time argument of the DFIR: element index of its start for memory, the number for a scalar."""
    arguments = (*program.arguments, *program.scratch)
    types = {a.name: a.dtype for a in arguments if a.kind == "memory" and a.unit == "element"}
    values: dict[str, float | int] = {}
    for argument in program.image.arguments:
        name = argument.name
        scratch = next((a for a in program.scratch if a.name == name), None)
        if scratch is not None and name not in bindings:
            address: float | int = memory.allocate(math.prod(scratch.shape) * itemsize(scratch.dtype))
            held.append(int(address))
        elif name in bindings:
            address = bindings[name]
        else:
            raise HeadraceError(f"argument '{name}' of {program.name} is not bound", hint=f"bind {name}")
        values[name] = int(address) // itemsize(types[name]) if name in types else address
    return values


def _timing(program: Program, values: Mapping[str, float | int], trips: Any, is_traced: bool) -> Any:
    """The cycles of the program; of an address only the bytes past a granule matter: alike launches share."""
    from headrace.machine.timing import time as simulate

    if trips or is_traced:
        return simulate(program.image, dict(values), program.device, trips=trips or None, is_traced=is_traced)
    sizes = {a.name: itemsize(a.dtype) for a in (*program.arguments, *program.scratch) if a.kind == "memory"}
    key = tuple((n, int(v) * sizes[n] % ALIGNMENT if n in sizes else v) for n, v in sorted(values.items()))
    if key not in program.timings:
        program.timings[key] = simulate(program.image, dict(values), program.device)
    return program.timings[key]


def _sanitize(program: Program, memory: Memory, values: Mapping[str, float | int]) -> dict[str, list[str]]:
    from headrace.machine.check import sanitize

    found: dict[str, list[str]] = {name: [] for name in CATEGORIES}
    for finding in sanitize(program.image, memory, dict(values), blank=_blank(program, values)):
        found[finding.category].append(str(finding))
    return found


def _blank(program: Program, values: Mapping[str, float | int]) -> list[tuple[int, int]]:
    """Byte ranges of arguments that hold nothing before the program writes them: outputs and scratch.

    An output that shares bytes with another argument may hold what that one brings.
    """
    spans = {}
    for a in (*program.arguments, *program.scratch):
        if a.kind == "memory" and a.name in values:
            start = int(values[a.name]) * itemsize(a.dtype)
            spans[a.name] = (start, start + math.prod(a.shape) * itemsize(a.dtype), a.role)
    return [
        (low, high)
        for name, (low, high, role) in spans.items()
        if role in ("out", "scratch")
        and not any(name != n and low < end and first < high for n, (first, end, _) in spans.items())
    ]
