"""The sample programs, timed: every way of simulating gives the same, every cycle is accounted for, DDR
bytes are those the programs touch.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.arch.cost import ddr_cycles
from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.machine.image import Image
from headrace.machine.timing import Timing, engine, rounds, time
from tests.machine.samples import PROGRAMS, image_of, text

NAMES = sorted(path.stem for path in PROGRAMS.glob("*.mlir") if path.stem != "snippets")
"""The snippets name peers that have no program there: there is nothing to run."""
SPYRE = device("spyre")
MOVED = {
    "multicast": (None, 2048),
    "gather": (32 * 128 + 128, 8192),
    "softmax": (16 * 300 * 2, 16 * 300 * 2),
}
"""Bytes read and written where they are easily told (None: not told)."""


def timed(image: Image, **options: bool) -> Timing:
    scalars = {argument.name: 1000 if argument.name == "n" else 0 for argument in image.arguments}
    return time(image, scalars, SPYRE, **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_takes_the_same_time_however_it_is_simulated(name: str) -> None:
    image = image_of(text(name))
    found = timed(image)
    single = timed(image, is_folding=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "LOOKS", 0)
        patch.setattr(rounds, "PATIENCE", 0)
        walked = timed(image)
    assert found.cycles == single.cycles == walked.cycles
    assert found.units == single.units == walked.units
    assert found.bytes == single.bytes == walked.bytes


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_no_faster_than_its_bytes_and_accounts_for_every_cycle(name: str) -> None:
    found = timed(image_of(text(name)))
    assert found.cycles >= ddr_cycles(found.bytes["ddr_read"], found.bytes["ddr_write"], SPYRE)
    assert found.lx_peak_bytes > 0
    for unit in found.units.values():
        parts = (unit.busy, unit.input, unit.space, unit.signal, unit.bandwidth, unit.setup, unit.idle)
        assert sum(parts) == unit.instances * found.cycles
        assert min(parts) >= 0


@pytest.mark.parametrize("name", ["gather", "softmax", "multicast"])
def test_a_sample_moves_the_bytes_it_names(name: str) -> None:
    found = timed(image_of(text(name)))
    read, written = MOVED[name]
    assert read is None or found.bytes["ddr_read"] == read
    assert written is None or found.bytes["ddr_write"] == written


def test_the_peak_of_a_scratchpad_knows_addresses_carried_by_loops() -> None:
    """Two buffers of 8 x 64 f16 in turn, the last of them at element 3,072."""
    assert timed(image_of(text("public_square"))).lx_peak_bytes == 2 * (3072 + 8 * 64)


def test_a_missing_size_is_named() -> None:
    with pytest.raises(HeadraceError, match="cycles depend on n, not known before the run"):
        time(image_of(text("dynamic")), {}, SPYRE)


PRINT = """
import json, sys
from headrace.runtime.kernel import load
from headrace.runtime.retime import retiming
for path, device in zip(sys.argv[1::2], sys.argv[2::2]):
    run = retiming(load(path).compile(device))
    found = run.time(is_recorded=True)
    print(found.cycles, run.time().cycles, found.units, found.bytes, found.counts, found.path)
"""


def test_another_process_with_other_hashes_gives_the_same_timing() -> None:
    """Cycles, accounts and critical path do not depend on the order of sets or on where objects lie."""
    folder = Path(__file__).parent / "programs"
    files = [
        ("softmax", "spyre"),
        ("multicast", "spyre"),
        ("ring_pull", "spyre"),
        ("public_bias_add", "sample"),
    ]
    words = [word for name, device in files for word in (str(folder / f"{name}.mlir"), device)]
    outputs = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PRINT, *words], env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
