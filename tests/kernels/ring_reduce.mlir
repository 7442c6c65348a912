// All-reduce over 8 tiles: every row of y is the sum of all rows of x.
// x and y 8x64 f32; tile t holds row t.
#all_tiles = affine_set<(t)[g] : (t - 8 * g >= 0, 8 * g + 7 - t >= 0)>
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#groups = affine_set<(g) : (g == 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @ring_reduce(%x: index, %y: index) attributes {grid = [8]} {
    %zero = arith.constant 0.0 : f32
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %y_view = ktdp.construct_memory_view %y, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %x_tile = ktdp.construct_access_tile %x_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<8x64xf32> -> !ktdp.access_tile<1x64xindex>
    %x_in = ktdp.load %x_tile : <1x64xindex> -> tensor<1x64xf32>
    %empty = tensor.empty() : tensor<1x64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x64xf32>) -> tensor<1x64xf32>
    %future = ktdp.inter_tile_produce producer_tiles_per_group = #all_tiles -> <(tensor<1x64xf32>), groups = #groups> {
    ^bb0(%group: index):
      ktdp.yield_partial %x_in : tensor<1x64xf32>
    }
    %total = ktdp.inter_tile_reduce(%future) consumer_tiles_per_group = #all_tiles, identity(%zeros : tensor<1x64xf32>) : <(tensor<1x64xf32>), groups = #groups> -> tensor<1x64xf32> {
    ^bb0(%left: tensor<1x64xf32>, %right: tensor<1x64xf32>):
      %both = arith.addf %left, %right : tensor<1x64xf32>
      ktdp.yield_reduced %both : tensor<1x64xf32>
    }
    %y_tile = ktdp.construct_access_tile %y_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<8x64xf32> -> !ktdp.access_tile<1x64xindex>
    ktdp.store %total, %y_tile : tensor<1x64xf32>, <1x64xindex>
    return
  }
}
