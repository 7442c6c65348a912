// y = (x + row) * col on 2 cores x 2 corelets: 64 x 256 f16, tiles of 8 rows, three copies, rows split over the corelets.
#G = #ktdp.memory_space<global>
#S = #ktdp.memory_space<ct_local>
#id = affine_map<(d0) -> (d0)>
#splat = affine_map<(d0) -> (0)>
#xs = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 255 >= 0)>
#rs = affine_set<(d0) : (d0 >= 0, -d0 + 255 >= 0)>
#cs = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>
module attributes {headrace.args = [{name = "x", dtype = "f16", shape = [64, 256], role = "in"}, {name = "row", dtype = "f16", shape = [256], role = "in"}, {name = "col", dtype = "f16", shape = [64], role = "in"}, {name = "y", dtype = "f16", shape = [64, 256], role = "out"}]} {
  func.func @elementwise(%x: index, %row: index, %col: index, %y: index) attributes {grid = [2], headrace.cores = array<i64: 0, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %core = ktdp.get_compute_tile_id : index
    %table = uniform.def_immutable_mapping([%c0 -> %c0], [%c1 -> %c32]):index
    %base = uniform.query_map(map:%table, key:%core) : index
    %xv = ktdp.construct_memory_view %x, sizes: [64, 256], strides: [256, 1] {coordinate_set = #xs, memory_space = #G} : memref<64x256xf16>
    %rowv = ktdp.construct_memory_view %row, sizes: [256], strides: [1] {coordinate_set = #rs, memory_space = #G} : memref<256xf16>
    %colv = ktdp.construct_memory_view %col, sizes: [64], strides: [1] {coordinate_set = #cs, memory_space = #G} : memref<64xf16>
    %yv = ktdp.construct_memory_view %y, sizes: [64, 256], strides: [256, 1] {coordinate_set = #xs, memory_space = #G} : memref<64x256xf16>
    %rowl = memref.alloc() : memref<256xf16, #S>
    %coll = memref.alloc() : memref<32xf16, #S>
    %x0 = memref.alloc() : memref<8x256xf16, #S>
    %x1 = memref.alloc() : memref<8x256xf16, #S>
    %x2 = memref.alloc() : memref<8x256xf16, #S>
    %y0 = memref.alloc() : memref<8x256xf16, #S>
    %y1 = memref.alloc() : memref<8x256xf16, #S>
    %y2 = memref.alloc() : memref<8x256xf16, #S>
    ktdf.pipeline {
      ktdf.stage depends_in(none) depends_out(none) {
        ktdf.data_transfer from %rowv[0] size [256] to %rowl[0] size [256] : memref<256xf16>, memref<256xf16, #S>
        ktdf.data_transfer from %colv[%base] size [32] to %coll[0] size [32] : memref<64xf16>, memref<32xf16, #S>
      } {applicable_units = ["MNILU"]}
    }
    ktdf.parallel (%i, %cl) = (%c0) to (%c2) step (%c1) distribute(num_instances = 2) {
      ktdf.pipeline {
        %p = ktdf.private -> (!ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>) {
          %s = ktdf.fifo.allocate() -> !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>
          ktdf.private_yield %s : !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>
        }
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %rowl[0] size [256] to %p size [256] : memref<256xf16, #S>, !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>
        } {applicable_units = ["L1LU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          %w = ktdf.read_from_fifo %p : <"L1LU" -> "SFU", 256xf16> -> tensor<256xf16>
        } {applicable_units = ["SFU"]}
      }
      ktdf.parallel_yield
    }
    scf.for %t = %c0 to %c4 step %c1 {
      %ph = ktdf.buffer_phase(%t) {num_phases = 3 : i64} : index
      %xl = ktdf.select_memref %ph[%x0, %x1, %x2] : memref<8x256xf16, #S>
      %yl = ktdf.select_memref %ph[%y0, %y1, %y2] : memref<8x256xf16, #S>
      ktdf.pipeline modulo(size : 3) {
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %xv[%base + %t * 8, 0] size [8, 256] to %xl[0, 0] size [8, 256] : memref<64x256xf16>, memref<8x256xf16, #S>
        } {applicable_units = ["MNILU"]}
      }
      ktdf.parallel (%i, %cl) = (%c0) to (%c2) step (%c1) distribute(num_instances = 2) {
        %first = arith.muli %cl, %c4 : index
        %last = arith.addi %first, %c4 : index
        ktdf.pipeline {
          %p:4 = ktdf.private -> (!ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>, !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>, !ktdf.fifo.slot<"L1LU" -> "SFU", 1xf16>, !ktdf.fifo.slot<"SFU" -> "L1SU", 256xf16>) {
            %s:3 = ktdf.fifo.allocate() -> !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>, !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>, !ktdf.fifo.slot<"L1LU" -> "SFU", 1xf16>
            %o = ktdf.fifo.allocate() -> !ktdf.fifo.slot<"SFU" -> "L1SU", 256xf16>
            ktdf.private_yield %s#0, %s#1, %s#2, %o : !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>, !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>, !ktdf.fifo.slot<"L1LU" -> "SFU", 1xf16>, !ktdf.fifo.slot<"SFU" -> "L1SU", 256xf16>
          }
          ktdf.stage depends_in(none) depends_out(none) {
            scf.for %r = %first to %last step %c1 {
              ktdf.data_transfer from %xl[%r, 0] size [1, 256] to %p#0 size [256] : memref<8x256xf16, #S>, !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>
              ktdf.data_transfer from %rowl[0] size [256] to %p#1 size [256] : memref<256xf16, #S>, !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>
              ktdf.data_transfer from %coll[%t * 8 + %r] size [1] to %p#2 size [1] : memref<32xf16, #S>, !ktdf.fifo.slot<"L1LU" -> "SFU", 1xf16>
            } {loop_type = #ktdf.loop_type<parallel_loop>}
          } {applicable_units = ["L1LU"]}
          ktdf.stage depends_in(none) depends_out(none) {
            scf.for %r = %first to %last step %c1 {
              %v = ktdf.read_from_fifo %p#0 : <"L1LU" -> "SFU", 256xf16> -> tensor<256xf16>
              %w = ktdf.read_from_fifo %p#1 : <"L1LU" -> "SFU", 256xf16> -> tensor<256xf16>
              %c = ktdf.read_from_fifo %p#2 : <"L1LU" -> "SFU", 1xf16> -> tensor<1xf16>
              %e = tensor.empty() : tensor<256xf16>
              %z = linalg.generic {indexing_maps = [#id, #id, #splat, #id], iterator_types = ["parallel"]} ins(%v, %w, %c : tensor<256xf16>, tensor<256xf16>, tensor<1xf16>) outs(%e : tensor<256xf16>) {
              ^bb0(%xe: f16, %we: f16, %ce: f16, %oe: f16):
                %s = arith.addf %xe, %we : f16
                %m = arith.mulf %s, %ce : f16
                linalg.yield %m : f16
              } -> tensor<256xf16>
              ktdf.write_to_fifo %z, %p#3 : tensor<256xf16>, <"SFU" -> "L1SU", 256xf16>
            } {loop_type = #ktdf.loop_type<parallel_loop>}
          } {applicable_units = ["SFU"]}
          ktdf.stage depends_in(none) depends_out(none) {
            scf.for %r = %first to %last step %c1 {
              ktdf.data_transfer from %p#3 size [256] to %yl[%r, 0] size [1, 256] : !ktdf.fifo.slot<"SFU" -> "L1SU", 256xf16>, memref<8x256xf16, #S>
            } {loop_type = #ktdf.loop_type<parallel_loop>}
          } {applicable_units = ["L1SU"]}
        }
        ktdf.parallel_yield
      }
      ktdf.pipeline {
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %yl[0, 0] size [8, 256] to %yv[%base + %t * 8, 0] size [8, 256] : memref<8x256xf16, #S>, memref<64x256xf16>
        } {applicable_units = ["MNISU"]}
      }
    } {loop_type = #ktdf.loop_type<parallel_loop>}
    return
  }
}
