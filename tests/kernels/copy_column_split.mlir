// A copy into a matrix whose columns are split over two buffers: left = x[:, :64], right = x[:, 64:].
// x 8x96, left 8x64, right 8x32, all f16; 2 tiles own 4 rows each.
#box_4x96 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 95 >= 0)>
#box_8x32_at_0x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 - 64 >= 0, -d1 + 95 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x96 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 95 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @copy_column_split(%x: index, %left: index, %right: index) attributes {grid = [2]} {
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 96], strides: [96, 1] {coordinate_set = #box_8x96, memory_space = #ktdp.memory_space<global>} : memref<8x96xf16>
    %left_view = ktdp.construct_memory_view %left, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %right_view = ktdp.construct_memory_view %right, sizes: [8, 32], strides: [32, 1] {coordinate_set = #box_8x32_at_0x64, memory_space = #ktdp.memory_space<global>} : memref<8x32xf16>
    %y_view = ktdp.construct_distributed_memory_view (%left_view, %right_view : memref<8x64xf16>, memref<8x32xf16>) : memref<8x96xf16>
    %x_tile = ktdp.construct_access_tile %x_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x96} : memref<8x96xf16> -> !ktdp.access_tile<4x96xindex>
    %x_in = ktdp.load %x_tile : <4x96xindex> -> tensor<4x96xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x96} : memref<8x96xf16> -> !ktdp.access_tile<4x96xindex>
    ktdp.store %x_in, %y_tile : tensor<4x96xf16>, <4x96xindex>
    return
  }
}
