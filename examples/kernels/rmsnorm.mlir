// y[r, c] = x[r, c] * rsqrt(mean over c of x^2 + eps) * w[c].
//   x, y: [1024, 1024] f16; w: [1024] f16; eps: a scalar argument (its example value rides on the function).
// 32 tiles of 32 rows, all at once; f16 in memory, f32 in between.
#identity1 = affine_map<(d0) -> (d0)>
#identity2 = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#matrix = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1023 >= 0, d1 >= 0, -d1 + 1023 >= 0)>
#rows = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0, d1 >= 0, -d1 + 1023 >= 0)>
#weight = affine_set<(d0) : (d0 >= 0, -d0 + 1023 >= 0)>
module {
  func.func @rmsnorm(%x: index, %w: index, %y: index, %eps: f32) attributes {grid = [32], headrace.example = {eps = 1.0e-05 : f32}} {
    %tile = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %count = arith.constant 1024.0 : f32
    %first = arith.muli %tile, %c32 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [1024, 1024], strides: [1024, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x1024xf16>
    %w_view = ktdp.construct_memory_view %w, sizes: [1024], strides: [1] {coordinate_set = #weight, memory_space = #ktdp.memory_space<global>} : memref<1024xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [1024, 1024], strides: [1024, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x1024xf16>
    %x_tile = ktdp.construct_access_tile %x_view[%first, %c0] {access_tile_order = #identity2, access_tile_set = #rows} : memref<1024x1024xf16> -> !ktdp.access_tile<32x1024xindex>
    %w_tile = ktdp.construct_access_tile %w_view[%c0] {access_tile_order = #identity1, access_tile_set = #weight} : memref<1024xf16> -> !ktdp.access_tile<1024xindex>
    %y_tile = ktdp.construct_access_tile %y_view[%first, %c0] {access_tile_order = #identity2, access_tile_set = #rows} : memref<1024x1024xf16> -> !ktdp.access_tile<32x1024xindex>
    %narrow = ktdp.load %x_tile : <32x1024xindex> -> tensor<32x1024xf16>
    %weight = ktdp.load %w_tile : <1024xindex> -> tensor<1024xf16>

    // The squares are widened, multiplied and summed in one statement.
    %e0 = tensor.empty() : tensor<32xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32xf32>) -> tensor<32xf32>
    %squares = linalg.generic {indexing_maps = [#identity2, #row], iterator_types = ["parallel", "reduction"]} ins(%narrow : tensor<32x1024xf16>) outs(%zeros : tensor<32xf32>) {
    ^bb0(%v: f16, %sum: f32):
      %a = arith.extf %v : f16 to f32
      %s = arith.mulf %a, %a : f32
      %t = arith.addf %sum, %s : f32
      linalg.yield %t : f32
    } -> tensor<32xf32>

    %e1 = tensor.empty() : tensor<32xf32>
    %scale = linalg.generic {indexing_maps = [#identity1, #identity1], iterator_types = ["parallel"]} ins(%squares : tensor<32xf32>) outs(%e1 : tensor<32xf32>) {
    ^bb0(%v: f32, %o: f32):
      %mean = arith.divf %v, %count : f32
      %s = arith.addf %mean, %eps : f32
      %r = math.rsqrt %s : f32
      linalg.yield %r : f32
    } -> tensor<32xf32>

    %e2 = tensor.empty() : tensor<32x1024xf16>
    %result = linalg.generic {indexing_maps = [#identity2, #row, #column, #identity2], iterator_types = ["parallel", "parallel"]} ins(%narrow, %scale, %weight : tensor<32x1024xf16>, tensor<32xf32>, tensor<1024xf16>) outs(%e2 : tensor<32x1024xf16>) {
    ^bb0(%v: f16, %s: f32, %g: f16, %o: f16):
      %a = arith.extf %v : f16 to f32
      %b = arith.extf %g : f16 to f32
      %n = arith.mulf %a, %s : f32
      %p = arith.mulf %n, %b : f32
      %h = arith.truncf %p : f32 to f16
      linalg.yield %h : f16
    } -> tensor<32x1024xf16>
    ktdp.store %result, %y_tile : tensor<32x1024xf16>, <32x1024xindex>
    return
  }
}
