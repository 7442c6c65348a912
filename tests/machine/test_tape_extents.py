"""What a tape says two blocks of bytes have in common is what their addresses have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from headrace.machine.execute.tape.record import DEVICE, LX, Recorder
from headrace.machine.execute.tape.views import NotRecordable, View

SIZE, CORES = 1024, 4
STRIDES = [0, 2, 4, 8, 16, 32, 64, 96, 128, -2, -32, -64]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_blocks_meet_and_cover_each_other_as_their_bytes_do(data: st.DataObject) -> None:
    recorder = Recorder(SIZE * CORES, SIZE * CORES, SIZE, {})
    region = data.draw(st.sampled_from([DEVICE, LX]))
    views = [_drawn(data.draw, region) for _ in range(2)]
    if any(min(_bytes(v)) < 0 or max(_bytes(v)) >= SIZE * CORES for v in views):
        return
    try:
        one, other = (recorder._extent(v, 0) for v in views)
    except NotRecordable:
        return
    first, second = (_bytes(v) for v in views)
    if first & second:
        assert one.meets(other) and other.meets(one)
    if one.covers(other):
        assert first >= second
    if other.covers(one):
        assert second >= first


def _drawn(draw: Any, region: int) -> View:
    cores = draw(st.sampled_from([1, 2, CORES]))
    shape = (cores, *(draw(st.integers(1, 4)) for _ in range(2)), draw(st.sampled_from([1, 2, 8, 16])))
    inner = (*(draw(st.sampled_from(STRIDES)) for _ in range(2)), draw(st.sampled_from([2, 2, 4, 0])))
    at = SIZE * draw(st.integers(0, CORES - 1)) + 2 * draw(st.integers(0, 300))
    return View(region, at, shape, (SIZE, *inner), np.dtype(draw(st.sampled_from([np.float16, np.float32]))))


def _bytes(view: View) -> set[int]:
    at = np.array([view.offset])
    for n, s in zip(view.shape, view.strides, strict=True):
        at = (at[:, None] + np.arange(n) * s).reshape(-1)
    return {int(a) + k for a in at for k in range(view.dtype.itemsize)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((slice(0, 8), slice(0, 4)), (slice(0, 8), slice(4, 16))),
        ((slice(0, 8), slice(4, 8)), (slice(0, 8), slice(0, 4))),
        ((slice(0, 8), slice(0, 4)), (slice(2, 3), slice(4, 8))),
        ((slice(0, 8, 2), slice(0, 16)), (slice(1, 8, 2), slice(0, 16))),
        ((slice(0, 8, 4), slice(0, 4)), (slice(0, 8, 2), slice(8, 12))),
        ((slice(7, None, -1), slice(0, 4)), (slice(0, 8), slice(4, 8))),
        ((slice(0, 8), slice(0, 16, 2)), (slice(0, 8), slice(1, 16, 2))),
    ],
)
def test_blocks_side_by_side_are_apart(one: Any, other: Any) -> None:
    """Columns, rows in turn and parts of either: what keeps a tape from running them in any order."""
    recorder = Recorder(SIZE, 64, 64, {})
    matrix = as_strided(recorder.memories[DEVICE].bytes.view(np.float16), (8, 16), (32, 2))
    views = [recorder.view(matrix[index]) for index in (one, other)]
    assert recorder.is_apart(*views) and recorder.is_apart(*views[::-1])
    assert not recorder.is_apart(views[0], recorder.view(matrix))
