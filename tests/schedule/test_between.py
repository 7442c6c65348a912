"""Kernels of one module: what one loads that the same core stored before is read where it was computed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from headrace import ktir
from headrace.runtime.kernel import Kernel
from headrace.runtime.summary import summary
from tests.differential.modules import sequence

ROWS, COLUMNS, TILES = 64, 256, 8


def rows(name: str, reads: str, writes: str, make, shape=(ROWS, COLUMNS), tiles: int = TILES, shift: int = 0):
    """A kernel whose tile t computes rows of `writes` from rows of `reads`, `shift` rows further on."""
    with ktir.kernel(name, grid=[tiles]) as k:
        given = [k.argument(each, shape, "f32") for each in reads]
        made = given[0] if writes == reads else k.argument(writes, shape, "f32")
        size = shape[0] // tiles
        first = k.tile_id() * size
        loaded = [each[first + shift : first + shift + size - shift, :].load() for each in given]
        made[first : first + size - shift, :] = make(*loaded)
    return k.kernel


def softmax(x):
    e = ktir.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


DOUBLE = rows("double", "x", "t", lambda x: x * 2.0)
CHAINS = {
    "elementwise": (DOUBLE, rows("add", "tx", "y", lambda t, x: ktir.maximum(t, 0.0) + x)),
    "reduction": (DOUBLE, rows("softmax", "t", "y", softmax)),
    "three": (DOUBLE, rows("softmax", "t", "u", softmax), rows("add", "ut", "y", lambda u, t: u + t)),
}


def reference(chain: str, x):
    t = x * 2.0
    soft = np.exp(t - t.max(1, keepdims=True))
    soft = soft / soft.sum(1, keepdims=True)
    return {"elementwise": np.maximum(t, 0) + x, "reduction": soft, "three": soft + t}[chain]


def run(kernel: Kernel, x, **options):
    program = kernel.compile("spyre", **options)
    program.require_legal()
    return program.run(x=x)


def loaded(done) -> int:
    return int(summary(done)["bytes"]["ddr_read"])


@pytest.mark.parametrize("chain", CHAINS)
def test_equal_slices_stay_on_the_core(chain):
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    kernel = sequence(*CHAINS[chain])
    kept, apart = run(kernel, x), run(kernel, x, without=["residency"])
    for done in (kept, apart):
        np.testing.assert_allclose(done.outputs["y"], reference(chain, x), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(done.outputs["t"], x * 2)
        assert done.bound.cycles <= done.cycles
    assert kept.program.plan["between"] and not apart.program.plan["between"]
    assert kept.bound.cycles == apart.bound.cycles
    assert kept.cycles < apart.cycles and loaded(kept) < loaded(apart)
    again = kernel.compile("spyre", plan=json.loads(json.dumps(kept.program.plan)))
    assert again.dfir == kept.program.dfir


def test_tiles_of_another_shape_that_walk_the_same_elements_stay_too():
    with ktir.kernel("heads", grid=[TILES]) as k:
        t = k.argument("t", (ROWS, 4, 64), "f32")
        y = k.argument("y", (ROWS, 4, 64), "f32")
        mine = slice(k.tile_id() * 8, k.tile_id() * 8 + 8)
        loaded = t[mine, :, :].load()
        y[mine, :, :] = loaded / loaded.max(axis=2, keepdims=True)
    x = np.random.default_rng(1).uniform(1, 2, (ROWS, COLUMNS)).astype(np.float32)
    done = run(sequence(rows("double", "x", "t", lambda x: x * 2.0), k.kernel), x)
    wide = 2 * x.reshape(ROWS, 4, 64)
    np.testing.assert_allclose(done.outputs["y"], wide / wide.max(2, keepdims=True), rtol=1e-6)
    assert done.program.plan["between"] == ["t"]


def test_a_transposed_tile_is_loaded():
    with ktir.kernel("turned", grid=[1]) as k:
        t = k.argument("t", (8, COLUMNS), "f32").view((COLUMNS, 8), strides=(1, COLUMNS))
        y = k.argument("y", (COLUMNS, 8), "f32")
        y[:, :] = t[:, :].load() + 1.0
    one = rows("double", "x", "t", lambda x: x * 2.0, shape=(8, COLUMNS), tiles=1)
    x = np.random.default_rng(2).standard_normal((8, COLUMNS)).astype(np.float32)
    done = run(sequence(one, k.kernel), x)
    np.testing.assert_array_equal(done.outputs["y"], (2 * x).T + 1)
    assert not done.program.plan["between"]


def test_other_slices_pass_through_device_memory():
    kernel = sequence(DOUBLE, rows("other", "t", "y", softmax, tiles=4))
    assert not kernel.compile("spyre").plan["between"]


def test_what_another_kernel_writes_in_between_is_loaded():
    x = np.ones((ROWS, COLUMNS), np.float32)
    some = rows("some", "x", "t", lambda x: x * 5.0, tiles=2)
    kernel = sequence(DOUBLE, some, rows("softmax", "t", "y", lambda t: t + 1.0))
    done = run(kernel, x)
    assert not done.program.plan["between"]
    np.testing.assert_array_equal(done.outputs["y"], np.full_like(x, 6.0))


def test_a_kernel_that_updates_in_place_reads_what_was_there():
    x = np.ones((ROWS, COLUMNS), np.float32)
    kernel = sequence(
        DOUBLE, rows("more", "t", "t", lambda t: t + 1.0), rows("last", "t", "y", lambda t: t * 3.0)
    )
    done = run(kernel, x)
    np.testing.assert_array_equal(done.outputs["y"], np.full_like(x, 9.0))
    np.testing.assert_array_equal(done.outputs["t"], np.full_like(x, 3.0))


def test_a_value_too_large_for_the_scratchpad_is_loaded_again_and_not_stored_twice():
    rows_a_tile, shape = 2048, (4096, 1024)
    with ktir.kernel("product", grid=[2]) as k:
        x, w, t = (k.argument(n, s, "f32") for n, s in (("x", (4096, 8)), ("w", (8, 1024)), ("t", shape)))
        mine = slice(k.tile_id() * rows_a_tile, k.tile_id() * rows_a_tile + rows_a_tile)
        t[mine, :] = ktir.matmul(x[mine, :].load(), w[:, :].load())
    column = rows("column", "t", "y", lambda t: t / t.max(axis=0, keepdims=True), shape=shape, tiles=2)
    plan = sequence(k.kernel, column).compile("spyre", without=["retiling"]).plan  # no strips either
    assert not plan["between"]
    assert "scratch" not in {home for part in plan["classes"] for home in part["homes"].values()}
