// Rows of a 1000x64 table by an index tensor, stored densely and scattered back.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#zero1 = affine_map<(d0) -> (0)>
#zero2 = affine_map<(d0) -> (0, 0)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @local_schedule_0() attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c32000 = arith.constant 32000 : index
    %c64064 = arith.constant 64064 : index
    %c66112 = arith.constant 66112 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%mnilu0 -> %mnisu0]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %table = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<1000x64xf16>
      %idx = dataflow.get_logical_memory_view %hbm, %c32000 {layout_map = #i1} : index, index, memref<32xi32>
      %idxl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #i1} : index, index, memref<32xi32>
      %tile = dataflow.get_logical_memory_view %lx, %c64 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<32x64xf16>
      agen.composite_load_and_store src:%idx[0] dst:%idxl[0]
       time_symbols(), load_iv(%v:vector<32xi32>)
       {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>, load_time_addr_map = #zero1, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<32xi32>, memref<32xi32>
      dataflow.sync_send %me {dbgName = "fence", wait_immediately_for_async_transfers = true} : index
      agen.composite_indirect_load_and_store indirect_src:%idxl[0] direct_src:%table[0, 0] direct_dst:%tile[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_direct_time_addr_map = #zero2, load_indirect_time_addr_map = #i1, load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_direct_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
      {
        agen.yield
      } : memref<32xi32>, memref<1000x64xf16>, memref<32x64xf16>
      dataflow.sync_send %mnisu {dbgName = "full.tile"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%mnisu0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %out = dataflow.get_logical_memory_view %hbm, %c64064 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<32x64xf16>
      %out2 = dataflow.get_logical_memory_view %hbm, %c66112 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<1000x64xf16>
      %idxl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #i1} : index, index, memref<32xi32>
      %tile = dataflow.get_logical_memory_view %lx, %c64 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<32x64xf16>
      dataflow.sync_recv %mnilu {dbgName = "full.tile"} : index
      agen.composite_load_and_store src:%tile[0, 0] dst:%out[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
      {
        agen.yield
      } : memref<32x64xf16>, memref<32x64xf16>
      agen.composite_indirect_load_and_store direct_src:%tile[0, 0] indirect_dst:%idxl[0] direct_dst:%out2[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_direct_time_addr_map = #down2, load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_direct_time_addr_map = #zero2, store_indirect_time_addr_map = #i1, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
      {
        agen.yield
      } : memref<32x64xf16>, memref<32xi32>, memref<1000x64xf16>
    }
    return
  }
}
