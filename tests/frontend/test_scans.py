"""Running sums of long rows are cut into rows of equal length where that is possible."""

from __future__ import annotations

import math

import pytest

from headrace.frontend.inductor.scans import _width


@pytest.mark.parametrize("n", [129, 512, 1000, 1021, 4096, 32000])
def test_rows_are_about_the_root_and_even_if_a_divisor_is_near(n: int) -> None:
    width, root = _width(n), math.sqrt(n)
    assert root / 2 < width < 2 * root + 2
    has_divisor = any(n % w == 0 for w in range(math.ceil(root / 2) + 1, math.floor(2 * root)))
    assert n % width == 0 or not has_divisor
