"""Every example kernel at every awkward extent on every device: it runs alike at all levels, or its typed
error says why.
"""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.kernels import KERNELS, VARIANTS, kernel_text

from headrace.arch.device import Device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.machine.decode import decode
from headrace.runtime.checking import agrees, freedom
from headrace.runtime.defaults import default_scalars
from headrace.runtime.kernel import Kernel, load
from headrace.runtime.launch import run_program
from headrace.runtime.program import Run
from headrace.runtime.reference import run_reference
from headrace.schedule.search import OPTIMISATIONS

DEVICES = ("spyre", "spyre-1core", "sample", "tiny")
EXAMPLES = sorted(KERNELS)


def _elements(extents: dict[str, Any]) -> int:
    """Of all tensors of a product, of one tensor of another kernel."""
    if "k" in extents:
        m, n, k = (extents[key] for key in "mnk")
        return int(m * k + k * n + m * n)
    return int(extents["rows"] * extents["columns"])


CASES = [(name, extents) for name in EXAMPLES for extents in VARIANTS[name]]
QUICK = [(name, extents) for name, extents in CASES if _elements(extents) < 200_000]
LARGE = [case for case in CASES if case not in QUICK]


def compare(
    kernel: Kernel, device: str | Device, is_checked: bool = False, without: tuple[str, ...] = ()
) -> Run:
    """Compiles, verifies, runs printed and re-parsed DFIR, compares with the reference; AssertionError if
    they differ. Returns the run.
    """
    scalars = default_scalars(kernel, {})
    program = kernel.compile(device, scalars=scalars, without=without)
    assert not program.illegalities()
    run = run_program(program.reparsed(), None, 1, is_checked=is_checked)
    reference = run_reference(kernel, None, 1, scalars)
    terms, between = freedom(program)
    for a in kernel.arguments:
        if a.role in ("out", "inout"):
            assert agrees(run.outputs[a.name], reference.outputs[a.name], a.dtype, terms, between), a.name
    assert run.bound is not None and run.cycles >= run.bound.cycles
    if is_checked:
        assert run.findings is not None and not any(run.findings.values()), run.findings
    return run


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_kernel_runs_on_a_device(name: str, device: str) -> None:
    compare(load(f"examples/kernels/{name}.mlir"), device)


@pytest.mark.parametrize("name,extents", QUICK, ids=[f"{n}-{e}" for n, e in QUICK])
def test_an_awkward_extent_runs_on_spyre(name: str, extents: dict[str, Any]) -> None:
    compare(Kernel(kernel_text(name, **extents), name), "spyre", is_checked=_elements(extents) < 20_000)


@pytest.mark.parametrize("name,extents", QUICK[::5], ids=[f"{n}-{e}" for n, e in QUICK[::5]])
@pytest.mark.parametrize("device", ["tiny", "sample"])
def test_an_awkward_extent_runs_on_a_small_device(name: str, extents: dict[str, Any], device: str) -> None:
    compare(Kernel(kernel_text(name, **extents), name), device)


@pytest.mark.long
@pytest.mark.parametrize("name,extents", LARGE[::5], ids=[f"{n}-{e}" for n, e in LARGE[::5]])
@pytest.mark.parametrize("device", ["tiny", "sample"])
def test_a_large_extent_runs_on_a_small_device(name: str, extents: dict[str, Any], device: str) -> None:
    compare(Kernel(kernel_text(name, **extents), name), device)


@pytest.mark.parametrize("name", ["vector_add", "softmax"])
def test_a_tensor_larger_than_the_scratchpad_runs(name: str) -> None:
    extents = min((e for n, e in LARGE if n == name), key=_elements)
    compare(Kernel(kernel_text(name, **extents), name), "spyre")


@pytest.mark.long
@pytest.mark.parametrize("name,extents", LARGE, ids=[f"{n}-{e}" for n, e in LARGE])
def test_many_tensors_larger_than_the_scratchpad_run(name: str, extents: dict[str, Any]) -> None:
    compare(Kernel(kernel_text(name, **extents), name), "spyre")


@pytest.mark.parametrize("columns", [2051, 161, 1921])
def test_a_long_row_whose_tail_is_no_whole_step_is_read_to_its_end(columns: int) -> None:
    compare(Kernel(kernel_text("softmax", rows=3, columns=columns, cores=1)), "tiny")


@pytest.mark.parametrize("name", EXAMPLES)
def test_text_and_module_decode_to_equal_images(name: str) -> None:
    kernel = load(f"examples/kernels/{name}.mlir")
    program = kernel.compile("spyre", scalars=default_scalars(kernel, {}))
    assert decode(parse(program.dfir, "text"), program.device) == program.image


def test_a_device_without_the_type_says_so() -> None:
    kernel = load("examples/kernels/vector_add.mlir")
    text = kernel.text.replace("f16", "f64")
    with pytest.raises(HeadraceError, match="f64"):
        Kernel(text).compile("sample")


@pytest.mark.parametrize("without", [*((name,) for name in OPTIMISATIONS), OPTIMISATIONS])
@pytest.mark.parametrize(
    ("name", "extents"),
    [
        ("matmul_bias_gelu", {"m": 1, "k": 770, "n": 2, "grid": (1, 2), "k_step": 64}),
        ("layernorm", {"rows": 3, "columns": 1100, "cores": 2, "rows_per_step": 1}),
        ("attention", {"heads": 2, "length": 9, "depth": 7}),
    ],
)
def test_a_kernel_is_right_without_an_optimisation(
    name: str, extents: dict[str, Any], without: tuple[str, ...]
) -> None:
    """Rows longer than the registers of the device among them."""
    compare(Kernel(kernel_text(name, **extents)), "tiny", True, without)
