// One core of TPUv3 as its simulators' authors describe it: two 128 x 128 weight-stationary matrix units, 128 vector
// lanes with a scratchpad of 16 MiB in all, DRAM of 481 GB/s, at 940 MHz.
//
// The lanes are described as two vector units of 64 lanes, one beside each matrix unit, because a corelet of this
// language has one of each. A lane takes one element a cycle (its 256-bit vectors pass in eight): this was chosen
// because the published softmax and layernorm then come out, and is the only figure here that was fitted.
//
// headrace.source says where a constant comes from: [P] the published description, [=] follows from others,
// [fit] fitted to published cycles, (a) assumed by us. A rate that is absent is unlimited.

#DRAM = {
  kind = #ktdp.memory_space<global>,
  size = 17179869184,
  headrace.sustained_gbps = 481.0 : f64,
  headrace.latency_ns = 100.0 : f64,
  headrace.access_bytes = 32,
  headrace.align_bytes = 128,
  headrace.source = {size = "(a)", sustained_gbps = "[P] 16 channels, burst length 2 at 940 MHz", latency_ns = "(a)",
    access_bytes = "[P] 32-byte requests", align_bytes = "(a)"}
}
#LX = {
  kind = #ktdp.memory_space<ct_local>,
  size = 16777216,
  headrace.align_bytes = 128,
  headrace.source = {size = "[P] 128 KiB for each of 128 lanes", align_bytes = "(a)"}
}
#SFU_REG = {kind = "SFU_REG", size = 131072, headrace.source = {size = "(a) 64 lanes x 2 KiB"}}
#PT_XRF = {kind = "PT_XRF", size = 524288, headrace.source = {size = "[=] the blocks that compute and that are filled"}}
#MNILU = {
  kind = "MNILU", dataflow_scheduler.double_buffer_last,
  ktdf_arch.features = {
    ktdf_arch.feature.load = {
      word_size = #ktdf_arch.map<#ktdp.memory_space<global> = 32, #ktdp.memory_space<ct_local> = 32>,
      access_granularity = #ktdf_arch.map<#ktdp.memory_space<global> = [{size_in_words = 1}], #ktdp.memory_space<ct_local> = [{size_in_words = 1}]>},
    headrace.feature.indirect = {index_types = [i32, i64]}
  },
  headrace.setup_cycles = 64,
  headrace.source = {word_size = "[P]", setup_cycles = "(a)"}
}
#MNISU = {
  kind = "MNISU", dataflow_scheduler.double_buffer_last,
  ktdf_arch.features = {
    ktdf_arch.feature.store = {
      word_size = #ktdf_arch.map<#ktdp.memory_space<global> = 32, #ktdp.memory_space<ct_local> = 32>,
      access_granularity = #ktdf_arch.map<#ktdp.memory_space<global> = [{size_in_words = 1}], #ktdp.memory_space<ct_local> = [{size_in_words = 1}]>},
    headrace.feature.indirect = {index_types = [i32, i64]}
  },
  headrace.setup_cycles = 64,
  headrace.source = {word_size = "[P]", setup_cycles = "(a)"}
}
#L1LU = {
  kind = "L1LU",
  ktdf_arch.features = {
    ktdf_arch.feature.load = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [
      {size_in_words = 64, align_in_words = 64}, {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>},
    ktdf_arch.feature.simd = {splat, zero_pad}
  },
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 64,
  headrace.source = {setup_cycles = "(a)", strided_accesses_per_cycle = "[=] a lane each"}
}
#L1SU = {
  kind = "L1SU",
  ktdf_arch.features = {
    ktdf_arch.feature.store = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [
      {size_in_words = 64, align_in_words = 64}, {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>}
  },
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 64,
  headrace.source = {setup_cycles = "(a)", strided_accesses_per_cycle = "[=] a lane each"}
}
#L0LU = {
  kind = "L0LU",
  ktdf_arch.features = {
    ktdf_arch.feature.load = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [
      {size_in_words = 64, align_in_words = 64}, {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>}
  },
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 64,
  headrace.source = {setup_cycles = "(a)", strided_accesses_per_cycle = "[=] a lane each"}
}
#XRFLU = {
  kind = "XRFLU",
  ktdf_arch.features = {
    ktdf_arch.feature.load = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [
      {size_in_words = 64, align_in_words = 64}, {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>}
  },
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 64,
  headrace.source = {setup_cycles = "(a)", strided_accesses_per_cycle = "[=] a lane each"}
}
#PT = {
  kind = "PT",
  ktdf_arch.features = {ktdf_arch.feature.compute, headrace.feature.matrix = {
    macs = #ktdf_arch.map<f16 = 16384, bf16 = 16384, f32 = 16384>,
    accumulate = #ktdf_arch.map<f16 = f32, bf16 = f32, f32 = f32>,
    rows = 128, columns = 128,
    resident_bytes = 262144,
    accumulator_bytes = 0,
    swap_cycles = 0,
    latency_cycles = 256}},
  headrace.source = {
    macs = "[P] 128 x 128; f32 as the published runs have it", rows = "[P]", columns = "[P]",
    resident_bytes = "(a) four blocks of 128 x 128 f32 whose sums stay in the accumulators",
    accumulator_bytes = "(a) what the accumulators do is in resident_bytes",
    swap_cycles = "[P] weights are shadowed", latency_cycles = "[=] 128 rows + 128 columns"
  }
}
#SFU = {
  kind = "SFU",
  ktdf_arch.features = {
    ktdf_arch.feature.compute,
    ktdf_arch.feature.simd = {lanes = #ktdf_arch.map<f16 = 64, bf16 = 64, f32 = 64, f8E4M3FN = 64, i8 = 64, i16 = 64, i32 = 64, i64 = 32, index = 32, i1 = 64>},
    headrace.feature.functions = {
      function = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "reciprocal", "rsqrt", "sqrt", "cbrt", "tanh", "sigmoid", "softplus"],
      special = ["sin", "cos", "tan", "erf", "pow", "atan", "atan2", "asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "gelu"]}
  },
  headrace.wide_internal,
  headrace.op_cycles = {move = 1, arith = 1, compare = 1, select = 1, convert = 1, shuffle = 1, integer = 1, divide = 1, function = 1, special = 8, lane_reduce = 7},
  headrace.op_latency = {move = 2, arith = 4, compare = 4, select = 4, convert = 4, shuffle = 4, integer = 4, divide = 16, function = 16, special = 32, lane_reduce = 14},
  headrace.source = {
    lanes = "[P] 128 lanes, half of them here; one element a lane and cycle [fit]", functions = "(a)", wide_internal = "(a)",
    op_cycles = "(a) one element a lane and cycle; a sum over 64 lanes takes 6 steps and one more",
    op_latency = "(a)"
  }
}
#DRAM_IN = {ktdf_arch.bandwidth = 512, ktdf_arch.transfer_granularity = array<i64: 32>, headrace.latency_cycles = 10,
  headrace.source = {bandwidth = "[=] 16 channels x 32 B", latency_cycles = "[P] interconnect"}}
