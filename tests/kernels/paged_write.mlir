// A write into a paged cache: cache[pages[t floordiv 4], t mod 4, :] = x[t, :] for every token t.
// x 16x64 f16, pages 4 i32 (distinct), cache 8x4x64 f16 (page, slot, lane); 2 tiles own 8 tokens each.
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_4 = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#box_8x4x64 = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 3 >= 0, d2 >= 0, -d2 + 63 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @paged_write(%x: index, %pages: index, %cache: index) attributes {grid = [2]} {
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [16, 64], strides: [64, 1] {coordinate_set = #box_16x64, memory_space = #ktdp.memory_space<global>} : memref<16x64xf16>
    %pages_view = ktdp.construct_memory_view %pages, sizes: [4], strides: [1] {coordinate_set = #box_4, memory_space = #ktdp.memory_space<global>} : memref<4xi32>
    %cache_view = ktdp.construct_memory_view %cache, sizes: [8, 4, 64], strides: [256, 64, 1] {coordinate_set = #box_8x4x64, memory_space = #ktdp.memory_space<global>} : memref<8x4x64xf16>
    %x_tile = ktdp.construct_access_tile %x_view[%tile * 8, 0] {access_tile_order = #id2, access_tile_set = #box_8x64} : memref<16x64xf16> -> !ktdp.access_tile<8x64xindex>
    %x_in = ktdp.load %x_tile : <8x64xindex> -> tensor<8x64xf16>
    %slot_tile = ktdp.construct_indirect_access_tile intermediate_variables(%t, %lane) %cache_view[ind(%pages_view[%tile * 2 + %t floordiv 4]), (%t mod 4), (%lane)] {variables_space_order = #id2, variables_space_set = #box_8x64} : memref<8x4x64xf16>, memref<4xi32> -> !ktdp.access_tile<8x64xindex>
    ktdp.store %x_in, %slot_tile : tensor<8x64xf16>, <8x64xindex>
    return
  }
}
