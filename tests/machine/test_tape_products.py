"""Products on a tape: joined over cores, summed over steps, against products made one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from headrace.machine.boxes import Value
from headrace.machine.execute.blas import multiply, multiply_add
from headrace.machine.execute.tape.products import product
from headrace.machine.execute.tape.program import Player, prepare
from headrace.machine.execute.tape.record import DEVICE, LX, Recorder
from headrace.machine.nodes import Contract

KINDS = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32)}


@pytest.mark.parametrize("seed", range(40))
def test_a_product_of_many_cores_and_steps_is_the_sum_of_theirs(seed: int) -> None:
    random = np.random.default_rng(seed)
    grid = tuple(int(n) for n in random.choice([1, 2, 3, 4], 3))
    cores, rows, k, lanes = int(np.prod(grid)), *(int(n) for n in random.choice([1, 2, 4, 8], 3))
    kind = str(random.choice(["f16", "f32"]))
    steps, size = int(random.integers(1, 5)), 1 << 15
    recorder = Recorder(1 << 20, cores * size, size, {})
    real = np.zeros(1 << 20, np.uint8)
    real[: 1 << 19].view(KINDS[kind])[...] = random.standard_normal((1 << 19) // KINDS[kind].itemsize)
    node = _node(rows, k, lanes, kind, bool(random.integers(0, 2)))
    wanted: Any = 0.0
    total: Any = None
    for step in range(steps):
        sides = []
        for place, shape in enumerate(((rows, k), (lanes, k) if node.equation == "k,nk->n" else (k, lanes))):
            held = random.integers(0, 2, 3)
            at = 4 * int(random.integers(0, 1 << 10))
            axes = _strides(random, grid, held, shape, KINDS[kind].itemsize)
            fake = as_strided(
                np.ndarray((1,), KINDS[kind], recorder.memories[DEVICE].bytes, at), (*grid, *shape), axes
            )
            seen = as_strided(np.ndarray((1,), KINDS[kind], real, at), (*grid, *shape), axes)
            inner = (KINDS[kind].itemsize * shape[1], KINDS[kind].itemsize)
            pad = recorder.memories[LX].bytes
            there = np.ndarray((cores, *shape), KINDS[kind], pad, (2 * step + place) << 10, (size, *inner))
            recorder.add("move", there, [fake])
            sides.append(
                (there if place == 0 else there[:, None], seen.reshape(cores, *shape).astype(np.float64))
            )
        (left, x), (right, y) = sides
        total = product(recorder, node, left, right, total)
        assert total is not None
        wanted = wanted + np.einsum("crk,cnk->crn" if node.equation == "k,nk->n" else "crk,ckn->crn", x, y)
    end = 1 << 19
    goal = np.ndarray(total.shape, np.float32, recorder.memories[DEVICE].bytes, end)
    recorder.add("move", goal, [total])
    prepared = prepare(recorder)
    assert prepared is not None
    Player(prepared, real).play()
    found = np.ndarray(total.shape, np.float32, real, end)
    bound = 2 * np.sqrt(k * steps) * 2.0**-24 * k * steps * 16
    assert np.abs(found - wanted).max() <= bound


def _node(rows: int, k: int, lanes: int, kind: str, is_turned: bool) -> Contract:
    right = (lanes, k) if is_turned else (k, lanes)
    operands = Value(0, (k,), kind), Value(1, right, kind)
    equation = "k,nk->n" if is_turned else "k,kn->n"
    return Contract(equation, *operands, None, Value(2, (lanes,), "f32"), k, lanes)


def _strides(
    random: Any, grid: tuple[int, ...], held: Any, shape: tuple[int, int], size: int
) -> tuple[int, ...]:
    """Strides of an operand in device memory: 0 along cores that hold the same, the others in any order."""
    used = [(n, k) for k, n in enumerate((*grid, *shape)) if k > 2 or held[k]]
    strides, step = [0] * 5, size
    for n, k in random.permutation(used):
        strides[k] = step
        step *= int(n)
    return tuple(int(s) for s in strides)


def test_a_sum_over_steps_reads_its_operands_before_they_are_overwritten() -> None:
    recorder = Recorder(4096, 4096, 4096, {})
    real = np.zeros(4096, np.uint8)
    real[:2048].view(np.float32)[...] = np.arange(512) % 7
    a, b, c, d = (
        np.ndarray((1, 4, 4), np.float32, recorder.memories[DEVICE].bytes, at) for at in (0, 64, 128, 192)
    )
    node = _node(4, 4, 4, "f32", False)
    total = product(recorder, node, a, b[:, None], None)
    recorder.add("move", a, [c])
    total = product(recorder, node, d, b[:, None], total)
    assert total is not None
    goal = np.ndarray(total.shape, np.float32, recorder.memories[DEVICE].bytes, 2048)
    recorder.add("move", goal, [total])
    x, y, _, z = real[:256].view(np.float32).reshape(4, 4, 4).copy()
    prepared = prepare(recorder)
    assert prepared is not None
    Player(prepared, real).play()
    assert (real[2048:2112].view(np.float32).reshape(4, 4) == x @ y + z @ y).all()


def test_products_of_turned_matrices_with_gaps_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    whole = random.standard_normal((3, 40, 40)).astype(np.float32)
    a, b = whole[:2, :6, :10], whole[1:, :8, :10].transpose(0, 2, 1)
    out = np.zeros((2, 6, 20), np.float32)[:, :, :8]
    multiply(out, a, b)
    assert np.abs(out - a @ b).max() < 1e-5
    multiply_add(out, b.transpose(0, 2, 1)[:, :6], b)
    assert np.abs(out - a @ b - b.transpose(0, 2, 1)[:, :6] @ b).max() < 1e-5
