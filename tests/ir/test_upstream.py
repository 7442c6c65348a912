"""Upstream ops as mlir-opt writes them: each line parses, verifies, and comes back from both printed forms."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from headrace.ir.text import parse, print_module
from headrace.ir.verify import verify

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
%r = linalg.fill ins(%f : f32) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>
linalg.fill ins(%f : f32) outs(%m : memref<4x8xf32>)
%r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
%r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%b, %b : tensor<8x16xf32>, tensor<8x16xf32>) outs(%c16 : tensor<16x16xf32>) -> tensor<16x16xf32>
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


def _module(line):
    head = ", ".join(f"%{name}: {kind}" for name, kind in ARGUMENTS.items())
    return parse(f"func.func @f({head}) {{\n{line}\nreturn\n}}\nfunc.func private @g(index) -> index")


@pytest.mark.parametrize("line", LINES)
def test_an_upstream_op_is_read_verified_and_printed(line):
    module = _module(line)
    assert [str(d) for d in verify(module)] == []
    for generic in (False, True):
        text = print_module(module, generic)
        assert module.is_structurally_equivalent(parse(text))
        assert print_module(parse(text), generic) == text


def _op(line, name):
    return next(op for op in _module(line).walk() if op.name == name)


def test_the_payload_of_a_short_reduce_is_op_of_init_and_element():
    line = "%r = linalg.reduce { arith.subf } ins(%a : tensor<4x8xf32>) outs(%v : tensor<4xf32>) dimensions = [1]"
    reduce = _op(line, "linalg.reduce")
    element, init = reduce.region.block.args
    assert list(reduce.region.block.first_op.operands) == [init, element]


def test_a_reduce_whose_payload_is_not_in_that_order_prints_its_body():
    line = (
        "%r = linalg.reduce ins(%a : tensor<4x8xf32>) outs(%v : tensor<4xf32>) dimensions = [1] "
        "(%x: f32, %y: f32) { %z = arith.subf %x, %y : f32 linalg.yield %z : f32 }"
    )
    assert "(%x: f32, %y: f32) {" in print_module(_module(line))


def test_a_narrow_matmul_widens_its_operands():
    line = (
        "%r = linalg.matmul ins(%h, %hb : tensor<4x8xf16>, tensor<8x16xf16>) outs(%c : tensor<4x16xf32>) "
        "-> tensor<4x16xf32>"
    )
    text = f"func.func @f(%h: tensor<4x8xf16>, %hb: tensor<8x16xf16>, %c: tensor<4x16xf32>) {{\n{line}\nreturn\n}}"
    module = parse(text)
    assert verify(module) == []
    matmul = next(op for op in module.walk() if op.name == "linalg.matmul")
    assert [op.name for op in matmul.body.block.ops] == [
        "arith.extf",
        "arith.extf",
        "arith.mulf",
        "arith.addf",
        "linalg.yield",
    ]


def test_our_ops_are_instances_of_the_classes_of_xdsl():
    from xdsl.dialects import arith, scf
    from xdsl.dialects.linalg import ops as linalg

    reduce = "%r = linalg.reduce { arith.addf } ins(%a : tensor<4x8xf32>) outs(%v : tensor<4xf32>) dimensions = [1]"
    assert isinstance(_op(reduce, "linalg.reduce"), linalg.ReduceOp)
    loop = "scf.for %x = %i to %j step %i { }"
    assert isinstance(_op(loop, "scf.for"), scf.ForOp)
    cast = "%r = arith.sitofp %n : i32 to f32"
    assert isinstance(_op(cast, "arith.sitofp"), arith.SIToFPOp)


def test_linalg_on_tensors_has_no_effects_and_on_memrefs_reads_and_writes():
    from xdsl.traits import MemoryEffectKind, has_effects, is_side_effect_free

    pure = _op(
        "%r = linalg.abs ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>) -> tensor<4x8xf32>",
        "linalg.abs",
    )
    assert is_side_effect_free(pure)
    writes = _op(
        "linalg.add ins(%m, %m : memref<4x8xf32>, memref<4x8xf32>) outs(%m : memref<4x8xf32>)", "linalg.add"
    )
    assert has_effects(writes, MemoryEffectKind.WRITE) and has_effects(writes, MemoryEffectKind.READ)