#DRAM_OUT = {ktdf_arch.bandwidth = 512, ktdf_arch.transfer_granularity = array<i64: 32>, headrace.latency_cycles = 10,
  headrace.source = {bandwidth = "[=] 16 channels x 32 B", latency_cycles = "[P] interconnect"}}
#LX_READ = {headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 64, ordered}},
  headrace.source = {queue_depth = "(a)", latency_cycles = "(a)"}}
#LX_WRITE = {headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 64, ordered}},
  headrace.source = {queue_depth = "(a)", latency_cycles = "(a)"}}
#STREAM = {ktdf_arch.bandwidth = 2048, headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 65536, ordered}},
  headrace.source = {bandwidth = "[P] 256 bits a lane", queue_bytes = "(a)", latency_cycles = "(a)"}}
#ROWS = {ktdf_arch.bandwidth = 512, headrace.latency_cycles = 4, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 65536, ordered}},
  headrace.source = {bandwidth = "[=] 128 f32 a cycle", queue_bytes = "(a)", latency_cycles = "(a)"}}
#WEIGHTS = {ktdf_arch.bandwidth = 512, headrace.latency_cycles = 4, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 262144, ordered}},
  headrace.source = {bandwidth = "[=] a row of 128 f32 a cycle", queue_bytes = "[=] resident_bytes", latency_cycles = "(a)"}}
