// Slices with offsets that depend on the tile, taken out of one tensor and put into another: row t of y holds
// x[2t : 2t + 2, 16t : 16t + 16] summed over its rows, at columns 48 - 16t; the rest is 0.
// x 8x64 f16, y 4x64 f16; 4 tiles.
#box_1x64 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#box_4x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#box_8x64 = affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#id2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @extract_slice_dynamic(%x: index, %y: index) attributes {grid = [4]} {
    %zero = arith.constant 0.0 : f16
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %tile = ktdp.get_compute_tile_id : index
    %x_view = ktdp.construct_memory_view %x, sizes: [8, 64], strides: [64, 1] {coordinate_set = #box_8x64, memory_space = #ktdp.memory_space<global>} : memref<8x64xf16>
    %y_view = ktdp.construct_memory_view %y, sizes: [4, 64], strides: [64, 1] {coordinate_set = #box_4x64, memory_space = #ktdp.memory_space<global>} : memref<4x64xf16>
    %x_tile = ktdp.construct_access_tile %x_view[0, 0] {access_tile_order = #id2, access_tile_set = #box_8x64} : memref<8x64xf16> -> !ktdp.access_tile<8x64xindex>
    %x_in = ktdp.load %x_tile : <8x64xindex> -> tensor<8x64xf16>
    %row = arith.muli %tile, %c2 : index
    %column = arith.muli %tile, %c16 : index
    %slice = tensor.extract_slice %x_in[%row, %column] [2, 16] [1, 1] : tensor<8x64xf16> to tensor<2x16xf16>
    %empty = tensor.empty() : tensor<16xf16>
    %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<16xf16>) -> tensor<16xf16>
    %row_sum = linalg.reduce { arith.addf } ins(%slice : tensor<2x16xf16>) outs(%init : tensor<16xf16>) dimensions = [0]
    %empty_1 = tensor.empty() : tensor<1x64xf16>
    %blank = linalg.fill ins(%zero : f16) outs(%empty_1 : tensor<1x64xf16>) -> tensor<1x64xf16>
    %target = arith.subi %c48, %column : index
    %piece = tensor.expand_shape %row_sum [[0, 1]] output_shape [1, 16] : tensor<16xf16> into tensor<1x16xf16>
    %whole = tensor.insert_slice %piece into %blank[0, %target] [1, 16] [1, 1] : tensor<1x16xf16> into tensor<1x64xf16>
    %y_tile = ktdp.construct_access_tile %y_view[%tile, 0] {access_tile_order = #id2, access_tile_set = #box_1x64} : memref<4x64xf16> -> !ktdp.access_tile<1x64xindex>
    ktdp.store %whole, %y_tile : tensor<1x64xf16>, <1x64xindex>
    return
  }
}
