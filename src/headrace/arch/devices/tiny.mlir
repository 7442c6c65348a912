// A device made to be too small: 2 cores x 1 corelet, 64 KiB scratchpads, queues of two granules, a matrix unit of
// 8 x 16, a vector unit of 32 f16 lanes. Every figure is ours (a); its use is to make tails, small tiles, full queues and
// capacity errors ordinary.

#DDR = {
  kind = #ktdp.memory_space<global>, size = 268435456,
  headrace.sustained_gbps = 16.0 : f64,
  headrace.turnaround_ns_per_byte = 0.0625 : f64,
  headrace.latency_ns = 40.0 : f64,
  headrace.access_bytes = 32,
  headrace.multicast = {max_consumers = 2, sync_cycles = 4}
}
#LX = {kind = #ktdp.memory_space<ct_local>, size = 65536, headrace.read_bytes_per_cycle = 64, headrace.write_bytes_per_cycle = 64}
#SFU_REG = {kind = "SFU_REG", size = 1024}

#MNILU = {
  kind = "MNILU", headrace.setup_cycles = 8, headrace.outstanding = 2, headrace.request_bytes = 128,
  ktdf_arch.features = {ktdf_arch.feature.load = {}, headrace.feature.indirect = {index_types = [i32, i64]}}
}
#MNISU = {
  kind = "MNISU", headrace.setup_cycles = 8, headrace.outstanding = 2, headrace.request_bytes = 128,
  ktdf_arch.features = {ktdf_arch.feature.store = {}, headrace.feature.indirect = {index_types = [i32, i64]}}
}
#L1LU = {kind = "L1LU", headrace.setup_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.load = {}, ktdf_arch.feature.simd = {splat, zero_pad}}}
#L1SU = {kind = "L1SU", headrace.setup_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.store = {}}}
#L0LU = {kind = "L0LU", headrace.setup_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.load = {}}}
#XRFLU = {kind = "XRFLU", headrace.setup_cycles = 2, ktdf_arch.features = {ktdf_arch.feature.load = {}}}
#PT = {
  kind = "PT",
  ktdf_arch.features = {ktdf_arch.feature.compute, headrace.feature.matrix = {
    macs = #ktdf_arch.map<f16 = 32, bf16 = 32, i8 = 64, f32 = 8>,
    accumulate = #ktdf_arch.map<f16 = f32, bf16 = f32, i8 = i32, f32 = f32>,
    rows = 8, columns = 16, resident_bytes = 4096, swap_cycles = 4, latency_cycles = 12}}
}
#SFU = {
  kind = "SFU",
  ktdf_arch.features = {
    ktdf_arch.feature.compute,
    ktdf_arch.feature.simd = {lanes = #ktdf_arch.map<f16 = 32, bf16 = 32, f32 = 16, f8E4M3FN = 32, i8 = 32, i16 = 32, i32 = 16, i64 = 8, index = 8, i1 = 32>},
    headrace.feature.functions = {
      function = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "reciprocal", "rsqrt", "sqrt", "cbrt", "tanh", "sigmoid", "softplus"],
      special = ["sin", "cos", "tan", "erf", "pow", "atan", "atan2", "asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "gelu"]}
  },
  headrace.op_cycles = {divide = 4, function = 4, special = 8, lane_reduce = 5},
  headrace.op_latency = {arith = 2, divide = 8, function = 8, special = 16, lane_reduce = 10}
}

#DMA = {ktdf_arch.bandwidth = 32, headrace.latency_cycles = 2}
#LX_READ = {ktdf_arch.bandwidth = 32, headrace.port = "read", headrace.latency_cycles = 2}
#LX_WRITE = {ktdf_arch.bandwidth = 32, headrace.port = "write", headrace.latency_cycles = 2}
#STREAM = {ktdf_arch.bandwidth = 64, ktdf_arch.features = {ktdf_arch.feature.queue = {depth = 2, ordered}}}
#L0_FIFO = {ktdf_arch.bandwidth = 16, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 512, ordered}}}
#XRF_FILL = {ktdf_arch.bandwidth = 16, ktdf_arch.features = {ktdf_arch.feature.queue = {size = 4096, ordered}}}

ktdf_arch.device @tiny attributes {version = 1, headrace.clock_mhz = 1000, headrace.signal_cycles = 4, headrace.launch_cycles = 100} {
  %ddr = memory @ddr #DDR

  group {kind = "core", headrace.count = 2} share(%ddr) {
    %lx = memory @lx #LX
    %mnilu = exec_unit #MNILU
    %mnisu = exec_unit #MNISU
    datapath #DMA %ddr to %mnilu : memory, exec_unit
    datapath #LX_WRITE %mnilu to %lx : exec_unit, memory
    datapath #LX_READ %lx to %mnisu : memory, exec_unit
    datapath #DMA %mnisu to %ddr : exec_unit, memory

    group {kind = "corelet"} share(%lx) {
      %sfu = group {kind = "SFU_Block"} share() {
        %reg = memory #SFU_REG
        %u = exec_unit #SFU
        yield %u
      } -> exec_unit
      %pt = exec_unit #PT
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
      datapath #STREAM %l1lu to %pt : exec_unit, exec_unit
      datapath #STREAM %pt to %sfu : exec_unit, exec_unit
    }
  }
}
