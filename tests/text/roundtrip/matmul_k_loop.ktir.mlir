// C[M,N] = A[M,K] * B[K,N]; M=N=128, K=256; grid 2x2 -> one 64x64 C tile per core; K step 32
#id2 = affine_map<(r, c) -> (r, c)>
#sA  = affine_set<(r, c) : (r >= 0, 127 - r >= 0, c >= 0, 255 - c >= 0)>
#sB  = affine_set<(r, c) : (r >= 0, 255 - r >= 0, c >= 0, 127 - c >= 0)>
#sC  = affine_set<(r, c) : (r >= 0, 127 - r >= 0, c >= 0, 127 - c >= 0)>
#tA  = affine_set<(r, c) : (r >= 0, 63 - r >= 0, c >= 0, 31 - c >= 0)>
#tB  = affine_set<(r, c) : (r >= 0, 31 - r >= 0, c >= 0, 63 - c >= 0)>
#tC  = affine_set<(r, c) : (r >= 0, 63 - r >= 0, c >= 0, 63 - c >= 0)>
module {
  func.func @mm(%pa: index, %pb: index, %pc: index) attributes {grid = [2, 2]} {
    %x, %y = ktdp.get_compute_tile_id : index, index
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %row = arith.muli %x, %c64 : index
    %col = arith.muli %y, %c64 : index
    %va = ktdp.construct_memory_view %pa, sizes: [128, 256], strides: [256, 1] {coordinate_set = #sA, memory_space = #ktdp.memory_space<global>} : memref<128x256xf16>
    %vb = ktdp.construct_memory_view %pb, sizes: [256, 128], strides: [128, 1] {coordinate_set = #sB, memory_space = #ktdp.memory_space<global>} : memref<256x128xf16>
    %vc = ktdp.construct_memory_view %pc, sizes: [128, 128], strides: [128, 1] {coordinate_set = #sC, memory_space = #ktdp.memory_space<global>} : memref<128x128xf16>
    %e0 = tensor.empty() : tensor<64x64xf32>
    %acc0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    %acc = scf.for %k = %c0 to %c256 step %c32 iter_args(%it = %acc0) -> (tensor<64x64xf32>) {
      %ta = ktdp.construct_access_tile %va[%row, %k] {access_tile_order = #id2, access_tile_set = #tA} : memref<128x256xf16> -> !ktdp.access_tile<64x32xindex>
      %tb = ktdp.construct_access_tile %vb[%k, %col] {access_tile_order = #id2, access_tile_set = #tB} : memref<256x128xf16> -> !ktdp.access_tile<32x64xindex>
      %la = ktdp.load %ta : <64x32xindex> -> tensor<64x32xf16>
      %lb = ktdp.load %tb : <32x64xindex> -> tensor<32x64xf16>
      %nx = linalg.matmul ins(%la, %lb : tensor<64x32xf16>, tensor<32x64xf16>) outs(%it : tensor<64x64xf32>) -> tensor<64x64xf32>
      scf.yield %nx : tensor<64x64xf32>
    }
    %h = arith.truncf %acc : tensor<64x64xf32> to tensor<64x64xf16>
    %tc = ktdp.construct_access_tile %vc[%row, %col] {access_tile_order = #id2, access_tile_set = #tC} : memref<128x128xf16> -> !ktdp.access_tile<64x64xindex>
    ktdp.store %h, %tc : tensor<64x64xf16>, <64x64xindex>
    return
  }
}
