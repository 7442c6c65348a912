// y = (x - mean) * rsqrt(variance + 1e-5) * w + b, mean and variance along the columns, in two passes.
//   x, y: [1024, 1024] f16; w, b: [1024] f16.
// 32 tiles of 32 rows, 16 rows at a time; f16 in memory, f32 in between.
#identity1 = affine_map<(d0) -> (d0)>
#identity2 = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#matrix = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1023 >= 0, d1 >= 0, -d1 + 1023 >= 0)>
#block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0, -d1 + 1023 >= 0)>
#vector = affine_set<(d0) : (d0 >= 0, -d0 + 1023 >= 0)>
module {
  func.func @layernorm(%x: index, %w: index, %b: index, %y: index) attributes {grid = [32]} {
    %tile = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %count = arith.constant 1024.0 : f32
    %eps = arith.constant 1.0e-05 : f32
    %first = arith.muli %tile, %c32 : index
    %end = arith.addi %first, %c32 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [1024, 1024], strides: [1024, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x1024xf16>
    %w_view = ktdp.construct_memory_view %w, sizes: [1024], strides: [1] {coordinate_set = #vector, memory_space = #ktdp.memory_space<global>} : memref<1024xf16>
    %b_view = ktdp.construct_memory_view %b, sizes: [1024], strides: [1] {coordinate_set = #vector, memory_space = #ktdp.memory_space<global>} : memref<1024xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [1024, 1024], strides: [1024, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x1024xf16>
    // The weights are read once and stay.
    %w_tile = ktdp.construct_access_tile %w_view[%c0] {access_tile_order = #identity1, access_tile_set = #vector} : memref<1024xf16> -> !ktdp.access_tile<1024xindex>
    %b_tile = ktdp.construct_access_tile %b_view[%c0] {access_tile_order = #identity1, access_tile_set = #vector} : memref<1024xf16> -> !ktdp.access_tile<1024xindex>
    %w_narrow = ktdp.load %w_tile : <1024xindex> -> tensor<1024xf16>
    %b_narrow = ktdp.load %b_tile : <1024xindex> -> tensor<1024xf16>
    %weight = arith.extf %w_narrow : tensor<1024xf16> to tensor<1024xf32>
    %bias = arith.extf %b_narrow : tensor<1024xf16> to tensor<1024xf32>
    scf.for %r = %first to %end step %c16 {
      %x_tile = ktdp.construct_access_tile %x_view[%r, %c0] {access_tile_order = #identity2, access_tile_set = #block} : memref<1024x1024xf16> -> !ktdp.access_tile<16x1024xindex>
      %narrow = ktdp.load %x_tile : <16x1024xindex> -> tensor<16x1024xf16>
      %wide = arith.extf %narrow : tensor<16x1024xf16> to tensor<16x1024xf32>
      %e0 = tensor.empty() : tensor<16xf32>
      %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16xf32>) -> tensor<16xf32>
      %total = linalg.reduce { arith.addf } ins(%wide : tensor<16x1024xf32>) outs(%zeros : tensor<16xf32>) dimensions = [1]
      %e1 = tensor.empty() : tensor<16x1024xf32>
      %centred = linalg.generic {indexing_maps = [#identity2, #row, #identity2], iterator_types = ["parallel", "parallel"]} ins(%wide, %total : tensor<16x1024xf32>, tensor<16xf32>) outs(%e1 : tensor<16x1024xf32>) {
      ^bb0(%v: f32, %s: f32, %o: f32):
        %mean = arith.divf %s, %count : f32
        %d = arith.subf %v, %mean : f32
        linalg.yield %d : f32
      } -> tensor<16x1024xf32>
      %squares = linalg.generic {indexing_maps = [#identity2, #row], iterator_types = ["parallel", "reduction"]} ins(%centred : tensor<16x1024xf32>) outs(%zeros : tensor<16xf32>) {
      ^bb0(%v: f32, %sum: f32):
        %s = arith.mulf %v, %v : f32
        %t = arith.addf %sum, %s : f32
        linalg.yield %t : f32
      } -> tensor<16xf32>
      %e2 = tensor.empty() : tensor<16xf32>
      %scale = linalg.generic {indexing_maps = [#identity1, #identity1], iterator_types = ["parallel"]} ins(%squares : tensor<16xf32>) outs(%e2 : tensor<16xf32>) {
      ^bb0(%v: f32, %o: f32):
        %variance = arith.divf %v, %count : f32
        %s = arith.addf %variance, %eps : f32
        %q = math.rsqrt %s : f32
        linalg.yield %q : f32
      } -> tensor<16xf32>
      %e3 = tensor.empty() : tensor<16x1024xf16>
      %result = linalg.generic {indexing_maps = [#identity2, #row, #column, #column, #identity2], iterator_types = ["parallel", "parallel"]} ins(%centred, %scale, %weight, %bias : tensor<16x1024xf32>, tensor<16xf32>, tensor<1024xf32>, tensor<1024xf32>) outs(%e3 : tensor<16x1024xf16>) {
      ^bb0(%d: f32, %s: f32, %g: f32, %h: f32, %o: f16):
        %n = arith.mulf %d, %s : f32
        %p = arith.mulf %n, %g : f32
        %q = arith.addf %p, %h : f32
        %t = arith.truncf %q : f32 to f16
        linalg.yield %t : f16
      } -> tensor<16x1024xf16>
      %y_tile = ktdp.construct_access_tile %y_view[%r, %c0] {access_tile_order = #identity2, access_tile_set = #block} : memref<1024x1024xf16> -> !ktdp.access_tile<16x1024xindex>
      ktdp.store %result, %y_tile : tensor<16x1024xf16>, <16x1024xindex>
    }
    return
  }
}
