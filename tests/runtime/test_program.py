"""Programs: compile, run, save, open."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.schedule import timed_cycles

import headrace
from headrace.runtime.smoke import VECTOR_ADD

X, Y = np.arange(256, dtype=np.float32), np.full(256, 2, np.float32)


def test_the_public_api_compiles_runs_and_interprets() -> None:
    kernel = headrace.load(VECTOR_ADD)
    run = kernel.compile("tiny").run(x=X, y=Y)
    np.testing.assert_array_equal(run.outputs["z"], X + Y)
    np.testing.assert_array_equal(headrace.interpret(kernel, x=X, y=Y).outputs["z"], X + Y)
    assert run.bound is not None and run.cycles >= run.bound.cycles
    assert "cycles" in run.report() and "SFU" in run.report()


def test_a_saved_program_runs_alike(tmp_path: Path) -> None:
    program = headrace.load(VECTOR_ADD).compile("spyre")
    program.save(tmp_path / "p")
    again = headrace.open(tmp_path / "p")
    first, second = program.run(x=X, y=Y), again.run(x=X, y=Y)
    np.testing.assert_array_equal(first.outputs["z"], second.outputs["z"])
    assert first.cycles == second.cycles
    assert again.device.sha256 == program.device.sha256
    assert again.dfir == program.dfir


def test_a_program_remembers_changed_constants(tmp_path: Path) -> None:
    half = headrace.device("spyre", overrides={"hbm.sustained_gbps": 75})
    program = headrace.load(VECTOR_ADD).compile(half)
    program.save(tmp_path / "p")
    assert headrace.open(tmp_path / "p").device.memory("hbm").sustained_gbps == 75


def test_a_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    headrace.load(VECTOR_ADD).compile("tiny").save(tmp_path / "p")
    meta = tmp_path / "p" / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "version": 0}))
    with pytest.raises(headrace.HeadraceError, match="format 0"):
        headrace.open(tmp_path / "p")


def test_importing_headrace_is_cheap() -> None:
    import subprocess
    import sys

    heavy = ("torch", "ortools", "numba", "networkx")
    code = f"import sys, headrace; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_names_of_the_api_say_so() -> None:
    with pytest.raises(AttributeError, match="frobnicate"):
        headrace.frobnicate  # noqa: B018
    assert "load" in dir(headrace)


def test_the_image_of_the_text_is_the_image_of_the_module() -> None:
    program = headrace.load(VECTOR_ADD).compile("spyre")
    assert program.reparsed().image == program.image


def test_launches_at_other_aligned_addresses_share_their_timing() -> None:
    from headrace.numbers.memory import Memory
    from headrace.runtime.launch import launch

    program, memory = headrace.load(VECTOR_ADD).compile("tiny"), Memory(1 << 20)
    names = [argument.name for argument in program.arguments]
    for _ in range(3):
        memory.allocate(128)  # shifts the next arguments by one granule
        launch(program, {name: memory.allocate(1024) for name in names}, memory)
    assert len(program.timings) == 1


def test_from_effort_two_on_the_best_plans_are_simulated_and_the_fastest_is_taken() -> None:
    kernel = headrace.load("examples/kernels/matmul_bias_gelu.mlir")
    program = kernel.compile("spyre", effort=2)
    tried = [a["simulated_cycles"] for a in program.plan["alternatives"] if a["simulated_cycles"] is not None]
    assert program.plan["simulated"] == 1 + len(tried) > 1
    assert timed_cycles(program) <= min(tried)
    assert kernel.compile("spyre").plan["simulated"] == 0


def test_arguments_whose_names_differ_in_a_number_only_are_different_buffers() -> None:
    text = VECTOR_ADD.replace("%x", "%v_0").replace("%y", "%v_1").replace("%z", "%v_2")
    kernel = headrace.load(text)
    program = kernel.compile("tiny")
    np.testing.assert_array_equal(program.run(v_0=X, v_1=Y).outputs["v_2"], X + Y)
    assert re.search(r"func @\w+\(%v_0: index, %v_1: index, %v_2: index\)", program.dfir)
