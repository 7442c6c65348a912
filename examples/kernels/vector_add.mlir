// o = a + b, element by element.
//   a, b, o: 65536 f16, contiguous.
// 32 tiles; tile t owns elements 2048 t .. 2048 t + 2047.
#identity = affine_map<(d0) -> (d0)>
#vector = affine_set<(d0) : (d0 >= 0, -d0 + 65535 >= 0)>
#part = affine_set<(d0) : (d0 >= 0, -d0 + 2047 >= 0)>
module {
  func.func @vector_add(%a: index, %b: index, %o: index) attributes {grid = [32]} {
    %tile = ktdp.get_compute_tile_id : index
    %c2048 = arith.constant 2048 : index
    %first = arith.muli %tile, %c2048 : index
    %a_view = ktdp.construct_memory_view %a, sizes: [65536], strides: [1] {coordinate_set = #vector, memory_space = #ktdp.memory_space<global>} : memref<65536xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [65536], strides: [1] {coordinate_set = #vector, memory_space = #ktdp.memory_space<global>} : memref<65536xf16>
    %o_view = ktdp.construct_memory_view %o, sizes: [65536], strides: [1] {coordinate_set = #vector, memory_space = #ktdp.memory_space<global>} : memref<65536xf16>
    %a_tile = ktdp.construct_access_tile %a_view[%first] {access_tile_order = #identity, access_tile_set = #part} : memref<65536xf16> -> !ktdp.access_tile<2048xindex>
    %b_tile = ktdp.construct_access_tile %b_view[%first] {access_tile_order = #identity, access_tile_set = #part} : memref<65536xf16> -> !ktdp.access_tile<2048xindex>
    %o_tile = ktdp.construct_access_tile %o_view[%first] {access_tile_order = #identity, access_tile_set = #part} : memref<65536xf16> -> !ktdp.access_tile<2048xindex>
    %x = ktdp.load %a_tile : <2048xindex> -> tensor<2048xf16>
    %y = ktdp.load %b_tile : <2048xindex> -> tensor<2048xf16>
    %empty = tensor.empty() : tensor<2048xf16>
    %sum = linalg.add ins(%x, %y : tensor<2048xf16>, tensor<2048xf16>) outs(%empty : tensor<2048xf16>) -> tensor<2048xf16>
    ktdp.store %sum, %o_tile : tensor<2048xf16>, <2048xindex>
    return
  }
}
