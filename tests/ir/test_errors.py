"""What is said about texts that cannot be read: one message, its place, a hint where there is a close word."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse

HEAD = """func.func @f(%i: index, %x: f32, %t: tensor<4xf32>, %m: memref<8x8xf16>, %h: tensor<8xf16>) {
"""
FIFO = '!ktdf.fifo.slot<"A" -> "B", 8xf16>'
TILE = "access_tile_order = affine_map<(d0) -> (d0)>, access_tile_set = affine_set<(d0) : (d0 >= 0)>"

# (second line of a function, column of the error in it, message, hint)
IN_A_FUNCTION = [
    ("%a = arith.adi %i, %i : index", 6, "unknown operation 'arith.adi'", "arith.addi"),
    ("ktdp.laod %i", 1, "unknown operation 'ktdp.laod'", "ktdp.load"),
    ("ktir.load %i", 1, "unknown operation 'ktir.load'", "called ktdp now"),
    ('"nobody.knows"(%i) : (index) -> ()', 1, "unknown operation 'nobody.knows'", ""),
    ("%a = arith.addi %j, %i : index", 17, "use of undefined value %j", ""),
    ("%a = math.exp %xx : f32", 15, "use of undefined value %xx", "%x"),
    ("%a = arith.addi %i, %i : i32", 17, "operand is used with type i32", ""),
    ("%a = arith.addi %i : index", 20, "expected ','", ""),
    ("%a:2 = arith.addi %i, %i : index", 1, "'arith.addi' has 1 results, but 2 names are given", ""),
    ("%i = arith.addi %i, %i : index", 1, "SSA value %i is already defined", ""),
    ("%a = arith.constant 1.0 : fp16", 27, "type expected", "write f16"),
    ("%a = arith.constant dense<[1.0, 2.0]> : tensor<3xf32>", 26, "shape mismatch", ""),
    ("%a = arith.constant dense<0x1FFFF> : tensor<3xf16>", 27, "bit pattern 0x1FFFF does not fit f16", ""),
    ("%a = affine.apply affine_map<(d0) -> (d0 * d0)>(%i)", 42, "one side of a multiplication", ""),
    ("%a = affine.apply affine_map<(d0) -> (d0 floordiv 0)>(%i)", 42, "has to be positive, but is 0", ""),
    ("%a = affine.apply affine_map<(d0) -> (d1)>(%i)", 39, "unknown name d1", ""),
    ("%a = affine.apply affine_map<(d0, d0) -> (d0)>(%i)", 35, "name d0 stands twice", ""),
    ("%a = affine.apply affine_map<(d0, d1) -> (d0)>(%i)", 19, "the map takes 2 dims and 0 symbols", ""),
    ("%a = affine.apply affine_map<(d0) -> (d0 < 4)>(%i)", 42, "expected", ""),
    ("%a = ktdp.load %i : index -> tensor<4xf32>", 21, "expected a type !ktdp.access_tile", ""),
    (
        "%a = ktdp.construct_access_tile %m[0, 0] : memref<8x8xf16> -> !ktdp.access_tile<1xindex>",
        1,
        "tile set",
        "",
    ),
    (
        f"%a = ktdp.construct_access_tile %m[%q] {{{TILE}}} : memref<8x8xf16> -> !ktdp.access_tile<1xindex>",
        36,
        "undefined value %q",
        "",
    ),
    ("%a = memref.alloc() : memref<4xf16, #ktdp.memory_space<locl>>", 56, "unknown word 'locl'", "ct_local"),
    (
        "%a = memref.alloc() : memref<4xf16, #ktdp.memry_space<global>>",
        37,
        "unknown attribute #ktdp.memry_space",
        "ktdp.memory_space",
    ),
    ("%a = ktdf.fifo.allocate() -> !ktdf.fifo.slot<A -> B, 8xf16>", 46, "attribute expected", ""),
    ("%a = ktdf.fifo.allocate() -> !ktdf.fifo.slt", 30, "unknown type !ktdf.fifo.slt", "ktdf.fifo.slot"),
    ("ktdf.stage depends_in(none) {", 29, "expected 'depends_out'", ""),
    (
        "%a = linalg.reduce { arith.adf } ins(%t : tensor<4xf32>) outs(%t : tensor<4xf32>) dimensions = [0]",
        22,
        "unknown operation 'arith.adf'",
        "arith.addf",
    ),
    (
        "%a = linalg.generic {iterator_types = []} outs(%t : tensor<4xf32>) { } -> tensor<4xf32>",
        21,
        "needs indexing_maps",
        "",
    ),
    (
        '%a = linalg.generic {indexing_maps = [], iterator_types = ["sideways"]} outs(%t : tensor<4xf32>) { }',
        21,
        "unknown iterator type",
        "",
    ),
    (
        "%a = vectorchain.binary %h, %h {} : tensor<8xf16>",
        37,
        "expected 3 types (operands, result), but got 1",
        "",
    ),
    (
        "%a = dataflow.get_logical_memory_view %i, %i {} : index, memref<4xf16>",
        51,
        "expected the types index, index, memref",
        "",
    ),
    ("dataflow.sync_send %i : f32", 25, "a unit handle has type index", ""),
    ("uniform.def_immutable_mapping([%i, %i]):index", 34, "expected '->'", ""),
    ("scf.for %k = %i to %x step %i { }", 20, "operand is used with type index", ""),
    ('%s = arith.constant "open', 21, "string without closing quote", ""),
    ("%a = spyreop.exp %x : f16", 18, "operand is used with type f16", ""),
    (f"ktdf.write_to_fifo %h, %q : tensor<8xf16>, {FIFO}", 24, "undefined value %q", ""),
    ("scf.if %i { }", 8, "operand is used with type i1", ""),
]


@pytest.mark.parametrize("line, column, message, hint", IN_A_FUNCTION, ids=[c[0][:60] for c in IN_A_FUNCTION])
def test_a_wrong_line_is_reported_where_it_is_wrong(line, column, message, hint):
    with pytest.raises(HeadraceError) as caught:
        parse(HEAD + line + "\n  return\n}", "k.mlir")
    (found,) = caught.value.diagnostics
    assert message.lower() in found.message.lower()
    assert (found.where.file, found.where.line, found.where.col) == ("k.mlir", 2, column)
    assert hint in found.hint and bool(hint) <= bool(found.hint)


OTHERS = [
    ("func.func @f() {\n  return", "2:9", "expected an operation or '}', but found end of text"),
    ("func.func @f() {\n  return )\n}", "2:10", "expected an operation or '}', but found ')'"),
    ("func.func @f() attributes {x = #nope} {\n  return\n}", "1:32", "undefined symbol alias '#nope'"),
    ("#a = affine_map<(d0) -> (d0)>\n#a = affine_map<(d0) -> (d0)>", "2:1", "re-declaration of alias '#a'"),
    ("func.func private @f(!dataflow.custom<mxfp9>)", "1:39", "unknown word 'mxfp9'"),
    (
        "func.func @f() attributes {x = #vectorchain<binary_operatr add>} {}",
        "1:45",
        "unknown attribute #vectorchain.binary_operatr",
    ),
    (
        "func.func @f() attributes {x = #vectorchain<binary_operat",
        "1:45",
        "unknown attribute #vectorchain.binary_operat",
    ),
    ("ktdf_arch.device @d {\n  group share(%m) {\n  }\n}", "2:15", "use of undefined value %m"),
    ('ktdf_arch.device @d {\n  %m = memory @a {id = "b"}\n}', "2:18", "id is given twice"),
    ("ktdf_arch.device @d {\n  %m = memory #M\n}", "2:15", "undefined symbol alias '#M'"),
    (
        "func.func private @f() attributes {m = #ktdf_arch.map<1 = 2, 1 = 3>}",
        "1:62",
        "multiple entries for key",
    ),
    (
        "func.func private @f(!ktdp.runtime_arg<index, granularity=3, granularity=4>)",
        "1:73",
        "duplicate 'granularity'",
    ),
    ("func.func private @f(!ktdp.access_tile<4xf32>)", "1:22", "tile element type must be 'index'"),
    ("func.func private @f(!ktdp.runtime_arg<index, granularity=0>)", "1:22", "must be positive, but got: 0"),
    (
        "func.func private @f(!ktdp.tile_future<(tensor<4xf32>), groups = affine_set<(a, b) : (a >= 0)>>)",
        "1:22",
        "exactly one dimension",
    ),
    (
        "func.func private @f() attributes {s = #ktdp.spyre_memory_space<HBM, core = 1>}",
        "1:40",
        "core affinity is only valid",
    ),
    (
        "func.func private @f() attributes {s = #ktdp.memory_space<global, ct_id = 1>}",
        "1:40",
        "ct_id is only valid",
    ),
    (
        "func.func private @f() attributes {c = sparse<[[0, 5]], true> : tensor<2x2xi1>}",
        "1:1",
        "lies outside",
    ),
]


@pytest.mark.parametrize("text, place, message", OTHERS, ids=[c[0][:60] for c in OTHERS])
def test_a_wrong_text_is_reported_where_it_is_wrong(text, place, message):
    with pytest.raises(HeadraceError) as caught:
        parse(text, "k.mlir")
    (found,) = caught.value.diagnostics
    assert message in found.message
    assert str(found.where) == f"k.mlir:{place}"


@pytest.mark.parametrize("cut", range(0, 6000, 97))
def test_no_prefix_of_a_program_escapes_as_another_exception(cut):
    from tests.ir.texts import TEXTS

    text = (TEXTS / "roundtrip" / "elementwise.ktdf.mlir").read_text()
    try:
        parse(text[:cut])
    except HeadraceError as error:
        assert len(error.diagnostics) == 1


def test_messages_start_in_lower_case_and_print_with_their_hint():
    with pytest.raises(HeadraceError) as caught:
        parse("func.func @f(%i: index) {\n  %a = arith.adi %i, %i : index\n}", "k.mlir")
    assert str(caught.value) == (
        "k.mlir:2:8: error: unknown operation 'arith.adi'\n  hint: did you mean arith.andi or arith.addi or arith.divf?"
    )


def test_deep_nesting_is_an_error_of_ours():
    depth = 3000
    text = "func.func private @f() attributes {a = " + "[" * depth + "]" * depth + "}"
    with pytest.raises(HeadraceError, match="nested too deeply"):
        parse(text)
