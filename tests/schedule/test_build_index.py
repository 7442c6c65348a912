"""Bodies that read where they are: the same coordinates in every phase, however its dims are tiled and shared
out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.ir.diagnostics import HeadraceError
from headrace.schedule.graph import Linear, Scalar
from headrace.schedule.search import search
from tests.schedule.test_build_vector import execute
from tests.schedule.tilegraphs import Kernel

F32 = np.float32


def integers(*shape: int, dtype: type = F32) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype(dtype)


def place(rank: int, at: int) -> list[Scalar]:
    """Scalars from entry `at` on whose last one numbers the coordinates: the first dim counts most."""
    body = [Scalar("index", (), "f32", (0, Linear()))]
    for dim in range(1, rank):
        last = at + len(body) - 1
        body.append(Scalar("const", (), "f32", 128.0))
        body.append(Scalar("arith.mulf", (last, last + 1), "f32"))
        body.append(Scalar("index", (), "f32", (dim, Linear())))
        body.append(Scalar("arith.addf", (last + 2, last + 3), "f32"))
    return body


def places(shape: tuple[int, ...]) -> np.ndarray:
    return np.array(sum(g * 128 ** (len(shape) - 1 - d) for d, g in enumerate(np.indices(shape))), F32)


def tiled(graph, sizes: tuple[int, ...], **changes):
    """The plan of a graph of one phase with these tiles, in the order of its dims."""
    plan = search(graph, device("spyre"))
    (part,) = plan.classes
    (phase,) = part.phases
    phase = replace(phase, tile=dict(zip(phase.extents, sizes, strict=True)), **changes)
    return replace(plan, classes=(replace(part, phases=(phase,)),))


def test_pointwise_work_knows_its_place():
    k, shape = Kernel("k", 1), (5, 34)
    x = k.load("x", shape, (0, 0), shape, "f32")
    body = place(2, 1)
    y = k.pointwise([(x, (0, 1))], [*body, Scalar("arith.addf", (0, len(body)), "f32")])
    k.store(y, "y", shape, (0, 0))
    graph, array = k.graph(), integers(*shape)
    arrays = {"x": array, "y": np.zeros_like(array)}
    got = execute(graph, arrays, plan=tiled(graph, (2, 16), step=8))
    assert np.array_equal(got["y"], array + places(shape))


@pytest.mark.parametrize(
    "over, tile, split",
    [
        ((0,), (5, 4, 32), "points"),
        ((1,), (2, 4, 34), "points"),
        ((0, 1), (5, 6, 34), "depth"),
        ((0, 2), (2, 4, 16), "depth"),
    ],
)
def test_a_reduction_over_columns_knows_its_place(over, tile, split):
    k, shape = Kernel("k", 1), (5, 6, 34)
    x = k.load("x", shape, (0, 0, 0), shape, "f32")
    body = place(3, 1)
    y = k.reduce(x, over, "add", [*body, Scalar("arith.mulf", (0, len(body)), "f32")])
    array = integers(*shape)
    want = (array * places(shape)).sum(over)
    k.store(y, "y", want.shape, (0,) * want.ndim)
    graph = k.graph()
    plan = tiled(graph, tile, split=split, step=min(tile[2], 32))
    got = execute(graph, {"x": array, "y": np.zeros(want.shape, F32)}, plan=plan)
    assert np.allclose(got["y"], want, rtol=1e-5, atol=1)


def test_rows_in_chunks_know_their_place():
    columns = 700
    k, shape = Kernel("k", 1), (3, columns)
    x = k.load("x", shape, (0, 0), shape, "f32")
    w = k.load("w", (columns,), (0,), (columns,), "f32")
    most = k.reduce(x, (1,), "max")
    below = k.pointwise([(x, (0, 1)), (most, (0,))], [Scalar("arith.subf", (0, 1), "f32")])
    total = k.reduce(below, (1,), "add")
    body = place(2, 3)
    last = len(body) + 2
    sums = [Scalar("arith.addf", (0, 1), "f32"), Scalar("arith.addf", (2, last), "f32")]
    sums.append(Scalar("arith.addf", (last + 1, last + 2), "f32"))
    y = k.pointwise([(below, (0, 1)), (total, (0,)), (w, (1,))], [*body, *sums])
    k.store(y, "y", shape, (0, 0))
    graph, array, row = k.graph(), integers(*shape), integers(columns)
    plan = search(graph, device("spyre"))
    assert any(p.chunk for p in plan.classes[0].phases)
    got = execute(graph, {"x": array, "w": row, "y": np.zeros_like(array)}, plan=plan)
    want = array - array.max(1, keepdims=True)
    assert np.array_equal(got["y"], want + want.sum(1, keepdims=True) + row + places(shape))


def product(batch: int, m: int, n: int, depth: int):
    k = Kernel("k", 1)
    a = k.load("a", (batch, m, depth), (0, 0, 0), (batch, m, depth))
    b = k.load("b", (batch, depth, n), (0, 0, 0), (batch, depth, n))
    c, body = k.matmul(a, b), place(3, 1)
    y = k.pointwise([(c, (0, 1, 2))], [*body, Scalar("arith.addf", (0, len(body)), "f32")])
    k.store(y, "c", (batch, m, n), (0, 0, 0))
    return k.graph()


def test_what_follows_a_product_knows_its_place():
    a, b = integers(2, 5, 24, dtype=np.float16), integers(2, 24, 70, dtype=np.float16)
    graph = product(2, 5, 70, 24)
    arrays = {"a": a, "b": b, "c": np.zeros((2, 5, 70), F32)}
    got = execute(graph, arrays, plan=tiled(graph, (1, 3, 64, 16)))
    assert np.array_equal(got["c"], a.astype(F32) @ b.astype(F32) + places((2, 5, 70)))


def test_a_tile_of_several_products_is_refused():
    graph = product(2, 5, 70, 24)
    with pytest.raises(HeadraceError, match="a tile of 2 products along"):
        execute(graph, {}, plan=tiled(graph, (2, 5, 70, 24)))


COMPARED = {"sge": np.greater_equal, "slt": np.less, "eq": np.equal, "ult": np.less, "uge": np.greater_equal}


@pytest.mark.parametrize("relation", COMPARED)
@pytest.mark.parametrize("is_lane_first", [False, True])
def test_the_number_of_a_lane_is_compared_where_lanes_begin_at_zero(relation, is_lane_first):
    k, shape = Kernel("k", 1), (40, 48)
    x = k.load("x", shape, (0, 0), shape, "f32")
    row, column = Scalar("index", (), "index", (0, Linear())), Scalar("index", (), "index", (1, Linear(-3)))
    pair = (2, 1) if is_lane_first else (1, 2)
    compared = Scalar("arith.cmpi", pair, "i1", relation)
    chosen = Scalar("arith.select", (3, 0, 4), "f32")
    body = [row, column, compared, Scalar("const", (), "f32", -9.0), chosen]
    y = k.pointwise([(x, (0, 1))], body)
    k.store(y, "y", shape, (0, 0))
    graph, array = k.graph(), integers(*shape)
    got = execute(graph, {"x": array, "y": np.zeros_like(array)}, plan=tiled(graph, (8, 48), step=16))
    rows, columns = np.indices(shape)
    kind = np.int64 if relation[0] != "u" else np.uint64
    sides = [rows.astype(kind), (columns - 3).astype(kind)]
    held = COMPARED[relation](*(sides[::-1] if is_lane_first else sides))
    assert np.array_equal(got["y"], np.where(held, array, F32(-9)))
