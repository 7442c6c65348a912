"""The commands do what the public contract says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.cli.main import exit_code

SOFTMAX = "examples/kernels/softmax.mlir"
ADD = "examples/kernels/vector_add.mlir"
KEYS = set(
    """
    schema file function device engine grid cores_used cycles predicted_cycles time_us plan_hash bound ratio
    bytes flops units lx_peak_bytes outputs compile_ms execute_ms timing_ms check
    """.split()
)


def answer(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    """The JSON a command prints."""
    assert exit_code([*map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_run_prints_one_object_with_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "run", SOFTMAX)
    assert set(data) == KEYS
    assert data["cycles"] >= data["bound"]["cycles"] > 0
    assert data["ratio"] == pytest.approx(data["cycles"] / data["bound"]["cycles"], abs=1e-3)
    for unit in data["units"].values():
        assert unit["busy"] + sum(unit["stalls"].values()) == unit["instances"] * data["cycles"]


def test_the_same_run_gives_the_same_cycles(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "run", SOFTMAX)["cycles"] == answer(capsys, "run", SOFTMAX, "--seed", 7)["cycles"]


def test_compiled_dfir_gives_the_outputs_and_cycles_of_the_kernel(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    x = np.random.default_rng(3).standard_normal((1024, 1024)).astype(np.float16)
    np.savez(tmp_path / "in.npz", x=x)
    assert exit_code(["compile", SOFTMAX, "-o", str(tmp_path / "out")]) == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "ktir.mlir", "ktdf.mlir", "dfir.mlir", "plan.json", "device.mlir", "meta.json",
    }  # fmt: skip
    capsys.readouterr()
    found = {}
    for name, file in {
        "ktir": SOFTMAX,
        "dfir": tmp_path / "out/dfir.mlir",
        "ktdf": tmp_path / "out/ktdf.mlir",
        "program": tmp_path / "out",
    }.items():
        arrays = tmp_path / f"{name}.npz"
        data = answer(capsys, "run", file, "--inputs", tmp_path / "in.npz", "--outputs", arrays)
        found[name] = (data["cycles"], np.load(arrays)["y"])
    expected = np.exp(x.astype(np.float64))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(found["ktir"][1].astype(np.float64), expected, rtol=2e-3, atol=1e-6)
    for cycles, y in found.values():
        assert cycles == found["ktir"][0]
        np.testing.assert_array_equal(y, found["ktir"][1])


def test_an_architecture_change_changes_predicted_and_simulated_cycles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = answer(capsys, "run", ADD)
    half = answer(capsys, "run", ADD, "--arch", "hbm.sustained_gbps=75")
    for key in ("cycles", "predicted_cycles"):
        assert half[key] > before[key]
    assert half["bound"]["cycles"] > 1.5 * before["bound"]["cycles"]


def test_a_report_page_and_a_trace_are_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert (
        exit_code(["run", ADD, "--trace", str(tmp_path / "t.json"), "--html", str(tmp_path / "r.html")]) == 0
    )
    trace = json.loads((tmp_path / "t.json").read_text())
    assert len(trace["traceEvents"]) > 10
    page = (tmp_path / "r.html").read_text()
    assert "vector_add" in page and "DFIR" in page


def test_devices_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["devices"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("spyre", "spyre-1core", "sample", "tiny"))
    assert exit_code(["devices", "spyre"]) == 0
    shown = capsys.readouterr().out
    for text in (
        "32 cores x 2 corelets",
        "PT f16 TFLOP/s",
        "98.304",
        "ridge point",
        "sources of constants",
        "LPDDR5",
    ):
        assert text in shown
    data = answer(capsys, "devices", "spyre")
    assert data["cores"] == 32 and data["peaks"]["PT f16 TFLOP/s"] == pytest.approx(98.304)


@pytest.mark.parametrize("path", sorted(Path("examples/kernels").glob("*.mlir")), ids=lambda p: p.stem)
def test_check_finds_every_example_right(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "check", path)
    assert data["agree"] is True and data["errors"] == []
    assert not any(data["check"].values())


def test_check_reports_every_error_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("module {\n  %x = arith.addq\n}\n")
    data = answer(capsys, "check", path, code=1)
    assert data["agree"] is None
    assert data["errors"][0]["line"] == 2 and "arith.addq" in data["errors"][0]["message"]


def test_doctor_runs_a_kernel_at_both_levels(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["doctor"]) == 0
    assert "right at both levels" in capsys.readouterr().out
