"""`headrace bench schedule` shows what every decision is worth, and where a plan meets its bound."""

from __future__ import annotations

import json

import pytest
from benchmarks import schedule
from benchmarks.kernels import suite_text

from headrace.cli.main import exit_code
from headrace.schedule.search import OPTIMISATIONS


def rows(capsys: pytest.CaptureFixture[str], only: str) -> dict[str, dict]:
    """The rows of the kernels with `only` in their names, by name."""
    assert exit_code(["bench", "schedule", "--only", only, "--json"]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}


def test_every_optimisation_and_device_has_a_row_and_the_naive_plan_is_the_slowest(capsys):
    found = rows(capsys, "layernorm_512x768")
    best = found["layernorm_512x768 cycles"]["value"]
    left_out = [found[f"layernorm_512x768 without {name}"]["value"] for name in OPTIMISATIONS]
    assert best <= min(left_out) and max(left_out) < found["layernorm_512x768 naive"]["value"]
    assert found["layernorm_512x768 bound"]["resource"] == "ddr"
    assert found["layernorm_512x768 ratio"]["met"]
    for label in schedule.DEVICES:
        assert found[f"layernorm_512x768 {label} ratio"]["value"] >= 1


def test_a_plan_that_cannot_run_on_a_device_says_why(capsys):
    found = rows(capsys, "rmsnorm_512x768")
    row = found["rmsnorm_512x768 twice the cores replayed"]
    assert row["value"] is None and row["reason"]


def test_a_kernel_that_cannot_be_compiled_keeps_its_row(monkeypatch):
    doubles = suite_text("add_4mib").replace("f16", "f64")
    monkeypatch.setattr(schedule, "suite_text", lambda name, cores=32: doubles)
    found = schedule.rows("add_64mib")[:1]
    assert found[0]["name"] == "add_64mib ratio" and not found[0]["met"] and "f64" in found[0]["reason"]
    assert "not compiled" in schedule.tables(found)["cycles over the bound"][1][1]
