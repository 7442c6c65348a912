// Row softmax of 16x300 f16 on one corelet; sums in f32.
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
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c4800 = arith.constant 4800 : index
    %c5120 = arith.constant 5120 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %l1lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %sfu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %l1su0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1lu_map = uniform.def_immutable_mapping([%mnilu0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %x = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 300 + d1)>} : index, index, memref<16x300xf16>
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<16x300xf16>
      agen.composite_load_and_store src:%x[0, 0] dst:%xl[0, 0]
       time_symbols(), load_iv(%v:vector<300xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        agen.yield
      } : memref<16x300xf16>, memref<16x300xf16>
      dataflow.sync_send %l1lu {dbgName = "full.x"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<16x300xf16>
      dataflow.sync_recv %mnilu {dbgName = "full.x"} : index
      agen.composite_load %xl[0, 0] time_symbols()(%v:vector<300xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        dataflow.send %sfu, %v : vector<300xf16>
        agen.yield
      } : memref<16x300xf16>
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      scf.for %r = %c0 to %c16 step %c1 {
        %x = dataflow.receive %l1lu : vector<300xf16>
        %m_s = vectorchain.scan_with_gap %x {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator max>} : vector<300xf16>, vector<300xf16>
        %m = vectorchain.select %m_s {selection_map = affine_map<(d0) -> (299)>} : vector<300xf16>, vector<1xf16>
        %mb = vectorchain.shuffle input(%m) {indices = [0 : i32], repetition = 300 : i32} : vector<1xf16>, vector<300xf16>
        %d = vectorchain.binary %x, %mb {binary_op = #vectorchain<binary_operator sub>, op_specific_map = #i1} : vector<300xf16>, vector<300xf16>, vector<300xf16>
        %p = vectorchain.fast_exp %d : vector<300xf16>, vector<300xf16>
        %pf = vectorchain.cast %p : vector<300xf16>, vector<300xf32>
        %s_s = vectorchain.scan_with_gap %pf {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator add>} : vector<300xf32>, vector<300xf32>
        %s = vectorchain.select %s_s {selection_map = affine_map<(d0) -> (299)>} : vector<300xf32>, vector<1xf32>
        %q = vectorchain.rec_estimate %s : vector<1xf32>, vector<1xf32>
        %qb = vectorchain.shuffle input(%q) {indices = [0 : i32], repetition = 300 : i32} : vector<1xf32>, vector<300xf32>
        %yf = vectorchain.binary %pf, %qb {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<300xf32>, vector<300xf32>, vector<300xf32>
        %y = vectorchain.cast %yf : vector<300xf32>, vector<300xf16>
        dataflow.send %l1su, %y : vector<300xf16>
      } {loop_type = #ktdf.loop_type<parallel_loop>}
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %yl = dataflow.get_logical_memory_view %lx, %c5120 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<16x300xf16>
      agen.composite_store %yl[0, 0] time_symbols()
       {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        %v = dataflow.receive %sfu : vector<300xf16>
        agen.yield %v : vector<300xf16>
      } : memref<16x300xf16>
      dataflow.sync_send %mnisu {dbgName = "full.y"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %y = dataflow.get_logical_memory_view %hbm, %c4800 {layout_map = affine_map<(d0, d1) -> (d0 * 300 + d1)>} : index, index, memref<16x300xf16>
      %yl = dataflow.get_logical_memory_view %lx, %c5120 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<16x300xf16>
      dataflow.sync_recv %l1su {dbgName = "full.y"} : index
      agen.composite_load_and_store src:%yl[0, 0] dst:%y[0, 0]
       time_symbols(), load_iv(%v:vector<300xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        agen.yield
      } : memref<16x300xf16>, memref<16x300xf16>
    }
    return
  }
}
