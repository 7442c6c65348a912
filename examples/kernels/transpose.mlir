// y[c, r] = x[r, c].
//   x: [512, 1024] f16; y: [1024, 512] f16.
// Grid 4 x 8: tile (i, j) turns the 128 x 128 block of x at (128 i, 128 j).
#identity = affine_map<(d0, d1) -> (d0, d1)>
#x_all = affine_set<(d0, d1) : (d0 >= 0, -d0 + 511 >= 0, d1 >= 0, -d1 + 1023 >= 0)>
#y_all = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1023 >= 0, d1 >= 0, -d1 + 511 >= 0)>
#block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 127 >= 0, d1 >= 0, -d1 + 127 >= 0)>
module {
  func.func @transpose(%x: index, %y: index) attributes {grid = [4, 8]} {
    %i, %j = ktdp.get_compute_tile_id : index, index
    %c128 = arith.constant 128 : index
    %row = arith.muli %i, %c128 : index
    %column = arith.muli %j, %c128 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [512, 1024], strides: [1024, 1] {coordinate_set = #x_all, memory_space = #ktdp.memory_space<global>} : memref<512x1024xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [1024, 512], strides: [512, 1] {coordinate_set = #y_all, memory_space = #ktdp.memory_space<global>} : memref<1024x512xf16>
    %x_tile = ktdp.construct_access_tile %x_view[%row, %column] {access_tile_order = #identity, access_tile_set = #block} : memref<512x1024xf16> -> !ktdp.access_tile<128x128xindex>
    %y_tile = ktdp.construct_access_tile %y_view[%column, %row] {access_tile_order = #identity, access_tile_set = #block} : memref<1024x512xf16> -> !ktdp.access_tile<128x128xindex>
    %value = ktdp.load %x_tile : <128x128xindex> -> tensor<128x128xf16>
    %empty = tensor.empty() : tensor<128x128xf16>
    %turned = linalg.transpose ins(%value : tensor<128x128xf16>) outs(%empty : tensor<128x128xf16>) permutation = [1, 0]
    ktdp.store %turned, %y_tile : tensor<128x128xf16>, <128x128xindex>
    return
  }
}
