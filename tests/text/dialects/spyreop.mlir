// CHECK-LABEL: func.func @intrinsics
func.func @intrinsics(%x: f16, %y: f16, %d: !spyreop.df16, %f: f32, %i: i32, %k: i64, %t: tensor<4x8xf16>) {
  // CHECK: spyreop.exp %x : f16
  %0 = spyreop.exp %x : f16
  // CHECK-NEXT: spyreop.sqrt %f : f32
  %1 = spyreop.sqrt %f : f32
  // CHECK-NEXT: spyreop.rsqrt %d : !spyreop.df16
  %2 = spyreop.rsqrt %d : !spyreop.df16
  // CHECK-NEXT: spyreop.reciprocal %x : f16
  %3 = spyreop.reciprocal %x : f16
  // CHECK-NEXT: spyreop.sigmoid %x : f16
  %4 = spyreop.sigmoid %x : f16
  // CHECK-NEXT: spyreop.silu %x : f16
  %5 = spyreop.silu %x : f16
  // CHECK-NEXT: spyreop.gelu %x {note = 1 : i64} : f16
  %6 = spyreop.gelu %x {note = 1} : f16
  // CHECK-NEXT: spyreop.realdiv %x, %y : f16
  %7 = spyreop.realdiv %x, %y : f16
  // CHECK-NEXT: spyreop.softplus %x beta 5.000000e-01 threshold 2.000000e+01 : f16
  %8 = spyreop.softplus %x beta 0.5 threshold 20.0 : f16
  // CHECK-NEXT: spyreop.addi32toi32 %i, %i
  %9 = spyreop.addi32toi32 %i, %i
  // CHECK-NEXT: spyreop.addi64toi64 %k, %k
  %10 = spyreop.addi64toi64 %k, %k
  // CHECK-NEXT: spyreop.muli32toi32 %i, %i
  %11 = spyreop.muli32toi32 %i, %i
  // CHECK-NEXT: spyreop.idx32toaddr %i base 3735928559 stride 4
  %12 = spyreop.idx32toaddr %i base 0xDEADBEEF stride 4
  // CHECK-NEXT: spyreop.idx32toaddr %i base %k stride %k
  %13 = spyreop.idx32toaddr %i base %k stride %k
  // CHECK-NEXT: %{{.*}}:2 = spyreop.exx2 %x : f16
  %14:2 = spyreop.exx2 %x : f16
  // CHECK-NEXT: spyreop.exx2_fused %x : f16
  %15 = spyreop.exx2_fused %x : f16
  // CHECK-NEXT: spyreop.layernormscale %x squares %y : f16
  %16 = spyreop.layernormscale %x squares %y : f16
  // CHECK-NEXT: spyreop.layernormscale %x : f16
  %17 = spyreop.layernormscale %x : f16
  // CHECK-NEXT: spyreop.layernormscale_fused %{{.*}} : !spyreop.fp16_fused
  %18 = spyreop.layernormscale_fused %15 : !spyreop.fp16_fused
  // CHECK-NEXT: spyreop.layernormnorm %x squares %y scale %x weight %y bias %x : f16
  %19 = spyreop.layernormnorm %x squares %y scale %x weight %y bias %x : f16
  // CHECK-NEXT: spyreop.constant 5.000000e-01 : f16
  %20 = spyreop.constant 0.5 : f16
  // CHECK-NEXT: spyreop.slice_reduction %t {reduction_kind = #spyreop<reduction_kind max>, reduction_scope = #spyreop<reduction_scope in_slice>} : tensor<4x8xf16> -> tensor<4x1xf16>
  %21 = spyreop.slice_reduction %t {reduction_scope = #spyreop.reduction_scope<in_slice>, reduction_kind = #spyreop<reduction_kind max>} : tensor<4x8xf16> -> tensor<4x1xf16>
  return
}
