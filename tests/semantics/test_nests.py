"""Walking a nest in blocks."""

from __future__ import annotations

import numpy as np

from headrace.semantics.nests import part


def test_a_part_of_rank_zero_can_be_written() -> None:
    value = np.zeros((), np.float32)
    part(value, ())[...] = 3
    assert value == 3
