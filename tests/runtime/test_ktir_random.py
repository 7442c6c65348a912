"""Random expressions written with the builder compute what NumPy computes, before and after passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace import ktir
from headrace.ir.passes import parse_pipeline, run_pipeline
from headrace.ir.text import parse, print_module

SHAPE = (4, 8)
Pair = tuple[Any, np.ndarray[Any, Any]]


def step(draw: Any, known: list[Pair]) -> Pair:
    """One more value from the known ones: what the builder writes, and what NumPy gives."""
    value, array = draw(st.sampled_from(known))
    other, second = draw(st.sampled_from(known))
    axis = draw(st.integers(0, 1))
    match draw(st.integers(0, 9)):
        case 0:
            return value + other, array + second
        case 1:
            return value * 2, array * 2
        case 2:
            return 3 - value, 3 - array
        case 3:
            return ktir.maximum(value, other), np.maximum(array, second)
        case 4:
            return ktir.where(value < other, value, -other), np.where(array < second, array, -second)
        case 5:
            kept = value.sum(axis=axis, keepdims=True)
            return kept.broadcast(*SHAPE), np.broadcast_to(array.sum(axis, keepdims=True), SHAPE)
        case 6:
            return value - value.max(axis=axis, keepdims=True), array - array.max(axis, keepdims=True)
        case 7:
            return value.T.reshape(*SHAPE), array.T.reshape(SHAPE)
        case 8:
            return value[2:3, :] * other[:, 1:2], array[2:3] * second[:, 1:2]
        case _:
            return value.cast("f32").cast("i32"), array
    raise AssertionError


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_random_expression_computes_what_numpy_computes(data: st.DataObject) -> None:
    inputs = {
        name: np.random.default_rng(seed).integers(-3, 4, SHAPE).astype(np.int32)
        for seed, name in enumerate("ab")
    }
    with ktir.kernel("random") as k:
        known: list[Pair] = [(k.argument(n, SHAPE, "i32")[:, :].load(), inputs[n]) for n in inputs]
        y = k.argument("y", SHAPE, "i32")
        for _ in range(data.draw(st.integers(1, 6))):
            value, array = step(data.draw, known)
            if np.abs(array).max() < 1 << 24:
                known.append((value, array.astype(np.int32)))
        y[:, :] = known[-1][0]
    wanted = known[-1][1]
    np.testing.assert_array_equal(headrace.interpret(k.kernel, **inputs).outputs["y"], wanted)
    module = run_pipeline(parse(k.kernel.text), parse_pipeline("canonicalize,cse,canonicalize"))
    after = headrace.load(print_module(module))
    used = {a.name for a in after.arguments if a.role == "in"}
    found = headrace.interpret(after, **{n: v for n, v in inputs.items() if n in used})
    np.testing.assert_array_equal(found.outputs["y"], wanted)
