// linalg.reduce in every form: largest, smallest and sum of squares (a combiner of two ops) of every row,
// product of every column, column of every row's largest element (two inputs, two results).
// x 16x64 f32; largest, smallest, squares 16 f32; where 16 i32; product 2x64 f32, one row for each of 2 tiles.
#box_16 = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_2x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8 = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @reduce_kinds(%x: index, %largest: index, %smallest: index, %product: index, %squares: index, %where: index) attributes {grid = [2]} {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %highest = arith.constant 0x7F800000 : f32
    %none = arith.constant 0 : i32
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf32>
    %largest_view = ktdp.construct_memory_view %largest, sizes: [16], strides: [1] {coordinate_set = #box_16, memory_space = #ktdp.memory_space<global>} : memref<16xf32>
    %smallest_view = ktdp.construct_memory_view %smallest, sizes: [16], strides: [1] {coordinate_set = #box_16, memory_space = #ktdp.memory_space<global>} : memref<16xf32>
    %squares_view = ktdp.construct_memory_view %squares, sizes: [16], strides: [1] {coordinate_set = #box_16, memory_space = #ktdp.memory_space<global>} : memref<16xf32>
    %where_view = ktdp.construct_memory_view %where, sizes: [16], strides: [1] {coordinate_set = #box_16, memory_space = #ktdp.memory_space<global>} : memref<16xi32>
    %product_view = ktdp.construct_memory_view %product, sizes: [2, 64], strides: [64, 1] {coordinate_set = #box_2x64, memory_space = #ktdp.memory_space<global>} : memref<2x64xf32>
    %x_tile = ktdp.construct_access_tile %x_view[%tile * 8, 0] {access_tile_order = #id2, access_tile_set = #box_8x64} : memref<16x64xf32> -> !ktdp.access_tile<8x64xindex>
    %x_in = ktdp.load %x_tile : <8x64xindex> -> tensor<8x64xf32>
    %empty = tensor.empty() : tensor<8xf32>
    %init = linalg.fill ins(%lowest : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
    %row_largest = linalg.reduce { arith.maximumf } ins(%x_in : tensor<8x64xf32>) outs(%init : tensor<8xf32>) dimensions = [1]
    %largest_tile = ktdp.construct_access_tile %largest_view[%tile * 8] {access_tile_order = #id1, access_tile_set = #box_8} : memref<16xf32> -> !ktdp.access_tile<8xindex>
    ktdp.store %row_largest, %largest_tile : tensor<8xf32>, <8xindex>
    %empty_1 = tensor.empty() : tensor<8xf32>
    %init_1 = linalg.fill ins(%highest : f32) outs(%empty_1 : tensor<8xf32>) -> tensor<8xf32>
    %row_smallest = linalg.reduce { arith.minimumf } ins(%x_in : tensor<8x64xf32>) outs(%init_1 : tensor<8xf32>) dimensions = [1]
    %smallest_tile = ktdp.construct_access_tile %smallest_view[%tile * 8] {access_tile_order = #id1, access_tile_set = #box_8} : memref<16xf32> -> !ktdp.access_tile<8xindex>
    ktdp.store %row_smallest, %smallest_tile : tensor<8xf32>, <8xindex>
    %empty_2 = tensor.empty() : tensor<64xf32>
    %init_2 = linalg.fill ins(%one : f32) outs(%empty_2 : tensor<64xf32>) -> tensor<64xf32>
    %column_product = linalg.reduce { arith.mulf } ins(%x_in : tensor<8x64xf32>) outs(%init_2 : tensor<64xf32>) dimensions = [0]
    %product_row = tensor.expand_shape %column_product [[0, 1]] output_shape [1, 64] : tensor<64xf32> into tensor<1x64xf32>
    %product_tile = ktdp.construct_access_tile %product_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<2x64xf32> -> !ktdp.access_tile<1x64xindex>
    ktdp.store %product_row, %product_tile : tensor<1x64xf32>, <1x64xindex>
    %empty_3 = tensor.empty() : tensor<8xf32>
    %init_3 = linalg.fill ins(%zero : f32) outs(%empty_3 : tensor<8xf32>) -> tensor<8xf32>
    %row_squares = linalg.reduce ins(%x_in : tensor<8x64xf32>) outs(%init_3 : tensor<8xf32>) dimensions = [1]
      (%element: f32, %so_far: f32) {
      %square = arith.mulf %element, %element : f32
      %next = arith.addf %so_far, %square : f32
      linalg.yield %next : f32
    }
    %squares_tile = ktdp.construct_access_tile %squares_view[%tile * 8] {access_tile_order = #id1, access_tile_set = #box_8} : memref<16xf32> -> !ktdp.access_tile<8xindex>
    ktdp.store %row_squares, %squares_tile : tensor<8xf32>, <8xindex>
    %columns = tensor.generate {
    ^bb0(%i: index, %j: index):
      %column = arith.index_cast %j : index to i32
      tensor.yield %column : i32
    } : tensor<8x64xi32>
    %empty_4 = tensor.empty() : tensor<8xf32>
    %lowests = linalg.fill ins(%lowest : f32) outs(%empty_4 : tensor<8xf32>) -> tensor<8xf32>
    %empty_5 = tensor.empty() : tensor<8xi32>
    %nones = linalg.fill ins(%none : i32) outs(%empty_5 : tensor<8xi32>) -> tensor<8xi32>
    %best, %at = linalg.reduce ins(%x_in, %columns : tensor<8x64xf32>, tensor<8x64xi32>) outs(%lowests, %nones : tensor<8xf32>, tensor<8xi32>) dimensions = [1]
      (%value: f32, %number: i32, %best_value: f32, %best_number: i32) {
      %is_better = arith.cmpf ogt, %value, %best_value : f32
      %better = arith.select %is_better, %value, %best_value : f32
      %better_number = arith.select %is_better, %number, %best_number : i32
      linalg.yield %better, %better_number : f32, i32
    }
    %where_tile = ktdp.construct_access_tile %where_view[%tile * 8] {access_tile_order = #id1, access_tile_set = #box_8} : memref<16xi32> -> !ktdp.access_tile<8xindex>
    ktdp.store %at, %where_tile : tensor<8xi32>, <8xindex>
    return
  }
}
