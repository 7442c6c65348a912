// y = gelu(x w + b), gelu(z) = z/2 (1 + erf(z / sqrt 2)).
//   x: [256, 256] f16; w: [256, 512] f16; b: [512] f16; y: [256, 512] f16. Everything after the load is f32.
// Grid 4 x 8: tile (i, j) computes the 64 x 64 block of y at (64 i, 64 j), all of K in one product.
#identity1 = affine_map<(d0) -> (d0)>
#identity2 = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#x_all = affine_set<(d0, d1) : (d0 >= 0, -d0 + 255 >= 0, d1 >= 0, -d1 + 255 >= 0)>
#w_all = affine_set<(d0, d1) : (d0 >= 0, -d0 + 255 >= 0, d1 >= 0, -d1 + 511 >= 0)>
#b_all = affine_set<(d0) : (d0 >= 0, -d0 + 511 >= 0)>
#x_block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 255 >= 0)>
#w_block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 255 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#b_block = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>
#y_block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 63 >= 0)>
module {
  func.func @matmul_bias_gelu(%x: index, %w: index, %b: index, %y: index) attributes {grid = [4, 8]} {
    %i, %j = ktdp.get_compute_tile_id : index, index
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %inverse_root_2 = arith.constant 0.70710678118654757 : f32
    %row = arith.muli %i, %c64 : index
    %col = arith.muli %j, %c64 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [256, 256], strides: [256, 1] {coordinate_set = #x_all, memory_space = #ktdp.memory_space<global>} : memref<256x256xf16>
    %w_view = ktdp.construct_memory_view %w, sizes: [256, 512], strides: [512, 1] {coordinate_set = #w_all, memory_space = #ktdp.memory_space<global>} : memref<256x512xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [512], strides: [1] {coordinate_set = #b_all, memory_space = #ktdp.memory_space<global>} : memref<512xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [256, 512], strides: [512, 1] {coordinate_set = #w_all, memory_space = #ktdp.memory_space<global>} : memref<256x512xf16>
    %x_tile = ktdp.construct_access_tile %x_view[%row, %c0] {access_tile_order = #identity2, access_tile_set = #x_block} : memref<256x256xf16> -> !ktdp.access_tile<64x256xindex>
    %w_tile = ktdp.construct_access_tile %w_view[%c0, %col] {access_tile_order = #identity2, access_tile_set = #w_block} : memref<256x512xf16> -> !ktdp.access_tile<256x64xindex>
    %b_tile = ktdp.construct_access_tile %b_view[%col] {access_tile_order = #identity1, access_tile_set = #b_block} : memref<512xf16> -> !ktdp.access_tile<64xindex>
    %y_tile = ktdp.construct_access_tile %y_view[%row, %col] {access_tile_order = #identity2, access_tile_set = #y_block} : memref<256x512xf16> -> !ktdp.access_tile<64x64xindex>
    %left = ktdp.load %x_tile : <64x256xindex> -> tensor<64x256xf16>
    %right = ktdp.load %w_tile : <256x64xindex> -> tensor<256x64xf16>
    %bias = ktdp.load %b_tile : <64xindex> -> tensor<64xf16>
    %e0 = tensor.empty() : tensor<64x64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    %product = linalg.matmul ins(%left, %right : tensor<64x256xf16>, tensor<256x64xf16>) outs(%zeros : tensor<64x64xf32>) -> tensor<64x64xf32>
    %e1 = tensor.empty() : tensor<64x64xf16>
    %result = linalg.generic {indexing_maps = [#identity2, #column, #identity2], iterator_types = ["parallel", "parallel"]} ins(%product, %bias : tensor<64x64xf32>, tensor<64xf16>) outs(%e1 : tensor<64x64xf16>) {
    ^bb0(%p: f32, %h: f16, %o: f16):
      %g = arith.extf %h : f16 to f32
      %z = arith.addf %p, %g : f32
      %s = arith.mulf %z, %inverse_root_2 : f32
      %e = math.erf %s : f32
      %t = arith.addf %e, %one : f32
      %u = arith.mulf %z, %half : f32
      %v = arith.mulf %u, %t : f32
      %n = arith.truncf %v : f32 to f16
      linalg.yield %n : f16
    } -> tensor<64x64xf16>
    ktdp.store %result, %y_tile : tensor<64x64xf16>, <64x64xindex>
    return
  }
}
