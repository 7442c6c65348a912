"""The first divergence: none for what is right; element, statement, tile and transfer for what is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from headrace.cli.main import exit_code
from headrace.runtime.checking import agrees, mismatch

KERNELS = Path(__file__).resolve().parents[2] / "examples" / "kernels"


def compiled(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert exit_code(["compile", str(KERNELS / f"{name}.mlir"), "-o", str(folder)]) == 0
    capsys.readouterr()
    return folder


def test_a_kernel_and_its_program_do_not_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["diff", str(KERNELS / "vector_add.mlir"), "--device", "tiny"]) == 0
    assert "no divergence" in capsys.readouterr().out
    folder = compiled("softmax", tmp_path / "p", capsys)
    assert exit_code(["diff", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["divergence"] is None


def test_an_edited_operation_is_found_at_its_first_element(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = compiled("vector_add", tmp_path / "p", capsys)
    dfir = folder / "dfir.mlir"
    text = dfir.read_text()
    assert "binary_operator add" in text
    dfir.write_text(text.replace("binary_operator add", "binary_operator sub"))
    assert exit_code(["diff", str(folder), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["divergence"]
    assert (found["argument"], found["index"]) == ("o", [0])
    assert found["reference"] != found["machine"]
    assert found["differing"] > found["elements"] // 2
    store = next(
        k for k, line in enumerate((folder / "ktir.mlir").read_text().splitlines(), 1) if "ktdp.store" in line
    )
    assert re.fullmatch(rf".*ktir\.mlir:{store}:\d+", found["statement"]["where"])
    assert found["statement"]["by"] == "tile (0)"
    assert found["transfer"]["by"].startswith("C0-mnisu")
    assert "dfir.mlir:" in found["transfer"]["where"]


def test_an_edited_address_is_found_in_the_tile_that_misses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every core stores what it should; one of core 1's numbers is made to point at core 0's rows."""
    folder = compiled("transpose", tmp_path / "p", capsys)
    dfir = folder / "dfir.mlir"
    lines = dfir.read_text().splitlines()
    at = max(k for k, line in enumerate(lines) if "agen.composite_load_and_store" in line and "dst:" in line)
    changed = re.sub(r"dst:(%\w+)\[([^\],]+)", r"dst:\1[(\2) * 0", lines[at])
    assert changed != lines[at]
    lines[at] = changed
    dfir.write_text("\n".join(lines) + "\n")
    assert exit_code(["diff", str(folder), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["divergence"]
    assert found["argument"] == "y" and found["statement"]["by"] != ""


def test_dfir_alone_has_nothing_above_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = compiled("vector_add", tmp_path / "p", capsys)
    assert exit_code(["diff", str(folder / "dfir.mlir")]) == 1
    assert "no level above" in capsys.readouterr().err
    assert exit_code(["diff", str(folder), "--device", "tiny"]) == 1


def test_a_mask_of_differences_and_agreement_are_the_same_judgement() -> None:
    x = np.array([1.0, 2.0, np.nan, 4.0], np.float16)
    assert agrees(x, x, "f16", 0) and not mismatch(x, x, "f16", 0).any()
    y = np.array([1.0, 2.5, np.nan, np.nan], np.float16)
    assert not agrees(x, y, "f16", 0)
    assert mismatch(x, y, "f16", 0).tolist() == [False, True, False, True]
    assert mismatch(np.array([1, 2]), np.array([1, 3]), "i64", 0).tolist() == [False, True]
