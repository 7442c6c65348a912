// y[i] = table[ids[i]] for 64 ids, two blocks of 32, and z[ids[i]] = y[i]: gather, copy out, scatter.
#G = #ktdp.memory_space<global>
#S = #ktdp.memory_space<ct_local>
module attributes {headrace.args = [{name = "table", dtype = "f16", shape = [100, 3, 64], role = "in"}, {name = "ids", dtype = "i32", shape = [64], role = "in"}, {name = "y", dtype = "f16", shape = [64, 64], role = "out"}, {name = "z", dtype = "f16", shape = [100, 64], role = "out"}]} {
  func.func @gather(%table: index, %ids: index, %y: index, %z: index) attributes {grid = [1], headrace.cores = array<i64: 0>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %tv = ktdp.construct_memory_view %table, sizes: [100, 3, 64], strides: [192, 64, 1] {coordinate_set = affine_set<(d0, d1, d2) : (d0 >= 0, -d0 + 99 >= 0, d1 >= 0, -d1 + 2 >= 0, d2 >= 0, -d2 + 63 >= 0)>, memory_space = #G} : memref<100x3x64xf16>
    %iv = ktdp.construct_memory_view %ids, sizes: [64], strides: [1] {coordinate_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>, memory_space = #G} : memref<64xi32>
    %yv = ktdp.construct_memory_view %y, sizes: [64, 64], strides: [64, 1] {coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 63 >= 0, d1 >= 0, -d1 + 63 >= 0)>, memory_space = #G} : memref<64x64xf16>
    %zv = ktdp.construct_memory_view %z, sizes: [100, 64], strides: [64, 1] {coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 99 >= 0, d1 >= 0, -d1 + 63 >= 0)>, memory_space = #G} : memref<100x64xf16>
    %middle = memref.subview %tv[0, 1, 0] [100, 1, 64] [1, 1, 1] : memref<100x3x64xf16> to memref<100x1x64xf16, strided<[192, 64, 1], offset: 64>>
    %i0 = memref.alloc() : memref<32xi32, #S>
    %i1 = memref.alloc() : memref<32xi32, #S>
    %t0 = memref.alloc() : memref<32x1x64xf16, #S>
    %t1 = memref.alloc() : memref<32x1x64xf16, #S>
    scf.for %t = %c0 to %c2 step %c1 {
      %ph = ktdf.buffer_phase(%t) {num_phases = 2 : i64} : index
      %il = ktdf.select_memref %ph[%i0, %i1] : memref<32xi32, #S>
      %tl = ktdf.select_memref %ph[%t0, %t1] : memref<32x1x64xf16, #S>
      %rows = memref.collapse_shape %tl [[0, 1], [2]] : memref<32x1x64xf16, #S> into memref<32x64xf16, #S>
      ktdf.pipeline {
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %iv[%t * 32] size [32] to %il[0] size [32] : memref<64xi32>, memref<32xi32, #S>
          ktdf.opaque "headrace.gather" {headrace.dim = 0 : i64} ins(%il, %middle : memref<32xi32, #S>, memref<100x1x64xf16, strided<[192, 64, 1], offset: 64>>) outs(%tl : memref<32x1x64xf16, #S>)
        } {applicable_units = ["MNILU"]}
        ktdf.stage depends_in(none) depends_out(none) {
          ktdf.data_transfer from %rows[0, 0] size [32, 64] to %yv[%t * 32, 0] size [32, 64] : memref<32x64xf16, #S>, memref<64x64xf16>
          ktdf.opaque "headrace.scatter" {headrace.dim = 0 : i64} ins(%il, %rows : memref<32xi32, #S>, memref<32x64xf16, #S>) outs(%zv : memref<100x64xf16>)
        } {applicable_units = ["MNISU"]}
      }
    }
    return
  }
}
