// y[c] = transpose(w) + x[c] on 4 cores: w (32 x 64) is read once for two cores each, its columns are rows of a step.
#G = #ktdp.memory_space<global>
#S = #ktdp.memory_space<ct_local>
#id = affine_map<(d0) -> (d0)>
!in = !ktdf.fifo.slot<"L1LU" -> "SFU", 32xf16>
!out = !ktdf.fifo.slot<"SFU" -> "L1SU", 32xf16>
module attributes {headrace.args = [{name = "w", dtype = "f16", shape = [32, 64], role = "in"}, {name = "x", dtype = "f16", shape = [4, 64, 32], role = "in"}, {name = "y", dtype = "f16", shape = [4, 64, 32], role = "out"}]} {
  func.func @multicast(%w: index, %x: index, %y: index) attributes {grid = [4], headrace.cores = array<i64: 0, 1, 2, 3>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %core = ktdp.get_compute_tile_id : index
    %wv = ktdp.construct_memory_view %w, sizes: [32, 64], strides: [64, 1] {coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0, d1 >= 0, -d1 + 63 >= 0)>, memory_space = #G} : memref<32x64xf16>
    %xv = ktdp.construct_memory_view %x, sizes: [4, 64, 32], strides: [2048, 32, 1] {coordinate_set = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0, d2 >= 0, -d2 + 31 >= 0)>, memory_space = #G} : memref<4x64x32xf16>
    %yv = ktdp.construct_memory_view %y, sizes: [4, 64, 32], strides: [2048, 32, 1] {coordinate_set = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0, d2 >= 0, -d2 + 31 >= 0)>, memory_space = #G} : memref<4x64x32xf16>
    %wl = memref.alloc() : memref<32x64xf16, #S>
    %xl = memref.alloc() : memref<64x32xf16, #S>
    ktdf.pipeline {
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %wv[0, 0] size [32, 64] to %wl[0, 0] size [32, 64] {headrace.multicast_groups = array<i64: 0, 0, 1, 1>} : memref<32x64xf16>, memref<32x64xf16, #S>
        ktdf.data_transfer from %xv[%core, 0, 0] size [1, 64, 32] to %xl[0, 0] size [64, 32] : memref<4x64x32xf16>, memref<64x32xf16, #S>
      } {applicable_units = ["MNILU"]}
    }
    ktdf.parallel (%i, %cl) = (%c0) to (%c2) step (%c1) distribute(num_instances = 2) {
      %first = arith.muli %cl, %c32 : index
      ktdf.pipeline {
        %p:3 = ktdf.private -> (!in, !in, !out) {
          %a = ktdf.fifo.allocate() -> !in
          %b = ktdf.fifo.allocate() -> !in
          %o = ktdf.fifo.allocate() -> !out
          ktdf.private_yield %a, %b, %o : !in, !in, !out
        }
        ktdf.stage depends_in(none) depends_out(none) {
          scf.for %r = %c0 to %c32 step %c1 {
            ktdf.data_transfer from %wl[0, %r + %first] size [32, 1] to %p#0 size [32] : memref<32x64xf16, #S>, !in
            ktdf.data_transfer from %xl[%r + %first, 0] size [1, 32] to %p#1 size [32] : memref<64x32xf16, #S>, !in
          } {loop_type = #ktdf.loop_type<parallel_loop>}
        } {applicable_units = ["L1LU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          scf.for %r = %c0 to %c32 step %c1 {
            %u = ktdf.read_from_fifo %p#0 : <"L1LU" -> "SFU", 32xf16> -> tensor<32xf16>
            %v = ktdf.read_from_fifo %p#1 : <"L1LU" -> "SFU", 32xf16> -> tensor<32xf16>
            %e = tensor.empty() : tensor<32xf16>
            %s = linalg.add ins(%u, %v : tensor<32xf16>, tensor<32xf16>) outs(%e : tensor<32xf16>) -> tensor<32xf16>
            ktdf.write_to_fifo %s, %p#2 : tensor<32xf16>, <"SFU" -> "L1SU", 32xf16>
          } {loop_type = #ktdf.loop_type<parallel_loop>}
        } {applicable_units = ["SFU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          scf.for %r = %c0 to %c32 step %c1 {
            ktdf.data_transfer from %p#2 size [32] to %xl[%r + %first, 0] size [1, 32] : !out, memref<64x32xf16, #S>
          } {loop_type = #ktdf.loop_type<parallel_loop>}
        } {applicable_units = ["L1SU"]}
      }
      ktdf.parallel_yield
    }
    ktdf.pipeline {
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %xl[0, 0] size [64, 32] to %yv[%core, 0, 0] size [1, 64, 32] : memref<64x32xf16, #S>, memref<4x64x32xf16>
      } {applicable_units = ["MNISU"]}
    }
    return
  }
}
