#id1 = affine_map<(i) -> (i)>
#vec = affine_set<(i) : (i >= 0, 2047 - i >= 0)>
#blk = affine_set<(i) : (i >= 0, 255 - i >= 0)>
module {
  func.func @vadd(%a: index, %b: index, %o: index) attributes {grid = [8]} {
    %pid = ktdp.get_compute_tile_id : index
    %c256 = arith.constant 256 : index
    %base = arith.muli %pid, %c256 : index
    %va = ktdp.construct_memory_view %a, sizes: [2048], strides: [1] {coordinate_set = #vec, memory_space = #ktdp.memory_space<global>} : memref<2048xf16>
    %vb = ktdp.construct_memory_view %b, sizes: [2048], strides: [1] {coordinate_set = #vec, memory_space = #ktdp.memory_space<global>} : memref<2048xf16>
    %vo = ktdp.construct_memory_view %o, sizes: [2048], strides: [1] {coordinate_set = #vec, memory_space = #ktdp.memory_space<global>} : memref<2048xf16>
    %ta = ktdp.construct_access_tile %va[%base] {access_tile_order = #id1, access_tile_set = #blk} : memref<2048xf16> -> !ktdp.access_tile<256xindex>
    %tb = ktdp.construct_access_tile %vb[%base] {access_tile_order = #id1, access_tile_set = #blk} : memref<2048xf16> -> !ktdp.access_tile<256xindex>
    %to = ktdp.construct_access_tile %vo[%base] {access_tile_order = #id1, access_tile_set = #blk} : memref<2048xf16> -> !ktdp.access_tile<256xindex>
    %xa = ktdp.load %ta : <256xindex> -> tensor<256xf16>
    %xb = ktdp.load %tb : <256xindex> -> tensor<256xf16>
    %e = tensor.empty() : tensor<256xf16>
    %s = linalg.add ins(%xa, %xb : tensor<256xf16>, tensor<256xf16>) outs(%e : tensor<256xf16>) -> tensor<256xf16>
    ktdp.store %s, %to : tensor<256xf16>, <256xindex>
    return
  }
}
