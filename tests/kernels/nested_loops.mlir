// Nested loops that carry several tensors: sum and largest of x over its first two dims.
// x 4x8x64 f32, sum and largest 64 f32; 2 tiles own 32 columns each.
#box_1x1x32 = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 31 >= 0)>
#box_32 = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>
#box_4x8x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 7 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_64 = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>
#id1 = affine_map<(d0) -> (d0)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @nested_loops(%x: index, %sum: index, %largest: index) attributes {grid = [2]} {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [4, 8, 64], strides: [512, 64, 1] {coordinate_set = #box_4x8x64, memory_space = #ktdp.memory_space<global>} : memref<4x8x64xf32>
    %sum_view = ktdp.construct_memory_view %sum, sizes: [64], strides: [1] {coordinate_set = #box_64, memory_space = #ktdp.memory_space<global>} : memref<64xf32>
    %largest_view = ktdp.construct_memory_view %largest, sizes: [64], strides: [1] {coordinate_set = #box_64, memory_space = #ktdp.memory_space<global>} : memref<64xf32>
    %empty = tensor.empty() : tensor<32xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<32xf32>) -> tensor<32xf32>
    %empty_1 = tensor.empty() : tensor<32xf32>
    %lowests = linalg.fill ins(%lowest : f32) outs(%empty_1 : tensor<32xf32>) -> tensor<32xf32>
    %total, %peak = scf.for %i = %c0 to %c4 step %c1 iter_args(%total_so_far = %zeros, %peak_so_far = %lowests) -> (tensor<32xf32>, tensor<32xf32>) {
      %row_total, %row_peak = scf.for %j = %c0 to %c8 step %c1 iter_args(%row_total_so_far = %total_so_far, %row_peak_so_far = %peak_so_far) -> (tensor<32xf32>, tensor<32xf32>) {
        %slab_tile = ktdp.construct_access_tile %x_view[%i, %j, %tile * 32] {access_tile_order = #id3, access_tile_set = #box_1x1x32} : memref<4x8x64xf32> -> !ktdp.access_tile<1x1x32xindex>
        %slab = ktdp.load %slab_tile : <1x1x32xindex> -> tensor<1x1x32xf32>
        %row = tensor.collapse_shape %slab [[0, 1, 2]] : tensor<1x1x32xf32> into tensor<32xf32>
        %more = arith.addf %row_total_so_far, %row : tensor<32xf32>
        %higher = arith.maximumf %row_peak_so_far, %row : tensor<32xf32>
        scf.yield %more, %higher : tensor<32xf32>, tensor<32xf32>
      }
      scf.yield %row_total, %row_peak : tensor<32xf32>, tensor<32xf32>
    }
    %sum_tile = ktdp.construct_access_tile %sum_view[%tile * 32] {access_tile_order = #id1, access_tile_set = #box_32} : memref<64xf32> -> !ktdp.access_tile<32xindex>
    ktdp.store %total, %sum_tile : tensor<32xf32>, <32xindex>
    %largest_tile = ktdp.construct_access_tile %largest_view[%tile * 32] {access_tile_order = #id1, access_tile_set = #box_32} : memref<64xf32> -> !ktdp.access_tile<32xindex>
    ktdp.store %peak, %largest_tile : tensor<32xf32>, <32xindex>
    return
  }
}
