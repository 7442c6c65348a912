// Scaled dot-product attention: y = softmax(q k^T / 8) v.
// q, k, v, y 32x64 f16; scores and sums f32, weights rounded to f16; 4 tiles own 8 queries each.
#box_32x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @sdpa_2d(%q: index, %k: index, %v: index, %y: index) attributes {grid = [4]} {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %scale = arith.constant 0.125 : f32
    %tile = ktdp.get_compute_tile_id : index
    %q_view = ktdp.construct_memory_view %q, sizes: [32, 64], strides: [64, 1] {coordinate_set = #box_32x64, memory_space = #ktdp.memory_space<global>} : memref<32x64xf16>
    %k_view = ktdp.construct_memory_view %k, sizes: [32, 64], strides: [64, 1] {coordinate_set = #box_32x64, memory_space = #ktdp.memory_space<global>} : memref<32x64xf16>
    %v_view = ktdp.construct_memory_view %v, sizes: [32, 64], strides: [64, 1] {coordinate_set = #box_32x64, memory_space = #ktdp.memory_space<global>} : memref<32x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [32, 64], strides: [64, 1] {coordinate_set = #box_32x64, memory_space = #ktdp.memory_space<global>} : memref<32x64xf16>
    %queries_tile = ktdp.construct_access_tile %q_view[%tile * 8, 0] {access_tile_order = #id2, access_tile_set = #box_8x64} : memref<32x64xf16> -> !ktdp.access_tile<8x64xindex>
    %queries = ktdp.load %queries_tile : <8x64xindex> -> tensor<8x64xf16>
    %keys_tile = ktdp.construct_access_tile %k_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_32x64} : memref<32x64xf16> -> !ktdp.access_tile<32x64xindex>
    %keys = ktdp.load %keys_tile : <32x64xindex> -> tensor<32x64xf16>
    %values_tile = ktdp.construct_access_tile %v_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_32x64} : memref<32x64xf16> -> !ktdp.access_tile<32x64xindex>
    %values = ktdp.load %values_tile : <32x64xindex> -> tensor<32x64xf16>
    %empty = tensor.empty() : tensor<64x32xf16>
    %keys_t = linalg.transpose ins(%keys : tensor<32x64xf16>) outs(%empty : tensor<64x32xf16>) permutation = [1, 0]
    %empty_1 = tensor.empty() : tensor<8x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty_1 : tensor<8x32xf32>) -> tensor<8x32xf32>
    %products = linalg.matmul ins(%queries, %keys_t : tensor<8x64xf16>, tensor<64x32xf16>) outs(%init : tensor<8x32xf32>) -> tensor<8x32xf32>
    %scales = tensor.splat %scale : tensor<8x32xf32>
    %scores = arith.mulf %products, %scales : tensor<8x32xf32>
    %empty_2 = tensor.empty() : tensor<8xf32>
    %init_1 = linalg.fill ins(%lowest : f32) outs(%empty_2 : tensor<8xf32>) -> tensor<8xf32>
    %largest = linalg.reduce { arith.maximumf } ins(%scores : tensor<8x32xf32>) outs(%init_1 : tensor<8xf32>) dimensions = [1]
    %empty_3 = tensor.empty() : tensor<8x32xf32>
    %largest_all = linalg.broadcast ins(%largest : tensor<8xf32>) outs(%empty_3 : tensor<8x32xf32>) dimensions = [1]
    %shifted = arith.subf %scores, %largest_all : tensor<8x32xf32>
    %exps = math.exp %shifted : tensor<8x32xf32>
    %empty_4 = tensor.empty() : tensor<8xf32>
    %init_2 = linalg.fill ins(%zero : f32) outs(%empty_4 : tensor<8xf32>) -> tensor<8xf32>
    %sum = linalg.reduce { arith.addf } ins(%exps : tensor<8x32xf32>) outs(%init_2 : tensor<8xf32>) dimensions = [1]
    %empty_5 = tensor.empty() : tensor<8x32xf32>
    %sum_all = linalg.broadcast ins(%sum : tensor<8xf32>) outs(%empty_5 : tensor<8x32xf32>) dimensions = [1]
    %weights = arith.divf %exps, %sum_all : tensor<8x32xf32>
    %weights_f16 = arith.truncf %weights : tensor<8x32xf32> to tensor<8x32xf16>
    %empty_6 = tensor.empty() : tensor<8x64xf32>
    %init_3 = linalg.fill ins(%zero : f32) outs(%empty_6 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %mix = linalg.matmul ins(%weights_f16, %values : tensor<8x32xf16>, tensor<32x64xf16>) outs(%init_3 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %mix_f16 = arith.truncf %mix : tensor<8x64xf32> to tensor<8x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 8, 0] {access_tile_order = #id2, access_tile_set = #box_8x64} : memref<32x64xf16> -> !ktdp.access_tile<8x64xindex>
    ktdp.store %mix_f16, %y_tile : tensor<8x64xf16>, <8x64xindex>
    return
  }
}
