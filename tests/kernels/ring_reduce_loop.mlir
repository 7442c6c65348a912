// All-reduce over 8 tiles inside a loop: y[b, t] = sum over tiles of x[b, :], for every block b, times b + 1.
// x and y 4x8x64 f32; tile t holds x[:, t].
#all_tiles = affine_set<(t)[g] : (t - 8 * g >= 0, 8 * g + 7 - t >= 0)>
#box_1x1x64 = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>
#box_4x8x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 7 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#groups = affine_set<(g) : (g == 0)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @ring_reduce_loop(%x: index, %y: index) attributes {grid = [8]} {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [4, 8, 64], strides: [512, 64, 1] {coordinate_set = #box_4x8x64, memory_space = #ktdp.memory_space<global>} : memref<4x8x64xf32>
    %y_view = ktdp.construct_memory_view %y, sizes: [4, 8, 64], strides: [512, 64, 1] {coordinate_set = #box_4x8x64, memory_space = #ktdp.memory_space<global>} : memref<4x8x64xf32>
    %empty = tensor.empty() : tensor<1x1x64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x1x64xf32>) -> tensor<1x1x64xf32>
    scf.for %block = %c0 to %c4 step %c1 {
      %x_tile = ktdp.construct_access_tile %x_view[%block, %tile, 0] {access_tile_order = #id3, access_tile_set = #box_1x1x64} : memref<4x8x64xf32> -> !ktdp.access_tile<1x1x64xindex>
      %x_in = ktdp.load %x_tile : <1x1x64xindex> -> tensor<1x1x64xf32>
      %number = arith.addi %block, %c1 : index
      %number_i32 = arith.index_cast %number : index to i32
      %factor = arith.sitofp %number_i32 : i32 to f32
      %future = ktdp.inter_tile_produce producer_tiles_per_group = #all_tiles -> <(tensor<1x1x64xf32>), groups = #groups> {
      ^bb0(%group: index):
        ktdp.yield_partial %x_in : tensor<1x1x64xf32>
      }
      %total = ktdp.inter_tile_reduce(%future) consumer_tiles_per_group = #all_tiles, identity(%zeros : tensor<1x1x64xf32>) : <(tensor<1x1x64xf32>), groups = #groups> -> tensor<1x1x64xf32> {
      ^bb0(%left: tensor<1x1x64xf32>, %right: tensor<1x1x64xf32>):
        %both = arith.addf %left, %right : tensor<1x1x64xf32>
        ktdp.yield_reduced %both : tensor<1x1x64xf32>
      }
      %factors = tensor.splat %factor : tensor<1x1x64xf32>
      %scaled = arith.mulf %total, %factors : tensor<1x1x64xf32>
      %y_tile = ktdp.construct_access_tile %y_view[%block, %tile, 0] {access_tile_order = #id3, access_tile_set = #box_1x1x64} : memref<4x8x64xf32> -> !ktdp.access_tile<1x1x64xindex>
      ktdp.store %scaled, %y_tile : tensor<1x1x64xf32>, <1x1x64xindex>
    }
    return
  }
}
