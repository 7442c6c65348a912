"""Packing: disjoint while alive together, aligned, inside the scratchpad, deterministic."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.schedule.buffers import Lifetime, pack, peak_bytes


def test_buffers_that_never_meet_share_an_address() -> None:
    a, b = Lifetime("a", 1000, 0, 1), Lifetime("b", 1000, 2, 3)
    assert pack([a, b], 1024) == {"a": 0, "b": 0}


def test_buffers_that_meet_lie_side_by_side_at_multiples_of_the_alignment() -> None:
    placed = pack([Lifetime("a", 100, 0, 2), Lifetime("b", 300, 1, 3)], 512)
    assert placed == {"b": 0, "a": 384}


def test_reserved_ranges_stay_free() -> None:
    placed = pack([Lifetime("a", 256, 0, 0)], 1024, reserved=[(0, 130)])
    assert placed == {"a": 256}


def test_what_cannot_fit_is_none() -> None:
    assert pack([Lifetime("a", 600, 0, 1), Lifetime("b", 600, 1, 1)], 1024) is None


def test_nothing_to_pack_is_an_empty_placement() -> None:
    assert pack([], 1024) == {}


lifetimes = st.lists(
    st.tuples(st.integers(1, 900), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=12
).map(
    lambda rows: [Lifetime(f"b{i}", size, first, first + span) for i, (size, first, span) in enumerate(rows)]
)


@settings(max_examples=60, deadline=None)
@given(lifetimes)
def test_a_packing_is_disjoint_aligned_and_repeatable(buffers: list[Lifetime]) -> None:
    placed = pack(buffers, 1 << 16)
    assert placed is not None
    assert placed == pack(list(reversed(buffers)), 1 << 16)
    for a in buffers:
        assert placed[a.name] % 128 == 0
        for b in buffers:
            if a.name < b.name and a.meets(b):
                assert (
                    placed[a.name] + a.bytes <= placed[b.name] or placed[b.name] + b.bytes <= placed[a.name]
                )
    assert pack(buffers, peak_bytes(buffers, placed)) is not None
