"""The exact packing: right where it says it fits, complete on small sets, and the CSV form of problems."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from benchmarks.packing import SETS, check
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ir.diagnostics import HeadraceError
from headrace.schedule.buffers import Lifetime, live_peak, pack, read_csv
from headrace.schedule.packing import solve

small = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=6
).map(
    lambda rows: [Lifetime(f"b{i}", size, first, first + span) for i, (size, first, span) in enumerate(rows)]
)


def lowest_peak(buffers: list[Lifetime]) -> int:
    """By trying every order: each buffer on top of what it meets so far is enough to reach the best peak."""
    best = sum(b.bytes for b in buffers)
    for order in permutations(buffers):
        tops: dict[Lifetime, int] = {}
        for buffer in order:
            at = max((top for other, top in tops.items() if other.meets(buffer)), default=0)
            tops[buffer] = at + buffer.bytes
        best = min(best, max(tops.values()))
    return best


@settings(max_examples=80, deadline=None)
@given(small)
def test_it_finds_a_packing_exactly_when_there_is_one(buffers: list[Lifetime]) -> None:
    peak = lowest_peak(buffers)
    placed = solve(buffers, peak, 1)
    assert placed is not None
    check(buffers, placed, peak)
    assert solve(list(reversed(buffers)), peak, 1) == placed
    assert solve(buffers, peak - 1, 1) is None


def test_addresses_are_aligned() -> None:
    placed = solve([Lifetime("a", 100, 0, 2), Lifetime("b", 300, 1, 3)], 512, 128)
    assert placed is not None and all(address % 128 == 0 for address in placed.values())


def test_nothing_to_pack_is_an_empty_placement() -> None:
    assert solve([], 0) == {}


@pytest.mark.parametrize("name", ["F", "J", "K"])
def test_it_packs_without_a_spare_byte_what_the_fixed_orders_cannot(name: str) -> None:
    path = SETS / f"{name}.1048576.csv"
    buffers = read_csv(path.read_text())
    assert pack(buffers, 1 << 20, 1024) is None
    assert live_peak(buffers, 1024) <= 1 << 20
    placed = solve(buffers, 1 << 20, 1024, nodes=30_000)
    assert placed is not None
    check(buffers, placed, 1 << 20)


def test_it_gives_up_after_the_nodes_it_was_given() -> None:
    buffers = read_csv((SETS / "H.1048576.csv").read_text())
    assert solve(buffers, 1 << 20, 1024, nodes=100) is None


def test_the_check_sees_a_shared_byte() -> None:
    with pytest.raises(AssertionError, match="share bytes"):
        check([Lifetime("a", 10, 0, 1), Lifetime("b", 10, 1, 2)], {"a": 0, "b": 9}, 100)


def test_a_problem_is_read_with_half_open_lifetimes() -> None:
    assert read_csv("id,lower,upper,size\nx,2,5,7\n") == [Lifetime("x", 7, 2, 4)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a,b\n", 1, "names no columns"),
        ("id,lower,upper,size\nx,1,2,3\ny,1,q,3\n", 3, "not three whole numbers"),
        ("id,lower,upper,size\nx,5,5,3\n", 2, "lives never"),
    ],
)
def test_a_wrong_row_is_named(text: str, line: int, message: str) -> None:
    with pytest.raises(HeadraceError, match=message) as caught:
        read_csv(text, "p.csv")
    assert f"p.csv:{line}:1" in str(caught.value)


def test_the_sets_are_the_published_eleven() -> None:
    assert sorted(Path(p).name[0] for p in SETS.glob("*.csv")) == list("ABCDEFGHIJK")
