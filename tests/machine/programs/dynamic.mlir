// y = x + x and the sum of x for a run-time length: full blocks, then a masked rest.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#zero1 = affine_map<(d0) -> (0)>
#zero2 = affine_map<(d0) -> (0, 0)>
#upto = affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)>
#upto2 = affine_set<(d0, d1)[s0] : (d0 == 0, d1 >= 0, -d1 + s0 - 1 >= 0)>
#live = affine_set<(d0)[s0] : (-d0 + s0 - 1 >= 0)>
#ring = affine_map<(d0, d1) -> (d0 * 256 + d1)>
module attributes {headrace.dfir = 1 : i64} {
  func.func @local_schedule_0(%px: index, %py: index, %po: index, %n: index) attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c512 = arith.constant 512 : index
    %c1024 = arith.constant 1024 : index
    %c256 = arith.constant 256 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %l1lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %sfu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %l1su0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    %full = arith.divsi %n, %c256 : index
    %rest = arith.remsi %n, %c256 : index
    %some = arith.cmpi ne, %rest, %c0 : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1lu_map = uniform.def_immutable_mapping([%mnilu0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %x = dataflow.get_logical_memory_view %hbm, %px {layout_map = #i1} : index, index, memref<?xf16>
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #ring} : index, index, memref<2x256xf16>
      scf.for %t = %c0 to %full step %c1 {
        dataflow.sync_recv %l1lu {dbgName = "free.x"} : index
        agen.composite_load_and_store src:%x[%t * 256] dst:%xl[%t mod 2, 0]
         time_symbols(), load_iv(%v:vector<256xf16>)
         {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 255 >= 0)>, load_time_addr_map = #zero1, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 255 >= 0)>, store_time_addr_map = #zero2, time_order = #i1, time_set = #once}
        {
          agen.yield
        } : memref<?xf16>, memref<2x256xf16>
        dataflow.sync_send %l1lu {dbgName = "full.x"} : index
      }
      scf.if %some {
        dataflow.sync_recv %l1lu {dbgName = "free.x"} : index
        agen.composite_load_and_store src:%x[%full * 256] dst:%xl[%full mod 2, 0]
         time_symbols(%rest), load_iv(%v:vector<256xf16>)
         {load_order = #i1, load_set = #upto, load_time_addr_map = #zero1, store_order = #i2, store_set = #upto2, store_time_addr_map = #zero2, time_order = #i1, time_set = #once}
        {
          agen.yield
        } : memref<?xf16>, memref<2x256xf16>
        dataflow.sync_send %l1lu {dbgName = "full.x"} : index
      }
      dataflow.sync_recv %l1lu {dbgName = "free.x"} : index
      dataflow.sync_recv %l1lu {dbgName = "free.x"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %xl = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #ring} : index, index, memref<2x256xf16>
      dataflow.sync_send %mnilu {dbgName = "free.x"} : index
      dataflow.sync_send %mnilu {dbgName = "free.x"} : index
      scf.for %t = %c0 to %full step %c1 {
        dataflow.sync_recv %mnilu {dbgName = "full.x"} : index
        agen.composite_load %xl[%t mod 2, 0] time_symbols()(%v:vector<256xf16>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 255 >= 0)>, time_addr_map = #zero2, time_order = #i1, time_set = #once}
        {
          dataflow.send %sfu, %v : vector<256xf16>
          agen.yield
        } : memref<2x256xf16>
        dataflow.sync_send %mnilu {dbgName = "free.x"} : index
      }
      scf.if %some {
        dataflow.sync_recv %mnilu {dbgName = "full.x"} : index
        agen.composite_load %xl[%full mod 2, 0] time_symbols(%rest)(%v:vector<256xf16>)
         {load_order = #i2, load_set = #upto2, time_addr_map = #zero2, time_order = #i1, time_set = #once}
        {
          dataflow.send %sfu, %v : vector<256xf16>
          agen.yield
        } : memref<2x256xf16>
        dataflow.sync_send %mnilu {dbgName = "free.x"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %zf = arith.constant dense<0.0> : vector<256xf32>
      %sum = scf.for %t = %c0 to %full step %c1 iter_args(%acc = %zf) -> (vector<256xf32>) {
        %x = dataflow.receive %l1lu : vector<256xf16>
        %y = vectorchain.binary %x, %x {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<256xf16>, vector<256xf16>, vector<256xf16>
        dataflow.send %l1su, %y : vector<256xf16>
        %xf = vectorchain.cast %x : vector<256xf16>, vector<256xf32>
        %nx = vectorchain.binary %acc, %xf {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<256xf32>, vector<256xf32>, vector<256xf32>
        scf.yield %nx : vector<256xf32>
      } {loop_type = #ktdf.loop_type<reduction_loop>}
      %all = scf.if %some -> (vector<256xf32>) {
        %x = dataflow.receive %l1lu : vector<256xf16>
        %y = vectorchain.binary %x, %x {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<256xf16>, vector<256xf16>, vector<256xf16>
        dataflow.send %l1su, %y : vector<256xf16>
        %live = vectorchain.create_affine_mask %rest {mask_set = #live} : vector<256xi1>
        %xf = vectorchain.cast %x : vector<256xf16>, vector<256xf32>
        %xm = vectorchain.element_wise_selection %live ? %xf : %zf : vector<256xi1>, vector<256xf32>, vector<256xf32>, vector<256xf32>
        %nx = vectorchain.binary %sum, %xm {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<256xf32>, vector<256xf32>, vector<256xf32>
        scf.yield %nx : vector<256xf32>
      } else {
        scf.yield %sum : vector<256xf32>
      }
      %o_s = vectorchain.scan_with_gap %all {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator add>} : vector<256xf32>, vector<256xf32>
      %o = vectorchain.select %o_s {selection_map = affine_map<(d0) -> (255)>} : vector<256xf32>, vector<1xf32>
      dataflow.send %l1su, %o : vector<1xf32>
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %yl = dataflow.get_logical_memory_view %lx, %c512 {layout_map = #ring} : index, index, memref<2x256xf16>
      %ol = dataflow.get_logical_memory_view %lx, %c1024 {layout_map = #i1} : index, index, memref<1xf32>
      scf.for %t = %c0 to %full step %c1 {
        dataflow.sync_recv %mnisu {dbgName = "free.y"} : index
        agen.composite_store %yl[%t mod 2, 0] time_symbols()
         {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 255 >= 0)>, time_addr_map = #zero2, time_order = #i1, time_set = #once}
        {
          %v = dataflow.receive %sfu : vector<256xf16>
          agen.yield %v : vector<256xf16>
        } : memref<2x256xf16>
        dataflow.sync_send %mnisu {dbgName = "full.y"} : index
      }
      scf.if %some {
        dataflow.sync_recv %mnisu {dbgName = "free.y"} : index
        agen.composite_store %yl[%full mod 2, 0] time_symbols(%rest)
         {store_order = #i2, store_set = #upto2, time_addr_map = #zero2, time_order = #i1, time_set = #once}
        {
          %v = dataflow.receive %sfu : vector<256xf16>
          agen.yield %v : vector<256xf16>
        } : memref<2x256xf16>
        dataflow.sync_send %mnisu {dbgName = "full.y"} : index
      }
      dataflow.sync_recv %mnisu {dbgName = "free.y"} : index
      dataflow.sync_recv %mnisu {dbgName = "free.y"} : index
      %o = dataflow.receive %sfu : vector<1xf32>
      agen.vector_store %o, %ol[0] {store_order = #i1, store_set = #once} : memref<1xf32>, vector<1xf32>
      dataflow.sync_send %mnisu {dbgName = "full.o"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %y = dataflow.get_logical_memory_view %hbm, %py {layout_map = #i1} : index, index, memref<?xf16>
      %o = dataflow.get_logical_memory_view %hbm, %po {layout_map = #i1} : index, index, memref<1xf32>
      %yl = dataflow.get_logical_memory_view %lx, %c512 {layout_map = #ring} : index, index, memref<2x256xf16>
      %ol = dataflow.get_logical_memory_view %lx, %c1024 {layout_map = #i1} : index, index, memref<1xf32>
      dataflow.sync_send %l1su {dbgName = "free.y"} : index
      dataflow.sync_send %l1su {dbgName = "free.y"} : index
      scf.for %t = %c0 to %full step %c1 {
        dataflow.sync_recv %l1su {dbgName = "full.y"} : index
        agen.composite_load_and_store src:%yl[%t mod 2, 0] dst:%y[%t * 256]
         time_symbols(), load_iv(%v:vector<256xf16>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 255 >= 0)>, load_time_addr_map = #zero2, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 255 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
        {
          agen.yield
        } : memref<2x256xf16>, memref<?xf16>
        dataflow.sync_send %l1su {dbgName = "free.y"} : index
      }
      scf.if %some {
        dataflow.sync_recv %l1su {dbgName = "full.y"} : index
        agen.composite_load_and_store src:%yl[%full mod 2, 0] dst:%y[%full * 256]
         time_symbols(%rest), load_iv(%v:vector<256xf16>)
         {load_order = #i2, load_set = #upto2, load_time_addr_map = #zero2, store_order = #i1, store_set = #upto, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
        {
          agen.yield
        } : memref<2x256xf16>, memref<?xf16>
        dataflow.sync_send %l1su {dbgName = "free.y"} : index
      }
      dataflow.sync_recv %l1su {dbgName = "full.o"} : index
      agen.composite_load_and_store src:%ol[0] dst:%o[0]
       time_symbols(), load_iv(%v:vector<1xf32>)
       {load_order = #i1, load_set = #once, load_time_addr_map = #zero1, store_order = #i1, store_set = #once, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<1xf32>, memref<1xf32>
    }
    return
  }
}
