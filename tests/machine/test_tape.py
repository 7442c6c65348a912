"""A run played from a tape leaves what the engine leaves: to the bit, but for the sums of products."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.kernels import kernel_text
from benchmarks.kernels.blocks import attention, gated
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.machine.execute import execute
from headrace.machine.execute.tape import recorded
from headrace.machine.execute.tape.program import Player, prepare
from headrace.machine.execute.tape.record import DEVICE, LX, Recorder
from headrace.machine.execute.tape.views import View, paired, through
from headrace.numbers.dtypes import itemsize
from headrace.numbers.memory import Memory
from headrace.runtime.kernel import Kernel

KERNELS: dict[str, str] = {
    "vector_add": kernel_text("vector_add", rows=64, columns=512, rows_per_step=1),
    "broadcast_add": kernel_text("broadcast_add", rows=64, columns=256),
    "softmax": kernel_text("softmax", rows=64, columns=512),
    "softmax, one core": kernel_text("softmax", rows=6, columns=300, cores=1),
    "layernorm": kernel_text("layernorm", rows=64, columns=256),
    "layernorm, long rows": kernel_text("layernorm", rows=64, columns=2304),
    "transpose": kernel_text("transpose", rows=128, columns=128),
    "matmul": kernel_text("matmul", m=128, k=256, n=256, k_step=64),
    "matmul_bias_gelu": kernel_text("matmul_bias_gelu", m=128, k=128, n=256),
    "attention": attention(8, 256, 64),
    "gated": gated(64, 128, 256, grid=(2, 4), k_step=64),
}

PRODUCTS = ("matmul", "matmul_bias_gelu", "attention", "gated")


@pytest.mark.parametrize("name", KERNELS)
def test_a_tape_repeats_a_run_on_new_data(name: str) -> None:
    program = Kernel(KERNELS[name], name).compile("spyre")
    arguments = (*program.arguments, *program.scratch)
    expected, memory = Memory(1 << 24), Memory(1 << 24)
    values: dict[str, Any] = {}
    for a in arguments:
        size = itemsize(a.dtype) * int(np.prod([int(n) for n in a.shape]))
        address = memory.allocate(size)
        assert expected.allocate(size) == address
        values[a.name] = address // itemsize(a.dtype)
    player = recorded(program.image, memory, values)
    assert player is not None
    for seed in range(2):
        random = np.random.default_rng(seed)
        halves = random.standard_normal(1 << 21, np.float32).astype(np.float16)
        halves[random.integers(0, halves.size, 50)] = np.float16(np.inf)
        for m in (expected, memory):
            m.bytes[: 1 << 22] = halves.view(np.uint8)
        execute(program.image, expected, values)
        with np.errstate(all="ignore"):
            player.play()
        found, wanted = (m.bytes[: 1 << 22].view(np.float16) for m in (memory, expected))
        if name in PRODUCTS:
            np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=2**-9, atol=1e-3)
        else:
            _same(found, wanted)


def test_a_reduction_in_other_axes_than_its_operand_is_left_to_the_engine() -> None:
    text = (Path(__file__).parents[1] / "kernels" / "sdpa_2d.mlir").read_text()
    program = Kernel(text, "sdpa_2d").compile("spyre")
    values = {a.name: k << 16 for k, a in enumerate((*program.arguments, *program.scratch))}
    assert recorded(program.image, Memory(1 << 22), values) is None


def _same(a: Any, b: Any) -> None:
    """Equal bytes, but for the payload of NaNs."""
    assert ((a.view(np.uint16) == b.view(np.uint16)) | (np.isnan(a) & np.isnan(b))).all()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_view_through_a_copy_names_the_bytes_that_were_copied(data: st.DataObject) -> None:
    draw = data.draw
    rows, columns = draw(st.sampled_from([2, 4, 6])), draw(st.sampled_from([4, 8, 12]))
    dtype = np.dtype(np.float16)
    gap = draw(st.sampled_from([0, 16])) + columns * 2
    source = View(0, 64, (rows, columns), (draw(st.sampled_from([gap, gap + 32])), 2), dtype)
    target = View(1, 32, (rows, columns), (draw(st.sampled_from([columns * 2, gap])), 2), dtype)
    where = {
        target.offset + i * target.strides[0] + 2 * j: source.offset + i * source.strides[0] + 2 * j
        for i in range(rows)
        for j in range(columns)
    }
    shape = (draw(st.integers(1, 12)), draw(st.integers(1, 6)))
    strides = (2 * draw(st.integers(0, 24)), 2 * draw(st.integers(0, 4)))
    view = View(1, 32 + 2 * draw(st.integers(0, 20)), shape, strides, dtype)
    found = through(paired(target, source), view, draw(st.booleans()))
    if found is not None:
        assert _offsets(found) == [where.get(at) for at in _offsets(view)]


def _offsets(view: View) -> list[int]:
    at = np.array([view.offset])
    for n, s in zip(view.shape, view.strides, strict=True):
        at = (at[:, None] + np.arange(n) * s).reshape(-1)
    return [int(x) for x in at]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_a_tape_is_right_under_every_order_of_overlapping_reads_and_writes(seed: int) -> None:
    random = np.random.default_rng(seed)
    device, cores, size = 8192, 4, 2048
    recorder = Recorder(device, cores * size, size, {})
    real = [np.zeros(n, np.uint8) for n in (device, cores * size)]
    real[DEVICE].view(np.float16)[...] = random.standard_normal(device // 2)
    start, written = real[DEVICE].copy(), np.zeros(cores * size, np.uint8)
    values: list[tuple[Any, Any]] = []
    grain = int(random.choice([2, 16, 32, 64]))
    for step in range(int(random.integers(5, 60))):
        rows, lanes = int(random.choice([1, 2, 4])), int(random.choice([8, 16, 32]))
        region = int(random.integers(0, 2)) if step >= 8 else DEVICE
        kind = random.integers(0, 4)
        if kind == 0 or not values:
            strides = (int(random.choice([rows * lanes * 2, size])) if region == DEVICE else size, 64, 2)
            at = grain * int(random.integers(0, (size - 256) // grain))
            fake = _block((cores, rows, lanes), recorder.memories[region].bytes, at, strides)
            if region == LX and not _block(fake.shape, written, at, strides).all():
                continue
            seen = _block((cores, rows, lanes), real[region], at, strides).copy()
            values.append((recorder.add("move", recorder.new(fake.shape, fake.dtype), [fake]), seen))
        elif kind == 1:
            same = [v for v in values if v[0].shape == values[-1][0].shape]
            (a, x), (b, y) = (same[int(k)] for k in random.integers(0, len(same), 2))
            out = recorder.add("add_f16", recorder.new(a.shape, a.dtype), [a, b], np.add, ())
            values.append((out, x + y))
        else:
            value, seen = values[int(random.integers(0, len(values)))]
            at = grain * int(random.integers(0, (size - 512) // grain))
            target = int(kind == 2)
            strides = size, int(random.choice([value.shape[2] * 2, 64, 128])), 2
            recorder.add("move", _block(value.shape, recorder.memories[target].bytes, at, strides), [value])
            _block(value.shape, real[target], at, strides)[...] = seen
            if target == LX:
                _block(value.shape, written, at, strides)[...] = 1
    prepared = prepare(recorder)
    assert prepared is not None
    Player(prepared, start).play()
    assert (start == real[DEVICE]).all()


def _block(shape: tuple[int, ...], memory: Any, at: int, strides: tuple[int, ...]) -> Any:
    return np.ndarray(shape, np.float16, memory, at, strides)
