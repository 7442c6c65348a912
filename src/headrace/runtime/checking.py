"""Is a kernel right: legality at every level, then reference against machine on the same seeded inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headrace.arch.device import Device
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.numbers.dtypes import is_float, precision_bits
from headrace.numbers.tolerance import max_ulp, ulp_distance, ulp_size
from headrace.runtime.kernel import Kernel, load
from headrace.runtime.program import Program

Array = np.ndarray[Any, Any]


@dataclass
class Outcome:
    """What a check found: errors of the text or its schedule, or how machine and reference compare."""

    errors: list[Diagnostic] = field(default_factory=list)
    agree: bool | None = None
    max_ulp: int | None = None
    findings: Mapping[str, list[str]] | None = None
    ratio: float | None = None
    cycles: int | None = None
    warnings: list[Diagnostic] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 fine, 1 the kernel is wrong, 2 a check found faults."""
        if self.errors:
            return 1
        return 2 if self.agree is False or any((self.findings or {}).values()) else 0

    def to_json(self) -> dict[str, Any]:
        """The object `headrace check --json` prints."""
        return {
            "schema": 1,
            "errors": [_error(found) for found in self.errors],
            "agree": self.agree,
            "max_ulp": self.max_ulp,
            "check": self.findings,
        }

    def text(self) -> str:
        """The outcome in a few lines."""
        faults = [f"{kind}: {text}" for kind, texts in (self.findings or {}).items() for text in texts]
        lines = []
        if self.agree is not None:
            lines.append(
                f"reference and machine {'agree' if self.agree else 'DIFFER'} (max {self.max_ulp} ulp)"
            )
        lines.append("sanitizer: " + (f"{len(faults)} faults" if faults else "no fault found"))
        if self.cycles is not None:
            lines.append(
                f"cycles {self.cycles:,}" + (f", ratio to bound {self.ratio:.3f}" if self.ratio else "")
            )
        return "\n".join([*map(str, self.warnings), *lines, *faults])


def check_kernel(
    file: Path, device: Device, scalars: Mapping[str, float | int], seed: int = 0, strict_lx: bool = False
) -> Outcome:
    """Check one file; every error is in the outcome, none is raised."""
    try:
        kernel = load(file)
        outcome = _check(kernel, device, scalars, seed, strict_lx)
        outcome.warnings = kernel.warnings
        return outcome
    except HeadraceError as error:
        return Outcome(list(error.diagnostics))


def _check(kernel: Kernel, device: Device, scalars: Mapping[str, Any], seed: int, strict_lx: bool) -> Outcome:
    from headrace.runtime.compiler import Options, compile_kernel
    from headrace.runtime.defaults import default_scalars
    from headrace.runtime.launch import run_program
    from headrace.runtime.reference import run_reference
    from headrace.semantics.plain import Options as Meaning

    known = default_scalars(kernel, scalars)
    program = compile_kernel(kernel, device, Options(scalars=known))
    errors = program.illegalities()
    if errors:
        return Outcome(errors)
    run = run_program(program.reparsed(), None, seed, is_checked=True)
    ratio = run.cycles / run.bound.cycles if run.bound and run.bound.cycles else None
    if kernel.level != "ktir":
        return Outcome(findings=run.findings, ratio=ratio, cycles=run.cycles)
    reference = run_reference(kernel, None, seed, known, Meaning(strict_lx=strict_lx))
    terms, between = freedom(program)
    pairs = [(run.outputs[key], reference.outputs[key], a.dtype) for key, a in _written(kernel, run.outputs)]
    return Outcome(
        agree=all(agrees(mine, theirs, dtype, terms, between) for mine, theirs, dtype in pairs),
        max_ulp=max((max_ulp(typed(a, t), typed(b, t)) for a, b, t in pairs), default=0),
        findings=run.findings,
        ratio=ratio,
        cycles=run.cycles,
    )


def freedom(program: Program) -> tuple[int, str]:
    """How many values one result of a program sums over at most, and the type sums are rounded to between
    reductions ("" for none).
    """
    return int(program.meta.get("reduction_terms", 0)), str(program.meta.get("rounded_between", ""))


def agrees(mine: Array, theirs: Array, dtype: str, terms: int, between: str = "") -> bool:
    """Whether two engines' arrays are equal within what a free order of summation allows."""
    return not mismatch(mine, theirs, dtype, terms, between).any()


def mismatch(mine: Array, theirs: Array, dtype: str, terms: int, between: str = "") -> Array:
    """Where two engines' arrays differ by more than a free order of summation allows, as a mask.

    Integers and NaN positions exactly; floats within 1 ulp, or, for a kernel that reduces `terms` values,
    within
    2 K 2^-24 of the array's largest magnitude (the bound 2 sqrt(K) 2^-24 sum|ab| with sum|ab| taken as
    sqrt(K) times
    the largest result) plus one ulp. Sums rounded to the type `between` before others read them may be
    rounded the other way: one unit in the last place of the largest magnitude in that type is added.
    """
    a, b = typed(mine, dtype), typed(theirs, dtype)
    if not is_float(dtype):
        return np.asarray(a != b)
    far = ulp_distance(a, b) > 1
    if not far.any() or not terms:
        return np.asarray(far)
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(y[np.isfinite(y)])
    scale = float(finite.max()) if finite.size else 0.0
    slack = 2.0 * terms * 2.0**-24 + (2.0 ** (1 - precision_bits(between)) if between else 0.0)
    with np.errstate(invalid="ignore"):
        within = np.abs(x - y) <= slack * scale + ulp_size(y, dtype)
    return np.asarray(far & ~within)


def _written(kernel: Kernel, outputs: Mapping[str, Array]) -> list[tuple[str, Any]]:
    return [(a.name, a) for a in kernel.arguments if a.name in outputs and a.role in ("out", "inout")]


def typed(array: Array, dtype: str) -> Array:
    """An array as it travels, seen as its element type."""
    from headrace.numbers.dtypes import numpy_dtype

    return array.view(numpy_dtype(dtype)) if array.dtype != numpy_dtype(dtype) else array


def _error(found: Diagnostic) -> dict[str, Any]:
    where = found.where
    return {
        "file": where.file if where else None,
        "line": where.line if where else None,
        "col": where.col if where else None,
        "message": f"{found.op}: {found.message}" if found.op else found.message,
        "hint": found.hint,
    }
