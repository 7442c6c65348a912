// The single-buffered variant of the public bias add, in generic form: it has races.
#map = affine_map<(d0, d1, d2) -> (d0 * 4096 + d1 * 64 + d2)>
#map1 = affine_map<(d0, d1) -> (d0 * 64 + d1)>
#map2 = affine_map<() -> (0, 0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0) -> (0, 0)>
#map5 = affine_map<(d0) -> (0, d0 * 64)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0 * 128 + d1 * 64 + d2 * 64 + d3 * 64 + d4)>
#map8 = affine_map<(d0, d1) -> (d0, d1, 0, 0, 0)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map10 = affine_map<(d0) -> (0, 0, 0)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d1, d2 * 2 + d3, 0)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map13 = affine_map<(d0) -> (0, 0, 0, 0, 0)>
#set = affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 63 >= 0)>
#set1 = affine_set<(d0) : (d0 == 0)>
#set2 = affine_set<(d0, d1, d2) : (d0 == 0, d1 == 0, d2 >= 0, -d2 + 63 >= 0)>
#set3 = affine_set<(d0, d1, d2, d3, d4) : (d0 == 0, d1 == 0, d2 == 0, d3 == 0, d4 >= 0, -d4 + 63 >= 0)>
"builtin.module"() ({
  "builtin.module"() ({
    "func.func"() <{function_type = (index, index, index) -> (), sym_name = "vadd3"}> ({
    ^bb0(%arg28: index, %arg29: index, %arg30: index):
      "symbol.create_id"(%arg28) <{symbol_id = -1 : si64}> : (index) -> ()
      "symbol.create_id"(%arg29) <{symbol_id = -2 : si64}> : (index) -> ()
      "symbol.create_id"(%arg30) <{symbol_id = -3 : si64}> : (index) -> ()
      "func.call"(%arg28, %arg29, %arg30) <{callee = @local_schedule_0}> : (index, index, index) -> ()
      "func.return"() : () -> ()
    }) {grid = [2]} : () -> ()
    "func.func"() <{function_type = (index, index, index) -> (), sym_name = "local_schedule_0", sym_visibility = "private"}> ({
    }) : () -> ()
  }) : () -> ()
  "ktdf_arch.device"() <{import_path = "sample_device.mlir", sym_name = "sample_device"}> ({
  }) {mem_space_mapping = #ktdf_arch.map<#ktdp.memory_space<global> = "DDR", #ktdp.memory_space<ct_local> = "L1">} : () -> ()
  "builtin.module"() <{sym_name = "local_schedule_0"}> ({
    "func.func"() <{function_type = () -> (), sym_name = "local_schedule_0_body", sym_visibility = "private"}> ({
    }) : () -> ()
    "func.func"() <{function_type = (index, index, index) -> (), sym_name = "local_schedule_0"}> ({
    ^bb0(%arg25: index, %arg26: index, %arg27: index):
      %88 = "arith.constant"() <{value = 98304 : index}> : () -> index
      %89 = "arith.constant"() <{value = 64 : index}> : () -> index
      "symbol.create_id"(%arg25) <{symbol_id = -1 : si64}> : (index) -> ()
      "symbol.create_id"(%arg26) <{symbol_id = -2 : si64}> : (index) -> ()
      "symbol.create_id"(%arg27) <{symbol_id = -3 : si64}> : (index) -> ()
      %90 = "arith.divsi"(%arg25, %89) : (index, index) -> index
      "symbol.create_id"(%90) <{symbol_id = -4 : si64}> : (index) -> ()
      %91 = "arith.addi"(%arg25, %88) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %92 = "arith.divsi"(%91, %89) : (index, index) -> index
      "symbol.create_id"(%92) <{symbol_id = -5 : si64}> : (index) -> ()
      %93 = "arith.divsi"(%arg26, %89) : (index, index) -> index
      "symbol.create_id"(%93) <{symbol_id = -6 : si64}> : (index) -> ()
      %94 = "arith.divsi"(%arg27, %89) : (index, index) -> index
      "symbol.create_id"(%94) <{symbol_id = -7 : si64}> : (index) -> ()
      %95 = "arith.addi"(%arg27, %88) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %96 = "arith.divsi"(%95, %89) : (index, index) -> index
      "symbol.create_id"(%96) <{symbol_id = -8 : si64}> : (index) -> ()
      "func.call"() <{callee = @local_schedule_0_body}> : () -> ()
      "func.return"() : () -> ()
    }) : () -> ()
    "builtin.module"() ({
      "func.func"() <{function_type = () -> (), sym_name = "local_schedule_0_body"}> ({
        %0 = "arith.constant"() <{value = 768 : index}> : () -> index
        %1 = "arith.constant"() <{value = 128 : index}> : () -> index
        %2 = "arith.constant"() <{value = 2 : index}> : () -> index
        %3 = "arith.constant"() <{value = 6 : index}> : () -> index
        %4 = "arith.constant"() <{value = 32 : index}> : () -> index
        %5 = "arith.constant"() <{value = 1 : index}> : () -> index
        %6 = "arith.constant"() <{value = 0 : index}> : () -> index
        %7 = "dataflow.get_unit"() <{name = "C0-mnilu", type = "mnilu"}> {core = 0 : i32, corelet = 0 : i32} : () -> index
        %8 = "dataflow.get_unit"() <{name = "C1-mnilu", type = "mnilu"}> {core = 1 : i32, corelet = 0 : i32} : () -> index
        %9 = "dataflow.get_unit"() <{name = "C0-mnisu", type = "mnisu"}> {core = 0 : i32, corelet = 0 : i32} : () -> index
        %10 = "dataflow.get_unit"() <{name = "C1-mnisu", type = "mnisu"}> {core = 1 : i32, corelet = 0 : i32} : () -> index
        %11 = "dataflow.get_unit"() <{name = "C0-l1lu-CL0", type = "l1lu"}> {core = 0 : i32, corelet = 0 : i32} : () -> index
        %12 = "dataflow.get_unit"() <{name = "C1-l1lu-CL0", type = "l1lu"}> {core = 1 : i32, corelet = 0 : i32} : () -> index
        %13 = "dataflow.get_unit"() <{name = "C0-l1lu-CL1", type = "l1lu"}> {core = 0 : i32, corelet = 1 : i32} : () -> index
        %14 = "dataflow.get_unit"() <{name = "C1-l1lu-CL1", type = "l1lu"}> {core = 1 : i32, corelet = 1 : i32} : () -> index
        %15 = "dataflow.get_unit"() <{name = "C0-sfu-CL0", type = "sfu"}> {core = 0 : i32, corelet = 0 : i32} : () -> index
        %16 = "dataflow.get_unit"() <{name = "C1-sfu-CL0", type = "sfu"}> {core = 1 : i32, corelet = 0 : i32} : () -> index
        %17 = "dataflow.get_unit"() <{name = "C0-sfu-CL1", type = "sfu"}> {core = 0 : i32, corelet = 1 : i32} : () -> index
        %18 = "dataflow.get_unit"() <{name = "C1-sfu-CL1", type = "sfu"}> {core = 1 : i32, corelet = 1 : i32} : () -> index
        %19 = "dataflow.get_unit"() <{name = "C0-l1su-CL0", type = "l1su"}> {core = 0 : i32, corelet = 0 : i32} : () -> index
        %20 = "dataflow.get_unit"() <{name = "C1-l1su-CL0", type = "l1su"}> {core = 1 : i32, corelet = 0 : i32} : () -> index
        %21 = "dataflow.get_unit"() <{name = "C0-l1su-CL1", type = "l1su"}> {core = 0 : i32, corelet = 1 : i32} : () -> index
        %22 = "dataflow.get_unit"() <{name = "C1-l1su-CL1", type = "l1su"}> {core = 1 : i32, corelet = 1 : i32} : () -> index
        %23 = "dataflow.get_unit"() <{name = "ddr", type = "ddr"}> : () -> index
        %24 = "dataflow.get_unit"() <{name = "C0-l1", type = "l1"}> {core = 0 : i32} : () -> index
        %25 = "dataflow.get_unit"() <{name = "C1-l1", type = "l1"}> {core = 1 : i32} : () -> index
        "dataflow.program_unit"(%7, %8) ({
        ^bb0(%arg18: index):
          %73 = "uniform.def_immutable_mapping"(%7, %8, %24, %25) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
          %74 = "uniform.query_map"(%73, %arg18) : (index, index) -> index
          %75 = "symbol.create_symbol"() {SymbolId = -4 : i64} : () -> index
          %76 = "symbol.create_symbol"() {SymbolId = -5 : i64} : () -> index
          %77 = "uniform.def_immutable_mapping"(%7, %8, %75, %76) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
          %78 = "uniform.query_map"(%77, %arg18) : (index, index) -> index
          %79 = "dataflow.get_logical_memory_view"(%23, %78) <{layout_map = #map}> : (index, index) -> memref<24x64x64xf16>
          %80 = "symbol.create_symbol"() {SymbolId = -6 : i64} : () -> index
          %81 = "dataflow.get_logical_memory_view"(%23, %80) <{layout_map = #map1}> : (index, index) -> memref<1x64xf16>
          %82 = "dataflow.get_logical_memory_view"(%74, %6) <{layout_map = #map1}> : (index, index) -> memref<1x64xf16>
          "agen.composite_load_and_store"(%81, %82, %6) <{dst_map = #map2, load_order = #map3, load_set = #set, load_time_addr_map = #map4, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, src_map = #map5, store_order = #map3, store_set = #set, store_time_addr_map = #map4, time_order = #map6, time_set = #set1}> ({
          ^bb0(%arg24: vector<64xf16>):
            "agen.yield"() : () -> ()
          }) : (memref<1x64xf16>, memref<1x64xf16>, index) -> ()
          "scf.for"(%6, %3, %5) ({
          ^bb0(%arg19: index):
            "scf.for"(%6, %4, %5) ({
            ^bb0(%arg20: index):
              %83 = "dataflow.get_logical_memory_view"(%74, %1) <{layout_map = #map7}> : (index, index) -> memref<2x2x1x1x64xf16>
              "scf.for"(%6, %2, %5) ({
              ^bb0(%arg21: index):
                "scf.for"(%6, %2, %5) ({
                ^bb0(%arg22: index):
                  "agen.composite_load_and_store"(%79, %83, %arg19, %arg21, %arg20, %arg22, %arg21, %arg22) <{dst_map = #map8, load_order = #map9, load_set = #set2, load_time_addr_map = #map10, operandSegmentSizes = array<i32: 1, 1, 4, 2, 0, 0>, src_map = #map11, store_order = #map12, store_set = #set3, store_time_addr_map = #map13, time_order = #map6, time_set = #set1}> ({
                  ^bb0(%arg23: vector<64xf16>):
                    "agen.yield"() : () -> ()
                  }) : (memref<24x64x64xf16>, memref<2x2x1x1x64xf16>, index, index, index, index, index, index) -> ()
                  "scf.yield"() : () -> ()
                }) : (index, index, index) -> ()
                "scf.yield"() : () -> ()
              }) : (index, index, index) -> ()
              %84 = "uniform.def_immutable_mapping"(%7, %8, %11, %12) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
              %85 = "uniform.query_map"(%84, %arg18) : (index, index) -> index
              %86 = "uniform.def_immutable_mapping"(%7, %8, %13, %14) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
              %87 = "uniform.query_map"(%86, %arg18) : (index, index) -> index
              "dataflow.sync_send"(%85) <{wait_immediately_for_async_transfers = true}> : (index) -> ()
              "dataflow.sync_send"(%87) <{wait_immediately_for_async_transfers = true}> : (index) -> ()
              "dataflow.sync_recv"(%85) : (index) -> ()
              "dataflow.sync_recv"(%87) : (index) -> ()
              "scf.yield"() : () -> ()
            }) : (index, index, index) -> ()
            "scf.yield"() : () -> ()
          }) : (index, index, index) -> ()
          "dataflow.return"() : () -> ()
        }) : (index, index) -> ()
        "dataflow.program_unit"(%11, %12, %13, %14) ({
        ^bb0(%arg14: index):
          %58 = "uniform.def_immutable_mapping"(%11, %12, %13, %14, %24, %25, %24, %25) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
          %59 = "uniform.query_map"(%58, %arg14) : (index, index) -> index
          %60 = "dataflow.get_logical_memory_view"(%59, %6) <{layout_map = #map1}> : (index, index) -> memref<1x64xf16>
          "scf.for"(%6, %3, %5) ({
          ^bb0(%arg15: index):
            "scf.for"(%6, %4, %5) ({
            ^bb0(%arg16: index):
              %61 = "uniform.def_immutable_mapping"(%11, %12, %13, %14, %6, %6, %1, %1) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
              %62 = "uniform.query_map"(%61, %arg14) : (index, index) -> index
              %63 = "arith.addi"(%62, %1) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
              %64 = "dataflow.get_logical_memory_view"(%59, %63) <{layout_map = #map7}> : (index, index) -> memref<2x2x1x1x64xf16>
              %65 = "uniform.def_immutable_mapping"(%11, %12, %13, %14, %7, %8, %7, %8) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
              %66 = "uniform.query_map"(%65, %arg14) : (index, index) -> index
              "dataflow.sync_send"(%66) <{wait_immediately_for_async_transfers = true}> : (index) -> ()
              "dataflow.sync_recv"(%66) : (index) -> ()
              "scf.for"(%6, %2, %5) ({
              ^bb0(%arg17: index):
                %67 = "agen.vector_load"(%64, %6, %arg17) <{affine_map = #map8, load_order = #map12, load_set = #set3, operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<2x2x1x1x64xf16>, index, index) -> vector<64xf16>
                %68 = "uniform.def_immutable_mapping"(%11, %12, %13, %14, %15, %16, %17, %18) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
                %69 = "uniform.query_map"(%68, %arg14) : (index, index) -> index
                "dataflow.send"(%69, %67) : (index, vector<64xf16>) -> ()
                %70 = "agen.vector_load"(%60) <{affine_map = #map2, load_order = #map3, load_set = #set, operandSegmentSizes = array<i32: 1, 0, 0>}> : (memref<1x64xf16>) -> vector<64xf16>
                %71 = "uniform.def_immutable_mapping"(%11, %12, %13, %14, %15, %16, %17, %18) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
                %72 = "uniform.query_map"(%71, %arg14) : (index, index) -> index
                "dataflow.send"(%72, %70) : (index, vector<64xf16>) -> ()
                "scf.yield"() : () -> ()
              }) : (index, index, index) -> ()
              "scf.yield"() : () -> ()
            }) : (index, index, index) -> ()
            "scf.yield"() : () -> ()
          }) : (index, index, index) -> ()
          "dataflow.return"() : () -> ()
        }) : (index, index, index, index) -> ()
        "dataflow.program_unit"(%15, %16, %17, %18) ({
        ^bb0(%arg10: index):
          "scf.for"(%6, %3, %5) ({
          ^bb0(%arg11: index):
            "scf.for"(%6, %4, %5) ({
            ^bb0(%arg12: index):
              "scf.for"(%6, %2, %5) ({
              ^bb0(%arg13: index):
                %49 = "uniform.def_immutable_mapping"(%15, %16, %17, %18, %11, %12, %13, %14) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
                %50 = "uniform.query_map"(%49, %arg10) : (index, index) -> index
                %51 = "dataflow.receive"(%50) : (index) -> vector<64xf16>
                %52 = "uniform.def_immutable_mapping"(%15, %16, %17, %18, %11, %12, %13, %14) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
                %53 = "uniform.query_map"(%52, %arg10) : (index, index) -> index
                %54 = "dataflow.receive"(%53) : (index) -> vector<64xf16>
                %55 = "vectorchain.binary"(%51, %54) <{binary_op = #vectorchain<binary_operator add>, op_specific_map = #map6}> : (vector<64xf16>, vector<64xf16>) -> vector<64xf16>
                %56 = "uniform.def_immutable_mapping"(%15, %16, %17, %18, %19, %20, %21, %22) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
                %57 = "uniform.query_map"(%56, %arg10) : (index, index) -> index
                "dataflow.send"(%57, %55) : (index, vector<64xf16>) -> ()
                "scf.yield"() : () -> ()
              }) : (index, index, index) -> ()
              "scf.yield"() : () -> ()
            }) : (index, index, index) -> ()
            "scf.yield"() : () -> ()
          }) : (index, index, index) -> ()
          "dataflow.return"() : () -> ()
        }) : (index, index, index, index) -> ()
        "dataflow.program_unit"(%19, %20, %21, %22) ({
        ^bb0(%arg6: index):
          %38 = "uniform.def_immutable_mapping"(%19, %20, %21, %22, %24, %25, %24, %25) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
          %39 = "uniform.query_map"(%38, %arg6) : (index, index) -> index
          "scf.for"(%6, %3, %5) ({
          ^bb0(%arg7: index):
            "scf.for"(%6, %4, %5) ({
            ^bb0(%arg8: index):
              %40 = "uniform.def_immutable_mapping"(%19, %20, %21, %22, %6, %6, %1, %1) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
              %41 = "uniform.query_map"(%40, %arg6) : (index, index) -> index
              %42 = "arith.addi"(%41, %0) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
              %43 = "dataflow.get_logical_memory_view"(%39, %42) <{layout_map = #map7}> : (index, index) -> memref<2x2x1x1x64xf16>
              "scf.for"(%6, %2, %5) ({
              ^bb0(%arg9: index):
                %46 = "uniform.def_immutable_mapping"(%19, %20, %21, %22, %15, %16, %17, %18) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
                %47 = "uniform.query_map"(%46, %arg6) : (index, index) -> index
                %48 = "dataflow.receive"(%47) : (index) -> vector<64xf16>
                "agen.vector_store"(%48, %43, %6, %arg9) <{affine_map = #map8, store_order = #map12, store_set = #set3}> : (vector<64xf16>, memref<2x2x1x1x64xf16>, index, index) -> ()
                "scf.yield"() : () -> ()
              }) : (index, index, index) -> ()
              %44 = "uniform.def_immutable_mapping"(%19, %20, %21, %22, %9, %10, %9, %10) <{operandSegmentSizes = array<i32: 4, 4>}> : (index, index, index, index, index, index, index, index) -> index
              %45 = "uniform.query_map"(%44, %arg6) : (index, index) -> index
              "dataflow.sync_send"(%45) <{wait_immediately_for_async_transfers = true}> : (index) -> ()
              "dataflow.sync_recv"(%45) : (index) -> ()
              "scf.yield"() : () -> ()
            }) : (index, index, index) -> ()
            "scf.yield"() : () -> ()
          }) : (index, index, index) -> ()
          "dataflow.return"() : () -> ()
        }) : (index, index, index, index) -> ()
        "dataflow.program_unit"(%9, %10) ({
        ^bb0(%arg0: index):
          %26 = "uniform.def_immutable_mapping"(%9, %10, %24, %25) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
          %27 = "uniform.query_map"(%26, %arg0) : (index, index) -> index
          %28 = "symbol.create_symbol"() {SymbolId = -7 : i64} : () -> index
          %29 = "symbol.create_symbol"() {SymbolId = -8 : i64} : () -> index
          %30 = "uniform.def_immutable_mapping"(%9, %10, %28, %29) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
          %31 = "uniform.query_map"(%30, %arg0) : (index, index) -> index
          %32 = "dataflow.get_logical_memory_view"(%23, %31) <{layout_map = #map}> : (index, index) -> memref<24x64x64xf16>
          "scf.for"(%6, %3, %5) ({
          ^bb0(%arg1: index):
            "scf.for"(%6, %4, %5) ({
            ^bb0(%arg2: index):
              %33 = "dataflow.get_logical_memory_view"(%27, %0) <{layout_map = #map7}> : (index, index) -> memref<2x2x1x1x64xf16>
              %34 = "uniform.def_immutable_mapping"(%9, %10, %19, %20) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
              %35 = "uniform.query_map"(%34, %arg0) : (index, index) -> index
              %36 = "uniform.def_immutable_mapping"(%9, %10, %21, %22) <{operandSegmentSizes = array<i32: 2, 2>}> : (index, index, index, index) -> index
              %37 = "uniform.query_map"(%36, %arg0) : (index, index) -> index
              "dataflow.sync_send"(%35) <{wait_immediately_for_async_transfers = true}> : (index) -> ()
              "dataflow.sync_send"(%37) <{wait_immediately_for_async_transfers = true}> : (index) -> ()
              "dataflow.sync_recv"(%35) : (index) -> ()
              "dataflow.sync_recv"(%37) : (index) -> ()
              "scf.for"(%6, %2, %5) ({
              ^bb0(%arg3: index):
                "scf.for"(%6, %2, %5) ({
                ^bb0(%arg4: index):
                  "agen.composite_load_and_store"(%33, %32, %arg3, %arg4, %arg1, %arg3, %arg2, %arg4) <{dst_map = #map11, load_order = #map12, load_set = #set3, load_time_addr_map = #map13, operandSegmentSizes = array<i32: 1, 1, 2, 4, 0, 0>, src_map = #map8, store_order = #map9, store_set = #set2, store_time_addr_map = #map10, time_order = #map6, time_set = #set1}> ({
                  ^bb0(%arg5: vector<64xf16>):
                    "agen.yield"() : () -> ()
                  }) : (memref<2x2x1x1x64xf16>, memref<24x64x64xf16>, index, index, index, index, index, index) -> ()
                  "scf.yield"() : () -> ()
                }) : (index, index, index) -> ()
                "scf.yield"() : () -> ()
              }) : (index, index, index) -> ()
              "scf.yield"() : () -> ()
            }) : (index, index, index) -> ()
            "scf.yield"() : () -> ()
          }) : (index, index, index) -> ()
          "dataflow.return"() : () -> ()
        }) : (index, index) -> ()
        "func.return"() : () -> ()
      }) {grid = [2]} : () -> ()
    }) : () -> ()
  }) : () -> ()
}) : () -> ()

