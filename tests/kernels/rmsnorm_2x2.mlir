// Root-mean-square norm of rows whose halves live in two buffers: y = x / sqrt(mean(x^2) + 1e-5) * w.
// left and right 8x64, w 128, y 8x128, all f16, f32 inside; tile (i, j) reads 4 whole rows, writes half of their columns.
#box_128 = affine_set<(d0) : (d0 >= 0, -d0 + 127 >= 0)>
#box_4x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_64 = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>
#box_8x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x64_at_0x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 - 64 >= 0, -d1 + 127 >= 0)>
#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @rmsnorm_2x2(%left: index, %right: index, %w: index, %y: index) attributes {grid = [2, 2]} {
    %zero = arith.constant 0.0 : f32
    %epsilon = arith.constant 1.000000e-05 : f32
    %count = arith.constant 128.0 : f32
    %i, %j = ktdp.get_compute_tile_id : index, index
    %left_view = ktdp.construct_memory_view %left, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %right_view = ktdp.construct_memory_view %right, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64_at_0x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %x_view = ktdp.construct_distributed_memory_view (%left_view, %right_view : memref<8x64xf16>, memref<8x64xf16>) : memref<8x128xf16>
    %w_view = ktdp.construct_memory_view %w, sizes: [128], strides: [1] {coordinate_set = #box_128, memory_space = #ktdp.memory_space<global>} : memref<128xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [8, 128], strides: [128, 1] {coordinate_set = #box_8x128, memory_space = #ktdp.memory_space<global>} : memref<8x128xf16>
    %rows_tile = ktdp.construct_access_tile %x_view[%i * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x128} : memref<8x128xf16> -> !ktdp.access_tile<4x128xindex>
    %rows = ktdp.load %rows_tile : <4x128xindex> -> tensor<4x128xf16>
    %rows_f32 = arith.extf %rows : tensor<4x128xf16> to tensor<4x128xf32>
    %squares = arith.mulf %rows_f32, %rows_f32 : tensor<4x128xf32>
    %empty = tensor.empty() : tensor<4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    %square_sum = linalg.reduce { arith.addf } ins(%squares : tensor<4x128xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
    %counts = tensor.splat %count : tensor<4xf32>
    %mean_square = arith.divf %square_sum, %counts : tensor<4xf32>
    %epsilons = tensor.splat %epsilon : tensor<4xf32>
    %guarded = arith.addf %mean_square, %epsilons : tensor<4xf32>
    %rms_inverse = math.rsqrt %guarded : tensor<4xf32>
    %half_tile = ktdp.construct_access_tile %x_view[%i * 4, %j * 64] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<8x128xf16> -> !ktdp.access_tile<4x64xindex>
    %half = ktdp.load %half_tile : <4x64xindex> -> tensor<4x64xf16>
    %half_f32 = arith.extf %half : tensor<4x64xf16> to tensor<4x64xf32>
    %weight_tile = ktdp.construct_access_tile %w_view[%j * 64] {access_tile_order = #id1, access_tile_set = #box_64} : memref<128xf16> -> !ktdp.access_tile<64xindex>
    %weight = ktdp.load %weight_tile : <64xindex> -> tensor<64xf16>
    %weight_f32 = arith.extf %weight : tensor<64xf16> to tensor<64xf32>
    %empty_1 = tensor.empty() : tensor<4x64xf32>
    %rms_inverse_all = linalg.broadcast ins(%rms_inverse : tensor<4xf32>) outs(%empty_1 : tensor<4x64xf32>) dimensions = [1]
    %normal = arith.mulf %half_f32, %rms_inverse_all : tensor<4x64xf32>
    %empty_2 = tensor.empty() : tensor<4x64xf32>
    %weight_f32_all = linalg.broadcast ins(%weight_f32 : tensor<64xf32>) outs(%empty_2 : tensor<4x64xf32>) dimensions = [0]
    %scaled = arith.mulf %normal, %weight_f32_all : tensor<4x64xf32>
    %scaled_f16 = arith.truncf %scaled : tensor<4x64xf32> to tensor<4x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%i * 4, %j * 64] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<8x128xf16> -> !ktdp.access_tile<4x64xindex>
    ktdp.store %scaled_f16, %y_tile : tensor<4x64xf16>, <4x64xindex>
    return
  }
}
