"""Scatters: the indices are loaded before rows are stored by them, also when the kernel computed them."""

from __future__ import annotations

import numpy as np

import headrace

SCATTER = """
module {
  func.func @scatter(%index: index, %rows: index, %table: index, %scratch: index) attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %vi = ktdp.construct_memory_view %index, sizes: [4], strides: [1] {coordinate_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>, memory_space = #ktdp.memory_space<global>} : memref<4xi64>
    %vs = ktdp.construct_memory_view %scratch, sizes: [4], strides: [1] {coordinate_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>, memory_space = #ktdp.memory_space<global>} : memref<4xi64>
    %vr = ktdp.construct_memory_view %rows, sizes: [4, 32], strides: [32, 1] {coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 31 >= 0)>, memory_space = #ktdp.memory_space<global>} : memref<4x32xf32>
    %vt = ktdp.construct_memory_view %table, sizes: [16, 32], strides: [32, 1] {coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 31 >= 0)>, memory_space = #ktdp.memory_space<global>} : memref<16x32xf32>
    %ti = ktdp.construct_access_tile %vi[%c0] {access_tile_order = affine_map<(d0) -> (d0)>, access_tile_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>} : memref<4xi64> -> !ktdp.access_tile<4xindex>
    %i = ktdp.load %ti : <4xindex> -> tensor<4xi64>
    %e = tensor.empty() : tensor<4xi64>
    %j = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4xi64>) {
    ^bb0(%a: i64, %b: i64):
      %one = arith.constant 1 : i64
      %s = arith.addi %a, %one : i64
      linalg.yield %s : i64
    } -> tensor<4xi64>
    %ts = ktdp.construct_access_tile %vs[%c0] {access_tile_order = affine_map<(d0) -> (d0)>, access_tile_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>} : memref<4xi64> -> !ktdp.access_tile<4xindex>
    ktdp.store %j, %ts : tensor<4xi64>, <4xindex>
    %tr = ktdp.construct_access_tile %vr[%c0, %c0] {access_tile_order = affine_map<(d0, d1) -> (d0, d1)>, access_tile_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 31 >= 0)>} : memref<4x32xf32> -> !ktdp.access_tile<4x32xindex>
    %r = ktdp.load %tr : <4x32xindex> -> tensor<4x32xf32>
    %tt = ktdp.construct_indirect_access_tile intermediate_variables(%g0, %g1) %vt[ind(%VIEW[%g0]), (%g1)] {variables_space_order = affine_map<(d0, d1) -> (d0, d1)>, variables_space_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 31 >= 0)>} : memref<16x32xf32>, memref<4xi64> -> !ktdp.access_tile<4x32xindex>
    ktdp.store %r, %tt : tensor<4x32xf32>, <4x32xindex>
    return
  }
}
"""  # noqa: E501


def check(view: str) -> None:
    index, rows = np.array([3, 0, 11, 7]), np.arange(128, dtype=np.float32).reshape(4, 32)
    table, scratch = np.zeros((16, 32), np.float32), np.zeros(4, np.int64)
    inputs = {"index": index, "rows": rows, "table": table, "scratch": scratch}
    run = headrace.load(SCATTER.replace("VIEW", view)).compile("spyre").run(**inputs)
    expected = table.copy()
    expected[index + (view == "vs")] = rows
    np.testing.assert_array_equal(run.outputs["table"], expected)


def test_rows_are_stored_by_indices_from_memory() -> None:
    check("vi")


def test_rows_are_stored_by_indices_the_kernel_computed() -> None:
    check("vs")
