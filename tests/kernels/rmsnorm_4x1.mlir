// Root-mean-square norm of rows on a 4x1 grid: y = x / sqrt(mean(x^2) + 1e-5) * w.
// x and y 8x128, w 128, all f16, f32 inside; tile (i, 0) owns 2 rows.
#box_128 = affine_set<(d0) : (d0 >= 0, -d0 + 127 >= 0)>
#box_2x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#box_8x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @rmsnorm_4x1(%x: index, %w: index, %y: index) attributes {grid = [4, 1]} {
    %zero = arith.constant 0.0 : f32
    %epsilon = arith.constant 1.000000e-05 : f32
    %count = arith.constant 128.0 : f32
    %i, %j = ktdp.get_compute_tile_id : index, index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 128], strides: [128, 1] {coordinate_set = #box_8x128, memory_space = #ktdp.memory_space<global>} : memref<8x128xf16>
    %w_view = ktdp.construct_memory_view %w, sizes: [128], strides: [1] {coordinate_set = #box_128, memory_space = #ktdp.memory_space<global>} : memref<128xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [8, 128], strides: [128, 1] {coordinate_set = #box_8x128, memory_space = #ktdp.memory_space<global>} : memref<8x128xf16>
    %rows_tile = ktdp.construct_access_tile %x_view[%i * 2, %j * 128] {access_tile_order = #id2, access_tile_set = #box_2x128} : memref<8x128xf16> -> !ktdp.access_tile<2x128xindex>
    %rows = ktdp.load %rows_tile : <2x128xindex> -> tensor<2x128xf16>
    %rows_f32 = arith.extf %rows : tensor<2x128xf16> to tensor<2x128xf32>
    %squares = arith.mulf %rows_f32, %rows_f32 : tensor<2x128xf32>
    %empty = tensor.empty() : tensor<2xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
    %square_sum = linalg.reduce { arith.addf } ins(%squares : tensor<2x128xf32>) outs(%init : tensor<2xf32>) dimensions = [1]
    %counts = tensor.splat %count : tensor<2xf32>
    %mean_square = arith.divf %square_sum, %counts : tensor<2xf32>
    %epsilons = tensor.splat %epsilon : tensor<2xf32>
    %guarded = arith.addf %mean_square, %epsilons : tensor<2xf32>
    %rms_inverse = math.rsqrt %guarded : tensor<2xf32>
    %weight_tile = ktdp.construct_access_tile %w_view[0] {access_tile_order = #id1, access_tile_set = #box_128} : memref<128xf16> -> !ktdp.access_tile<128xindex>
    %weight = ktdp.load %weight_tile : <128xindex> -> tensor<128xf16>
    %weight_f32 = arith.extf %weight : tensor<128xf16> to tensor<128xf32>
    %empty_1 = tensor.empty() : tensor<2x128xf32>
    %rms_inverse_all = linalg.broadcast ins(%rms_inverse : tensor<2xf32>) outs(%empty_1 : tensor<2x128xf32>) dimensions = [1]
    %normal = arith.mulf %rows_f32, %rms_inverse_all : tensor<2x128xf32>
    %empty_2 = tensor.empty() : tensor<2x128xf32>
    %weight_f32_all = linalg.broadcast ins(%weight_f32 : tensor<128xf32>) outs(%empty_2 : tensor<2x128xf32>) dimensions = [0]
    %scaled = arith.mulf %normal, %weight_f32_all : tensor<2x128xf32>
    %scaled_f16 = arith.truncf %scaled : tensor<2x128xf32> to tensor<2x128xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%i * 2, %j * 128] {access_tile_order = #id2, access_tile_set = #box_2x128} : memref<8x128xf16> -> !ktdp.access_tile<2x128xindex>
    ktdp.store %scaled_f16, %y_tile : tensor<2x128xf16>, <2x128xindex>
    return
  }
}
