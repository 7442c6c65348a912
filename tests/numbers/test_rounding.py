from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.numbers.dtypes import dtype_name, is_float, is_integer, itemsize, names, numpy_dtype
from headrace.numbers.rounding import cast, round_to

NARROW = ["f16", "bf16", "f8E4M3FN"]


def _nearest(value: Fraction, dtype: str) -> float:
    """The number of `dtype` nearest to `value`, ties to the even one, by looking at all of them."""
    width = 8 * itemsize(dtype)
    bits = np.arange(2**width, dtype=f"u{width // 8}")
    with np.errstate(invalid="ignore"):
        table = bits.view(numpy_dtype(dtype)).astype(np.float64)
    finite = [(float(t), int(b)) for t, b in zip(table, bits, strict=True) if np.isfinite(t)]
    return min(finite, key=lambda tb: (abs(Fraction(tb[0]) - value), tb[1] & 1))[0]


def test_every_type_name_maps_to_a_numpy_type_and_back():
    for name in names:
        assert dtype_name(numpy_dtype(name)) == ("i64" if name == "index" else name)
        assert is_float(name) != is_integer(name)
    assert itemsize("i1") == 1 and itemsize("index") == 8 and itemsize("bf16") == 2


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_a_double_just_above_a_tie_is_not_rounded_twice(dtype):
    step = 2.0**-8 if dtype == "bf16" else 2.0**-11
    x = np.array([1 + step + 2.0**-40, 1 + step, 1 + step - 2.0**-40, -(1 + step + 2.0**-40)])
    assert round_to(x, dtype).astype(np.float64).tolist() == [1 + 2 * step, 1.0, 1.0, -(1 + 2 * step)]


@given(st.floats(min_value=-400, max_value=400, allow_nan=False))
@settings(max_examples=60, deadline=None)
def test_rounding_a_double_to_fp8_picks_the_nearest_number(x):
    assert float(round_to(np.array([x]), "f8E4M3FN")[0]) == _nearest(Fraction(x), "f8E4M3FN")


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
@settings(max_examples=200, deadline=None)
def test_an_i64_is_rounded_once_to_bf16(value):
    got = float(cast(np.array([value]), "i64", "bf16")[0])
    spacing = 2.0 ** max(abs(value).bit_length() - 8, 0)
    assert abs(Fraction(got) - value) <= Fraction(spacing) / 2
    exact_tie = abs(Fraction(got) - value) == Fraction(spacing) / 2 and value != 0
    if exact_tie:
        assert (int(abs(got)) // int(spacing)) % 2 == 0


def test_floats_become_integers_toward_zero_with_saturation_and_nan_as_zero():
    x = np.array([1.9, -1.9, 300.0, -300.0, np.nan, np.inf, -np.inf], np.float32)
    assert cast(x, "f32", "i8").tolist() == [1, -1, 127, -128, 0, 127, -128]
    assert cast(x, "f32", "i64").tolist() == [1, -1, 300, -300, 0, 2**63 - 1, -(2**63)]
    assert cast(x, "f32", "i8", unsigned=True).view(np.uint8).tolist() == [1, 0, 255, 0, 0, 255, 0]
    assert cast(np.array([3e9], np.float32), "f32", "i32", unsigned=True).view(np.uint32).tolist() == [
        3000000000
    ]


def test_integers_wrap_extend_and_give_their_low_bit():
    x = np.array([-1, 255, 256, 2**31], np.int64)
    assert cast(x, "i64", "i8").tolist() == [-1, -1, 0, 0]
    assert cast(x, "i64", "i1").tolist() == [True, True, False, False]
    assert cast(np.array([-1], np.int8), "i8", "i32", unsigned=True).tolist() == [255]
    assert cast(np.array([-1], np.int8), "i8", "f16").tolist() == [-1.0]
    assert cast(np.array([True, False]), "i1", "f32").tolist() == [1.0, 0.0]


def test_overflow_is_infinite_except_in_fp8_where_it_is_nan():
    x = np.array([1e9, -1e9], np.float32)
    assert np.isinf(cast(x, "f32", "f16")).all()
    assert np.isnan(cast(x, "f32", "f8E4M3FN").astype(np.float32)).all()
    assert np.isinf(cast(np.array([1e300]), "f64", "bf16").astype(np.float32)).all()


@pytest.mark.parametrize("dtype", NARROW)
def test_every_narrow_number_survives_widening_and_rounding(dtype):
    width = itemsize(dtype)
    x = np.arange(256**width, dtype=f"u{width}").view(numpy_dtype(dtype))
    for wide in ("f32", "f64"):
        back = cast(cast(x, dtype, wide), wide, dtype)
        same = (back.view(f"u{width}") == x.view(f"u{width}")) | np.isnan(x.astype(np.float32))
        assert same.all()


def test_f64_to_bf16_agrees_with_exact_arithmetic_on_subnormals():
    tiny = float(ml_dtypes.finfo(ml_dtypes.bfloat16).smallest_subnormal)
    x = np.array([tiny * 0.5, tiny * 0.5 * (1 + 1e-15), tiny * 1.5, -tiny * 0.75, 1e-300])
    assert round_to(x, "bf16").astype(np.float64).tolist() == [0.0, tiny, 2 * tiny, -tiny, 0.0]