#SUMS = {ktdf_arch.bandwidth = 512, headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 65536, ordered}},
  headrace.source = {bandwidth = "[=] 128 f32 a cycle", queue_bytes = "(a)", latency_cycles = "(a)"}}

ktdf_arch.device @tpuv3 attributes {
  version = 1,
  headrace.clock_mhz = 940,
  headrace.signal_cycles = 10,
  headrace.launch_cycles = 0,
  headrace.source = {clock_mhz = "[P]", signal_cycles = "(a) as the interconnect", launch_cycles = "[P] cycles are those of the kernel"}
} {
  %dram = memory @ddr #DRAM
  group {kind = "core", headrace.count = 1} share(%dram) {
    %lx = memory @lx #LX
    %mnilu = exec_unit #MNILU
    %mnisu = exec_unit #MNISU
    datapath #DRAM_IN %dram to %mnilu : memory, exec_unit
    datapath #LX_WRITE %mnilu to %lx : exec_unit, memory
    datapath #LX_READ %lx to %mnisu : memory, exec_unit
    datapath #DRAM_OUT %mnisu to %dram : exec_unit, memory

    group {kind = "corelet"} share(%lx) {
      %sfu = group {kind = "SFU_Block"} share() {
        %reg = memory #SFU_REG
        %u = exec_unit #SFU
        yield %u
      } -> exec_unit
      %pt = group {kind = "PT_Block"} share() {
        %xrf = memory #PT_XRF
        %u = exec_unit #PT
        yield %u
      } -> exec_unit
      %l1lu = exec_unit #L1LU
      %l1su = exec_unit #L1SU
      %l0lu = exec_unit #L0LU
      %xrflu = exec_unit #XRFLU
      datapath #LX_READ %lx to %l1lu : memory, exec_unit
      datapath #STREAM %l1lu to %sfu : exec_unit, exec_unit
      datapath #STREAM %sfu to %l1su : exec_unit, exec_unit
      datapath #LX_WRITE %l1su to %lx : exec_unit, memory
      datapath #LX_READ %lx to %l0lu : memory, exec_unit
      datapath #ROWS %l0lu to %pt : exec_unit, exec_unit
      datapath #LX_READ %lx to %xrflu : memory, exec_unit
      datapath #WEIGHTS %xrflu to %pt : exec_unit, exec_unit
      datapath #SUMS %l1lu to %pt : exec_unit, exec_unit
      datapath #SUMS %pt to %sfu : exec_unit, exec_unit
    }

    group {kind = "corelet"} share(%lx) {
      %sfu = group {kind = "SFU_Block"} share() {
        %reg = memory #SFU_REG
        %u = exec_unit #SFU
        yield %u
      } -> exec_unit
      %pt = group {kind = "PT_Block"} share() {
        %xrf = memory #PT_XRF
        %u = exec_unit #PT
        yield %u
      } -> exec_unit
      %l1lu = exec_unit #L1LU
      %l1su = exec_unit #L1SU
      %l0lu = exec_unit #L0LU
      %xrflu = exec_unit #XRFLU
      datapath #LX_READ %lx to %l1lu : memory, exec_unit
      datapath #STREAM %l1lu to %sfu : exec_unit, exec_unit
      datapath #STREAM %sfu to %l1su : exec_unit, exec_unit
      datapath #LX_WRITE %l1su to %lx : exec_unit, memory
      datapath #LX_READ %lx to %l0lu : memory, exec_unit
      datapath #ROWS %l0lu to %pt : exec_unit, exec_unit
      datapath #LX_READ %lx to %xrflu : memory, exec_unit
      datapath #WEIGHTS %xrflu to %pt : exec_unit, exec_unit
      datapath #SUMS %l1lu to %pt : exec_unit, exec_unit
      datapath #SUMS %pt to %sfu : exec_unit, exec_unit
    }
  }
}
