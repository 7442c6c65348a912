"""Index expressions mean what Python's integers mean, however they are simplified."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.machine.index import Index, Symbol, constant, of

T = Symbol(0, "iv", "t", 0, 9)
U = Symbol(1, "argument", "u", 0)
W = Symbol(2, "table", "w", -5, 7)
SYMBOLS = (T, U, W)
OPERATIONS = (
    "mul",
    "floordiv",
    "ceildiv",
    "mod",
    "divsi",
    "remsi",
    "min",
    "max",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
)


def _meaning(op: str, a: int, b: int) -> int:
    toward_zero = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "floordiv": lambda: a // b,
        "ceildiv": lambda: -(-a // b),
        "mod": lambda: a % b,
        "divsi": lambda: toward_zero,
        "remsi": lambda: a - toward_zero * b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "eq": lambda: int(a == b),
        "ne": lambda: int(a != b),
        "lt": lambda: int(a < b),
        "le": lambda: int(a <= b),
        "gt": lambda: int(a > b),
        "ge": lambda: int(a >= b),
    }[op]()


def _build(op: str, a: Index, b: Index) -> Index:
    if op in ("add", "sub"):
        return a + b if op == "add" else a - b
    return a.apply(op, b)  # type: ignore[arg-type]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3):  # type: ignore[no-untyped-def]
    """(index, function of the environment) pairs; divisors are positive constants."""
    if depth == 0 or draw(st.booleans()):
        if draw(st.booleans()):
            k = draw(st.integers(-20, 20))
            return constant(k), lambda v: k
        symbol = draw(st.sampled_from(SYMBOLS))
        return of(symbol), lambda v: v[symbol.slot]
    op = draw(st.sampled_from((*OPERATIONS, "add", "sub")))
    a, f = draw(expressions(depth - 1))
    if op in ("floordiv", "ceildiv", "mod", "divsi", "remsi"):
        k = draw(st.integers(1, 12))
        return _build(op, a, constant(k)), lambda v: _meaning(op, f(v), k)
    b, g = draw(expressions(depth - 1))
    return _build(op, a, b), lambda v: _meaning(op, f(v), g(v))


@settings(max_examples=300, deadline=None)
@given(expressions(), st.integers(0, 9), st.integers(0, 1000), st.integers(-5, 7))
def test_simplified_expressions_keep_their_value_and_range(pair, t: int, u: int, w: int) -> None:  # type: ignore[no-untyped-def]
    index, meaning = pair
    want = meaning([t, u, w])
    assert int(index.evaluate([t, u, w])) == want
    assert index.low is None or index.low <= want
    assert index.high is None or want <= index.high


@settings(max_examples=100, deadline=None)
@given(expressions(), st.integers(0, 9), st.integers(0, 1000))
def test_arrays_over_instances_evaluate_element_by_element(pair, t: int, u: int) -> None:  # type: ignore[no-untyped-def]
    index, meaning = pair
    table = np.arange(-5, 8)
    found = np.broadcast_to(np.asarray(index.evaluate([t, u, table])), table.shape)
    assert found.tolist() == [meaning([t, u, int(w)]) for w in table]


@settings(max_examples=100, deadline=None)
@given(expressions(), st.integers(0, 9), st.integers(0, 50), st.integers(-5, 7))
def test_splitting_off_a_symbol_adds_up_again(pair, t: int, u: int, w: int) -> None:  # type: ignore[no-untyped-def]
    index, _ = pair
    split = index.split(T)
    if split is not None:
        coefficient, rest = split
        assert T not in rest.symbols
        assert coefficient * t + int(rest.evaluate([0, u, w])) == int(index.evaluate([t, u, w]))


@settings(max_examples=100, deadline=None)
@given(expressions(), st.integers(0, 9), st.integers(0, 50), st.integers(-5, 7))
def test_replacing_a_symbol_by_a_number_is_evaluating_it(pair, t: int, u: int, w: int) -> None:  # type: ignore[no-untyped-def]
    index, _ = pair
    assert int(index.replace({T: constant(t)}).evaluate([99, u, w])) == int(index.evaluate([t, u, w]))


def test_multiples_of_the_divisor_leave_a_remainder() -> None:
    t, u = of(T), of(U)
    assert (u * 12 + t) % 12 == t
    assert (u * 12 + t) // 12 == u
    assert (u * 12 + 5) % 4 == constant(1)


def test_an_unbound_symbol_cannot_be_evaluated_by_accident() -> None:
    with pytest.raises(TypeError):
        of(Symbol(-1, "argument", "x")).evaluate([1, 2, 3])
    with pytest.raises(TypeError):
        (of(Symbol(-1, "argument", "x")) + 1).evaluate([1, 2, 3])


@pytest.mark.parametrize("op", ["eq", "le", "ge"])
def test_comparisons_of_arrays_are_numbers(op: str) -> None:
    """Twice 1 is 2 and the quotient of -1 is negative, which truth values of NumPy know nothing of."""
    one = of(T).apply(op, of(W))  # type: ignore[arg-type]
    other = of(W).apply("ge", of(T))
    v = [np.arange(3), 0, np.arange(3)]
    assert list((one + other).evaluate(v)) == [2, 2, 2]
    assert list(one.apply("ceildiv", constant(2)).evaluate(v)) == [1, 1, 1]
