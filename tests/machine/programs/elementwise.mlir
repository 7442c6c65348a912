// y = (x + row) * column, 60x200 f16 on 2 cores x 2 corelets: 3 copies of each buffer, a ragged last tile.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>

#v200 = affine_set<(d0) : (d0 >= 0, -d0 + 199 >= 0)>
#r200 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 199 >= 0)>
#r200c = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 199 >= 0)>
#s1 = affine_set<(d0) : (d0 == 0)>
#t8 = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>
#t6 = affine_set<(d0) : (d0 >= 0, -d0 + 5 >= 0)>
#t4 = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#t3 = affine_set<(d0) : (d0 >= 0, -d0 + 2 >= 0)>
#zero1 = affine_map<(d0) -> (0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#flat = affine_map<(d0, d1) -> (d0 * 200 + d1)>
#ring = affine_map<(d0, d1, d2) -> (d0 * 2048 + d1 * 256 + d2)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @local_schedule_0() attributes {grid = [2]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c6144 = arith.constant 6144 : index
    %c6400 = arith.constant 6400 : index
    %c6464 = arith.constant 6464 : index
    %c12032 = arith.constant 12032 : index
    %c12288 = arith.constant 12288 : index
    %c16384 = arith.constant 16384 : index
    %c6000 = arith.constant 6000 : index
    %c30 = arith.constant 30 : index
    %c12318 = arith.constant 12318 : index
    %c22384 = arith.constant 22384 : index
    %c4 = arith.constant 4 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnilu1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %mnisu1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnisu", type = "mnisu"} : index
    %l1lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %l1lu1_0 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1lu-CL0", type = "l1lu"} : index
    %l1lu0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-l1lu-CL1", type = "l1lu"} : index
    %l1lu1_1 = dataflow.get_unit {core = 1 : i32, corelet = 1 : i32, name = "C1-l1lu-CL1", type = "l1lu"} : index
    %sfu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %sfu1_0 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-sfu-CL0", type = "sfu"} : index
    %sfu0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-sfu-CL1", type = "sfu"} : index
    %sfu1_1 = dataflow.get_unit {core = 1 : i32, corelet = 1 : i32, name = "C1-sfu-CL1", type = "sfu"} : index
    %l1su0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %l1su1_0 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1su-CL0", type = "l1su"} : index
    %l1su0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-l1su-CL1", type = "l1su"} : index
    %l1su1_1 = dataflow.get_unit {core = 1 : i32, corelet = 1 : i32, name = "C1-l1su-CL1", type = "l1su"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    %lx1 = dataflow.get_unit {core = 1 : i32, name = "C1-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0, %mnilu1) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0], [%mnilu1 -> %lx1]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1lu_a_map = uniform.def_immutable_mapping([%mnilu0 -> %l1lu0_0], [%mnilu1 -> %l1lu1_0]):index
      %l1lu_a = uniform.query_map(map:%l1lu_a_map, key:%me) : index
      %l1lu_b_map = uniform.def_immutable_mapping([%mnilu0 -> %l1lu0_1], [%mnilu1 -> %l1lu1_1]):index
      %l1lu_b = uniform.query_map(map:%l1lu_b_map, key:%me) : index
      %xbase_map = uniform.def_immutable_mapping([%mnilu0 -> %c0], [%mnilu1 -> %c6000]):index
      %xbase = uniform.query_map(map:%xbase_map, key:%me) : index
      %cbase_map = uniform.def_immutable_mapping([%mnilu0 -> %c12288], [%mnilu1 -> %c12318]):index
      %cbase = uniform.query_map(map:%cbase_map, key:%me) : index
      %x = dataflow.get_logical_memory_view %hbm, %xbase {layout_map = #flat} : index, index, memref<30x200xf16>
      %row = dataflow.get_logical_memory_view %hbm, %c12032 {layout_map = #i1} : index, index, memref<200xf16>
      %col = dataflow.get_logical_memory_view %hbm, %cbase {layout_map = #i1} : index, index, memref<30xf16>
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #ring} : index, index, memref<3x8x200xf16>
      %rowl = dataflow.get_logical_memory_view %lx, %c6144 {layout_map = #i1} : index, index, memref<200xf16>
      %coll = dataflow.get_logical_memory_view %lx, %c6400 {layout_map = #i1} : index, index, memref<30xf16>
      
      agen.composite_load_and_store src:%row[0] dst:%rowl[0]
       time_symbols(), load_iv(%v:vector<200xf16>)
       {load_order = #i1, load_set = #v200, load_time_addr_map = #zero1, store_order = #i1, store_set = #v200, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<200xf16>, memref<200xf16>
      agen.composite_load_and_store src:%col[0] dst:%coll[0]
       time_symbols(), load_iv(%v:vector<30xf16>)
       {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 29 >= 0)>, load_time_addr_map = #zero1, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 29 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<30xf16>, memref<30xf16>
      dataflow.sync_send %l1lu_a {dbgName = "full.const"} : index
      dataflow.sync_send %l1lu_b {dbgName = "full.const"} : index
      scf.for %t = %c0 to %c3 step %c1 {
        dataflow.sync_recv %l1lu_a {dbgName = "free.x"} : index
        dataflow.sync_recv %l1lu_b {dbgName = "free.x"} : index
      
        agen.composite_load_and_store src:%x[%t * 8, 0] dst:%xl[%t mod 3, 0, 0]
         time_symbols(), load_iv(%v:vector<200xf16>)
         {load_order = #i2, load_set = #r200, load_time_addr_map = #down2, store_order = #i3, store_set = #r200c, store_time_addr_map = #down3, time_order = #i1, time_set = #t8}
        {
          agen.yield
        } : memref<30x200xf16>, memref<3x8x200xf16>
        dataflow.sync_send %l1lu_a {dbgName = "full.x"} : index
        dataflow.sync_send %l1lu_b {dbgName = "full.x"} : index
      }
      dataflow.sync_recv %l1lu_a {dbgName = "free.x"} : index
      dataflow.sync_recv %l1lu_b {dbgName = "free.x"} : index
      
      agen.composite_load_and_store src:%x[24, 0] dst:%xl[0, 0, 0]
       time_symbols(), load_iv(%v:vector<200xf16>)
       {load_order = #i2, load_set = #r200, load_time_addr_map = #down2, store_order = #i3, store_set = #r200c, store_time_addr_map = #down3, time_order = #i1, time_set = #t6}
      {
        agen.yield
      } : memref<30x200xf16>, memref<3x8x200xf16>
      dataflow.sync_send %l1lu_a {dbgName = "full.x"} : index
      dataflow.sync_send %l1lu_b {dbgName = "full.x"} : index
      scf.for %t = %c0 to %c3 step %c1 {
        dataflow.sync_recv %l1lu_a {dbgName = "free.x"} : index
        dataflow.sync_recv %l1lu_b {dbgName = "free.x"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0, %l1lu1_0, %l1lu0_1, %l1lu1_1) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0], [%l1lu1_0 -> %lx1], [%l1lu0_1 -> %lx0], [%l1lu1_1 -> %lx1]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0], [%l1lu1_0 -> %mnilu1], [%l1lu0_1 -> %mnilu0], [%l1lu1_1 -> %mnilu1]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0], [%l1lu1_0 -> %sfu1_0], [%l1lu0_1 -> %sfu0_1], [%l1lu1_1 -> %sfu1_1]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %cl_map = uniform.def_immutable_mapping([%l1lu0_0 -> %c0], [%l1lu1_0 -> %c0], [%l1lu0_1 -> %c1], [%l1lu1_1 -> %c1]):index
      %cl = uniform.query_map(map:%cl_map, key:%me) : index
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #ring} : index, index, memref<3x8x200xf16>
      %rowl = dataflow.get_logical_memory_view %lx, %c6144 {layout_map = #i1} : index, index, memref<200xf16>
      %coll = dataflow.get_logical_memory_view %lx, %c6400 {layout_map = #i1} : index, index, memref<30xf16>
      scf.for %i = %c0 to %c3 step %c1 {
        dataflow.sync_send %mnilu {dbgName = "free.x"} : index
      }
      dataflow.sync_recv %mnilu {dbgName = "full.const"} : index
      %r = agen.vector_load %rowl[0] {load_order = #i1, load_set = #v200} : memref<200xf16>, vector<200xf16>
      dataflow.send %sfu, %r : vector<200xf16>
      scf.for %t = %c0 to %c3 step %c1 {
        dataflow.sync_recv %mnilu {dbgName = "full.x"} : index
      
        agen.composite_memory_interleave {granularity = 1 : i32} {
          agen.composite_load %xl[%t mod 3, %cl * 4, 0] time_symbols()(%v:vector<200xf16>)
           {load_order = #i3, load_set = #r200c, time_addr_map = #down3, time_order = #i1, time_set = #t4}
          {
            dataflow.send %sfu, %v : vector<200xf16>
            agen.yield
          } : memref<3x8x200xf16>
          agen.composite_load %coll[%t * 8 + %cl * 4] time_symbols()(%v:vector<1xf16>)
           {load_order = #i1, load_set = #s1, time_addr_map = #i1, time_order = #i1, time_set = #t4}
          {
            dataflow.send %sfu, %v : vector<1xf16>
            agen.yield
          } : memref<30xf16>
          agen.yield
        }
        dataflow.sync_send %mnilu {dbgName = "free.x"} : index
      }
      dataflow.sync_recv %mnilu {dbgName = "full.x"} : index
      
      agen.composite_memory_interleave {granularity = 1 : i32} {
        agen.composite_load %xl[0, %cl * 3, 0] time_symbols()(%v:vector<200xf16>)
         {load_order = #i3, load_set = #r200c, time_addr_map = #down3, time_order = #i1, time_set = #t3}
        {
          dataflow.send %sfu, %v : vector<200xf16>
          agen.yield
        } : memref<3x8x200xf16>
        agen.composite_load %coll[24 + %cl * 3] time_symbols()(%v:vector<1xf16>)
         {load_order = #i1, load_set = #s1, time_addr_map = #i1, time_order = #i1, time_set = #t3}
        {
          dataflow.send %sfu, %v : vector<1xf16>
          agen.yield
        } : memref<30xf16>
        agen.yield
      }
      dataflow.sync_send %mnilu {dbgName = "free.x"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0, %sfu1_0, %sfu0_1, %sfu1_1) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0], [%sfu1_0 -> %l1lu1_0], [%sfu0_1 -> %l1lu0_1], [%sfu1_1 -> %l1lu1_1]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0], [%sfu1_0 -> %l1su1_0], [%sfu0_1 -> %l1su0_1], [%sfu1_1 -> %l1su1_1]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %b = dataflow.receive %l1lu : vector<200xf16>
      scf.for %t = %c0 to %c3 step %c1 {
        scf.for %r = %c0 to %c4 step %c1 {
      
          %v = dataflow.receive %l1lu : vector<200xf16>
          %c = dataflow.receive %l1lu : vector<1xf16>
          %a = vectorchain.binary %v, %b {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<200xf16>, vector<200xf16>, vector<200xf16>
          %s = vectorchain.shuffle input(%c) {indices = [0 : i32], repetition = 200 : i32} : vector<1xf16>, vector<200xf16>
          %y = vectorchain.binary %a, %s {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<200xf16>, vector<200xf16>, vector<200xf16>
          dataflow.send %l1su, %y : vector<200xf16>
        } {loop_type = #ktdf.loop_type<parallel_loop>}
      }
      scf.for %r = %c0 to %c3 step %c1 {
        %v = dataflow.receive %l1lu : vector<200xf16>
        %c = dataflow.receive %l1lu : vector<1xf16>
        %a = vectorchain.binary %v, %b {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<200xf16>, vector<200xf16>, vector<200xf16>
        %s = vectorchain.shuffle input(%c) {indices = [0 : i32], repetition = 200 : i32} : vector<1xf16>, vector<200xf16>
        %y = vectorchain.binary %a, %s {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<200xf16>, vector<200xf16>, vector<200xf16>
        dataflow.send %l1su, %y : vector<200xf16>
      } {loop_type = #ktdf.loop_type<parallel_loop>}
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0, %l1su1_0, %l1su0_1, %l1su1_1) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0], [%l1su1_0 -> %lx1], [%l1su0_1 -> %lx0], [%l1su1_1 -> %lx1]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0], [%l1su1_0 -> %mnisu1], [%l1su0_1 -> %mnisu0], [%l1su1_1 -> %mnisu1]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0], [%l1su1_0 -> %sfu1_0], [%l1su0_1 -> %sfu0_1], [%l1su1_1 -> %sfu1_1]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %cl_map = uniform.def_immutable_mapping([%l1su0_0 -> %c0], [%l1su1_0 -> %c0], [%l1su0_1 -> %c1], [%l1su1_1 -> %c1]):index
      %cl = uniform.query_map(map:%cl_map, key:%me) : index
      %yl = dataflow.get_logical_memory_view %lx, %c6464 {layout_map = #ring} : index, index, memref<3x8x200xf16>
      scf.for %t = %c0 to %c3 step %c1 {
        dataflow.sync_recv %mnisu {dbgName = "free.y"} : index
      
        agen.composite_store %yl[%t mod 3, %cl * 4, 0] time_symbols()
         {store_order = #i3, store_set = #r200c, time_addr_map = #down3, time_order = #i1, time_set = #t4}
        {
          %v = dataflow.receive %sfu : vector<200xf16>
          agen.yield %v : vector<200xf16>
        } : memref<3x8x200xf16>
        dataflow.sync_send %mnisu {dbgName = "full.y"} : index
      }
      dataflow.sync_recv %mnisu {dbgName = "free.y"} : index
      
      agen.composite_store %yl[0, %cl * 3, 0] time_symbols()
       {store_order = #i3, store_set = #r200c, time_addr_map = #down3, time_order = #i1, time_set = #t3}
      {
        %v = dataflow.receive %sfu : vector<200xf16>
        agen.yield %v : vector<200xf16>
      } : memref<3x8x200xf16>
      dataflow.sync_send %mnisu {dbgName = "full.y"} : index
      scf.for %t = %c0 to %c3 step %c1 {
        dataflow.sync_recv %mnisu {dbgName = "free.y"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0, %mnisu1) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0], [%mnisu1 -> %lx1]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_a_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0], [%mnisu1 -> %l1su1_0]):index
      %l1su_a = uniform.query_map(map:%l1su_a_map, key:%me) : index
      %l1su_b_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_1], [%mnisu1 -> %l1su1_1]):index
      %l1su_b = uniform.query_map(map:%l1su_b_map, key:%me) : index
      %ybase_map = uniform.def_immutable_mapping([%mnisu0 -> %c16384], [%mnisu1 -> %c22384]):index
      %ybase = uniform.query_map(map:%ybase_map, key:%me) : index
      %y = dataflow.get_logical_memory_view %hbm, %ybase {layout_map = #flat} : index, index, memref<30x200xf16>
      %yl = dataflow.get_logical_memory_view %lx, %c6464 {layout_map = #ring} : index, index, memref<3x8x200xf16>
      scf.for %i = %c0 to %c3 step %c1 {
        dataflow.sync_send %l1su_a {dbgName = "free.y"} : index
        dataflow.sync_send %l1su_b {dbgName = "free.y"} : index
      }
      scf.for %t = %c0 to %c3 step %c1 {
        dataflow.sync_recv %l1su_a {dbgName = "full.y"} : index
        dataflow.sync_recv %l1su_b {dbgName = "full.y"} : index
      
        agen.composite_load_and_store src:%yl[%t mod 3, 0, 0] dst:%y[%t * 8, 0]
         time_symbols(), load_iv(%v:vector<200xf16>)
         {load_order = #i3, load_set = #r200c, load_time_addr_map = #down3, store_order = #i2, store_set = #r200, store_time_addr_map = #down2, time_order = #i1, time_set = #t8}
        {
          agen.yield
        } : memref<3x8x200xf16>, memref<30x200xf16>
        dataflow.sync_send %l1su_a {dbgName = "free.y"} : index
        dataflow.sync_send %l1su_b {dbgName = "free.y"} : index
      }
      dataflow.sync_recv %l1su_a {dbgName = "full.y"} : index
      dataflow.sync_recv %l1su_b {dbgName = "full.y"} : index
      
      agen.composite_load_and_store src:%yl[0, 0, 0] dst:%y[24, 0]
       time_symbols(), load_iv(%v:vector<200xf16>)
       {load_order = #i3, load_set = #r200c, load_time_addr_map = #down3, store_order = #i2, store_set = #r200, store_time_addr_map = #down2, time_order = #i1, time_set = #t6}
      {
        agen.yield
      } : memref<3x8x200xf16>, memref<30x200xf16>
      dataflow.sync_send %l1su_a {dbgName = "free.y"} : index
      dataflow.sync_send %l1su_b {dbgName = "free.y"} : index
    }
    return
  }
}
