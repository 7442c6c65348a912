// One core of the IBM Spyre card: the same memories, units and links as spyre.mlir, without rings and their units.
//
// headrace.source says where a constant comes from; `headrace devices spyre` prints it:
//   [T] torch-spyre docs, [W] its work_division.py, [C] its cost_model.py, [F] notes of a public fork with device
//   experiments, [K] ktir-cpu latency model, [S] public sample device, [R] Triton-fork design note,
//   [=] follows from others, [fit] fitted to published figures, (a) assumed by us.

// ---- memories ----------------------------------------------------------------------------------------------------
#DDR = {
  kind = #ktdp.memory_space<global>,
  size = 120259084288,
  headrace.peak_gbps = 204.8 : f64,
  headrace.sustained_gbps = 150.0 : f64,
  headrace.turnaround_ns_per_byte = 0.00574 : f64,
  headrace.read_bytes_per_cycle = 256,
  headrace.write_bytes_per_cycle = 256,
  headrace.latency_ns = 124.0 : f64,
  headrace.access_bytes = 64,
  headrace.align_bytes = 128,
  headrace.span_bytes = 268431360,
  headrace.multicast = {max_consumers = 32, sync_cycles = 32},
  headrace.source = {
    size = "[T] 7 segments x 16 GiB usable of 128 GB",
    peak_gbps = "[T] LPDDR5",
    sustained_gbps = "[C] one direction, fitted on the card",
    turnaround_ns_per_byte = "[C] a balanced copy runs at 105 GB/s",
    read_bytes_per_cycle = "[F] HMI 2 x 128 B ports, full duplex, all cores together",
    write_bytes_per_cycle = "[F] HMI 2 x 128 B ports, full duplex, all cores together",
    latency_ns = "[fit] 80 ns DRAM [R] + fabric; with 4 x 512 B in flight = 11 B/cycle for one core",
    access_bytes = "[S]",
    align_bytes = "[T] stick",
    span_bytes = "[W] 65535 x 4096",
    multicast = "[F] synchronised by the HMI; cycles (a)"
  }
}
#LX = {
  kind = #ktdp.memory_space<ct_local>,
  size = 2097152,
  headrace.read_bytes_per_cycle = 384,
  headrace.write_bytes_per_cycle = 384,
  headrace.align_bytes = 128,
  headrace.source = {
    size = "[T] 2 MiB per core",
    read_bytes_per_cycle = "(a) one 128 B port per corelet, one for DMA and ring",
    write_bytes_per_cycle = "(a) one 128 B port per corelet, one for DMA and ring",
    align_bytes = "[T]"
  }
}
#SFU_REG = {kind = "SFU_REG", size = 2048, headrace.source = {size = "[S]; LRF small [F]"}}
#PT_XRF = {kind = "PT_XRF", size = 65536, headrace.source = {size = "[F] 64 PEs x 64 entries x 16 B"}}

// ---- units, one per core -----------------------------------------------------------------------------------------
#MNILU = {
  kind = "MNILU", dataflow_scheduler.double_buffer_last,
  ktdf_arch.features = {
    ktdf_arch.feature.load = {
      word_size = #ktdf_arch.map<#ktdp.memory_space<global> = 64, #ktdp.memory_space<ct_local> = 64>,
      access_granularity = #ktdf_arch.map<#ktdp.memory_space<global> = [{size_in_words = 1}], #ktdp.memory_space<ct_local> = [{size_in_words = 1}]>},
    headrace.feature.indirect = {index_types = [i32, i64]}                          // gather; the index tile is in LX
  },
  headrace.setup_cycles = 64,
  headrace.outstanding = 4, headrace.request_bytes = 512,
  headrace.source = {
    word_size = "[S]",
    setup_cycles = "(a)",
    outstanding = "[F] unicast requests per core",
    request_bytes = "[fit]"
  }
}
#MNISU = {
  kind = "MNISU", dataflow_scheduler.double_buffer_last,
  ktdf_arch.features = {
    ktdf_arch.feature.store = {
      word_size = #ktdf_arch.map<#ktdp.memory_space<global> = 64, #ktdp.memory_space<ct_local> = 64>,
      access_granularity = #ktdf_arch.map<#ktdp.memory_space<global> = [{size_in_words = 1}], #ktdp.memory_space<ct_local> = [{size_in_words = 1}]>},
    headrace.feature.indirect = {index_types = [i32, i64]}                          // scatter
  },
  headrace.setup_cycles = 64,
  headrace.outstanding = 4, headrace.request_bytes = 512,
  headrace.source = {word_size = "[S]", setup_cycles = "(a)", outstanding = "[F]", request_bytes = "[fit]"}
}

