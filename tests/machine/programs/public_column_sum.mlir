// The public scheduler's own output for a sum of 16 rows into a register, 8 times, on 2 cores: single buffers.
#map = affine_map<(d0, d1, d2) -> (d0 * 1024 + d1 * 64 + d2)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0 * 1024 + d1 * 1024 + d2 * 64 + d3)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map3 = affine_map<(d0) -> (0, d0, 0)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0) -> (0, 0, d0, 0)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0, d1) -> (d0 * 64 + d1)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2) -> (d0 * 64 + d1 * 64 + d2)>
#map10 = affine_map<(d0) -> (0, 0, 0)>
#map11 = affine_map<(d0) -> (0, 0)>
#set = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>
#set1 = affine_set<(d0, d1, d2, d3) : (d0 == 0, d1 == 0, d2 == 0, d3 >= 0, -d3 + 63 >= 0)>
#set2 = affine_set<(d0) : (d0 >= 0, -d0 + 15 >= 0)>
#set3 = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#set4 = affine_set<(d0) : (d0 == 0)>
module {
  module {
    func.func @colsum() attributes {grid = [2]} {
      call @local_schedule_0() : () -> ()
      return
    }
    func.func private @local_schedule_0()
  }
  ktdf_arch.device @demo_chip import("mydev.mlir")
  module @local_schedule_0 {
    func.func private @local_schedule_0_body()
    func.func @local_schedule_0() {
      call @local_schedule_0_body() : () -> ()
      return
    }
    module {
      func.func @local_schedule_0_body() attributes {grid = [2]} {
        %c128 = arith.constant 128 : index
        %c2 = arith.constant 2 : index
        %c2048 = arith.constant 2048 : index
        %c65792 = arith.constant 65792 : index
        %c65536 = arith.constant 65536 : index
        %c4096 = arith.constant 4096 : index
        %c8192 = arith.constant 8192 : index
        %c4 = arith.constant 4 : index
        %c15 = arith.constant 15 : index
        %c16 = arith.constant 16 : index
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
        %19 = dataflow.get_unit {name = "sfu_reg", type = "sfu_reg"} : index
        dataflow.program_unit iter_arg : %arg0 -> (%0, %1) : {
          %20 = uniform.def_immutable_mapping([%0 -> %17], [%1 -> %18]):index
          %21 = uniform.query_map(map:%20, key:%arg0) : index
          %22 = uniform.def_immutable_mapping([%0 -> %c0], [%1 -> %c4096]):index
          %23 = uniform.query_map(map:%22, key:%arg0) : index
          %24 = dataflow.get_logical_memory_view %16, %23 {layout_map = #map} : index, index, memref<8x16x64xf16>
          %25 = dataflow.get_logical_memory_view %21, %c0 {layout_map = #map1} : index, index, memref<4x1x16x64xf16>
          scf.for %arg1 = %c0 to %c4 step %c1 {
            agen.composite_load_and_store src:%24[%arg1, 0, %c0 * 64] dst:%25[%arg1, 0, 0, 0]
             time_symbols(), load_iv(%arg2:vector<64xf16>)
             {load_order = #map2, load_set = #set, load_time_addr_map = #map3, store_order = #map4, store_set = #set1, store_time_addr_map = #map5, time_order = #map6, time_set = #set2}
            {
              agen.yield
            } : memref<8x16x64xf16>, memref<4x1x16x64xf16>
          }
          %26 = uniform.def_immutable_mapping([%0 -> %4], [%1 -> %5]):index
          %27 = uniform.query_map(map:%26, key:%arg0) : index
          %28 = uniform.def_immutable_mapping([%0 -> %6], [%1 -> %7]):index
          %29 = uniform.query_map(map:%28, key:%arg0) : index
          dataflow.sync_send %27 {wait_immediately_for_async_transfers = true} : index
          dataflow.sync_send %29 {wait_immediately_for_async_transfers = true} : index
          dataflow.sync_recv %27 : index
          dataflow.sync_recv %29 : index
        }
        dataflow.program_unit iter_arg : %arg0 -> (%4, %5, %6, %7) : {
          %20 = uniform.def_immutable_mapping([%4 -> %17], [%5 -> %18], [%6 -> %17], [%7 -> %18]):index
          %21 = uniform.query_map(map:%20, key:%arg0) : index
          %22 = uniform.def_immutable_mapping([%4 -> %c0], [%5 -> %c0], [%6 -> %c2048], [%7 -> %c2048]):index
          %23 = uniform.query_map(map:%22, key:%arg0) : index
          %24 = dataflow.get_logical_memory_view %21, %23 {layout_map = #map1} : index, index, memref<4x1x16x64xf16>
          %25 = uniform.def_immutable_mapping([%4 -> %0], [%5 -> %1], [%6 -> %0], [%7 -> %1]):index
          %26 = uniform.query_map(map:%25, key:%arg0) : index
          dataflow.sync_send %26 {wait_immediately_for_async_transfers = true} : index
          dataflow.sync_recv %26 : index
          scf.for %arg1 = %c0 to %c2 step %c1 {
            scf.for %arg2 = %c0 to %c16 step %c1 {
              %27 = agen.vector_load %24[%arg1, 0, %arg2, 0] {load_order = #map4, load_set = #set1} : memref<4x1x16x64xf16>, vector<64xf16>
              %28 = uniform.def_immutable_mapping([%4 -> %8], [%5 -> %9], [%6 -> %10], [%7 -> %11]):index
              %29 = uniform.query_map(map:%28, key:%arg0) : index
              dataflow.send %29, %27 : vector<64xf16>
            }
          }
        }
        dataflow.program_unit iter_arg : %arg0 -> (%8, %9, %10, %11) : {
          scf.for %arg1 = %c0 to %c2 step %c1 {
            %20 = dataflow.get_logical_memory_view %19, %c0 {layout_map = #map7} : index, index, memref<1x64xf16>
            %21 = vectorchain.constant_bitstream {value = [0x0]} : vector<1xf16>
            %22 = vectorchain.shuffle input(%21) {indices = [0 : i32], repetition = 64 : i32} : vector<1xf16>, vector<64xf16>
            agen.vector_store %22, %20[%c0, %c0] {store_order = #map8, store_set = #set3} : memref<1x64xf16>, vector<64xf16>
            scf.for %arg2 = %c0 to %c16 step %c1 {
              %23 = uniform.def_immutable_mapping([%8 -> %4], [%9 -> %5], [%10 -> %6], [%11 -> %7]):index
              %24 = uniform.query_map(map:%23, key:%arg0) : index
              %25 = dataflow.receive %24 : vector<64xf16>
              %26 = agen.vector_load %20[%c0, %c0] {load_order = #map8, load_set = #set3} : memref<1x64xf16>, vector<64xf16>
              %27 = vectorchain.binary %25, %26 {binary_op = #vectorchain<binary_operator add>, op_specific_map = #map6} : vector<64xf16>, vector<64xf16>, vector<64xf16>
              agen.vector_store %27, %20[%c0, %c0] {store_order = #map8, store_set = #set3} : memref<1x64xf16>, vector<64xf16>
              %28 = arith.cmpi eq, %arg2, %c15 : index
              scf.if %28 {
                %29 = uniform.def_immutable_mapping([%8 -> %12], [%9 -> %13], [%10 -> %14], [%11 -> %15]):index
                %30 = uniform.query_map(map:%29, key:%arg0) : index
                %31 = agen.vector_load %20[%c0, %c0] {load_order = #map8, load_set = #set3} : memref<1x64xf16>, vector<64xf16>
                dataflow.send %30, %31 : vector<64xf16>
              }
            }
          }
        }
        dataflow.program_unit iter_arg : %arg0 -> (%12, %13, %14, %15) : {
          %20 = uniform.def_immutable_mapping([%12 -> %17], [%13 -> %18], [%14 -> %17], [%15 -> %18]):index
          %21 = uniform.query_map(map:%20, key:%arg0) : index
          %22 = uniform.def_immutable_mapping([%12 -> %c0], [%13 -> %c0], [%14 -> %c128], [%15 -> %c128]):index
          %23 = uniform.query_map(map:%22, key:%arg0) : index
          %24 = arith.addi %23, %c8192 : index
          %25 = dataflow.get_logical_memory_view %21, %24 {layout_map = #map9} : index, index, memref<4x1x64xf16>
          scf.for %arg1 = %c0 to %c2 step %c1 {
            scf.for %arg2 = %c0 to %c16 step %c1 {
              %28 = arith.cmpi eq, %arg2, %c15 : index
              scf.if %28 {
                %29 = uniform.def_immutable_mapping([%12 -> %8], [%13 -> %9], [%14 -> %10], [%15 -> %11]):index
                %30 = uniform.query_map(map:%29, key:%arg0) : index
                %31 = dataflow.receive %30 : vector<64xf16>
                agen.vector_store %31, %25[%arg1, 0, 0] {store_order = #map2, store_set = #set} : memref<4x1x64xf16>, vector<64xf16>
              }
            }
          }
          %26 = uniform.def_immutable_mapping([%12 -> %2], [%13 -> %3], [%14 -> %2], [%15 -> %3]):index
          %27 = uniform.query_map(map:%26, key:%arg0) : index
          dataflow.sync_send %27 {wait_immediately_for_async_transfers = true} : index
          dataflow.sync_recv %27 : index
        }
        dataflow.program_unit iter_arg : %arg0 -> (%2, %3) : {
          %20 = uniform.def_immutable_mapping([%2 -> %17], [%3 -> %18]):index
          %21 = uniform.query_map(map:%20, key:%arg0) : index
          %22 = uniform.def_immutable_mapping([%2 -> %c65536], [%3 -> %c65792]):index
          %23 = uniform.query_map(map:%22, key:%arg0) : index
          %24 = dataflow.get_logical_memory_view %16, %23 {layout_map = #map7} : index, index, memref<8x64xf16>
          %25 = dataflow.get_logical_memory_view %21, %c8192 {layout_map = #map9} : index, index, memref<4x1x64xf16>
          %26 = uniform.def_immutable_mapping([%2 -> %12], [%3 -> %13]):index
          %27 = uniform.query_map(map:%26, key:%arg0) : index
          %28 = uniform.def_immutable_mapping([%2 -> %14], [%3 -> %15]):index
          %29 = uniform.query_map(map:%28, key:%arg0) : index
          dataflow.sync_send %27 {wait_immediately_for_async_transfers = true} : index
          dataflow.sync_send %29 {wait_immediately_for_async_transfers = true} : index
          dataflow.sync_recv %27 : index
          dataflow.sync_recv %29 : index
          scf.for %arg1 = %c0 to %c4 step %c1 {
            agen.composite_load_and_store src:%25[%arg1, 0, 0] dst:%24[%arg1, %c0 * 64]
             time_symbols(), load_iv(%arg2:vector<64xf16>)
             {load_order = #map2, load_set = #set, load_time_addr_map = #map10, store_order = #map8, store_set = #set3, store_time_addr_map = #map11, time_order = #map6, time_set = #set4}
            {
              agen.yield
            } : memref<4x1x64xf16>, memref<8x64xf16>
          }
        }
        return
      }
    }
  }
}

