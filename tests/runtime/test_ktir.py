"""Kernels written in Python compute what NumPy computes, on the reference and on the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace
from headrace import ktir
from headrace.numbers.tolerance import assert_close
from headrace.runtime.kernel import Kernel

Array = np.ndarray[Any, Any]
Case = tuple[Kernel, dict[str, Any], Array, dict[str, Any]]


def normal(*shape: int, dtype: Any = np.float16, seed: int = 0) -> Array:
    """Standard normal numbers."""
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def vector_add() -> Case:
    with ktir.kernel("vector_add", grid=[8]) as k:
        a, b, y = (k.argument(name, (4096,), "f16") for name in "aby")
        start = k.tile_id() * 512
        here = slice(start, start + 512)
        y[here] = a[here].load() + b[here].load()
    inputs = {"a": normal(4096), "b": normal(4096, seed=1)}
    return k.kernel, inputs, inputs["a"] + inputs["b"], {}


def softmax() -> Case:
    with ktir.kernel("softmax", grid=[8]) as k:
        x = k.argument("x", (32, 256), "f16")
        y = k.argument("y", (32, 256), "f16")
        row = k.tile_id() * 4
        rows = x[row : row + 4, :].load().cast("f32")
        e = ktir.exp(rows - rows.max(axis=1, keepdims=True))
        y[row : row + 4, :] = (e / e.sum(axis=1, keepdims=True)).cast("f16")
    values = normal(32, 256)
    wide = np.exp(values.astype(np.float64) - values.max(1, keepdims=True))
    return k.kernel, {"x": values}, (wide / wide.sum(1, keepdims=True)).astype(np.float16), {}


def rmsnorm() -> Case:
    with ktir.kernel("rmsnorm", grid=[4]) as k:
        x = k.argument("x", (16, 128), "f16")
        w = k.argument("w", (128,), "f16")
        eps = k.scalar("eps", "f32", example=1e-5)
        y = k.argument("y", (16, 128), "f16")
        row = k.tile_id() * 4
        rows = x[row : row + 4, :].load().cast("f32")
        mean = (rows * rows).sum(axis=1, keepdims=True) / 128
        y[row : row + 4, :] = (rows * ktir.rsqrt(mean + eps) * w[:].load().cast("f32")).cast("f16")
    inputs = {"x": normal(16, 128), "w": normal(128)}
    wide = inputs["x"].astype(np.float64)
    scale = 1 / np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-5)
    return k.kernel, inputs, (wide * scale * inputs["w"]).astype(np.float16), {"eps": 1e-5}


def matmul() -> Case:
    with ktir.kernel("matmul", grid=[2, 2]) as k:
        a = k.argument("a", (64, 256), "f16")
        b = k.argument("b", (256, 128), "f16")
        c = k.argument("c", (64, 128), "f16")
        row, column = k.tile_id(0) * 32, k.tile_id(1) * 64
        with k.loop(0, 256, 64, acc=k.zeros((32, 64), "f32")) as loop:
            inner = slice(loop.index, loop.index + 64)
            left, right = a[row : row + 32, inner].load(), b[inner, column : column + 64].load()
            loop.acc = ktir.matmul(left, right, loop.acc)
        c[row : row + 32, column : column + 64] = loop.acc.cast("f16")
    inputs = {"a": normal(64, 256), "b": normal(256, 128)}
    return k.kernel, inputs, (inputs["a"].astype(np.float64) @ inputs["b"]).astype(np.float16), {}


def gather() -> Case:
    with ktir.kernel("gather", grid=[4]) as k:
        table = k.argument("table", (256, 128), "f16")
        ids = k.argument("ids", (32,), "i32")
        y = k.argument("y", (32, 128), "f16")
        row = k.tile_id() * 8
        y[row : row + 8, :] = table[ids[row : row + 8], :].load()
    inputs = {
        "table": normal(256, 128),
        "ids": np.random.default_rng(0).integers(0, 256, 32).astype(np.int32),
    }
    return k.kernel, inputs, inputs["table"][inputs["ids"]], {}


def log_sum_exp() -> Case:
    with ktir.kernel("log_sum_exp", grid=[8]) as k:
        x, y = k.argument("x", (64, 256), "f16"), k.argument("y", (64,), "f32")
        row = k.tile_id() * 8
        low, none = k.full((8, 1), float("-inf"), "f32"), k.zeros((8, 1), "f32")
        with k.loop(0, 256, 64, top=low, total=none) as loop:
            part = x[row : row + 8, loop.index : loop.index + 64].load().cast("f32")
            top = ktir.maximum(loop.top, part.max(axis=1, keepdims=True))
            added = ktir.exp(part - top).sum(axis=1, keepdims=True)
            loop.total = loop.total * ktir.exp(loop.top - top) + added
            loop.top = top
        y[row : row + 8] = (loop.top + ktir.log(loop.total)).reshape(8)
    a = normal(64, 256)
    wanted = np.log(np.exp(a.astype(np.float64)).sum(1)).astype(np.float32)
    return k.kernel, {"x": a}, wanted, {}


def transposed_bias() -> Case:
    """Strides, an offset view, a single coordinate, transpose, batches, where, maximum, integers."""
    with ktir.kernel("mixed", grid=[2]) as k:
        x = k.argument("x", (8, 64), "f32", strides=(1, 8))  # columns of a 64x8 buffer
        b = k.argument("b", (2, 64), "f32")
        y = k.argument("y", (64, 8), "f32")
        half = k.tile_id() * 4
        rows = x[half : half + 4, :].load()
        bias = b[1, :].load() + b.view((64,))[:].load()
        shifted = ktir.where(rows > 0.0, rows, rows * 0.5) + bias
        y[:, half : half + 4] = ktir.maximum(shifted, -1.0).T
    x, b = normal(64, 8, dtype=np.float32), normal(2, 64, dtype=np.float32)
    shifted = np.where(x > 0, x, x * np.float32(0.5)) + (b[1] + b[0])[:, None]
    return k.kernel, {"x": x, "b": b}, np.maximum(shifted, -1), {}


CASES: list[Callable[[], Case]] = [vector_add, softmax, rmsnorm, matmul, gather, log_sum_exp, transposed_bias]


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_reference_machine_and_numpy_agree(case: Callable[[], Case]) -> None:
    kernel, inputs, wanted, scalars = case()
    runs = {"reference": headrace.interpret(kernel, **inputs, **scalars)}
    for device in ("spyre", "tiny"):
        program = kernel.compile(device, scalars=scalars)
        program.require_legal()
        runs[device] = program.run(**inputs)
        assert runs[device].bound is not None and runs[device].cycles >= runs[device].bound.cycles
    name = next(a.name for a in kernel.arguments if a.role == "out")
    for engine, run in runs.items():
        assert_close(
            run.outputs[name], wanted, max_ulp=2, terms=256, magnitude=np.abs(wanted) + 16, name=engine
        )


def test_the_text_of_a_kernel_loads_as_the_same_kernel() -> None:
    kernel, inputs, wanted, _ = gather()
    again = headrace.load(kernel.text)
    assert [a.name for a in again.arguments] == ["table", "ids", "y"]
    np.testing.assert_array_equal(headrace.interpret(again, **inputs).outputs["y"], wanted)


def reference(k: Any, **inputs: Any) -> Any:
    return headrace.interpret(k.kernel, **inputs).outputs


def test_scatter_writes_the_rows_an_index_view_names() -> None:
    with ktir.kernel("scatter", grid=[2]) as k:
        x, y = k.argument("x", (8, 64), "f16"), k.argument("y", (16, 64), "f16")
        ids = k.argument("ids", (8,), "i32")
        row = k.tile_id() * 4
        y[ids[row : row + 4], :] = x[row : row + 4, :].load()
    ids = np.array([3, 1, 15, 0, 7, 8, 2, 11], np.int32)
    values, wanted = normal(8, 64), np.zeros((16, 64), np.float16)
    wanted[ids] = values
    got = reference(k, x=values, ids=ids, y=np.zeros((16, 64), np.float16))["y"]
    np.testing.assert_array_equal(got, wanted)


def test_loops_carry_several_values_and_blocks_run_where_their_condition_holds() -> None:
    with ktir.kernel("running", grid=[4]) as k:
        x, y = k.argument("x", (4, 256), "f32"), k.argument("y", (2, 4), "f32")
        tile = k.tile_id()
        start = k.full((1,), 0.0, "f32")
        with k.loop(0, 256, 64, top=start, total=start) as loop:
            part = x[tile : tile + 1, loop.index : loop.index + 64].load()
            loop.top = ktir.maximum(loop.top, part.max(axis=1))
            loop.total = loop.total + part.sum(axis=1)
        with k.when(k.number(tile, "i32") < 3):
            y[0, tile : tile + 1] = loop.top
            y[1, tile : tile + 1] = loop.total
    values = np.abs(normal(4, 256, dtype=np.float32))
    got = reference(k, x=values, y=np.full((2, 4), -1, np.float32))["y"]
    np.testing.assert_array_equal(got[0, :3], values.max(1)[:3])
    np.testing.assert_allclose(got[1, :3], values.sum(1)[:3], rtol=1e-5)
    assert (got[:, 3] == -1).all()


def test_indices_are_compared_with_numbers_and_indices() -> None:
    with ktir.kernel("where", grid=[4]) as k:
        y = k.argument("y", (4, 4), "f32")
        tile = k.tile_id()
        one = k.full((1, 1), 1.0, "f32")
        conditions = (tile < 2, tile <= 2, tile * 2 > tile + 1, tile >= k.index(1))
        for column, condition in enumerate(conditions):
            with k.when(condition):
                y[tile : tile + 1, column : column + 1] = one
    t = np.arange(4)
    wanted = np.stack([t < 2, t <= 2, 2 * t > t + 1, t >= 1], axis=1)
    np.testing.assert_array_equal(reference(k, y=np.zeros((4, 4), np.float32))["y"], wanted)


def test_index_arithmetic_shapes_and_casts() -> None:
    with ktir.kernel("shapes", grid=[6]) as k:
        y = k.argument("y", (6, 4), "i32")
        tile = k.tile_id()
        row, column = tile // 2, tile % 2
        steps = k.arange(8, "f32").reshape(2, 4)[column % 2, :]
        y[row * 2 + column, :] = (steps * 2.0).cast("i32") + k.number(row.minimum(1), "i32")
    got = reference(k)["y"]
    wanted = [[2 * (4 * (t % 2) + c) + min(t // 2, 1) for c in range(4)] for t in range(6)]
    np.testing.assert_array_equal(got, wanted)


def _mismatched(k: Any, x: Any, y: Any) -> None:
    _ = x[0:4, :].load() + y[0:4, 0:8].load()


def _untyped(k: Any, x: Any, y: Any) -> None:
    y[0:4, :] = x[0:4, :].load().cast("f32")


def _outside(k: Any, x: Any, y: Any) -> None:
    row = k.tile_id() * 8
    _ = x[row : row + 8, :].load()


def _dynamic(k: Any, x: Any, y: Any) -> None:
    _ = x[0 : k.tile_id() + 1, :].load()


def _escaped(k: Any, x: Any, y: Any) -> None:
    with k.loop(0, 4) as loop:
        t = x[loop.index, :].load()
    y[0, :] = t


def _changed(k: Any, x: Any, y: Any) -> None:
    with k.loop(0, 4, acc=k.zeros((4,), "f32")) as loop:
        loop.acc = loop.acc.cast("f16")


def _uncarried(k: Any, x: Any, y: Any) -> None:
    with k.loop(0, 4, acc=k.zeros((4,), "f32")) as loop:
        loop.sum = loop.acc


def _python_if(k: Any, x: Any, y: Any) -> None:
    if x[0, :].load() > 0:
        pass


def _not_loaded(k: Any, x: Any, y: Any) -> None:
    _ = ktir.exp(x[0:4, :])


def _products(k: Any, x: Any, y: Any) -> None:
    _ = x[:, :].load() @ y[:, :].load()


def _float_ids(k: Any, x: Any, y: Any) -> None:
    _ = x[y[0, 0:4], :].load()


def _box_plus(k: Any, x: Any, y: Any) -> None:
    _ = x[0:4, :] + 1.0


def _index_times(k: Any, x: Any, y: Any) -> None:
    _ = x[0:4, :].load() * k.tile_id()


def _too_large(k: Any, x: Any, y: Any) -> None:
    _ = k.full((4,), 300, "i8")


@pytest.mark.parametrize(
    ("write", "offset", "message"),
    [
        (_box_plus, 1, "a box of x is memory, not a value"),
        (_index_times, 1, "'mul' of an Index"),
        (_too_large, 1, "300 does not fit i8"),
        (_mismatched, 1, "'add' of shapes [4, 16] and [4, 8]"),
        (_untyped, 1, "a store of f32 to y of f16"),
        (_outside, 2, "dim 0 of x has 16 elements, the slice reaches from 0 to 32"),
        (_dynamic, 1, "dim 0 of x: a slice that is not constant"),
        (_escaped, 3, "is used outside the block that defines it"),
        (_changed, 2, "'acc' carries tensor<4xf32>, its next value is tensor<4xf16>"),
        (_uncarried, 2, "the loop carries no 'sum'"),
        (_python_if, 1, "a value of the kernel is not known while it is written"),
        (_not_loaded, 1, "'math.exp' of a Box"),
        (_products, 1, "'matmul' of shapes [16, 16] and [8, 16]"),
        (_float_ids, 1, "dim 0 of x: indices of f16"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_an_error_names_the_line_of_python(write: Callable[..., None], offset: int, message: str) -> None:
    with pytest.raises(headrace.HeadraceError) as caught, ktir.kernel("wrong", grid=[4]) as k:
        x = k.argument("x", (16, 16), "f16")
        y = k.argument("y", (8, 16), "f16")
        write(k, x, y)
    found = caught.value.diagnostics[0]
    assert message in found.message
    assert found.where is not None and found.where.file == __file__
    assert found.where.line == write.__code__.co_firstlineno + offset
    assert found.where.col > 0


def test_what_a_kernel_trips_over_later_is_said_with_the_line_of_python_too() -> None:
    with ktir.kernel("late", grid=[1]) as k:
        x, y = k.argument("x", (4,), "f32"), k.argument("y", (4,), "f32")
        ids = k.argument("ids", (4,), "i32")
        y[:] = x[ids[:]].load()
    line = k.kernel.module.body.block.first_op.body.block.last_op.prev_op.location.line.data
    with open(__file__) as file:
        assert "y[:] = x[ids[:]].load()" in file.read().splitlines()[line - 1]
    with pytest.raises(headrace.HeadraceError) as caught:
        headrace.interpret(k.kernel, x=np.ones(4, np.float32), ids=np.array([0, 1, 9, 2], np.int32))
    assert caught.value.diagnostics[0].where.file == __file__


def test_a_kernel_is_there_after_its_block() -> None:
    k = ktir.kernel("empty")
    with pytest.raises(headrace.HeadraceError, match="is not finished"):
        _ = k.kernel
    with k:
        y = k.argument("y", (4,), "f32")
        y[:] = 2.0
    np.testing.assert_array_equal(headrace.interpret(k.kernel).outputs["y"], np.full(4, 2, np.float32))
    with pytest.raises(headrace.HeadraceError, match="the kernel is finished"):
        y[:] = 3.0
