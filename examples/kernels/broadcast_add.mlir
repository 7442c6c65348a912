// o[r, c] = x[r, c] + b[c]: a bias along the rows.
//   x, o: [1024, 512] f16; b: [512] f16.
// 32 tiles of 32 rows. The named broadcast says that b has no row dimension.
#identity1 = affine_map<(d0) -> (d0)>
#identity2 = affine_map<(d0, d1) -> (d0, d1)>
#matrix = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1023 >= 0, d1 >= 0, -d1 + 511 >= 0)>
#rows = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0, d1 >= 0, -d1 + 511 >= 0)>
#bias = affine_set<(d0) : (d0 >= 0, -d0 + 511 >= 0)>
module {
  func.func @broadcast_add(%x: index, %b: index, %o: index) attributes {grid = [32]} {
    %tile = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %first = arith.muli %tile, %c32 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [1024, 512], strides: [512, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x512xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [512], strides: [1] {coordinate_set = #bias, memory_space = #ktdp.memory_space<global>} : memref<512xf16>
    %o_view = ktdp.construct_memory_view %o, sizes: [1024, 512], strides: [512, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x512xf16>
    %x_tile = ktdp.construct_access_tile %x_view[%first, %c0] {access_tile_order = #identity2, access_tile_set = #rows} : memref<1024x512xf16> -> !ktdp.access_tile<32x512xindex>
    %b_tile = ktdp.construct_access_tile %b_view[%c0] {access_tile_order = #identity1, access_tile_set = #bias} : memref<512xf16> -> !ktdp.access_tile<512xindex>
    %o_tile = ktdp.construct_access_tile %o_view[%first, %c0] {access_tile_order = #identity2, access_tile_set = #rows} : memref<1024x512xf16> -> !ktdp.access_tile<32x512xindex>
    %wide = ktdp.load %x_tile : <32x512xindex> -> tensor<32x512xf16>
    %narrow = ktdp.load %b_tile : <512xindex> -> tensor<512xf16>
    %e0 = tensor.empty() : tensor<32x512xf16>
    %bias = linalg.broadcast ins(%narrow : tensor<512xf16>) outs(%e0 : tensor<32x512xf16>) dimensions = [0]
    %e1 = tensor.empty() : tensor<32x512xf16>
    %sum = linalg.add ins(%wide, %bias : tensor<32x512xf16>, tensor<32x512xf16>) outs(%e1 : tensor<32x512xf16>) -> tensor<32x512xf16>
    ktdp.store %sum, %o_tile : tensor<32x512xf16>, <32x512xindex>
    return
  }
}
