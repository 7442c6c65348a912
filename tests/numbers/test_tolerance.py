import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.numbers.dtypes import numpy_dtype
from headrace.numbers.special import erf, erfc
from headrace.numbers.tolerance import FAR, assert_close, max_ulp, reduction_bound, ulp_distance, ulp_size


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "f8E4M3FN"])
def test_neighbours_are_one_ulp_apart_and_zeros_none(dtype):
    one = np.array([1.0], numpy_dtype(dtype))
    above = (one.view(f"u{one.itemsize}") + 1).view(one.dtype)
    assert ulp_distance(one, above)[0] == 1 and ulp_distance(above, one)[0] == 1
    zeros = np.array([0.0, -0.0]).astype(one.dtype)
    assert ulp_distance(zeros[:1], zeros[1:])[0] == 0
    assert float(above[0]) - 1.0 == ulp_size(one, dtype)[0]


def test_a_nan_is_near_a_nan_and_far_from_numbers():
    a, b = np.array([np.nan, np.nan, 1.0]), np.array([np.nan, 1.0, -np.inf])
    assert ulp_distance(a, b).tolist()[:2] == [0, FAR]
    assert ulp_distance(np.array([1e308]), np.array([-1e308]))[0] == FAR


@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
@settings(max_examples=100, deadline=None)
def test_the_distance_is_symmetric_and_zero_only_for_equal_numbers(x, y):
    a, b = np.array([x], np.float32), np.array([y], np.float32)
    assert ulp_distance(a, b) == ulp_distance(b, a)
    assert (ulp_distance(a, b)[0] == 0) == (a[0] == b[0])


def test_assert_close_names_the_first_element_that_is_off():
    a = np.ones((2, 3), np.float16)
    b = a.copy()
    b[1, 2] = 1.5
    with pytest.raises(AssertionError, match=r"out: 1 of 6 elements.*\[1, 2\]: 1.0 but expected 1.5"):
        assert_close(a, b, name="out")
    assert_close(a, a + np.float16(2**-10))
    with pytest.raises(AssertionError):
        assert_close(np.array([1, 2]), np.array([1, 3]))
    with pytest.raises(AssertionError, match="shape"):
        assert_close(a, b[:1])


def test_a_sum_in_another_order_is_within_the_bound_and_a_wrong_one_is_not():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 512), np.float32), rng.standard_normal((512, 32), np.float32)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    magnitude = np.abs(x).astype(np.float64) @ np.abs(w).astype(np.float64)
    other = sum(x[:, k : k + 32] @ w[k : k + 32] for k in range(0, 512, 32))
    assert_close(other, exact, terms=512, magnitude=magnitude)
    bound = reduction_bound(512, magnitude, exact, "f32")
    with pytest.raises(AssertionError, match="sum of 512 terms"):
        assert_close((other + 2 * bound).astype(np.float32), exact, terms=512, magnitude=magnitude)
    assert max_ulp(other, other) == 0


@given(st.floats(min_value=-30, max_value=30))
@settings(max_examples=200, deadline=None)
def test_erf_and_erfc_are_those_of_the_c_library(x):
    got, rest = erf(np.array([x]))[0], erfc(np.array([x]))[0]
    assert math.isclose(got, math.erf(x), rel_tol=1e-14)
    assert math.isclose(rest, math.erfc(x), rel_tol=1e-12, abs_tol=1e-300)


def test_erf_at_the_ends_of_the_line():
    assert erf(np.array([np.inf, -np.inf, 0.0])).tolist() == [1.0, -1.0, 0.0]
    assert np.isnan(erf(np.array([np.nan]))).all() and erfc(np.array([np.inf]))[0] == 0.0
