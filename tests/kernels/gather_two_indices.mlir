// Gather through two index tensors: y[i, j, :] = table[a[i], b[j], :].
// table 8x8x64 f16, a 4 i32, b 6 i32, y 4x6x64 f16; 2 tiles own 2 rows of i each.
#box_2x6x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 5 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_4 = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#box_4x6x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 5 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_6 = affine_set<(d0) : (d0 >= 0, -d0 + 5 >= 0)>
#box_8x8x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 7 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @gather_two_indices(%table: index, %a: index, %b: index, %y: index) attributes {grid = [2]} {
    %tile = ktdp.get_compute_tile_id : index
    %table_view = ktdp.construct_memory_view %table, sizes: [8, 8, 64], strides: [512, 64, 1] {coordinate_set = #box_8x8x64, memory_space = #ktdp.memory_space<global>} : memref<8x8x64xf16>
    %a_view = ktdp.construct_memory_view %a, sizes: [4], strides: [1] {coordinate_set = #box_4, memory_space = #ktdp.memory_space<global>} : memref<4xi32>
    %b_view = ktdp.construct_memory_view %b, sizes: [6], strides: [1] {coordinate_set = #box_6, memory_space = #ktdp.memory_space<global>} : memref<6xi32>
    %y_view = ktdp.construct_memory_view %y, sizes: [4, 6, 64], strides: [384, 64, 1] {coordinate_set = #box_4x6x64, memory_space = #ktdp.memory_space<global>} : memref<4x6x64xf16>
    %picked_tile = ktdp.construct_indirect_access_tile intermediate_variables(%i, %j, %lane) %table_view[ind(%a_view[%tile * 2 + %i]), ind(%b_view[%j]), (%lane)] {variables_space_order = #id3, variables_space_set = #box_2x6x64} : memref<8x8x64xf16>, memref<4xi32>, memref<6xi32> -> !ktdp.access_tile<2x6x64xindex>
    %picked = ktdp.load %picked_tile : <2x6x64xindex> -> tensor<2x6x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 2, 0, 0] {access_tile_order = #id3, access_tile_set = #box_2x6x64} : memref<4x6x64xf16> -> !ktdp.access_tile<2x6x64xindex>
    ktdp.store %picked, %y_tile : tensor<2x6x64xf16>, <2x6x64xindex>
    return
  }
}
