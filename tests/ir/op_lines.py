"""A line of every op of the tables, as mlir-opt writes it, and one that is wrong with what is said about it."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

from headrace.ir.text import parse

ARGUMENTS = {
    "a": "tensor<4x8xf32>",
    "b": "tensor<8x16xf32>",
    "c": "tensor<4x16xf32>",
    "h": "tensor<4x8xf16>",
    "v": "tensor<4xf32>",
    "m": "memref<4x8xf32>",
    "m2": "memref<32xf32>",
    "i": "index",
    "j": "index",
    "f": "f32",
    "g": "f32",
    "k": "i1",
    "t": "tensor<4x8xi1>",
    "n": "i32",
    "ti": "tensor<4x8xi32>",
    "vec": "vector<8xf32>",
    "vec2": "vector<4x8xf32>",
    "d": "tensor<?x8xf32>",
    "b3": "tensor<2x4x8xf32>",
    "c3": "tensor<2x8x16xf32>",
    "o3": "tensor<2x4x16xf32>",
    "vi": "tensor<4xi32>",
    "c16": "tensor<16x16xf32>",
    "at": "tensor<8x4xf32>",
    "one": "tensor<1xf32>",
    "zero": "tensor<f32>",
    "vi2": "tensor<1xi32>",
    "ix": "tensor<3x1xindex>",
    "vec4": "vector<4xf32>",
    "v8": "tensor<8xf32>",
    "c4": "tensor<4x4xf32>",
    "w4": "tensor<2x4xf32>",
    "w8": "tensor<2x8xf32>",
    "p3": "tensor<2x16x16xf32>",
    "q3": "tensor<2x4x4xf32>",
    "i4": "tensor<1x2x6x6xf32>",
    "j4": "tensor<1x6x6x2xf32>",
    "k4": "tensor<3x2x3x3xf32>",
    "l4": "tensor<3x3x2x3xf32>",
    "m4": "tensor<3x3x3x2xf32>",
    "y4": "tensor<1x3x4x4xf32>",
    "z4": "tensor<1x4x4x3xf32>",
    "p4": "tensor<1x2x4x4xf32>",
    "e8": "tensor<8x8xf32>",
    "w33": "tensor<3x3xf32>",
}
LINES = r"""
%r = linalg.div ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.add {x = 1} ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.add ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
linalg.add ins(%m, %m : memref<4x8xf32>, memref<4x8xf32>) outs(%m : memref<4x8xf32>)
%r = linalg.negf ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.abs ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.tanh ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.rsqrt ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.powf ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.select ins(%t, %a, %a : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.copy ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
%r = linalg.add ins(%ix, %ix : tensor<3x1xindex>, tensor<3x1xindex>) outs(%ix : tensor<3x1xindex>) -> tensor<3x1xindex>
%r = linalg.fill ins(%f : f32) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
linalg.fill ins(%f : f32) outs(%m : memref<4x8xf32>)
%r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
%r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%b, %b : tensor<8x16xf32>, tensor<8x16xf32>) outs(%c16 : tensor<16x16xf32>) -> tensor<16x16xf32>
%r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n, m)>] ins(%at, %a : tensor<8x4xf32>, tensor<4x8xf32>) outs(%e8 : tensor<8x8xf32>) -> tensor<8x8xf32>
%r = linalg.batch_matmul ins(%b3, %c3 : tensor<2x4x8xf32>, tensor<2x8x16xf32>) outs(%o3 : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
%r = linalg.reduce { arith.addf } ins(%a : tensor<4x8xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
%r = linalg.reduce { arith.addf {overflow = 1} } ins(%a : tensor<4x8xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
%r = linalg.reduce ins(%a : tensor<4x8xf32>) outs(%v : tensor<4xf32>) dimensions = [1] (%x: f32, %y: f32) { %z = arith.addf %x, %y : f32 linalg.yield %z : f32 }
%r:2 = linalg.reduce ins(%a, %ti : tensor<4x8xf32>, tensor<4x8xi32>) outs(%v, %vi : tensor<4xf32>, tensor<4xi32>) dimensions = [1] (%x: f32, %xi: i32, %y: f32, %yi: i32) { %z = arith.cmpf ogt, %x, %y : f32 %w = arith.select %z, %x, %y : f32 %wi = arith.select %z, %xi, %yi : i32 linalg.yield %w, %wi : f32, i32 }
%r = linalg.broadcast ins(%v : tensor<4xf32>) outs(%a : tensor<4x8xf32>) dimensions = [1]
%r = linalg.broadcast ins(%v : tensor<4xf32>) outs(%a : tensor<4x8xf32>) dimensions = [1] {foo}
%r = linalg.transpose ins(%a : tensor<4x8xf32>) outs(%at : tensor<8x4xf32>) permutation = [1, 0]
%r = linalg.map { arith.addf } ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>)
%r = linalg.map ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) (%x: f32) { %z = math.exp %x : f32 linalg.yield %z : f32 }
%r = linalg.map ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) (%x: f32, %o: f32) { %z = math.exp %x : f32 linalg.yield %z : f32 }
%r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xf32>) outs(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) { ^bb0(%x: f32, %y: f32, %z: f32): linalg.yield %x, %x : f32, f32 } -> (tensor<4x8xf32>, tensor<4x8xf32>)
%r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) attrs = {headrace.x = 1} { ^bb0(%x: f32, %y: f32): %q = linalg.index 0 : index linalg.yield %x : f32 } -> tensor<4x8xf32>
%r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%a : tensor<4x8xf32>) { ^bb0(%y: f32): linalg.yield %y : f32 } -> (tensor<4x8xf32>)
%r = scf.for %x = %i to %j step %i iter_args(%acc = %f) -> f32 { scf.yield %acc : f32 }
%r = scf.for %x = %i to %j step %i iter_args(%acc = %f) -> (f32) { scf.yield %acc : f32 }
%r:2 = scf.for %x = %i to %j step %i iter_args(%acc = %f, %acc2 = %v) -> (f32, tensor<4xf32>) { scf.yield %acc, %acc2 : f32, tensor<4xf32> }
scf.for %x = %n to %n step %n : i32 { }
scf.for unsigned %x = %n to %n step %n : i32 { }
%r = scf.for unsigned %x = %i to %j step %i iter_args(%acc = %f) -> (f32) { scf.yield %acc : f32 }
scf.forall (%x, %y) in (4, %i) { }
scf.forall (%x) = (%i) to (8) step (2) { %z = arith.addi %x, %x : index } {mapping = [#gpu.thread<x>]}
%r = scf.forall (%x) in (8) shared_outs(%q = %at) -> (tensor<8x4xf32>) { scf.forall.in_parallel { tensor.parallel_insert_slice %v into %q[%x, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32> } }
scf.for %x = %i to %j step %i { } {headrace.phase = "a"}
%r = scf.if %k -> f32 { scf.yield %f : f32 } else { scf.yield %g : f32 }
%r = scf.if %k -> (f32) { scf.yield %f : f32 } else { scf.yield %g : f32 }
scf.if %k { } {x = 1}
scf.if %k { } else { }
%r = scf.while (%x = %f) : (f32) -> f32 { scf.condition(%k) %x : f32 } do { ^bb0(%y: f32): scf.yield %y : f32 }
%r = scf.execute_region -> f32 { scf.yield %f : f32 }
%r = arith.select %k, %f, %g : f32
%r = arith.select %t, %a, %a : tensor<4x8xi1>, tensor<4x8xf32>
%r = arith.remf %f, %g : f32
%r = arith.truncf %f : f32 to f16
%r = arith.truncf %f to_nearest_even : f32 to f16
%r = arith.index_castui %i : index to i32
%r = arith.index_cast %i : index to i32
%r = arith.addf %f, %g fastmath<contract> : f32
%r = arith.addf %a, %a : tensor<4x8xf32>
%r = arith.cmpf oge, %a, %a : tensor<4x8xf32>
%r = arith.cmpi slt, %ti, %ti : tensor<4x8xi32>
%r = arith.negf %a : tensor<4x8xf32>
%r = arith.extf %h : tensor<4x8xf16> to tensor<4x8xf32>
%r = arith.sitofp %ti : tensor<4x8xi32> to tensor<4x8xf32>
%r = arith.fptosi %a : tensor<4x8xf32> to tensor<4x8xi32>
%r = arith.fptoui %a : tensor<4x8xf32> to tensor<4x8xi32>
%r = arith.uitofp %ti : tensor<4x8xi32> to tensor<4x8xf32>
%r = arith.extui %t : tensor<4x8xi1> to tensor<4x8xi32>
%r = arith.extsi %t : tensor<4x8xi1> to tensor<4x8xi32>
%r = arith.trunci %ti : tensor<4x8xi32> to tensor<4x8xi1>
%r = arith.bitcast %a : tensor<4x8xf32> to tensor<4x8xi32>
%r = arith.maxnumf %f, %g : f32
%r = arith.minnumf %f, %g : f32
%r = arith.maximumf %f, %g : f32
%r = arith.floordivsi %i, %j : index
%r = arith.ceildivsi %i, %j : index
%r = arith.ceildivui %i, %j : index
%r = arith.constant dense<0xFF800000> : vector<4xf32>
%r = arith.constant dense<0x7C00> : tensor<4xf16>
%r = arith.constant 0xFF800000 : f32
%r = arith.constant 0x7FC00000 : f32
%r = arith.constant true
%r = arith.constant dense<true> : tensor<4xi1>
%r = arith.constant dense<[1.0, 2.5]> : tensor<2xbf16>
%r = arith.constant 0.1 : f16
%r = arith.constant 1.0e-5 : f32
%r = arith.constant -1 : i32
%r = arith.constant 1.0 : f8E4M3FN
%r = math.clampf %f to [%f, %g] : f32
%r = math.isnan %f : f32
%r = math.isinf %f : f32
%r = math.isfinite %f : f32
%r = math.isnormal %f : f32
%r = math.erfc %f : f32
%r:2 = math.sincos %f : f32
%r = math.erf %a : tensor<4x8xf32>
%r = math.absi %n : i32
%r = math.absf %f : f32
%r = math.powf %f, %g : f32
%r = math.fpowi %f, %n : f32, i32
%r = math.fma %f, %g, %f : f32
%r = math.atan2 %f, %g : f32
%r = math.exp2 %f : f32
%r = math.roundeven %f : f32
%r = memref.alloc() : memref<4x8xf32, #ktdp.memory_space<ct_local>>
%r = memref.alloc(%i) : memref<?x8xf32>
%r = memref.alloc() {alignment = 128 : i64} : memref<4x8xf32>
memref.dealloc %m : memref<4x8xf32>
%r = memref.expand_shape %m2 [[0, 1]] output_shape [4, 8] : memref<32xf32> into memref<4x8xf32>
%r = memref.collapse_shape %m [[0, 1]] : memref<4x8xf32> into memref<32xf32>
memref.copy %m, %m : memref<4x8xf32> to memref<4x8xf32>
%r = memref.cast %m : memref<4x8xf32> to memref<?x8xf32>
%r = memref.memory_space_cast %m : memref<4x8xf32> to memref<4x8xf32, "L1">
%r = memref.reinterpret_cast %m to offset: [0], sizes: [4, 4], strides: [8, 1] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
%r = memref.reinterpret_cast %m to offset: [%i], sizes: [4, %j], strides: [8, 1] : memref<4x8xf32> to memref<4x?xf32, strided<[8, 1], offset: ?>>
%r = memref.subview %m[0, 0] [2, 4] [1, 1] : memref<4x8xf32> to memref<2x4xf32, strided<[8, 1]>>
%r = memref.subview %m[%i, 0] [2, 4] [1, 1] : memref<4x8xf32> to memref<2x4xf32, strided<[8, 1], offset: ?>>
%r = memref.load %m[%i, %j] : memref<4x8xf32>
memref.store %f, %m[%i, %j] : memref<4x8xf32>
%r = memref.dim %m, %i : memref<4x8xf32>
%r = memref.rank %m : memref<4x8xf32>
%r = tensor.empty() : tensor<4x8xf32>
%r = tensor.empty(%i) : tensor<?x8xf32>
%r = tensor.splat %f : tensor<4x8xf32>
%r = tensor.splat %f[%i] : tensor<?x8xf32>
%r = tensor.generate %i { ^bb0(%x: index, %y: index): tensor.yield %f : f32 } : tensor<?x8xf32>
%r = tensor.generate { ^bb0(%x: index, %y: index): tensor.yield %f : f32 } : tensor<4x8xf32>
%r = tensor.pad %a low[0, 1] high[0, %i] { ^bb0(%x: index, %y: index): tensor.yield %f : f32 } : tensor<4x8xf32> to tensor<4x?xf32>
%r = tensor.pad %a nofold low[0, 0] high[0, 8] { ^bb0(%x: index, %y: index): tensor.yield %f : f32 } : tensor<4x8xf32> to tensor<4x16xf32>
%r = tensor.extract_slice %a[0, 2] [4, 4] [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
%r = tensor.extract_slice %a[%i, 2] [1, %j] [1, 1] : tensor<4x8xf32> to tensor<1x?xf32>
%r = tensor.extract_slice %a[0, 2] [1, 4] [1, 1] : tensor<4x8xf32> to tensor<4xf32>
%r = tensor.insert_slice %v into %at[2, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32>
%r = tensor.insert_slice %a into %d[%i, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<?x8xf32>
%r = tensor.expand_shape %v [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
%r = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
%r = tensor.collapse_shape %one [] : tensor<1xf32> into tensor<f32>
%r = tensor.expand_shape %zero [] output_shape [1] : tensor<f32> into tensor<1xf32>
%r = tensor.extract %a[%i, %j] : tensor<4x8xf32>
%r = tensor.extract %zero[] : tensor<f32>
%r = tensor.insert %f into %a[%i, %j] : tensor<4x8xf32>
%r = tensor.from_elements %f, %g : tensor<2xf32>
%r = tensor.cast %a : tensor<4x8xf32> to tensor<?x8xf32>
%r = tensor.dim %d, %i : tensor<?x8xf32>
%r = tensor.rank %d : tensor<?x8xf32>
%r = tensor.bitcast %a : tensor<4x8xf32> to tensor<4x8xi32>
%r = tensor.concat dim(0) %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
%r = tensor.reshape %a(%vi2) : (tensor<4x8xf32>, tensor<1xi32>) -> tensor<32xf32>
%r = tensor.gather %a[%ix] gather_dims([0]) : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
%r = vector.extract %vec[0] : f32 from vector<8xf32>
%r = vector.extract %vec2[%i] : vector<8xf32> from vector<4x8xf32>
%r = vector.extract %vec2[1, 2] : f32 from vector<4x8xf32>
%r = vector.insert %f, %vec[0] : f32 into vector<8xf32>
%r = vector.broadcast %f : f32 to vector<8xf32>
%r = vector.shape_cast %vec2 : vector<4x8xf32> to vector<32xf32>
%r = vector.transpose %vec2, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
%r = vector.splat %f : vector<8xf32>
%r = vector.step : vector<8xindex>
%r = vector.extract_strided_slice %vec {offsets = [2], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
%r = vector.insert_strided_slice %vec4, %vec {offsets = [2], strides = [1]} : vector<4xf32> into vector<8xf32>
%r = vector.reduction <add>, %vec : vector<8xf32> into f32
%r = vector.multi_reduction <add>, %vec2, %vec4 [1] : vector<4x8xf32> to vector<4xf32>
%r = vector.shuffle %vec, %vec [0, 1] : vector<8xf32>, vector<8xf32>
%r = vector.bitcast %vec : vector<8xf32> to vector<8xi32>
%r = vector.load %m[%i, %j] : memref<4x8xf32>, vector<8xf32>
vector.store %vec, %m[%i, %j] : memref<4x8xf32>, vector<8xf32>
%r = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%i)
%r = affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0)>(%i)[%j]
%r = affine.min affine_map<(d0) -> (d0, 4)>(%i)
%r = affine.min affine_map<(d0)[s0] -> (d0, s0)>(%i)[%j]
%r = affine.max affine_map<(d0) -> (d0, 4)>(%i)
affine.for %x = 0 to 4 { }
%r = func.call @g(%i) : (index) -> index
%r:2 = arith.addui_extended %n, %n : i32, i1
%r = builtin.unrealized_conversion_cast %i : index to memref<4xf32>
""".strip().splitlines()


def _each(names: str, line: str) -> list[str]:
    return [line.replace("OP", name) for name in names.split()]


INTEGER = "addi subi muli divsi divui ceildivsi ceildivui floordivsi remsi remui andi ori xori shli shrsi shrui maxsi maxui minsi minui"
FLOAT = "addf subf mulf divf remf maximumf minimumf maxnumf minnumf"
FUNCTION = "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 round roundeven rsqrt sin sinh sqrt tan tanh trunc absf"
TEST = "isnan isinf isfinite isnormal"
COUNT = "absi ctlz ctpop cttz"
UNARY = "abs ceil erf exp floor log negf reciprocal round rsqrt sqrt square tanh copy"
BINARY = "add sub mul div max min powf"
SPYRE = "exp sqrt rsqrt reciprocal sigmoid silu gelu"
A = "tensor<4x8xf32>"
CONV = "%r = linalg.OP {{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}} ins({} : {}) outs({} : {}) -> {}"
LINES += [
    *_each(INTEGER, "%r = arith.OP %n, %n : i32"),
    *_each(INTEGER, "%r = arith.OP %ti, %ti : tensor<4x8xi32>"),
    *_each("addi subi muli", "%r = arith.OP %i, %j overflow<nsw, nuw> : index"),
    *_each("divsi divui shrsi shrui", "%r = arith.OP %n, %n exact : i32"),
    *_each("mulsi_extended mului_extended", "%r, %s = arith.OP %n, %n : i32"),
    *_each(FLOAT, "%r = arith.OP %f, %g : f32"),
    *_each(FLOAT, "%r = arith.OP %a, %a fastmath<nnan,ninf> : tensor<4x8xf32>"),
    "%r = arith.cmpf olt, %f, %g fastmath<fast> : f32",
    "%r = arith.cmpf une, %a, %a {note = 1 : i64} : tensor<4x8xf32>",
    "%r = arith.cmpi ult, %i, %j {note = 1 : i64} : index",
    "%r = arith.extf %h fastmath<contract> : tensor<4x8xf16> to tensor<4x8xf32>",
    "%r = arith.truncf %f to_nearest_even fastmath<contract> : f32 to f16",
    "%r = arith.trunci %n overflow<nsw> : i32 to i16",
    "%r = arith.extui %n nneg : i32 to i64",
    "%r = arith.uitofp %n nneg : i32 to f32",
    "%r = arith.index_castui %n nneg : i32 to index",
    *_each(FUNCTION, "%r = math.OP %f : f32"),
    *_each(FUNCTION, "%r = math.OP %a fastmath<fast> : tensor<4x8xf32>"),
    *_each(TEST, "%r = math.OP %a fastmath<nnan> : tensor<4x8xf32>"),
    *_each(COUNT, "%r = math.OP %ti : tensor<4x8xi32>"),
    "%r = math.copysign %f, %g : f32",
    "%r = math.ipowi %n, %n : i32",
    "%r = math.clampf %f to [%f, %g] fastmath<fast> : f32",
    "%r:2 = math.sincos %f fastmath<fast> : f32",
    *_each(UNARY, f"%r = linalg.OP ins(%a : {A}) outs(%a : {A}) -> {A}"),
    *_each(BINARY, f"%r = linalg.OP ins(%a, %a : {A}, {A}) outs(%a : {A}) -> {A}"),
    "%r = linalg.div_unsigned ins(%ti, %ti : tensor<4x8xi32>, tensor<4x8xi32>) outs(%ti : tensor<4x8xi32>) -> tensor<4x8xi32>",
    "%r = linalg.matmul_transpose_a ins(%b, %b : tensor<8x16xf32>, tensor<8x16xf32>) outs(%c16 : tensor<16x16xf32>) -> tensor<16x16xf32>",
    "%r = linalg.matmul_transpose_b ins(%c, %c : tensor<4x16xf32>, tensor<4x16xf32>) outs(%c4 : tensor<4x4xf32>) -> tensor<4x4xf32>",
    "%r = linalg.batch_matmul_transpose_a ins(%c3, %c3 : tensor<2x8x16xf32>, tensor<2x8x16xf32>) outs(%p3 : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>",
    "%r = linalg.batch_matmul_transpose_b ins(%b3, %b3 : tensor<2x4x8xf32>, tensor<2x4x8xf32>) outs(%q3 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>",
    "%r = linalg.batch_reduce_matmul ins(%b3, %c3 : tensor<2x4x8xf32>, tensor<2x8x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>",
    "%r = linalg.matvec ins(%a, %v8 : tensor<4x8xf32>, tensor<8xf32>) outs(%v : tensor<4xf32>) -> tensor<4xf32>",
    "%r = linalg.vecmat ins(%v, %a : tensor<4xf32>, tensor<4x8xf32>) outs(%v8 : tensor<8xf32>) -> tensor<8xf32>",
    "%r = linalg.batch_matvec ins(%b3, %w8 : tensor<2x4x8xf32>, tensor<2x8xf32>) outs(%w4 : tensor<2x4xf32>) -> tensor<2x4xf32>",
    "%r = linalg.batch_vecmat ins(%w4, %b3 : tensor<2x4xf32>, tensor<2x4x8xf32>) outs(%w8 : tensor<2x8xf32>) -> tensor<2x8xf32>",
    "%r = linalg.dot ins(%v, %v : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>",
    CONV.replace("OP", "conv_2d_nchw_fchw").format(
        "%i4, %k4",
        "tensor<1x2x6x6xf32>, tensor<3x2x3x3xf32>",
        "%y4",
        "tensor<1x3x4x4xf32>",
        "tensor<1x3x4x4xf32>",
    ),
    CONV.replace("OP", "conv_2d_nhwc_hwcf").format(
        "%j4, %l4",
        "tensor<1x6x6x2xf32>, tensor<3x3x2x3xf32>",
        "%z4",
        "tensor<1x4x4x3xf32>",
        "tensor<1x4x4x3xf32>",
    ),
    CONV.replace("OP", "conv_2d_nhwc_fhwc").format(
        "%j4, %m4",
        "tensor<1x6x6x2xf32>, tensor<3x3x3x2xf32>",
        "%z4",
        "tensor<1x4x4x3xf32>",
        "tensor<1x4x4x3xf32>",
    ),
    CONV.replace("OP", "pooling_nchw_max").format(
        "%i4, %w33",
        "tensor<1x2x6x6xf32>, tensor<3x3xf32>",
        "%p4",
        "tensor<1x2x4x4xf32>",
        "tensor<1x2x4x4xf32>",
    ),
    "scf.parallel (%x) = (%i) to (%j) step (%i) { }",
    "scf.parallel (%x, %y) = (%i, %i) to (%j, %j) step (%i, %i) { scf.reduce }",
    "%r = scf.parallel (%x) = (%i) to (%j) step (%i) init (%f) -> f32 { scf.reduce(%g : f32) { ^bb0(%p: f32, %q: f32): %s = arith.addf %p, %q : f32 scf.reduce.return %s : f32 } }",
    "%r = scf.index_switch %i -> f32 case 1 { scf.yield %f : f32 } default { scf.yield %g : f32 }",
    "%r = affine.load %m[%i, %j + 1] : memref<4x8xf32>",
    "affine.store %f, %m[%i, %j] : memref<4x8xf32>",
]


def module(line: str) -> Any:
    """A function of `line` alone, over ARGUMENTS."""
    head = ", ".join(f"%{name}: {kind}" for name, kind in ARGUMENTS.items())
    return parse(f"func.func @f({head}) {{\n{line}\nreturn\n}}\nfunc.func private @g(index) -> index")


WRONG: list[tuple[str, str]] = [
    *((line, "f32") for line in _each(INTEGER, "%r = arith.OP %f, %g : f32")),
    *((line, "i32") for line in _each(FLOAT, "%r = arith.OP %n, %n : i32")),
    *((line, "f32") for line in _each("mulsi_extended mului_extended", "%r, %s = arith.OP %f, %g : f32")),
    ("%r, %s = arith.addui_extended %f, %g : f32, i1", "f32"),
    ("%r = arith.negf %n : i32", "i32"),
    ("%r = arith.cmpf olt, %n, %n : i32", "i32"),
    ("%r = arith.cmpf eq, %f, %g : f32", "unknown comparison 'eq'"),
    ("%r = arith.cmpi eq, %f, %g : f32", "f32"),
    ("%r = arith.cmpi less, %n, %n : i32", "unknown comparison 'less'"),
    ("%r = arith.select %n, %f, %g : i32, f32", "condition must be i1 or a tensor of i1, but is i32"),
    ('%r = "arith.constant"() <{value = 1 : i32}> : () -> i64', "i64"),
    ("%r = arith.extf %f : f32 to f16", "cannot widen f32 to f16"),
    ("%r = arith.truncf %f to_nearest_even : f32 to f32", "cannot narrow f32 to f32"),
    ("%r = arith.truncf %f upward : f32 to f16", "no engine rounds upward"),
    ("%r = arith.extsi %n : i32 to i16", "cannot convert i32 to i16"),
    ("%r = arith.extui %n : i32 to i32", "cannot convert i32 to i32"),
    ("%r = arith.trunci %n : i32 to i64", "cannot convert i32 to i64"),
    ("%r = arith.sitofp %f : f32 to f16", "cannot convert f32 to f16"),
    ("%r = arith.uitofp %n : i32 to i32", "cannot convert i32 to i32"),
    ("%r = arith.fptosi %n : i32 to i32", "cannot convert i32 to i32"),
    ("%r = arith.fptoui %f : f32 to index", "cannot convert f32 to index"),
    ("%r = arith.index_cast %n : i32 to i64", "cannot convert i32 to i64"),
    ("%r = arith.index_castui %f : f32 to index", "cannot convert f32 to index"),
    ("%r = arith.bitcast %f : f32 to i64", "must have equal bitwidths"),
    *((line, "i32") for line in _each(FUNCTION, "%r = math.OP %n : i32")),
    *((line, "operand must be of floats, but is i32") for line in _each(TEST, "%r = math.OP %n : i32")),
    *((line, "f32") for line in _each(COUNT, "%r = math.OP %f : f32")),
    *((line, "i32") for line in _each("atan2 copysign powf", "%r = math.OP %n, %n : i32")),
    ("%r = math.ipowi %f, %g : f32", "f32"),
    ("%r = math.fpowi %n, %n : i32, i32", "i32"),
    ("%r = math.fma %n, %n, %n : i32", "i32"),
    ("%r = math.clampf %n to [%n, %n] : i32", "operands must be of floats"),
    ("%r:2 = math.sincos %n : i32", "operand must be of floats, but is i32"),
    *(
        (line, "shape")
        for line in _each(
            UNARY, f"%r = linalg.OP ins(%a : {A}) outs(%at : tensor<8x4xf32>) -> tensor<8x4xf32>"
        )
    ),
    *(
        (line, "shape")
        for line in _each(
            BINARY, f"%r = linalg.OP ins(%a, %a : {A}, {A}) outs(%at : tensor<8x4xf32>) -> tensor<8x4xf32>"
        )
    ),
    (
        "%r = linalg.div_unsigned ins(%ti, %vi : tensor<4x8xi32>, tensor<4xi32>) outs(%ti : tensor<4x8xi32>) -> tensor<4x8xi32>",
        "rank",
    ),
    (f"%r = linalg.select ins(%t, %a : tensor<4x8xi1>, {A}) outs(%a : {A}) -> {A}", "linalg.select"),
    (
        f"%r = linalg.fill ins(%n : i32) outs(%a : {A}) -> {A}",
        "fills tensor<4x8xf32> with a value of type i32",
    ),
    *(
        (f"%r = linalg.{name} ins(%a, %a : {A}, {A}) outs(%a : {A}) -> {A}", "expected operand #")
        for name in "batch_matmul batch_matmul_transpose_a batch_matmul_transpose_b batch_reduce_matmul matvec vecmat batch_matvec batch_vecmat dot".split()
    ),
    *(
        (
            f"%r = linalg.{name} ins(%a, %a : {A}, {A}) outs(%a : {A}) -> {A}",
            "inferred input/output operand #",
        )
        for name in "matmul matmul_transpose_a matmul_transpose_b".split()
    ),
    (
        f"%r = linalg.reduce {{ arith.addf }} ins(%a : {A}) outs(%v : tensor<4xf32>) dimensions = [0]",
        "leaves (8,), not tensor<4xf32>",
    ),
    (
        f"%r = linalg.map {{ arith.addf }} ins(%a, %at : {A}, tensor<8x4xf32>) outs(%a : {A})",
        "ins and outs must have one shape",
    ),
    (
        f"%r = linalg.broadcast ins(%v : tensor<4xf32>) outs(%a : {A}) dimensions = [0]",
        "input dimension 0 should match output dimension 1",
    ),
    (
        f"%r = linalg.transpose ins(%a : {A}) outs(%a : {A}) permutation = [1, 0]",
        "dim(result, 0) = 4 doesn't match",
    ),
    (
        f'%r = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}} outs(%a : {A}) {{ ^bb0(%x: f32): linalg.yield %x : f32 }} -> {A}',
        "rank 2",
    ),
    ("%r = linalg.index 0 : index", "linalg.index"),
    (
        "%r = linalg.contract indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>, "
        "affine_map<(m, k) -> (m, k)>] ins(%a, %v8 : tensor<4x8xf32>, tensor<8xf32>) "
        "outs(%v : tensor<4xf32>) -> tensor<4xf32>",
        "has 2 results for an operand of rank 1",
    ),
    (
        "%z = tensor.empty() : tensor<4x!spyreop.df16>\n%r = linalg.copy ins(%z : tensor<4x!spyreop.df16>) "
        "outs(%z : tensor<4x!spyreop.df16>) -> tensor<4x!spyreop.df16>",
        "computes with built-in numbers",
    ),
    ("%r = tensor.empty(%i) : tensor<4xf32>", "1 sizes for 0 dynamic dims"),
    ("%r = tensor.splat %n : tensor<4xf32>", "operand is used with type f32"),
    (
        "%r = tensor.generate { ^bb0(%x: index): tensor.yield %n : i32 } : tensor<4xf32>",
        "body must yield one value of the element type",
    ),
    (
        f"%r = tensor.pad %a low[0] high[0] {{ ^bb0(%x: index, %y: index): tensor.yield %f : f32 }} : {A} to {A}",
        "number of pad sizes (1)",
    ),
    (
        f"%r = tensor.extract_slice %a[0, 6] [4, 4] [1, 1] : {A} to tensor<4x4xf32>",
        "elements 6 to 9 of dim 1 are outside its extent 8",
    ),
    (
        f"%r = tensor.insert_slice %a into %at[0, 0] [4, 8] [1, 1] : {A} into tensor<8x4xf32>",
        "elements 0 to 7 of dim 1 are outside its extent 4",
    ),
    (
        "%r = tensor.expand_shape %v [[0, 1]] output_shape [2, 3] : tensor<4xf32> into tensor<2x3xf32>",
        "expected dimension 0 of collapsed type to be static value of 6",
    ),
    (
        "%r = tensor.expand_shape %d [[0, 1], [2]] : tensor<?x8xf32> into tensor<?x2x8xf32>",
        "a dynamic result needs output_shape",
    ),
    (f"%r = tensor.collapse_shape %a [[0, 1]] : {A} into tensor<31xf32>", "gives 32, not tensor<31xf32>"),
    (f"%r = tensor.extract %a[%i] : {A}", "1 indices for tensor<4x8xf32>"),
    (f"%r = tensor.insert %f into %a[%i] : {A}", "1 indices for tensor<4x8xf32>"),
    ("%r = tensor.from_elements %f, %g : tensor<3xf32>", "2 elements for tensor<3xf32>"),
    (
        f"%r = tensor.cast %a : {A} to tensor<?x9xf32>",
        "source and destination constant dimensions should match",
    ),
    *(
        (
            CONV.replace("OP", name).format(
                "%i4, %i4", "tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>", "%a", A, A
            ),
            "linalg.conv",
        )
        for name in "conv_2d_nchw_fchw conv_2d_nhwc_hwcf conv_2d_nhwc_fhwc".split()
    ),
    (
        CONV.replace("OP", "pooling_nchw_max").format("%i4, %a", f"tensor<1x2x6x6xf32>, {A}", "%a", A, A),
        "linalg.pooling",
    ),
    ('%r = "tensor.dim"(%f, %i) : (f32, index) -> index', "f32"),
    ('%r = "tensor.rank"(%f) : (f32) -> index', "f32"),
    (f"%r = tensor.bitcast %a : {A} to tensor<4x8xf16>", "must have elements of one width"),
    (
        f"%r = tensor.concat dim(0) %a, %at : ({A}, tensor<8x4xf32>) -> tensor<12x8xf32>",
        "size mismatch along non-concatenated dimension 1",
    ),
    (
        f"%r = tensor.reshape %a(%vi2) : ({A}, tensor<1xi32>) -> tensor<4x8x1xf32>",
        "length of shape operand differs",
    ),
    (
        f"%r = tensor.gather %a[%ix] gather_dims([3]) : ({A}, tensor<3x1xindex>) -> tensor<3x1x8xf32>",
        "ascending dimensions",
    ),
    (
        "%z = arith.constant 0 : index\n%r = scf.for %x = %i to %j step %z iter_args(%q = %f) -> (f32) { scf.yield %q : f32 }",
        "the step is 0",
    ),
    (
        "scf.forall (%x, %y) in (4) { }",
        "1 upper bounds for 2 counters",
    ),
    (
        "%r = scf.forall (%x) in (4) shared_outs(%q = %a) -> (tensor<4xf32>) { }",
        "operand is used with type tensor<4xf32>",
    ),
    (
        "%r = scf.forall (%x) in (4) shared_outs(%q = %at) -> (tensor<8x4xf32>) { scf.forall.in_parallel { "
        "tensor.parallel_insert_slice %v into %a[%x, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<4x8xf32> } }",
        "inserts into something else than the shared outs",
    ),
    (
        "%r = scf.forall (%x) in (4) shared_outs(%q = %at) -> (tensor<8x4xf32>) { scf.forall.in_parallel { "
        "tensor.parallel_insert_slice %v into %q[%x, 2] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32> } }",
        "outside",
    ),
    (
        "scf.forall (%x) in (4) { scf.forall.in_parallel { %z = arith.addi %x, %x : index } }",
        "holds tensor.parallel_insert_slice only",
    ),
    (
        "tensor.parallel_insert_slice %v into %at[2, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<8x4xf32>",
        "stands in the scf.forall.in_parallel",
    ),
    ("%r = scf.if %k -> f32 { scf.yield %f : f32 }", "yields values but has no else"),
    (
        "%r = scf.while (%x = %f) : (f32) -> f32 { scf.condition(%k) %n : i32 } do { ^bb0(%y: f32): scf.yield %y : f32 }",
        "scf.condition passes i32 where the loop has f32",
    ),
    ("%r = scf.parallel (%x) = (%i) to (%j) step (%i) init (%f) -> f32 { }", "reductions but 0 provided"),
    (
        "%r = scf.index_switch %i -> f32 case 1 { scf.yield %f : f32 } case 1 { scf.yield %f : f32 } default { scf.yield %g : f32 }",
        "duplicate case value",
    ),
    ("%r = scf.execute_region -> f32 { scf.yield %i : index }", "yields index where the region has f32"),
    (
        "%r = affine.apply affine_map<(d0) -> (d0)>(%i, %j)",
        "the map takes 1 dims and 0 symbols, but 2 and 0 are given",
    ),
    (
        "%r = affine.min affine_map<(d0) -> (d0)>(%i)[%j]",
        "the map takes 1 dims and 0 symbols, but 1 and 1 are given",
    ),
    (
        "%r = affine.max affine_map<(d0) -> (d0)>(%i)[%j]",
        "the map takes 1 dims and 0 symbols, but 1 and 1 are given",
    ),
    *((line, "is not defined for i32") for line in _each(SPYRE, "%r = spyreop.OP %n : i32")),
    ("%r = spyreop.gelu %f : f32", "is not defined for f32"),
    ("%r = spyreop.realdiv %n, %n : i32", "is not defined for i32"),
    (
        "%x = arith.truncf %f : f32 to f16\n%r = spyreop.softplus %x beta 0.0 threshold 20.0 : f16",
        "attribute 'beta' failed to satisfy constraint: 32-bit float attribute which is non-zero",
    ),
    *(
        (line, "operand is used with type i32")
        for line in _each("addi32toi32 muli32toi32", "%r = spyreop.OP %i, %j")
    ),
    ("%r = spyreop.addi64toi64 %n, %n", "operand is used with type i64"),
    ("%r = spyreop.idx32toaddr %f base 4 stride 4", "operand is used with type i32"),
    (
        '%r = "spyreop.idx32toaddr"(%n) <{base = 4 : i64}> : (i32) -> i64',
        "base and stride must both be given",
    ),
    *(
        (line, "is not defined for i32")
        for line in _each("exx2_fused layernormscale layernormscale_fused", "%r = spyreop.OP %n : i32")
    ),
    ("%r:2 = spyreop.exx2 %n : i32", "is not defined for i32"),
    ("%r = spyreop.layernormnorm %n squares %n scale %n weight %n bias %n : i32", "is not defined for i32"),
    ("%r = spyreop.constant 1 : i32", "expected a float constant"),
    (
        f"%r = spyreop.slice_reduction %a {{reduction_kind = #spyreop<reduction_kind max>, reduction_scope = #spyreop<reduction_scope in_slice>}} : {A} -> tensor<4x1xf16>",
        "cannot reduce tensor<4x8xf32> to tensor<4x1xf16>",
    ),
]
"""A wrong line of every op some engine runs, and a part of what is said about it."""