// ---- units, one per corelet --------------------------------------------------------------------------------------
#L1LU = {                                               // LX -> SFU operands, LX -> PT partial sums
  kind = "L1LU",
  ktdf_arch.features = {
    ktdf_arch.feature.load = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [
      {size_in_words = 128, align_in_words = 128}, {size_in_words = 64, align_in_words = 64}, {size_in_words = 4, align_in_words = 4},
      {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>},
    ktdf_arch.feature.simd = {splat, zero_pad}
  },
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 1,
  headrace.source = {splat = "[S]", setup_cycles = "(a)", strided_accesses_per_cycle = "(a) column reads: one small access a cycle"}
}
#L1SU = {                                               // SFU results -> LX
  kind = "L1SU",
  ktdf_arch.features = {
    ktdf_arch.feature.store = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [
      {size_in_words = 128, align_in_words = 128}, {size_in_words = 64, align_in_words = 64}, {size_in_words = 4, align_in_words = 4},
      {size_in_words = 2, align_in_words = 2}, {size_in_words = 1}]>}
  },
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 1,
  headrace.source = {setup_cycles = "(a)", strided_accesses_per_cycle = "(a)"}
}
#L0LU = {                                               // LX -> PT activations, through the L0 (the queue of its link)
  kind = "L0LU",
  ktdf_arch.features = {ktdf_arch.feature.load = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [{size_in_words = 16, align_in_words = 16}]>}},
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 1,
  headrace.source = {setup_cycles = "(a)", strided_accesses_per_cycle = "(a)"}
}
#XRFLU = {                                              // LX -> PT weights
  kind = "XRFLU",
  ktdf_arch.features = {ktdf_arch.feature.load = {access_granularity = #ktdf_arch.map<#ktdp.memory_space<ct_local> = [{size_in_words = 16, align_in_words = 16}, {size_in_words = 2, align_in_words = 2}]>}},
  headrace.setup_cycles = 4,
  headrace.strided_accesses_per_cycle = 1,
  headrace.source = {setup_cycles = "(a)", strided_accesses_per_cycle = "(a) one small access a cycle, as the readers of the vector unit"}
}
#PT = {                                                 // 8 x 8 PEs x 8-way SIMD, weights stationary
  kind = "PT",
  ktdf_arch.features = {ktdf_arch.feature.compute, headrace.feature.matrix = {
    macs = #ktdf_arch.map<f16 = 512, bf16 = 512, f8E4M3FN = 1024, i8 = 1024, f32 = 128>,
    accumulate = #ktdf_arch.map<f16 = f32, bf16 = f32, f8E4M3FN = f32, i8 = i32, f32 = f32>,
    rows = 8, columns = 64,
    resident_bytes = 32768,
    accumulator_bytes = 0,
    swap_cycles = 16,
    latency_cycles = 48}},
  headrace.source = {
    macs = "f16 [F]; bf16, 8 bit and f32 (a)",
    rows = "[F] k per pass", columns = "[F] n per pass",
    resident_bytes = "(a) half of the XRF computes, half is filled",
    accumulator_bytes = "[F] partial sums leave south every pass",
    swap_cycles = "(a)",
    latency_cycles = "[=] 8 rows x 4-cycle MAC + drain"
  }
}
#SFU = {                                                // 1 x 8 units x 8-way SIMD
  kind = "SFU",
  ktdf_arch.features = {
    ktdf_arch.feature.compute,
    ktdf_arch.feature.simd = {lanes = #ktdf_arch.map<f16 = 64, bf16 = 64, f32 = 32, f8E4M3FN = 64, i8 = 64, i16 = 64, i32 = 32, i64 = 16, index = 16, i1 = 64>},
    headrace.feature.functions = {
      function = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "reciprocal", "rsqrt", "sqrt", "cbrt", "tanh", "sigmoid", "softplus"],
      special = ["sin", "cos", "tan", "erf", "pow", "atan", "atan2", "asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "gelu"]}
  },
  headrace.wide_internal,
  headrace.op_cycles = {move = 1, arith = 1, compare = 1, select = 1, convert = 1, shuffle = 1, integer = 1, divide = 4, function = 4, special = 8, lane_reduce = 2},
  headrace.op_latency = {move = 2, arith = 4, compare = 4, select = 4, convert = 4, shuffle = 4, integer = 4, divide = 16, function = 16, special = 32, lane_reduce = 24},
  headrace.source = {
    lanes = "f16 [S]; others 128 B [=]; 8 bit (a)",
    functions = "(a)",
    wide_internal = "(a) f32 inside a step that narrower types feed and drain runs at their lane rate",
    op_cycles = "issues per 128 B vector: arith [S], function [K], the rest (a)",
    op_latency = "(a)"
  }
}

// ---- links -------------------------------------------------------------------------------------------------------
#DDR_IN = {ktdf_arch.bandwidth = 128, ktdf_arch.transfer_granularity = array<i64: 64>, headrace.latency_cycles = 8,
  headrace.source = {bandwidth = "[T,F] LX <-> ring", latency_cycles = "(a)"}}
