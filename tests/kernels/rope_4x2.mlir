// Rotary embedding: halves (a, b) of every head become (a cos - b sin, b cos + a sin).
// x and y 8x4x128 (token, head, lane), cos and sin 8x64, all f16; tile (h, t) owns head h of 4 tokens.
#box_4x1x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 3 >= 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x4x128 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 3 >= 0, d2 >= 0, -d2 + 127 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @rope_4x2(%x: index, %cos: index, %sin: index, %y: index) attributes {grid = [4, 2]} {
    %head, %half = ktdp.get_compute_tile_id : index, index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 4, 128], strides: [512, 128, 1] {coordinate_set = #box_8x4x128, memory_space = #ktdp.memory_space<global>} : memref<8x4x128xf16>
    %cos_view = ktdp.construct_memory_view %cos, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %sin_view = ktdp.construct_memory_view %sin, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [8, 4, 128], strides: [512, 128, 1] {coordinate_set = #box_8x4x128, memory_space = #ktdp.memory_space<global>} : memref<8x4x128xf16>
    %cosines_tile = ktdp.construct_access_tile %cos_view[%half * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<8x64xf16> -> !ktdp.access_tile<4x64xindex>
    %cosines = ktdp.load %cosines_tile : <4x64xindex> -> tensor<4x64xf16>
    %sines_tile = ktdp.construct_access_tile %sin_view[%half * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<8x64xf16> -> !ktdp.access_tile<4x64xindex>
    %sines = ktdp.load %sines_tile : <4x64xindex> -> tensor<4x64xf16>
    %low_slab_tile = ktdp.construct_access_tile %x_view[%half * 4, %head, 0] {access_tile_order = #id3, access_tile_set = #box_4x1x64} : memref<8x4x128xf16> -> !ktdp.access_tile<4x1x64xindex>
    %low_slab = ktdp.load %low_slab_tile : <4x1x64xindex> -> tensor<4x1x64xf16>
    %low = tensor.collapse_shape %low_slab [[0], [1, 2]] : tensor<4x1x64xf16> into tensor<4x64xf16>
    %high_slab_tile = ktdp.construct_access_tile %x_view[%half * 4, %head, 64] {access_tile_order = #id3, access_tile_set = #box_4x1x64} : memref<8x4x128xf16> -> !ktdp.access_tile<4x1x64xindex>
    %high_slab = ktdp.load %high_slab_tile : <4x1x64xindex> -> tensor<4x1x64xf16>
    %high = tensor.collapse_shape %high_slab [[0], [1, 2]] : tensor<4x1x64xf16> into tensor<4x64xf16>
    %mulf = arith.mulf %low, %cosines : tensor<4x64xf16>
    %mulf_1 = arith.mulf %high, %sines : tensor<4x64xf16>
    %new_low = arith.subf %mulf, %mulf_1 : tensor<4x64xf16>
    %mulf_2 = arith.mulf %high, %cosines : tensor<4x64xf16>
    %mulf_3 = arith.mulf %low, %sines : tensor<4x64xf16>
    %new_high = arith.addf %mulf_2, %mulf_3 : tensor<4x64xf16>
    %new_low_slab = tensor.expand_shape %new_low [[0], [1, 2]] output_shape [4, 1, 64] : tensor<4x64xf16> into tensor<4x1x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%half * 4, %head, 0] {access_tile_order = #id3, access_tile_set = #box_4x1x64} : memref<8x4x128xf16> -> !ktdp.access_tile<4x1x64xindex>
    ktdp.store %new_low_slab, %y_tile : tensor<4x1x64xf16>, <4x1x64xindex>
    %new_high_slab = tensor.expand_shape %new_high [[0], [1, 2]] output_shape [4, 1, 64] : tensor<4x64xf16> into tensor<4x1x64xf16>
    %y_tile_1 = ktdp.construct_access_tile %y_view[%half * 4, %head, 64] {access_tile_order = #id3, access_tile_set = #box_4x1x64} : memref<8x4x128xf16> -> !ktdp.access_tile<4x1x64xindex>
    ktdp.store %new_high_slab, %y_tile_1 : tensor<4x1x64xf16>, <4x1x64xindex>
    return
  }
}
