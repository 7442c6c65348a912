// The public scheduler's own output for a bias add on 2 cores: rendezvous, symbolic addresses, buffers toggled by iter_args.
#map = affine_map<(d0, d1, d2) -> (d0 * 4096 + d1 * 64 + d2)>
#map1 = affine_map<(d0, d1) -> (d0 * 64 + d1)>
#map2 = affine_map<(d0, d1) -> (d0, d1)>
#map3 = affine_map<(d0) -> (0, 0)>
#map4 = affine_map<(d0) -> (d0)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0 * 128 + d1 * 64 + d2 * 64 + d3 * 64 + d4)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map7 = affine_map<(d0) -> (0, 0, 0)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map9 = affine_map<(d0) -> (0, 0, 0, 0, 0)>
#set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#set1 = affine_set<(d0) : (d0 == 0)>
#set2 = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>
#set3 = affine_set<(d0, d1, d2, d3, d4) : (d0 == 0, d1 == 0, d2 == 0, d3 == 0, d4 >= 0, -d4 + 63 >= 0)>
module {
  module {
    func.func @vadd3(%arg0: index, %arg1: index, %arg2: index) attributes {grid = [2]} {
      symbol.create_id %arg0 {symbol_id = -1 : si64} : index
      symbol.create_id %arg1 {symbol_id = -2 : si64} : index
      symbol.create_id %arg2 {symbol_id = -3 : si64} : index
      call @local_schedule_0(%arg0, %arg1, %arg2) : (index, index, index) -> ()
      return
    }
    func.func private @local_schedule_0(index, index, index)
  }
  ktdf_arch.device @demo_chip import("mydev.mlir")
  module @local_schedule_0 {
    func.func private @local_schedule_0_body()
    func.func @local_schedule_0(%arg0: index, %arg1: index, %arg2: index) {
      %c98304 = arith.constant 98304 : index
      %c64 = arith.constant 64 : index
      symbol.create_id %arg0 {symbol_id = -1 : si64} : index
      symbol.create_id %arg1 {symbol_id = -2 : si64} : index
      symbol.create_id %arg2 {symbol_id = -3 : si64} : index
      %0 = arith.divsi %arg0, %c64 : index
      symbol.create_id %0 {symbol_id = -4 : si64} : index
      %1 = arith.addi %arg0, %c98304 : index
      %2 = arith.divsi %1, %c64 : index
      symbol.create_id %2 {symbol_id = -5 : si64} : index
      %3 = arith.divsi %arg1, %c64 : index
      symbol.create_id %3 {symbol_id = -6 : si64} : index
      %4 = arith.divsi %arg2, %c64 : index
      symbol.create_id %4 {symbol_id = -7 : si64} : index
      %5 = arith.addi %arg2, %c98304 : index
      %6 = arith.divsi %5, %c64 : index
      symbol.create_id %6 {symbol_id = -8 : si64} : index
      call @local_schedule_0_body() : () -> ()
      return
    }
    module {
      func.func @local_schedule_0_body() attributes {grid = [2]} {
        %c2816 = arith.constant 2816 : index
        %c768 = arith.constant 768 : index
        %c1664 = arith.constant 1664 : index
        %c1152 = arith.constant 1152 : index
        %c640 = arith.constant 640 : index
        %c128 = arith.constant 128 : index
        %c2 = arith.constant 2 : index
        %c6 = arith.constant 6 : index
        %c32 = arith.constant 32 : index
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
          %21 = symbol.create_symbol {SymbolId = -4 : i64} : index
          %22 = symbol.create_symbol {SymbolId = -5 : i64} : index
          %23 = uniform.def_immutable_mapping([%0 -> %21], [%1 -> %22]):index
          %24 = uniform.query_map(map:%23, key:%arg0) : index
          %25 = dataflow.get_logical_memory_view %16, %24 {layout_map = #map} : index, index, memref<24x64x64xf16>
          %26 = symbol.create_symbol {SymbolId = -6 : i64} : index
          %27 = dataflow.get_logical_memory_view %16, %26 {layout_map = #map1} : index, index, memref<1x64xf16>
          %28 = dataflow.get_logical_memory_view %20, %c0 {layout_map = #map1} : index, index, memref<1x64xf16>
          agen.composite_load_and_store src:%27[0, %c0 * 64] dst:%28[0, 0]
           time_symbols(), load_iv(%arg1:vector<64xf16>)
           {load_order = #map2, load_set = #set, load_time_addr_map = #map3, store_order = #map2, store_set = #set, store_time_addr_map = #map3, time_order = #map4, time_set = #set1}
          {
            agen.yield
          } : memref<1x64xf16>, memref<1x64xf16>
          %29 = scf.for %arg1 = %c0 to %c6 step %c1 iter_args(%arg2 = %c640) -> (index) {
            %30 = scf.for %arg3 = %c0 to %c32 step %c1 iter_args(%arg4 = %arg2) -> (index) {
              %31 = arith.subi %c768, %arg4 : index
              %32 = dataflow.get_logical_memory_view %20, %31 {layout_map = #map5} : index, index, memref<2x2x1x1x64xf16>
              scf.for %arg5 = %c0 to %c2 step %c1 {
                scf.for %arg6 = %c0 to %c2 step %c1 {
                  agen.composite_load_and_store src:%25[%arg1 * 2 + %arg5, %arg3 * 2 + %arg6, 0] dst:%32[%arg5, %arg6, 0, 0, 0]
                   time_symbols(), load_iv(%arg7:vector<64xf16>)
                   {load_order = #map6, load_set = #set2, load_time_addr_map = #map7, store_order = #map8, store_set = #set3, store_time_addr_map = #map9, time_order = #map4, time_set = #set1}
                  {
                    agen.yield
                  } : memref<24x64x64xf16>, memref<2x2x1x1x64xf16>
                }
              }
              %33 = uniform.def_immutable_mapping([%0 -> %4], [%1 -> %5]):index
              %34 = uniform.query_map(map:%33, key:%arg0) : index
              %35 = uniform.def_immutable_mapping([%0 -> %6], [%1 -> %7]):index
              %36 = uniform.query_map(map:%35, key:%arg0) : index
              dataflow.sync_send %34 {wait_immediately_for_async_transfers = true} : index
              dataflow.sync_send %36 {wait_immediately_for_async_transfers = true} : index
              dataflow.sync_recv %34 : index
              dataflow.sync_recv %36 : index
              scf.yield %31 : index
            }
            scf.yield %30 : index
          }
        }
        dataflow.program_unit iter_arg : %arg0 -> (%4, %5, %6, %7) : {
          %19 = uniform.def_immutable_mapping([%4 -> %17], [%5 -> %18], [%6 -> %17], [%7 -> %18]):index
          %20 = uniform.query_map(map:%19, key:%arg0) : index
          %21 = dataflow.get_logical_memory_view %20, %c0 {layout_map = #map1} : index, index, memref<1x64xf16>
          %22 = scf.for %arg1 = %c0 to %c6 step %c1 iter_args(%arg2 = %c128) -> (index) {
            %23 = scf.for %arg3 = %c0 to %c32 step %c1 iter_args(%arg4 = %arg2) -> (index) {
              %24 = uniform.def_immutable_mapping([%4 -> %c0], [%5 -> %c0], [%6 -> %c128], [%7 -> %c128]):index
              %25 = uniform.query_map(map:%24, key:%arg0) : index
              %26 = arith.addi %arg4, %25 : index
              %27 = dataflow.get_logical_memory_view %20, %26 {layout_map = #map5} : index, index, memref<2x2x1x1x64xf16>
              %28 = uniform.def_immutable_mapping([%4 -> %0], [%5 -> %1], [%6 -> %0], [%7 -> %1]):index
              %29 = uniform.query_map(map:%28, key:%arg0) : index
              dataflow.sync_send %29 {wait_immediately_for_async_transfers = true} : index
              dataflow.sync_recv %29 : index
              scf.for %arg5 = %c0 to %c2 step %c1 {
                %31 = agen.vector_load %27[%c0, %arg5, 0, 0, 0] {load_order = #map8, load_set = #set3} : memref<2x2x1x1x64xf16>, vector<64xf16>
                %32 = uniform.def_immutable_mapping([%4 -> %8], [%5 -> %9], [%6 -> %10], [%7 -> %11]):index
                %33 = uniform.query_map(map:%32, key:%arg0) : index
                dataflow.send %33, %31 : vector<64xf16>
                %34 = agen.vector_load %21[0, 0] {load_order = #map2, load_set = #set} : memref<1x64xf16>, vector<64xf16>
                %35 = uniform.def_immutable_mapping([%4 -> %8], [%5 -> %9], [%6 -> %10], [%7 -> %11]):index
                %36 = uniform.query_map(map:%35, key:%arg0) : index
                dataflow.send %36, %34 : vector<64xf16>
              }
              %30 = arith.subi %c768, %arg4 : index
              scf.yield %30 : index
            }
            scf.yield %23 : index
          }
        }
        dataflow.program_unit iter_arg : %arg0 -> (%8, %9, %10, %11) : {
          scf.for %arg1 = %c0 to %c6 step %c1 {
            scf.for %arg2 = %c0 to %c32 step %c1 {
              scf.for %arg3 = %c0 to %c2 step %c1 {
                %19 = uniform.def_immutable_mapping([%8 -> %4], [%9 -> %5], [%10 -> %6], [%11 -> %7]):index
                %20 = uniform.query_map(map:%19, key:%arg0) : index
                %21 = dataflow.receive %20 : vector<64xf16>
                %22 = uniform.def_immutable_mapping([%8 -> %4], [%9 -> %5], [%10 -> %6], [%11 -> %7]):index
                %23 = uniform.query_map(map:%22, key:%arg0) : index
                %24 = dataflow.receive %23 : vector<64xf16>
                %25 = vectorchain.binary %21, %24 {binary_op = #vectorchain<binary_operator add>, op_specific_map = #map4} : vector<64xf16>, vector<64xf16>, vector<64xf16>
                %26 = uniform.def_immutable_mapping([%8 -> %12], [%9 -> %13], [%10 -> %14], [%11 -> %15]):index
                %27 = uniform.query_map(map:%26, key:%arg0) : index
                dataflow.send %27, %25 : vector<64xf16>
              }
            }
          }
        }
        dataflow.program_unit iter_arg : %arg0 -> (%12, %13, %14, %15) : {
          %19 = uniform.def_immutable_mapping([%12 -> %17], [%13 -> %18], [%14 -> %17], [%15 -> %18]):index
          %20 = uniform.query_map(map:%19, key:%arg0) : index
          %21 = scf.for %arg1 = %c0 to %c6 step %c1 iter_args(%arg2 = %c1152) -> (index) {
            %22 = scf.for %arg3 = %c0 to %c32 step %c1 iter_args(%arg4 = %arg2) -> (index) {
              %23 = uniform.def_immutable_mapping([%12 -> %c0], [%13 -> %c0], [%14 -> %c128], [%15 -> %c128]):index
              %24 = uniform.query_map(map:%23, key:%arg0) : index
              %25 = arith.addi %arg4, %24 : index
              %26 = dataflow.get_logical_memory_view %20, %25 {layout_map = #map5} : index, index, memref<2x2x1x1x64xf16>
              scf.for %arg5 = %c0 to %c2 step %c1 {
                %30 = uniform.def_immutable_mapping([%12 -> %8], [%13 -> %9], [%14 -> %10], [%15 -> %11]):index
                %31 = uniform.query_map(map:%30, key:%arg0) : index
                %32 = dataflow.receive %31 : vector<64xf16>
                agen.vector_store %32, %26[%c0, %arg5, 0, 0, 0] {store_order = #map8, store_set = #set3} : memref<2x2x1x1x64xf16>, vector<64xf16>
              }
              %27 = uniform.def_immutable_mapping([%12 -> %2], [%13 -> %3], [%14 -> %2], [%15 -> %3]):index
              %28 = uniform.query_map(map:%27, key:%arg0) : index
              dataflow.sync_send %28 {wait_immediately_for_async_transfers = true} : index
              dataflow.sync_recv %28 : index
              %29 = arith.subi %c2816, %arg4 : index
              scf.yield %29 : index
            }
            scf.yield %22 : index
          }
        }
        dataflow.program_unit iter_arg : %arg0 -> (%2, %3) : {
          %19 = uniform.def_immutable_mapping([%2 -> %17], [%3 -> %18]):index
          %20 = uniform.query_map(map:%19, key:%arg0) : index
          %21 = symbol.create_symbol {SymbolId = -7 : i64} : index
          %22 = symbol.create_symbol {SymbolId = -8 : i64} : index
          %23 = uniform.def_immutable_mapping([%2 -> %21], [%3 -> %22]):index
          %24 = uniform.query_map(map:%23, key:%arg0) : index
          %25 = dataflow.get_logical_memory_view %16, %24 {layout_map = #map} : index, index, memref<24x64x64xf16>
          %26 = scf.for %arg1 = %c0 to %c6 step %c1 iter_args(%arg2 = %c1664) -> (index) {
            %27 = scf.for %arg3 = %c0 to %c32 step %c1 iter_args(%arg4 = %arg2) -> (index) {
              %28 = arith.subi %c2816, %arg4 : index
              %29 = dataflow.get_logical_memory_view %20, %28 {layout_map = #map5} : index, index, memref<2x2x1x1x64xf16>
              %30 = uniform.def_immutable_mapping([%2 -> %12], [%3 -> %13]):index
              %31 = uniform.query_map(map:%30, key:%arg0) : index
              %32 = uniform.def_immutable_mapping([%2 -> %14], [%3 -> %15]):index
              %33 = uniform.query_map(map:%32, key:%arg0) : index
              dataflow.sync_send %31 {wait_immediately_for_async_transfers = true} : index
              dataflow.sync_send %33 {wait_immediately_for_async_transfers = true} : index
              dataflow.sync_recv %31 : index
              dataflow.sync_recv %33 : index
              scf.for %arg5 = %c0 to %c2 step %c1 {
                scf.for %arg6 = %c0 to %c2 step %c1 {
                  agen.composite_load_and_store src:%29[%arg5, %arg6, 0, 0, 0] dst:%25[%arg1 * 2 + %arg5, %arg3 * 2 + %arg6, 0]
                   time_symbols(), load_iv(%arg7:vector<64xf16>)
                   {load_order = #map8, load_set = #set3, load_time_addr_map = #map9, store_order = #map6, store_set = #set2, store_time_addr_map = #map7, time_order = #map4, time_set = #set1}
                  {
                    agen.yield
                  } : memref<2x2x1x1x64xf16>, memref<24x64x64xf16>
                }
              }
              scf.yield %28 : index
            }
            scf.yield %27 : index
          }
        }
        return
      }
    }
  }
}

