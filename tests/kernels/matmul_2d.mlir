// Matrix product on a 2x2 grid: y = a b, 32 terms at a time, f32 sums.
// a 32x128, b 128x128, y 32x128, all f16; tile (i, j) owns 16 rows and 64 columns.
#box_128x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 127 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#box_16x32 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 31 >= 0)>
#box_16x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_32x128 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0, d1 >= 0, -d1 + 127 >= 0)>
#box_32x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @matmul_2d(%a: index, %b: index, %y: index) attributes {grid = [2, 2]} {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c32 = arith.constant 32 : index
    %i, %j = ktdp.get_compute_tile_id : index, index
    %a_view = ktdp.construct_memory_view %a, sizes: [32, 128], strides: [128, 1] {coordinate_set = #box_32x128, memory_space = #ktdp.memory_space<global>} : memref<32x128xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [128, 128], strides: [128, 1] {coordinate_set = #box_128x128, memory_space = #ktdp.memory_space<global>} : memref<128x128xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [32, 128], strides: [128, 1] {coordinate_set = #box_32x128, memory_space = #ktdp.memory_space<global>} : memref<32x128xf16>
    %empty = tensor.empty() : tensor<16x64xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x64xf32>) -> tensor<16x64xf32>
    %sum = scf.for %k = %c0 to %c128 step %c32 iter_args(%sum_so_far = %init) -> (tensor<16x64xf32>) {
      %rows_tile = ktdp.construct_access_tile %a_view[%i * 16, %k] {access_tile_order = #id2, access_tile_set = #box_16x32} : memref<32x128xf16> -> !ktdp.access_tile<16x32xindex>
      %rows = ktdp.load %rows_tile : <16x32xindex> -> tensor<16x32xf16>
      %columns_tile = ktdp.construct_access_tile %b_view[%k, %j * 64] {access_tile_order = #id2, access_tile_set = #box_32x64} : memref<128x128xf16> -> !ktdp.access_tile<32x64xindex>
      %columns = ktdp.load %columns_tile : <32x64xindex> -> tensor<32x64xf16>
      %product = linalg.matmul ins(%rows, %columns : tensor<16x32xf16>, tensor<32x64xf16>) outs(%sum_so_far : tensor<16x64xf32>) -> tensor<16x64xf32>
      scf.yield %product : tensor<16x64xf32>
    }
    %sum_f16 = arith.truncf %sum : tensor<16x64xf32> to tensor<16x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%i * 16, %j * 64] {access_tile_order = #id2, access_tile_set = #box_16x64} : memref<32x128xf16> -> !ktdp.access_tile<16x64xindex>
    ktdp.store %sum_f16, %y_tile : tensor<16x64xf16>, <16x64xindex>
    return
  }
}
