// The last product of attention, its sum split over tiles: y = p v.
// p 16x64, v 64x64, y 16x64, all f16, f32 sums; tile t multiplies 16 of the 64 terms, then stores 4 rows of the total.
#all_tiles = affine_set<(t)[g] : (t - 4 * g >= 0, 4 * g + 3 - t >= 0)>
#box_16x16 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 15 >= 0)>
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_64x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#groups = affine_set<(g) : (g == 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @attention_pv(%p: index, %v: index, %y: index) attributes {grid = [4]} {
    %zero = arith.constant 0.0 : f32
    %c4 = arith.constant 4 : index
    %tile = ktdp.get_compute_tile_id : index
    %p_view = ktdp.construct_memory_view %p, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %v_view = ktdp.construct_memory_view %v, sizes: [64, 64], strides: [64, 1] {coordinate_set = #box_64x64, memory_space = #ktdp.memory_space<global>} : memref<64x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %weights_tile = ktdp.construct_access_tile %p_view[0, %tile * 16] {access_tile_order = #id2, access_tile_set = #box_16x16} : memref<16x64xf16> -> !ktdp.access_tile<16x16xindex>
    %weights = ktdp.load %weights_tile : <16x16xindex> -> tensor<16x16xf16>
    %values_tile = ktdp.construct_access_tile %v_view[%tile * 16, 0] {access_tile_order = #id2, access_tile_set = #box_16x64} : memref<64x64xf16> -> !ktdp.access_tile<16x64xindex>
    %values = ktdp.load %values_tile : <16x64xindex> -> tensor<16x64xf16>
    %empty = tensor.empty() : tensor<16x64xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x64xf32>) -> tensor<16x64xf32>
    %partial = linalg.matmul ins(%weights, %values : tensor<16x16xf16>, tensor<16x64xf16>) outs(%init : tensor<16x64xf32>) -> tensor<16x64xf32>
    %empty_1 = tensor.empty() : tensor<16x64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty_1 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %future = ktdp.inter_tile_produce producer_tiles_per_group = #all_tiles -> <(tensor<16x64xf32>), groups = #groups> {
    ^bb0(%group: index):
      ktdp.yield_partial %partial : tensor<16x64xf32>
    }
    %total = ktdp.inter_tile_reduce(%future) consumer_tiles_per_group = #all_tiles, identity(%zeros : tensor<16x64xf32>) : <(tensor<16x64xf32>), groups = #groups> -> tensor<16x64xf32> {
    ^bb0(%left: tensor<16x64xf32>, %right: tensor<16x64xf32>):
      %both = arith.addf %left, %right : tensor<16x64xf32>
      ktdp.yield_reduced %both : tensor<16x64xf32>
    }
    %row = arith.muli %tile, %c4 : index
    %mine = tensor.extract_slice %total[%row, 0] [4, 64] [1, 1] : tensor<16x64xf32> to tensor<4x64xf32>
    %mine_f16 = arith.truncf %mine : tensor<4x64xf32> to tensor<4x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<16x64xf16> -> !ktdp.access_tile<4x64xindex>
    ktdp.store %mine_f16, %y_tile : tensor<4x64xf16>, <4x64xindex>
    return
  }
}
