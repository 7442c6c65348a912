"""The kernels of this folder compiled for the machine: what it leaves in memory agrees with the reference."""

import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.checking import agrees
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import load
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference

from .listed import CASES, FOLDER

UNSUPPORTED = {
    "attention_pv": "ktdp.inter_tile_produce",
    "reduce_kinds": "tensor.generate",
    "ring_reduce": "ktdp.inter_tile_produce",
    "ring_reduce_loop": "ktdp.inter_tile_produce",
    "ring_shift": "ktdp.inter_tile_produce",
    "swiglu_4": "ktdp.inter_tile_produce",
}
"""What the scheduler refuses, by the op it names."""

UNNAMED = {"gather_two_indices": "an access through two index tensors at once"}
"""What the scheduler refuses without naming an op."""

SCATTERS = {"scatter", "paged_write", "indexed_add"}
"""Kernels that store through an index view."""

NAMES = sorted(CASES.keys() - UNSUPPORTED.keys() - UNNAMED.keys())


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
    terms = int(program.meta.get("reduction_terms", 0))
    dtypes = {a.name: a.dtype for a in kernel.arguments}
    for key in wanted:
        assert agrees(run.outputs[key], reference.outputs[key], dtypes[key], terms), key
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


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_what_cannot_be_scheduled_is_refused_with_the_name_of_the_op(name):
    with pytest.raises(HeadraceError) as caught:
        _compiled(name)
    first = caught.value.diagnostics[0]
    assert first.op == UNSUPPORTED[name]
    assert first.hint and first.where.file.endswith(f"{name}.mlir") and first.where.line > 0


@pytest.mark.parametrize("name", sorted(UNNAMED))
def test_what_cannot_be_scheduled_is_refused_with_a_reason(name):
    with pytest.raises(HeadraceError, match=UNNAMED[name]):
        _compiled(name)
