"""The work of a kernel: distinct bytes of all tiles, multiply-adds, lane operations by class."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.kernels.attention import attention as causal
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.arch.presets import device
from headrace.ir.text import load_file
from headrace.runtime.kernel import Kernel
from headrace.schedule.graph import Linear, Load, PerCore, Value, View
from headrace.schedule.model import model
from headrace.schedule.model.work.footprint import Footprint
from headrace.schedule.model.work.masks import _pairs
from headrace.schedule.model.work.points import Points
from tests.schedule.ktir_texts import Text
from tests.schedule.model_checks import graph_of
from tests.schedule.test_model_loops import attention


def work(name: str) -> dict[str, object]:
    """The work of an example kernel."""
    return model(load_file(f"examples/kernels/{name}.mlir"), device("spyre")).work


def test_shared_operands_count_once() -> None:
    found = work("matmul")
    assert found["read_bytes"] == 2 * 512 * 512 * 2 and found["write_bytes"] == 512 * 512 * 2
    assert found["macs.f16"] == 512**3


def test_a_gather_counts_the_rows_asked_for() -> None:
    assert work("embedding")["read_bytes"] == 128 * 256 * 2 + 128 * 8


def test_rows_and_weights_of_a_norm() -> None:
    found = work("rmsnorm")
    assert found["read_bytes"] == (1024 * 1024 + 1024) * 2
    assert found["ops.function.f32"] == 1024


def test_an_op_counts_over_the_dims_it_depends_on() -> None:
    assert work("layernorm")["ops.divide.f32"] == 2 * 1024


def test_lane_operations_that_a_causal_mask_hides_do_not_count() -> None:
    seen, whole = (graph_of(attention(2, 32, 8, 8, causal)).work for causal in (True, False))
    triangle, square, rows = 2 * (32 * 33 // 2), 2 * 32 * 32, 2 * 32
    assert (seen["ops.function.f32"], whole["ops.function.f32"]) == (triangle, square)
    assert "ops.compare.index" not in seen and "ops.select.f32" not in seen  # known before the kernel runs
    # a maximum and a sum over the columns of every row, the difference from the maximum, a scale
    assert seen["ops.arith.f32"] - whole["ops.arith.f32"] == 4 * (triangle - square)
    assert whole["ops.arith.f32"] == 2 * (square - rows) + 2 * square


def test_products_that_a_causal_mask_discards_do_not_count() -> None:
    assert graph_of(attention(2, 32, 8, 8, True)).work["macs.f16"] == 2 * 2 * 8 * (32 * 33 // 2)
    assert graph_of(attention(2, 32, 8, 8, False)).work["macs.f16"] == 2 * 2 * 8 * 32 * 32


def test_bytes_read_by_several_loads_count_once() -> None:
    t = Text()
    zero, two = t.index(0), t.index(2)
    x, y = t.view("x", [6]), t.view("y", [4])
    a, b = (t.load(x, [6], "f32", [at], [4]) for at in (zero, two))
    t.store(t.let(f"arith.addf {a}, {b} : tensor<4xf32>"), y, [4], "f32", [zero], [4])
    assert graph_of(t.module()).work["read_bytes"] == 24


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_footprint_is_the_union_of_its_boxes(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    sizes = tuple(data.draw(st.integers(1, 6)) for _ in range(rank))
    gaps = tuple(data.draw(st.integers(0, 2)) for _ in range(rank))
    strides, step = [], 1
    for n, gap in zip(reversed(sizes), gaps, strict=True):
        strides.insert(0, step)
        step *= n + gap
    touched: set[int] = set()
    found = Footprint()
    for k in range(data.draw(st.integers(1, 4))):
        extents = tuple(data.draw(st.integers(1, n)) for n in sizes)
        cores = data.draw(st.integers(1, 4))
        origins = [
            tuple(data.draw(st.integers(0, n - e)) for _ in range(cores))
            for n, e in zip(sizes, extents, strict=True)
        ]
        view = View("x", Linear(0), "f16", sizes, tuple(strides))
        load = Load(f"v{k}", view, tuple(Linear(PerCore(o)) for o in origins), tuple(range(rank)))
        found.add(load, {f"v{k}": Value(f"v{k}", extents, "f16")}, Points(np.arange(cores)))
        for origin in zip(*origins, strict=True):
            grid = np.indices(extents).reshape(rank, -1) + np.array(origin)[:, None]
            touched |= set((np.array(strides)[:, None] * grid).sum(axis=0).tolist())
    assert found.size_bytes == 2 * len(touched)


def test_work_is_a_dictionary_of_integers() -> None:
    assert all(isinstance(v, int) for v in work("softmax").values())
    with pytest.raises(KeyError):
        work("vector_add")["macs.f16"]


@pytest.mark.parametrize("relation", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_pairs_of_a_relation_are_counted_without_looking_at_each(relation: str) -> None:
    random = np.random.default_rng(7)
    one, other = random.integers(0, 9, 30), np.sort(random.integers(0, 9, 40))
    names = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
    compare = getattr(np, names.get(relation, "greater_equal"))
    assert _pairs(relation, one, other) == compare(one[:, None], other).sum()


def test_the_bound_of_long_causal_attention_is_that_of_a_triangle() -> None:
    found = model(Kernel(causal(1, 16384, 64)).module, device("spyre")).work
    assert found["macs.f16"] == 2 * 64 * (16384 * 16385 // 2)
