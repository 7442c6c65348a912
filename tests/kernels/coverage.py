"""Every kernel on every device: what it costs, equal to the reference, or the error that says why not."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from headrace.arch.device import Device
from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.checking import agrees, freedom
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel, load
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference

from .listed import CASES, FOLDER

EXAMPLES = Path(__file__).parents[2] / "examples/kernels"
KERNELS: dict[str, Path] = {
    **{path.stem: path for path in sorted(EXAMPLES.glob("*.mlir"))},
    **{f"test: {name}": FOLDER / f"{name}.mlir" for name in sorted(CASES)},
}
DEVICES: dict[str, tuple[str, dict[str, object]]] = {
    "spyre": ("spyre", {}),
    "spyre-1core": ("spyre-1core", {}),
    "sample": ("sample", {}),
    "tiny": ("tiny", {}),
    "half the bandwidth": ("spyre", {"hbm.sustained_gbps": 75.0}),
    "a quarter of the LX": ("spyre", {"lx.size_bytes": 524288}),
    "twice the cores": ("spyre", {"core.count": 64}),
}
"""Devices by name: a preset with constants changed."""


@lru_cache(maxsize=1)
def _expected(name: str) -> tuple[Kernel, dict[str, Any], dict[str, Any] | None, dict[str, Any]]:
    """The kernel, its scalars, its arrays (None: seeded), and what the reference makes of them."""
    kernel = load(KERNELS[name])
    arrays, scalars = None, {}
    if name.startswith("test: "):
        arrays, _ = CASES[name.removeprefix("test: ")]()
        scalars = {a.name: arrays.pop(a.name) for a in kernel.arguments if a.kind == "scalar"}
    else:
        scalars = default_scalars(kernel, {})
    return kernel, scalars, arrays, run_reference(kernel, arrays, scalars=scalars).outputs


def chip(name: str) -> Device:
    """The device of a name in `DEVICES`."""
    preset, changes = DEVICES[name]
    return device(preset, changes)


def outcome(kernel_name: str, device_name: str, is_checked: bool = False) -> str:
    """Cycles (and their ratio to the bound), or the error; AssertionError for a wrong result or a finding."""
    kernel, scalars, arrays, wanted = _expected(kernel_name)
    try:
        program = compile_kernel(kernel, chip(device_name), Options(scalars=scalars))
    except HeadraceError as error:
        first = error.diagnostics[0]
        assert first.op and first.hint and first.where.line > 0, f"not a typed error: {error}"
        return first.message
    run = run_program(program.reparsed(), arrays, is_checked=is_checked)
    terms, between = freedom(program)
    for a in kernel.arguments:
        if a.role in ("out", "inout"):
            assert agrees(run.outputs[a.name], wanted[a.name], a.dtype, terms, between), a.name
    if is_checked:
        assert program.illegalities() == []
        assert run.findings is not None and not any(run.findings.values()), run.findings
    assert run.bound is not None and run.cycles >= run.bound.cycles
    return f"{run.cycles:,} ({run.cycles / run.bound.cycles:.2f})"
