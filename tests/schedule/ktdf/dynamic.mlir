// y[i] = x[i] + x[i] for n elements, n known at launch: blocks of 256, the last one shorter.
#G = #ktdp.memory_space<global>
#S = #ktdp.memory_space<ct_local>
!in = !ktdf.fifo.slot<"L1LU" -> "SFU", 256xf16>
!out = !ktdf.fifo.slot<"SFU" -> "L1SU", 256xf16>
module attributes {headrace.args = [{name = "x", dtype = "f16", shape = [1024], role = "in"}, {name = "y", dtype = "f16", shape = [1024], role = "out"}]} {
  func.func @dynamic(%x: index, %y: index, %n: index) attributes {grid = [1], headrace.cores = array<i64: 0>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %blocks = arith.ceildivsi %n, %c256 : index
    %xv = ktdp.construct_memory_view %x, sizes: [%n], strides: [1] {coordinate_set = affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)>, memory_space = #G} : memref<?xf16>
    %yv = ktdp.construct_memory_view %y, sizes: [%n], strides: [1] {coordinate_set = affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)>, memory_space = #G} : memref<?xf16>
    %x0 = memref.alloc() : memref<256xf16, #S>
    %x1 = memref.alloc() : memref<256xf16, #S>
    %y0 = memref.alloc() : memref<256xf16, #S>
    %y1 = memref.alloc() : memref<256xf16, #S>
    scf.for %t = %c0 to %blocks step %c1 {
      %ph = ktdf.buffer_phase(%t) {num_phases = 2 : i64} : index
      %xl = ktdf.select_memref %ph[%x0, %x1] : memref<256xf16, #S>
      %yl = ktdf.select_memref %ph[%y0, %y1] : memref<256xf16, #S>
      %done = arith.muli %t, %c256 : index
      %left = arith.subi %n, %done : index
      %size = arith.minsi %left, %c256 : index
      ktdf.pipeline {
        %p:2 = ktdf.private -> (!in, !out) {
          %a = ktdf.fifo.allocate() -> !in
          %b = ktdf.fifo.allocate() -> !out
          ktdf.private_yield %a, %b : !in, !out
        }
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %xv[%t * 256] size [%size] to %xl[0] size [%size] : memref<?xf16>, memref<256xf16, #S>
        } {applicable_units = ["MNILU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %xl[0] size [%size] to %p#0 size [256] : memref<256xf16, #S>, !in
        } {applicable_units = ["L1LU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          %v = ktdf.read_from_fifo %p#0 : <"L1LU" -> "SFU", 256xf16> -> tensor<256xf16>
          %w = arith.addf %v, %v : tensor<256xf16>
          ktdf.write_to_fifo %w, %p#1 : tensor<256xf16>, <"SFU" -> "L1SU", 256xf16>
        } {applicable_units = ["SFU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %p#1 size [256] to %yl[0] size [%size] : !out, memref<256xf16, #S>
        } {applicable_units = ["L1SU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %yl[0] size [%size] to %yv[%t * 256] size [%size] : memref<256xf16, #S>, memref<?xf16>
        } {applicable_units = ["MNISU"]}
      }
    }
    return
  }
}
