"""Linear forms behave as the integers they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.schedule.model.algebra import number as nm
from headrace.schedule.model.algebra.number import NotLinear, Num

RANGES = {"i": (0, 3), "j": (-2, 5)}
SMALL = st.integers(-20, 20)
FORMS = st.builds(
    lambda c, i, j: Num(c, {n: f for n, f in (("i", i), ("j", j)) if f}),
    SMALL,
    st.integers(-6, 6),
    st.integers(-6, 6),
)
POINTS = [{"i": i, "j": j} for i in range(4) for j in range(-2, 6)]


def at(form: Num, point: dict[str, int]) -> int:
    assert isinstance(form.const, int)
    return form.const + sum(c * point[n] for n, c in form.terms.items())


@settings(max_examples=200, deadline=None)
@given(a=FORMS, b=FORMS, d=st.integers(1, 9))
def test_forms_compute_at_every_point_what_integers_do(a: Num, b: Num, d: int) -> None:
    for point in POINTS:
        x, y = at(a, point), at(b, point)
        assert at(nm.add(a, b), point) == x + y
        assert at(nm.sub(a, b), point) == x - y
        assert at(nm.mul(a, Num(d)), point) == x * d
    for of, exact in ((nm.floordiv, lambda x, y: x // y), (nm.modulo, lambda x, y: x % y)):
        try:
            result = of(a, Num(d), RANGES)
        except NotLinear as why:
            assert set(why.loops) <= {"i", "j"} and why.loops
            continue
        assert all(at(result, p) == exact(at(a, p), d) for p in POINTS)


@settings(max_examples=200, deadline=None)
@given(a=FORMS, b=FORMS, predicate=st.sampled_from(["eq", "ne", "slt", "sle", "sgt", "sge"]))
def test_compares_and_extremes_are_right_or_refused(a: Num, b: Num, predicate: str) -> None:
    exact = {
        "eq": "__eq__",
        "ne": "__ne__",
        "slt": "__lt__",
        "sle": "__le__",
        "sgt": "__gt__",
        "sge": "__ge__",
    }
    try:
        held = nm.compare(predicate, a, b, RANGES).fixed
        assert all(getattr(at(a, p), exact[predicate])(at(b, p)) == bool(held) for p in POINTS)
    except NotLinear:
        pass
    for of, python in ((nm.minimum, min), (nm.maximum, max)):
        try:
            result = of(a, b, RANGES)
        except NotLinear:
            continue
        assert all(at(result, p) == python(at(a, p), at(b, p)) for p in POINTS)


@settings(max_examples=100, deadline=None)
@given(a=FORMS)
def test_bounds_are_reached(a: Num) -> None:
    values = [at(a, p) for p in POINTS]
    assert nm.bounds(a, RANGES) == (min(values), max(values))


def test_constants_differ_from_tile_to_tile() -> None:
    tiles = nm.number(np.arange(4))
    assert nm.modulo(tiles, Num(2), {}).const.tolist() == [0, 1, 0, 1]  # type: ignore[union-attr]
    assert nm.sub(tiles, tiles).fixed == 0
    chosen = nm.select(nm.compare("sge", tiles, Num(2), {}), Num(7), tiles)
    assert chosen.const.tolist() == [0, 1, 7, 7]  # type: ignore[union-attr]


def test_addresses_add_and_subtract_but_do_not_multiply() -> None:
    address = Num(3, {"i": 2}, "x")
    assert nm.add(address, Num(4)).arg == "x"
    assert nm.sub(address, Num(1, {}, "x")) == Num(2, {"i": 2})
    with pytest.raises(NotLinear):
        nm.mul(address, Num(2))
    with pytest.raises(NotLinear):
        nm.add(address, address)
