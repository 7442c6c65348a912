// The device the public scheduler's tests use, with rates: 2 cores x 2 corelets, one vector unit each, no matrix unit,
// no ring. Structure, sizes, lanes of f16 and queue depths are the public file's [S]; its comment gives the DMA rates
// [S]; everything else is assumed (a). Memory kinds are strings, mapped to KTIR's spaces on the device.

#DDR = {
  kind = "DDR", size = 1073741824,
  headrace.read_bytes_per_cycle = 256,
  headrace.write_bytes_per_cycle = 128,
  headrace.latency_ns = 100.0 : f64,
  headrace.access_bytes = 64,
  headrace.source = {size = "[S]", read_bytes_per_cycle = "[S] comment", write_bytes_per_cycle = "[S] comment", latency_ns = "(a)", access_bytes = "[S]"}
}
#L1 = {kind = "L1", size = 1048576, headrace.align_bytes = 128, headrace.source = {size = "[S]", align_bytes = "(a)"}}
#SFU_REG = {kind = "SFU_REG", size = 2048, headrace.source = {size = "[S]"}}

#MNILU = {
  kind = "MNILU", dataflow_scheduler.double_buffer_last,
  ktdf_arch.features = {
    ktdf_arch.feature.load = {
      word_size = #ktdf_arch.map<"DDR" = 64, "L1" = 64>,
      access_granularity = #ktdf_arch.map<"DDR" = [{size_in_words = 1}], "L1" = [{size_in_words = 1}]>},
    headrace.feature.indirect = {index_types = [i32, i64]}
  },
  headrace.setup_cycles = 32,
  headrace.source = {word_size = "[S]", setup_cycles = "(a)", index_types = "(a)"}
}
#MNISU = {
  kind = "MNISU", dataflow_scheduler.double_buffer_last,
  ktdf_arch.features = {
    ktdf_arch.feature.store = {
      word_size = #ktdf_arch.map<"DDR" = 64, "L1" = 64>,
      access_granularity = #ktdf_arch.map<"DDR" = [{size_in_words = 1}], "L1" = [{size_in_words = 1}]>},
    headrace.feature.indirect = {index_types = [i32, i64]}
  },
  headrace.setup_cycles = 32,
  headrace.source = {word_size = "[S]", setup_cycles = "(a)", index_types = "(a)"}
}
#L1LU = {
  kind = "L1LU",
  ktdf_arch.features = {
    ktdf_arch.feature.load = {access_granularity = #ktdf_arch.map<"L1" = [
      {size_in_words = 64, align_in_words = 64}, {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>},
    ktdf_arch.feature.simd = {splat, zero_pad}
  },
  headrace.setup_cycles = 4,
  headrace.source = {splat = "[S]", access_granularity = "[S]; single bytes (a)", setup_cycles = "(a)"}
}
#L1SU = {
  kind = "L1SU",
  ktdf_arch.features = {
    ktdf_arch.feature.store = {access_granularity = #ktdf_arch.map<"L1" = [
      {size_in_words = 64, align_in_words = 64}, {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>}
  },
  headrace.setup_cycles = 4,
  headrace.source = {access_granularity = "[S]; single bytes (a)", setup_cycles = "(a)"}
}
#SFU = {
  kind = "SFU",
  ktdf_arch.features = {
    ktdf_arch.feature.compute,
    ktdf_arch.feature.simd = {lanes = #ktdf_arch.map<f16 = 64, bf16 = 64, f32 = 32, f8E4M3FN = 64, i8 = 64, i16 = 64, i32 = 32, i64 = 16, index = 16, i1 = 64>},
    headrace.feature.functions = {
      function = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "reciprocal", "rsqrt", "sqrt", "cbrt", "tanh", "sigmoid", "softplus"],
      special = ["sin", "cos", "tan", "erf", "pow", "atan", "atan2", "asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "gelu"]}
  },
  headrace.op_cycles = {move = 1, arith = 1, compare = 1, select = 1, convert = 1, shuffle = 1, integer = 1, divide = 8, function = 8, special = 16, lane_reduce = 6},
  headrace.op_latency = {move = 2, arith = 4, compare = 4, select = 4, convert = 4, shuffle = 4, integer = 4, divide = 16, function = 16, special = 32, lane_reduce = 24},
  headrace.source = {lanes = "f16 [S]; others (a)", functions = "(a)", op_cycles = "(a)", op_latency = "(a)"}
}

#DMA = {ktdf_arch.bandwidth = 128, ktdf_arch.transfer_granularity = array<i64: 64>, headrace.latency_cycles = 4,
  headrace.source = {granularity = "[S]", bandwidth = "(a)", latency_cycles = "(a)"}}
#L1_PORT = {ktdf_arch.bandwidth = 128, headrace.latency_cycles = 4, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 16, ordered}},
  headrace.source = {queue_depth = "[S]", bandwidth = "(a)", latency_cycles = "(a)"}}
#FIFO = {ktdf_arch.bandwidth = 128, ktdf_arch.transfer_granularity = array<i64: 64, 2>, headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 16, ordered}},
  headrace.source = {granularity = "[S]", queue_depth = "[S]", bandwidth = "(a)", latency_cycles = "(a)"}}

ktdf_arch.device @sample attributes {
  version = 1,
  mem_space_mapping = #ktdf_arch.map<#ktdp.memory_space<global> = "DDR", #ktdp.memory_space<ct_local> = "L1">,
  headrace.clock_mhz = 1000,
  headrace.signal_cycles = 8,
  headrace.source = {clock_mhz = "(a)", signal_cycles = "(a)"}
} {
  %ddr = memory @ddr #DDR

  group {kind = "core", headrace.count = 2} share(%ddr) {
    %l1 = memory @l1 #L1
    %mnilu = exec_unit #MNILU
    %mnisu = exec_unit #MNISU
    datapath #DMA %ddr to %mnilu : memory, exec_unit
    datapath #DMA %mnilu to %l1 : exec_unit, memory
    datapath #DMA %l1 to %mnisu : memory, exec_unit
    datapath #DMA %mnisu to %ddr : exec_unit, memory

    group share(%l1) {
      %sfu = group {kind = "SFU_Block"} share() {
        %reg = memory #SFU_REG
        %u = exec_unit #SFU
        yield %u
      } -> exec_unit
      %l1lu = exec_unit #L1LU
      %l1su = exec_unit #L1SU
      datapath #L1_PORT %l1 to %l1lu : memory, exec_unit
      datapath #FIFO %l1lu to %sfu : exec_unit, exec_unit
      datapath #FIFO %sfu to %l1su : exec_unit, exec_unit
      datapath #L1_PORT %l1su to %l1 : exec_unit, memory
    }
    group share(%l1) {
      %sfu = group {kind = "SFU_Block"} share() {
        %reg = memory #SFU_REG
        %u = exec_unit #SFU
        yield %u
      } -> exec_unit
      %l1lu = exec_unit #L1LU
      %l1su = exec_unit #L1SU
      datapath #L1_PORT %l1 to %l1lu : memory, exec_unit
      datapath #FIFO %l1lu to %sfu : exec_unit, exec_unit
      datapath #FIFO %sfu to %l1su : exec_unit, exec_unit
      datapath #L1_PORT %l1su to %l1 : exec_unit, memory
    }
  }
}
