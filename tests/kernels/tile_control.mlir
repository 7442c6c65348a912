// Control flow that depends on the tile: row t of y is the sum of rows 0 to t of x; even tiles negate it, tile 3
// adds its first row once more. x and y 4x64 f32; 4 tiles.
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @tile_control(%x: index, %y: index) attributes {grid = [4]} {
    %zero = arith.constant 0.0 : f32
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [4, 64], strides: [64, 1] {coordinate_set = #box_4x64, memory_space = #ktdp.memory_space<global>} : memref<4x64xf32>
    %y_view = ktdp.construct_memory_view %y, sizes: [4, 64], strides: [64, 1] {coordinate_set = #box_4x64, memory_space = #ktdp.memory_space<global>} : memref<4x64xf32>
    %end = arith.addi %tile, %c1 : index
    %empty = tensor.empty() : tensor<1x64xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x64xf32>) -> tensor<1x64xf32>
    %total = scf.for %row = %c0 to %end step %c1 iter_args(%total_so_far = %init) -> (tensor<1x64xf32>) {
      %one_tile = ktdp.construct_access_tile %x_view[%row, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<4x64xf32> -> !ktdp.access_tile<1x64xindex>
      %one = ktdp.load %one_tile : <1x64xindex> -> tensor<1x64xf32>
      %more = arith.addf %total_so_far, %one : tensor<1x64xf32>
      scf.yield %more : tensor<1x64xf32>
    }
    %parity = arith.remui %tile, %c2 : index
    %is_even = arith.cmpi eq, %parity, %c0 : index
    %signed = scf.if %is_even -> (tensor<1x64xf32>) {
      %negated = arith.negf %total : tensor<1x64xf32>
      scf.yield %negated : tensor<1x64xf32>
    } else {
      scf.yield %total : tensor<1x64xf32>
    }
    %is_last = arith.cmpi eq, %tile, %c3 : index
    scf.if %is_last {
      %first_tile = ktdp.construct_access_tile %x_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<4x64xf32> -> !ktdp.access_tile<1x64xindex>
      %first = ktdp.load %first_tile : <1x64xindex> -> tensor<1x64xf32>
      %again = arith.addf %signed, %first : tensor<1x64xf32>
      %y_tile = ktdp.construct_access_tile %y_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<4x64xf32> -> !ktdp.access_tile<1x64xindex>
      ktdp.store %again, %y_tile : tensor<1x64xf32>, <1x64xindex>
    } else {
      %y_tile_1 = ktdp.construct_access_tile %y_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<4x64xf32> -> !ktdp.access_tile<1x64xindex>
      ktdp.store %signed, %y_tile_1 : tensor<1x64xf32>, <1x64xindex>
    }
    return
  }
}
