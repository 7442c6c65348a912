// A row-by-row copy out of a matrix whose second part has a number of rows known at launch.
// top 8x64, bottom m x 64, y (8 + m) x 64, all f16; 1 tile.
#below = affine_set<(d0, d1)[s0] : (d0 - 8 >= 0, -d0 + s0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#dynamic_rows = affine_set<(d0, d1)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @copy_dynamic(%top: index, %bottom: index, %m: index, %y: index) attributes {grid = [1], headrace.example = {m = 5 : index}} {
    %c8 = arith.constant 8 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = arith.addi %m, %c8 : index
    %bottom_view = ktdp.construct_memory_view %bottom, sizes: [%m, 64], strides: [64, 1] {coordinate_set = #below, memory_space = #ktdp.memory_space<global>} : memref<?x64xf16>
    %top_view = ktdp.construct_memory_view %top, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %x_view = ktdp.construct_distributed_memory_view (%top_view, %bottom_view : memref<8x64xf16>, memref<?x64xf16>) : memref<?x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [%rows, 64], strides: [64, 1] {coordinate_set = #dynamic_rows, memory_space = #ktdp.memory_space<global>} : memref<?x64xf16>
    scf.for %row = %c0 to %rows step %c1 {
      %one_tile = ktdp.construct_access_tile %x_view[%row, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<?x64xf16> -> !ktdp.access_tile<1x64xindex>
      %one = ktdp.load %one_tile : <1x64xindex> -> tensor<1x64xf16>
      %y_tile = ktdp.construct_access_tile %y_view[%row, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<?x64xf16> -> !ktdp.access_tile<1x64xindex>
      ktdp.store %one, %y_tile : tensor<1x64xf16>, <1x64xindex>
    }
    return
  }
}
