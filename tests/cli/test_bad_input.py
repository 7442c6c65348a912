"""Bad input gets one clear error: what, where, hint; exit code 1, no traceback, nothing half-written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headrace.cli.main import exit_code
from headrace.runtime.smoke import VECTOR_ADD

SOFTMAX = "examples/kernels/softmax.mlir"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "add.mlir"
    path.write_text(VECTOR_ADD)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Runs a command that must fail; returns what it says on stderr, without the note on seeded inputs."""
    assert exit_code([str(a) for a in arguments]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "run", "examples/kernels/sofmax.mlir")
    assert "no such file: examples/kernels/sofmax.mlir" in said
    assert "did you mean examples/kernels/softmax.mlir?" in said


def test_a_folder_without_a_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "holds no compiled program" in refused(capsys, "run", tmp_path)


def test_a_syntax_error_names_line_and_column(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("module {\n  func.func @f( {\n}\n")
    assert f"{path}:2:" in refused(capsys, "run", path)


def test_an_unknown_op_is_named_where_it_stands(capsys: pytest.CaptureFixture[str], kernel: Path) -> None:
    kernel.write_text(VECTOR_ADD.replace("arith.addf %a", "arith.addq %a"))
    said = refused(capsys, "run", kernel)
    line = next(k for k, text in enumerate(kernel.read_text().splitlines(), 1) if "addq" in text)
    assert "arith.addq" in said and f"{kernel}:{line}:" in said and "hint:" in said


def test_a_type_error_is_found_before_anything_runs(capsys: pytest.CaptureFixture[str], kernel: Path) -> None:
    kernel.write_text(
        VECTOR_ADD.replace("<128xindex> -> tensor<128xf32>", "<128xindex> -> tensor<127xf32>", 1)
    )
    said = refused(capsys, "run", kernel)
    assert "tensor<127xf32>" in said and f"{kernel}:" in said


WRONG = {
    "grid of none": ("grid = [2]", "grid = [0]", "no list of positive integers"),
    "negative grid": ("grid = [2]", "grid = [-1]", "no list of positive integers"),
    "empty grid": ("grid = [2]", "grid = []", "no list of positive integers"),
    "number as grid": ("grid = [2]", "grid = 2", "no list of positive integers"),
    "fractional grid": ("grid = [2]", "grid = [2.0]", "no list of positive integers"),
    "grid of billions": ("grid = [2]", "grid = [1000000000]", "1000000000 tiles"),
    "negative size": ("sizes: [256]", "sizes: [-1]", "size -1 is negative"),
    "endless stride": ("strides: [1]", "strides: [9223372036854775807]", "past 64 bits"),
    "endless constant": ("constant 128 :", "constant 99999999999999999999 :", "does not fit 64 bits"),
    "endless tensors": ("256", "1000000000000", "out of device memory"),
}


@pytest.mark.parametrize("change", WRONG)
@pytest.mark.parametrize("engine", ["machine", "reference"])
def test_a_number_that_makes_no_sense_is_refused_by_both_engines(
    capsys: pytest.CaptureFixture[str], kernel: Path, change: str, engine: str
) -> None:
    old, new, said = WRONG[change]
    kernel.write_text(VECTOR_ADD.replace(old, new))
    if change == "endless tensors":
        kernel.write_text(kernel.read_text().replace("255 - i", "999999999999 - i"))
    assert said in refused(capsys, "run", kernel, "--engine", engine)


def test_a_type_that_no_unit_computes_is_named_with_its_op(
    capsys: pytest.CaptureFixture[str], kernel: Path
) -> None:
    kernel.write_text(VECTOR_ADD.replace("f32", "f64"))
    for device in ("sample", "spyre"):
        said = refused(capsys, "run", kernel, "--device", device)
        assert "arith.addf" in said and "type f64" in said and "SFU computes" in said


def test_a_kernel_that_does_nothing_runs(capsys: pytest.CaptureFixture[str], kernel: Path) -> None:
    kernel.write_text("func.func @f() attributes {grid = [1]} {\n  return\n}\n")
    assert exit_code(["run", str(kernel)]) == 0
    assert "ratio" not in capsys.readouterr().out


def test_an_unknown_device_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "run", SOFTMAX, "--device", "spire")
    assert "spire" in said and "spyre" in said and "tiny" in said


