// The public scheduler's own output for y = x * x, 64x64 f16 on 2 cores: a double-buffered pipeline.
#map = affine_map<(d0, d1) -> (d0 * 64 + d1)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0) -> (0, 0)>
#map3 = affine_map<(d0) -> (d0)>
#set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#set1 = affine_set<(d0) : (d0 == 0)>
module {
  ktdf_arch.device @demo_chip import("mydev.mlir")
  func.func @square() attributes {grid = [2]} {
    %c5120 = arith.constant 5120 : index
    %c256 = arith.constant 256 : index
    %c10240 = arith.constant 10240 : index
    %c8192 = arith.constant 8192 : index
    %c3072 = arith.constant 3072 : index
    %c1024 = arith.constant 1024 : index
    %c2048 = arith.constant 2048 : index
    %c8 = arith.constant 8 : index
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnilu", type = "mnilu"} : index
    %1 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnilu", type = "mnilu"} : index
    %2 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-mnisu", type = "mnisu"} : index
    %3 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-mnisu", type = "mnisu"} : index
    %4 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1lu-CL0", type = "l1lu"} : index
    %5 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1lu-CL0", type = "l1lu"} : index
    %6 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-l1lu-CL1", type = "l1lu"} : index
    %7 = dataflow.get_unit {core = 1 : i32, corelet = 1 : i32, name = "C1-l1lu-CL1", type = "l1lu"} : index
    %8 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-sfu-CL0", type = "sfu"} : index
    %9 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-sfu-CL0", type = "sfu"} : index
    %10 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-sfu-CL1", type = "sfu"} : index
    %11 = dataflow.get_unit {core = 1 : i32, corelet = 1 : i32, name = "C1-sfu-CL1", type = "sfu"} : index
    %12 = dataflow.get_unit {core = 0 : i32, corelet = 0 : i32, name = "C0-l1su-CL0", type = "l1su"} : index
    %13 = dataflow.get_unit {core = 1 : i32, corelet = 0 : i32, name = "C1-l1su-CL0", type = "l1su"} : index
    %14 = dataflow.get_unit {core = 0 : i32, corelet = 1 : i32, name = "C0-l1su-CL1", type = "l1su"} : index
    %15 = dataflow.get_unit {core = 1 : i32, corelet = 1 : i32, name = "C1-l1su-CL1", type = "l1su"} : index
    %16 = dataflow.get_unit {name = "hbm", type = "hbm"} : index
    %17 = dataflow.get_unit {core = 0 : i32, name = "C0-lx", type = "lx"} : index
    %18 = dataflow.get_unit {core = 1 : i32, name = "C1-lx", type = "lx"} : index
    dataflow.program_unit iter_arg : %arg0 -> (%0, %1) : {
      %19 = uniform.def_immutable_mapping([%0 -> %17], [%1 -> %18]):index
      %20 = uniform.query_map(map:%19, key:%arg0) : index
      %21 = uniform.def_immutable_mapping([%0 -> %c0], [%1 -> %c2048]):index
      %22 = uniform.query_map(map:%21, key:%arg0) : index
      %23 = dataflow.get_logical_memory_view %16, %22 {layout_map = #map} : index, index, memref<64x64xf16>
      %24 = scf.for %arg1 = %c0 to %c4 step %c1 iter_args(%arg2 = %c1024) -> (index) {
        %25 = arith.subi %c1024, %arg2 : index
        %26 = dataflow.get_logical_memory_view %20, %25 {layout_map = #map} : index, index, memref<8x64xf16>
        scf.for %arg3 = %c0 to %c8 step %c1 {
          agen.composite_load_and_store src:%23[%arg1 * 8 + %arg3, 0] dst:%26[%arg3, 0]
           time_symbols(), load_iv(%arg4:vector<64xf16>)
           {load_order = #map1, load_set = #set, load_time_addr_map = #map2, store_order = #map1, store_set = #set, store_time_addr_map = #map2, time_order = #map3, time_set = #set1}
          {
            agen.yield
          } : memref<64x64xf16>, memref<8x64xf16>
        }
        %27 = uniform.def_immutable_mapping([%0 -> %4], [%1 -> %5]):index
        %28 = uniform.query_map(map:%27, key:%arg0) : index
        %29 = uniform.def_immutable_mapping([%0 -> %6], [%1 -> %7]):index
        %30 = uniform.query_map(map:%29, key:%arg0) : index
        dataflow.sync_send %28 {wait_immediately_for_async_transfers = true} : index
        dataflow.sync_send %30 {wait_immediately_for_async_transfers = true} : index
        dataflow.sync_recv %28 : index
        dataflow.sync_recv %30 : index
        scf.yield %25 : index
      }
    }
    dataflow.program_unit iter_arg : %arg0 -> (%4, %5, %6, %7) : {
      %19 = uniform.def_immutable_mapping([%4 -> %17], [%5 -> %18], [%6 -> %17], [%7 -> %18]):index
      %20 = uniform.query_map(map:%19, key:%arg0) : index
      %21 = scf.for %arg1 = %c0 to %c4 step %c1 iter_args(%arg2 = %c0) -> (index) {
        %22 = uniform.def_immutable_mapping([%4 -> %c0], [%5 -> %c0], [%6 -> %c256], [%7 -> %c256]):index
        %23 = uniform.query_map(map:%22, key:%arg0) : index
        %24 = arith.addi %arg2, %23 : index
        %25 = dataflow.get_logical_memory_view %20, %24 {layout_map = #map} : index, index, memref<8x64xf16>
        %26 = uniform.def_immutable_mapping([%4 -> %0], [%5 -> %1], [%6 -> %0], [%7 -> %1]):index
        %27 = uniform.query_map(map:%26, key:%arg0) : index
        dataflow.sync_send %27 {wait_immediately_for_async_transfers = true} : index
        dataflow.sync_recv %27 : index
        scf.for %arg3 = %c0 to %c4 step %c1 {
          %29 = agen.vector_load %25[%arg3, 0] {load_order = #map1, load_set = #set} : memref<8x64xf16>, vector<64xf16>
          %30 = uniform.def_immutable_mapping([%4 -> %8], [%5 -> %9], [%6 -> %10], [%7 -> %11]):index
          %31 = uniform.query_map(map:%30, key:%arg0) : index
          dataflow.send %31, %29 : vector<64xf16>
        }
        %28 = arith.subi %c1024, %arg2 : index
        scf.yield %28 : index
      }
    }
    dataflow.program_unit iter_arg : %arg0 -> (%8, %9, %10, %11) : {
      scf.for %arg1 = %c0 to %c4 step %c1 {
        scf.for %arg2 = %c0 to %c4 step %c1 {
          %19 = uniform.def_immutable_mapping([%8 -> %4], [%9 -> %5], [%10 -> %6], [%11 -> %7]):index
          %20 = uniform.query_map(map:%19, key:%arg0) : index
          %21 = dataflow.receive %20 : vector<64xf16>
          %22 = vectorchain.binary %21, %21 {binary_op = #vectorchain<binary_operator mul>, op_specific_map = #map3} : vector<64xf16>, vector<64xf16>, vector<64xf16>
          %23 = uniform.def_immutable_mapping([%8 -> %12], [%9 -> %13], [%10 -> %14], [%11 -> %15]):index
          %24 = uniform.query_map(map:%23, key:%arg0) : index
          dataflow.send %24, %22 : vector<64xf16>
        }
      }
    }
    dataflow.program_unit iter_arg : %arg0 -> (%12, %13, %14, %15) : {
      %19 = uniform.def_immutable_mapping([%12 -> %17], [%13 -> %18], [%14 -> %17], [%15 -> %18]):index
      %20 = uniform.query_map(map:%19, key:%arg0) : index
      %21 = scf.for %arg1 = %c0 to %c4 step %c1 iter_args(%arg2 = %c2048) -> (index) {
        %22 = uniform.def_immutable_mapping([%12 -> %c0], [%13 -> %c0], [%14 -> %c256], [%15 -> %c256]):index
        %23 = uniform.query_map(map:%22, key:%arg0) : index
        %24 = arith.addi %arg2, %23 : index
        %25 = dataflow.get_logical_memory_view %20, %24 {layout_map = #map} : index, index, memref<8x64xf16>
        scf.for %arg3 = %c0 to %c4 step %c1 {
          %29 = uniform.def_immutable_mapping([%12 -> %8], [%13 -> %9], [%14 -> %10], [%15 -> %11]):index
          %30 = uniform.query_map(map:%29, key:%arg0) : index
          %31 = dataflow.receive %30 : vector<64xf16>
          agen.vector_store %31, %25[%arg3, 0] {store_order = #map1, store_set = #set} : memref<8x64xf16>, vector<64xf16>
        }
        %26 = uniform.def_immutable_mapping([%12 -> %2], [%13 -> %3], [%14 -> %2], [%15 -> %3]):index
        %27 = uniform.query_map(map:%26, key:%arg0) : index
        dataflow.sync_send %27 {wait_immediately_for_async_transfers = true} : index
        dataflow.sync_recv %27 : index
        %28 = arith.subi %c5120, %arg2 : index
        scf.yield %28 : index
      }
    }
    dataflow.program_unit iter_arg : %arg0 -> (%2, %3) : {
      %19 = uniform.def_immutable_mapping([%2 -> %17], [%3 -> %18]):index
      %20 = uniform.query_map(map:%19, key:%arg0) : index
      %21 = uniform.def_immutable_mapping([%2 -> %c8192], [%3 -> %c10240]):index
      %22 = uniform.query_map(map:%21, key:%arg0) : index
      %23 = dataflow.get_logical_memory_view %16, %22 {layout_map = #map} : index, index, memref<64x64xf16>
      %24 = scf.for %arg1 = %c0 to %c4 step %c1 iter_args(%arg2 = %c3072) -> (index) {
        %25 = arith.subi %c5120, %arg2 : index
        %26 = dataflow.get_logical_memory_view %20, %25 {layout_map = #map} : index, index, memref<8x64xf16>
        %27 = uniform.def_immutable_mapping([%2 -> %12], [%3 -> %13]):index
        %28 = uniform.query_map(map:%27, key:%arg0) : index
        %29 = uniform.def_immutable_mapping([%2 -> %14], [%3 -> %15]):index
        %30 = uniform.query_map(map:%29, key:%arg0) : index
        dataflow.sync_send %28 {wait_immediately_for_async_transfers = true} : index
        dataflow.sync_send %30 {wait_immediately_for_async_transfers = true} : index
        dataflow.sync_recv %28 : index
        dataflow.sync_recv %30 : index
        scf.for %arg3 = %c0 to %c8 step %c1 {
          agen.composite_load_and_store src:%26[%arg3, 0] dst:%23[%arg1 * 8 + %arg3, 0]
           time_symbols(), load_iv(%arg4:vector<64xf16>)
           {load_order = #map1, load_set = #set, load_time_addr_map = #map2, store_order = #map1, store_set = #set, store_time_addr_map = #map2, time_order = #map3, time_set = #set1}
          {
            agen.yield
          } : memref<8x64xf16>, memref<64x64xf16>
        }
        scf.yield %25 : index
      }
    }
    return
  }
}

