// OUT[i, :] = TABLE[IDX[i], :], TABLE 1000x64 f16, IDX 32 x i32, grid 1
#s1  = affine_set<(i) : (i >= 0, 31 - i >= 0)>
#st  = affine_set<(r, c) : (r >= 0, 999 - r >= 0, c >= 0, 63 - c >= 0)>
#so  = affine_set<(r, c) : (r >= 0, 31 - r >= 0, c >= 0, 63 - c >= 0)>
#id2 = affine_map<(r, c) -> (r, c)>
module {
  func.func @gather(%ptab: index, %pidx: index, %pout: index) attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %vt = ktdp.construct_memory_view %ptab, sizes: [1000, 64], strides: [64, 1] {coordinate_set = #st, memory_space = #ktdp.memory_space<global>} : memref<1000x64xf16>
    %vi = ktdp.construct_memory_view %pidx, sizes: [32], strides: [1] {coordinate_set = #s1, memory_space = #ktdp.memory_space<global>} : memref<32xi32>
    %vo = ktdp.construct_memory_view %pout, sizes: [32, 64], strides: [64, 1] {coordinate_set = #so, memory_space = #ktdp.memory_space<global>} : memref<32x64xf16>
    %tg = ktdp.construct_indirect_access_tile intermediate_variables(%i, %j) %vt[ind(%vi[%i]), (%j)] {variables_space_order = #id2, variables_space_set = #so} : memref<1000x64xf16>, memref<32xi32> -> !ktdp.access_tile<32x64xindex>
    %d = ktdp.load %tg : <32x64xindex> -> tensor<32x64xf16>
    %to = ktdp.construct_access_tile %vo[%c0, %c0] {access_tile_order = #id2, access_tile_set = #so} : memref<32x64xf16> -> !ktdp.access_tile<32x64xindex>
    ktdp.store %d, %to : tensor<32x64xf16>, <32x64xindex>
    return
  }
}
