"""Random gathers, by any dims of a table through any index tensors, mean the same at all levels."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from benchmarks.kernels.text import Text, access_tile, by_x, memref, tensor

from headrace.ir.diagnostics import HeadraceError
from headrace.runtime.kernel import Kernel, load
from headrace.runtime.launch import run_program
from headrace.runtime.reference import run_reference
from tests.differential.test_kernels import DEVICES
from tests.kernels.listed import FOLDER

WALKS = {"a": "ind({a}[%first + %i])", "b": "ind({b}[%j])", "c": "ind({c}[%i, %j])", "i": "(%i)", "j": "(%j)"}
"""What may stand for a dim of the table: an index tensor walked by the variables, or one of them."""


def gather(seed: int) -> tuple[str, dict[str, np.ndarray[Any, Any]]]:
    """y[tile, i, j, lane] = table[.., .., lane] with the walks of a seed: the kernel and its inputs."""
    r, numbers = Random(seed), np.random.default_rng(seed)
    tiles, ni, nj, lanes = (
        r.choice([1, 2, 3]),
        r.choice([1, 2, 5]),
        r.choice([1, 3, 6]),
        r.choice([5, 64, 72]),
    )
    shape = (r.choice([6, 9]), r.choice([7, 8]), lanes)
    walks = [r.choice("abci"), r.choice("abcj")]
    kinds = {name: r.choice(["i32", "i64"]) for name in "abc"}
    extents = {"a": (tiles * ni,), "b": (nj,), "c": (ni, nj)}
    dtype = r.choice(["f16", "f32", "i32"])
    t = Text()
    tile = t.let("ktdp.get_compute_tile_id : index", "tile")
    t.op(f"%first = arith.muli {tile}, {t.index(ni)} : index")
    table = t.view("table", shape, dtype)
    views = {name: t.view(name, extents[name], kinds[name]) for name in "abc"}
    y = t.view("y", (tiles, ni, nj, lanes), dtype)
    named = {name: view.name for name, view in views.items()}
    subscripts = [*(WALKS[w].format(**named) for w in walks), "(%lane)"]
    used = [memref(extents[w], kinds[w]) for w in walks if w in views]
    box, types = (ni, nj, lanes), ", ".join([memref(shape, dtype), *used])
    picked = t.let(
        f"ktdp.construct_indirect_access_tile intermediate_variables(%i, %j, %lane) "
        f"{table.name}[{', '.join(subscripts)}] {{variables_space_order = {t.identity(3)}, "
        f"variables_space_set = {t.box(box)}}} : {types} -> {access_tile(box)}"
    )
    value = t.let(f"ktdp.load {picked} : <{by_x(box, 'index')}> -> {tensor(box, dtype)}")
    whole = (1, *box)
    value = t.let(
        f"tensor.expand_shape {value} [[0, 1], [2], [3]] output_shape [1, {ni}, {nj}, {lanes}] "
        f": {tensor(box, dtype)} into {tensor(whole, dtype)}"
    )
    t.store(value, y, [tile, *[t.index(0)] * 3], whole)
    args = "%table: index, %a: index, %b: index, %c: index, %y: index"
    kind = {"f16": np.float16, "f32": np.float32, "i32": np.int32}[dtype]
    given = {"table": (100 * numbers.standard_normal(shape)).astype(kind)}
    for name in "abc":
        limit = min([shape[d] for d, w in enumerate(walks) if w == name], default=1)
        index = np.int32 if kinds[name] == "i32" else np.int64
        given[name] = numbers.integers(0, limit, extents[name]).astype(index)
    return t.module("k", args, (tiles,), "// a gather"), given


def compare_gather(seed: int, device: str) -> None:
    """AssertionError unless the machine and the reference leave the same bytes, in an order that is legal."""
    text, given = gather(seed)
    kernel = Kernel(text)
    program = kernel.compile(device)
    assert program.illegalities() == []
    run = run_program(program.reparsed(), given, is_checked=True)
    assert run.findings is not None and not any(run.findings.values()), run.findings
    np.testing.assert_array_equal(run.outputs["y"], run_reference(kernel, given).outputs["y"])


@pytest.mark.parametrize("seed", range(20))
def test_a_gather(seed: int) -> None:
    compare_gather(seed, DEVICES[seed % len(DEVICES)])


@pytest.mark.long
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(100, 180))
def test_many_gathers(seed: int, device: str) -> None:
    compare_gather(seed, device)


@pytest.mark.parametrize("index", [-1, 8])
def test_an_index_of_several_that_leaves_its_dim_is_found(index: int) -> None:
    program = load(FOLDER / "gather_two_indices.mlir").compile("spyre")
    given = {
        "table": np.zeros((8, 8, 64), np.float16),
        "a": np.array([1, 2, 3, 4], np.int32),
        "b": np.array([0, 1, index, 2, 3, 4], np.int32),
    }
    with pytest.raises(HeadraceError, match="index"):
        run_program(program.reparsed(), given)
