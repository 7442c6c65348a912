"""Files that cannot be read or written, broken programs and failing scripts: one clear error, exit code 1."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from headrace.cli.main import exit_code
from headrace.runtime.smoke import VECTOR_ADD


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "add.mlir"
    path.write_text(VECTOR_ADD)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "add.mlir").write_text(VECTOR_ADD)
    assert exit_code(["compile", str(folder / "add.mlir"), "-o", str(folder / "p"), "--device", "tiny"]) == 0
    return folder / "p"


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Runs a command that must fail; returns what it says on stderr."""
    capsys.readouterr()
    assert exit_code([str(a) for a in arguments]) == 1
    said = capsys.readouterr()
    assert "Traceback" not in said.err and "internal" not in said.err
    return said.err


BINARY = b"\xff\xfe\0"


@pytest.mark.parametrize("option", ["--outputs", "--trace", "--html"])
@pytest.mark.parametrize("place", ["", "add.mlir/x", "/dev/full/x"])
def test_a_place_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], kernel: Path, option: str, place: str
) -> None:
    assert "cannot write" in refused(capsys, "run", kernel, option, kernel.parent / place)
    assert {p.name for p in kernel.parent.iterdir()} == {"add.mlir"}


@pytest.mark.parametrize("place", ["add.mlir", "add.mlir/x", "/dev/null", "/proc/x"])
def test_a_program_folder_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], kernel: Path, place: str
) -> None:
    said = refused(capsys, "compile", kernel, "-o", kernel.parent / place)
    assert "cannot write" in said or "is not a compiled program" in said
    assert kernel.read_text() == VECTOR_ADD


@pytest.mark.parametrize("text", [b'{"phases": ', b"[]", b"null", b"{}", BINARY])
@pytest.mark.parametrize("command", ["run", "compile"])
def test_a_plan_that_is_none(
    capsys: pytest.CaptureFixture[str], kernel: Path, text: bytes, command: str
) -> None:
    plan = kernel.parent / "plan.json"
    plan.write_bytes(text)
    more = ["-o", kernel.parent / "out"] if command == "compile" else []
    assert "plan" in refused(capsys, command, kernel, "--plan", plan, *more)
    assert "no such file" in refused(capsys, command, kernel, "--plan", kernel.parent / "no", *more)
    assert "is a folder" in refused(capsys, command, kernel, "--plan", kernel.parent, *more)


@pytest.mark.parametrize(
    "name", ["meta.json", "dfir.mlir", "ktdf.mlir", "ktir.mlir", "plan.json", "device.mlir"]
)
def test_a_program_with_a_broken_file(
    capsys: pytest.CaptureFixture[str], program: Path, tmp_path: Path, name: str
) -> None:
    broken = tmp_path / "p"
    shutil.copytree(program, broken)
    (broken / name).write_bytes(BINARY)
    assert f"{broken / name} is not a text file" in refused(capsys, "run", broken)


@pytest.mark.parametrize("key", ["name", "file", "grid", "arguments", "scalars", "work", "meta"])
def test_a_program_with_wrong_facts(
    capsys: pytest.CaptureFixture[str], program: Path, tmp_path: Path, key: str
) -> None:
    broken = tmp_path / "p"
    shutil.copytree(program, broken)
    facts = json.loads((program / "meta.json").read_text())
    (broken / "meta.json").write_text(json.dumps({k: v for k, v in facts.items() if k != key}))
    assert "does not describe a program" in refused(capsys, "run", broken)
    if key not in ("name", "file"):
        (broken / "meta.json").write_text(json.dumps({**facts, key: 3}))
        assert "does not describe a program" in refused(capsys, "run", broken)
    (broken / "meta.json").write_text("[]")
    assert "was written by format no" in refused(capsys, "run", broken)


def test_a_text_that_is_none(capsys: pytest.CaptureFixture[str], kernel: Path) -> None:
    kernel.write_bytes(BINARY)
    for arguments in (
        ["run", kernel],
        ["check", kernel],
        ["devices", kernel],
        ["compile", kernel, "-o", "x"],
    ):
        assert "is not a text file" in refused(capsys, *arguments)
    assert "is a folder" in refused(capsys, "check", kernel.parent)
    assert "is a folder" in refused(capsys, "devices", kernel.parent)


@pytest.mark.parametrize("text", ["", "// nothing\n", "\n\n"])
@pytest.mark.parametrize("command", ["run", "check", "diff", "explain"])
def test_a_text_that_holds_nothing_is_named(
    capsys: pytest.CaptureFixture[str], kernel: Path, text: str, command: str
) -> None:
    kernel.write_text(text)
    assert f"{kernel}:1:1: error: the module holds no function" in refused(capsys, command, kernel)


def test_a_text_with_a_byte_order_mark_runs(kernel: Path) -> None:
    kernel.write_bytes(b"\xef\xbb\xbf" + VECTOR_ADD.encode())
    assert exit_code(["run", str(kernel), "--quiet"]) == 0


@pytest.mark.parametrize(
    "text,said",
    [
        ("x = 1\nraise ValueError('mine')\n", ":2:1: error: ValueError: mine"),
        ("def (\n", ":1:"),
        ("import sys\nsys.exit(3)\n", "ended with 3"),
        ("import headrace\nheadrace.load('/nope.mlir')\n", "no such file: /nope.mlir"),
    ],
)
def test_a_script_that_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, said: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(text)
    assert said in refused(capsys, "run", script)


def test_a_script_that_ends_early_is_fine(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nsys.exit()\n")
    assert exit_code(["run", str(script)]) == 0


def test_an_argument_may_have_any_name(kernel: Path, tmp_path: Path) -> None:
    kernel.write_text(VECTOR_ADD.replace("%z", "%file").replace("%x", "%arg1").replace("%y", "%arg0"))
    x = np.arange(256, dtype=np.float32)
    np.savez(tmp_path / "in.npz", arg1=x, arg0=2 * x)
    out = tmp_path / "out.npz"
    assert exit_code(["run", str(kernel), "--inputs", str(tmp_path / "in.npz"), "--outputs", str(out)]) == 0
    found = np.load(out)
    np.testing.assert_array_equal(found["file"], 3 * x)
    np.testing.assert_array_equal(found["arg1"], x)
