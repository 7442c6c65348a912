// X[8,128] f32, 8 cores, 2 groups of 4; OUT[2,128] = sum over group's rows; reduce-to-one (first core of each group)
#grp  = affine_set<(g) : (g >= 0, 1 - g >= 0)>
#prod = affine_set<(t)[g] : (t - 4 * g >= 0, 4 * g + 3 - t >= 0)>
#cons = affine_set<(t)[g] : (t - 4 * g == 0)>
#id2  = affine_map<(r, c) -> (r, c)>
#sx = affine_set<(r, c) : (r >= 0, 7 - r >= 0, c >= 0, 127 - c >= 0)>
#so = affine_set<(r, c) : (r >= 0, 1 - r >= 0, c >= 0, 127 - c >= 0)>
#t1 = affine_set<(r, c) : (r == 0, c >= 0, 127 - c >= 0)>
module {
  func.func @xreduce(%px: index, %po: index) attributes {grid = [8]} {
    %t = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : tensor<1x128xf32>
    %vx = ktdp.construct_memory_view %px, sizes: [8, 128], strides: [128, 1] {coordinate_set = #sx, memory_space = #ktdp.memory_space<global>} : memref<8x128xf32>
    %vo = ktdp.construct_memory_view %po, sizes: [2, 128], strides: [128, 1] {coordinate_set = #so, memory_space = #ktdp.memory_space<global>} : memref<2x128xf32>
    %tx = ktdp.construct_access_tile %vx[%t, %c0] {access_tile_order = #id2, access_tile_set = #t1} : memref<8x128xf32> -> !ktdp.access_tile<1x128xindex>
    %part = ktdp.load %tx : <1x128xindex> -> tensor<1x128xf32>
    %fut = ktdp.inter_tile_produce producer_tiles_per_group = #prod -> !ktdp.tile_future<(tensor<1x128xf32>), groups = #grp> {
    ^bb0(%gid: index):
      ktdp.yield_partial %part : tensor<1x128xf32>
    }
    %sum = ktdp.inter_tile_reduce(%fut) consumer_tiles_per_group = #cons, identity(%zero : tensor<1x128xf32>) : !ktdp.tile_future<(tensor<1x128xf32>), groups = #grp> -> tensor<1x128xf32> {
    ^bb0(%l: tensor<1x128xf32>, %r: tensor<1x128xf32>):
      %e = tensor.empty() : tensor<1x128xf32>
      %a = linalg.add ins(%l, %r : tensor<1x128xf32>, tensor<1x128xf32>) outs(%e : tensor<1x128xf32>) -> tensor<1x128xf32>
      ktdp.yield_reduced %a : tensor<1x128xf32>
    }
    %lane = arith.remui %t, %c4 : index
    %isroot = arith.cmpi eq, %lane, %c0 : index
    scf.if %isroot {
      %g = arith.divui %t, %c4 : index
      %to = ktdp.construct_access_tile %vo[%g, %c0] {access_tile_order = #id2, access_tile_set = #t1} : memref<2x128xf32> -> !ktdp.access_tile<1x128xindex>
      ktdp.store %sum, %to : tensor<1x128xf32>, <1x128xindex>
    }
    return
  }
}
