"""Accesses of one stage that never touch, apart along a dim or in each other's gaps; boxes seen as one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.schedule.lower.index import Expr, Var
from headrace.schedule.lower.order.accesses import Access, Range, hull, is_between, is_far
from headrace.schedule.lower.order.joined import joined
from headrace.schedule.lower.tree import Buffer, Memory

BUFFER = Buffer("b", "f32", (4096,))
Loops = list[tuple[int, int]]

RUNS = st.tuples(
    st.integers(0, 40),
    st.integers(1, 9),
    st.lists(st.tuples(st.integers(1, 24), st.integers(1, 4)), max_size=2),
)
"""Where an access begins, its extent, the step and the count of every loop around it."""


def access(start: int, size: int, loops: Loops) -> Access:
    """A write of `size` elements from `start` on in point loops."""
    points = tuple(
        Range(Var(f"v{k}"), Expr(0), Expr(count), Expr(step)) for k, (step, count) in enumerate(loops)
    )
    low = Expr(start, tuple((p.var, 1) for p in points))
    memory = Memory("f32", (4096,), (1,), BUFFER)
    return Access("SFU", (0,), 0, True, memory, (low,), (Expr(size),), (), points)


def touched(start: int, size: int, loops: Loops) -> set[int]:
    """The elements it touches."""
    starts = {start}
    for step, count in loops:
        starts = {s + step * k for s in starts for k in range(count)}
    return {s + k for s in starts for k in range(size)}


@settings(max_examples=400, deadline=None)
@given(RUNS, RUNS)
def test_accesses_said_to_be_apart_touch_nothing_alike(one, other):
    pair = access(*one), access(*other)
    if is_far(*pair) or is_between(*pair):
        assert not touched(*one) & touched(*other)


def test_turns_of_rows_lie_in_each_others_gaps():
    # two rows of sixteen after every section: those of one turn never meet those of another
    turns = [access(2 * k, 2, [(16, 4)]) for k in range(8)]
    assert all(is_between(a, b) for a in turns for b in turns if a is not b)
    assert not any(is_far(a, b) or is_between(a, a) for a in turns for b in turns)
    assert not is_between(access(0, 3, [(16, 4)]), turns[1])


@settings(max_examples=200, deadline=None)
@given(st.lists(RUNS, min_size=1, max_size=4))
def test_boxes_seen_as_one_cover_what_they_are_made_of(several):
    accesses = [access(*one) for one in several]
    made = {id(a): touched(*one) for a, one in zip(accesses, several, strict=True)}
    found = list(joined(accesses))
    assert sorted(id(part) for _, parts in found for part in parts) == sorted(made)
    for whole, parts in found:
        swept = hull(whole, 0)
        low, size = swept.low[0].const, swept.size[0].const
        assert set().union(*(made[id(part)] for part in parts)) <= set(range(low, low + size))
