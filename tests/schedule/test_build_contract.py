"""Contraction phases: what `build` writes computes what the TileGraph says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.ir.text import print_module
from headrace.schedule.build import build
from headrace.schedule.graph import Access, Axis, Compute, Contraction, Dim, Out, Scalar
from headrace.schedule.phases.contraction import roles
from headrace.schedule.phases.items import flat_groups
from headrace.schedule.phases.shape import shape
from headrace.schedule.replay import class_outline
from headrace.schedule.search import search
from headrace.schedule.search.search import Defaults
from tests.schedule import tilegraphs
from tests.schedule.on_machine import run
from tests.schedule.test_build_vector import execute, random
from tests.schedule.tilegraphs import Kernel

APART = Defaults(without=frozenset({"fusion"}))
"""Nothing is laid out before a contraction: its places are a loop."""


@pytest.mark.parametrize("name, grid", [("spyre", (2, 2)), ("tiny", (1, 2)), ("sample", (2, 1))])
@pytest.mark.parametrize("m, n, k", [(24, 128, 140), (2, 64, 600), (6, 40, 32)])
@pytest.mark.parametrize("transposed", [False, True])
def test_multiplies_matrices_with_a_fused_epilogue(name, grid, m, n, k, transposed):
    a, bias = random(m, k), random(n, seed=2)
    b = random(n, k, seed=1) if transposed else random(k, n, seed=1)
    graph = tilegraphs.gemm(m, n, k, grid, transposed=transposed)
    got = execute(graph, {"a": a, "b": b, "bias": bias, "c": np.zeros((m, n), np.float16)}, name)["c"]
    right = b.astype(np.float32).T if transposed else b.astype(np.float32)
    want = np.maximum(a.astype(np.float32) @ right + bias.astype(np.float32), 0)
    assert np.allclose(got.astype(np.float32), want, atol=0.1, rtol=1e-2)


@pytest.mark.parametrize("name", ["spyre", "tiny"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(3, 16, 40, 64), (2, 1, 33, 20), (5, 8, 1, 48)])
def test_multiplies_batches_of_matrices_on_the_machine(name, transposed, shape):
    batch, m, n, k = shape
    kernel = Kernel("bmm", 1)
    a = kernel.load("a", (batch, m, k), [0, 0, 0], (batch, m, k))
    right = (batch, n, k) if transposed else (batch, k, n)
    b = kernel.load("b", right, [0, 0, 0], right)
    c = kernel.matmul(a, b, transposed=transposed)
    c = kernel.pointwise([(c, (0, 1, 2))], [Scalar("arith.truncf", (0,), "f16")])
    kernel.store(c, "c", (batch, m, n), [0, 0, 0])
    x, y = random(batch, m, k), random(*right, seed=1)
    got, _ = run(kernel.graph(), {"a": x, "b": y, "c": np.zeros((batch, m, n), np.float16)}, name)
    wide = y.astype(np.float32).transpose(0, 2, 1) if transposed else y.astype(np.float32)
    assert np.allclose(got["c"].astype(np.float32), x.astype(np.float32) @ wide, atol=0.05, rtol=1e-2)


@pytest.mark.parametrize("rows, depth", [((48, 32, 20), 64), ((20, 20, 20, 20, 20), 48), ((36, 64), 100)])
def test_weights_stay_while_tapered_tiles_of_rows_pass(rows, depth):
    m, n, k = sum(rows), 96, 260
    graph, chip = tilegraphs.gemm(m, n, k, (1, 2)), device("spyre")
    plan = search(graph, chip)
    (part,) = plan.classes
    found = roles(shape(*_layout(graph, chip)), False)
    (phase,) = part.phases
    phase = replace(
        phase, order="column", taper=rows, kept=(f"{found.weights.value}#{found.weights.use}",), split="rows",
        tile={found.row: max(rows), found.column: 32, found.depth: depth},
        copies={"in": 2, "out": 2, "filling": 1}, blocks={**phase.blocks, "rows": 16, "filling": 20},
    )  # fmt: skip
    edited = replace(plan, classes=(replace(part, phases=(phase,)),))
    a, b, bias = random(m, k), random(k, n, seed=1), random(n, seed=2)
    arrays = {"a": a, "b": b, "bias": bias, "c": np.zeros((m, n), np.float16)}
    got = run(graph, arrays, plan=edited)[0]["c"]
    want = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias.astype(np.float32), 0)
    assert np.allclose(got.astype(np.float32), want, atol=0.1, rtol=1e-2)


@pytest.mark.parametrize(
    "name, order, split, tile, sizes, residual",
    [
        ("spyre", "row", "rows", (31, 16, 16), (16, 16, 8), False),
        ("spyre", "row", "rows", (31, 20, 24), (20, 10, 10), False),
        ("spyre", "column", "rows", (13, 40, 16), (13, 9, 9), True),
        ("spyre", "column", "columns", (12, 24, 16), (12, 12, 7), True),
        ("sample", "column", "rows", (20, 40, 120), (), True),
    ],
)
def test_results_leave_while_the_next_tile_is_computed(name, order, split, tile, sizes, residual):
    m, n, k = 31, 80, 120
    graph, chip = tilegraphs.gemm(m, n, k, (1, 2), residual=residual), device(name)
    plan = search(graph, chip)
    found = roles(shape(*_layout(graph, chip)), False)
    (part,) = plan.classes
    phase = replace(
        part.phases[0], order=order, taper=sizes, kept=(), joined={}, split=split,
        tile=dict(zip((found.row, found.column, found.depth), tile, strict=True)),
        copies={"in": 2, "out": 2, "waiting": 1}, blocks={"depth": 16, "columns": 8, "rows": 6},
    )  # fmt: skip
    _check_gemm(graph, plan, phase, name)


@pytest.mark.parametrize("rows, copies", [((40, 16, 16, 16, 9), 2), ((50, 20), 1), ((30,), 1)])
def test_results_leave_while_the_weights_stay(rows, copies):
    m, n, k = sum(rows), 64, 200
    graph, chip = tilegraphs.gemm(m, n, k, (1, 2)), device("spyre")
    plan = search(graph, chip)
    found = roles(shape(*_layout(graph, chip)), False)
    (part,) = plan.classes
    phase = replace(
        part.phases[0], order="column", taper=rows, kept=(f"{found.weights.value}#{found.weights.use}",),
        tile={found.row: max(rows), found.column: 16, found.depth: 32}, split="rows", joined={},
        copies={"in": 2, "out": 1, "filling": 2, "waiting": copies},
        blocks={"depth": 32, "columns": 16, "rows": 32, "filling": 16},
    )  # fmt: skip
    _check_gemm(graph, plan, phase)


def _check_gemm(graph, plan, phase, name="spyre"):
    """Run a plan with the phase replaced: the product, plus bias, nothing below 0."""
    (part,) = plan.classes
    edited = replace(plan, classes=(replace(part, phases=(phase,)),))
    sizes = {arg.name: arg.shape for arg in graph.args}
    arrays = {arg: random(*sizes[arg], seed=k) for k, arg in enumerate(("a", "b", "bias"))}
    got = run(graph, {**arrays, "c": np.zeros(sizes["c"], np.float16)}, name, plan=edited)[0]["c"]
    wide = {arg: array.astype(np.float32) for arg, array in arrays.items()}
    want = np.maximum(wide["a"] @ wide["b"] + wide["bias"], 0)
    assert np.allclose(got.astype(np.float32), want, atol=0.1, rtol=1e-2)


@pytest.mark.parametrize("cores, members, n, depth", [(4, 2, 160, 64), (6, 3, 66, 300), (4, 4, 12, 300)])
def test_neighbouring_cores_read_weights_as_one(cores, members, n, depth):
    m, k = 5, 300
    graph, chip = tilegraphs.gemm(m, n, k, (1, cores)), device("spyre")
    plan = search(graph, chip)
    found = roles(shape(*_layout(graph, chip)), False)
    weights = f"{found.weights.value}#{found.weights.use}"
    (part,) = plan.classes
    phase = replace(
        part.phases[0], order="column", taper=(), kept=(), joined={weights: members}, split="rows",
        multicast=tuple({*part.phases[0].multicast, weights}), copies={"in": 2, "out": 1},
        tile={found.row: m, found.column: n // cores, found.depth: depth},
        blocks={"depth": min(depth, 64), "columns": n // cores, "rows": m},
    )  # fmt: skip
    edited = replace(plan, classes=(replace(part, phases=(phase,)),))
    a, b, bias = random(m, k), random(k, n, seed=1), random(n, seed=2)
    arrays = {"a": a, "b": b, "bias": bias, "c": np.zeros((m, n), np.float16)}
    got = run(graph, arrays, plan=edited)[0]["c"]
    want = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias.astype(np.float32), 0)
    assert np.allclose(got.astype(np.float32), want, atol=0.1, rtol=1e-2)


def _layout(graph, chip):
    made = class_outline(graph.classes[0], chip, True)
    (group,) = flat_groups(made.items)
    return group, made, {}


def windowed(rows, columns, places, k):
    """x[m, p, k] and w[n, p, k] that no dims of merge, and their product over p and k."""
    kernel = Kernel("windows", 1)
    wide = (rows, places, k + 1), (columns, places, k + 2)
    a = kernel.load("a", wide[0], [0, 0, 0], (rows, places, k))
    b = kernel.load("b", wide[1], [0, 0, 0], (columns, places, k))
    names = {"m": rows, "n": columns, "p": places, "k": k}
    dims = tuple(Dim(d, e, "reduction" if d in "pk" else "parallel") for d, e in names.items())
    out = kernel.fresh((rows, columns), "f32")
    body = (Scalar("in", (), "f16", 0), Scalar("in", (), "f16", 1), Scalar("arith.mulf", (0, 1), "f32"))
    ins = tuple(Access(v, tuple(map(Axis, axes))) for v, axes in ((a, "mpk"), (b, "npk")))
    outs = (Out(out, (Axis("m"), Axis("n")), 2, "add", 0.0),)
    kernel.body.append(Compute(dims, ins, outs, body, Contraction((), ("m",), ("n",), ("p", "k"))))
    kernel.store(out, "c", (rows, columns), [0, 0])
    x, w = random(*wide[0]), random(*wide[1], seed=1)
    want = np.einsum("mpk,npk->mn", x[..., :k].astype(np.float32), w[..., :k].astype(np.float32))
    return kernel.graph(), {"a": x, "b": w, "c": np.zeros((rows, columns), np.float32)}, want


@pytest.mark.parametrize(
    "name, places, tile", [("spyre", 1, 8), ("spyre", 2, 3), ("tiny", 5, 4), ("sample", 7, 3)]
)
def test_a_sum_over_places_and_products_is_right_with_and_without_a_tail(name, places, tile):
    graph, arrays, want = windowed(6, 40, places, 8)
    plan = search(graph, device(name), APART)
    (part,) = plan.classes
    phase = replace(part.phases[0], copies={"in": 2, "out": 1})
    (depth,) = (d for d in phase.tile if d.startswith("k"))
    phase = replace(phase, tile={**phase.tile, depth: tile}, blocks={**phase.blocks, "depth": tile})
    got, _ = run(graph, arrays, name, plan=replace(plan, classes=(replace(part, phases=(phase,)),)))
    assert np.allclose(got["c"], want, atol=0.05, rtol=1e-2)


def test_a_program_is_not_longer_for_more_places_of_a_window():
    chip = device("spyre")
    graphs = [windowed(6, 40, places, 3)[0] for places in (20, 90)]
    few, many = (print_module(build(g, search(g, chip, APART), chip)).count("\n") for g in graphs)
    assert many == few
