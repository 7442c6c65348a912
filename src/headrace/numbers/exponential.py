"""e^x in f32, at most 0.86 ulp off, with the operations of f32 alone: no fused ones, no table.

x = n ln 2 + r, |r| <= 0.3475, and e^r = 1 + r + r²q(r); q has degree 4 and the least error of its kind
(3e-9 of e^r). ln 2 has two parts, the first of which n divides out exactly. 2^n is two factors, since it may
lie beyond f32 where e^x does not. The compiled loops (`machine.execute.functions`) do the same step by step,
so that both give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LOWEST, HIGHEST = np.float32(-105.0), np.float32(89.0)
"""Beyond them lie 0 and infinity."""
LOG2E = np.float32(1.4426950408889634)
ROUND = np.float32(12582912.0)
"""1.5 x 2^23: adding it rounds a small f32 to an integer, which is then in the lowest bits."""
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
Q = tuple(
    np.float32(x)
    for x in (0.4999999403953552, 0.1666651964187622, 0.04166840389370918, 0.00836889911442995)
    + (0.001381422160193324,)
)
DOWN, UP = np.float32(2.0**-64), np.float32(2.0**64)
"""The second factor of 2^n, for negative x and for others."""
MORE, LESS = np.int32(127 + 64 << 23), np.int32(127 - 64 << 23)
"""What the exponent of the first factor is higher or lower by."""
EXPONENT = np.int32(23)
"""Bits below the exponent of an f32."""


def exp(x: Array) -> Array:
    """e^x of f32 values, NaN of NaN."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        v = np.where(x < LOWEST, LOWEST, x)
        v = np.where(v > HIGHEST, HIGHEST, v)
        shifted = np.asarray(v * LOG2E + ROUND)
        n = shifted - ROUND
        high, low = v - n * LN2_HIGH, n * LN2_LOW
        r = high - low
        q = (((Q[4] * r + Q[3]) * r + Q[2]) * r + Q[1]) * r + Q[0]
        p = (high + (r * r * q - low)) + np.float32(1)
        is_small = v < np.float32(0)
        bits = (shifted.view(np.int32) << EXPONENT) + np.where(is_small, MORE, LESS)
        return np.asarray(p * bits.view(np.float32) * np.where(is_small, DOWN, UP))
