"""The kernels of this folder compiled for the machine: what it leaves in memory agrees with the reference."""

import pytest

from headrace.runtime.checking import agrees, freedom
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import load
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference

from .listed import CASES, FOLDER

SCATTERS = {"scatter", "paged_write", "indexed_add"}
"""Kernels that store through an index view."""

NAMES = sorted(CASES)


def _compiled(name):
    inputs, wanted = CASES[name]()
    kernel = load(FOLDER / f"{name}.mlir")
    scalars = {a.name: inputs[a.name] for a in kernel.arguments if a.kind == "scalar"}
    arrays = {k: v for k, v in inputs.items() if k not in scalars}
    return kernel, arrays, scalars, wanted, compile_kernel(kernel, "spyre", Options(scalars=scalars))


@pytest.mark.parametrize("name", NAMES)
def test_machine_and_reference_agree(name):
    kernel, arrays, scalars, wanted, program = _compiled(name)
    run = run_program(program.reparsed(), arrays, is_checked=True)
    reference = run_reference(kernel, arrays, scalars=scalars)
    terms, between = freedom(program)
    dtypes = {a.name: a.dtype for a in kernel.arguments}
    for key in wanted:
        assert agrees(run.outputs[key], reference.outputs[key], dtypes[key], terms, between), key
    assert run.cycles > 0
    if name not in SCATTERS:
        assert program.illegalities() == []
        assert not any(run.findings.values()), run.findings


@pytest.mark.parametrize("name", sorted(SCATTERS))
def test_a_scatter_is_legal_and_free_of_races(name):
    _, arrays, _, _, program = _compiled(name)
    run = run_program(program.reparsed(), arrays, is_checked=True)
    assert program.illegalities() == []
    assert not any(run.findings.values()), run.findings
