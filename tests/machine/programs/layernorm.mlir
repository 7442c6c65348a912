// Row layer norm of 12x300 f16 with scale and shift, statistics in f32.
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
    %c12 = arith.constant 12 : index
    %c3648 = arith.constant 3648 : index
    %c3840 = arith.constant 3840 : index
    %c3968 = arith.constant 3968 : index
    %c4160 = arith.constant 4160 : index
    %c4288 = arith.constant 4288 : index
    %c4480 = arith.constant 4480 : index
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
      %x = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 300 + d1)>} : index, index, memref<12x300xf16>
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<12x300xf16>
      agen.composite_load_and_store src:%x[0, 0] dst:%xl[0, 0]
       time_symbols(), load_iv(%v:vector<300xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 11 >= 0)>}
      {
        agen.yield
      } : memref<12x300xf16>, memref<12x300xf16>
      %g = dataflow.get_logical_memory_view %hbm, %c3648 {layout_map = #i1} : index, index, memref<300xf16>
      %gl = dataflow.get_logical_memory_view %lx, %c3840 {layout_map = #i1} : index, index, memref<300xf16>
      agen.composite_load_and_store src:%g[0] dst:%gl[0]
       time_symbols(), load_iv(%v:vector<300xf16>)
       {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 299 >= 0)>, load_time_addr_map = #zero1, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 299 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<300xf16>, memref<300xf16>
      %b = dataflow.get_logical_memory_view %hbm, %c3968 {layout_map = #i1} : index, index, memref<300xf16>
      %bl = dataflow.get_logical_memory_view %lx, %c4160 {layout_map = #i1} : index, index, memref<300xf16>
      agen.composite_load_and_store src:%b[0] dst:%bl[0]
       time_symbols(), load_iv(%v:vector<300xf16>)
       {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 299 >= 0)>, load_time_addr_map = #zero1, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 299 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<300xf16>, memref<300xf16>
      dataflow.sync_send %l1lu {dbgName = "full.x"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<12x300xf16>
      dataflow.sync_recv %mnilu {dbgName = "full.x"} : index
      %gl = dataflow.get_logical_memory_view %lx, %c3840 {layout_map = #i1} : index, index, memref<300xf16>
      %g = agen.vector_load %gl[0] {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 299 >= 0)>} : memref<300xf16>, vector<300xf16>
      dataflow.send %sfu, %g : vector<300xf16>
      %bl = dataflow.get_logical_memory_view %lx, %c4160 {layout_map = #i1} : index, index, memref<300xf16>
      %b = agen.vector_load %bl[0] {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 299 >= 0)>} : memref<300xf16>, vector<300xf16>
      dataflow.send %sfu, %b : vector<300xf16>
      agen.composite_load %xl[0, 0] time_symbols()(%v:vector<300xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 11 >= 0)>}
      {
        dataflow.send %sfu, %v : vector<300xf16>
        agen.yield
      } : memref<12x300xf16>
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %g = dataflow.receive %l1lu : vector<300xf16>
      %b = dataflow.receive %l1lu : vector<300xf16>
      %inv = arith.constant dense<0.0033333333333333335> : vector<1xf32>
      %eps = arith.constant dense<1.0e-05> : vector<1xf32>
      %gf = vectorchain.cast %g : vector<300xf16>, vector<300xf32>
      %bf = vectorchain.cast %b : vector<300xf16>, vector<300xf32>
      scf.for %r = %c0 to %c12 step %c1 {
        %x = dataflow.receive %l1lu : vector<300xf16>
        %xf = vectorchain.cast %x : vector<300xf16>, vector<300xf32>
        %s_s = vectorchain.scan_with_gap %xf {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator add>} : vector<300xf32>, vector<300xf32>
        %s = vectorchain.select %s_s {selection_map = affine_map<(d0) -> (299)>} : vector<300xf32>, vector<1xf32>
        %mu = vectorchain.binary %s, %inv {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        %mub = vectorchain.shuffle input(%mu) {indices = [0 : i32], repetition = 300 : i32} : vector<1xf32>, vector<300xf32>
        %d = vectorchain.binary %xf, %mub {binary_op = #vectorchain<binary_operator sub>, op_specific_map = #i1} : vector<300xf32>, vector<300xf32>, vector<300xf32>
        %dd = vectorchain.binary %d, %d {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<300xf32>, vector<300xf32>, vector<300xf32>
        %v_s = vectorchain.scan_with_gap %dd {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator add>} : vector<300xf32>, vector<300xf32>
        %v = vectorchain.select %v_s {selection_map = affine_map<(d0) -> (299)>} : vector<300xf32>, vector<1xf32>
        %va = vectorchain.binary %v, %inv {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        %ve = vectorchain.binary %va, %eps {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        %rs = vectorchain.rsqrt_estimate %ve : vector<1xf32>, vector<1xf32>
        %rsb = vectorchain.shuffle input(%rs) {indices = [0 : i32], repetition = 300 : i32} : vector<1xf32>, vector<300xf32>
        %nx = vectorchain.binary %d, %rsb {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<300xf32>, vector<300xf32>, vector<300xf32>
        %ng = vectorchain.binary %nx, %gf {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<300xf32>, vector<300xf32>, vector<300xf32>
        %nb = vectorchain.binary %ng, %bf {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<300xf32>, vector<300xf32>, vector<300xf32>
        %y = vectorchain.cast %nb : vector<300xf32>, vector<300xf16>
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
      %yl = dataflow.get_logical_memory_view %lx, %c4480 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<12x300xf16>
      agen.composite_store %yl[0, 0] time_symbols()
       {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 11 >= 0)>}
      {
        %v = dataflow.receive %sfu : vector<300xf16>
        agen.yield %v : vector<300xf16>
      } : memref<12x300xf16>
      dataflow.sync_send %mnisu {dbgName = "full.y"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %y = dataflow.get_logical_memory_view %hbm, %c4288 {layout_map = affine_map<(d0, d1) -> (d0 * 300 + d1)>} : index, index, memref<12x300xf16>
      %yl = dataflow.get_logical_memory_view %lx, %c4480 {layout_map = affine_map<(d0, d1) -> (d0 * 320 + d1)>} : index, index, memref<12x300xf16>
      dataflow.sync_recv %l1su {dbgName = "full.y"} : index
      agen.composite_load_and_store src:%yl[0, 0] dst:%y[0, 0]
       time_symbols(), load_iv(%v:vector<300xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 299 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 11 >= 0)>}
      {
        agen.yield
      } : memref<12x300xf16>, memref<12x300xf16>
    }
    return
  }
}
