// relu(A[32,1024] B[1024,128] + bias), weights stationary, K in 4 chunks, partial sums in f32.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#zero1 = affine_map<(d0) -> (0)>
#zero2 = affine_map<(d0) -> (0, 0)>
#actring = affine_map<(d0, d1, d2) -> (d0 * 8192 + d1 * 256 + d2)>
#wring = affine_map<(d0, d1, d2) -> (d0 * 32768 + d1 * 128 + d2)>
#k_n_to_k = affine_map<(d0, d1) -> (d0)>
#k_n_to_n = affine_map<(d0, d1) -> (d1)>
#parallel = #ktdf.loop_type<parallel_loop>
module attributes {headrace.dfir = 1 : i64} {
  func.func @local_schedule_0() attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c16384 = arith.constant 16384 : index
    %c32768 = arith.constant 32768 : index
    %c41024 = arith.constant 41024 : index
    %c43072 = arith.constant 43072 : index
    %c81920 = arith.constant 81920 : index
    %c90240 = arith.constant 90240 : index
    %c163840 = arith.constant 163840 : index
    %c164096 = arith.constant 164096 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %l1lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %l1lu0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-l1lu-CL1", type = "l1lu"} : index
    %l0lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l0lu-CL0", type = "l0lu"} : index
    %l0lu0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-l0lu-CL1", type = "l0lu"} : index
    %xrflu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-xrflu-CL0", type = "xrflu"} : index
    %xrflu0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-xrflu-CL1", type = "xrflu"} : index
    %pt0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-pt-CL0", type = "pt"} : index
    %pt0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-pt-CL1", type = "pt"} : index
    %sfu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %sfu0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-sfu-CL1", type = "sfu"} : index
    %l1su0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %l1su0_1 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-l1su-CL1", type = "l1su"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1lu_a_map = uniform.def_immutable_mapping([%mnilu0 -> %l1lu0_0]):index
      %l1lu_a = uniform.query_map(map:%l1lu_a_map, key:%me) : index
      %l1lu_b_map = uniform.def_immutable_mapping([%mnilu0 -> %l1lu0_1]):index
      %l1lu_b = uniform.query_map(map:%l1lu_b_map, key:%me) : index
      %l0lu_a_map = uniform.def_immutable_mapping([%mnilu0 -> %l0lu0_0]):index
      %l0lu_a = uniform.query_map(map:%l0lu_a_map, key:%me) : index
      %l0lu_b_map = uniform.def_immutable_mapping([%mnilu0 -> %l0lu0_1]):index
      %l0lu_b = uniform.query_map(map:%l0lu_b_map, key:%me) : index
      %xrflu_a_map = uniform.def_immutable_mapping([%mnilu0 -> %xrflu0_0]):index
      %xrflu_a = uniform.query_map(map:%xrflu_a_map, key:%me) : index
      %xrflu_b_map = uniform.def_immutable_mapping([%mnilu0 -> %xrflu0_1]):index
      %xrflu_b = uniform.query_map(map:%xrflu_b_map, key:%me) : index
      %a = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 1024 + d1)>} : index, index, memref<32x1024xf16>
      %b = dataflow.get_logical_memory_view %hbm, %c32768 {layout_map = affine_map<(d0, d1) -> (d0 * 128 + d1)>} : index, index, memref<1024x128xf16>
      %bias = dataflow.get_logical_memory_view %hbm, %c163840 {layout_map = #i1} : index, index, memref<128xf16>
      %al = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #actring} : index, index, memref<2x32x256xf16>
      %bl = dataflow.get_logical_memory_view %lx, %c16384 {layout_map = #wring} : index, index, memref<2x256x128xf16>
      %biasl = dataflow.get_logical_memory_view %lx, %c81920 {layout_map = #i1} : index, index, memref<128xf16>
      agen.composite_load_and_store src:%bias[0] dst:%biasl[0]
       time_symbols(), load_iv(%v:vector<128xf16>)
       {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 127 >= 0)>, load_time_addr_map = #zero1, store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 127 >= 0)>, store_time_addr_map = #zero1, time_order = #i1, time_set = #once}
      {
        agen.yield
      } : memref<128xf16>, memref<128xf16>
      dataflow.sync_send %l1lu_a {dbgName = "full.bias"} : index
      dataflow.sync_send %l1lu_b {dbgName = "full.bias"} : index
      scf.for %k = %c0 to %c4 step %c1 {
        dataflow.sync_recv %l0lu_a {dbgName = "free.A"} : index
        dataflow.sync_recv %l0lu_b {dbgName = "free.A"} : index
        dataflow.sync_recv %xrflu_a {dbgName = "free.B"} : index
        dataflow.sync_recv %xrflu_b {dbgName = "free.B"} : index
        agen.composite_load_and_store src:%a[0, %k * 256] dst:%al[%k mod 2, 0, 0]
         time_symbols(), load_iv(%v:vector<256xf16>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 255 >= 0)>, load_time_addr_map = #down2, store_order = #i3, store_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 255 >= 0)>, store_time_addr_map = #down3, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
        {
          agen.yield
        } : memref<32x1024xf16>, memref<2x32x256xf16>
        dataflow.sync_send %l0lu_a {dbgName = "full.A"} : index
        dataflow.sync_send %l0lu_b {dbgName = "full.A"} : index
        agen.composite_load_and_store src:%b[%k * 256, 0] dst:%bl[%k mod 2, 0, 0]
         time_symbols(), load_iv(%v:vector<128xf16>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 127 >= 0)>, load_time_addr_map = #down2, store_order = #i3, store_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 127 >= 0)>, store_time_addr_map = #down3, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 255 >= 0)>}
        {
          agen.yield
        } : memref<1024x128xf16>, memref<2x256x128xf16>
        dataflow.sync_send %xrflu_a {dbgName = "full.B"} : index
        dataflow.sync_send %xrflu_b {dbgName = "full.B"} : index
      }
      scf.for %k = %c0 to %c2 step %c1 {
        dataflow.sync_recv %l0lu_a {dbgName = "free.A"} : index
        dataflow.sync_recv %l0lu_b {dbgName = "free.A"} : index
        dataflow.sync_recv %xrflu_a {dbgName = "free.B"} : index
        dataflow.sync_recv %xrflu_b {dbgName = "free.B"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%xrflu0_0, %xrflu0_1) : {
      %lx_map = uniform.def_immutable_mapping([%xrflu0_0 -> %lx0], [%xrflu0_1 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%xrflu0_0 -> %mnilu0], [%xrflu0_1 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %pt_map = uniform.def_immutable_mapping([%xrflu0_0 -> %pt0_0], [%xrflu0_1 -> %pt0_1]):index
      %pt = uniform.query_map(map:%pt_map, key:%me) : index
      %cl_map = uniform.def_immutable_mapping([%xrflu0_0 -> %c0], [%xrflu0_1 -> %c1]):index
      %cl = uniform.query_map(map:%cl_map, key:%me) : index
      %bl = dataflow.get_logical_memory_view %lx, %c16384 {layout_map = #wring} : index, index, memref<2x256x128xf16>
      scf.for %i = %c0 to %c2 step %c1 {
        dataflow.sync_send %mnilu {dbgName = "free.B"} : index
      }
      scf.for %k = %c0 to %c4 step %c1 {
        dataflow.sync_recv %mnilu {dbgName = "full.B"} : index
        %w = agen.vector_load %bl[%k mod 2, 0, %cl * 64] {load_order = #i3, load_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 >= 0, -d1 + 255 >= 0, d2 >= 0, -d2 + 63 >= 0)>} : memref<2x256x128xf16>, vector<256x64xf16>
        dataflow.send %pt, %w : vector<256x64xf16>
        dataflow.sync_send %mnilu {dbgName = "free.B"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%l0lu0_0, %l0lu0_1) : {
      %lx_map = uniform.def_immutable_mapping([%l0lu0_0 -> %lx0], [%l0lu0_1 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l0lu0_0 -> %mnilu0], [%l0lu0_1 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %pt_map = uniform.def_immutable_mapping([%l0lu0_0 -> %pt0_0], [%l0lu0_1 -> %pt0_1]):index
      %pt = uniform.query_map(map:%pt_map, key:%me) : index
      %al = dataflow.get_logical_memory_view %lx, %c0 {layout_map = #actring} : index, index, memref<2x32x256xf16>
      scf.for %i = %c0 to %c2 step %c1 {
        dataflow.sync_send %mnilu {dbgName = "free.A"} : index
      }
      scf.for %k = %c0 to %c4 step %c1 {
        dataflow.sync_recv %mnilu {dbgName = "full.A"} : index
        agen.composite_load %al[%k mod 2, 0, 0] time_symbols()(%v:vector<256xf16>)
         {load_order = #i3, load_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 255 >= 0)>, time_addr_map = #down3, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
        {
          dataflow.send %pt, %v : vector<256xf16>
          agen.yield
        } : memref<2x32x256xf16>
        dataflow.sync_send %mnilu {dbgName = "free.A"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0, %l1lu0_1) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0], [%l1lu0_1 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %mnilu0], [%l1lu0_1 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%l1lu0_0 -> %l1su0_0], [%l1lu0_1 -> %l1su0_1]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %pt_map = uniform.def_immutable_mapping([%l1lu0_0 -> %pt0_0], [%l1lu0_1 -> %pt0_1]):index
      %pt = uniform.query_map(map:%pt_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0], [%l1lu0_1 -> %sfu0_1]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %cl_map = uniform.def_immutable_mapping([%l1lu0_0 -> %c0], [%l1lu0_1 -> %c1]):index
      %cl = uniform.query_map(map:%cl_map, key:%me) : index
      %sbase_map = uniform.def_immutable_mapping([%l1lu0_0 -> %c41024], [%l1lu0_1 -> %c43072]):index
      %sbase = uniform.query_map(map:%sbase_map, key:%me) : index
      %biasl = dataflow.get_logical_memory_view %lx, %c81920 {layout_map = #i1} : index, index, memref<128xf16>
      %sl = dataflow.get_logical_memory_view %lx, %sbase {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<32x64xf32>
      dataflow.sync_recv %mnilu {dbgName = "full.bias"} : index
      %bias = agen.vector_load %biasl[%cl * 64] {load_order = #i1, load_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>} : memref<128xf16>, vector<64xf16>
      dataflow.send %sfu, %bias : vector<64xf16>
      scf.for %k = %c1 to %c4 step %c1 {
        dataflow.sync_recv %l1su {dbgName = "full.psum"} : index
        agen.composite_load %sl[0, 0] time_symbols()(%v:vector<64xf32>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
        {
          dataflow.send %pt, %v : vector<64xf32>
          agen.yield
        } : memref<32x64xf32>
      }
    }
    dataflow.program_unit iter_arg : %me -> (%pt0_0, %pt0_1) : {
      %xrflu_map = uniform.def_immutable_mapping([%pt0_0 -> %xrflu0_0], [%pt0_1 -> %xrflu0_1]):index
      %xrflu = uniform.query_map(map:%xrflu_map, key:%me) : index
      %l0lu_map = uniform.def_immutable_mapping([%pt0_0 -> %l0lu0_0], [%pt0_1 -> %l0lu0_1]):index
      %l0lu = uniform.query_map(map:%l0lu_map, key:%me) : index
      %l1lu_map = uniform.def_immutable_mapping([%pt0_0 -> %l1lu0_0], [%pt0_1 -> %l1lu0_1]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%pt0_0 -> %sfu0_0], [%pt0_1 -> %sfu0_1]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %w0 = dataflow.receive %xrflu : vector<256x64xf16>
      scf.for %m = %c0 to %c32 step %c1 {
        %a = dataflow.receive %l0lu : vector<256xf16>
        %ab = vectorchain.select %a {selection_map = #k_n_to_k} : vector<256xf16>, vector<256x64xf16>
        %s = vectorchain.multiply %ab, %w0 {reduction_map = #k_n_to_n} : vector<256x64xf16>, vector<256x64xf16>, vector<64xf32>
        dataflow.send %sfu, %s : vector<64xf32>
      } {loop_type = #parallel}
      scf.for %k = %c1 to %c4 step %c1 {
        %w = dataflow.receive %xrflu : vector<256x64xf16>
        scf.for %m = %c0 to %c32 step %c1 {
          %a = dataflow.receive %l0lu : vector<256xf16>
          %ab = vectorchain.select %a {selection_map = #k_n_to_k} : vector<256xf16>, vector<256x64xf16>
          %p = dataflow.receive %l1lu : vector<64xf32>
          %s = vectorchain.multiply_and_accumulate %ab, %w, %p {reduction_map = #k_n_to_n} : vector<256x64xf16>, vector<256x64xf16>, vector<64xf32>, vector<64xf32>
          dataflow.send %sfu, %s : vector<64xf32>
        } {loop_type = #parallel}
      }
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0, %sfu0_1) : {
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0], [%sfu0_1 -> %l1lu0_1]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %pt_map = uniform.def_immutable_mapping([%sfu0_0 -> %pt0_0], [%sfu0_1 -> %pt0_1]):index
      %pt = uniform.query_map(map:%pt_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0], [%sfu0_1 -> %l1su0_1]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %bh = dataflow.receive %l1lu : vector<64xf16>
      %b = vectorchain.cast %bh : vector<64xf16>, vector<64xf32>
      %zero = arith.constant dense<0.0> : vector<64xf32>
      scf.for %k = %c0 to %c3 step %c1 {
        scf.for %m = %c0 to %c32 step %c1 {
          %s = dataflow.receive %pt : vector<64xf32>
          dataflow.send %l1su, %s : vector<64xf32>
        } {loop_type = #parallel}
      }
      scf.for %m = %c0 to %c32 step %c1 {
        %s = dataflow.receive %pt : vector<64xf32>
        %t = vectorchain.binary %s, %b {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        %u = vectorchain.binary %t, %zero {binary_op = #vectorchain<binary_operator max>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        %c = vectorchain.cast %u : vector<64xf32>, vector<64xf16>
        dataflow.send %l1su, %c : vector<64xf16>
      } {loop_type = #parallel}
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0, %l1su0_1) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0], [%l1su0_1 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0], [%l1su0_1 -> %sfu0_1]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %l1lu_map = uniform.def_immutable_mapping([%l1su0_0 -> %l1lu0_0], [%l1su0_1 -> %l1lu0_1]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0], [%l1su0_1 -> %mnisu0]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %cl_map = uniform.def_immutable_mapping([%l1su0_0 -> %c0], [%l1su0_1 -> %c1]):index
      %cl = uniform.query_map(map:%cl_map, key:%me) : index
      %sbase_map = uniform.def_immutable_mapping([%l1su0_0 -> %c41024], [%l1su0_1 -> %c43072]):index
      %sbase = uniform.query_map(map:%sbase_map, key:%me) : index
      %sl = dataflow.get_logical_memory_view %lx, %sbase {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<32x64xf32>
      %cc = dataflow.get_logical_memory_view %lx, %c90240 {layout_map = affine_map<(d0, d1) -> (d0 * 128 + d1)>} : index, index, memref<32x128xf16>
      scf.for %k = %c0 to %c3 step %c1 {
        agen.composite_store %sl[0, 0] time_symbols()
         {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
        {
          %v = dataflow.receive %sfu : vector<64xf32>
          agen.yield %v : vector<64xf32>
        } : memref<32x64xf32>
        dataflow.sync_send %l1lu {dbgName = "full.psum"} : index
      }
      agen.composite_store %cc[0, %cl * 64] time_symbols()
       {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
      {
        %v = dataflow.receive %sfu : vector<64xf16>
        agen.yield %v : vector<64xf16>
      } : memref<32x128xf16>
      dataflow.sync_send %mnisu {dbgName = "full.C"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_a_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0]):index
      %l1su_a = uniform.query_map(map:%l1su_a_map, key:%me) : index
      %l1su_b_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_1]):index
      %l1su_b = uniform.query_map(map:%l1su_b_map, key:%me) : index
      %c = dataflow.get_logical_memory_view %hbm, %c164096 {layout_map = affine_map<(d0, d1) -> (d0 * 128 + d1)>} : index, index, memref<32x128xf16>
      %cc = dataflow.get_logical_memory_view %lx, %c90240 {layout_map = affine_map<(d0, d1) -> (d0 * 128 + d1)>} : index, index, memref<32x128xf16>
      dataflow.sync_recv %l1su_a {dbgName = "full.C"} : index
      dataflow.sync_recv %l1su_b {dbgName = "full.C"} : index
      agen.composite_load_and_store src:%cc[0, 0] dst:%c[0, 0]
       time_symbols(), load_iv(%v:vector<128xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 127 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 127 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 31 >= 0)>}
      {
        agen.yield
      } : memref<32x128xf16>, memref<32x128xf16>
    }
    return
  }
}
