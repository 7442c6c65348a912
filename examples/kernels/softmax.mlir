// y[r, :] = softmax(x[r, :]) = exp(x - max) / sum(exp(x - max)).
//   x, y: [1024, 1024] f16. f16 in memory, f32 in between, rounded once at the end.
// 32 tiles of 32 rows, 8 rows at a time.
#identity = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#matrix = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1023 >= 0, d1 >= 0, -d1 + 1023 >= 0)>
#block = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 1023 >= 0)>
module {
  func.func @softmax(%x: index, %y: index) attributes {grid = [32]} {
    %tile = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32  // minus infinity
    %first = arith.muli %tile, %c32 : index
    %end = arith.addi %first, %c32 : index
    %x_view = ktdp.construct_memory_view %x, sizes: [1024, 1024], strides: [1024, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x1024xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [1024, 1024], strides: [1024, 1] {coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>} : memref<1024x1024xf16>
    scf.for %r = %first to %end step %c8 {
      %x_tile = ktdp.construct_access_tile %x_view[%r, %c0] {access_tile_order = #identity, access_tile_set = #block} : memref<1024x1024xf16> -> !ktdp.access_tile<8x1024xindex>
      %narrow = ktdp.load %x_tile : <8x1024xindex> -> tensor<8x1024xf16>
      %wide = arith.extf %narrow : tensor<8x1024xf16> to tensor<8x1024xf32>
      %e0 = tensor.empty() : tensor<8xf32>
      %lowest = linalg.fill ins(%low : f32) outs(%e0 : tensor<8xf32>) -> tensor<8xf32>
      %max = linalg.reduce { arith.maximumf } ins(%wide : tensor<8x1024xf32>) outs(%lowest : tensor<8xf32>) dimensions = [1]
      %e1 = tensor.empty() : tensor<8x1024xf32>
      %exp = linalg.generic {indexing_maps = [#identity, #row, #identity], iterator_types = ["parallel", "parallel"]} ins(%wide, %max : tensor<8x1024xf32>, tensor<8xf32>) outs(%e1 : tensor<8x1024xf32>) {
      ^bb0(%v: f32, %m: f32, %o: f32):
        %d = arith.subf %v, %m : f32
        %e = math.exp %d : f32
        linalg.yield %e : f32
      } -> tensor<8x1024xf32>
      %e2 = tensor.empty() : tensor<8xf32>
      %zeros = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8xf32>) -> tensor<8xf32>
      %sum = linalg.reduce { arith.addf } ins(%exp : tensor<8x1024xf32>) outs(%zeros : tensor<8xf32>) dimensions = [1]
      %e3 = tensor.empty() : tensor<8x1024xf16>
      %result = linalg.generic {indexing_maps = [#identity, #row, #identity], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<8x1024xf32>, tensor<8xf32>) outs(%e3 : tensor<8x1024xf16>) {
      ^bb0(%v: f32, %s: f32, %o: f16):
        %q = arith.divf %v, %s : f32
        %h = arith.truncf %q : f32 to f16
        linalg.yield %h : f16
      } -> tensor<8x1024xf16>
      %y_tile = ktdp.construct_access_tile %y_view[%r, %c0] {access_tile_order = #identity, access_tile_set = #block} : memref<1024x1024xf16> -> !ktdp.access_tile<8x1024xindex>
      ktdp.store %result, %y_tile : tensor<8x1024xf16>, <8x1024xindex>
    }
    return
  }
}
