// Softmax of rows that are read 64 columns at a time: one pass carries largest and sum of every row,
// a second one writes. x and y 8x512 f16, f32 inside; 4 tiles own 2 rows each.
#box_2x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x512 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 511 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @softmax_wide(%x: index, %y: index) attributes {grid = [4]} {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c64 = arith.constant 64 : index
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 512], strides: [512, 1] {coordinate_set = #box_8x512, memory_space = #ktdp.memory_space<global>} : memref<8x512xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [8, 512], strides: [512, 1] {coordinate_set = #box_8x512, memory_space = #ktdp.memory_space<global>} : memref<8x512xf16>
    %empty = tensor.empty() : tensor<2xf32>
    %lowests = linalg.fill ins(%lowest : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
    %empty_1 = tensor.empty() : tensor<2xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty_1 : tensor<2xf32>) -> tensor<2xf32>
    %largest, %sum = scf.for %column = %c0 to %c512 step %c64 iter_args(%largest_so_far = %lowests, %sum_so_far = %zeros) -> (tensor<2xf32>, tensor<2xf32>) {
      %chunk_tile = ktdp.construct_access_tile %x_view[%tile * 2, %column] {access_tile_order = #id2, access_tile_set = #box_2x64} : memref<8x512xf16> -> !ktdp.access_tile<2x64xindex>
      %chunk = ktdp.load %chunk_tile : <2x64xindex> -> tensor<2x64xf16>
      %chunk_f32 = arith.extf %chunk : tensor<2x64xf16> to tensor<2x64xf32>
      %new_largest = linalg.reduce { arith.maximumf } ins(%chunk_f32 : tensor<2x64xf32>) outs(%largest_so_far : tensor<2xf32>) dimensions = [1]
      %empty_2 = tensor.empty() : tensor<2x64xf32>
      %new_largest_all = linalg.broadcast ins(%new_largest : tensor<2xf32>) outs(%empty_2 : tensor<2x64xf32>) dimensions = [1]
      %shifted = arith.subf %chunk_f32, %new_largest_all : tensor<2x64xf32>
      %exps = math.exp %shifted : tensor<2x64xf32>
      %drop = arith.subf %largest_so_far, %new_largest : tensor<2xf32>
      %rescale = math.exp %drop : tensor<2xf32>
      %kept = arith.mulf %sum_so_far, %rescale : tensor<2xf32>
      %new_sum = linalg.reduce { arith.addf } ins(%exps : tensor<2x64xf32>) outs(%kept : tensor<2xf32>) dimensions = [1]
      scf.yield %new_largest, %new_sum : tensor<2xf32>, tensor<2xf32>
    }
    scf.for %at = %c0 to %c512 step %c64 {
      %again_tile = ktdp.construct_access_tile %x_view[%tile * 2, %at] {access_tile_order = #id2, access_tile_set = #box_2x64} : memref<8x512xf16> -> !ktdp.access_tile<2x64xindex>
      %again = ktdp.load %again_tile : <2x64xindex> -> tensor<2x64xf16>
      %again_f32 = arith.extf %again : tensor<2x64xf16> to tensor<2x64xf32>
      %empty_3 = tensor.empty() : tensor<2x64xf32>
      %largest_all = linalg.broadcast ins(%largest : tensor<2xf32>) outs(%empty_3 : tensor<2x64xf32>) dimensions = [1]
      %centred = arith.subf %again_f32, %largest_all : tensor<2x64xf32>
      %exps_1 = math.exp %centred : tensor<2x64xf32>
      %empty_4 = tensor.empty() : tensor<2x64xf32>
      %sum_all = linalg.broadcast ins(%sum : tensor<2xf32>) outs(%empty_4 : tensor<2x64xf32>) dimensions = [1]
      %share = arith.divf %exps_1, %sum_all : tensor<2x64xf32>
      %share_f16 = arith.truncf %share : tensor<2x64xf32> to tensor<2x64xf16>
      %y_tile = ktdp.construct_access_tile %y_view[%tile * 2, %at] {access_tile_order = #id2, access_tile_set = #box_2x64} : memref<8x512xf16> -> !ktdp.access_tile<2x64xindex>
      ktdp.store %share_f16, %y_tile : tensor<2x64xf16>, <2x64xindex>
    }
    return
  }
}
