// Compare, select, tanh, division, integer remainder and iota on 8x96.
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
    %c8 = arith.constant 8 : index
    %c384 = arith.constant 384 : index
    %c512 = arith.constant 512 : index
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
      %x = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 96 + d1)>} : index, index, memref<8x96xf16>
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 128 + d1)>} : index, index, memref<8x96xf16>
      agen.composite_load_and_store src:%x[0, 0] dst:%xl[0, 0]
       time_symbols(), load_iv(%v:vector<96xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 95 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 95 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}
      {
        agen.yield
      } : memref<8x96xf16>, memref<8x96xf16>
      dataflow.sync_send %l1lu {dbgName = "full.x"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 128 + d1)>} : index, index, memref<8x96xf16>
      dataflow.sync_recv %mnilu {dbgName = "full.x"} : index
      agen.composite_load %xl[0, 0] time_symbols()(%v:vector<96xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 95 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}
      {
        dataflow.send %sfu, %v : vector<96xf16>
        agen.yield
      } : memref<8x96xf16>
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %one = arith.constant dense<1> : vector<96xi32>
      %onef = arith.constant dense<1.0> : vector<96xf32>
      %zero = arith.constant dense<0.0> : vector<96xf16>
      %seven = arith.constant dense<7> : vector<96xi32>
      %run = vectorchain.scan_with_gap %one {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator add>} : vector<96xi32>, vector<96xi32>
      %lane = vectorchain.binary %run, %one {binary_op = #vectorchain<binary_operator sub>, op_specific_map = #i1} : vector<96xi32>, vector<96xi32>, vector<96xi32>
      scf.for %r = %c0 to %c8 step %c1 {
        %x = dataflow.receive %l1lu : vector<96xf16>
        %ge = vectorchain.element_wise_compare %x, %zero {compare_op = #vectorchain<element_wise_compare_operator compare_ge>} : vector<96xf16>, vector<96xf16>, vector<96xi1>
        %xf = vectorchain.cast %x : vector<96xf16>, vector<96xf32>
        %th = math.tanh %xf : vector<96xf32>
        %ab = vectorchain.binary %xf, %xf {binary_op = #vectorchain<binary_operator abs_max>, op_specific_map = #i1} : vector<96xf32>, vector<96xf32>, vector<96xf32>
        %den = vectorchain.binary %onef, %ab {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<96xf32>, vector<96xf32>, vector<96xf32>
        %qu = arith.divf %th, %den : vector<96xf32>
        %lm = arith.remsi %lane, %seven : vector<96xi32>
        %lf = vectorchain.cast %lm : vector<96xi32>, vector<96xf32>
        %y = vectorchain.element_wise_selection %ge ? %qu : %lf : vector<96xi1>, vector<96xf32>, vector<96xf32>, vector<96xf32>
        dataflow.send %l1su, %y : vector<96xf32>
      } {loop_type = #ktdf.loop_type<parallel_loop>}
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %yl = dataflow.get_logical_memory_view %lx, %c512 {layout_map = affine_map<(d0, d1) -> (d0 * 96 + d1)>} : index, index, memref<8x96xf32>
      agen.composite_store %yl[0, 0] time_symbols()
       {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 95 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}
      {
        %v = dataflow.receive %sfu : vector<96xf32>
        agen.yield %v : vector<96xf32>
      } : memref<8x96xf32>
      dataflow.sync_send %mnisu {dbgName = "full.y"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %y = dataflow.get_logical_memory_view %hbm, %c384 {layout_map = affine_map<(d0, d1) -> (d0 * 96 + d1)>} : index, index, memref<8x96xf32>
      %yl = dataflow.get_logical_memory_view %lx, %c512 {layout_map = affine_map<(d0, d1) -> (d0 * 96 + d1)>} : index, index, memref<8x96xf32>
      dataflow.sync_recv %l1su {dbgName = "full.y"} : index
      agen.composite_load_and_store src:%yl[0, 0] dst:%y[0, 0]
       time_symbols(), load_iv(%v:vector<96xf32>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 95 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 95 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>}
      {
        agen.yield
      } : memref<8x96xf32>, memref<8x96xf32>
    }
    return
  }
}
