"""Arrays go into device memory and come back under the key they came by."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from headrace.ir.arguments import Argument
from headrace.ir.diagnostics import HeadraceError
from headrace.numbers.memory import Memory
from headrace.runtime.binding import bind

X = Argument("x", "memory", "f32", (4, 8), "in")
Y = Argument("y", "memory", "bf16", (32,), "out")
I = Argument("i", "memory", "i64", (5,), "in", index_limit=3)
N = Argument("n", "scalar", "f32")


def memory() -> Memory:
    return Memory(1 << 20)


def test_an_array_is_copied_in_and_read_back() -> None:
    place = memory()
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    binding = bind([X, Y], {"x": x}, place)
    place.view(binding.addresses["y"], "bf16", 32)[:] = 3
    found = binding.outputs(place)
    np.testing.assert_array_equal(found["x"], x)
    assert found["y"].dtype == np.uint16 and (found["y"].view(ml_dtypes.bfloat16) == 3).all()


def test_arguments_are_found_by_position_and_with_a_percent_sign() -> None:
    place = memory()
    x = np.ones((4, 8), np.float32)
    assert "arg0" in bind([X, Y], {"arg0": x}, place).outputs(place)
    assert "%x" in bind([X, Y], {"%x": x}, place).outputs(place)


def test_a_constant_address_is_bound_in_its_own_unit() -> None:
    place = memory()
    binding = bind([], {"@1024": np.full(16, 7, np.float16)}, place)
    assert (place.view(2048, "f16", 16) == 7).all()
    assert (binding.outputs(place)["@1024"] == 7).all()


def test_the_value_of_an_address_argument_is_its_element_index() -> None:
    place = memory()
    binding = bind([X, Y, N], {"x": np.ones((4, 8), np.float32), "n": np.float32(0.5)}, place)
    values = binding.values([X, Y, N])
    assert values["x"] * 4 == binding.addresses["x"] and values["y"] * 2 == binding.addresses["y"]
    assert values["n"] == 0.5


def test_seeded_indices_stay_in_range_and_repeat() -> None:
    place = memory()
    first, second = (bind([I], None, place, seed=4).outputs(place)["i"] for _ in range(2))
    assert ((first >= 0) & (first < 3)).all()
    np.testing.assert_array_equal(first, second)


def test_what_was_allocated_is_freed() -> None:
    place = memory()
    before = place.allocated_bytes
    bind([X, Y], None, place).release(place)
    assert place.allocated_bytes == before


def test_every_problem_is_reported_and_nothing_allocated() -> None:
    place = memory()
    before = place.allocated_bytes
    with pytest.raises(HeadraceError) as caught:
        bind([X, I], {"i": np.zeros(5, np.int32)}, place)
    assert len(caught.value.diagnostics) == 2
    assert place.allocated_bytes == before


def test_inputs_larger_than_the_memory_are_refused() -> None:
    with pytest.raises(HeadraceError, match="out of device memory"):
        bind([Argument("x", "memory", "f32", (1 << 19,), "in")], None, memory())