def test_an_unknown_architecture_constant_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert "sustained_gbps" in refused(capsys, "run", SOFTMAX, "--arch", "hbm.speed=3")


def test_a_missing_input_is_named(capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros(256, np.float32))
    said = refused(capsys, "run", kernel, "--inputs", tmp_path / "in.npz")
    assert "input 'y' is missing" in said and "[256]" in said


def test_a_misshapen_input_is_named(capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros(255, np.float32), y=np.zeros(256, np.float32))
    said = refused(capsys, "run", kernel, "--inputs", tmp_path / "in.npz")
    assert "input 'x'" in said and "1020 bytes" in said and "1024" in said


def test_an_input_of_another_type_is_named(
    capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.zeros(256, np.float16), y=np.zeros(256, np.float32))
    said = refused(capsys, "run", kernel, "--inputs", tmp_path / "in.npz")
    assert "float16" in said and "f32" in said


def test_an_input_nobody_takes_is_named(
    capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path
) -> None:
    full = np.zeros(256, np.float32)
    np.savez(tmp_path / "in.npz", x=full, y=full, q=full)
    assert "'q' names no argument" in refused(capsys, "run", kernel, "--inputs", tmp_path / "in.npz")


def test_an_npz_that_is_none(capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "in.npz").write_text("no archive")
    assert "not a readable .npz" in refused(capsys, "run", kernel, "--inputs", tmp_path / "in.npz")


def test_a_scalar_without_a_value(capsys: pytest.CaptureFixture[str], kernel: Path) -> None:
    kernel.write_text(
        VECTOR_ADD.replace("%z: index)", "%z: index, %n: i32)").replace(
            "  return", "  %q = arith.addi %n, %n : i32\n  return"
        )
    )
    assert "--arg n=VALUE" in refused(capsys, "run", kernel)


def test_unknown_commands_options_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert "frob" in refused(capsys, "frob")
    assert "--bogus" in refused(capsys, "run", SOFTMAX, "--bogus")
    assert "engine" in refused(capsys, "run", SOFTMAX, "--engine", "gpu")
    assert "no '='" in refused(capsys, "run", SOFTMAX, "--arg", "n")
    assert "frobnicate" in refused(capsys, "run", SOFTMAX, "--without", "frobnicate")


def test_values_nobody_takes(capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path) -> None:
    for more in ([], ["--engine", "reference"]):
        assert "'n' names no scalar argument" in refused(capsys, "run", kernel, "--arg", "n=1", *more)
        assert "'x' names no scalar argument" in refused(capsys, "run", kernel, "--arg", "x=1", *more)
    assert "no name before '='" in refused(capsys, "run", kernel, "--arg", "=1")
    x = np.zeros(256, np.float32)
    np.savez(tmp_path / "in.npz", x=x, y=x, arg0=x)
    assert "are the same argument" in refused(capsys, "run", kernel, "--inputs", tmp_path / "in.npz")


@pytest.mark.parametrize(
    "setting", ["lx_bytes=abc", "lx_bytes=0", "default_grid=-3", "strict_lx=maybe", "zz=1"]
)
def test_settings_without_meaning(capsys: pytest.CaptureFixture[str], kernel: Path, setting: str) -> None:
    said = refused(capsys, "run", kernel, "--engine", "reference", "--set", setting)
    assert setting.split("=")[0] in said


def test_seeds_are_natural_numbers(capsys: pytest.CaptureFixture[str], kernel: Path) -> None:
    for command in ("run", "check"):
        assert "--seed" in refused(capsys, command, kernel, "--seed", "-1")


def test_a_suite_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no suite '__init__'" in refused(capsys, "bench", "__init__")


def test_a_kernel_that_cannot_be_compiled_leaves_no_folder(
    capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path
) -> None:
    kernel.write_text(VECTOR_ADD.replace("f32", "f64"))
    said = refused(capsys, "compile", kernel, "-o", tmp_path / "out", "--device", "sample")
    assert "f64" in said
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_program_is_not_overwritten(
    capsys: pytest.CaptureFixture[str], kernel: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert "is not a compiled program" in refused(capsys, "compile", kernel, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_script_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refused(capsys, "run", "nothing.py")
