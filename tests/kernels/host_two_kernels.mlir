// Two kernels and a host function: t = 2 x by rows, then y = t + 1 by columns, which reads rows of other tiles.
// x, t and y 8x64 f32; 8 tiles own a row each, then 4 tiles 16 columns each.
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x16 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 15 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func private @double(%a: index, %b: index) attributes {grid = [8]} {
    %tile = ktdp.get_compute_tile_id : index
    %a_view = ktdp.construct_memory_view %a, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %b_view = ktdp.construct_memory_view %b, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %a_tile = ktdp.construct_access_tile %a_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<8x64xf32> -> !ktdp.access_tile<1x64xindex>
    %row = ktdp.load %a_tile : <1x64xindex> -> tensor<1x64xf32>
    %twice = arith.addf %row, %row : tensor<1x64xf32>
    %b_tile = ktdp.construct_access_tile %b_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<8x64xf32> -> !ktdp.access_tile<1x64xindex>
    ktdp.store %twice, %b_tile : tensor<1x64xf32>, <1x64xindex>
    return
  }
  func.func private @increment(%a: index, %b: index) attributes {grid = [4]} {
    %tile = ktdp.get_compute_tile_id : index
    %ones = arith.constant dense<1.0> : tensor<8x16xf32>
    %a_view = ktdp.construct_memory_view %a, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %b_view = ktdp.construct_memory_view %b, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf32>
    %a_tile = ktdp.construct_access_tile %a_view[0, %tile * 16] {access_tile_order = #id2, access_tile_set = #box_8x16} : memref<8x64xf32> -> !ktdp.access_tile<8x16xindex>
    %columns = ktdp.load %a_tile : <8x16xindex> -> tensor<8x16xf32>
    %more = arith.addf %columns, %ones : tensor<8x16xf32>
    %b_tile = ktdp.construct_access_tile %b_view[0, %tile * 16] {access_tile_order = #id2, access_tile_set = #box_8x16} : memref<8x64xf32> -> !ktdp.access_tile<8x16xindex>
    ktdp.store %more, %b_tile : tensor<8x16xf32>, <8x16xindex>
    return
  }
  func.func @host_two_kernels(%x: index, %t: index, %y: index) {
    func.call @double(%x, %t) : (index, index) -> ()
    func.call @increment(%t, %y) : (index, index) -> ()
    return
  }
}
