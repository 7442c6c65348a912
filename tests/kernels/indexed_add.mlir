// Indexed add, row after row so that an id may come twice: y[ids[i], :] += x[i, :].
// x 8x64 f32, ids 8 i32, y 16x64 f32; 1 tile.
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8 = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @indexed_add(%x: index, %ids: index, %y: index) attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c1 = arith.constant 1 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %ids_view = ktdp.construct_memory_view %ids, sizes: [8], strides: [1] {coordinate_set = #box_8, memory_space = #ktdp.memory_space<global>} : memref<8xi32>
    %y_view = ktdp.construct_memory_view %y, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf32>
    scf.for %row = %c0 to %c8 step %c1 {
      %term_tile = ktdp.construct_access_tile %x_view[%row, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<8x64xf32> -> !ktdp.access_tile<1x64xindex>
      %term = ktdp.load %term_tile : <1x64xindex> -> tensor<1x64xf32>
      %target = ktdp.construct_indirect_access_tile intermediate_variables(%i, %lane) %y_view[ind(%ids_view[%row + %i]), (%lane)] {variables_space_order = #id2, variables_space_set = #box_1x64} : memref<16x64xf32>, memref<8xi32> -> !ktdp.access_tile<1x64xindex>
      %old = ktdp.load %target : <1x64xindex> -> tensor<1x64xf32>
      %new = arith.addf %old, %term : tensor<1x64xf32>
      ktdp.store %new, %target : tensor<1x64xf32>, <1x64xindex>
    }
    return
  }
}
