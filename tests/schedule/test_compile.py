"""A plan whose buffers find no addresses is followed by one for less room; every plan records its room."""

from __future__ import annotations

import pytest
from benchmarks.kernels import kernel_text

from headrace.arch.presets import device
from headrace.ir.text import parse
from headrace.schedule import compile as compiling
from headrace.schedule.buffers import ScratchpadFull
from headrace.schedule.compile import Request, compile_module
from headrace.schedule.lower import lower
from headrace.schedule.search import rooms, spare_bytes

TEXT = kernel_text("matmul", m=64, k=256, n=64, grid=(1, 2))


def refusing(times: int):
    """`lower` that finds no addresses the first `times` times."""
    left = [None] * times

    def lowered(ktdf, chip):
        if left:
            left.pop()
            raise ScratchpadFull("buffers do not fit")
        return lower(ktdf, chip)

    return lowered


def test_the_first_room_is_nearly_all_of_the_scratchpad_and_every_next_one_smaller():
    found = rooms(device("tiny"))
    assert found[0] == 65536 * 15 // 16 and found == sorted(set(found), reverse=True)


@pytest.mark.parametrize("times", [0, 1, 3, 6])
def test_buffers_without_addresses_are_planned_again_for_less_room(monkeypatch, times):
    chip = device("tiny")
    monkeypatch.setattr(compiling, "lower", refusing(times))
    plan = compile_module(parse(TEXT), chip, Request()).plan
    assert plan.room_bytes == rooms(chip)[times]
    most = plan.room_bytes + (0 if times else spare_bytes(chip))
    assert all(p.lx_bytes <= most for part in plan.classes for p in part.phases)


def test_the_least_room_is_the_last(monkeypatch):
    monkeypatch.setattr(compiling, "lower", refusing(len(rooms(device("tiny")))))
    with pytest.raises(ScratchpadFull):
        compile_module(parse(TEXT), device("tiny"), Request())


def test_a_replayed_plan_is_not_exchanged_for_another(monkeypatch):
    chip = device("tiny")
    plan = compile_module(parse(TEXT), chip, Request()).plan
    monkeypatch.setattr(compiling, "lower", refusing(1))
    with pytest.raises(ScratchpadFull):
        compile_module(parse(TEXT), chip, Request(plan=plan))
