"""No module is refused for its size while smaller tiles fit, and what fits means the same at all levels."""

from __future__ import annotations

import pytest
from benchmarks.kernels import kernel_text

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.checking import agrees
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from headrace.runtime.program import Program
from headrace.runtime.reference import run_reference
from headrace.schedule.search import spare_bytes
from tests.differential.modules import module

SMALL = [("spyre", 512 * 1024, 8), ("tiny", 32 * 1024, 1), ("tiny", 16 * 1024, 1), ("tiny", 4 * 1024, 1)]


def compiled(text: str, name: str, size: int) -> Program:
    """The program of a module, its plan checked against the room it was made for."""
    program = Kernel(text).compile(device(name, {"lx.size_bytes": size}))
    assert 0 < program.plan["room_bytes"] < size
    for part in program.plan["classes"]:
        alone = spare_bytes(program.device) if len(part["phases"]) == 1 else 0
        assert all(phase["lx_bytes"] <= program.plan["room_bytes"] + alone for phase in part["phases"])
    return program


@pytest.mark.parametrize("name,size,scale", SMALL)
@pytest.mark.parametrize("seed", range(3))
def test_a_module_of_several_kernels_fits_a_small_scratchpad(
    seed: int, name: str, size: int, scale: int
) -> None:
    compiled(module(seed, scale)[0], name, size)


@pytest.mark.parametrize("size", [2 * 1024, 16 * 1024])
@pytest.mark.parametrize("seed", [2, 4, 6, 7])
def test_a_module_in_a_small_scratchpad_means_what_the_reference_says(seed: int, size: int) -> None:
    text, kernels = module(seed)
    kernel, program = Kernel(text), compiled(text, "tiny", size)
    assert not program.illegalities()
    run = run_program(program.reparsed(), None, seed, is_checked=True)
    assert run.findings is not None and not any(run.findings.values()), run.findings
    reference = run_reference(kernel, None, seed)
    terms = len(kernels) * max(int(program.meta["reduction_terms"]), 1)
    for a in kernel.arguments:
        if a.role in ("out", "inout"):
            assert agrees(run.outputs[a.name], reference.outputs[a.name], a.dtype, terms), (kernels, a.name)


def test_a_contraction_whose_result_stays_leaves_room_for_its_factors() -> None:
    """Results in the scratchpad pass no stage: the factors alone must fit beside them."""
    sizes = {"m": 256, "width": 512, "hidden": 800, "grid": (1, 2), "k_step": 128}
    compiled(kernel_text("gated_mlp", **sizes), "spyre", 512 * 1024)


def test_a_scratchpad_smaller_than_the_least_tile_is_a_typed_error() -> None:
    with pytest.raises(HeadraceError, match="not even one step of the phase fits 480 bytes") as error:
        Kernel(module(0)[0]).compile(device("tiny", {"lx.size_bytes": 512}))
    assert error.value.diagnostics[0].hint and error.value.diagnostics[0].where
