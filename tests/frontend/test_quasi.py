"""The index algebra is exact: every rewriting has the value of the text it came from."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.frontend.lower.quasi import (
    Call,
    Floor,
    Mod,
    NotQuasiAffine,
    Quasi,
    cut_points,
    interval,
    parse,
)

CALLS = {"abs": abs, "min": min, "max": max}
RANGES = {"a": (0, 3), "b": (0, 5), "c": (0, 1)}


def expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["a", "b", "c"]) | st.integers(-9, 9).map(lambda n: f"({n})")
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(st.integers(1, 8), inner).map(lambda t: f"({t[0]} * {t[1]})"),
            st.tuples(inner, st.sampled_from(["//", "%"]), st.integers(1, 7)).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            inner.map(lambda e: f"abs({e})"),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        ),
        max_leaves=8,
    )


def value(e: Quasi, point: dict[str, int]) -> int:
    total = e.const
    for atom, factor in e.terms:
        match atom:
            case str():
                total += factor * point[atom]
            case Floor(inner, divisor):
                total += factor * (value(inner, point) // divisor)
            case Mod(inner, divisor):
                total += factor * (value(inner, point) % divisor)
            case Call(name, arguments):
                total += factor * CALLS[name](*(value(x, point) for x in arguments))
    return total


def points() -> list[dict[str, int]]:
    spans = [range(low, high + 1) for low, high in RANGES.values()]
    return [dict(zip(RANGES, p, strict=True)) for p in itertools.product(*spans)]


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_a_parsed_expression_has_the_value_of_its_text_and_stays_in_its_interval(text: str) -> None:
    e = parse(text, RANGES, {})
    low, high = interval(e, RANGES)
    for point in points():
        expected = eval(text, {}, point)
        assert value(e, point) == expected
        assert low <= expected <= high


def test_a_division_that_the_ranges_decide_disappears() -> None:
    assert parse("(8*a + b) // 8", RANGES, {}) == parse("a", RANGES, {})
    assert parse("(8*a + b) % 8", RANGES, {}) == parse("b", RANGES, {})


def test_cut_points_make_a_merged_index_affine() -> None:
    found: dict[str, set[int]] = {}
    cut_points(parse("x // 16", {"x": (0, 767)}, {}), {"x": 768}, found)
    assert found == {"x": {16}}


def test_a_product_of_variables_is_refused() -> None:
    with pytest.raises(NotQuasiAffine):
        parse("a * b", RANGES, {})
