"""Groups of a tape: parts that need nothing of each other run one by one, values lie where one part lay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.kernels import kernel_text
from benchmarks.kernels.blocks import attention
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.machine.execute.tape import recorded
from headrace.machine.execute.tape.groups import grouped
from headrace.machine.execute.tape.places import in_place, placed
from headrace.machine.execute.tape.program import Player
from headrace.machine.execute.tape.rows import Row
from headrace.numbers.dtypes import itemsize
from headrace.numbers.memory import Memory
from headrace.runtime.kernel import Kernel

BYTES = 4


def _player(text: str) -> Player:
    program = Kernel(text, "kernel").compile("spyre")
    memory, values = Memory(1 << 26), {}
    for a in (*program.arguments, *program.scratch):
        size = itemsize(a.dtype) * int(np.prod([int(n) for n in a.shape]))
        values[a.name] = memory.allocate(size) // itemsize(a.dtype)
    player = recorded(program.image, memory, values)
    assert player is not None
    return player


@pytest.mark.parametrize(("heads", "length", "width"), [(8, 256, 64), (32, 512, 128)])
def test_attention_holds_one_head_at_a_time(heads: int, length: int, width: int) -> None:
    """Also where the queues of a core join the messages of several loops."""
    scores = BYTES * length * length
    assert _player(attention(heads, length, width)).value_bytes < 4 * scores


@pytest.mark.parametrize("kernel", ["softmax", "layernorm"])
def test_rows_hold_one_row_of_each_value(kernel: str) -> None:
    """Also the weights of a norm, which every part reads: they are made before the parts run."""
    columns = 512
    held = _player(kernel_text(kernel, rows=256, columns=columns)).value_bytes
    assert BYTES * columns <= held <= 6 * BYTES * columns


# ---- any rows ----------------------------------------------------------------------------------------------
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_groups_give_what_the_rows_give_one_by_one(data: st.DataObject) -> None:
    """Sums of rows and of parts of values, in and out of step with each other, which live long or briefly."""
    draw = data.draw
    memory, rows = np.random.default_rng(0).standard_normal(4096).astype(np.float32), list[Row]()
    values: list[tuple[int, int]] = []  # (number, elements)
    for number in range(draw(st.integers(2, 12))):
        shape = tuple(draw(st.sampled_from([1, 2, 3, 4, 8])) for _ in range(3))
        size = int(np.prod(shape))
        fits = [v for v in values if v[1] >= size]
        spots, strides = [], [_dense(shape)]
        if fits and draw(st.booleans()) and draw(st.booleans()):  # writes to a part of a value again
            spots.append((draw(st.sampled_from(fits))[0], 0))
        else:
            spots.append((number << 20, 0))
            values.append((number << 20, size))
        for _ in range(2):
            source = draw(st.sampled_from([v for v in fits if v[0] != spots[0][0]] or [(-1, 4096)]))
            far = draw(st.integers(0, source[1] - size)) if draw(st.booleans()) else 0
            spots.append((source[0], BYTES * far))
            strides.append(_dense(shape))
        dims = tuple((n, *(s[k] for s in strides)) for k, n in enumerate(shape))
        rows.append(Row("add_f32", dims, tuple(spots), (BYTES,) * 3))
    last = values[-1]
    rows.append(Row("add_f32", ((last[1], 4, 4, 4),), ((-1, 0), (last[0], 0), (last[0], 0)), (BYTES,) * 3))
    groups = in_place(list(grouped(rows)))
    places, total = placed(groups)
    found = _run(groups, memory, places, total)
    wanted = _run([[row] for row in rows], memory, {v: v >> 20 << 14 for v, _ in values}, 1 << 18)
    np.testing.assert_array_equal(found, wanted)


def _dense(shape: tuple[int, ...]) -> list[int]:
    return [BYTES * int(np.prod(shape[k + 1 :])) for k in range(len(shape))]


def _run(groups: list[list[Row]], memory: Any, places: dict[int, int], total: int) -> Any:
    """Device memory after groups whose rows take turns for every part; the first two dimensions are parts."""
    device, values = memory.copy(), np.full(total // BYTES + 1, np.nan, np.float32)
    for group in groups:
        parts = group[0].dims[:2] if len(group[0].dims) == 6 else ((1,), (1,))
        for i in range(parts[0][0]):
            for j in range(parts[1][0]):
                for row in group:
                    _add(row, (i, j) if len(row.dims) == 6 else (), device, values, places)
    return device


def _add(row: Row, part: tuple[int, ...], device: Any, values: Any, places: dict[int, int]) -> None:
    arrays = []
    for k, (space, offset) in enumerate(row.spots):
        at = offset + sum(i * d[k + 1] for i, d in zip(part, row.dims, strict=False))
        inner = row.dims[len(part) :]
        whole = device if space < 0 else values
        start = (at + (0 if space < 0 else places[space])) // BYTES
        shape, strides = tuple(d[0] for d in inner), tuple(d[k + 1] for d in inner)
        arrays.append(np.lib.stride_tricks.as_strided(whole[start:], shape, strides))
    arrays[0][...] = arrays[1] + arrays[2]
