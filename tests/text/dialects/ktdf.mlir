// CHECK-LABEL: func.func @schedule
func.func @schedule(%n: index, %A: memref<96x64xf16, "DDR">, %B: memref<32xi32>, %o: memref<64xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK: ktdf.tiling.reserve_size {divisibility = 4 : index, min_value = 8 : index} : index
  %ts = ktdf.tiling.reserve_size {min_value = 8 : index, divisibility = 4 : index} : index
  scf.for %i = %c0 to %c8 step %c1 {
    // CHECK: ktdf.buffer_phase(%i) {num_phases = 2 : i64} : index
    %p = ktdf.buffer_phase(%i) {num_phases = 2 : i64} : index
    %x0 = memref.alloc() : memref<64xf16, #ktdp.memory_space<ct_local>>
    %x1 = memref.alloc() : memref<64xf16, #ktdp.memory_space<ct_local>>
    // CHECK: ktdf.select_memref %p[%x0, %x1] : memref<64xf16, #ktdp.memory_space<ct_local>>
    %x = ktdf.select_memref %p[%x0, %x1] : memref<64xf16, #ktdp.memory_space<ct_local>>
    // CHECK: ktdf.tiling.derive_size [%i : %ts], [%c0 : %c1], total_size = %n : index
    %len = ktdf.tiling.derive_size [%i : %ts] [%c0 : %c1] total_size = %n : index
    // CHECK: ktdf.tiling.linearize_index [%i : %ts], [%c0 : %c1] : index
    %lin = ktdf.tiling.linearize_index [%i : %ts], [%c0 : %c1] : index
    // CHECK: ktdf.pipeline modulo(size : 2) {
    ktdf.pipeline modulo(size: 2) {
      // CHECK-NEXT: %r:2 = ktdf.private -> (!ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>, !ktdf.token) {
      %r:2 = ktdf.private -> (!ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>, !ktdf.token) {
        // CHECK-NEXT: ktdf.fifo.allocate() -> !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>
        %s = ktdf.fifo.allocate() -> !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>
        // CHECK-NEXT: ktdf.create_token : !ktdf.token
        %t = ktdf.create_token : !ktdf.token
        // CHECK-NEXT: ktdf.private_yield %s, %t
        ktdf.private_yield %s, %t : !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>, !ktdf.token
      }
      // CHECK: ktdf.stage depends_in(none) depends_out(%r#1) {
      ktdf.stage depends_in(none) depends_out(%r#1) {
        // CHECK-NEXT: ktdf.data_transfer from %A[%i * 3, 0] size [1, 64] to %x[%c0] size [64] {transfer_mode = "splat"} : memref<96x64xf16, "DDR">, memref<64xf16, #ktdp.memory_space<ct_local>>
        ktdf.data_transfer from %A[%i * 2 + %i, 0] size [1, 64] to %x[%c0] size [64] {transfer_mode = "splat"} : memref<96x64xf16, "DDR">, memref<64xf16, #ktdp.memory_space<ct_local>>
        // CHECK-NEXT: ktdf.data_transfer from %x[0] size [%n] to %r#0 : memref
        ktdf.data_transfer from %x[0] size [%n] to %r#0 : memref<64xf16, #ktdp.memory_space<ct_local>>, !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16>
      // CHECK-NEXT: } {applicable_units = ["MNILU"]}
      } {applicable_units = ["MNILU"]}
      ktdf.stage depends_in(%r#1) depends_out(none) {
        // CHECK: ktdf.read_from_fifo %r#0 : <"L1LU" -> "SFU", 64xf16> -> tensor<8x8xf16>
        %d = ktdf.read_from_fifo %r#0 : !ktdf.fifo.slot<"L1LU" -> "SFU", 64xf16> -> tensor<8x8xf16>
        // CHECK: ktdf.write_to_fifo %d, %r#0 : tensor<8x8xf16>, <"L1LU" -> "SFU", 64xf16>
        ktdf.write_to_fifo %d, %r#0 : tensor<8x8xf16>, <"L1LU" -> "SFU", 64xf16>
      }
    }
    // CHECK: ktdf.parallel (%m, %inst) = (%c0) to (%c8) step (%c1) distribute(num_instances = 2) {
    // CHECK-NEXT: ktdf.parallel_yield
    ktdf.parallel (%m, %inst) = (%c0) to (%c8) step (%c1) distribute(num_instances = 2) {
      ktdf.parallel_yield
    }
  // CHECK: } {loop_type = #ktdf.loop_type<reduction_loop>}
  } {loop_type = #ktdf.loop_type<reduction_loop>}
  // CHECK: ktdf.opaque "headrace.gather" {headrace.dim = 0 : i64}
  // CHECK-NEXT: ins(%B, %A: memref<32xi32>, memref<96x64xf16, "DDR">)
  // CHECK-NEXT: outs(%o: memref<64xf16>)
  ktdf.opaque "headrace.gather" {headrace.dim = 0} ins(%B, %A : memref<32xi32>, memref<96x64xf16, "DDR">) outs(%o : memref<64xf16>)
  return
}
