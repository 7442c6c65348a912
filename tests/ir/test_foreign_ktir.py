"""KTIR as other producers write it: read alike, printed in the current form; what cannot be read says what to write."""

# ruff: noqa: E501

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import FileLineColLoc, FusedLoc

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import location, parse, print_module
from headrace.ir.verify import verify

G = "memory_space = #ktdp.memory_space<global>"
SET = "affine_set<(d0, d1) : (d0 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 63 >= 0)>"
ID2 = "affine_map<(d0, d1) -> (d0, d1)>"
ONE = "affine_set<(a, b) : (a == 0, b == 0)>"
V = f"%v = ktdp.construct_memory_view %p, sizes: [8, 64], strides: [64, 1] {{coordinate_set = {SET}, {G}}} : memref<8x64xf16>"
I = f"%i = ktdp.construct_memory_view %q, sizes: [8], strides: [1] {{coordinate_set = affine_set<(a) : (a >= 0, 7 - a >= 0)>, {G}}} : memref<8xi32>"
T = f"%t = ktdp.construct_access_tile %v[0, 0] {{access_tile_order = {ID2}, access_tile_set = {SET}}} : memref<8x64xf16> -> !ktdp.access_tile<8x64xindex>"
X = "%x = arith.constant dense<0.0> : tensor<4xf32>"
FUTURE = "!ktdp.tile_future<(tensor<4xf32>), groups = affine_set<(g) : (g == 0)>>"
TILES = "affine_set<(t)[g] : (t - 4 * g >= 0, 4 * g + 3 - t >= 0)>"


def function(
    body: str, arguments: str = "%p: index, %q: index, %n: index", attributes: str = "attributes {grid = [4]}"
) -> str:
    return f"func.func @k({arguments}) {attributes} {{\n{body}\nreturn\n}}\n"


def space(text: str) -> str:
    return function(V.replace("#ktdp.memory_space<global>", text))


def tile(subscripts: str, points: str = ONE, shape: str = "1x1") -> str:
    return f"%t = ktdp.construct_access_tile %v[{subscripts}] {{access_tile_order = {ID2}, access_tile_set = {points}}} : memref<8x64xf16> -> !ktdp.access_tile<{shape}xindex>"


def gather(subscripts: str = "ind(%i[%a]), (%b)", declared: str = "", name: str = "%g") -> str:
    return f"{name} = ktdp.construct_indirect_access_tile intermediate_variables(%a, %b) {declared}%v[{subscripts}] {{variables_space_order = {ID2}, variables_space_set = {SET}}} : memref<8x64xf16>, memref<8xi32> -> !ktdp.access_tile<8x64xindex>"


def between(separator: str = "", given: str = "%x : tensor<4xf32>", future: str = FUTURE) -> str:
    return function(f"""{X}
%f = ktdp.inter_tile_produce producer_tiles_per_group = {TILES}{separator} -> {future} {{
^bb0(%g: index):
  ktdp.yield_partial {given}
}}
%r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = {TILES}, identity(%x : tensor<4xf32>) : {future} -> tensor<4xf32> {{
^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
  %s = arith.addf %a, %b : tensor<4xf32>
  ktdp.yield_reduced %s : tensor<4xf32>
}}""")


