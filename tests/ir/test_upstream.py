"""Upstream ops as mlir-opt writes them: each line parses, verifies, and comes back from both printed forms."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from headrace.ir.text import parse, print_module
from headrace.ir.verify import verify
from tests.ir.op_lines import LINES, module


@pytest.mark.parametrize("line", LINES)
def test_an_upstream_op_is_read_verified_and_printed(line):
    found = module(line)
    assert [str(d) for d in verify(found)] == []
    for generic in (False, True):
        text = print_module(found, generic)
        assert found.is_structurally_equivalent(parse(text))
        assert print_module(parse(text), generic) == text


def _op(line, name):
    return next(op for op in module(line).walk() if op.name == name)


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
    assert "(%x: f32, %y: f32) {" in print_module(module(line))


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
