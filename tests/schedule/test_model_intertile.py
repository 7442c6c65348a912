"""Inter-tile ops as statements: messages, handovers, tiles of one core side by side, and what is refused."""

from __future__ import annotations

import re

import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.schedule.graph import Handover, Store
from headrace.schedule.model import model
from headrace.schedule.model.statements import everything
from tests.kernels.listed import FOLDER


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.mlir").read_text()


def graph_of(text: str, name: str = "spyre", without: tuple[str, ...] = ("ring",)):
    return model(parse(text), device(name), without=without)


def test_every_tile_on_a_core_of_its_own_hands_over_to_all_others() -> None:
    (only,) = graph_of(text_of("ring_reduce")).classes
    (met,) = [s for s in only.body if isinstance(s, Handover)]
    assert met.kind == "full"
    assert set(met.pairs) == {(a, b) for a in range(8) for b in range(8) if a != b}


def test_the_tiles_of_a_core_all_send_before_the_core_waits() -> None:
    for part in graph_of(text_of("ring_reduce"), "tiny").classes:
        kinds = [type(s) for s in part.body if isinstance(s, Store | Handover)]
        assert kinds[:5] == [Store] * 4 + [Handover]
        (met,) = [s for s in part.body if isinstance(s, Handover)]
        assert met.pairs == ((0, 1), (1, 0))


def test_messages_in_a_loop_are_overwritten_only_when_read() -> None:
    (only,) = graph_of(text_of("ring_shift")).classes
    kinds = [s.kind for s in everything(only.body) if isinstance(s, Handover)]
    assert kinds == ["free", "full"]
    free, full = (s for s in everything(only.body) if isinstance(s, Handover))
    assert sorted(full.pairs) == sorted((b, a) for a, b in free.pairs)


def test_messages_do_not_count_as_work() -> None:
    assert graph_of(text_of("ring_reduce")).work["read_bytes"] == 8 * 64 * 4


def test_a_tile_that_never_comes_to_a_meeting_is_named() -> None:
    text = text_of("ring_reduce")
    start, end = text.index("    %future ="), text.index("    %y_tile =")
    inner = text[start:end]
    guarded = "    %c5 = arith.constant 5 : index\n    %early = arith.cmpi slt, %tile, %c5 : index\n"
    guarded += f"    scf.if %early {{\n{inner}    }}\n"
    rest = text[end:].replace("%total, %y_tile", "%x_in, %y_tile")
    for without in ((), ("ring",)):
        with pytest.raises(HeadraceError) as caught:
            graph_of(text[:start] + guarded + rest, without=without)
        first = caught.value.diagnostics[0]
        assert "waits for ever" in first.message and first.where.line > 0


def test_a_value_delivered_to_one_tile_may_not_be_read_on_all() -> None:
    text = re.sub(r"scf.if %is_first \{\n(.*?)\n    \}\n", r"\1\n", text_of("swiglu_4"), flags=re.S)
    with pytest.raises(HeadraceError, match="not delivered to every tile"):
        graph_of(text)
