"""DFIR of other schedulers on the command line: split folders, undeclared arguments, choices of meaning."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.machine import samples

from headrace.cli.main import exit_code
from headrace.ir.text import parse, print_module


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public bias add in split form: declarations in generic syntax, a file per schedule."""
    folder = tmp_path_factory.mktemp("split")
    whole = parse(samples.text("public_bias_add"))
    parts = [op for op in whole.body.block.ops if op.name == "builtin.module"]
    (folder / "global.mlir").write_text(print_module(parts[0], generic=True))
    (folder / "local_schedule_0.mlir").write_text(print_module(parts[1]))
    return folder


def _inputs(folder: Path) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    arrays = {
        "arg0": random.standard_normal((24, 64, 64)).astype(np.float16),
        "arg1": random.standard_normal(64).astype(np.float16),
    }
    np.savez(folder / "in.npz", **arrays)
    return arrays


def test_a_split_schedule_runs_from_its_folder(
    split: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = _inputs(tmp_path)
    command = ["run", str(split), "--device", "sample", "--json", "--inputs", f"{tmp_path}/in.npz"]
    assert exit_code([*command, "--outputs", f"{tmp_path}/out.npz"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["function"] == "vadd3" and result["cycles"] > 0
    out = np.load(tmp_path / "out.npz")["arg2"].reshape(24, 64, 64)
    assert (out == arrays["arg0"] + arrays["arg1"]).all()


def test_the_whole_module_gives_the_same(split: Path, tmp_path: Path) -> None:
    arrays = _inputs(tmp_path)
    for is_generic in (False, True):
        (tmp_path / "whole.mlir").write_text(samples.text("public_bias_add", is_generic))
        command = ["run", f"{tmp_path}/whole.mlir", "--device", "sample", "--inputs", f"{tmp_path}/in.npz"]
        assert exit_code([*command, "--outputs", f"{tmp_path}/out.npz", "--quiet"]) == 0
        out = np.load(tmp_path / "out.npz")
        (key,) = set(out) - set(arrays)
        assert (out[key].reshape(24, 64, 64) == arrays["arg0"] + arrays["arg1"]).all()


def test_a_fault_in_a_part_names_its_file_and_line(
    split: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in split.glob("*.mlir"):
        text = part.read_text().replace("dataflow.sync_recv %28", "dataflow.sync_recv %c0", 1)
        (tmp_path / part.name).write_text(text)
    assert exit_code(["run", str(tmp_path), "--device", "sample", "--quiet"]) == 1
    error = capsys.readouterr().err
    lines = (tmp_path / "local_schedule_0.mlir").read_text().split("\n")
    line = 1 + next(k for k, text in enumerate(lines) if "sync_recv %c0" in text)
    assert f"{tmp_path}/local_schedule_0.mlir:{line}:" in error and "a unit handle is expected" in error


def test_a_function_that_stands_in_two_parts_is_refused(
    split: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in split.glob("*.mlir"):
        (tmp_path / part.name).write_text(part.read_text())
    (tmp_path / "twice.mlir").write_text((split / "local_schedule_0.mlir").read_text())
    assert exit_code(["run", str(tmp_path), "--device", "sample", "--quiet"]) == 1
    assert "stands at" in capsys.readouterr().err


def test_arguments_that_nobody_declares_are_what_the_program_does_with_them(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal(300).astype(np.float16)
    np.savez(tmp_path / "in.npz", px=x, n=np.array(300))
    (tmp_path / "dynamic.mlir").write_text(samples.text("dynamic"))
    command = ["run", f"{tmp_path}/dynamic.mlir", "--quiet", "--outputs", f"{tmp_path}/out.npz"]
    assert exit_code([*command, "--inputs", f"{tmp_path}/in.npz"]) == 0
    out = np.load(tmp_path / "out.npz")
    assert (out["py"] == x + x).all()
    assert np.allclose(out["po"], x.astype(np.float64).sum())


def test_a_size_nobody_gives_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dynamic.mlir").write_text(samples.text("dynamic"))
    assert exit_code(["run", f"{tmp_path}/dynamic.mlir"]) == 1
    assert "--arg NAME=VALUE" in capsys.readouterr().err
    assert exit_code(["run", f"{tmp_path}/dynamic.mlir", "--arg", "n=5", "--quiet"]) == 0


def test_estimates_of_a_stated_precision(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((16, 300)).astype(np.float16)
    np.savez(tmp_path / "in.npz", **{"@0": x, "@4800": np.zeros_like(x)})
    (tmp_path / "softmax.mlir").write_text(samples.text("softmax"))
    outs = []
    for extra in ([], ["--set", "estimate_bits=5"]):
        command = ["run", f"{tmp_path}/softmax.mlir", "--quiet", "--outputs", f"{tmp_path}/out.npz"]
        assert exit_code([*command, "--inputs", f"{tmp_path}/in.npz", *extra]) == 0
        outs.append(np.load(tmp_path / "out.npz")["@4800"].astype(np.float64))
    error = np.abs(outs[1] / outs[0] - 1).max()
    assert 2.0**-9 < error < 2.0**-3


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("pack=both", "it is lane or operand"),
        ("estimate_bits=many", "not a number"),
        ("estimate_bits=99", "it is 0 (exact) to 52"),
        ("order=cpu", "the machine has no such option"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused(
    setting: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "softmax.mlir").write_text(samples.text("softmax"))
    assert exit_code(["run", f"{tmp_path}/softmax.mlir", "--set", setting]) == 1
    assert message in capsys.readouterr().err


def test_byte_addresses_can_be_asked_for(tmp_path: Path) -> None:
    """Every address of the square program doubled: the same elements, counted in bytes."""
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float16)
    np.savez(tmp_path / "in.npz", **{"@0": x, "@8192": np.zeros_like(x)})
    text = samples.text("public_square")
    for address in (10240, 5120, 8192, 3072, 2048, 1024, 256):
        text = text.replace(f"arith.constant {address} :", f"arith.constant {2 * address} :", 1)
    (tmp_path / "square.mlir").write_text(text)
    command = [
        "run",
        f"{tmp_path}/square.mlir",
        "--device",
        "sample",
        "--set",
        "address_unit=byte",
        "--quiet",
    ]
    assert exit_code([*command, "--inputs", f"{tmp_path}/in.npz", "--outputs", f"{tmp_path}/out.npz"]) == 0
    assert (np.load(tmp_path / "out.npz")["@8192"] == x * x).all()


@pytest.mark.parametrize(
    "attribute, said",
    [
        ("headrace.work = 3", "headrace.work of another form"),
        ("headrace.work = {read_bytes = -1}", "headrace.work of another form"),
        ("headrace.work = {ops.tensor.slice = 1}", "unknown entry 'ops.tensor.slice' of headrace.work"),
        ('headrace.args = [{name = "x"}]', "headrace.args of another form"),
        ("headrace.args = 7", "headrace.args of another form"),
    ],
)
def test_facts_of_another_form_are_refused_with_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], attribute: str, said: str
) -> None:
    path = tmp_path / "add.mlir"
    text = print_module(parse(samples.text("public_bias_add")))
    start = text.index("module")
    path.write_text(f"{text[:start]}module attributes {{{attribute}}} {{{text[text.index('{', start) + 1 :]}")
    capsys.readouterr()
    assert exit_code(["run", str(path), "--device", "sample", "--quiet"]) == 1
    error = capsys.readouterr().err
    assert f"{path}:" in error and said in error and "hint:" in error
