// Vector add of a length known at launch: y = a + b, 64 elements at a time, the last block as long as it is.
// a, b, y n f16; 4 tiles take blocks in turn.
#dynamic = affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)>
#id1 = affine_map<(d0) -> (d0)>
module {
  func.func @vector_add_dynamic(%a: index, %b: index, %n: index, %y: index) attributes {grid = [4], headrace.example = {n = 1000 : index}} {
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %tile = ktdp.get_compute_tile_id : index
    %a_view = ktdp.construct_memory_view %a, sizes: [%n], strides: [1] {coordinate_set = #dynamic, memory_space = #ktdp.memory_space<global>} : memref<?xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [%n], strides: [1] {coordinate_set = #dynamic, memory_space = #ktdp.memory_space<global>} : memref<?xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [%n], strides: [1] {coordinate_set = #dynamic, memory_space = #ktdp.memory_space<global>} : memref<?xf16>
    %first = arith.muli %tile, %c64 : index
    scf.for %at = %first to %n step %c256 {
      %left = arith.subi %n, %at : index
      %width = arith.minsi %left, %c64 : index
      %a_block_tile = ktdp.construct_access_tile %a_view[%at] symbols(%width) {access_tile_order = #id1, access_tile_set = #dynamic} : memref<?xf16> -> !ktdp.access_tile<?xindex>
      %a_block = ktdp.load %a_block_tile : <?xindex> -> tensor<?xf16>
      %b_block_tile = ktdp.construct_access_tile %b_view[%at] symbols(%width) {access_tile_order = #id1, access_tile_set = #dynamic} : memref<?xf16> -> !ktdp.access_tile<?xindex>
      %b_block = ktdp.load %b_block_tile : <?xindex> -> tensor<?xf16>
      %empty = tensor.empty(%width) : tensor<?xf16>
      %sum = linalg.add ins(%a_block, %b_block : tensor<?xf16>, tensor<?xf16>) outs(%empty : tensor<?xf16>) -> tensor<?xf16>
      %y_tile = ktdp.construct_access_tile %y_view[%at] symbols(%width) {access_tile_order = #id1, access_tile_set = #dynamic} : memref<?xf16> -> !ktdp.access_tile<?xindex>
      ktdp.store %sum, %y_tile : tensor<?xf16>, <?xindex>
    }
    return
  }
}
