"""The first divergence: none for what is right; element, statement, tile and transfer for what is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.kernels import kernel_text

from headrace.cli.main import exit_code
from headrace.runtime.checking import agrees, freedom, mismatch
from headrace.runtime.kernel import Kernel

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


def parts(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str, str]:
    """What diff says of a compiled folder whose DFIR is replaced: the statement, its line, the machine's."""
    whole = (folder / "dfir.mlir").read_text()
    (folder / "dfir.mlir").write_text(text)
    assert exit_code(["diff", str(folder), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["divergence"]["values"]
    (folder / "dfir.mlir").write_text(whole)
    lines = {"ktir": (folder / "ktir.mlir").read_text(), "dfir": text}
    said = []
    for level, where in (("ktir", found["where"]), ("dfir", found["machine_where"])):
        number = int(where.rsplit(":", 2)[1])
        said.append(lines[level].splitlines()[number - 1].strip())
    return found, said[0], said[1]


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A product with bias and gelu, compiled."""
    folder = tmp_path_factory.mktemp("product") / "p"
    assert exit_code(["compile", str(KERNELS / "matmul_bias_gelu.mlir"), "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def norm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layernorm, compiled."""
    folder = tmp_path_factory.mktemp("norm") / "p"
    assert exit_code(["compile", str(KERNELS / "layernorm.mlir"), "-o", str(folder)]) == 0
    return folder


@pytest.mark.parametrize(
    ("before", "after", "statement", "not_seen"),
    [
        ("math.erf %", "math.tanh %", "%e = math.erf", []),
        ("dense<0.707106769>", "dense<0.717106769>", "%s = arith.mulf %z, %inverse_root_2", []),
        # the machine does another statement twice instead: the value is nowhere, the next statement shows it
        (
            "vectorchain.binary %20, %15",
            "vectorchain.binary %20, %13",
            "%v = arith.mulf %u, %t",
            ["arith.mulf"],
        ),
    ],
)
def test_the_statement_of_a_chain_that_is_computed_wrong_is_named(
    before: str,
    after: str,
    statement: str,
    not_seen: list[str],
    product: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (product / "dfir.mlir").read_text()
    assert text.count(before) == 1
    found, said, _ = parts(text.replace(before, after), product, capsys)
    assert said.startswith(statement)
    assert found["reference"] != found["machine"]
    assert [one["op"] for one in found["not_seen"]] == not_seen


def test_a_product_without_its_last_partial_sum_is_named_with_what_the_machine_has(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (product / "dfir.mlir").read_text().splitlines()
    at = max(k for k, line in enumerate(lines) if "multiply_and_accumulate" in line)
    short = re.sub(r"multiply_and_accumulate (%\w+, %\w+), %\w+", r"multiply \1", lines[at])
    lines[at] = short.replace(", vector<64xf32>, vector<64xf32>", ", vector<64xf32>")
    found, said, machine = parts("\n".join(lines) + "\n", product, capsys)
    assert said.startswith("%product = linalg.matmul") and machine == lines[at].strip()
    assert found["by"].startswith("C0-pt") and found["element"] == [0, 0]


def test_a_load_from_the_wrong_place_is_told_before_the_first_value_that_shows_it(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (product / "dfir.mlir").read_text()
    wrong = re.sub(r"src:%b_0\[%\w+\]", "src:%b_0[0]", text)
    assert wrong != text
    found, said, _ = parts(wrong, product, capsys)
    assert [one["op"] for one in found["not_seen"]] == ["ktdp.load", "arith.extf"]
    assert said.startswith("%z = arith.addf")


@pytest.mark.parametrize(
    ("before", "after", "op", "statement"),
    [
        ("operator add", "operator max", "linalg.reduce", "%total = linalg.reduce"),
        ("binary_operator mul", "binary_operator add", "arith.mulf", "%s = arith.mulf %v, %v"),
    ],
)
def test_the_statement_of_a_reduction_that_is_computed_wrong_is_named(
    before: str, after: str, op: str, statement: str, norm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (norm / "dfir.mlir").read_text()
    found, said, _ = parts(text.replace(before, after, 1), norm, capsys)
    assert found["op"] == op and said.startswith(statement)
    assert found["reference"] != found["machine"] and found["not_seen"] == []


def test_a_wrong_copy_of_a_statement_computed_twice_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = compiled("softmax", tmp_path / "p", capsys)
    text = (folder / "dfir.mlir").read_text()
    assert text.count("operator sub") == 2
    wrong = text.replace("operator sub", "operator add", 1)
    _, said, machine = parts(wrong, folder, capsys)
    assert said.startswith("%d = arith.subf %v, %m") and "operator add" in machine


def test_values_that_are_right_part_on_the_way_to_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = compiled("transpose", tmp_path / "p", capsys)
    text = (folder / "dfir.mlir").read_text()
    (folder / "dfir.mlir").write_text(text.replace("dst:%y_0[%2 + %t * 32", "dst:%y_0[%2 + %t * 0"))
    assert exit_code(["diff", str(folder)]) == 2
    assert "they part on the way to memory" in capsys.readouterr().out


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


def test_a_sum_rounded_between_reductions_may_be_rounded_the_other_way() -> None:
    """A weight off by one unit moves a result near zero by many of its own; no more than that."""
    x = np.array([1.0, 1e-4], np.float16)
    near, far = x + np.array([0, 2**-10], np.float16), x + np.array([0, 2**-8], np.float16)
    assert not agrees(near, x, "f16", 64) and agrees(near, x, "f16", 64, "f16")
    assert not agrees(far, x, "f16", 64, "f16")


@pytest.mark.parametrize(
    ("name", "extents", "between"),
    [
        ("attention", {"heads": 1, "length": 8, "depth": 8}, "f16"),
        ("gated_mlp", {"m": 2, "width": 8, "hidden": 8, "grid": (1, 1)}, "f16"),  # through device memory
        ("softmax", {"rows": 2, "columns": 8}, ""),
        ("matmul_bias_gelu", {"m": 2, "k": 8, "n": 8, "grid": (1, 1)}, ""),
    ],
)
def test_a_program_knows_whether_its_sums_are_rounded_between_reductions(name, extents, between) -> None:
    assert freedom(Kernel(kernel_text(name, **extents)).compile("tiny"))[1] == between
