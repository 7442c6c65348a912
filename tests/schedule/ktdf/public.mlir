// y = x * x on 2 cores in the form public schedulers write: composite stages, rows distributed over corelets, a derived size.
#id = affine_map<(d0) -> (d0)>
#rows = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#G = #ktdp.memory_space<global>
#S = #ktdp.memory_space<ct_local>
module {
  func.func @public() attributes {grid = [2]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c2048 = arith.constant 2048 : index
    %c8192 = arith.constant 8192 : index
    %core = ktdp.get_compute_tile_id : index
    %off = arith.muli %core, %c2048 : index
    %xv = ktdp.construct_memory_view %c0, sizes: [64, 64], strides: [64, 1] {coordinate_set = #rows, memory_space = #G} : memref<64x64xf16>
    %yv = ktdp.construct_memory_view %c8192, sizes: [64, 64], strides: [64, 1] {coordinate_set = #rows, memory_space = #G} : memref<64x64xf16>
    %xm = memref.memory_space_cast %xv : memref<64x64xf16> to memref<64x64xf16, #G>
    %ym = memref.memory_space_cast %yv : memref<64x64xf16> to memref<64x64xf16, #G>
    %x = memref.reinterpret_cast %xm to offset: [%off], sizes: [32, 64], strides: [64, 1] : memref<64x64xf16, #G> to memref<32x64xf16, strided<[64, 1], offset: ?>, #G>
    %y = memref.reinterpret_cast %ym to offset: [%off], sizes: [32, 64], strides: [64, 1] : memref<64x64xf16, #G> to memref<32x64xf16, strided<[64, 1], offset: ?>, #G>
    %a0 = memref.alloc() : memref<8x64xf16, #S>
    %a1 = memref.alloc() : memref<8x64xf16, #S>
    %b0 = memref.alloc() : memref<8x64xf16, #S>
    %b1 = memref.alloc() : memref<8x64xf16, #S>
    scf.for %t = %c0 to %c4 step %c1 {
      %len = ktdf.tiling.derive_size [%t : %c8], total_size = %c32 : index
      %ph = ktdf.buffer_phase(%t) {num_phases = 2 : i64} : index
      %a = ktdf.select_memref %ph[%a0, %a1] : memref<8x64xf16, #S>
      %b = ktdf.select_memref %ph[%b0, %b1] : memref<8x64xf16, #S>
      ktdf.pipeline modulo(size : 2) {
        %tok:2 = ktdf.private -> (!ktdf.token, !ktdf.token) {
          %t0 = ktdf.create_token : !ktdf.token
          %t1 = ktdf.create_token : !ktdf.token
          ktdf.private_yield %t0, %t1 : !ktdf.token, !ktdf.token
        }
        ktdf.stage depends_in(none) depends_out(%tok#0) {
          scf.for %r = %c0 to %len step %c1 {
            ktdf.data_transfer from %x[%t * 8 + %r, 0] size [1, 64] to %a[%r, 0] size [1, 64] : memref<32x64xf16, strided<[64, 1], offset: ?>, #G>, memref<8x64xf16, #S>
          } {loop_type = #ktdf.loop_type<parallel_loop>}
        } {applicable_units = ["MNILU"]}
        ktdf.stage depends_in(%tok#0) depends_out(%tok#1) {
          ktdf.parallel (%r, %lane) = (%c0) to (%len) step (%c1) distribute(num_instances = 2) {
            ktdf.pipeline {
              %p:4 = ktdf.private -> (!ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>, !ktdf.fifo.slot<"SFU" -> "L1SU", 64xf16>, !ktdf.token, !ktdf.token) {
                %s0 = ktdf.fifo.allocate() -> !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>
                %s1 = ktdf.fifo.allocate() -> !ktdf.fifo.slot<"SFU" -> "L1SU", 64xf16>
                %t0 = ktdf.create_token : !ktdf.token
                %t1 = ktdf.create_token : !ktdf.token
                ktdf.private_yield %s0, %s1, %t0, %t1 : !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>, !ktdf.fifo.slot<"SFU" -> "L1SU", 64xf16>, !ktdf.token, !ktdf.token
              }
              ktdf.stage depends_in(none) depends_out(%p#2) {
                ktdf.data_transfer from %a[%r, 0] size [1, 64] to %p#0 size [64] : memref<8x64xf16, #S>, !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>
              } {applicable_units = ["L1LU"]}
              ktdf.stage depends_in(%p#2) depends_out(%p#3) {
                %v = ktdf.read_from_fifo %p#0 : <"L1LU" -> "SFU", 64xf16> -> tensor<64xf16>
                %e = tensor.empty() : tensor<64xf16>
                %sq = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%v, %v : tensor<64xf16>, tensor<64xf16>) outs(%e : tensor<64xf16>) {
                ^bb0(%l: f16, %q: f16, %o: f16):
                  %m = arith.mulf %l, %q : f16
                  linalg.yield %m : f16
                } -> tensor<64xf16>
                ktdf.write_to_fifo %sq, %p#1 : tensor<64xf16>, <"SFU" -> "L1SU", 64xf16>
              } {applicable_units = ["SFU"]}
              ktdf.stage depends_in(%p#3) depends_out(none) {
                ktdf.data_transfer from %p#1 size [64] to %b[%r, 0] size [1, 64] : !ktdf.fifo.slot<"SFU" -> "L1SU", 64xf16>, memref<8x64xf16, #S>
              } {applicable_units = ["L1SU"]}
            }
            ktdf.parallel_yield
          }
        } {applicable_units = ["L1LU", "SFU", "L1SU"]}
        ktdf.stage depends_in(%tok#1) depends_out(none) {
          scf.for %r = %c0 to %len step %c1 {
            ktdf.data_transfer from %b[%r, 0] size [1, 64] to %y[%t * 8 + %r, 0] size [1, 64] : memref<8x64xf16, #S>, memref<32x64xf16, strided<[64, 1], offset: ?>, #G>
          } {loop_type = #ktdf.loop_type<parallel_loop>}
        } {applicable_units = ["MNISU"]}
      }
    } {loop_type = #ktdf.loop_type<parallel_loop>}
    return
  }
}
