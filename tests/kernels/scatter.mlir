// Scatter of rows: y[ids[i], :] = x[i, :]; the other rows of y stay.
// x 8x64 f16, ids 8 i32 (distinct), y 16x64 f16; 2 tiles own 4 rows of x each.
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8 = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @scatter(%x: index, %ids: index, %y: index) attributes {grid = [2]} {
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %ids_view = ktdp.construct_memory_view %ids, sizes: [8], strides: [1] {coordinate_set = #box_8, memory_space = #ktdp.memory_space<global>} : memref<8xi32>
    %y_view = ktdp.construct_memory_view %y, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %x_tile = ktdp.construct_access_tile %x_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<8x64xf16> -> !ktdp.access_tile<4x64xindex>
    %x_in = ktdp.load %x_tile : <4x64xindex> -> tensor<4x64xf16>
    %target = ktdp.construct_indirect_access_tile intermediate_variables(%i, %lane) %y_view[ind(%ids_view[%tile * 4 + %i]), (%lane)] {variables_space_order = #id2, variables_space_set = #box_4x64} : memref<16x64xf16>, memref<8xi32> -> !ktdp.access_tile<4x64xindex>
    ktdp.store %x_in, %target : tensor<4x64xf16>, <4x64xindex>
    return
  }
}
