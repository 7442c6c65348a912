// y = x, w = v through two buffers of 40 KB that a scratchpad of 64 KB cannot hold side by side.
#G = #ktdp.memory_space<global>
#S = #ktdp.memory_space<ct_local>
#n = affine_set<(d0) : (d0 >= 0, -d0 + 20479 >= 0)>
module attributes {headrace.args = [{name = "x", dtype = "f16", shape = [20480], role = "in"}, {name = "v", dtype = "f16", shape = [20480], role = "in"}, {name = "y", dtype = "f16", shape = [20480], role = "out"}, {name = "w", dtype = "f16", shape = [20480], role = "out"}]} {
  func.func @phases(%x: index, %v: index, %y: index, %w: index) attributes {grid = [1], headrace.cores = array<i64: 0>} {
    %xv = ktdp.construct_memory_view %x, sizes: [20480], strides: [1] {coordinate_set = #n, memory_space = #G} : memref<20480xf16>
    %vv = ktdp.construct_memory_view %v, sizes: [20480], strides: [1] {coordinate_set = #n, memory_space = #G} : memref<20480xf16>
    %yv = ktdp.construct_memory_view %y, sizes: [20480], strides: [1] {coordinate_set = #n, memory_space = #G} : memref<20480xf16>
    %wv = ktdp.construct_memory_view %w, sizes: [20480], strides: [1] {coordinate_set = #n, memory_space = #G} : memref<20480xf16>
    %a = memref.alloc() : memref<20480xf16, #S>
    %b = memref.alloc() : memref<20480xf16, #S>
    ktdf.pipeline {
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %xv[0] size [20480] to %a[0] size [20480] : memref<20480xf16>, memref<20480xf16, #S>
      } {applicable_units = ["MNILU"]}
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %a[0] size [20480] to %yv[0] size [20480] : memref<20480xf16, #S>, memref<20480xf16>
      } {applicable_units = ["MNISU"]}
    }
    ktdf.pipeline {
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %vv[0] size [20480] to %b[0] size [20480] : memref<20480xf16>, memref<20480xf16, #S>
      } {applicable_units = ["MNILU"]}
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %b[0] size [20480] to %wv[0] size [20480] : memref<20480xf16, #S>, memref<20480xf16>
      } {applicable_units = ["MNISU"]}
    }
    return
  }
}
