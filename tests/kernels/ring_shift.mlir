// A ring walked by hand: in 7 rounds every tile passes on the row it got last and adds it to its own sum,
// so that every row of y is the sum of all rows of x. x and y 8x64 f32; tile t holds row t.
#all_tiles = affine_set<(t)[g] : (t - 8 * g >= 0, 8 * g + 7 - t >= 0)>
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#groups = affine_set<(g) : (g == 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
#left_neighbour = affine_set<(p)[c] : (p - (c + 7) mod 8 == 0)>
module {
  func.func @ring_shift(%x: index, %y: index) attributes {grid = [8]} {
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %c1 = arith.constant 1 : index
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %y_view = ktdp.construct_memory_view %y, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %x_tile = ktdp.construct_access_tile %x_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<8x64xf32> -> !ktdp.access_tile<1x64xindex>
    %x_in = ktdp.load %x_tile : <1x64xindex> -> tensor<1x64xf32>
    %total, %visitor = scf.for %round = %c0 to %c7 step %c1 iter_args(%total_so_far = %x_in, %visitor_so_far = %x_in) -> (tensor<1x64xf32>, tensor<1x64xf32>) {
      %future = ktdp.inter_tile_produce producer_tiles_per_group = #all_tiles -> <(tensor<1x64xf32>), groups = #groups> {
      ^bb0(%group: index):
        ktdp.yield_partial %visitor_so_far : tensor<1x64xf32>
      }
      %next = ktdp.inter_tile_consume(%future) consumer_tiles_per_group = #all_tiles, producer_dependency_per_consumer = #left_neighbour : <(tensor<1x64xf32>), groups = #groups> -> tensor<1x64xf32>
      %more = arith.addf %total_so_far, %next : tensor<1x64xf32>
      scf.yield %more, %next : tensor<1x64xf32>, tensor<1x64xf32>
    }
    %y_tile = ktdp.construct_access_tile %y_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<8x64xf32> -> !ktdp.access_tile<1x64xindex>
    ktdp.store %total, %y_tile : tensor<1x64xf32>, <1x64xindex>
    return
  }
}
