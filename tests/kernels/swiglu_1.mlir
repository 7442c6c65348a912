// SwiGLU feed-forward: y = (silu(x gate) * (x up)) down, sums in f32, the hidden row rounded to f16.
// x 16x64, gate and up 64x128, down 128x64, y 16x64, all f16.
#box_128x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 127 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_64x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @swiglu_1(%x: index, %gate: index, %up: index, %down: index, %y: index) attributes {grid = [1]} {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %x_view = ktdp.construct_memory_view %x, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %gate_view = ktdp.construct_memory_view %gate, sizes: [64, 128], strides: [128, 1] {coordinate_set = #box_64x128, memory_space = #ktdp.memory_space<global>} : memref<64x128xf16>
    %up_view = ktdp.construct_memory_view %up, sizes: [64, 128], strides: [128, 1] {coordinate_set = #box_64x128, memory_space = #ktdp.memory_space<global>} : memref<64x128xf16>
    %down_view = ktdp.construct_memory_view %down, sizes: [128, 64], strides: [64, 1] {coordinate_set = #box_128x64, memory_space = #ktdp.memory_space<global>} : memref<128x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %x_tile = ktdp.construct_access_tile %x_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_16x64} : memref<16x64xf16> -> !ktdp.access_tile<16x64xindex>
    %x_in = ktdp.load %x_tile : <16x64xindex> -> tensor<16x64xf16>
    %gate_tile = ktdp.construct_access_tile %gate_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_64x128} : memref<64x128xf16> -> !ktdp.access_tile<64x128xindex>
    %gate_in = ktdp.load %gate_tile : <64x128xindex> -> tensor<64x128xf16>
    %up_tile = ktdp.construct_access_tile %up_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_64x128} : memref<64x128xf16> -> !ktdp.access_tile<64x128xindex>
    %up_in = ktdp.load %up_tile : <64x128xindex> -> tensor<64x128xf16>
    %down_tile = ktdp.construct_access_tile %down_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_128x64} : memref<128x64xf16> -> !ktdp.access_tile<128x64xindex>
    %down_in = ktdp.load %down_tile : <128x64xindex> -> tensor<128x64xf16>
    %empty = tensor.empty() : tensor<16x128xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x128xf32>) -> tensor<16x128xf32>
    %gated = linalg.matmul ins(%x_in, %gate_in : tensor<16x64xf16>, tensor<64x128xf16>) outs(%init : tensor<16x128xf32>) -> tensor<16x128xf32>
    %empty_1 = tensor.empty() : tensor<16x128xf32>
    %init_1 = linalg.fill ins(%zero : f32) outs(%empty_1 : tensor<16x128xf32>) -> tensor<16x128xf32>
    %upped = linalg.matmul ins(%x_in, %up_in : tensor<16x64xf16>, tensor<64x128xf16>) outs(%init_1 : tensor<16x128xf32>) -> tensor<16x128xf32>
    %ones = tensor.splat %one : tensor<16x128xf32>
    %neg = arith.negf %gated : tensor<16x128xf32>
    %exp = math.exp %neg : tensor<16x128xf32>
    %denominator = arith.addf %ones, %exp : tensor<16x128xf32>
    %silu = arith.divf %gated, %denominator : tensor<16x128xf32>
    %hidden = arith.mulf %silu, %upped : tensor<16x128xf32>
    %hidden_f16 = arith.truncf %hidden : tensor<16x128xf32> to tensor<16x128xf16>
    %empty_2 = tensor.empty() : tensor<16x64xf32>
    %init_2 = linalg.fill ins(%zero : f32) outs(%empty_2 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %partial = linalg.matmul ins(%hidden_f16, %down_in : tensor<16x128xf16>, tensor<128x64xf16>) outs(%init_2 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %partial_f16 = arith.truncf %partial : tensor<16x64xf32> to tensor<16x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_16x64} : memref<16x64xf16> -> !ktdp.access_tile<16x64xindex>
    ktdp.store %partial_f16, %y_tile : tensor<16x64xf16>, <16x64xindex>
    return
  }
}
