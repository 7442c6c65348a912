// Layer norm forward: y = (x - mean) * rstd * w + b, with rstd = 1 / sqrt(variance + 1e-5), and both statistics.
// x and y 16x128 f16, w and b 128 f16, mean and rstd 16 f32; 4 tiles own 4 rows each.
#box_128 = affine_set<(d0) : (d0 >= 0, -d0 + 127 >= 0)>
#box_16 = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>
#box_16x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#box_4 = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#box_4x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @layernorm(%x: index, %w: index, %b: index, %y: index, %mean: index, %rstd: index) attributes {grid = [4]} {
    %zero = arith.constant 0.0 : f32
    %count = arith.constant 128.0 : f32
    %epsilon = arith.constant 1.000000e-05 : f32
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [16, 128], strides: [128, 1] {coordinate_set = #box_16x128, memory_space = #ktdp.memory_space<global>} : memref<16x128xf16>
    %w_view = ktdp.construct_memory_view %w, sizes: [128], strides: [1] {coordinate_set = #box_128, memory_space = #ktdp.memory_space<global>} : memref<128xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [128], strides: [1] {coordinate_set = #box_128, memory_space = #ktdp.memory_space<global>} : memref<128xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [16, 128], strides: [128, 1] {coordinate_set = #box_16x128, memory_space = #ktdp.memory_space<global>} : memref<16x128xf16>
    %mean_view = ktdp.construct_memory_view %mean, sizes: [16], strides: [1] {coordinate_set = #box_16, memory_space = #ktdp.memory_space<global>} : memref<16xf32>
    %rstd_view = ktdp.construct_memory_view %rstd, sizes: [16], strides: [1] {coordinate_set = #box_16, memory_space = #ktdp.memory_space<global>} : memref<16xf32>
    %rows_tile = ktdp.construct_access_tile %x_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x128} : memref<16x128xf16> -> !ktdp.access_tile<4x128xindex>
    %rows = ktdp.load %rows_tile : <4x128xindex> -> tensor<4x128xf16>
    %rows_f32 = arith.extf %rows : tensor<4x128xf16> to tensor<4x128xf32>
    %empty = tensor.empty() : tensor<4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    %row_sum = linalg.reduce { arith.addf } ins(%rows_f32 : tensor<4x128xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
    %counts = tensor.splat %count : tensor<4xf32>
    %row_mean = arith.divf %row_sum, %counts : tensor<4xf32>
    %empty_1 = tensor.empty() : tensor<4x128xf32>
    %row_mean_all = linalg.broadcast ins(%row_mean : tensor<4xf32>) outs(%empty_1 : tensor<4x128xf32>) dimensions = [1]
    %centred = arith.subf %rows_f32, %row_mean_all : tensor<4x128xf32>
    %squares = arith.mulf %centred, %centred : tensor<4x128xf32>
    %empty_2 = tensor.empty() : tensor<4xf32>
    %init_1 = linalg.fill ins(%zero : f32) outs(%empty_2 : tensor<4xf32>) -> tensor<4xf32>
    %square_sum = linalg.reduce { arith.addf } ins(%squares : tensor<4x128xf32>) outs(%init_1 : tensor<4xf32>) dimensions = [1]
    %counts_1 = tensor.splat %count : tensor<4xf32>
    %mean_square = arith.divf %square_sum, %counts_1 : tensor<4xf32>
    %epsilons = tensor.splat %epsilon : tensor<4xf32>
    %guarded = arith.addf %mean_square, %epsilons : tensor<4xf32>
    %rms_inverse = math.rsqrt %guarded : tensor<4xf32>
    %empty_3 = tensor.empty() : tensor<4x128xf32>
    %rms_inverse_all = linalg.broadcast ins(%rms_inverse : tensor<4xf32>) outs(%empty_3 : tensor<4x128xf32>) dimensions = [1]
    %normal = arith.mulf %centred, %rms_inverse_all : tensor<4x128xf32>
    %weight_tile = ktdp.construct_access_tile %w_view[0] {access_tile_order = #id1, access_tile_set = #box_128} : memref<128xf16> -> !ktdp.access_tile<128xindex>
    %weight = ktdp.load %weight_tile : <128xindex> -> tensor<128xf16>
    %weight_f32 = arith.extf %weight : tensor<128xf16> to tensor<128xf32>
    %bias_tile = ktdp.construct_access_tile %b_view[0] {access_tile_order = #id1, access_tile_set = #box_128} : memref<128xf16> -> !ktdp.access_tile<128xindex>
    %bias = ktdp.load %bias_tile : <128xindex> -> tensor<128xf16>
    %bias_f32 = arith.extf %bias : tensor<128xf16> to tensor<128xf32>
    %empty_4 = tensor.empty() : tensor<4x128xf32>
    %weight_f32_all = linalg.broadcast ins(%weight_f32 : tensor<128xf32>) outs(%empty_4 : tensor<4x128xf32>) dimensions = [0]
    %scaled = arith.mulf %normal, %weight_f32_all : tensor<4x128xf32>
    %empty_5 = tensor.empty() : tensor<4x128xf32>
    %bias_f32_all = linalg.broadcast ins(%bias_f32 : tensor<128xf32>) outs(%empty_5 : tensor<4x128xf32>) dimensions = [0]
    %shifted = arith.addf %scaled, %bias_f32_all : tensor<4x128xf32>
    %shifted_f16 = arith.truncf %shifted : tensor<4x128xf32> to tensor<4x128xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x128} : memref<16x128xf16> -> !ktdp.access_tile<4x128xindex>
    ktdp.store %shifted_f16, %y_tile : tensor<4x128xf16>, <4x128xindex>
    %mean_tile = ktdp.construct_access_tile %mean_view[%tile * 4] {access_tile_order = #id1, access_tile_set = #box_4} : memref<16xf32> -> !ktdp.access_tile<4xindex>
    ktdp.store %row_mean, %mean_tile : tensor<4xf32>, <4xindex>
    %rstd_tile = ktdp.construct_access_tile %rstd_view[%tile * 4] {access_tile_order = #id1, access_tile_set = #box_4} : memref<16xf32> -> !ktdp.access_tile<4xindex>
    ktdp.store %rms_inverse, %rstd_tile : tensor<4xf32>, <4xindex>
    return
  }
}
