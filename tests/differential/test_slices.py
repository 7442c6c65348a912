"""Slices with steps out of axes of any extent mean the same at all levels."""

from __future__ import annotations

import pytest
from benchmarks.kernels.text import Text, tensor

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
