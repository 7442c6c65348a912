// Every op of ktdp in the spellings that are read; CHECK shows the one that is printed.
#id2 = affine_map<(r, c) -> (r, c)>
#dyn = affine_set<(r, c)[n] : (r >= 0, n - 1 - r >= 0, c >= 0, 63 - c >= 0)>
#grp = affine_set<(g) : (g >= 0, 1 - g >= 0)>
#all = affine_set<(t)[g] : (t - 4 * g >= 0, 4 * g + 3 - t >= 0)>
#one = affine_set<(t)[g] : (t - 4 * g == 0)>
#from = affine_set<(p)[c] : (p - c == 0)>

// CHECK-LABEL: func.func @views(%p: index, %n: index)
func.func @views(%p: index, %n: index) {
  // CHECK: ktdp.construct_memory_view %p, sizes: [4, 64], strides: [64, 1] {coordinate_set = #set, memory_space = #ktdp.memory_space<global>} : memref<4x64xf16>
  %a = ktdp.construct_memory_view %p, sizes: [4, 64], strides: [64, 1] {memory_space = #ktdp.memory_space<global>, coordinate_set = affine_set<(r, c) : (r >= 0, 3 - r >= 0, 0 <= c, c <= 63)>} : memref<4x64xf16>
  // CHECK: {coordinate_set = #set, memory_space = #ktdp.memory_space<global>} : memref<4x64xf16>
  %b = ktdp.construct_memory_view %p, sizes: [4, 64], strides: [64, 1] : index -> memref<4x64xf16>
  // CHECK: sizes: [%n, 64], strides: [%n, 1] {coordinate_set = affine_set<(d0, d1)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0, d1 >= 0, -d1 + 63 >= 0)>, memory_space = #ktdp.memory_space<ct_local, ct_id = 3>} : memref<?x64xf16>
  %c = ktdp.construct_memory_view %p, sizes: [%n, 64], strides: [%n, 1] {coordinate_set = #dyn, memory_space = #ktdp.memory_space<ct_local, ct_id = 3>} : memref<?x64xf16>
  // CHECK: memory_space = #ktdp.memory_space<ct_local, ct_id = 2>
  %d = ktdp.construct_memory_view %p, sizes: [], strides: [] {coordinate_set = affine_set<() : ()>, memory_space = #ktdp.spyre_memory_space<LX, core = 2>} : memref<f32>
  %low = ktdp.construct_memory_view %p, sizes: [4, 64], strides: [64, 1] {coordinate_set = affine_set<(r, c) : (r - 4 >= 0, 7 - r >= 0, c >= 0, 63 - c >= 0)>, memory_space = #ktdp.memory_space<global>} : memref<4x64xf16>
  // CHECK: ktdp.construct_distributed_memory_view(%a, %low : memref<4x64xf16>, memref<4x64xf16>) : memref<8x64xf16>
  %e = ktdp.construct_distributed_memory_view (%a, %low : memref<4x64xf16>, memref<4x64xf16>) : memref<8x64xf16>
  return
}

// CHECK-LABEL: func.func @tiles
func.func @tiles(%v: memref<512x64xf16>, %idx: memref<128xi32>, %w: index, %x: tensor<8x8xf16>) {
  // CHECK: %i, %j = ktdp.get_compute_tile_id : index, index
  %i, %j = ktdp.get_compute_tile_id : index, index
  // CHECK: %id:2 = ktdp.get_compute_tile_id : index, index
  %id:2 = ktdp.get_compute_tile_id : index, index
  // CHECK: ktdp.construct_access_tile %v[%i * 64, %j + 4] symbols(%w) {access_tile_order = affine_map<(d0, d1) -> (d1, d0)>, access_tile_set = affine_set<(d0, d1)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0, d1 >= 0, -d1 + 7 >= 0)>} : memref<512x64xf16> -> !ktdp.access_tile<8x?xindex>
  %t = ktdp.construct_access_tile %v[64 * %i, %j + 4] symbols(%w) {access_tile_set = affine_set<(d0, d1)[s0] : (d0 >= 0, s0 - 1 - d0 >= 0, d1 >= 0, -d1 + 7 >= 0)>, access_tile_order = affine_map<(d0, d1) -> (d1, d0)>} : memref<512x64xf16> -> !ktdp.access_tile<8x?xindex>
  // CHECK: ktdp.construct_access_tile %v[0, %id#1]
  %s = ktdp.construct_access_tile %v[0, %id#1] {access_tile_order = #id2, access_tile_set = affine_set<(r, c) : (r >= 0, 7 - r >= 0, c >= 0, 7 - c >= 0)>} : memref<512x64xf16> -> !ktdp.access_tile<8x8xindex>
  // CHECK: ktdp.load %s : <8x8xindex> -> tensor<8x8xf16>
  %l = ktdp.load %s : !ktdp.access_tile<8x8xindex> -> tensor<8x8xf16>
  // CHECK: ktdp.store %x, %s : tensor<8x8xf16>, <8x8xindex>
  ktdp.store %x, %s : tensor<8x8xf16>, <8x8xindex>
  // CHECK: ktdp.construct_indirect_access_tile intermediate_variables(%a, %b) %v[ind(%idx[%i * 4 + %a]), (%b)] {variables_space_order = #map
  %g = ktdp.construct_indirect_access_tile intermediate_variables(%a, %b) %v[ind(%idx[%i * 4 + %a]), (%b)] {variables_space_order = #id2, variables_space_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>} : memref<512x64xf16>, memref<128xi32> -> !ktdp.access_tile<4x64xindex>
  // The variables are names of the op alone, and a bare subscript is read as a direct one.
  // CHECK: intermediate_variables(%a, %b) %v[ind(%idx[%a]), (%b)]
  %h = ktdp.construct_indirect_access_tile intermediate_variables(%a, %b) %v[ind(%idx[%a]), %b] {variables_space_order = #id2, variables_space_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>} : memref<512x64xf16>, memref<128xi32> -> !ktdp.access_tile<4x64xindex>
  return
}

// CHECK-LABEL: func.func @runtime(%len: !ktdp.runtime_arg<index, granularity=64, upperbound=4096>)
func.func @runtime(%len: !ktdp.runtime_arg<index, upperbound=4096, granularity=64>) {
  // CHECK: ktdp.runtime_arg_extract value from %len : <index, granularity=64, upperbound=4096> -> index
  %n = ktdp.runtime_arg_extract value from %len : <index, granularity=64, upperbound=4096> -> index
  // CHECK: ktdp.runtime_arg_extract granularity from %len : <index, granularity=64, upperbound=4096> {note} -> index
  %g = ktdp.runtime_arg_extract granularity from %len : !ktdp.runtime_arg<index, granularity=64, upperbound=4096> {note} -> index
  // CHECK: ktdp.runtime_arg_extract upperbound from %len
  %u = ktdp.runtime_arg_extract upperbound from %len : <index, granularity=64, upperbound=4096> -> index
  return
}

// CHECK-LABEL: func.func @between_tiles
func.func @between_tiles(%part: tensor<1x8xf32>, %zero: tensor<1x8xf32>) {
  // CHECK: ktdp.inter_tile_produce producer_tiles_per_group = #set{{[0-9]+}} -> <(tensor<1x8xf32>), groups = #set{{[0-9]+}}> {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #all : tensor<1x8xf32> -> !ktdp.tile_future<tensor<1x8xf32>, groups = #grp> {
  ^bb0(%gid: index):
    // CHECK: ktdp.yield_partial %part : tensor<1x8xf32>
    ktdp.yield_partial %part : tensor<1x8xf32>
  }
  // CHECK: ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = {{.*}}, identity(%zero : tensor<1x8xf32>) : <(tensor<1x8xf32>), groups = {{.*}}> -> tensor<1x8xf32> {
  %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = #all, identity(%zero : tensor<1x8xf32>) : <(tensor<1x8xf32>), groups = #grp> -> tensor<1x8xf32> {
  ^bb0(%a: tensor<1x8xf32>, %b: tensor<1x8xf32>):
    %s = arith.addf %a, %b : tensor<1x8xf32>
    // CHECK: ktdp.yield_reduced %s : tensor<1x8xf32>
    ktdp.yield_reduced %s : tensor<1x8xf32>
  }
  %g = ktdp.inter_tile_produce producer_tiles_per_group = #one -> <(tensor<1x8xf32>), groups = #grp> {
  ^bb0(%gid: index):
    ktdp.yield_partial %part : tensor<1x8xf32>
  }
  // CHECK: ktdp.inter_tile_consume(%g) consumer_tiles_per_group = {{.*}}, producer_dependency_per_consumer = affine_set<(d0)[s0] : (d0 - s0 == 0)> : <(tensor<1x8xf32>), groups = {{.*}}> -> tensor<1x8xf32>
  %c = ktdp.inter_tile_consume(%g) consumer_tiles_per_group = #one, producer_dependency_per_consumer = #from : <(tensor<1x8xf32>), groups = #grp> -> tensor<1x8xf32>
  return
}
