"""KTDF that cannot be lowered: every error says where and what to do instead."""

from __future__ import annotations

import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.schedule.lower import lower
from tests.schedule.machine_run import source

BROKEN = {
    "no unit": ('applicable_units = ["MNISU"]', 'applicable_units = ["STORE"]', 'no unit "STORE" on spyre'),
    "wrong end": (
        '<"L1LU" -> "SFU", 64xf32>',
        '<"L1LU" -> "PT", 64xf32>',
        "SFU receives from a channel from L1LU to PT",
    ),
    "no datapath": (
        '<"SFU" -> "L1SU", 64xf32>',
        '<"SFU" -> "L1LU", 64xf32>',
        "no datapath from SFU to L1LU",
    ),
    "no function": ("attributes {grid = [4], ", "attributes {", "holds no schedule function"),
    "cores": ("array<i64: 0, 1, 2, 3>", "array<i64: 0, 1, 2, 32>", "do not fit the grid"),
    "boxes": ("%yl[0] size [64] to %yv", "%yl[0] size [60] to %yv", "do not match"),
}


def lowering(text: str) -> None:
    lower(parse(text, "ring.mlir"), device("spyre"))


@pytest.mark.parametrize("name", list(BROKEN))
def test_what_is_wrong_is_said_with_its_place_and_a_hint(name: str) -> None:
    old, new, message = BROKEN[name]
    text = source("ring").replace(old, new)
    assert text != source("ring")
    with pytest.raises(HeadraceError) as error:
        lowering(text)
    first = error.value.diagnostics[0]
    assert message in first.message and first.hint
    assert first.where is not None and first.where.file == "ring.mlir"


def test_buffers_larger_than_the_scratchpad_are_refused_with_their_size() -> None:
    text = source("ring").replace("memref<64xf32, #S>", "memref<600000xf32, #S>")
    with pytest.raises(HeadraceError, match="do not fit the scratchpad of 2097152 bytes"):
        lowering(text)
