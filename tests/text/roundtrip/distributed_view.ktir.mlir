// a logical 4x96 matrix whose columns 0..63 live in buffer L (HBM) and 64..95 in buffer R (HBM); OUT = columns 48..79
#pl = affine_set<(r, c) : (r >= 0, 3 - r >= 0, c >= 0, 63 - c >= 0)>
#pr = affine_set<(r, c) : (r >= 0, 3 - r >= 0, c - 64 >= 0, 95 - c >= 0)>
#so = affine_set<(r, c) : (r >= 0, 3 - r >= 0, c >= 0, 31 - c >= 0)>
#id2 = affine_map<(r, c) -> (r, c)>
module {
  func.func @dist(%pl: index, %pr: index, %po: index) attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %c48 = arith.constant 48 : index
    %vl = ktdp.construct_memory_view %pl, sizes: [4, 64], strides: [64, 1] {coordinate_set = #pl, memory_space = #ktdp.memory_space<global>} : memref<4x64xf16>
    %vr = ktdp.construct_memory_view %pr, sizes: [4, 32], strides: [32, 1] {coordinate_set = #pr, memory_space = #ktdp.memory_space<global>} : memref<4x32xf16>
    %vd = ktdp.construct_distributed_memory_view (%vl, %vr : memref<4x64xf16>, memref<4x32xf16>) : memref<4x96xf16>
    %vo = ktdp.construct_memory_view %po, sizes: [4, 32], strides: [32, 1] {coordinate_set = #so, memory_space = #ktdp.memory_space<global>} : memref<4x32xf16>
    %td = ktdp.construct_access_tile %vd[%c0, %c48] {access_tile_order = #id2, access_tile_set = #so} : memref<4x96xf16> -> !ktdp.access_tile<4x32xindex>
    %x = ktdp.load %td : <4x32xindex> -> tensor<4x32xf16>
    %to = ktdp.construct_access_tile %vo[%c0, %c0] {access_tile_order = #id2, access_tile_set = #so} : memref<4x32xf16> -> !ktdp.access_tile<4x32xindex>
    ktdp.store %x, %to : tensor<4x32xf16>, <4x32xindex>
    return
  }
}
