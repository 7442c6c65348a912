"""The index algebra keeps values: whatever is simplified, substituted or bounded computes what it says."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ir.diagnostics import HeadraceError, Location
from headrace.schedule.lower.emit.boxes import factors
from headrace.schedule.lower.index import (
    NUMERIC,
    Expr,
    Term,
    Var,
    collapse,
    combine,
    entries,
    interval,
    substitute,
    variables,
)

I, J = Var("i"), Var("j")
INSTANCES = 3


def value(expr: Expr, at: dict[Var, int], instance: int) -> int:
    """The value of a form for one instance."""
    pick = lambda number: number if isinstance(number, int) else number[instance]  # noqa: E731
    total = pick(expr.const)
    for atom, c in expr.terms:
        if isinstance(atom, Term):
            inner = NUMERIC[atom.op](value(atom.left, at, instance), value(atom.right, at, instance))
        else:
            inner = at[atom]
        total += inner * pick(c)
    return total


numbers = st.one_of(
    st.integers(0, 9), st.tuples(*[st.integers(0, 9)] * INSTANCES).map(lambda t: collapse(tuple(t)))
)
leaves = st.one_of(numbers.map(Expr), st.just(Expr(0, ((I, 1),))), st.just(Expr(0, ((J, 1),))))


def node(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    binary = st.tuples(st.sampled_from(["add", "mul", "min", "max"]), children, children)
    by_number = st.tuples(
        st.sampled_from(["floordiv", "mod", "ceildiv"]), children, st.integers(1, 5).map(Expr)
    )
    return st.one_of(binary, by_number).map(
        lambda t: t[1] + t[2] if t[0] == "add" else combine(t[0], t[1], t[2])
    )


@settings(max_examples=150, deadline=None)
@given(leaves, leaves, st.sampled_from(sorted(NUMERIC)), st.integers(0, 7), st.integers(0, 7))
def test_combining_two_forms_combines_their_values(a: Expr, b: Expr, op: str, i: int, j: int) -> None:
    at = {I: i, J: j}
    for k in range(INSTANCES):
        y = value(b, at, k)
        if y == 0 and op in ("floordiv", "ceildiv", "mod", "truncdiv", "rem"):
            return
    combined = combine(op, a, b)
    for k in range(INSTANCES):
        assert value(combined, at, k) == NUMERIC[op](value(a, at, k), value(b, at, k))


@settings(max_examples=150, deadline=None)
@given(st.recursive(leaves, node, max_leaves=6), st.integers(0, 7), st.integers(0, 7), st.integers(0, 3))
def test_substitution_and_bounds_agree_with_evaluation(expr: Expr, i: int, j: int, k: int) -> None:
    at = {I: i, J: j}
    replaced = substitute(expr, {I: Expr(0, ((J, 2),)) + 1})
    assert I not in variables(replaced)
    for instance in range(INSTANCES):
        assert value(replaced, {J: j}, instance) == value(expr, {I: 2 * j + 1, J: j}, instance)
    ends = interval(expr, {I: (0, 7), J: (0, 7)})
    if ends is not None:
        assert all(ends[0] <= value(expr, at, instance) <= ends[1] for instance in range(INSTANCES))


def test_multiples_of_a_divisor_leave_a_division() -> None:
    i, j = Expr(0, ((I, 6),)), Expr(0, ((J, 1),))
    assert combine("mod", i + j, Expr(3)) == combine("mod", j, Expr(3))
    assert combine("floordiv", i + 4, Expr(3)) == Expr(1, ((I, 2),))


def test_a_table_of_equal_numbers_is_one_number() -> None:
    assert collapse((4, 4, 4)) == 4
    assert entries(collapse((4, 4, 5))) == (4, 4, 5)


shapes = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3)


def walk(box: list[int]) -> list[tuple[int, ...]]:
    return list(product(*(range(n) for n in box)))


@settings(max_examples=80, deadline=None)
@given(shapes, shapes)
def test_shared_factors_walk_both_boxes_in_row_major_order(left: list[int], right: list[int]) -> None:
    size = [1, 1]
    for k, box in enumerate((left, right)):
        for extent in box:
            size[k] *= extent
    if size[0] != size[1]:
        return
    try:
        found = factors([Expr(n) for n in left], [Expr(n) for n in right], range(len(left)), Location())
    except HeadraceError:
        return  # extents such as 4 x 6 and 6 x 4 share no walk
    steps = walk([int(f.size.const) for f in found])  # type: ignore[arg-type]
    for box, side in ((left, "left"), (right, "right")):
        corners = []
        for step in steps:
            at = [0] * len(box)
            for f, n in zip(found, step, strict=True):
                dim, move = getattr(f, side)
                at[dim] += n * move
            corners.append(tuple(at))
        assert corners == walk(box)


def test_boxes_of_different_order_are_refused_with_a_hint() -> None:
    with pytest.raises(HeadraceError, match="do not match"):
        factors([Expr(4), Expr(6)], [Expr(6), Expr(4)], range(2), Location())
