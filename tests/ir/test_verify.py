"""Well-formedness: all findings at once, each with its place, its op and what is wrong."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from headrace.ir.dominance import undominated
from headrace.ir.text import load_file, location, parse
from headrace.ir.verify import verify
from tests.ir.texts import TEXTS

HEAD = """func.func @f(%i: index, %j: index, %b: i1, %x: f32, %t: tensor<4x8xf32>, %v: tensor<4xf32>, %m: memref<8x8xf16>,
  %n: memref<64xf16>, %y: vector<8xf16>, %tok: !ktdf.token, %s: !ktdf.fifo.slot<"A" -> "B", 8xf16>, %w: tensor<4xf16>) {
"""
BOX = "affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>"
ID = "affine_map<(d0) -> (d0)>"
ID2 = "affine_map<(d0, d1) -> (d0, d1)>"
BOX2 = "affine_set<(d0, d1) : (d0 == 0, d1 >= 0, -d1 + 7 >= 0)>"
MEMORY = "memory_space = #ktdp.memory_space<global>"
TILE2 = f"access_tile_order = {ID2}, access_tile_set = {BOX2}"

# (line of a function, the op that is wrong, what is said)
WRONG = [
    # ktdp
    ("%a = ktdp.load %q : <4xindex> -> tensor<5xf16>", "ktdp.load", "access tile shape must match"),
    (f"%a = ktdp.construct_memory_view %i, sizes: [4], strides: [1, 1] {{coordinate_set = {BOX}, {MEMORY}}} : memref<4xf16>",
     "ktdp.construct_memory_view", "must have equal length"),
    (f"%a = ktdp.construct_memory_view %i, sizes: [4], strides: [1] {{coordinate_set = {BOX}, {MEMORY}}} : memref<4x4xf16>",
     "ktdp.construct_memory_view", "rank does not match"),
    (f"%a = ktdp.construct_access_tile %m[%i] {{{TILE2}}} : memref<8x8xf16> -> !ktdp.access_tile<1x8xindex>",
     "ktdp.construct_access_tile", "access_tile_set dimensions (2) must match base_map dims (1)"),
    (f"%a = ktdp.construct_access_tile %m[%i, 0] {{{TILE2}}} : memref<8x8xf16> -> !ktdp.access_tile<8xindex>",
     "ktdp.construct_access_tile", "result type rank (1) must match access_tile_set dimensions (2)"),
    (f"%a = ktdp.construct_access_tile %m[%i, 0] symbols(%j) {{{TILE2}}} : memref<8x8xf16> -> !ktdp.access_tile<1x8xindex>",
     "ktdp.construct_access_tile", "has 0 symbols but got 1 symbol operands"),
    (f"%a = ktdp.construct_indirect_access_tile intermediate_variables(%p, %q) %m[(%p)] {{variables_space_order = {ID2}, variables_space_set = {BOX2}}} : memref<8x8xf16> -> !ktdp.access_tile<1x8xindex>",
     "ktdp.construct_indirect_access_tile", "number of subscripts (1) must match base rank (2)"),
    ("%a = ktdp.construct_distributed_memory_view(%m, %n : memref<8x8xf16>, memref<64xf16>) : memref<8x8xf16>",
     "ktdp.construct_distributed_memory_view", "same rank as the result"),
    # ktdf
    ("%a = ktdf.read_from_fifo %s : <\"A\" -> \"B\", 8xf16> -> tensor<9xf16>", "ktdf.read_from_fifo", "(9) must match FIFO slot size (8)"),
    ("%a = ktdf.read_from_fifo %s : <\"A\" -> \"B\", 8xf16> -> tensor<8xf32>", "ktdf.read_from_fifo", "same element type"),
    ("ktdf.data_transfer from %m[%i] size [1, 8] to %s : memref<8x8xf16>, !ktdf.fifo.slot<\"A\" -> \"B\", 8xf16>", "ktdf.data_transfer", "2 results (the rank)"),
    ("ktdf.data_transfer from %m[%i, 0] to %s : memref<8x8xf16>, !ktdf.fifo.slot<\"A\" -> \"B\", 8xf16>", "ktdf.data_transfer", "source sizes must be given"),
    ("ktdf.data_transfer from %n[%i] size [8] to %s[0] : memref<64xf16>, !ktdf.fifo.slot<\"A\" -> \"B\", 8xf16>", "ktdf.data_transfer", "dest_map must be absent"),
    ("ktdf.pipeline { %c = arith.constant 1 : index }", "ktdf.pipeline", "immediate children must be"),
    ("ktdf.pipeline { ktdf.stage depends_in(none) depends_out(%tok) { } }", "ktdf.stage", "must come from ktdf.create_token"),
    ("ktdf.pipeline { ktdf.private { } ktdf.private { } }", "ktdf.pipeline", "at most one"),
    ("ktdf.parallel (%p, %q, %r) = (%i) to (%j) step (%i) distribute(num_instances = 2) { ktdf.parallel_yield }", "ktdf.parallel", "1 dimensions need 2 names"),
    ("%a = ktdf.buffer_phase(%i) {num_phases = 1 : i64} : index", "ktdf.buffer_phase", "at least 2"),
    # dataflow, agen, vectorchain, uniform, symbol
    ("%a = dataflow.get_logical_memory_view %i, %j {layout_map = affine_map<(d0) -> (d0)>} : index, index, memref<4x4xf16>",
     "dataflow.get_logical_memory_view", "layout_map has 1 dims, but the view has rank 2"),
    ('%a = dataflow.get_unit {name = "x"} : index', "dataflow.get_unit", "'type'"),
    (f"%a = agen.vector_load %m[%i] {{load_order = {ID}, load_set = {BOX}}} : memref<8x8xf16>, vector<8xf16>", "agen.vector_load", "has 1 subscripts, but the memref has rank 2"),
    (f"agen.composite_store %n[0] time_symbols() {{store_order = {ID}, store_set = {BOX}, time_addr_map = {ID}, time_order = {ID}, time_set = {BOX}}} {{ agen.yield }} : memref<64xf16>",
     "agen.composite_store", "must yield the vector to be stored"),
    (f"agen.composite_load %n[0] time_symbols()(%q:vector<8xf16>) {{load_order = {ID2}, load_set = {BOX}, time_addr_map = {ID}, time_order = {ID}, time_set = {BOX}}} {{ agen.yield }} : memref<64xf16>",
     "agen.composite_load", "load_set has 1 dims, but load_order has 2"),
    ("agen.composite_memory_interleave {granularity = 1 : i32} { %c = arith.constant 1 : index }", "agen.composite_memory_interleave", "composite ops only"),
    ("%a = vectorchain.cast %y : vector<8xf16>, vector<4xf32>", "vectorchain.cast", "8 elements, but the result has 4"),
    ("%a = vectorchain.constant_bitstream {value = [0x3c00]} : vector<2xf16>", "vectorchain.constant_bitstream", "1 patterns for 2 lanes"),
    ("%a = vectorchain.constant_bitstream {value = [0x1ffff]} : vector<1xf16>", "vectorchain.constant_bitstream", "does not fit 16 bits"),
    ("%a = vectorchain.shuffle input(%y) {indices = [9 : i32], repetition = 8 : i32} : vector<8xf16>, vector<8xf16>", "vectorchain.shuffle", "out of bounds"),
    ("%a = vectorchain.shuffle input(%y) {indices = [0 : i32], repetition = 4 : i32} : vector<8xf16>, vector<8xf16>", "vectorchain.shuffle", "does not scale"),
    ("%a = uniform.def_immutable_mapping([%i -> %j], [%i -> %j]):index", "uniform.def_immutable_mapping", "stands twice"),
    ("symbol.create_id %i {symbol_id = -1 : i64} : index", "symbol.create_id", "must have type si64"),
    # upstream
    ("%a = linalg.matmul ins(%t, %t : tensor<4x8xf32>, tensor<4x8xf32>) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>", "linalg.matmul", "dimension"),
    ("%a = linalg.reduce { arith.addf } ins(%t : tensor<4x8xf32>) outs(%v : tensor<4xf32>) dimensions = [0]", "linalg.reduce", "leaves (8,)"),
    ("%a = linalg.broadcast ins(%v : tensor<4xf32>) outs(%t : tensor<4x8xf32>) dimensions = [0]", "linalg.broadcast", "input dimension 0"),
    ("%a = linalg.transpose ins(%t : tensor<4x8xf32>) outs(%t : tensor<4x8xf32>) permutation = [1, 0]", "linalg.transpose", "doesn't match"),
    ("%a = arith.sitofp %x : f32 to f16", "arith.sitofp", "cannot convert f32 to f16"),
    ("%a = arith.extsi %b : i1 to i1", "arith.extsi", "cannot convert"),
    ("%a = arith.select %w, %t, %t : tensor<4xf16>, tensor<4x8xf32>", "arith.select", "condition must be i1"),
    ("%a = tensor.generate { ^bb0(%p: index): tensor.yield %x : f32 } : tensor<4x8xf32>", "tensor.generate", "2 arguments of type index"),
]  # fmt: skip


@pytest.mark.parametrize("line, op, message", WRONG, ids=[f"{c[1]}: {c[2][:40]}" for c in WRONG])
def test_a_rule_that_is_broken_is_named_with_its_op_and_line(line, op, message):
    if "%q : <4xindex>" in line:
        line = line.replace("%q", "%ac")
        head = HEAD.replace("%i: index", "%ac: !ktdp.access_tile<4xindex>, %i: index")
    else:
        head = HEAD
    found = verify(parse(head + line + "\n  return\n}", "k.mlir"))
    assert [(d.op, d.where.file, d.where.line) for d in found] == [(op, "k.mlir", 3)]
    assert message in found[0].message


GROUPS = "affine_set<(g) : (g >= 0, -g + 1 >= 0)>"


@pytest.mark.parametrize("width, is_disjoint", [(4, True), (5, False)])
def test_a_tile_may_not_produce_for_two_groups(width, is_disjoint):
    tiles = f"affine_set<(t)[g] : (t - 4 * g >= 0, 4 * g + {width - 1} - t >= 0)>"
    text = f"""func.func @f(%x: tensor<4xf32>) {{
  %p = ktdp.inter_tile_produce producer_tiles_per_group = {tiles} -> <(tensor<4xf32>), groups = {GROUPS}> {{
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<4xf32>
  }}
  return
}}"""
    found = verify(parse(text))
    assert [d.message for d in found if "disjoint" in d.message] == (
        [] if is_disjoint else ["producer_tiles_per_group for groups 0 and 1 are not disjoint"]
    )


DEVICE = [
    ("%m = memory {size = 4}", "ktdf_arch.memory", "requires valid memory space"),
    ('%m = memory {kind = "A", size = 0}', "ktdf_arch.memory", "at least 1 byte"),
    ('%m = memory {kind = "A", ktdf_arch.bandwidth = 4}', "ktdf_arch.memory", "only valid on links"),
    ('%m = memory {kind = "A", ktdf_arch.speed = 4}', "ktdf_arch.memory", "unrecognized 'ktdf_arch' intrinsic"),
    ("%u = exec_unit {ktdf_arch.features = {ktdf_arch.feature.fly}}", "ktdf_arch.exec_unit", "known are: compute, load"),
    ("%u = exec_unit {ktdf_arch.maps_to = 1}", "ktdf_arch.exec_unit", "only valid on mappable ops"),
    ("%s:2 = switch [2] {connectivity = dense<true> : tensor<3x3xi1>}", "ktdf_arch.switch", "tensor<2x2xi1>"),
    ('%u = exec_unit @a\n  %v = exec_unit @a', "ktdf_arch.device", 'resource with id "a" redefined'),
    ("%u = exec_unit\n  datapath %u to %u : exec_unit, exec_unit", "ktdf_arch.datapath", "can't link resource to itself"),
    ("group share() {\n    %u = exec_unit\n    yield %u\n  }", "ktdf_arch.group", "yields 1 units for 0 results"),
    ("%u = exec_unit\n  %c = arith.constant 1 : index", "ktdf_arch.device", "expects child ops to be resources"),
]  # fmt: skip


@pytest.mark.parametrize("line, op, message", DEVICE, ids=[f"{c[1]}: {c[2][:40]}" for c in DEVICE])
def test_a_device_that_breaks_a_rule_is_refused(line, op, message):
    found = verify(parse("ktdf_arch.device @d {\n  " + line + "\n}", "d.mlir"))
    assert [d.op for d in found] == [op]
    assert message in found[0].message


def test_a_resource_outside_a_device_is_refused():
    (found,) = verify(parse('func.func @f() {\n  %m = ktdf_arch.memory {kind = "A"}\n  return\n}'))
    assert "expects parent op to be 'ktdf_arch.device'" in found.message


def test_all_findings_come_at_once_in_the_order_of_the_text():
    text = """func.func @f(%y: vector<8xf16>) {
  %a = vectorchain.cast %y : vector<8xf16>, vector<4xf32>
  %b = vectorchain.cast %y : vector<8xf16>, vector<2xf32>
  return
}"""
    assert [d.where.line for d in verify(parse(text))] == [2, 3]


def test_a_value_used_before_its_definition_is_found():
    text = """func.func @f(%i: index) {
  %a = arith.addi %b, %i : index
  %b = arith.addi %i, %i : index
  return
}"""
    (found,) = verify(parse(text, "k.mlir"))
    assert (
        str(found)
        == "k.mlir:2:3: error: arith.addi: operand 0 (%b) is used where its definition does not reach"
    )


def test_a_value_of_a_region_is_not_visible_after_it():
    text = """func.func @f(%i: index, %c: i1) {
  scf.if %c {
    %a = arith.addi %i, %i : index
  }
  "test.none"() : () -> ()
  return
}"""
    module = parse(text.replace('  "test.none"() : () -> ()\n', "  %b = arith.addi %i, %i : index\n"))
    inner = next(op for op in module.walk() if op.name == "arith.addi")
    outer = [op for op in module.walk() if op.name == "arith.addi"][1]
    outer.operands[0] = inner.results[0]
    (found,) = verify(module)
    assert found.op == "arith.addi" and "%a" in found.message


def test_a_definition_must_dominate_across_blocks():
    text = """func.func @f(%c: i1, %i: index) -> index {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %a = arith.addi %i, %i : index
  cf.br ^bb2
^bb2:
  %b = arith.addi %a, %i : index
  return %b : index
}"""
    ((found, operand),) = undominated(parse(text, "k.mlir"))
    assert (location(found).line, found.name, operand) == (7, "arith.addi", 0)


@pytest.mark.parametrize("path", sorted((TEXTS / "roundtrip").glob("*.dfir.mlir")), ids=lambda p: p.name)
def test_an_op_moved_above_its_operands_is_always_found(path):
    module = load_file(path)
    blocks = [op.body.block for op in module.walk() if op.name == "func.func" and op.body.blocks]
    programs = [op for block in blocks for op in block.ops if op.name == "dataflow.program_unit"]
    last = programs[-1]
    block = last.parent
    last.detach()
    block.insert_op_before(last, block.first_op)
    assert any("does not reach" in d.message for d in verify(module))
