"""Time in whole ticks: 1024 to the cycle, so that sums are exact and equal on every machine."""

from __future__ import annotations

import math

TICKS = 1024
"""Ticks of one cycle."""


def ticks(cycles: float) -> int:
    """Return a duration in ticks, rounded up (a cost is never less than its formula)."""
    return math.ceil(round(cycles * TICKS, 6))


def cycles(duration: int) -> int:
    """Return a duration in whole cycles, rounded up."""
    return -(-duration // TICKS)
