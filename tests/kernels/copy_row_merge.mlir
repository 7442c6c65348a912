// A copy out of a matrix whose rows live in two buffers, with tiles that cross the seam.
// top 6x64, bottom 10x64, y 16x64, all f16; 4 tiles own 4 rows each.
#box_10x64_at_6x0 = affine_set<(d0, d1) : (d0 - 6 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_6x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 5 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @copy_row_merge(%top: index, %bottom: index, %y: index) attributes {grid = [4]} {
    %tile = ktdp.get_compute_tile_id : index
    %top_view = ktdp.construct_memory_view %top, sizes: [6, 64], strides: [64, 1] {coordinate_set = #box_6x64, memory_space = #ktdp.memory_space<global>} : memref<6x64xf16>
    %bottom_view = ktdp.construct_memory_view %bottom, sizes: [10, 64], strides: [64, 1] {coordinate_set = #box_10x64_at_6x0, memory_space = #ktdp.memory_space<global>} : memref<10x64xf16>
    %x_view = ktdp.construct_distributed_memory_view (%top_view, %bottom_view : memref<6x64xf16>, memref<10x64xf16>) : memref<16x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %rows_tile = ktdp.construct_access_tile %x_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<16x64xf16> -> !ktdp.access_tile<4x64xindex>
    %rows = ktdp.load %rows_tile : <4x64xindex> -> tensor<4x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<16x64xf16> -> !ktdp.access_tile<4x64xindex>
    ktdp.store %rows, %y_tile : tensor<4x64xf16>, <4x64xindex>
    return
  }
}
