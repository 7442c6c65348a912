// softmax over the last axis of X[64,512] -> Y; grid 4 -> 16 rows per core, one row at a time
#id2  = affine_map<(r, c) -> (r, c)>
#full = affine_set<(r, c) : (r >= 0, 63 - r >= 0, c >= 0, 511 - c >= 0)>
#row  = affine_set<(r, c) : (r == 0, c >= 0, 511 - c >= 0)>
module {
  func.func @softmax(%px: index, %py: index) attributes {grid = [4]} {
    %pid = ktdp.get_compute_tile_id : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %ninf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %lo = arith.muli %pid, %c16 : index
    %hi = arith.addi %lo, %c16 : index
    %vx = ktdp.construct_memory_view %px, sizes: [64, 512], strides: [512, 1] {coordinate_set = #full, memory_space = #ktdp.memory_space<global>} : memref<64x512xf32>
    %vy = ktdp.construct_memory_view %py, sizes: [64, 512], strides: [512, 1] {coordinate_set = #full, memory_space = #ktdp.memory_space<global>} : memref<64x512xf32>
    scf.for %r = %lo to %hi step %c1 {
      %tx = ktdp.construct_access_tile %vx[%r, %c0] {access_tile_order = #id2, access_tile_set = #row} : memref<64x512xf32> -> !ktdp.access_tile<1x512xindex>
      %x = ktdp.load %tx : <1x512xindex> -> tensor<1x512xf32>
      %em = tensor.empty() : tensor<1xf32>
      %m0 = linalg.fill ins(%ninf : f32) outs(%em : tensor<1xf32>) -> tensor<1xf32>
      %m = linalg.reduce ins(%x : tensor<1x512xf32>) outs(%m0 : tensor<1xf32>) dimensions = [1]
        (%in: f32, %acc: f32) {
          %mx = arith.maximumf %in, %acc : f32
          linalg.yield %mx : f32
        }
      %eb = tensor.empty() : tensor<1x512xf32>
      %mb = linalg.broadcast ins(%m : tensor<1xf32>) outs(%eb : tensor<1x512xf32>) dimensions = [1]
      %d = arith.subf %x, %mb : tensor<1x512xf32>
      %e = math.exp %d : tensor<1x512xf32>
      %es = tensor.empty() : tensor<1xf32>
      %s0 = linalg.fill ins(%zero : f32) outs(%es : tensor<1xf32>) -> tensor<1xf32>
      %s = linalg.reduce ins(%e : tensor<1x512xf32>) outs(%s0 : tensor<1xf32>) dimensions = [1]
        (%in: f32, %acc: f32) {
          %ad = arith.addf %in, %acc : f32
          linalg.yield %ad : f32
        }
      %eb2 = tensor.empty() : tensor<1x512xf32>
      %sb = linalg.broadcast ins(%s : tensor<1xf32>) outs(%eb2 : tensor<1x512xf32>) dimensions = [1]
      %q = arith.divf %e, %sb : tensor<1x512xf32>
      %ty = ktdp.construct_access_tile %vy[%r, %c0] {access_tile_order = #id2, access_tile_set = #row} : memref<64x512xf32> -> !ktdp.access_tile<1x512xindex>
      ktdp.store %q, %ty : tensor<1x512xf32>, <1x512xindex>
    }
    return
  }
}
