"""Packing by constraints: right where it says it fits, repeatable, within its work, a last resort."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from benchmarks.packing import SETS, check
from hypothesis import given, settings

from headrace.arch.presets import device
from headrace.schedule import cpsat, packing
from headrace.schedule.buffers import Lifetime, ScratchpadFull, read_csv
from headrace.schedule.lower.order import addresses
from headrace.schedule.lower.tree import Function

from .test_packing import lowest_peak, small

MIB = 1 << 20
HARD = read_csv((SETS / "H.1048576.csv").read_text())
"""Packed by constraints within some tenths of a second, by the exact search not in millions of nodes."""
EMPTY = Function("f", (0,), 1, (), (), ())


@settings(max_examples=40, deadline=None)
@given(small)
def test_it_finds_a_packing_exactly_when_there_is_one(buffers: list[Lifetime]) -> None:
    peak = lowest_peak(buffers)
    placed = cpsat.solve(buffers, peak, 1)
    assert placed is not None
    check(buffers, placed, peak)
    assert cpsat.solve(list(reversed(buffers)), peak, 1) == placed
    assert cpsat.solve(buffers, peak - 1, 1) is None


def test_it_packs_what_the_exact_search_gives_up_on() -> None:
    assert packing.solve(HARD, MIB, nodes=1000) is None
    placed = packing.solve(HARD, MIB, nodes=1000, work=0.2)
    assert placed is not None
    check(HARD, placed, MIB)


def test_a_packing_is_the_same_in_another_process() -> None:
    code = f"""import json
from headrace.schedule import buffers, cpsat
some = buffers.read_csv(open({str(SETS / "H.1048576.csv")!r}).read())
print(json.dumps(cpsat.solve(some[::-1], {MIB}, 128, 0.2)))"""
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    placed = cpsat.solve(HARD, MIB, 128, 0.2)
    assert placed is not None and json.loads(done.stdout) == placed


def test_both_sides_of_a_step_over_which_little_lives_are_packed_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A set twice, one after the other, and a buffer that lives through both: on the floor, for each side."""
    length = 1 + max(b.last for b in HARD)
    later = [Lifetime(f"{b.name}'", b.bytes, b.first + length, b.last + length) for b in HARD]
    buffers = [*HARD, *later, Lifetime("long", 4096, 0, 2 * length)]
    sides = []
    whole = cpsat._whole
    monkeypatch.setattr(cpsat, "_whole", lambda some, *rest: (sides.append(len(some)), whole(some, *rest))[1])
    placed = cpsat.solve(buffers, MIB + 4096, 1024, 1.0)
    assert placed is not None and placed["long"] == 0
    check(buffers, placed, MIB + 4096)
    assert max(sides) <= len(HARD) + 1


def test_a_set_is_packed_whole_where_a_side_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thin buffers must lie apart before the step they live across: not both on the floor."""
    thin = [Lifetime("t", 1, 2, 5), Lifetime("u", 1, 1, 4)]
    left = [("a", 19, 1, 2), ("b", 8, 1, 1), ("c", 17, 0, 1), ("d", 12, 2, 2)]
    buffers = [*thin, *(Lifetime(*row) for row in left), Lifetime("e", 7, 3, 5)]
    sizes = []
    whole = cpsat._whole
    monkeypatch.setattr(cpsat, "_whole", lambda some, *rest: (sizes.append(len(some)), whole(some, *rest))[1])
    placed = cpsat.solve(buffers, 45, 1)
    assert placed is not None and sizes == [6, 7]
    check(buffers, placed, 45)


def test_it_gives_up_after_the_work_it_was_given() -> None:
    assert cpsat.solve(HARD, MIB, 1024, work=1e-4) is None


def test_nothing_to_pack_is_an_empty_placement() -> None:
    assert cpsat.solve([], 0) == {}


def test_a_function_gets_its_addresses_from_constraints_when_all_else_gave_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = device("spyre", {"lx.size_bytes": MIB})
    monkeypatch.setattr(addresses, "_lifetimes", lambda *_: iter([HARD]))
    monkeypatch.setattr(addresses, "SEARCH_NODES", 1000)
    placed = addresses.assign(EMPTY, [], machine)
    check(HARD, placed, MIB)
    monkeypatch.setattr(cpsat, "solve", lambda *_: None)
    with pytest.raises(ScratchpadFull, match="do not fit the scratchpad of 1048576 bytes"):
        addresses.assign(EMPTY, [], machine)
