"""e^x in f32 is within one ulp, and the same bits whoever computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.machine.execute import functions
from headrace.machine.execute.arithmetic import unary
from headrace.numbers import exponential

F32 = np.float32


@pytest.fixture(scope="module")
def every_1021st() -> Any:
    """So many bit patterns of all f32: both zeros and infinities, NaNs, subnormals."""
    bits = np.arange(0, 2**32, 1021, dtype=np.uint64).astype(np.uint32)
    return np.concatenate([bits.view(F32), F32([0, -0.0, np.inf, -np.inf, np.nan, 88.72283, -103.97208])])


def test_the_error_is_below_one_ulp(every_1021st: Any) -> None:
    x = every_1021st[np.abs(every_1021st) < 200]  # nothing but 0 and infinity beyond
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
        rounded = exact.astype(F32)
    found = exponential.exp(x)
    is_finite = np.isfinite(rounded)
    assert (found[~is_finite] == np.inf).all()
    ulp = np.spacing(np.maximum(rounded[is_finite], F32(1e-45)))
    assert (np.abs(found[is_finite].astype(np.float64) - exact[is_finite]) / ulp).max() < 0.861


def test_zero_infinity_and_nan(every_1021st: Any) -> None:
    far = every_1021st[~(np.abs(every_1021st) < 200)]
    found = exponential.exp(far)
    assert (np.isnan(found) == np.isnan(far)).all()
    assert (found[far > 0] == np.inf).all() and (found[far < 0] == 0).all()
    assert not np.signbit(found[far < 0]).any()


def test_compiled_loops_give_the_same_bits(every_1021st: Any) -> None:
    found, wanted = functions.apply("exp", every_1021st), exponential.exp(every_1021st)
    same = found.view(np.int32) == wanted.view(np.int32)
    assert (same | (np.isnan(found) & np.isnan(wanted))).all()


def test_every_f16_is_as_near_as_its_type_allows() -> None:
    """Two of them lie so near the middle of two values that the error of the f32 decides: 0.5002 ulp."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
        wanted = exact.astype(np.float16)
    found = unary("exp", x, "f16")
    different = ~((found == wanted) | (np.isnan(found) & np.isnan(wanted)))
    error = np.abs(found[different].astype(np.float64) - exact[different]) / np.spacing(wanted[different])
    assert different.sum() <= 2 and (error < 0.5002).all()
