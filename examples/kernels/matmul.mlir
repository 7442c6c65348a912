// c = a b.
//   a: [512, 512] f16; b: [512, 512] f16; c: [512, 512] f16, accumulated in f32 and rounded once.
// Grid 4 x 8: tile (i, j) computes the 128 x 64 block of c at (128 i, 64 j), walking K 64 elements at a time.
#identity = affine_map<(d0, d1) -> (d0, d1)>
#matrix = affine_set<(d0, d1) : (d0 >= 0, -d0 + 511 >= 0, d1 >= 0, -d1 + 511 >= 0)>
#a_block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 127 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#b_block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#c_block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 127 >= 0, d1 >= 0, -d1 + 63 >= 0)>
module {
  func.func @matmul(%a: index, %b: index, %c: index) attributes {grid = [4, 8]} {
    %i, %j = ktdp.get_compute_tile_id : index, index
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0.0 : f32
    %row = arith.muli %i, %c128 : index
    %column = arith.muli %j, %c64 : index
    %a_view = ktdp.construct_memory_view %a, sizes: [512, 512], strides: [512, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<512x512xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [512, 512], strides: [512, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<512x512xf16>
    %c_view = ktdp.construct_memory_view %c, sizes: [512, 512], strides: [512, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<512x512xf16>
    %empty = tensor.empty() : tensor<128x64xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x64xf32>) -> tensor<128x64xf32>
    %sum = scf.for %k = %c0 to %c512 step %c64 iter_args(%acc = %start) -> (tensor<128x64xf32>) {
      %a_tile = ktdp.construct_access_tile %a_view[%row, %k] {access_tile_order = #identity, access_tile_set = #a_block} : memref<512x512xf16> -> !ktdp.access_tile<128x64xindex>
      %b_tile = ktdp.construct_access_tile %b_view[%k, %column] {access_tile_order = #identity, access_tile_set = #b_block} : memref<512x512xf16> -> !ktdp.access_tile<64x64xindex>
      %left = ktdp.load %a_tile : <128x64xindex> -> tensor<128x64xf16>
      %right = ktdp.load %b_tile : <64x64xindex> -> tensor<64x64xf16>
      %next = linalg.matmul ins(%left, %right : tensor<128x64xf16>, tensor<64x64xf16>) outs(%acc : tensor<128x64xf32>) -> tensor<128x64xf32>
      scf.yield %next : tensor<128x64xf32>
    }
    %result = arith.truncf %sum : tensor<128x64xf32> to tensor<128x64xf16>
    %c_tile = ktdp.construct_access_tile %c_view[%row, %column] {access_tile_order = #identity, access_tile_set = #c_block} : memref<512x512xf16> -> !ktdp.access_tile<128x64xindex>
    ktdp.store %result, %c_tile : tensor<128x64xf16>, <128x64xindex>
    return
  }
}
