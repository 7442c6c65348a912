"""Reductions over any dims, of values stored in any way, with any start, mean the same at all levels."""

from __future__ import annotations

import pytest
from benchmarks.kernels.text import Text, tensor

from headrace import ktir
from headrace.runtime.kernel import Kernel
from tests.differential.test_kernels import compare

Shape = tuple[int, ...]
DEVICES = ("spyre", "tiny")


def loaded(t: Text, name: str, shape: Shape, stored: Shape, dtype: str) -> str:
    """A tensor that is the first corner of a larger one in memory."""
    return t.load(t.view(name, stored, dtype), [t.index(0)] * len(shape), shape)


def stored(t: Text, value: str, shape: Shape, dtype: str) -> None:
    """Store a result as argument y, a scalar as one element."""
    if not shape:
        value = t.let(
            f"tensor.expand_shape {value} [] output_shape [1] : tensor<{dtype}> into tensor<1x{dtype}>"
        )
        shape = (1,)
    t.store(value, t.view("y", shape, dtype), [t.index(0)] * len(shape), shape)


def nest(
    t: Text, over: tuple[int, ...], ins: list[tuple[str, Shape, str]], out: tuple[str, str], body: list[str]
) -> str:
    """A generic over the dims of its first input, reducing `over`; each input with the results of its map."""
    shape = ins[0][1]
    left = tuple(n for d, n in enumerate(shape) if d not in over)
    kept = ", ".join(f"d{d}" for d in range(len(shape)) if d not in over)
    maps = ", ".join([*(t.map(len(shape), m) for _, _, m in ins), t.map(len(shape), kept)])
    kinds = ", ".join('"reduction"' if d in over else '"parallel"' for d in range(len(shape)))
    start, dtype = out
    types = ", ".join(tensor(s, dtype) for _, s, _ in ins)
    result = t.let(
        f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
        f"ins({', '.join(n for n, _, _ in ins)} : {types}) outs({start} : {tensor(left, dtype)}) {{"
    )
    t.op(f"^bb0({', '.join(f'%in{k}: {dtype}' for k in range(len(ins)))}, %acc: {dtype}):")
    for line in [*body, f"linalg.yield %out : {dtype}", f"}} -> {tensor(left, dtype)}"]:
        t.op(line)
    return result


