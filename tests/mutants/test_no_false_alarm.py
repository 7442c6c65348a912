"""Correct programs are clean: all our kernels on every device, and random ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.machine.check import sanitize
from headrace.runtime.kernel import Kernel, load
from headrace.schedule.verify import verify
from tests.differential.chains import chain
from tests.kernels.test_list_machine import SCATTERS
from tests.mutants.subjects import ROOT, of_kernel

FILES = sorted(f for folder in ("tests", "examples") for f in (ROOT / folder / "kernels").glob("*.mlir"))
DEVICES = ("spyre", "sample", "tiny", "spyre-1core")
ALL = [(file, chip) for file in FILES for chip in DEVICES]
FEW = {("rmsnorm_4x1", "tiny"), ("rope_4x2", "sample"), ("copy_row_merge", "spyre"), ("tile_control", "tiny")}
ALIKE_ROWS = "writes bytes of"
"""What a scatter of two cores says: equal targets are undefined, not wrong."""


def alarms(kernel: Kernel, chip: str) -> list[str]:
    """What either checker says about a kernel on a device; nothing where it cannot be compiled for it."""
    try:
        subject = of_kernel(kernel, chip, kernel.file)
    except HeadraceError as refused:
        assert all(d.message for d in refused.diagnostics)
        return []
    subject.prepare(0)
    found = sanitize(subject.image, subject.memory, dict(subject.scalars), None, subject.blank)
    texts = [str(f) for f in found]
    if Path(kernel.file).stem in SCATTERS:
        texts = [text for text in texts if ALIKE_ROWS not in text]
    return texts + [str(d) for d in verify(subject.module, subject.device)]


@pytest.mark.parametrize(
    ("file", "chip"),
    [
        pytest.param(f, d, id=f"{f.stem}-{d}", marks=[] if (f.stem, d) in FEW else [pytest.mark.long])
        for f, d in ALL
    ],
)
def test_a_kernel_of_ours_is_clean(file: Path, chip: str) -> None:
    assert alarms(load(file), chip) == []


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[] if s % 50 == 7 else [pytest.mark.long]) for s in range(500)]
)
def test_a_random_kernel_is_clean(seed: int) -> None:
    text, kinds = chain(seed)
    assert alarms(Kernel(text, f"chain{seed}"), DEVICES[seed % 4]) == [], kinds
