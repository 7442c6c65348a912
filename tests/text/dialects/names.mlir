// Names stay as written, and sibling regions may use one name twice.
// CHECK-LABEL: func.func @f(%x_0: index, %x_1: index, %x: f32)
func.func @f(%x_0: index, %x_1: index, %x: f32) {
  // CHECK: scf.for %i = %x_0 to %x_1 step %x_0 {
  // CHECK-NEXT: %y = arith.addi %i, %i : index
  scf.for %i = %x_0 to %x_1 step %x_0 {
    %y = arith.addi %i, %i : index
  }
  // CHECK: scf.for %i = %x_0 to %x_1 step %x_0 {
  // CHECK-NEXT: %y = arith.addi %i, %i : index
  scf.for %i = %x_0 to %x_1 step %x_0 {
    %y = arith.addi %i, %i : index
  }
  // CHECK: %0 = arith.addi %x_0, %x_1 : index
  %5 = arith.addi %x_0, %x_1 : index
  return
}
// CHECK-LABEL: func.func @g(%x_0: index)
func.func @g(%x_0: index) {
  return
}
// A group shows captured memories under their names.
// CHECK: group share(%lx) {
// CHECK-NEXT: %u = exec_unit {kind = "L1LU"}
// CHECK-NEXT: datapath {ktdf_arch.bandwidth = 128 : i64} %lx to %u : memory, exec_unit
ktdf_arch.device @d {
  %lx = memory @lx {kind = "L1", size = 1024}
  group share(%lx) {
    %u = exec_unit {kind = "L1LU"}
    datapath {ktdf_arch.bandwidth = 128} %lx to %u : memory, exec_unit
  }
  // CHECK: %s:2 = switch [2]{{$}}
  %s:2 = switch [2] {connectivity = dense<true> : tensor<2x2xi1>}
  // CHECK: switch [3] {connectivity = sparse<{{.*}}0, 1], [1, 2]], true> : tensor<3x3xi1>, headrace.count = 4 : i64}
  %r:3 = switch [3] {headrace.count = 4, connectivity = sparse<[[0, 1], [1, 2]], true> : tensor<3x3xi1>}
}
