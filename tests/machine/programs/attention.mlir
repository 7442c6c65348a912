// Online softmax attention, Q[16,64], 4 blocks of 64 keys; running max and sum in registers.
#i1 = affine_map<(d0) -> (d0)>
#i2 = affine_map<(d0, d1) -> (d0, d1)>
#i3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#once = affine_set<(d0) : (d0 == 0)>
#down2 = affine_map<(d0) -> (d0, 0)>
#down3 = affine_map<(d0) -> (0, d0, 0)>
#zero1 = affine_map<(d0) -> (0)>
#zero2 = affine_map<(d0) -> (0, 0)>
#ring64 = affine_map<(d0, d1, d2) -> (d0 * 4096 + d1 * 64 + d2)>
#ring16 = affine_map<(d0, d1, d2) -> (d0 * 1024 + d1 * 64 + d2)>
#swap3 = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#k_n_to_k = affine_map<(d0, d1) -> (d0)>
#k_n_to_n = affine_map<(d0, d1) -> (d1)>
#parallel = #ktdf.loop_type<parallel_loop>
module attributes {headrace.dfir = 1 : i64} {
  func.func @local_schedule_0() attributes {grid = [1]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c1024 = arith.constant 1024 : index
    %c9216 = arith.constant 9216 : index
    %c9728 = arith.constant 9728 : index
    %c17408 = arith.constant 17408 : index
    %c21504 = arith.constant 21504 : index
    %c33792 = arith.constant 33792 : index
    %mnilu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %mnisu0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %l1lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %l0lu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l0lu-CL0", type = "l0lu"} : index
    %xrflu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-xrflu-CL0", type = "xrflu"} : index
    %pt0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-pt-CL0", type = "pt"} : index
    %sfu0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %l1su0_0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %hbm = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %lx0 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %me -> (%mnilu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnilu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l0lu_map = uniform.def_immutable_mapping([%mnilu0 -> %l0lu0_0]):index
      %l0lu = uniform.query_map(map:%l0lu_map, key:%me) : index
      %xrflu_map = uniform.def_immutable_mapping([%mnilu0 -> %xrflu0_0]):index
      %xrflu = uniform.query_map(map:%xrflu_map, key:%me) : index
      %q = dataflow.get_logical_memory_view %hbm, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      %k = dataflow.get_logical_memory_view %hbm, %c1024 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<256x64xf16>
      %v_ = dataflow.get_logical_memory_view %hbm, %c17408 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<256x64xf16>
      %ql = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      %kl = dataflow.get_logical_memory_view %lx, %c1024 {layout_map = #ring64} : index, index, memref<2x64x64xf16>
      %vl = dataflow.get_logical_memory_view %lx, %c9216 {layout_map = #ring64} : index, index, memref<2x64x64xf16>
      agen.composite_load_and_store src:%q[0, 0] dst:%ql[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        agen.yield
      } : memref<16x64xf16>, memref<16x64xf16>
      dataflow.sync_send %l0lu {dbgName = "full.Q"} : index
      scf.for %j = %c0 to %c4 step %c1 {
        dataflow.sync_recv %xrflu {dbgName = "free.K"} : index
        agen.composite_load_and_store src:%k[%j * 64, 0] dst:%kl[%j mod 2, 0, 0]
         time_symbols(), load_iv(%v:vector<64xf16>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i3, store_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>, store_time_addr_map = #down3, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>}
        {
          agen.yield
        } : memref<256x64xf16>, memref<2x64x64xf16>
        dataflow.sync_send %xrflu {dbgName = "full.K"} : index
        dataflow.sync_recv %xrflu {dbgName = "free.V"} : index
        agen.composite_load_and_store src:%v_[%j * 64, 0] dst:%vl[%j mod 2, 0, 0]
         time_symbols(), load_iv(%v:vector<64xf16>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i3, store_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>, store_time_addr_map = #down3, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 63 >= 0)>}
        {
          agen.yield
        } : memref<256x64xf16>, memref<2x64x64xf16>
        dataflow.sync_send %xrflu {dbgName = "full.V"} : index
      }
      scf.for %j = %c0 to %c2 step %c1 {
        dataflow.sync_recv %xrflu {dbgName = "free.K"} : index
        dataflow.sync_recv %xrflu {dbgName = "free.V"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%xrflu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%xrflu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%xrflu0_0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %pt_map = uniform.def_immutable_mapping([%xrflu0_0 -> %pt0_0]):index
      %pt = uniform.query_map(map:%pt_map, key:%me) : index
      %kl = dataflow.get_logical_memory_view %lx, %c1024 {layout_map = #ring64} : index, index, memref<2x64x64xf16>
      %vl = dataflow.get_logical_memory_view %lx, %c9216 {layout_map = #ring64} : index, index, memref<2x64x64xf16>
      scf.for %j = %c0 to %c2 step %c1 {
        dataflow.sync_send %mnilu {dbgName = "free.K"} : index
        dataflow.sync_send %mnilu {dbgName = "free.V"} : index
      }
      scf.for %j = %c0 to %c4 step %c1 {
        dataflow.sync_recv %mnilu {dbgName = "full.K"} : index
        %kt = agen.vector_load %kl[%j mod 2, 0, 0] {load_order = #swap3, load_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0, d2 >= 0, -d2 + 63 >= 0)>} : memref<2x64x64xf16>, vector<64x64xf16>
        dataflow.send %pt, %kt : vector<64x64xf16>
        dataflow.sync_send %mnilu {dbgName = "free.K"} : index
        dataflow.sync_recv %mnilu {dbgName = "full.V"} : index
        %vb = agen.vector_load %vl[%j mod 2, 0, 0] {load_order = #i3, load_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0, d2 >= 0, -d2 + 63 >= 0)>} : memref<2x64x64xf16>, vector<64x64xf16>
        dataflow.send %pt, %vb : vector<64x64xf16>
        dataflow.sync_send %mnilu {dbgName = "free.V"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%l0lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l0lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %mnilu_map = uniform.def_immutable_mapping([%l0lu0_0 -> %mnilu0]):index
      %mnilu = uniform.query_map(map:%mnilu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%l0lu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %pt_map = uniform.def_immutable_mapping([%l0lu0_0 -> %pt0_0]):index
      %pt = uniform.query_map(map:%pt_map, key:%me) : index
      %ql = dataflow.get_logical_memory_view %lx, %c0 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      %pl = dataflow.get_logical_memory_view %lx, %c17408 {layout_map = #ring16} : index, index, memref<2x16x64xf16>
      dataflow.sync_send %l1su {dbgName = "free.P"} : index
      dataflow.sync_send %l1su {dbgName = "free.P"} : index
      dataflow.sync_recv %mnilu {dbgName = "full.Q"} : index
      scf.for %j = %c0 to %c4 step %c1 {
        agen.composite_load %ql[0, 0] time_symbols()(%v:vector<64xf16>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
        {
          dataflow.send %pt, %v : vector<64xf16>
          agen.yield
        } : memref<16x64xf16>
        dataflow.sync_recv %l1su {dbgName = "full.P"} : index
        agen.composite_load %pl[%j mod 2, 0, 0] time_symbols()(%v:vector<64xf16>)
         {load_order = #i3, load_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>, time_addr_map = #down3, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
        {
          dataflow.send %pt, %v : vector<64xf16>
          agen.yield
        } : memref<2x16x64xf16>
        dataflow.sync_send %l1su {dbgName = "free.P"} : index
      }
    }
    dataflow.program_unit iter_arg : %me -> (%l1lu0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1lu0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%l1lu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1lu0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %ol = dataflow.get_logical_memory_view %lx, %c9728 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf32>
      scf.for %j = %c0 to %c4 step %c1 {
        dataflow.sync_recv %l1su {dbgName = "full.O"} : index
        agen.composite_load %ol[0, 0] time_symbols()(%v:vector<64xf32>)
         {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
        {
          dataflow.send %sfu, %v : vector<64xf32>
          agen.yield
        } : memref<16x64xf32>
      }
    }
    dataflow.program_unit iter_arg : %me -> (%pt0_0) : {
      %xrflu_map = uniform.def_immutable_mapping([%pt0_0 -> %xrflu0_0]):index
      %xrflu = uniform.query_map(map:%xrflu_map, key:%me) : index
      %l0lu_map = uniform.def_immutable_mapping([%pt0_0 -> %l0lu0_0]):index
      %l0lu = uniform.query_map(map:%l0lu_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%pt0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      scf.for %j = %c0 to %c4 step %c1 {
        %kt = dataflow.receive %xrflu : vector<64x64xf16>
        scf.for %m = %c0 to %c16 step %c1 {
          %a = dataflow.receive %l0lu : vector<64xf16>
          %ab = vectorchain.select %a {selection_map = #k_n_to_k} : vector<64xf16>, vector<64x64xf16>
          %s = vectorchain.multiply %ab, %kt {reduction_map = #k_n_to_n} : vector<64x64xf16>, vector<64x64xf16>, vector<64xf32>
          dataflow.send %sfu, %s : vector<64xf32>
        } {loop_type = #parallel}
        %vb = dataflow.receive %xrflu : vector<64x64xf16>
        scf.for %m = %c0 to %c16 step %c1 {
          %a = dataflow.receive %l0lu : vector<64xf16>
          %ab = vectorchain.select %a {selection_map = #k_n_to_k} : vector<64xf16>, vector<64x64xf16>
          %s = vectorchain.multiply %ab, %vb {reduction_map = #k_n_to_n} : vector<64x64xf16>, vector<64x64xf16>, vector<64xf32>
          dataflow.send %sfu, %s : vector<64xf32>
        } {loop_type = #parallel}
      }
    }
    dataflow.program_unit iter_arg : %me -> (%sfu0_0) : {
      %pt_map = uniform.def_immutable_mapping([%sfu0_0 -> %pt0_0]):index
      %pt = uniform.query_map(map:%pt_map, key:%me) : index
      %l1lu_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%sfu0_0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %reg = dataflow.get_local_unit %me {name = "sfu_reg"} : index
      %m = dataflow.get_logical_memory_view %reg, %c0 {layout_map = #i1} : index, index, memref<16xf32>
      %l = dataflow.get_logical_memory_view %reg, %c16 {layout_map = #i1} : index, index, memref<16xf32>
      %alpha = dataflow.get_logical_memory_view %reg, %c32 {layout_map = #i1} : index, index, memref<16xf32>
      %ninf1 = vectorchain.constant_bitstream {value = [0xff800000]} : vector<1xf32>
      %ninf = vectorchain.shuffle input(%ninf1) {indices = [0 : i32], repetition = 16 : i32} : vector<1xf32>, vector<16xf32>
      %zero = arith.constant dense<0.0> : vector<16xf32>
      %scale = arith.constant dense<0.125> : vector<64xf32>
      agen.vector_store %ninf, %m[0] {store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>} : memref<16xf32>, vector<16xf32>
      agen.vector_store %zero, %l[0] {store_order = #i1, store_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>} : memref<16xf32>, vector<16xf32>
      scf.for %r = %c0 to %c16 step %c1 {
        %s0 = dataflow.receive %pt : vector<64xf32>
        %s = vectorchain.binary %s0, %scale {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        %bm_s = vectorchain.scan_with_gap %s {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator max>} : vector<64xf32>, vector<64xf32>
        %bm = vectorchain.select %bm_s {selection_map = affine_map<(d0) -> (63)>} : vector<64xf32>, vector<1xf32>
        %mo = agen.vector_load %m[%r] {load_order = #i1, load_set = #once} : memref<16xf32>, vector<1xf32>
        %mn = vectorchain.binary %mo, %bm {binary_op = #vectorchain<binary_operator max>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        %mb = vectorchain.shuffle input(%mn) {indices = [0 : i32], repetition = 64 : i32} : vector<1xf32>, vector<64xf32>
        %d = vectorchain.binary %s, %mb {binary_op = #vectorchain<binary_operator sub>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        %p = vectorchain.fast_exp %d : vector<64xf32>, vector<64xf32>
        %dm = vectorchain.binary %mo, %mn {binary_op = #vectorchain<binary_operator sub>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        %al = vectorchain.fast_exp %dm : vector<1xf32>, vector<1xf32>
        %ps_s = vectorchain.scan_with_gap %p {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator add>} : vector<64xf32>, vector<64xf32>
        %ps = vectorchain.select %ps_s {selection_map = affine_map<(d0) -> (63)>} : vector<64xf32>, vector<1xf32>
        %lo = agen.vector_load %l[%r] {load_order = #i1, load_set = #once} : memref<16xf32>, vector<1xf32>
        %l1 = vectorchain.binary %lo, %al {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        %ln = vectorchain.binary %l1, %ps {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
        agen.vector_store %mn, %m[%r] {store_order = #i1, store_set = #once} : memref<16xf32>, vector<1xf32>
        agen.vector_store %ln, %l[%r] {store_order = #i1, store_set = #once} : memref<16xf32>, vector<1xf32>
        agen.vector_store %al, %alpha[%r] {store_order = #i1, store_set = #once} : memref<16xf32>, vector<1xf32>
        %ph = vectorchain.cast %p : vector<64xf32>, vector<64xf16>
        dataflow.send %l1su, %ph : vector<64xf16>
      } {loop_type = #parallel}
      scf.for %r = %c0 to %c16 step %c1 {
        %pv = dataflow.receive %pt : vector<64xf32>
        dataflow.send %l1su, %pv : vector<64xf32>
      } {loop_type = #parallel}
      scf.for %j = %c1 to %c4 step %c1 {
        scf.for %r = %c0 to %c16 step %c1 {
          %s0 = dataflow.receive %pt : vector<64xf32>
          %s = vectorchain.binary %s0, %scale {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
          %bm_s = vectorchain.scan_with_gap %s {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator max>} : vector<64xf32>, vector<64xf32>
          %bm = vectorchain.select %bm_s {selection_map = affine_map<(d0) -> (63)>} : vector<64xf32>, vector<1xf32>
          %mo = agen.vector_load %m[%r] {load_order = #i1, load_set = #once} : memref<16xf32>, vector<1xf32>
          %mn = vectorchain.binary %mo, %bm {binary_op = #vectorchain<binary_operator max>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
          %mb = vectorchain.shuffle input(%mn) {indices = [0 : i32], repetition = 64 : i32} : vector<1xf32>, vector<64xf32>
          %d = vectorchain.binary %s, %mb {binary_op = #vectorchain<binary_operator sub>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
          %p = vectorchain.fast_exp %d : vector<64xf32>, vector<64xf32>
          %dm = vectorchain.binary %mo, %mn {binary_op = #vectorchain<binary_operator sub>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
          %al = vectorchain.fast_exp %dm : vector<1xf32>, vector<1xf32>
          %ps_s = vectorchain.scan_with_gap %p {eval_order = #vectorchain<eval_order left_to_right>, gap = 1 : index, reduction_op = #vectorchain<binary_operator add>} : vector<64xf32>, vector<64xf32>
          %ps = vectorchain.select %ps_s {selection_map = affine_map<(d0) -> (63)>} : vector<64xf32>, vector<1xf32>
          %lo = agen.vector_load %l[%r] {load_order = #i1, load_set = #once} : memref<16xf32>, vector<1xf32>
          %l1 = vectorchain.binary %lo, %al {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
          %ln = vectorchain.binary %l1, %ps {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<1xf32>, vector<1xf32>, vector<1xf32>
          agen.vector_store %mn, %m[%r] {store_order = #i1, store_set = #once} : memref<16xf32>, vector<1xf32>
          agen.vector_store %ln, %l[%r] {store_order = #i1, store_set = #once} : memref<16xf32>, vector<1xf32>
          agen.vector_store %al, %alpha[%r] {store_order = #i1, store_set = #once} : memref<16xf32>, vector<1xf32>
          %ph = vectorchain.cast %p : vector<64xf32>, vector<64xf16>
          dataflow.send %l1su, %ph : vector<64xf16>
        } {loop_type = #parallel}
        scf.for %r = %c0 to %c16 step %c1 {
          %pv = dataflow.receive %pt : vector<64xf32>
          %o = dataflow.receive %l1lu : vector<64xf32>
          %al = agen.vector_load %alpha[%r] {load_order = #i1, load_set = #once} : memref<16xf32>, vector<1xf32>
          %ab = vectorchain.shuffle input(%al) {indices = [0 : i32], repetition = 64 : i32} : vector<1xf32>, vector<64xf32>
          %os = vectorchain.binary %o, %ab {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
          %on = vectorchain.binary %os, %pv {binary_op = #vectorchain<binary_operator add>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
          dataflow.send %l1su, %on : vector<64xf32>
        } {loop_type = #parallel}
      }
      scf.for %r = %c0 to %c16 step %c1 {
        %o = dataflow.receive %l1lu : vector<64xf32>
        %lf = agen.vector_load %l[%r] {load_order = #i1, load_set = #once} : memref<16xf32>, vector<1xf32>
        %q = vectorchain.rec_estimate %lf : vector<1xf32>, vector<1xf32>
        %qb = vectorchain.shuffle input(%q) {indices = [0 : i32], repetition = 64 : i32} : vector<1xf32>, vector<64xf32>
        %yf = vectorchain.binary %o, %qb {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #i1} : vector<64xf32>, vector<64xf32>, vector<64xf32>
        %y = vectorchain.cast %yf : vector<64xf32>, vector<64xf16>
        dataflow.send %l1su, %y : vector<64xf16>
      } {loop_type = #parallel}
    }
    dataflow.program_unit iter_arg : %me -> (%l1su0_0) : {
      %lx_map = uniform.def_immutable_mapping([%l1su0_0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %sfu_map = uniform.def_immutable_mapping([%l1su0_0 -> %sfu0_0]):index
      %sfu = uniform.query_map(map:%sfu_map, key:%me) : index
      %l0lu_map = uniform.def_immutable_mapping([%l1su0_0 -> %l0lu0_0]):index
      %l0lu = uniform.query_map(map:%l0lu_map, key:%me) : index
      %l1lu_map = uniform.def_immutable_mapping([%l1su0_0 -> %l1lu0_0]):index
      %l1lu = uniform.query_map(map:%l1lu_map, key:%me) : index
      %mnisu_map = uniform.def_immutable_mapping([%l1su0_0 -> %mnisu0]):index
      %mnisu = uniform.query_map(map:%mnisu_map, key:%me) : index
      %pl = dataflow.get_logical_memory_view %lx, %c17408 {layout_map = #ring16} : index, index, memref<2x16x64xf16>
      %ol = dataflow.get_logical_memory_view %lx, %c9728 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf32>
      %yl = dataflow.get_logical_memory_view %lx, %c21504 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      scf.for %j = %c0 to %c4 step %c1 {
        dataflow.sync_recv %l0lu {dbgName = "free.P"} : index
        agen.composite_store %pl[%j mod 2, 0, 0] time_symbols()
         {store_order = #i3, store_set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>, time_addr_map = #down3, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
        {
          %v = dataflow.receive %sfu : vector<64xf16>
          agen.yield %v : vector<64xf16>
        } : memref<2x16x64xf16>
        dataflow.sync_send %l0lu {dbgName = "full.P"} : index
        agen.composite_store %ol[0, 0] time_symbols()
         {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
        {
          %v = dataflow.receive %sfu : vector<64xf32>
          agen.yield %v : vector<64xf32>
        } : memref<16x64xf32>
        dataflow.sync_send %l1lu {dbgName = "full.O"} : index
      }
      dataflow.sync_recv %l0lu {dbgName = "free.P"} : index
      dataflow.sync_recv %l0lu {dbgName = "free.P"} : index
      agen.composite_store %yl[0, 0] time_symbols()
       {store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        %v = dataflow.receive %sfu : vector<64xf16>
        agen.yield %v : vector<64xf16>
      } : memref<16x64xf16>
      dataflow.sync_send %mnisu {dbgName = "full.y"} : index
    }
    dataflow.program_unit iter_arg : %me -> (%mnisu0) : {
      %lx_map = uniform.def_immutable_mapping([%mnisu0 -> %lx0]):index
      %lx = uniform.query_map(map:%lx_map, key:%me) : index
      %l1su_map = uniform.def_immutable_mapping([%mnisu0 -> %l1su0_0]):index
      %l1su = uniform.query_map(map:%l1su_map, key:%me) : index
      %y = dataflow.get_logical_memory_view %hbm, %c33792 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      %yl = dataflow.get_logical_memory_view %lx, %c21504 {layout_map = affine_map<(d0, d1) -> (d0 * 64 + d1)>} : index, index, memref<16x64xf16>
      dataflow.sync_recv %l1su {dbgName = "full.y"} : index
      agen.composite_load_and_store src:%yl[0, 0] dst:%y[0, 0]
       time_symbols(), load_iv(%v:vector<64xf16>)
       {load_order = #i2, load_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, load_time_addr_map = #down2, store_order = #i2, store_set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>, store_time_addr_map = #down2, time_order = #i1, time_set = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>}
      {
        agen.yield
      } : memref<16x64xf16>, memref<16x64xf16>
    }
    return
  }
}
