// y = x * scale + shift with one number of an argument and one of memory.
// x and y 8x64 f16, shift f16 of rank 0, scale an f16 argument; 2 tiles own 4 rows each.
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_scalar = affine_set<() : ()>
#id0 = affine_map<() -> ()>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @scalar_broadcast(%x: index, %shift: index, %scale: f16, %y: index) attributes {grid = [2], headrace.example = {scale = 1.5 : f16}} {
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %shift_view = ktdp.construct_memory_view %shift, sizes: [], strides: [] {coordinate_set = #box_scalar, memory_space = #ktdp.memory_space<global>} : memref<f16>
    %x_tile = ktdp.construct_access_tile %x_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<8x64xf16> -> !ktdp.access_tile<4x64xindex>
    %x_in = ktdp.load %x_tile : <4x64xindex> -> tensor<4x64xf16>
    %shift_box_tile = ktdp.construct_access_tile %shift_view[] {access_tile_order = #id0, access_tile_set = #box_scalar} : memref<f16> -> !ktdp.access_tile<index>
    %shift_box = ktdp.load %shift_box_tile : <index> -> tensor<f16>
    %shift_number = tensor.extract %shift_box[] : tensor<f16>
    %scales = tensor.splat %scale : tensor<4x64xf16>
    %scaled = arith.mulf %x_in, %scales : tensor<4x64xf16>
    %shifts = tensor.splat %shift_number : tensor<4x64xf16>
    %shifted = arith.addf %scaled, %shifts : tensor<4x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile * 4, 0] {access_tile_order = #id2, access_tile_set = #box_4x64} : memref<8x64xf16> -> !ktdp.access_tile<4x64xindex>
    ktdp.store %shifted, %y_tile : tensor<4x64xf16>, <4x64xindex>
    return
  }
}
