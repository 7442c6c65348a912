"""Affine expressions: one normal form; its text is read back as itself and means what the original means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineDimExpr,
    AffineMap,
    AffineSet,
    AffineSymExpr,
)

from headrace.ir import affine
from headrace.ir.text import parse

DIMS, SYMBOLS = 3, 2
Kind = AffineBinaryOpKind
leaves = st.one_of(
    st.integers(-9, 9).map(AffineConstantExpr),
    st.integers(0, DIMS - 1).map(AffineDimExpr),
    st.integers(0, SYMBOLS - 1).map(AffineSymExpr),
)
divisors = st.integers(1, 9).map(AffineConstantExpr)
factors = st.one_of(
    st.integers(-5, 5).map(AffineConstantExpr), st.integers(0, SYMBOLS - 1).map(AffineSymExpr)
)


def _grow(inner):
    binary = AffineBinaryOpExpr
    return st.one_of(
        st.builds(binary, st.just(Kind.Add), inner, inner),
        st.builds(binary, st.just(Kind.Mul), inner, factors),
        st.builds(binary, st.sampled_from([Kind.FloorDiv, Kind.CeilDiv, Kind.Mod]), inner, divisors),
    )


expressions = st.recursive(leaves, _grow, max_leaves=8)
points = st.tuples(*[st.integers(-20, 20)] * (DIMS + SYMBOLS))


def _parsed(text):
    module = parse(f"func.func private @f() attributes {{m = {text}}}")
    return module.body.block.first_op.attributes["m"].data


@settings(max_examples=300, deadline=None)
@given(expressions, points)
def test_the_normal_form_has_the_same_value(e, point):
    dims, symbols = point[:DIMS], point[DIMS:]
    assert affine.canonical(e).eval(dims, symbols) == e.eval(dims, symbols)


@settings(max_examples=300, deadline=None)
@given(expressions)
def test_the_normal_form_is_its_own_normal_form(e):
    once = affine.canonical(e)
    assert affine.canonical(once) == once


@settings(max_examples=200, deadline=None)
@given(st.lists(expressions, max_size=3))
def test_a_printed_map_is_read_back_as_its_normal_form(results):
    amap = AffineMap(DIMS, SYMBOLS, tuple(results))
    text = affine.map_text(amap)
    assert _parsed(text) == affine.canonical_map(amap)
    assert affine.map_text(_parsed(text)) == text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(AffineConstraintKind), expressions), max_size=3))
def test_a_printed_set_is_read_back_as_its_normal_form(rows):
    zero = AffineConstantExpr(0)
    constraints = tuple(AffineConstraintExpr(k, e, zero, canonicalize=False) for k, e in rows)
    found = AffineSet(DIMS, SYMBOLS, constraints)
    text = affine.set_text(found)
    assert _parsed(text) == affine.canonical_set(found)
    assert affine.set_text(_parsed(text)) == text


@pytest.mark.parametrize(
    "written, printed",
    [
        ("63 - d0", "-d0 + 63"),
        ("d0 * 2 + d0", "d0 * 3"),
        ("2 + d0 + 3", "d0 + 5"),
        ("d0 - d1 * 2", "d0 - d1 * 2"),
        ("d0 - (d1 + d2)", "d0 - (d1 + d2)"),
        ("(d0 * 128) floordiv 64", "d0 * 2"),
        ("(d0 * 128) mod 64", "0"),
        ("d0 - d0 floordiv 8 * 8", "d0 mod 8"),
        ("(d0 mod 12) mod 4", "d0 mod 4"),
        ("(d0 * 8 + d1) floordiv 8", "d0 + d1 floordiv 8"),
        ("s0 + d0", "d0 + s0"),
        ("d0 * s0 + d1", "d0 * s0 + d1"),
        ("-(d0 mod 2)", "-(d0 mod 2)"),
        ("(d0 + 1) * 2", "(d0 + 1) * 2"),
        ("d0 ceildiv 4", "d0 ceildiv 4"),
        ("-d0 mod 4", "(-d0) mod 4"),
    ],
)
def test_expressions_print_as_mlir_prints_them(written, printed):
    amap = _parsed(f"affine_map<(d0, d1, d2)[s0] -> ({written})>")
    assert affine.map_text(amap) == f"affine_map<(d0, d1, d2)[s0] -> ({printed})>"


def test_less_or_equal_is_turned_round_and_the_empty_set_holds_zero_is_zero():
    assert affine.set_text(_parsed("affine_set<(i) : (i <= 3)>")) == "affine_set<(d0) : (-d0 + 3 >= 0)>"
    assert affine.set_text(_parsed("affine_set<() : ()>")) == "affine_set<() : (0 == 0)>"
