"""The kernels of this folder on the reference interpreter: what each says it computes, it computes."""

import subprocess
import sys

import numpy as np
import pytest

from headrace.cli.main import exit_code
from headrace.ir.arguments import arguments
from headrace.ir.text import load_file, parse, print_module
from headrace.ir.verify import verify
from headrace.runtime.kernel import load
from headrace.runtime.reference import run_reference
from headrace.semantics.plain import Options

from ..semantics.tiles import run as interpreted
from .listed import CASES, FOLDER, copy_dynamic, vector_add_dynamic

NAMES = sorted(CASES)


def _run(name, case, options=None):
    inputs, wanted = case
    kernel = load(FOLDER / f"{name}.mlir")
    scalars = {a.name for a in kernel.arguments if a.kind == "scalar"}
    run = run_reference(
        kernel,
        {k: v for k, v in inputs.items() if k not in scalars},
        scalars={k: v for k, v in inputs.items() if k in scalars},
        options=options,
    )
    for key, value in wanted.items():
        value.check(run.outputs[key], key)
    return run


def test_every_file_of_the_folder_is_tested():
    assert sorted(p.stem for p in FOLDER.glob("*.mlir")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_computes_what_its_comment_says_within_a_scratchpad(name):
    run = _run(name, CASES[name](), Options(strict_lx=True))
    assert run.reference.warnings == []


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_is_valid_and_survives_printing(name):
    module = load_file(FOLDER / f"{name}.mlir")
    assert verify(module) == []
    for generic in (False, True):
        text = print_module(module, generic)
        again = parse(text)
        assert verify(again) == []
        assert print_module(again, generic) == text
        assert print_module(again) == print_module(module)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_kernel_takes_is_found_from_its_views(name):
    inputs, wanted = CASES[name]()
    found = {a.name: a for a in arguments(load_file(FOLDER / f"{name}.mlir"))}
    assert {n for n, a in found.items() if a.role in ("in", "inout") or a.kind == "scalar"} | set(wanted) == (
        set(inputs) | set(wanted)
    )
    assert {n for n, a in found.items() if a.role in ("out", "inout")} == set(wanted)


def _check(name, case):
    inputs, wanted = case
    arrays = {k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}
    scalars = {k: v for k, v in inputs.items() if k not in arrays}
    results, _ = interpreted((FOLDER / f"{name}.mlir").read_text(), arrays, scalars)
    for key, value in wanted.items():
        value.check(results[key], key)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 256, 1111])
def test_a_vector_add_takes_any_length(n):
    _check("vector_add_dynamic", vector_add_dynamic(n))


@pytest.mark.parametrize("m", [1, 3, 20])
def test_a_copy_takes_any_number_of_rows(m):
    _check("copy_dynamic", copy_dynamic(m))


def test_the_reference_engine_takes_a_shorter_vector_than_the_example():
    _run("vector_add_dynamic", vector_add_dynamic(100))


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_runs_the_kernel_on_given_arrays(name, tmp_path, capsys):
    inputs, wanted = CASES[name]()
    np.savez(tmp_path / "x.npz", **inputs)
    command = ["run", str(FOLDER / f"{name}.mlir"), "--engine", "reference", "--quiet"]
    command += ["--inputs", str(tmp_path / "x.npz"), "--outputs", str(tmp_path / "y.npz")]
    assert exit_code(command) == 0, capsys.readouterr().err
    got = np.load(tmp_path / "y.npz")
    for key, value in wanted.items():
        value.check(got[key], key)


def test_the_shell_runs_a_kernel(tmp_path):
    inputs, _ = CASES["paged_attention"]()
    np.savez(tmp_path / "x.npz", **inputs)
    command = [sys.executable, "-m", "headrace.cli.main", "run", str(FOLDER / "paged_attention.mlir")]
    command += ["--engine", "reference", "--inputs", str(tmp_path / "x.npz")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
