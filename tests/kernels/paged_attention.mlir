// Attention of one query token over a paged cache with online softmax, page by page; slots past a sequence's
// length are masked. q and y 2x4x64 f16 (sequence, head, lane), keys and values 8x16x64 f16 (page, slot, lane, all
// heads share them), pages 2x3 i32, lengths 2 i32; tile t owns sequence t. Scores are scaled by 1/8.
#box_1 = affine_set<(d0) : (d0 == 0)>
#box_1x16x64 = affine_set<(d0, d1, d2) : (d0 == 0, d1 >= 0, -d1 + 15 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_1x4x64 = affine_set<(d0, d1, d2) : (d0 == 0, d1 >= 0, -d1 + 3 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_2 = affine_set<(d0) : (d0 >= 0, -d0 + 1 >= 0)>
#box_2x3 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 2 >= 0)>
#box_2x4x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 3 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_8x16x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 15 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#id1 = affine_map<(d0) -> (d0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @paged_attention(%q: index, %keys: index, %values: index, %pages: index, %lengths: index, %y: index) attributes {grid = [2]} {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %scale = arith.constant 0.125 : f32
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %tile = ktdp.get_compute_tile_id : index
    %q_view = ktdp.construct_memory_view %q, sizes: [2, 4, 64], strides: [256, 64, 1] {coordinate_set = #box_2x4x64, memory_space = #ktdp.memory_space<global>} : memref<2x4x64xf16>
    %keys_view = ktdp.construct_memory_view %keys, sizes: [8, 16, 64], strides: [1024, 64, 1] {coordinate_set = #box_8x16x64, memory_space = #ktdp.memory_space<global>} : memref<8x16x64xf16>
    %values_view = ktdp.construct_memory_view %values, sizes: [8, 16, 64], strides: [1024, 64, 1] {coordinate_set = #box_8x16x64, memory_space = #ktdp.memory_space<global>} : memref<8x16x64xf16>
    %pages_view = ktdp.construct_memory_view %pages, sizes: [2, 3], strides: [3, 1] {coordinate_set = #box_2x3, memory_space = #ktdp.memory_space<global>} : memref<2x3xi32>
    %lengths_view = ktdp.construct_memory_view %lengths, sizes: [2], strides: [1] {coordinate_set = #box_2, memory_space = #ktdp.memory_space<global>} : memref<2xi32>
    %y_view = ktdp.construct_memory_view %y, sizes: [2, 4, 64], strides: [256, 64, 1] {coordinate_set = #box_2x4x64, memory_space = #ktdp.memory_space<global>} : memref<2x4x64xf16>
    %query_slab_tile = ktdp.construct_access_tile %q_view[%tile, 0, 0] {access_tile_order = #id3, access_tile_set = #box_1x4x64} : memref<2x4x64xf16> -> !ktdp.access_tile<1x4x64xindex>
    %query_slab = ktdp.load %query_slab_tile : <1x4x64xindex> -> tensor<1x4x64xf16>
    %query = tensor.collapse_shape %query_slab [[0, 1], [2]] : tensor<1x4x64xf16> into tensor<4x64xf16>
    %length_box_tile = ktdp.construct_access_tile %lengths_view[%tile] {access_tile_order = #id1, access_tile_set = #box_1} : memref<2xi32> -> !ktdp.access_tile<1xindex>
    %length_box = ktdp.load %length_box_tile : <1xindex> -> tensor<1xi32>
    %length = tensor.extract %length_box[%c0] : tensor<1xi32>
    %empty = tensor.empty() : tensor<4xf32>
    %lowests = linalg.fill ins(%lowest : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    %empty_1 = tensor.empty() : tensor<4xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty_1 : tensor<4xf32>) -> tensor<4xf32>
    %empty_2 = tensor.empty() : tensor<4x64xf32>
    %blank = linalg.fill ins(%zero : f32) outs(%empty_2 : tensor<4x64xf32>) -> tensor<4x64xf32>
    %largest, %sum, %mix = scf.for %page = %c0 to %c3 step %c1 iter_args(%largest_so_far = %lowests, %sum_so_far = %zeros, %mix_so_far = %blank) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x64xf32>) {
      %page_keys_tile = ktdp.construct_indirect_access_tile intermediate_variables(%p, %s, %lane) %keys_view[ind(%pages_view[%tile, %page + %p]), (%s), (%lane)] {variables_space_order = #id3, variables_space_set = #box_1x16x64} : memref<8x16x64xf16>, memref<2x3xi32> -> !ktdp.access_tile<1x16x64xindex>
      %page_keys_slab = ktdp.load %page_keys_tile : <1x16x64xindex> -> tensor<1x16x64xf16>
      %page_keys = tensor.collapse_shape %page_keys_slab [[0, 1], [2]] : tensor<1x16x64xf16> into tensor<16x64xf16>
      %page_values_tile = ktdp.construct_indirect_access_tile intermediate_variables(%p, %s, %lane) %values_view[ind(%pages_view[%tile, %page + %p]), (%s), (%lane)] {variables_space_order = #id3, variables_space_set = #box_1x16x64} : memref<8x16x64xf16>, memref<2x3xi32> -> !ktdp.access_tile<1x16x64xindex>
      %page_values_slab = ktdp.load %page_values_tile : <1x16x64xindex> -> tensor<1x16x64xf16>
      %page_values = tensor.collapse_shape %page_values_slab [[0, 1], [2]] : tensor<1x16x64xf16> into tensor<16x64xf16>
      %empty_3 = tensor.empty() : tensor<64x16xf16>
      %page_keys_t = linalg.transpose ins(%page_keys : tensor<16x64xf16>) outs(%empty_3 : tensor<64x16xf16>) permutation = [1, 0]
      %empty_4 = tensor.empty() : tensor<4x16xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty_4 : tensor<4x16xf32>) -> tensor<4x16xf32>
      %products = linalg.matmul ins(%query, %page_keys_t : tensor<4x64xf16>, tensor<64x16xf16>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
      %first = arith.muli %page, %c16 : index
      %empty_5 = tensor.empty() : tensor<4x16xf32>
      %scores = linalg.generic {indexing_maps = [#id2, #id2], iterator_types = ["parallel", "parallel"]} ins(%products : tensor<4x16xf32>) outs(%empty_5 : tensor<4x16xf32>) {
      ^bb0(%product: f32, %unused: f32):
        %slot = linalg.index 1 : index
        %place = arith.addi %first, %slot : index
        %number = arith.index_cast %place : index to i32
        %is_there = arith.cmpi slt, %number, %length : i32
        %scaled = arith.mulf %product, %scale : f32
        %score = arith.select %is_there, %scaled, %lowest : f32
        linalg.yield %score : f32
      } -> tensor<4x16xf32>
      %new_largest = linalg.reduce { arith.maximumf } ins(%scores : tensor<4x16xf32>) outs(%largest_so_far : tensor<4xf32>) dimensions = [1]
      %empty_6 = tensor.empty() : tensor<4x16xf32>
      %new_largest_all = linalg.broadcast ins(%new_largest : tensor<4xf32>) outs(%empty_6 : tensor<4x16xf32>) dimensions = [1]
      %shifted = arith.subf %scores, %new_largest_all : tensor<4x16xf32>
      %exps = math.exp %shifted : tensor<4x16xf32>
      %drop = arith.subf %largest_so_far, %new_largest : tensor<4xf32>
      %rescale = math.exp %drop : tensor<4xf32>
      %kept = arith.mulf %sum_so_far, %rescale : tensor<4xf32>
      %new_sum = linalg.reduce { arith.addf } ins(%exps : tensor<4x16xf32>) outs(%kept : tensor<4xf32>) dimensions = [1]
      %exps_f16 = arith.truncf %exps : tensor<4x16xf32> to tensor<4x16xf16>
      %empty_7 = tensor.empty() : tensor<4x64xf32>
      %rescale_all = linalg.broadcast ins(%rescale : tensor<4xf32>) outs(%empty_7 : tensor<4x64xf32>) dimensions = [1]
      %kept_mix = arith.mulf %mix_so_far, %rescale_all : tensor<4x64xf32>
      %new_mix = linalg.matmul ins(%exps_f16, %page_values : tensor<4x16xf16>, tensor<16x64xf16>) outs(%kept_mix : tensor<4x64xf32>) -> tensor<4x64xf32>
      scf.yield %new_largest, %new_sum, %new_mix : tensor<4xf32>, tensor<4xf32>, tensor<4x64xf32>
    }
    %empty_8 = tensor.empty() : tensor<4x64xf32>
    %sums = linalg.broadcast ins(%sum : tensor<4xf32>) outs(%empty_8 : tensor<4x64xf32>) dimensions = [1]
    %mean = arith.divf %mix, %sums : tensor<4x64xf32>
    %mean_f16 = arith.truncf %mean : tensor<4x64xf32> to tensor<4x64xf16>
    %result = tensor.expand_shape %mean_f16 [[0, 1], [2]] output_shape [1, 4, 64] : tensor<4x64xf16> into tensor<1x4x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile, 0, 0] {access_tile_order = #id3, access_tile_set = #box_1x4x64} : memref<2x4x64xf16> -> !ktdp.access_tile<1x4x64xindex>
    ktdp.store %result, %y_tile : tensor<1x4x64xf16>, <1x4x64xindex>
    return
  }
}
