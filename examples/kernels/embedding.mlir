// y[i, :] = table[ids[i], :].
//   table: [4096, 256] f16; ids: [128] i64, each in 0 .. 4095; y: [128, 256] f16.
// 32 tiles of 4 tokens. The row of the table is an indirect subscript: the integer stored in ids.
#identity = affine_map<(d0, d1) -> (d0, d1)>
#table = affine_set<(d0, d1) : (d0 >= 0, -d0 + 4095 >= 0, d1 >= 0, -d1 + 255 >= 0)>
#ids = affine_set<(d0) : (d0 >= 0, -d0 + 127 >= 0)>
#result = affine_set<(d0, d1) : (d0 >= 0, -d0 + 127 >= 0, d1 >= 0, -d1 + 255 >= 0)>
#part = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 255 >= 0)>
module {
  func.func @embedding(%table: index, %ids: index, %y: index) attributes {grid = [32]} {
    %tile = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %first = arith.muli %tile, %c4 : index
    %table_view = ktdp.construct_memory_view %table, sizes: [4096, 256], strides: [256, 1] {coordinate_set = #table, memory_space = #ktdp.memory_space<global>} : memref<4096x256xf16>
    %ids_view = ktdp.construct_memory_view %ids, sizes: [128], strides: [1] {coordinate_set = #ids, memory_space = #ktdp.memory_space<global>} : memref<128xi64>
    %y_view = ktdp.construct_memory_view %y, sizes: [128, 256], strides: [256, 1] {coordinate_set = #result, memory_space = #ktdp.memory_space<global>} : memref<128x256xf16>
    %rows = ktdp.construct_indirect_access_tile intermediate_variables(%i, %k) %table_view[ind(%ids_view[%first + %i]), (%k)] {variables_space_order = #identity, variables_space_set = #part} : memref<4096x256xf16>, memref<128xi64> -> !ktdp.access_tile<4x256xindex>
    %value = ktdp.load %rows : <4x256xindex> -> tensor<4x256xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%first, %c0] {access_tile_order = #identity, access_tile_set = #part} : memref<128x256xf16> -> !ktdp.access_tile<4x256xindex>
    ktdp.store %value, %y_tile : tensor<4x256xf16>, <4x256xindex>
    return
  }
}
