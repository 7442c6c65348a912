// Two schedules: the first leaves a tile in the scratchpad, the second sums its columns.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#zero1 = affine_map<(d0) -> (0)>
#zero2 = affine_map<(d0) -> (0, 0)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @kernel() {
    call @local_schedule_0() : () -> ()
    call @local_schedule_1() : () -> ()
    return
  }
  func.func @local_schedule_0() attributes {grid = [1], headrace.lx_out = [{name = "h", address = 2048 : i64, bytes = 2048 : i64}]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c1024 = arith.constant 1024 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
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
      %x = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      agen.composite_load_and_store src:%x[0, 0] dst:%xl[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        agen.yield
      } : memref<16x64xf16>, memref<16x64xf16>
      dataflow.sync_send %l1lu {dbgName = "full"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      dataflow.sync_recv %mnilu {dbgName = "full"} : index
      agen.composite_load %xl[0, 0] time_symbols()(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        dataflow.send %sfu, %v : vector<64xf16>
        agen.yield
      } : memref<16x64xf16>
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      scf.for %r = %c0 to %c16 step %c1 {
        %x = dataflow.receive %l1lu : vector<64xf16>
        %h = vectorchain.binary %x, %x {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf16>, vector<64xf16>, vector<64xf16>
        dataflow.send %l1su, %h : vector<64xf16>
      } {loop_type = #ktdf.loop_type<parallel_loop>}
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %hl = dataflow.get_logical_memory_view %lx, %c1024 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      agen.composite_store %hl[0, 0] time_symbols()
       {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        %v = dataflow.receive %sfu : vector<64xf16>
        agen.yield %v : vector<64xf16>
      } : memref<16x64xf16>
    }
    return
  }
  func.func @local_schedule_1() attributes {grid = [1], headrace.lx_in = [{name = "h", address = 2048 : i64, bytes = 2048 : i64}]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c1024 = arith.constant 1024 : index
    %c2048 = arith.constant 2048 : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %l1lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %sfu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %l1su0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %hl = dataflow.get_logical_memory_view %lx, %c1024 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      agen.composite_load %hl[0, 0] time_symbols()(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        dataflow.send %sfu, %v : vector<64xf16>
        agen.yield
      } : memref<16x64xf16>
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %z = arith.constant dense<0.0> : vector<64xf32>
      %s = scf.for %r = %c0 to %c16 step %c1 iter_args(%a = %z) -> (vector<64xf32>) {
        %x = dataflow.receive %l1lu : vector<64xf16>
        %xf = vectorchain.cast %x : vector<64xf16>, vector<64xf32>
        %n = vectorchain.binary %a, %xf {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        scf.yield %n : vector<64xf32>
      } {loop_type = #ktdf.loop_type<reduction_loop>}
      %o = vectorchain.cast %s : vector<64xf32>, vector<64xf16>
      dataflow.send %l1su, %o : vector<64xf16>
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %ol = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #i1} : index, index, memref<64xf16>
      %o = dataflow.receive %sfu : vector<64xf16>
      agen.vector_store %o, %ol[0] {store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>} : memref<64xf16>, vector<64xf16>
      dataflow.sync_send %mnisu {dbgName = "full"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %o = dataflow.get_logical_memory_view %hbm, %c2048 {layout_map = #i1} : index, index, memref<64xf16>
      %ol = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #i1} : index, index, memref<64xf16>
      dataflow.sync_recv %l1su {dbgName = "full"} : index
      agen.composite_load_and_store src:%ol[0] dst:%o[0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>, load_time_addr_map = #zero1, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<64xf16>, memref<64xf16>
    }
    return
  }
}
