"""Copies whose result runs along another dim than what they read, turned block by block in the registers."""

from __future__ import annotations

import re

import pytest
from benchmarks.kernels import kernel_text
from benchmarks.schedule import timed

from headrace.arch.presets import device
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from tests.differential.test_kernels import compare

SHUFFLE = r"vectorchain\.shuffle input.* : vector<(\d+)x(\d+)xf16>, vector<(\d+)x(\d+)xf16>"


@pytest.mark.parametrize("name", ["spyre", "sample", "tiny"])
@pytest.mark.parametrize("rows,columns", [(64, 64), (40, 96), (96, 8), (33, 65)])
def test_a_matrix_is_turned(rows: int, columns: int, name: str) -> None:
    compare(Kernel(kernel_text("transpose", rows=rows, columns=columns)), name, is_checked=True)


def test_a_block_takes_as_many_shuffles_as_the_shorter_side_needs() -> None:
    program = compile_kernel(
        Kernel(kernel_text("transpose", rows=64, columns=64)), device("spyre-1core"), Options()
    )
    found = re.findall(SHUFFLE, program.dfir)
    assert found == [("16", "16", "16", "16")] * 4


def test_no_unit_moves_single_elements_of_a_matrix_that_is_turned() -> None:
    size = 256
    kernel = Kernel(kernel_text("transpose", rows=size, columns=size))
    program = compile_kernel(kernel, device("spyre-1core"), Options())
    units = timed(program).units
    assert all(units[kind].busy <= size * size / 8 for kind in ("L1LU", "SFU", "L1SU"))