def run(t: Text, args: str, device: str) -> None:
    """Compare the levels of the kernel written so far."""
    text = t.module("k", ", ".join(f"%{a}: index" for a in args), (1,), "// a reduction")
    compare(Kernel(text), device, is_checked=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "shape,place", [((4, 70), (4, 71)), ((4, 2, 5), (4, 2, 6)), ((2, 3, 2, 5), (2, 3, 2, 5))]
)
def test_a_widened_corner_of_a_tensor_is_summed_whole(device: str, shape: Shape, place: Shape) -> None:
    t = Text()
    x = loaded(t, "x", shape, place, "f16")
    wide = t.let(f"arith.extf {x} : {tensor(shape, 'f16')} to {tensor(shape, 'f32')}")
    start = t.fill(t.constant("0.0", "f32", "%zero"), (), "f32")
    sums = f"linalg.reduce {{ arith.addf }} ins({wide} : {tensor(shape, 'f32')}) outs({start} : tensor<f32>)"
    stored(t, t.let(f"{sums} dimensions = {list(range(len(shape)))}"), (), "f32")
    run(t, "xy", device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i32"])
@pytest.mark.parametrize(
    "shape,over", [((4, 5), (0,)), ((4, 5), (1,)), ((3, 4, 3), (0, 1)), ((2, 9, 7), (1, 2))]
)
def test_a_reduction_starts_at_a_tensor(device: str, dtype: str, shape: Shape, over: tuple[int, ...]) -> None:
    t = Text()
    left = tuple(n for d, n in enumerate(shape) if d not in over)
    x, start = loaded(t, "x", shape, shape, dtype), loaded(t, "e", left, left, dtype)
    add = "addi" if dtype == "i32" else "addf"
    total = nest(t, over, [(x, shape, None)], (start, dtype), [f"%out = arith.{add} %acc, %in0 : {dtype}"])
    stored(t, total, left, dtype)
    run(t, "xey", device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", ["broadcast", "computed", "strided", "index", "stored"])
def test_a_row_of_several_dims_is_read_in_several_ways(device: str, case: str) -> None:
    t = Text()
    shape = (4, 6)
    x = loaded(t, "x", shape, shape, "f32")
    other = (6,) if case in ("broadcast", "computed") else shape
    z = loaded(t, "z", other, (5, 7) if case == "strided" else other, "f32")
    ins = [(x, shape, None), (z, other, "d1" if other == (6,) else None)]
    if case == "computed":
        ins[1] = (t.let(f"math.tanh {z} : {tensor(other, 'f32')}"), other, "d1")
    if case == "stored":
        ins[1] = (t.let(f"math.absf {z} : {tensor(other, 'f32')}"), other, None)
        t.store(ins[1][0], t.view("w", (4, 9), "f32"), [t.index(0)] * 2, shape)
    body = ["%p = arith.subf %in0, %in1 : f32", "%a = math.absf %p : f32"]
    if case == "index":
        body = ["%i = linalg.index 0 : index", "%j = arith.index_cast %i : index to i32"]
        body += [
            "%f = arith.sitofp %j : i32 to f32",
            "%p = arith.mulf %f, %in0 : f32",
            "%a = arith.subf %p, %in1 : f32",
        ]
    start = t.fill(t.constant("0.0", "f32", "%zero"), (), "f32")
    stored(t, nest(t, (0, 1), ins, (start, "f32"), [*body, "%out = arith.addf %acc, %a : f32"]), (), "f32")
    run(t, "xzwy" if case == "stored" else "xzy", device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("over", [(0,), (1,), (0, 1)])
def test_a_number_is_reduced_over_the_dims_of_a_tensor(device: str, over: tuple[int, ...]) -> None:
    """Nothing is read for it: no messages come from row to row."""
    t, shape = Text(), (3, 70)
    x = loaded(t, "x", shape, shape, "f32")
    half = t.let("arith.constant dense<0.5> : tensor<3x70xf32>")
    left = tuple(n for d, n in enumerate(shape) if d not in over)
    start = t.fill(t.constant("0xFF800000", "f32", "%low"), left, "f32")
    top = t.let(
        f"linalg.reduce {{ arith.maximumf }} ins({half} : tensor<3x70xf32>) "
        f"outs({start} : {tensor(left, 'f32')}) dimensions = {list(over)}"
    )
    kept = ", ".join(f"d{d}" for d in range(2) if d not in over)
    ins = [(x, shape, "f32", None), (top, left, "f32", kept)]
    stored(t, t.generic(ins, shape, "f32", ["%out = arith.subf %in0, %in1 : f32"]), shape, "f32")
    run(t, "xy", device)


@pytest.mark.parametrize("device", ["spyre", "sample", "tiny"])
@pytest.mark.parametrize("is_turned", [False, True])
def test_one_number_of_a_tensor_is_stored_beside_the_tensor(device: str, is_turned: bool) -> None:
    """Nothing of it is computed again, or by both corelets, where rows and columns are walked apart."""
    with ktir.kernel("least") as k:
        x, w = (k.argument(name, (32, 24), "f32") for name in "xw")
        y, z = k.argument("y", (1, 1), "f32"), k.argument("z", (24, 32), "f32")
        value = x[:, :].load()
        least = (value * w[:, :].load()).min(keepdims=True)
        y[:, :] = ktir.maximum(least, least.min(keepdims=True))
        z[:, :] = value.T if is_turned else value.reshape(24, 32)
    compare(k.kernel, device, is_checked=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("columns", [300, 1500])
@pytest.mark.parametrize("source,dtype", [("f32", "f32"), ("f16", "f32"), ("f16", "i32")])
@pytest.mark.parametrize("combiner", ["max", "sum"])
def test_a_row_is_stored_and_reduced_at_once(
    device: str, columns: int, source: str, dtype: str, combiner: str
) -> None:
    """Longer than the registers, too: it leaves before the reduction takes it."""
    with ktir.kernel("both") as k:
        x = k.argument("x", (2, columns), source)
        y, z = k.argument("y", (2, 1), dtype), k.argument("z", (2, columns), dtype)
        value = x[:, :].load().cast("f32") * 2.0
        value = value.cast(dtype)
        y[:, :] = getattr(value, combiner)(axis=1, keepdims=True)
        z[:, :] = value
    compare(k.kernel, device, is_checked=True)
