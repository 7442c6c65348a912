"""Two products of one factor in one phase."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.arch.presets import device
from headrace.schedule.phases.contraction import product_count
from headrace.schedule.phases.outline import flat_groups
from headrace.schedule.replay import class_outline
from headrace.schedule.search import search
from tests.schedule import tilegraphs
from tests.schedule.on_machine import run
from tests.schedule.test_build_vector import random


@pytest.mark.parametrize("name, grid", [("spyre", (2, 2)), ("sample", (2, 1))])
@pytest.mark.parametrize("m, n, k", [(6, 72, 150), (2, 40, 24)])
def test_two_products_of_the_same_rows_are_one_phase(name, grid, m, n, k):
    graph = tilegraphs.gated(m, n, k, grid)
    assert _products(graph, name) == [2]
    _check(graph, name)


@pytest.mark.parametrize("tile, sizes", [((12, 8, 16), (8, 8, 8)), ((6, 24, 48), ())])
def test_results_of_two_products_leave_while_the_next_tile_is_computed(tile, sizes):
    graph = tilegraphs.gated(12, 48, 96, (1, 2))
    plan = search(graph, device("spyre"))
    (part,) = plan.classes
    (phase,) = part.phases
    sides = sorted(phase.extents, key=lambda d: phase.extents[d])
    phase = replace(
        phase, order="row", split="rows", taper=sizes, kept=(), tile=dict(zip(sides, tile, strict=True)),
        copies={"in": 2, "out": 1, "waiting": 1}, blocks={"depth": 16, "columns": 8, "rows": 6},
    )  # fmt: skip
    _check(graph, "spyre", replace(plan, classes=(replace(part, phases=(phase,)),)))


def test_a_product_that_is_stored_too_stays_a_phase():
    graph = tilegraphs.gated(8, 32, 40, (1, 2), is_kept=True)
    assert _products(graph, "spyre") == [1, 1]


def _products(graph, name):
    made = class_outline(graph.classes[0], device(name), True)
    return [product_count(group) for group in flat_groups(made.items)]


def _check(graph, name, plan=None):
    sizes = {arg.name: arg.shape for arg in graph.args}
    arrays = {arg: random(*sizes[arg], seed=k) for k, arg in enumerate(("a", "g", "u"))}
    got = run(graph, {**arrays, "c": np.zeros(sizes["c"], np.float16)}, name, plan=plan)[0]["c"]
    a, g, u = (arrays[arg].astype(np.float32) for arg in ("a", "g", "u"))
    assert np.allclose(got.astype(np.float32), np.maximum(a @ g, 0) * (a @ u), atol=0.2, rtol=1e-2)
