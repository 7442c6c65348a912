// A core's scratchpad tile pulled by two other cores over the ring.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#zero1 = affine_map<(d0) -> (0)>
#zero2 = affine_map<(d0) -> (0, 0)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @local_schedule_0() attributes {grid = [3]} {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %c1024 = arith.constant 1024 : index
    %c1536 = arith.constant 1536 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnilu1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnilu", type = "mnilu"} : index
    %mnilu2 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %mnisu1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnisu", type = "mnisu"} : index
    %mnisu2 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-mnisu", type = "mnisu"} : index
    %rnglu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-rnglu", type = "rnglu"} : index
    %rnglu1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-rnglu", type = "rnglu"} : index
    %rnglu2 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-rnglu", type = "rnglu"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    %lx1 = dataflow.get_unit {core = 1 : i32, name = "C1-lx", type = "lx"} : index
    %lx2 = dataflow.get_unit {core = 2 : i32, name = "C2-lx", type = "lx"} : index
    %share = dataflow.create_multicast_group(%lx0 -> (%rnglu1, %rnglu2)) {count = 0 : i32, group_id = 0 : i32, num_consumers = 2 : i32} : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0], [%mnilu1 -> %lx1], [%mnilu2 -> %lx2]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%mnilu0 -> %mnisu0], [%mnilu1 -> %mnisu1], [%mnilu2 -> %mnisu2]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %w = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<8x64xf16>
      %wl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<8x64xf16>
      agen.composite_load_and_store src:%w[0, 0] dst:%wl[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}
      {
        agen.yield
      } : memref<8x64xf16>, memref<8x64xf16>
      dataflow.sync_send %mnisu {dbgName = "full.w"} : index
      dataflow.sync_send %rnglu1 {dbgName = "full.w"} : index
      dataflow.sync_send %rnglu2 {dbgName = "full.w"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%rnglu1, %rnglu2) : {
      %lx_map = uniform.def_immutable_mapping([%rnglu0 -> %lx0], [%rnglu1 -> %lx1], [%rnglu2 -> %lx2]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%rnglu0 -> %mnisu0], [%rnglu1 -> %mnisu1], [%rnglu2 -> %mnisu2]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %far = dataflow.get_logical_memory_view %lx0, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<8x64xf16>
      %wl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<8x64xf16>
      dataflow.sync_recv %mnilu0 {dbgName = "full.w"} : index
      agen.composite_load_and_store src:%far[0, 0] dst:%wl[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>), multicast_info = %share
       {dir = #agen<direction Clockwise>, load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}
      {
        agen.yield
      } : memref<8x64xf16>, memref<8x64xf16>
      dataflow.sync_send %mnisu {dbgName = "full.w"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0, %mnisu1, %mnisu2) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0], [%mnisu1 -> %lx1], [%mnisu2 -> %lx2]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %ob_map = uniform.def_immutable_mapping([%mnisu0 -> %c512], [%mnisu1 -> %c1024], [%mnisu2 -> %c1536]):index
      %ob = uniform.query_map(map:%ob_map, key:%me) : index
      %from_map = uniform.def_immutable_mapping([%mnisu0 -> %mnilu0], [%mnisu1 -> %rnglu1], [%mnisu2 -> %rnglu2]):index
      %from = uniform.query_map(map:%from_map, key:%me) : index
      %o = dataflow.get_logical_memory_view %hbm, %ob {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<8x64xf16>
      %wl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<8x64xf16>
      dataflow.sync_recv %from {dbgName = "full.w"} : index
      agen.composite_load_and_store src:%wl[0, 0] dst:%o[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}
      {
        agen.yield
      } : memref<8x64xf16>, memref<8x64xf16>
    }
    return
  }
}
