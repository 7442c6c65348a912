// A copy out of a paged cache: y[p, s, :] = cache[pages[p], s, :].
// cache 8x16x64 f16 (page, slot, lane), pages 4 i32, y 4x16x64 f16; 2 tiles own 2 pages each.
#box_2x16x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 15 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_4 = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#box_4x16x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 15 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_8x16x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 15 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @paged_copy(%cache: index, %pages: index, %y: index) attributes {grid = [2]} {
    %tile = ktdp.get_compute_tile_id : index
    %cache_view = ktdp.construct_memory_view %cache, sizes: [8, 16, 64], strides: [1024, 64, 1] {coordinate_set = #box_8x16x64, memory_space = #ktdp.memory_space<global>} : memref<8x16x64xf16>
    %pages_view = ktdp.construct_memory_view %pages, sizes: [4], strides: [1] {coordinate_set = #box_4, memory_space = #ktdp.memory_space<global>} : memref<4xi32>
    %y_view = ktdp.construct_memory_view %y, sizes: [4, 16, 64], strides: [1024, 64, 1] {coordinate_set = #box_4x16x64, memory_space = #ktdp.memory_space<global>} : memref<4x16x64xf16>
    %page_tile = ktdp.construct_indirect_access_tile intermediate_variables(%p, %s, %lane) %cache_view[ind(%pages_view[%tile * 2 + %p]), (%s), (%lane)] {variables_space_order = #id3, variables_space_set = #box_2x16x64} : memref<8x16x64xf16>, memref<4xi32> -> !ktdp.access_tile<2x16x64xindex>
    %slots = ktdp.load %page_tile : <2x16x64xindex> -> tensor<2x16x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 2, 0, 0] {access_tile_order = #id3, access_tile_set = #box_2x16x64} : memref<4x16x64xf16> -> !ktdp.access_tile<2x16x64xindex>
    ktdp.store %slots, %y_tile : tensor<2x16x64xf16>, <2x16x64xindex>
    return
  }
}
