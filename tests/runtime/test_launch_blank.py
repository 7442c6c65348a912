"""A checked launch knows that outputs hold nothing before they are written."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.numbers.memory import Memory
from headrace.runtime.compiler import Options, compile_kernel
from headrace.runtime.kernel import Kernel
from headrace.runtime.launch import launch

ROWS = """
func.func @f(%x: index, %y: index) attributes {grid = [1]} {
  %c0 = arith.constant 0 : index
  %xv = ktdp.construct_memory_view %x, sizes: [8, 64], strides: [64, 1] {
    coordinate_set = affine_set<(i, j) : (i >= 0, 7 - i >= 0, j >= 0, 63 - j >= 0)>,
    memory_space = #ktdp.memory_space<global> } : memref<8x64xf16>
  %yv = ktdp.construct_memory_view %y, sizes: [8, 64], strides: [64, 1] {
    coordinate_set = affine_set<(i, j) : (i >= 0, 7 - i >= 0, j >= 0, 63 - j >= 0)>,
    memory_space = #ktdp.memory_space<global> } : memref<8x64xf16>
  %xt = ktdp.construct_access_tile %xv[%c0, %c0] {
    access_tile_set = affine_set<(i, j) : (i >= 0, 7 - i >= 0, j >= 0, 63 - j >= 0)>,
    access_tile_order = affine_map<(i, j) -> (i, j)> } : memref<8x64xf16> -> !ktdp.access_tile<8x64xindex>
  %yt = ktdp.construct_access_tile %yv[%c0, %c0] {
    access_tile_set = affine_set<(i, j) : (i >= 0, 7 - i >= 0, j >= 0, 63 - j >= 0)>,
    access_tile_order = affine_map<(i, j) -> (i, j)> } : memref<8x64xf16> -> !ktdp.access_tile<8x64xindex>
  %a = ktdp.load %xt : !ktdp.access_tile<8x64xindex> -> tensor<8x64xf16>
  ktdp.store %a, %yt : tensor<8x64xf16>, !ktdp.access_tile<8x64xindex>
  func.return
}
"""


@pytest.mark.parametrize(("is_swapped", "is_shared"), [(False, False), (True, False), (False, True)])
def test_reading_an_output_before_it_is_written_is_found(is_swapped: bool, is_shared: bool) -> None:
    """The program is told that its input is the output, or that both are the same bytes."""
    program = compile_kernel(Kernel(ROWS, "rows"), "spyre-1core", Options())
    if is_swapped:
        roles = {"x": "out", "y": "in"}
        program.arguments = tuple(
            type(a)(a.name, a.kind, a.dtype, a.shape, roles[a.name]) for a in program.arguments
        )
    memory = Memory(1 << 16)
    addresses = {"x": memory.allocate(1024), "y": memory.allocate(1024)}
    memory.bytes[:2048] = np.arange(2048, dtype=np.uint64).astype(np.uint8)
    if is_shared:
        addresses["y"] = addresses["x"]
    outcome = launch(program, addresses, memory, is_checked=True, is_timed=False)
    assert outcome.findings is not None
    assert bool(outcome.findings["uninitialised"]) == is_swapped
