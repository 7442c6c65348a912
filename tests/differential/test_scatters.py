"""Scatters by an index tensor mean the same at all levels, and nothing they do races."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.kernels.text import Text, View, access_tile, by_x, memref, tensor

from headrace import ktir
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import run_program
from tests.differential.modules import sequence
from tests.differential.test_kernels import compare


def tile(t: Text, view: View, index: View, dim: int, box: tuple[int, int]) -> str:
    """The rows (dim 0) or columns (dim 1) of a view that an index tensor names."""
    found = [f"ind({index.name}[%p])", "(%q)"]
    names = ["%p", "%q"] if dim == 0 else ["%q", "%p"]
    subscripts = ", ".join(found if dim == 0 else found[::-1])
    return t.let(
        f"ktdp.construct_indirect_access_tile intermediate_variables({', '.join(names)}) "
        f"{view.name}[{subscripts}] {{variables_space_order = {t.identity(2)}, "
        f"variables_space_set = {t.box(box)}}} : "
        f"{memref(view.shape, view.dtype)}, {memref(index.shape, index.dtype)} -> {access_tile(box)}"
    )


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("dtype", ["f32", "i8"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("is_added", [False, True])
def test_a_scatter(device: str, dtype: str, dim: int, is_added: bool) -> None:
    t, box = Text(), (1, 7) if dim == 0 else (6, 1)
    x, index = t.view("x", (6, 7), dtype), t.view("i", (1,), "i32")
    new = t.load(t.view("s", box, dtype), [t.index(0)] * 2, box)
    if is_added:
        old = t.let(
            f"ktdp.load {tile(t, x, index, dim, box)} : <{by_x(box, 'index')}> -> {tensor(box, dtype)}"
        )
        new = t.let(f"arith.add{'f' if dtype == 'f32' else 'i'} {old}, {new} : {tensor(box, dtype)}")
    t.op(f"ktdp.store {new}, {tile(t, x, index, dim, box)} : {tensor(box, dtype)}, <{by_x(box, 'index')}>")
    compare(Kernel(t.module("k", "%x: index, %i: index, %s: index", (1,), "// a scatter")), device, True)


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("without", [(), ("fusion",)])
@pytest.mark.parametrize("use", ["scatter", "product", "columns", "row", "store"])
def test_a_value_that_is_scattered_and_used_otherwise(
    device: str, without: tuple[str, ...], use: str
) -> None:
    with ktir.kernel("twice") as k:
        x, y, z = (k.argument(name, (16, 24), "f32") for name in "xyz")
        first, second = (k.argument(name, (16,), "i32") for name in ("first", "second"))
        value = x[:, :].load() * 2.0
        y[first[:], :] = value
        match use:
            case "scatter":
                z[second[:], :] = value
            case "product":
                z[:, :] = value @ k.argument("w", (24, 24), "f32")[:, :].load()
            case "columns":
                z[:, :] = value - value.max(axis=0)
            case "row":
                z[:, :] = value - value.max(axis=1, keepdims=True)
            case "store":
                z[:, :] = value
    compare(k.kernel, device, True, without)


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("tiles,trips", [(1, 0), (2, 1), (3, 2)])
def test_a_loop_that_scatters_may_never_turn(device: str, tiles: int, trips: int) -> None:
    """The loop of tile 0."""
    with ktir.kernel("turns", grid=[tiles]) as k:
        x, y = (k.argument(name, (tiles, 6, 24), "f32") for name in "xy")
        places, tile = k.argument("places", (6,), "i32"), k.tile_id()
        with k.loop(0, tile * trips) as loop:
            at = loop.index
            y[tile, places[at : at + 1], :] = x[tile, at : at + 1, :].load() + 1.0
        x[tile, :, :] = x[tile, :, :].load() * 2.0
    compare(k.kernel, device, True)


def test_cores_that_scatter_to_one_table_and_meet_afterwards_do_not_race() -> None:
    """Which rows they take only the indices say."""
    with ktir.kernel("first", grid=[3]) as k:
        x, y, z = (k.argument(name, (3, 8), "f32") for name in "xyz")
        rows, tile = k.argument("rows", (3,), "i32"), k.tile_id()
        y[rows[tile : tile + 1], :] = x[tile : tile + 1, :].load() * 2.0
        z[tile : tile + 1, :] = x[tile : tile + 1, :].load() + 1.0
    with ktir.kernel("second", grid=[3]) as other:
        z, w = (other.argument(name, (3, 8), "f32") for name in "zw")
        at = other.tile_id()
        w[at : at + 1, :] = z[0:1, :].load() * 2.0
    program = sequence(k.kernel, other.kernel).compile("spyre")
    assert program.illegalities() == []
    zeros, x = np.zeros((3, 8), np.float32), np.arange(24, dtype=np.float32).reshape(3, 8)
    given = {"x": x, "y": zeros, "z": zeros, "w": zeros, "rows": np.array([2, 0, 1], np.int32)}
    run = run_program(program.reparsed(), given, is_checked=True)
    assert run.findings is not None and not any(run.findings.values()), run.findings
    np.testing.assert_array_equal(run.outputs["y"], 2 * x[[1, 2, 0]])
    np.testing.assert_array_equal(run.outputs["w"], np.tile(2 * (x[0] + 1), (3, 1)))
