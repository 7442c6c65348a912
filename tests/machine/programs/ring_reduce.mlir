// Reduce-scatter of 4 partial vectors over the partial-sum ring of 4 cores.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#zero1 = affine_map<(d0) -> (0)>
#zero2 = affine_map<(d0) -> (0, 0)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @local_schedule_0() attributes {grid = [4]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c192 = arith.constant 192 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %c768 = arith.constant 768 : index
    %c1024 = arith.constant 1024 : index
    %c1088 = arith.constant 1088 : index
    %c1152 = arith.constant 1152 : index
    %c1216 = arith.constant 1216 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnilu1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnilu", type = "mnilu"} : index
    %mnilu2 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-mnilu", type = "mnilu"} : index
    %mnilu3 = dataflow.get_unit {core = 3 : i32, corelet = 0 : i32, name = "C3-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %mnisu1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnisu", type = "mnisu"} : index
    %mnisu2 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-mnisu", type = "mnisu"} : index
    %mnisu3 = dataflow.get_unit {core = 3 : i32, corelet = 0 : i32, name = "C3-mnisu", type = "mnisu"} : index
    %l1lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %l1lu1_0 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1lu-CL0", type = "l1lu"} : index
    %l1lu2_0 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-l1lu-CL0", type = "l1lu"} : index
    %l1lu3_0 = dataflow.get_unit {core = 3 : i32, corelet = 0 : i32, name = "C3-l1lu-CL0", type = "l1lu"} : index
    %sfu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %sfu1_0 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-sfu-CL0", type = "sfu"} : index
    %sfu2_0 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-sfu-CL0", type = "sfu"} : index
    %sfu3_0 = dataflow.get_unit {core = 3 : i32, corelet = 0 : i32, name = "C3-sfu-CL0", type = "sfu"} : index
    %l1su0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %l1su1_0 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1su-CL0", type = "l1su"} : index
    %l1su2_0 = dataflow.get_unit {core = 2 : i32, corelet = 0 : i32, name = "C2-l1su-CL0", type = "l1su"} : index
    %l1su3_0 = dataflow.get_unit {core = 3 : i32, corelet = 0 : i32, name = "C3-l1su-CL0", type = "l1su"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    %lx1 = dataflow.get_unit {core = 1 : i32, name = "C1-lx", type = "lx"} : index
    %lx2 = dataflow.get_unit {core = 2 : i32, name = "C2-lx", type = "lx"} : index
    %lx3 = dataflow.get_unit {core = 3 : i32, name = "C3-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0, %mnilu1, %mnilu2, %mnilu3) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0], [%mnilu1 -> %lx1], [%mnilu2 -> %lx2], [%mnilu3 -> %lx3]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1lu_map = uniform.def_immutable_mapping([%mnilu0 -> %l1lu0_0], [%mnilu1 -> %l1lu1_0], [%mnilu2 -> %l1lu2_0], [%mnilu3 -> %l1lu3_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %pb_map = uniform.def_immutable_mapping([%mnilu0 -> %c0], [%mnilu1 -> %c256], [%mnilu2 -> %c512], [%mnilu3 -> %c768]):index
      %pb = uniform.query_map(map:%pb_map, key:%me) : index
      %p = dataflow.get_logical_memory_view %hbm, %pb {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<4x64xf32>
      %pl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<4x64xf32>
      agen.composite_load_and_store src:%p[0, 0] dst:%pl[0, 0]
       time_symbols(), load_iv(%v:vector<64xf32>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>}
      {
        agen.yield
      } : memref<4x64xf32>, memref<4x64xf32>
      dataflow.sync_send %l1lu {dbgName = "full"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0, %l1lu1_0, %l1lu2_0, %l1lu3_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0], [%l1lu1_0 -> %lx1], [%l1lu2_0 -> %lx2], [%l1lu3_0 -> %lx3]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0], [%l1lu1_0 -> %mnilu1], [%l1lu2_0 -> %mnilu2], [%l1lu3_0 -> %mnilu3]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0], [%l1lu1_0 -> %sfu1_0], [%l1lu2_0 -> %sfu2_0], [%l1lu3_0 -> %sfu3_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %core_map = uniform.def_immutable_mapping([%l1lu0_0 -> %c0], [%l1lu1_0 -> %c1], [%l1lu2_0 -> %c2], [%l1lu3_0 -> %c3]):index
      %core = uniform.query_map(map:%core_map, key:%me) : index
      %pl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<4x64xf32>
      dataflow.sync_recv %mnilu {dbgName = "full"} : index
      scf.for %s = %c0 to %c4 step %c1 {
        %v = agen.vector_load %pl[(%core - %s + 3) mod 4, 0] {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>} : memref<4x64xf32>, vector<64xf32>
        dataflow.send %sfu, %v : vector<64xf32>
      }
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0, %sfu1_0, %sfu2_0, %sfu3_0) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0], [%sfu1_0 -> %l1lu1_0], [%sfu2_0 -> %l1lu2_0], [%sfu3_0 -> %l1lu3_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0], [%sfu1_0 -> %l1su1_0], [%sfu2_0 -> %l1su2_0], [%sfu3_0 -> %l1su3_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %next_map = uniform.def_immutable_mapping([%sfu0_0 -> %sfu1_0], [%sfu1_0 -> %sfu2_0], [%sfu2_0 -> %sfu3_0], [%sfu3_0 -> %sfu0_0]):index
      %next = uniform.query_map(map:%next_map, key:%me) : index
      %prev_map = uniform.def_immutable_mapping([%sfu0_0 -> %sfu3_0], [%sfu1_0 -> %sfu0_0], [%sfu2_0 -> %sfu1_0], [%sfu3_0 -> %sfu2_0]):index
      %prev = uniform.query_map(map:%prev_map, key:%me) : index
      %first = dataflow.receive %l1lu : vector<64xf32>
      dataflow.send %next, %first {dir = #dataflow<direction Clockwise>} : vector<64xf32>
      scf.for %s = %c1 to %c3 step %c1 {
        %own = dataflow.receive %l1lu : vector<64xf32>
        %in = dataflow.receive %prev : vector<64xf32>
        %sum = vectorchain.binary %own, %in {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        dataflow.send %next, %sum {dir = #dataflow<direction Clockwise>} : vector<64xf32>
      }
      %own1 = dataflow.receive %l1lu : vector<64xf32>
      %in1 = dataflow.receive %prev : vector<64xf32>
      %sum1 = vectorchain.binary %own1, %in1 {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
      dataflow.send %l1su, %sum1 : vector<64xf32>
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0, %l1su1_0, %l1su2_0, %l1su3_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0], [%l1su1_0 -> %lx1], [%l1su2_0 -> %lx2], [%l1su3_0 -> %lx3]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0], [%l1su1_0 -> %sfu1_0], [%l1su2_0 -> %sfu2_0], [%l1su3_0 -> %sfu3_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0], [%l1su1_0 -> %mnisu1], [%l1su2_0 -> %mnisu2], [%l1su3_0 -> %mnisu3]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %yl = dataflow.get_logical_memory_view %lx, %c256 {layout_map = #i1} : index, index, memref<64xf32>
      %y = dataflow.receive %sfu : vector<64xf32>
      agen.vector_store %y, %yl[0] {store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>} : memref<64xf32>, vector<64xf32>
      dataflow.sync_send %mnisu {dbgName = "full"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0, %mnisu1, %mnisu2, %mnisu3) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0], [%mnisu1 -> %lx1], [%mnisu2 -> %lx2], [%mnisu3 -> %lx3]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0], [%mnisu1 -> %l1su1_0], [%mnisu2 -> %l1su2_0], [%mnisu3 -> %l1su3_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %yb_map = uniform.def_immutable_mapping([%mnisu0 -> %c1024], [%mnisu1 -> %c1088], [%mnisu2 -> %c1152], [%mnisu3 -> %c1216]):index
      %yb = uniform.query_map(map:%yb_map, key:%me) : index
      %y = dataflow.get_logical_memory_view %hbm, %yb {layout_map = #i1} : index, index, memref<64xf32>
      %yl = dataflow.get_logical_memory_view %lx, %c256 {layout_map = #i1} : index, index, memref<64xf32>
      dataflow.sync_recv %l1su {dbgName = "full"} : index
      agen.composite_load_and_store src:%yl[0] dst:%y[0]
       time_symbols(), load_iv(%v:vector<64xf32>)
       {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>, load_time_addr_map = #zero1, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<64xf32>, memref<64xf32>
    }
    return
  }
}
