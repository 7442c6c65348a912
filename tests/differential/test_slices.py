"""Slices with steps out of axes of any extent mean the same at all levels."""

from __future__ import annotations

import pytest
from benchmarks.kernels.text import Text, tensor

from headrace import ktir
from headrace.runtime.kernel import Kernel
from tests.differential.test_kernels import compare

CASES = [
    ((9,), (0,), (5,), (2,)),
    ((9,), (1,), (4,), (2,)),
    ((9,), (0,), (2,), (2,)),
    ((9,), (4,), (2,), (4,)),
    ((8, 7), (1, 0), (3, 3), (2, 3)),
    ((5, 33), (0, 2), (3, 11), (2, 3)),
    ((3, 5, 4), (1, 0, 1), (1, 3, 2), (2, 2, 2)),
]


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "i1"])
@pytest.mark.parametrize("shape,offsets,sizes,steps", CASES)
def test_a_slice_with_steps(
    shape: tuple[int, ...],
    offsets: tuple[int, ...],
    sizes: tuple[int, ...],
    steps: tuple[int, ...],
    dtype: str,
) -> None:
    t = Text()
    zero = [t.index(0)] * len(shape)
    x = t.load(t.view("x", shape, dtype), zero, shape)
    box = f"{list(offsets)} {list(sizes)} {list(steps)}"
    y = t.let(f"tensor.extract_slice {x}{box} : {tensor(shape, dtype)} to {tensor(sizes, dtype)}")
    t.store(y, t.view("y", sizes, dtype), zero, sizes)
    compare(Kernel(t.module("k", "%x: index, %y: index", (1,), "// a slice")), "tiny", is_checked=True)


@pytest.mark.parametrize("device", ["spyre", "tiny", "sample"])
def test_a_computed_part_of_a_filled_tensor_is_not_forgotten(device: str) -> None:
    """The fill alone could be repeated where the tensor is read; with what is written over it, it cannot."""
    t = Text()
    x = t.load(t.view("x", (5,), "f32"), [t.index(0)], (5,))
    zero = t.constant("0.0", "f32", "%zero")
    total = t.let(
        f"linalg.reduce {{ arith.addf }} ins({x} : {tensor((5,), 'f32')}) "
        f"outs({t.fill(zero, (), 'f32')} : tensor<f32>) dimensions = [0]"
    )
    part = t.let(f"tensor.expand_shape {total} [] output_shape [1] : tensor<f32> into tensor<1xf32>")
    filled = t.fill(zero, (8,), "f32")
    whole = t.let(f"tensor.insert_slice {part} into {filled}[2] [1] [1] : tensor<1xf32> into tensor<8xf32>")
    t.store(t.let(f"arith.negf {whole} : tensor<8xf32>"), t.view("y", (8,), "f32"), [t.index(0)], (8,))
    compare(Kernel(t.module("k", "%x: index, %y: index", (1,), "// a sum in a filled tensor")), device, True)


@pytest.mark.parametrize("device", ["spyre", "tiny"])
def test_a_column_of_a_value_is_read_beside_the_whole(device: str) -> None:
    """Both are computed again where they are read, from one value they share."""
    shape = (2, 8)
    with ktir.kernel("column") as k:
        a, b, y, z = (k.argument(name, shape, "f16") for name in "abyz")
        x = b[:, :].load()
        square, less = a[:, :].load() * a[:, :].load(), x - x
        chosen = ktir.where(square < less, square, less * 2)
        y[:, :] = chosen[:, 6:7].broadcast(*shape)
        z[:, :] = chosen - chosen.cast("f32").max(axis=0, keepdims=True).cast("f16")
    compare(k.kernel, device, is_checked=True)
