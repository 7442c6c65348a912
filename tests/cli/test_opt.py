"""`headrace opt` prints a module after passes, at its level or below, or says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.main import exit_code
from headrace.ir.recognise import language
from headrace.ir.text import parse, print_module
from headrace.ir.verify import verify

SOFTMAX = "examples/kernels/softmax.mlir"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints on stdout."""
    assert exit_code(["opt", *arguments]) == 0
    return capsys.readouterr().out


def test_without_passes_it_prints_the_canonical_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, SOFTMAX) == print_module(parse(Path(SOFTMAX).read_text()))


def test_passes_change_the_text_and_the_result_is_a_fixed_point(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    once = printed(capsys, SOFTMAX, "-p", "canonicalize,cse,dce")
    assert once != printed(capsys, SOFTMAX)
    (tmp_path / "once.mlir").write_text(once)
    assert printed(capsys, str(tmp_path / "once.mlir"), "-p", "canonicalize,cse,dce") == once


@pytest.mark.parametrize(
    "steps", ["canonicalize", "cse", "dce", "fold", "canonicalize,cse{with-loads=false},dce,fold"]
)
@pytest.mark.parametrize("generic", [False, True])
def test_what_a_pipeline_leaves_reads_back_in_both_forms(
    capsys: pytest.CaptureFixture[str], steps: str, generic: bool
) -> None:
    flags = ["--generic"] if generic else []
    text = printed(capsys, SOFTMAX, "-p", steps, *flags)
    assert verify(parse(text)) == []
    assert print_module(parse(text), generic) == text


def test_g1_prints_the_memory_spaces_of_older_tools(capsys: pytest.CaptureFixture[str]) -> None:
    older = printed(capsys, SOFTMAX, "--g1")
    assert "#ktdp.spyre_memory_space<HBM>" in older and "#ktdp.memory_space" not in older
    assert print_module(parse(older)) == printed(capsys, SOFTMAX)


@pytest.mark.parametrize("level", ["ktir", "ktdf", "dfir"])
@pytest.mark.parametrize("generic", [False, True])
def test_emit_prints_every_level(capsys: pytest.CaptureFixture[str], level: str, generic: bool) -> None:
    flags = ["--generic"] if generic else []
    text = printed(capsys, SOFTMAX, "-p", "canonicalize", "--emit", level, "--device", "tiny", *flags)
    assert ('"builtin.module"(' in text) == generic
    module = parse(text)
    assert language(module) == level and not verify(module)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SOFTMAX, "-p", "canonicalise"], "no pass 'canonicalise'\n  hint: did you mean canonicalize?"),
        ([SOFTMAX, "-p", "cse{loads=1}"], "pass 'cse' has no option 'loads'"),
        ([SOFTMAX, "--emit", "llvm"], "--emit llvm: no such level"),
        (["nowhere.mlir"], "no such file: nowhere.mlir"),
    ],
)
def test_a_wrong_request_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert exit_code(["opt", *arguments]) == 1
    found = capsys.readouterr()
    assert said in found.err and found.out == ""


def test_a_level_above_the_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(printed(capsys, SOFTMAX, "--emit", "ktdf"))
    assert exit_code(["opt", str(tmp_path / "k.mlir"), "--emit", "ktir"]) == 1
    assert "is ktdf, ktir is above it" in capsys.readouterr().err
    assert language(parse(printed(capsys, str(tmp_path / "k.mlir"), "-p", "canonicalize,cse"))) == "ktdf"
