// Reductions as linalg.generic: the sum of absolute values of every row, and sum and largest of every column
// in one op with two results. x 16x64 f16; magnitude 16 f32; sum and largest 64 f32; 2 tiles, the second
// one does the columns.
#box_16 = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_64 = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>
#columns = affine_map<(d0, d1) -> (d1)>
#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
module {
  func.func @reduce_generic(%x: index, %magnitude: index, %sum: index, %largest: index) attributes {grid = [2]} {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %c0 = arith.constant 0 : index
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %magnitude_view = ktdp.construct_memory_view %magnitude, sizes: [16], strides: [1] {coordinate_set = #box_16, memory_space = #ktdp.memory_space<global>} : memref<16xf32>
    %sum_view = ktdp.construct_memory_view %sum, sizes: [64], strides: [1] {coordinate_set = #box_64, memory_space = #ktdp.memory_space<global>} : memref<64xf32>
    %largest_view = ktdp.construct_memory_view %largest, sizes: [64], strides: [1] {coordinate_set = #box_64, memory_space = #ktdp.memory_space<global>} : memref<64xf32>
    %x_tile = ktdp.construct_access_tile %x_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_16x64} : memref<16x64xf16> -> !ktdp.access_tile<16x64xindex>
    %x_in = ktdp.load %x_tile : <16x64xindex> -> tensor<16x64xf16>
    %is_first = arith.cmpi eq, %tile, %c0 : index
    scf.if %is_first {
      %empty = tensor.empty() : tensor<16xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16xf32>) -> tensor<16xf32>
      %sums = linalg.generic {indexing_maps = [#id2, #rows], iterator_types = ["parallel", "reduction"]} ins(%x_in : tensor<16x64xf16>) outs(%init : tensor<16xf32>) {
      ^bb0(%element: f16, %so_far: f32):
        %wide = arith.extf %element : f16 to f32
        %size = math.absf %wide : f32
        %more = arith.addf %so_far, %size : f32
        linalg.yield %more : f32
      } -> tensor<16xf32>
      %magnitude_tile = ktdp.construct_access_tile %magnitude_view[0] {access_tile_order = #id1, access_tile_set = #box_16} : memref<16xf32> -> !ktdp.access_tile<16xindex>
      ktdp.store %sums, %magnitude_tile : tensor<16xf32>, <16xindex>
    } else {
      %empty_1 = tensor.empty() : tensor<64xf32>
      %zeros = linalg.fill ins(%zero : f32) outs(%empty_1 : tensor<64xf32>) -> tensor<64xf32>
      %empty_2 = tensor.empty() : tensor<64xf32>
      %lowests = linalg.fill ins(%lowest : f32) outs(%empty_2 : tensor<64xf32>) -> tensor<64xf32>
      %totals, %peaks = linalg.generic {indexing_maps = [#id2, #columns, #columns], iterator_types = ["reduction", "parallel"]} ins(%x_in : tensor<16x64xf16>) outs(%zeros, %lowests : tensor<64xf32>, tensor<64xf32>) {
      ^bb0(%element: f16, %total: f32, %peak: f32):
        %wide = arith.extf %element : f16 to f32
        %more = arith.addf %total, %wide : f32
        %higher = arith.maximumf %peak, %wide : f32
        linalg.yield %more, %higher : f32, f32
      } -> (tensor<64xf32>, tensor<64xf32>)
      %sum_tile = ktdp.construct_access_tile %sum_view[0] {access_tile_order = #id1, access_tile_set = #box_64} : memref<64xf32> -> !ktdp.access_tile<64xindex>
      ktdp.store %totals, %sum_tile : tensor<64xf32>, <64xindex>
      %largest_tile = ktdp.construct_access_tile %largest_view[0] {access_tile_order = #id1, access_tile_set = #box_64} : memref<64xf32> -> !ktdp.access_tile<64xindex>
      ktdp.store %peaks, %largest_tile : tensor<64xf32>, <64xindex>
    }
    return
  }
}
