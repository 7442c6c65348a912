"""The same done for neighbouring parts is one statement, where nothing tells the order of the parts."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.kernels import kernel_text
from benchmarks.kernels.text import Text, tensor
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.schedule.graph import Store
from tests.schedule.model_checks import check, statements

KERNELS = ("vector_add", "broadcast_add", "softmax", "rmsnorm", "layernorm", "transpose", "embedding")


def stores(text: str) -> int:
    """The stores of all classes, after showing that the graph computes what the reference does."""
    return sum(isinstance(s, Store) for s in statements(check(text)))


@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from(KERNELS),
    rows=st.integers(1, 30),
    columns=st.integers(1, 20),
    step=st.integers(1, 9),
    cores=st.sampled_from([1, 3]),
)
def test_steps_that_do_not_divide_the_rows_leave_no_trace(
    name: str, rows: int, columns: int, step: int, cores: int
) -> None:
    extents: dict[str, Any] = {"rows": rows, "columns": columns, "cores": cores}
    if name == "embedding":
        extents["tokens"] = rows
    whole = stores(kernel_text(name, **extents))
    assert stores(kernel_text(name, **extents, rows_per_step=step)) == whole


def parts(
    pieces: list[tuple[int, int]], source: str = "x", shift: int = 0, op: tuple[str, ...] = ("math.exp",)
) -> str:
    """y[a:b] = op(source[a + shift : b + shift]) for each (a, b), one after the other."""
    t = Text()
    whole = (32,)
    views = {name: t.view(name, whole, "f32") for name in {source, "y"}}
    for k, (first, last) in enumerate(pieces):
        shape = (last - first,)
        value = t.load(views[source], [t.index(first + shift)], shape)
        value = t.let(f"{op[k % len(op)]} {value} : {tensor(shape, 'f32')}")
        t.store(value, views["y"], [t.index(first)], shape)
    return t.module("k", "%x: index, %y: index", (1,), "// parts")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (parts([(0, 5), (5, 8), (8, 20)]), 1),
        (parts([(0, 5), (6, 8)]), 2),  # a gap
        (parts([(0, 5), (4, 9)]), 2),  # the second overwrites some of the first
        (parts([(5, 8), (0, 5)]), 2),  # backwards
        (parts([(0, 5), (5, 8)], op=("math.exp", "arith.negf")), 2),
        (parts([(0, 5), (5, 10)], source="y"), 2),  # in place: left alone
        (parts([(3, 5), (5, 8)], source="y", shift=-3), 2),  # the second reads what the first wrote
    ],
)
def test_what_is_one_and_what_is_not(text: str, count: int) -> None:
    assert stores(text) == count


def test_coordinates_go_on_where_the_first_part_ends() -> None:
    """y[r] = max(r, x[r]), rows taken three at a time, the last two apart."""
    t = Text()
    x_view, y_view = t.view("x", (8,), "i64"), t.view("y", (8,), "i64")

    def build(first: str, size: int) -> None:
        kind = tensor((size,), "i64")
        x, empty = t.load(x_view, [first], (size,)), t.let(f"tensor.empty() : {kind}")
        maps = f"[{t.identity(1)}, {t.identity(1)}]"
        n = len(t._lines)
        y = t.let(
            f'linalg.generic {{indexing_maps = {maps}, iterator_types = ["parallel"]}} ins({x} : {kind}) '
            f"outs({empty} : {kind}) {{ ^bb0(%a{n}: i64, %z{n}: i64): "
            f"%i{n} = linalg.index 0 : index "
            f"%g{n} = arith.addi %i{n}, {first} : index "
            f"%n{n} = arith.index_cast %g{n} : index to i64 "
            f"%s{n} = arith.maxsi %n{n}, %a{n} : i64 "
            f"linalg.yield %s{n} : i64 }} -> {kind}"
        )
        t.store(y, y_view, [first], (size,))

    t.walk(t.index(0), 8, 3, build)
    assert stores(t.module("k", "%x: index, %y: index", (1,), "// coordinates")) == 1
