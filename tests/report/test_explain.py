"""Explanations: numbers that add up, savings that a second simulation gives, words that fit the program."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.kernels.by_vectors import KINDS, Stream
from tests.machine.test_operands import loading_by
from tests.machine.timing_programs import machine

from headrace.arch.cost import Work, bound
from headrace.cli.main import exit_code
from headrace.report.explain import MARKS, WIDTH, Explanation, explain
from headrace.report.losses import Facts, losses
from headrace.report.style import SLOW
from headrace.runtime.kernel import load
from headrace.runtime.retime import Retiming, retiming

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "examples" / "kernels"
SAMPLES = ROOT / "tests" / "machine" / "programs"


def explained(name: str, device: str = "spyre", without: tuple[str, ...] = ()) -> Explanation:
    kernel = load(KERNELS / f"{name}.mlir")
    others = {one: kernel.compile(device, without=tuple(n for n in without if n != one)) for one in without}
    return explain(kernel.compile(device, without=without), without=others)


@pytest.mark.parametrize("name", ["vector_add", "softmax", "matmul"])
def test_every_part_of_an_explanation_adds_up(name: str) -> None:
    data = json.loads(json.dumps(explained(name).to_json()))
    path = data["critical_path"]
    assert path["cycles"] == sum(one["cycles"] for one in path["shares"]) == data["cycles"]
    assert sum(link["cycles"] for one in path["stretches"] for link in one["links"]) == data["cycles"]
    for unit in data["units"].values():
        assert sum(unit[cause] for cause in MARKS) == unit["instances"] * data["cycles"]
    assert data["ratio"] == pytest.approx(data["cycles"] / data["bound"]["cycles"], abs=1e-4)
    roof = data["roofline"]
    assert roof["attained_gflops"] <= roof["roof_gflops"]


def test_a_product_without_multicast_loses_its_cycles_to_separate_fetches() -> None:
    kernel = load(KERNELS / "matmul.mlir")
    apart, together = kernel.compile("spyre", without=("multicast",)), kernel.compile("spyre")
    found = explain(apart)
    worst = found.losses[0]
    assert worst.name == "multicast"
    assert "operand a is fetched by 8 cores" in worst.text
    assert worst.cycles == pytest.approx(retiming(together).time().cycles, rel=0.02)
    assert worst.saving == pytest.approx(1 - worst.cycles / found.timing.cycles)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (None, "in different orders; multicast, if all came to them in one order, would save"),
        ([640, 128, 640], "in different orders; reading them once (timed as a memory faster"),
    ],
)
def test_equal_loads_in_different_orders_are_timed_as_one_order_or_as_fewer_bytes(
    sizes: list[int] | None, said: str
) -> None:
    """Loads of unequal size never meet when their order differs: only the bytes that go are timed."""
    device, image = machine(2), loading_by([[0, 1, 2], [1, 0, 2]], sizes)
    run = Retiming(SimpleNamespace(image=image, device=device), {})  # type: ignore[arg-type]
    timing = run.time(is_recorded=True)
    moved = timing.bytes["ddr_read"]
    (found,) = [
        one
        for one in losses(run, Facts(device, timing, bound(Work(moved), device), ()))
        if one.name == "multicast"
    ]
    assert said in found.text and 0.2 < found.saving < 0.6
    assert found.saving == pytest.approx(1 - found.cycles / timing.cycles)


def test_what_a_switched_off_optimisation_costs_is_the_run_with_it() -> None:
    found = explained("softmax", without=("double-buffering",))
    whole = retiming(load(KERNELS / "softmax.mlir").compile("spyre")).time().cycles
    (loss,) = [one for one in found.losses if one.name == "without double-buffering"]
    assert loss.cycles == whole < found.timing.cycles


def test_losses_are_told_by_size_and_none_is_too_small_to_tell() -> None:
    found = explained("vector_add", "tiny")
    savings = [loss.saving for loss in found.losses]
    assert savings == sorted(savings, reverse=True)
    assert 0 < len(savings) <= 5 and min(savings) >= 0.005


def test_bars_are_as_long_as_they_should_be() -> None:
    lines = [line for line in explained("vector_add", "sample").text().splitlines() if "|" in line]
    assert {len(line.split("|")[1]) for line in lines} == {WIDTH}


def test_a_rendezvous_program_of_single_vectors_is_told_why_it_is_slow() -> None:
    program = load(SAMPLES / "public_bias_add.mlir").compile("sample")
    found = explain(program)
    notes = "\n".join(found.style)
    assert "signals for every step: 3,072 of them, one for every 1.0 vectors" in notes
    assert "no overlap of transfers: MNILU" in notes
    assert "narrow transfers: 128 bytes each" in notes
    assert found.facts.bound.source == "dfir"
    assert found.timing.cycles > 20 * found.facts.bound.cycles
    assert any(loss.name == "setup" for loss in found.losses)


@pytest.mark.parametrize("cores", [2, 32])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_programs_written_vector_by_vector_are_told_why_they_are_slow(kind: str, cores: int) -> None:
    program = load(Stream(kind, cores, tiles=3, rows=4).text()).compile("spyre")
    found = explain(program)
    notes = "\n".join(found.style)
    assert found.timing.cycles > (3 if cores == 2 else SLOW) * found.facts.bound.cycles
    assert "signals for every step" in notes
    assert "narrow transfers: 128 bytes each" in notes
    assert "no overlap" in notes


def test_a_program_near_its_bound_has_no_faults_of_style() -> None:
    assert explained("softmax").style == ()


RUNNABLE = sorted(path for path in SAMPLES.glob("*.mlir") if path.stem != "snippets")
"""The snippets are forms to decode; how often their loops run is in data that nobody wrote."""


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.stem)
def test_no_sample_beats_the_bound_of_its_own_bytes_and_steps(path: Path) -> None:
    values = dict.fromkeys(("n", "arg3"), 1000)
    program = load(path).compile("sample" if path.stem.startswith("public") else "spyre", scalars=values)
    run = retiming(program, values)
    timing = run.time()
    assert 0 < run.bound(timing).cycles <= timing.cycles


def test_the_command_prints_one_object_and_names_unknown_kernels(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert exit_code(["explain", str(KERNELS / "vector_add.mlir"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1 and data["critical_path"]["cycles"] == data["cycles"]
    folder = tmp_path / "program"
    assert exit_code(["compile", str(KERNELS / "vector_add.mlir"), "-o", str(folder)]) == 0
    capsys.readouterr()
    assert exit_code(["explain", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "critical path" in text and f"{data['cycles']:,} cycles" in text
    assert exit_code(["explain", str(KERNELS / "vector_add.mlir"), "nothing"]) == 1


def test_a_run_tells_its_critical_path() -> None:
    run = (
        load(KERNELS / "vector_add.mlir")
        .compile("spyre")
        .run(a=np.zeros(65536, np.float16), b=np.zeros(65536, np.float16))
    )
    path = run.critical_path()
    assert path[0].start == 0 and path[-1].end == run.cycles
    assert sum(link.cycles for link in path) == run.cycles
