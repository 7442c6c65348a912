"""The smallest kernel: what `headrace doctor` runs."""

VECTOR_ADD = """
#id = affine_map<(i) -> (i)>
#all = affine_set<(i) : (i >= 0, 255 - i >= 0)>
#half = affine_set<(i) : (i >= 0, 127 - i >= 0)>
func.func @vector_add(%x: index, %y: index, %z: index) attributes {grid = [2]} {
  %t = ktdp.get_compute_tile_id : index
  %c128 = arith.constant 128 : index
  %at = arith.muli %t, %c128 : index
  %vx = ktdp.construct_memory_view %x, sizes: [256], strides: [1] {coordinate_set = #all, memory_space =
  #ktdp.memory_space<global>} : memref<256xf32>
  %vy = ktdp.construct_memory_view %y, sizes: [256], strides: [1] {coordinate_set = #all, memory_space =
  #ktdp.memory_space<global>} : memref<256xf32>
  %vz = ktdp.construct_memory_view %z, sizes: [256], strides: [1] {coordinate_set = #all, memory_space =
  #ktdp.memory_space<global>} : memref<256xf32>
  %tx = ktdp.construct_access_tile %vx[%at] {access_tile_order = #id, access_tile_set = #half} :
  memref<256xf32> -> !ktdp.access_tile<128xindex>
  %ty = ktdp.construct_access_tile %vy[%at] {access_tile_order = #id, access_tile_set = #half} :
  memref<256xf32> -> !ktdp.access_tile<128xindex>
  %tz = ktdp.construct_access_tile %vz[%at] {access_tile_order = #id, access_tile_set = #half} :
  memref<256xf32> -> !ktdp.access_tile<128xindex>
  %a = ktdp.load %tx : <128xindex> -> tensor<128xf32>
  %b = ktdp.load %ty : <128xindex> -> tensor<128xf32>
  %c = arith.addf %a, %b : tensor<128xf32>
  ktdp.store %c, %tz : tensor<128xf32>, <128xindex>
  return
}
"""