READ = {
    # the frame of a file
    "aliases below their use": function(V.replace(SET, "#s")) + f"#s = {SET}\n",
    "an alias of an alias": f"#t = {SET}\n#s = #t\n#g = #ktdp.memory_space<global>\n" + function(V.replace(SET, "#s").replace("#ktdp.memory_space<global>", "#g")),
    "a type alias": "!t = memref<8x64xf16>\n" + function(V.replace("memref<8x64xf16>", "!t")),
    "locations as mlir-opt ends a file with": '#loc = loc("k.py":1:1)\nmodule {\nfunc.func @k(%p: index loc("p"(#loc))) attributes {grid = [1]} {\n%c = arith.constant 1 : index loc(#loc3)\nreturn loc(#loc2)\n} loc(#loc1)\n} loc(#loc)\n#loc1 = loc("k.py":3:1)\n#loc2 = loc(unknown)\n#loc3 = loc(callsite("f"(#loc1) at #loc2))\n',
    "resources": function(V) + '{-#\n  dialect_resources: {\n    builtin: {\n      x: "0x0400000001"\n    }\n  }\n#-}\n',
    "a named module with attributes": 'module @m attributes {tt.x = 1 : i32, "my.y" = "z"} {\n' + function(V) + "}",
    "builtin.module": "builtin.module {\n" + function(V) + "}",
    "several functions without a module": function(V) + function(V).replace("@k", "@l"),
    "a generic module": '"builtin.module"() ({\n"func.func"() <{function_type = (index) -> (), sym_name = "k"}> ({\n^bb0(%arg0: index):\n"func.return"() : () -> ()\n}) {grid = [4 : i64]} : () -> ()\n}) : () -> ()',
    "a generic module with properties among the attributes": '"builtin.module"() ({\n"func.func"() ({\n^bb0(%arg0: index):\n"func.return"() : () -> ()\n}) {function_type = (index) -> (), sym_name = "k", grid = [4 : i64]} : () -> ()\n}) : () -> ()',
    "attributes of other dialects": function(V, "%p: index {tt.divisibility = 16 : i32}, %q: index, %n: index", "attributes {grid = [1], noinline = false, tt.y = dense<1> : tensor<2xi32>, u = #foo.bar<1, 2>, t = !foo.bar<x>}"),
    "visibility and a quoted name": function(V).replace("@k", '@"my kernel"').replace("func.func", "func.func public"),
    "the grid with types": function(V, attributes="attributes {grid = [4 : index, 2 : i32, 1 : i64]}"),
    "comments": "// RUN: x\n" + function(f"// {{ %z }}\n{V} // trailing }} größe\n//last"),
    "other line ends": function(V).replace("\n", "\r\n").replace(" = ", "\t=\t"),
    "one line": function(V).replace("\n", " "),
    "numbers as names": function(V.replace("%v", "%0")).replace("%p", "%arg0"),
    "a location in a block argument": function('%z = arith.constant 1.0 : f32\n%e = tensor.empty() : tensor<4xf32>\n%r = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {\n^bb0(%o: f32 loc("x":1:1)):\nlinalg.yield %z : f32\n} -> tensor<4xf32>'),
    # sets and subscripts
    "a set without blanks": function(V.replace(SET, "affine_set<(a,b):(a>=0,-a+7>=0,b>=0,-b+63>=0)>")),
    "a set with <= and sums": function(V.replace(SET, "affine_set<(a,b):(0<=a,a<=7,a*64+b>=0,b>=0,b-63<=0)>")),
    "expressions": function(f"{V}\n{tile('%n floordiv 2 + (%n mod 4) * 3, -%n + 8')}"),
    "literals": function(f"{V}\n{tile('0, 0')}"),
    "a symbol": function(f"{V}\n{tile('symbol(%n) + 1, 0')}"),
    "a result by number": function(f"%id:2 = ktdp.get_compute_tile_id : index, index\n{V}\n{tile('%id#0, %id#1')}", attributes="attributes {grid = [2, 2]}"),
    "an operand given twice": function(f'{V}\n%t = "ktdp.construct_access_tile"(%v, %n, %n) <{{access_tile_order = {ID2}, access_tile_set = {ONE}, base_map = {ID2}, operandSegmentSizes = array<i32: 1, 2, 0>}}> : (memref<8x64xf16>, index, index) -> !ktdp.access_tile<1x1xindex>'),
    "a tile of a tensor": function(f"%v = arith.constant dense<1.0> : tensor<8x64xf16>\n{T.replace('memref', 'tensor')}\n%x = ktdp.load %t : <8x64xindex> -> tensor<8x64xf16>"),
    # views
    "rank 0": function(f"%v = ktdp.construct_memory_view %p, sizes: [], strides: [] {{coordinate_set = affine_set<() : ()>, {G}}} : memref<f32>\n%t = ktdp.construct_access_tile %v[] {{access_tile_order = affine_map<() -> ()>, access_tile_set = affine_set<() : ()>}} : memref<f32> -> !ktdp.access_tile<index>\n%x = ktdp.load %t : <index> -> tensor<f32>"),
    "no element": function(f"%v = ktdp.construct_memory_view %p, sizes: [0], strides: [1] {{coordinate_set = affine_set<(a) : (a >= 0, -a - 1 >= 0)>, {G}}} : memref<0xf32>"),
    "the older arrow": function(V.replace(": memref", ": index -> memref")),
    "strides in the type": function(V.replace("memref<8x64xf16>", "memref<8x64xf16, strided<[64, 1]>>")),
    "the memory space in the type": function(V.replace("memref<8x64xf16>", "memref<8x64xf16, #ktdp.memory_space<global>>")),
    "dynamic sizes with symbols": function(f"%v = ktdp.construct_memory_view %p, sizes: [%n, %q], strides: [%q, 1] {{coordinate_set = affine_set<(r, c)[n, m] : (r >= 0, n - 1 - r >= 0, c >= 0, m - 1 - c >= 0)>, {G}}} : memref<?x?xf16>"),
    "an older memory space": space("#ktdp.spyre_memory_space<HBM>"),
    "an unspecified memory space": space("#ktdp.spyre_memory_space<unspecified>"),
    "the scratchpad of a core": space("#ktdp.spyre_memory_space<LX, core = 3>"),
    "the scratchpad of no core": space("#ktdp.spyre_memory_space<LX, core = -1>"),
    "the spelling with a space": space("#ktdp<memory_space <global>>"),
    # types
    "full types everywhere": function(f"{V}\n{T}\n%x = ktdp.load %t : !ktdp.access_tile<8x64xindex> -> tensor<8x64xf16>\nktdp.store %x, %t : tensor<8x64xf16>, !ktdp.access_tile<8x64xindex>"),
    "stripped types everywhere": function(f"{V}\n{T.replace('!ktdp.access_tile', '')}\n%x = ktdp.load %t : <8x64xindex> -> tensor<8x64xf16>\nktdp.store %x, %t : tensor<8x64xf16>, <8x64xindex>"),
    "attributes of load and store": function(f'{V}\n{T}\n%x = ktdp.load %t {{tts.tensor_layout = #tts.layout<a>, cache = "x"}} : <8x64xindex> -> tensor<8x64xf16>\nktdp.store %x, %t {{a}} : tensor<8x64xf16>, <8x64xindex>'),
    "a run-time argument": "func.func @k(%p: index, %l: !ktdp.runtime_arg<index, upperbound=4096, granularity=64>) {\n%n = ktdp.runtime_arg_extract value from %l : !ktdp.runtime_arg<index, granularity=64, upperbound=4096> {x} -> index\nreturn\n}",
    # gathers
    "bare subscripts of a gather": function(f"{V}\n{I}\n{gather('ind(%i[%a]), %b')}"),
    "two gathers with the same names": function(f"{V}\n{I}\n{gather()}\n{gather(name='%h')}"),
    "variables that hide a value": function(f"{V}\n{I}\n%a = arith.constant 1 : index\n{gather()}\n%z = arith.addi %a, %a : index"),
    "a value captured twice": function(f"{V}\n{I}\n{gather('ind(%i[%n * 2 + %a - %n]), (%b + %n - %n)')}"),
    # between tiles
    "a future": between(),
    "a future in short": between(future=FUTURE.removeprefix("!ktdp.tile_future")),
    "a bare type in a future": between(future=FUTURE.replace("(tensor<4xf32>)", "tensor<4xf32>")),
    "produce with the type of the partial": between(" : tensor<4xf32>"),
    "attributes behind a yield": between(given="%x : tensor<4xf32> {a = 1 : i64}"),
    "attributes before a yield": between(given="{a = 1 : i64} %x : tensor<4xf32>"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_it_is_read_verified_and_printed(name):
    module = parse(READ[name], "k.mlir")
    assert [str(d) for d in verify(module) if d.severity == "error"] == []
    for generic in (False, True):
        text = print_module(module, generic)
        assert print_module(parse(text), generic) == text


REFUSED: dict[str, tuple[str, str, str]] = {
    "an alias nobody defines": (function(V.replace(SET, "§#sets")) + f"#set = {SET}\n", "undefined symbol alias '#sets'", "did you mean #set?"),
    "an alias of itself": ("#a = §#a\n" + function(V, attributes="attributes {x = #a}"), "undefined symbol alias '#a'", ""),
    "an alias given twice": ("#a = affine_map<() -> ()>\n§#a = affine_map<() -> ()>\n" + function(V), "re-declaration of alias '#a'", ""),
    "common variables": (function(f"{V}\n{I}\n" + gather(declared="§common_variables(%n) ")), "expected the base", "without being listed"),
    "Idx[..]": (function(f"{V}\n{I}\n" + gather("§Idx[%a], (%b)")), "expected a subscript", "ind(%view[...])"),
    "ind without parentheses": (function(f"{V}\n{I}\n" + gather("ind §%i[%a], (%b)")), "expected '('", "write ind(%view[...])"),
    "an index scaled": (function(f"{V}\n{I}\n" + gather("ind(%i[%a]) §* 2, (%b)")), "expected ',' or ']'", "used as it is"),
    "the remainder as %": (function(f"{V}\n{I}\n" + gather("ind(%i[%a §% 4]), (%b)")), "expected a name after '%'", "written mod"),
    "the quotient as /": (function(f"{V}\n" + tile("%n §/ 2, 0")), "expected", "write floordiv"),
    "a < b": (function(V.replace(SET, "affine_set<(a, b) : (a §< 8)>")), "expected `>=`, `<=` or `==`", ""),
    "an op between its operands": (function("%r = §%n * %n : index"), "expected the name of an operation", "arith.muli"),
    "a string as memory space": (function(V.replace("{coordinate", "§{coordinate").replace("#ktdp.memory_space<global>", '"HBM"')), '"HBM" is no memory space', "#ktdp.memory_space<global>"),
    "an unknown memory space": (space("#ktdp.memory_space<§HBM>"), "unknown word 'HBM'", ""),
    "ktir.": (function("%r = §ktir.load %p"), "unknown operation 'ktir.load'", "the dialect is called ktdp now: ktdp.load"),
    "kt.": (function("%r = §kt.arange 4 : index"), "unknown operation 'kt.arange'", "kt became ktdp"),
    "Triton": (function("%r = §tt.get_program_id x : i32"), "unknown operation 'tt.get_program_id'", "Triton"),
    "Triton in generic form": (function('%r = §"tt.dot"() : () -> i32'), "unknown operation 'tt.dot'", "Triton"),
    "a dialect nobody knows": (function("§gpu.barrier"), "unknown operation 'gpu.barrier'", "dialects are"),
    "a misspelt op": (function("%r = §linalg.matmull %p"), "unknown operation 'linalg.matmull'", "did you mean linalg.matmul"),
    "index.add": (function("%r = §index.add %n, %n"), "unknown operation 'index.add'", "write arith on values of type index"),
    "arith.maxf": (function("%r = §arith.maxf %n, %n : f32"), "unknown operation 'arith.maxf'", "arith.maximumf"),
    **{
        f"inter_tile_{name}": (function(f"%r = §ktdp.inter_tile_{name}(%p)"), f"unknown operation 'ktdp.inter_tile_{name}'", "a design no tool reads")
        for name in ("reduce_scatter", "gather", "all_to_all", "scatter")
    },
    "a future without groups": (between(future="<(tensor<4xf32>), §affine_set<(g) : (g == 0)>>"), "expected 'groups'", ""),
    "a yield without types": (between(given="%x").replace("ktdp.yield_partial %x\n}", "ktdp.yield_partial %x\n§}"), "expected ':' and the types of the values", ""),
    "a constant in a resource": (function("%c = arith.constant §dense_resource<blob> : tensor<2xf32>") + '{-# dialect_resources: {builtin: {blob: "0x040000000000803F00000040"}} #-}', "the bytes of resources are not read", "dense<"),
    "an end that is missing": (function(V) + "§{-# dialect_resources", "file metadata without an end", "#-}"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_its_place_and_what_to_write(name):
    text, message, hint = REFUSED[name]
    before = text[: text.index("§")]
    with pytest.raises(HeadraceError) as caught:
        parse(text.replace("§", ""), "k.mlir")
    (found,) = caught.value.diagnostics
    assert message in found.message and hint in found.hint, str(found)
    assert str(found.where) == f"k.mlir:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def test_the_older_memory_spaces_are_printed_as_the_current_ones_and_back():
    text = print_module(parse(READ["the scratchpad of a core"]))
    assert "memory_space = #ktdp.memory_space<ct_local, ct_id = 3>" in text
    older = print_module(parse(text), has_older_spaces=True)
    assert "memory_space = #ktdp.spyre_memory_space<LX, core = 3>" in older
    assert "#ktdp.spyre_memory_space<HBM>" in print_module(parse(function(V)), has_older_spaces=True)
    assert parse(older).is_structurally_equivalent(parse(text))


@pytest.mark.parametrize(
    "text, place",
    [
        ('loc(fused<"inlined">["a.py":3:4, "b.py":1:2])', ("a.py", 3, 4)),
        ('loc("a.py":3:4 to 5:6)', ("a.py", 3, 4)),
        ('loc("a.py":3:4 to :6)', ("a.py", 3, 4)),
    ],
)
def test_a_fused_location_and_a_range_have_one_place(text, place):
    module = parse(f"func.func @k() {{\n%c = arith.constant 1 : index {text}\nreturn\n}}")
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    assert isinstance(constant.location, FileLineColLoc | FusedLoc)
    found = location(constant)
    assert (found.file, found.line, found.col) == place


def test_a_value_given_twice_comes_back_as_one_operand_of_the_same_meaning():
    printed = print_module(parse(READ["an operand given twice"]))
    assert "%v[%n, %n]" in printed
    again = next(op for op in parse(printed).walk() if op.name == "ktdp.construct_access_tile")
    assert len(again.indices) == 1 and str(again.base_map.data) == "(d0) -> (d0, d0)"
