"""Chains of phases: values between them in the scratchpad or in device memory, carried values of loops."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.schedule.graph import Carried, Compute, CoreClass, Linear, Load, Loop, Scalar, Store, TileGraph
from headrace.schedule.search import Defaults
from tests.schedule.on_machine import run
from tests.schedule.test_build_vector import random
from tests.schedule.tilegraphs import Kernel


def attention(heads: int, queries: int, keys: int, width: int):
    """o = softmax(q k^T / sqrt(width)) v, all in one tile."""
    k = Kernel("attention", 1)
    q = k.load("q", (heads, queries, width), [0, 0, 0], (heads, queries, width))
    key = k.load("k", (heads, keys, width), [0, 0, 0], (heads, keys, width))
    value = k.load("v", (heads, keys, width), [0, 0, 0], (heads, keys, width))
    scores = k.matmul(q, key, transposed=True)
    scaling = [Scalar("const", (), "f32", width**-0.5), Scalar("arith.mulf", (0, 1), "f32")]
    scaled = k.pointwise([(scores, (0, 1, 2))], scaling)
    most = k.reduce(scaled, (2,), "max")
    shifted = [Scalar("arith.subf", (0, 1), "f32"), Scalar("math.exp", (2,), "f32")]
    e = k.pointwise([(scaled, (0, 1, 2)), (most, (0, 1))], shifted)
    total = k.reduce(e, (2,), "add")
    normal = [Scalar("arith.divf", (0, 1), "f32"), Scalar("arith.truncf", (2,), "f16")]
    p = k.pointwise([(e, (0, 1, 2)), (total, (0, 1))], normal)
    o = k.pointwise([(k.matmul(p, value), (0, 1, 2))], [Scalar("arith.truncf", (0,), "f16")])
    k.store(o, "o", (heads, queries, width), [0, 0, 0])
    return k.graph()


@pytest.mark.parametrize("without", [frozenset(), frozenset({"residency"}), frozenset({"fusion"})])
@pytest.mark.parametrize("name", ["spyre", "tiny"])
def test_attention_is_a_chain_of_phases(name, without):
    q, k, v = (random(2, n, 64, seed=s) for s, n in enumerate((24, 40, 40)))
    arrays = {"q": q, "k": k, "v": v, "o": np.zeros_like(q)}
    got, _ = run(attention(2, 24, 40, 64), arrays, name, Defaults(without))
    s = q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1) / 8
    e = np.exp(s - s.max(2, keepdims=True))
    want = (e / e.sum(2, keepdims=True)).astype(np.float16).astype(np.float32) @ v.astype(np.float32)
    assert np.allclose(got["o"].astype(np.float32), want, atol=1e-2)


@pytest.mark.parametrize("name", ["spyre", "tiny"])
def test_a_carried_value_goes_from_iteration_to_iteration(name):
    k = Kernel("recurrence", 1)
    start = k.load("s", (8, 96), [0, 0], (8, 96), "f32")
    inner = k.fresh((8, 96), "f32")
    result = k.fresh((8, 96), "f32")
    outside, k.body = k.body, []
    x = k.fresh((8, 96), "f32")
    step = Linear(0, (("i", 1),))
    k.body.append(Load(x, k.view("x", (32, 96), "f32", "in"), (step, Linear()), (0, 1)))
    half = [
        Scalar("const", (), "f32", 0.5),
        Scalar("arith.mulf", (0, 2), "f32"),
        Scalar("arith.addf", (3, 1), "f32"),
    ]
    new = k.pointwise([(inner, (0, 1)), (x, (0, 1))], half)
    k.body.append(Store(new, k.view("y", (32, 96), "f32", "out"), (step, Linear()), (0, 1)))
    loop = Loop("i", 4, Linear(), 8, tuple(k.body), (Carried(inner, start, new, result),))
    k.body = [*outside, loop]
    k.store(result, "last", (8, 96), [0, 0])
    s, xs = random(8, 96, dtype=np.float32), random(32, 96, dtype=np.float32, seed=1)
    arrays = {"s": s, "x": xs, "y": np.zeros_like(xs), "last": np.zeros_like(s)}
    got, _ = run(k.graph(), arrays, name)
    state, want = s, []
    for part in xs.reshape(4, 8, 96):
        state = state * np.float32(0.5) + part
        want.append(state)
    assert np.array_equal(got["y"], np.concatenate(want))
    assert np.array_equal(got["last"], state)


def test_classes_of_cores_get_functions_of_their_own():
    from headrace.arch.presets import device
    from headrace.schedule.build import build
    from headrace.schedule.search import search
    from tests.schedule.tilegraphs import add

    graph = add(32, 64, 2)
    part = graph.classes[0]
    one = tuple(_for_core(s, 0) for s in part.body)
    two = tuple(_for_core(s, 1) for s in part.body)
    classes = (CoreClass((0,), part.values, one), CoreClass((1,), part.values, two))
    split = TileGraph("add", (2,), graph.args, classes, graph.work)
    module = build(split, search(split, device("spyre")), device("spyre"))
    assert [op.sym_name.data for op in module.body.block.ops] == ["add__0", "add__1"]


def _for_core(statement, core):
    if isinstance(statement, Compute):
        return statement
    origin = tuple(
        Linear(o.const if isinstance(o.const, int) else o.const.values[core], o.terms)
        for o in statement.origin
    )
    return type(statement)(statement.value, statement.view, origin, statement.axes)
