"""Linear values and runs of bytes are what one finds by counting."""

from __future__ import annotations

from itertools import combinations, product

import networkx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.schedule.verify.programs.events import Touch
from headrace.schedule.verify.programs.linear import Linear, NotLinear, Unclear
from headrace.schedule.verify.programs.values import Handle, View
from headrace.schedule.verify.spans import Hulls, byte_range, hulls, share_bytes

COUNTS = {"i": 7, "j": 4}
numbers = st.integers(-9, 9)


@st.composite
def expressions(draw, depth: int = 3):
    """Functions of loop variables."""
    if depth == 0 or draw(st.booleans()):
        loop = draw(st.sampled_from([*COUNTS, None]))
        number = draw(numbers)
        return (lambda known, n=number: n) if loop is None else (lambda known, k=loop: known[k])
    left, right = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    small = draw(st.integers(1, 6))
    ways = (
        lambda known: left(known) + right(known),
        lambda known: left(known) - right(known),
        lambda known: left(known) * small,
        lambda known: left(known) % small,
        lambda known: left(known) // small,
        lambda known: -(-left(known) // small),
        lambda known: min(left(known), right(known)),
        lambda known: small if left(known) < right(known) else left(known),
        lambda known: small if left(known) >= right(known) else right(known),
    )
    return draw(st.sampled_from(ways))


@given(expressions())
@settings(max_examples=150, deadline=None)
def test_a_linear_value_is_that_of_every_iteration(expression) -> None:
    linear = {loop: Linear(0, {loop: 1}, {loop: n}) for loop, n in COUNTS.items()}
    try:
        found = expression(linear)
    except NotLinear:
        return
    if isinstance(found, Unclear):
        return
    for at in product(*(range(n) for n in COUNTS.values())):
        known = dict(zip(COUNTS, at, strict=True))
        slopes = found.slopes if isinstance(found, Linear) else {}
        base = found.base if isinstance(found, Linear) else found
        assert expression(known) == base + sum(s * known[loop] for loop, s in slopes.items())


@st.composite
def touches(draw, layout=None):
    """Boxes of a small array, moving along its dims."""
    strides = layout or draw(st.sampled_from([(8, 1), (1, 8), (12, 1), (3, 1), (9, 2), (8, -1)]))
    size = draw(st.sampled_from([1, 2]))
    view = View(Handle("hbm", -1), draw(st.integers(20, 30)), strides, (8, 8), "f16", size)
    low = draw(st.tuples(st.integers(0, 7), st.integers(0, 7)))
    extents = draw(st.tuples(st.integers(1, 3), st.integers(1, 4)))
    moves = st.tuples(st.integers(-2, 3), st.integers(-2, 3))
    times = draw(st.lists(st.tuples(st.integers(1, 3), moves), max_size=2))
    return Touch(view, True, low, extents, tuple(times))


def counted(touch: Touch) -> set[int]:
    view, found = touch.view, set()
    for at in product(*(range(n) for n, _ in touch.times)):
        corner = [
            a + sum(k * move[d] for k, (_, move) in zip(at, touch.times, strict=True))
            for d, a in enumerate(touch.low)
        ]
        for inner in product(*(range(e) for e in touch.extents)):
            element = view.start + sum(
                (c + k) * s for c, k, s in zip(corner, inner, view.strides, strict=True)
            )
            found.update(range(element * view.itemsize, (element + 1) * view.itemsize))
    return found


def inside(touch: Touch) -> bool:
    first, end = touch.hull()
    return all(a >= 0 and b <= n for a, b, n in zip(first, end, touch.view.shape, strict=True))


@given(touches(), touches(), st.booleans())
@settings(max_examples=250, deadline=None)
def test_touches_share_bytes_where_counting_them_says_so(a: Touch, b: Touch, is_one_view: bool) -> None:
    if is_one_view:
        b = Touch(a.view, True, b.low, b.extents, b.times)
    # outside of the view another finding is certain
    if inside(a) and inside(b):
        assert share_bytes(a, b) == bool(counted(a) & counted(b))
    first, end = byte_range(a)
    assert min(counted(a)) >= first and max(counted(a)) < end


def test_a_view_whose_rows_overlap_is_compared_by_bytes() -> None:
    view = View(Handle("hbm", -1), 20, (3, 1), (8, 8), "f16", 1)
    assert share_bytes(Touch(view, True, (0, 0), (2, 1), ()), Touch(view, True, (0, 1), (1, 3), ()))


@given(st.lists(touches(), min_size=2, max_size=5), st.booleans())
@settings(max_examples=150, deadline=None)
def test_boxes_around_touches_that_share_bytes_meet(found: list[Touch], is_one_view: bool) -> None:
    if is_one_view:
        found = [Touch(found[0].view, True, t.low, t.extents, t.times) for t in found]
    boxes = hulls(found)
    for (j, a), (k, b) in combinations(enumerate(found), 2):
        if inside(a) and inside(b) and counted(a) & counted(b):
            assert boxes.meet(j, k)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-20, 60), st.integers(1, 9)), max_size=12))
def test_touches_are_of_one_region_if_a_chain_of_shared_bytes_leads_from_one_to_the_other(ranges):
    low = np.array([first for first, _ in ranges], np.int64)
    end = np.array([first + size for first, size in ranges], np.int64)
    corners = np.zeros((len(ranges), 0), np.int64)
    regions = Hulls(low, end, np.zeros(len(ranges), np.int64), corners, corners).regions().tolist()
    linked = networkx.Graph()
    linked.add_nodes_from(range(len(ranges)))
    linked.add_edges_from(
        (a, b) for a, b in combinations(range(len(ranges)), 2) if low[a] < end[b] and low[b] < end[a]
    )
    for one in networkx.connected_components(linked):
        assert len({regions[k] for k in one}) == 1
    assert len(set(regions)) == networkx.number_connected_components(linked)
