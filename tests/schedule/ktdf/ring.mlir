// y[c] = x[c] + x[c - 1] on 4 cores: every vector unit hands its row to the next core's.
#G = #ktdp.memory_space<global>
#S = #ktdp.memory_space<ct_local>
!in = !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf32>
!hop = !ktdf.fifo.slot<"SFU" -> "SFU", 64xf32>
!out = !ktdf.fifo.slot<"SFU" -> "L1SU", 64xf32>
module attributes {headrace.args = [{name = "x", dtype = "f32", shape = [4, 64], role = "in"}, {name = "y", dtype = "f32", shape = [4, 64], role = "out"}]} {
  func.func @ring(%x: index, %y: index) attributes {grid = [4], headrace.cores = array<i64: 0, 1, 2, 3>} {
    %core = ktdp.get_compute_tile_id : index
    %xv = ktdp.construct_memory_view %x, sizes: [4, 64], strides: [64, 1] {coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>, memory_space = #G} : memref<4x64xf32>
    %yv = ktdp.construct_memory_view %y, sizes: [4, 64], strides: [64, 1] {coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>, memory_space = #G} : memref<4x64xf32>
    %xl = memref.alloc() : memref<64xf32, #S>
    %yl = memref.alloc() : memref<64xf32, #S>
    ktdf.pipeline {
      %p:3 = ktdf.private -> (!in, !hop, !out) {
        %a = ktdf.fifo.allocate() -> !in
        %h = ktdf.fifo.allocate() {headrace.ring_step = 1 : i64} -> !hop
        %o = ktdf.fifo.allocate() -> !out
        ktdf.private_yield %a, %h, %o : !in, !hop, !out
      }
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %xv[%core, 0] size [1, 64] to %xl[0] size [64] : memref<4x64xf32>, memref<64xf32, #S>
      } {applicable_units = ["MNILU"]}
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %xl[0] size [64] to %p#0 size [64] : memref<64xf32, #S>, !in
      } {applicable_units = ["L1LU"]}
      ktdf.stage depends_in(none) depends_out(none) {
        %own = ktdf.read_from_fifo %p#0 : <"L1LU" -> "SFU", 64xf32> -> tensor<64xf32>
        ktdf.write_to_fifo %own, %p#1 : tensor<64xf32>, <"SFU" -> "SFU", 64xf32>
        %other = ktdf.read_from_fifo %p#1 : <"SFU" -> "SFU", 64xf32> -> tensor<64xf32>
        %sum = arith.addf %own, %other : tensor<64xf32>
        ktdf.write_to_fifo %sum, %p#2 : tensor<64xf32>, <"SFU" -> "L1SU", 64xf32>
      } {applicable_units = ["SFU"]}
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %p#2 size [64] to %yl[0] size [64] : !out, memref<64xf32, #S>
      } {applicable_units = ["L1SU"]}
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %yl[0] size [64] to %yv[%core, 0] size [1, 64] : memref<64xf32, #S>, memref<4x64xf32>
      } {applicable_units = ["MNISU"]}
    }
    return
  }
}