#DDR_OUT = {ktdf_arch.bandwidth = 128, ktdf_arch.transfer_granularity = array<i64: 64>, headrace.latency_cycles = 8,
  headrace.source = {bandwidth = "[T,F] LX <-> ring", latency_cycles = "(a)"}}
#LX_READ = {ktdf_arch.bandwidth = 128, headrace.port = "read", headrace.latency_cycles = 8, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 16, ordered}},
  headrace.source = {bandwidth = "[=] 64 f16 a cycle", queue_depth = "[S]", latency_cycles = "(a)"}}
#LX_WRITE = {ktdf_arch.bandwidth = 128, headrace.port = "write", headrace.latency_cycles = 8, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 16, ordered}},
  headrace.source = {bandwidth = "[=] 64 f16 a cycle", queue_depth = "[S]", latency_cycles = "(a)"}}
#STREAM = {ktdf_arch.bandwidth = 128, ktdf_arch.transfer_granularity = array<i64: 128, 64, 4, 2, 1>, headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 16, size = 2048, ordered}},
  headrace.source = {bandwidth = "[=] 64 f16 a cycle", queue_depth = "[S]", latency_cycles = "(a)"}}
#L0_FIFO = {ktdf_arch.bandwidth = 16, headrace.latency_cycles = 4, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 8192, ordered}},
  headrace.source = {bandwidth = "[=] 8 values of k a cycle", queue_bytes = "[F] L0 = 8 x 1 KB", latency_cycles = "(a)"}}
#XRF_FILL = {ktdf_arch.bandwidth = 16, headrace.latency_cycles = 4, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 32768, ordered}},
  headrace.source = {bandwidth = "[F] a 128 B row in 8 cycles", queue_bytes = "(a) the other half of the XRF", latency_cycles = "(a)"}}
#PSUM_IN = {ktdf_arch.bandwidth = 128, headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 16, size = 2048, ordered}},
  headrace.source = {bandwidth = "(a)", latency_cycles = "(a)"}}
#PT_OUT = {ktdf_arch.bandwidth = 128, headrace.latency_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 16, size = 2048, ordered}},
  headrace.source = {bandwidth = "(a)", latency_cycles = "(a)"}}

ktdf_arch.device @"spyre-1core" attributes {
  version = 1,
  headrace.clock_mhz = 1500,
  headrace.signal_cycles = 16,
  headrace.launch_cycles = 1500,
  headrace.source = {
    clock_mhz = "[W,=] 98.304 TFLOPS / (32 x 2 x 512 x 2); the fork assumes about 1000 [F]",
    signal_cycles = "(a)",
    launch_cycles = "(a) 1 us on the device; the host path (about 3 ms [F]) is not modelled"
  }
} {
  %ddr = memory @ddr #DDR

  group {kind = "core"} share(%ddr) {
    %lx = memory @lx #LX
    %mnilu = exec_unit #MNILU
    %mnisu = exec_unit #MNISU
    datapath #DDR_IN %ddr to %mnilu : memory, exec_unit
    datapath #LX_WRITE %mnilu to %lx : exec_unit, memory
    datapath #LX_READ %lx to %mnisu : memory, exec_unit
    datapath #DDR_OUT %mnisu to %ddr : exec_unit, memory

    group {kind = "corelet"} share(%lx) {                    // 2 corelets [T]
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
      datapath #L0_FIFO %l0lu to %pt : exec_unit, exec_unit
      datapath #LX_READ %lx to %xrflu : memory, exec_unit
      datapath #XRF_FILL %xrflu to %pt : exec_unit, exec_unit
      datapath #PSUM_IN %l1lu to %pt : exec_unit, exec_unit
      datapath #PT_OUT %pt to %sfu : exec_unit, exec_unit
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
      datapath #L0_FIFO %l0lu to %pt : exec_unit, exec_unit
      datapath #LX_READ %lx to %xrflu : memory, exec_unit
      datapath #XRF_FILL %xrflu to %pt : exec_unit, exec_unit
      datapath #PSUM_IN %l1lu to %pt : exec_unit, exec_unit
      datapath #PT_OUT %pt to %sfu : exec_unit, exec_unit
    }
  }
}
