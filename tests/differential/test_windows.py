"""What is read in windows: factors that are no matrices in memory, as those of convolutions, and pooling."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.kernels.text import Text, tensor

from headrace.arch.presets import device as preset
from headrace.frontend.compile import loop_program_to_ktir
from headrace.runtime.kernel import Kernel
from headrace.runtime.retime import retiming
from tests.differential.test_kernels import compare
from tests.differential.test_products import product
from tests.frontend.test_lower import nest, program


def convolution(
    channels: tuple[int, int],
    window: tuple[int, int],
    out: tuple[int, int],
    step: int,
    dilation: int,
    dtype: str,
) -> Kernel:
    """y[1, f, i, j] = sum of a[1, c, step i + dilation p, step j + dilation q] b[f, c, p, q]."""
    given = tuple(step * (n - 1) + dilation * (w - 1) + 1 for n, w in zip(out, window, strict=True))
    steps = f"dilations = dense<{dilation}> : tensor<2xi64>, strides = dense<{step}> : tensor<2xi64>"
    shapes = [(1, channels[0], *given), (channels[1], channels[0], *window), (1, channels[1], *out)]
    return product(f"linalg.conv_2d_nchw_fchw {{{steps}}}", shapes, dtype, "f32", "zero")


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize(
    ("channels", "window", "out", "step", "dilation"),
    [
        ((3, 5), (3, 3), (7, 9), 1, 1),
        ((4, 2), (3, 2), (5, 6), 2, 1),
        ((2, 3), (2, 3), (4, 5), 3, 2),
        ((1, 4), (5, 1), (3, 11), 1, 2),
    ],
)
def test_a_convolution(
    device: str,
    dtype: str,
    channels: tuple[int, int],
    window: tuple[int, int],
    out: tuple[int, int],
    step: int,
    dilation: int,
) -> None:
    compare(convolution(channels, window, out, step, dilation, dtype), device, True)


@pytest.mark.parametrize("device", ["spyre", "tiny"])
@pytest.mark.parametrize("computed", ["", "a", "b", "ab"])
def test_a_sum_over_two_dims_that_lie_apart_in_both_factors(device: str, computed: str) -> None:
    """y[m, n] = sum over p, q of a[p, m, q] b[q, n, p]; factors as they are loaded, or computed."""
    t = Text()
    p, m, q, n = 3, 5, 6, 7
    factors = []
    for name, shape in (("a", (p, m, q)), ("b", (q, n, p))):
        value = t.load(t.view(name, shape, "f16"), [t.index(0)] * 3, shape)
        if name in computed:
            value = t.let(f"math.absf {value} : {tensor(shape, 'f16')}")
        factors.append(value)
    out = tensor((m, n), "f32")
    zero = t.fill(t.constant("0.0", "f32", "%zero"), (m, n), "f32")
    maps = ["(m, n, p, q) -> (p, m, q)", "(m, n, p, q) -> (q, n, p)", "(m, n, p, q) -> (m, n)"]
    listed = ", ".join(f"affine_map<{text}>" for text in maps)
    ins = f"{', '.join(factors)} : {tensor((p, m, q), 'f16')}, {tensor((q, n, p), 'f16')}"
    y = t.let(f"linalg.contract indexing_maps = [{listed}] ins({ins}) outs({zero} : {out}) -> {out}")
    t.store(y, t.view("y", (m, n), "f32"), [t.index(0)] * 2, (m, n))
    compare(Kernel(t.module("k", "%a: index, %b: index, %y: index", (1,), "// a contraction")), device, True)


def dequantised(channels: tuple[int, int], window: int, out: tuple[int, int]) -> Kernel:
    """A convolution of f16 with weights that are i8 in memory, a hundredth each."""
    t = Text()
    given = (1, channels[0], *(n + window - 1 for n in out))
    shapes = [given, (channels[1], channels[0], window, window), (1, channels[1], *out)]
    a, b = (
        t.load(t.view(name, shape, dtype), [t.index(0)] * 4, shape)
        for name, shape, dtype in zip("ab", shapes, ("f16", "i8"), strict=False)
    )
    scaled = ["%f = arith.sitofp %in0 : i8 to f32", "%h = arith.constant 0.01 : f32"]
    scaled += ["%g = arith.mulf %f, %h : f32", "%out = arith.truncf %g : f32 to f16"]
    b = t.generic([(b, shapes[1], "i8", None)], shapes[1], "f16", scaled)
    zero = t.fill(t.constant("0.0", "f32", "%zero"), shapes[2], "f32")
    types = [tensor(shape, dtype) for shape, dtype in zip(shapes, ("f16", "f16", "f32"), strict=True)]
    steps = "dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>"
    y = t.let(
        f"linalg.conv_2d_nchw_fchw {{{steps}}} ins({a}, {b} : {types[0]}, {types[1]}) "
        f"outs({zero} : {types[2]}) -> {types[2]}"
    )
    t.store(y, t.view("y", shapes[2], "f32"), [t.index(0)] * 4, shapes[2])
    return Kernel(t.module("k", "%a: index, %b: index, %y: index", (1,), "// a convolution"))


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
def test_a_convolution_whose_weights_are_computed(device: str) -> None:
    compare(dequantised((3, 5), 3, (7, 9)), device, True)


def test_a_convolution_whose_weights_are_computed_is_one_product_of_matrices() -> None:
    kernel = dequantised((16, 32), 3, (8, 32))
    whole, apart = (retiming(kernel.compile(without=without)).time() for without in ((), ("fusion",)))
    assert whole.cycles * 3 < apart.cycles


def test_a_convolution_is_one_product_of_matrices() -> None:
    """Place by place of the window, it would read everything again and fill three of the unit's rows."""
    kernel = convolution((16, 32), (3, 3), (8, 32), 1, 1, "f16")
    whole, apart = (retiming(kernel.compile(without=without)).time() for without in ((), ("fusion",)))
    assert whole.cycles * 3 < apart.cycles


def pooling(rows: int, columns: int, window: int, step: int, wide: int, dtype: str) -> Kernel:
    """b1[i, j] = the largest of b0[step i + p, step j + q] for p, q < window; rows of `wide` elements."""
    places = [(p, q) for p in range(window) for q in range(window)]
    body: list[Any] = []
    for number, (p, q) in enumerate(places):
        body.append((f"v{number}", "load", "b0", f"{q + wide * p} + {step}*i1 + {wide * step}*i0"))
    largest = "v0"
    for number in range(1, len(places)):
        body.append((f"m{number}", "maximum", largest, f"v{number}"))
        largest = f"m{number}"
    body.append((None, "store", "b1", f"i1 + {columns}*i0", largest, None))
    literal = program(
        [nest([("i0", rows), ("i1", columns)], body)],
        b0=("in", dtype, (step * (rows - 1) + window, wide)),
        b1=("out", dtype, (rows, columns)),
    )
    return Kernel(loop_program_to_ktir(literal, preset("spyre", {"core.count": 2})).text)


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    ("window", "step", "wide"), [(1, 2, 40), (2, 2, 33), (3, 2, 40), (2, 3, 50), (3, 3, 57), (1, 5, 90)]
)
def test_elements_that_lie_apart(device: str, dtype: str, window: int, step: int, wide: int) -> None:
    compare(pooling(5, 16, window, step, wide, dtype), device, True)


def test_elements_that_lie_apart_are_loaded_once() -> None:
    kernel = pooling(32, 64, 2, 2, 128, "float32")
    whole, apart = (retiming(kernel.compile(without=without)).time() for without in ((), ("fusion",)))
    assert whole.cycles * 3 < apart.cycles
