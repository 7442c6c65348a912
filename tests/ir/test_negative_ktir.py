"""KTIR that is wrong: what is said about it, and where. A § in a text marks the place the finding names."""

# ruff: noqa: E501

from __future__ import annotations

import pytest
from docs.legality import LEGALITY

from headrace.cli.main import exit_code
from headrace.ir.diagnostics import Diagnostic, HeadraceError
from headrace.ir.text import parse
from headrace.ir.verify import verify

G = "memory_space = #ktdp.memory_space<global>"
ID1, ID2, SWAP = "affine_map<(a) -> (a)>", "affine_map<(a, b) -> (a, b)>", "affine_map<(a, b) -> (b, a)>"


def box(*extents: int) -> str:
    names = "abcd"[: len(extents)]
    rules = ", ".join(f"{d} >= 0, {n - 1} - {d} >= 0" for d, n in zip(names, extents, strict=True))
    return f"affine_set<({', '.join(names)}) : ({rules})>"


V = f"%v = ktdp.construct_memory_view %p, sizes: [8, 64], strides: [64, 1] {{coordinate_set = {box(8, 64)}, {G}}} : memref<8x64xf16>"
I = f"%i = ktdp.construct_memory_view %q, sizes: [4], strides: [1] {{coordinate_set = {box(4)}, {G}}} : memref<4xi32>"
F = f"%i = ktdp.construct_memory_view %q, sizes: [4], strides: [1] {{coordinate_set = {box(4)}, {G}}} : memref<4xf16>"
T = "%tile = ktdp.get_compute_tile_id : index"
X = "%x = arith.constant dense<1.0> : tensor<4x64xf16>"


def tile(
    at: str = "0, 0", points: str = box(4, 64), order: str = ID2, shape: str = "4x64", symbols: str = ""
) -> str:
    return f"ktdp.construct_access_tile %v[{at}]{symbols} {{access_tile_order = {order}, access_tile_set = {points}}} : memref<8x64xf16> -> !ktdp.access_tile<{shape}xindex>"


def gather(
    subscripts: str = "ind(%i[%a]), (%b)", points: str = box(4, 64), order: str = ID2, shape: str = "4x64",
    types: str = "memref<8x64xf16>, memref<4xi32>", names: str = "%a, %b", symbols: str = "",
) -> str:  # fmt: skip
    return f"ktdp.construct_indirect_access_tile intermediate_variables({names}) %v[{subscripts}]{symbols} {{variables_space_order = {order}, variables_space_set = {points}}} : {types} -> !ktdp.access_tile<{shape}xindex>"


def view(
    sizes: str = "8, 64",
    strides: str = "64, 1",
    points: str = box(8, 64),
    memref: str = "8x64xf16",
    space: str = G,
) -> str:
    return f"ktdp.construct_memory_view %p, sizes: [{sizes}], strides: [{strides}] {{coordinate_set = {points}, {space}}} : memref<{memref}>"


SYNTAX: list[tuple[str, str]] = [
    # views
    ("%w = ktdp.construct_memory_view %p, §strides: [1], sizes: [4] {} : memref<4xf16>", "expected 'sizes'"),
    (f"%w = ktdp.construct_memory_view %p, sizes: [§x], strides: [1] {{{G}}} : memref<4xf16>", "expected"),
    ("%w = ktdp.construct_memory_view §%nowhere, sizes: [4], strides: [1] : memref<4xf16>", "use of undefined value %nowhere"),
    ("%w = ktdp.construct_memory_view §%s, sizes: [4], strides: [1] : memref<4xf16>", "operand is used with type index"),
    (f"%w = {view(space='memory_space = #ktdp.memory_space<§L0>')}", "unknown word 'L0'"),
    (f"%w = {view(space='memory_space = #ktdp.spyre_memory_space<§DDR>')}", "unknown word 'DDR'"),
    (f"%w = {view(space='memory_space = §#ktdp.memory_spce<global>')}", "unknown attribute"),
    # sets and maps
    ("%w = " + view(points="affine_set<(a, b) : (0 <= a §< 8, b >= 0)>"), "expected"),
    ("%w = " + view(points="affine_set<(a, b) : (a >= 0, §d >= 0)>"), "unknown name d"),
    ("%w = " + view(points="affine_set<(a, §a) : (a >= 0)>"), "name a stands twice"),
    ("%w = " + view(points="affine_set<(a, b) : (a §* b >= 0)>"), "one side of a multiplication"),
    ("%w = " + view(points="affine_set<(a, b) : (a §mod 0 >= 0)>"), "has to be positive, but is 0"),
    # access tiles
    (f"{V}\n  §%t = ktdp.construct_access_tile %v[0, 0] {{access_tile_order = {ID2}}} : memref<8x64xf16> -> !ktdp.access_tile<8x64xindex>", "access tile set is missing in the operation"),
    (f"{V}\n  §%t = ktdp.construct_access_tile %v[0, 0] {{access_tile_set = {box(8, 64)}}} : memref<8x64xf16> -> !ktdp.access_tile<8x64xindex>", "access tile order is missing in the operation"),
    (f"{V}\n  %t = {tile('§%nobody, 0')}", "use of undefined value %nobody"),
    (f"{V}\n  %t = {tile('%n §/ 2, 0')}", "expected"),
    (f"{V}\n  %t = ktdp.construct_access_tile §%v[0, 0] {{access_tile_order = {ID2}, access_tile_set = {box(8, 64)}}} : memref<9x64xf16> -> !ktdp.access_tile<8x64xindex>", "operand is used with type memref<9x64xf16>"),
    (f"{V}\n  §%t = {gather('(%a), (%b)').replace('variables_space_set', 'variables_set')}", "variables_space_set"),
    (f"{V}\n  {I}\n  %t = {gather(types='§memref<8x64xf16>')}", "expected 2 types (base + 1 indirect memrefs), but got 1"),
    (f"{V}\n  {I}\n  %t = {gather('ind(%i[§%z]), (%b)')}", "use of undefined value %z"),
    # loads and stores
    (f"{V}\n  %t = {tile()}\n  %y = ktdp.load §%t : <8x64xindex> -> tensor<8x64xf16>", "operand is used with type"),
    (f"{V}\n  %t = {tile()}\n  %y = ktdp.load %t : §memref<4x64xf16> -> tensor<4x64xf16>", "expected a type !ktdp.access_tile"),
    (f"{V}\n  {X}\n  ktdp.store %x §: tensor<4x64xf16>", "expected ','"),
    # run-time arguments
    ("%r = ktdp.runtime_arg_extract §most from %l : <index> -> index", "most"),
    ("%t = §ktdp.transfer %x", "unknown operation 'ktdp.transfer'"),
    ("%t = §ktdp.coreid : index", "unknown operation 'ktdp.coreid'"),
    ("%t = §ktir.load %p", "unknown operation 'ktir.load'"),
    ("%c = arith.constant 1.0 : §fp16", "type expected"),
    ("%t = §ktdp.inter_tile_gather(%p)", "unknown operation 'ktdp.inter_tile_gather'"),
]  # fmt: skip

RULES: list[tuple[str, str]] = [
    # get_compute_tile_id
    ("§%a, %b = \"ktdp.get_compute_tile_id\"() : () -> (index, i32)", "i32"),
    ("§\"ktdp.get_compute_tile_id\"() : () -> ()", "must return at least one index (num tile-grid dims >= 1)"),
    # memory views
    (f"§%w = {view(strides='1')}", "static_sizes and static_strides must have equal length"),
    (f"§%w = {view('8', '64', box(8))}", "result memref rank does not match sizes/strides length"),
    (f"§%w = {view('9, 64', points=box(9, 64))}", "size 9 of dim 0 does not match the extent 8 of memref<8x64xf16>"),
    (f"§%w = {view('-8, 64', memref='?x64xf16')}", "size -8 is negative"),
    (f"§%w = {view(points=box(8))}", "coordinate_set has 1 dims, but the view has rank 2"),
    (f"§%w = {view(points='affine_set<(a, b)[n] : (a >= 0, n - 1 - a >= 0, b >= 0)>')}", "coordinate_set has 1 symbols but the view has 0 dynamic sizes"),
    (f"§%w = {view(points=box(9, 64))}", "coordinate_set has 9 coordinates along dim 0, the view has 8"),
    (f"%c9 = arith.constant 9 : index\n  §%w = {view('%c9, 64')}", "size 9 of dim 0 does not match the extent 8"),
    ("§%w = \"ktdp.construct_memory_view\"(%p) <{coordinate_set = " + box(4) + ", memory_space = #ktdp.memory_space<global>, operandSegmentSizes = array<i32: 1, 0, 0>, static_sizes = array<i64: -9223372036854775808>, static_strides = array<i64: 1>}> : (index) -> memref<?xf16>", "number of dynamic size operands does not match kDynamic entries in static_sizes"),
    ("§%w = \"ktdp.construct_memory_view\"(%p) <{memory_space = #ktdp.memory_space<global>, operandSegmentSizes = array<i32: 1, 0, 0>, static_sizes = array<i64: 4>, static_strides = array<i64: 1>}> : (index) -> memref<4xf16>", "coordinate_set"),
    # distributed views
    (f"{V}\n  {I}\n  §%d = ktdp.construct_distributed_memory_view (%v, %i : memref<8x64xf16>, memref<4xi32>) : memref<8x64xf16>", "all input memrefs must have the same element type as the result"),
    (f"{V}\n  {F}\n  §%d = ktdp.construct_distributed_memory_view (%v, %i : memref<8x64xf16>, memref<4xf16>) : memref<8x64xf16>", "all input memrefs must have the same rank as the result"),
    ("§%d = ktdp.construct_distributed_memory_view () : memref<8x64xf16>", "needs at least one part"),
    (f"{V}\n  §%d = ktdp.construct_distributed_memory_view (%v : memref<8x64xf16>) : memref<16x64xf16>", "the parts end at 8 along dim 0, the result's extent is 16"),
    # access tiles
    (f"{V}\n  §%t = {tile(points=box(4), order=ID1, shape='4')}", "access_tile_set dimensions (1) must match base_map dims (2)"),
    (f"{V}\n  §%t = {tile(points='affine_set<(a, b)[n] : (a >= 0, n - 1 - a >= 0, b >= 0, 63 - b >= 0)>')}", "access_tile_set has 1 symbols but got 0 symbol operands"),
    (f"{V}\n  §%t = {tile(symbols=' symbols(%n)')}", "access_tile_set has 0 symbols but got 1 symbol operands"),
    (f"{V}\n  §%t = {tile(order='affine_map<(a, b) -> (a)>')}", "access_tile_order must have equal number of inputs (2) and outputs (1)"),
    (f"{V}\n  §%t = {tile(order=ID1)}", "access_tile_order dimensions (1) must match access_tile_set dimensions (2)"),
    (f"{V}\n  §%t = {tile(shape='256')}", "result type rank (1) must match access_tile_set dimensions (2)"),
    (f"{V}\n  §%t = {tile(order='affine_map<(a, b) -> (a, a)>')}", "access_tile_order is no permutation"),
    (f"{V}\n  §%t = {tile(order='affine_map<(a, b) -> (a + b, b)>')}", "access_tile_order is no permutation"),
    (f"{V}\n  §%t = {tile(shape='4x32')}", "access_tile_set walked in access_tile_order gives a tile of 4x64, the result type says 4x32"),
    (f"{V}\n  §%t = {tile(points=box(2, 64), order=SWAP, shape='64x4')}", "gives a tile of 64x2, the result type says 64x4"),
    (f"{V}\n  §%t = {tile(points='affine_set<(a, b) : (a >= 0, 3 - a >= 0, b >= 0, 3 - b >= 0, a - b >= 0)>', shape='4x4')}", "access_tile_set has 10 points, the tile 4x4 has 16 positions"),
    (f"{V}\n  §%t = {tile('6, 0')}", "coordinates 6 to 9 of dim 0 are outside its extent 8"),
    (f"{V}\n  §%t = {tile('0, -1')}", "coordinates -1 to 62 of dim 1 are outside its extent 64"),
    (f"{V}\n  {T}\n  §%t = {tile('%tile + 5, 0')}", "coordinates 5 to 8 of dim 0 are outside its extent 8"),
    (f"%c1 = arith.constant 1 : index\n  {V}\n  scf.for %k = %p to %n step %c1 {{\n    %z = arith.constant 60 : index\n    §%t = {tile('0, %z')}\n  }}", "coordinates 60 to 123 of dim 1 are outside"),
    (f"{V}\n  §%t = {tile('0', points=box(4), order=ID1, shape='4')}", "1 subscripts of a base of rank 2"),
    # indirect access tiles
    (f"{V}\n  {I}\n  §%t = {gather(order='affine_map<(a, b) -> (a)>')}", "variables_space_order must have equal number of inputs (2) and outputs (1)"),
    (f"{V}\n  {I}\n  §%t = {gather(order=ID1)}", "variables_space_order dimensions (1) must match variables_space_set dimensions (2)"),
    (f"{V}\n  {I}\n  §%t = {gather(names='%a, %b, %c')}", "number of intermediate variables (3) must match variables_space_set dimensions (2)"),
    (f"{V}\n  {I}\n  §%t = {gather(symbols=' symbols(%n)')}", "variables_space_set has 0 symbols but got 1 symbol operands"),
    (f"{V}\n  {I}\n  §%t = {gather('ind(%i[%a])')}", "number of subscripts (1) must match base rank (2)"),
    (f"{V}\n  {I}\n  §%t = {gather('ind(%i[%a, %b]), (%b)')}", "indirect subscript map for dimension 0 produces 2 results, but indirect memref has rank 1"),
    (f"{V}\n  {I}\n  §%t = {gather('ind(%i[%a]), (%a, %b)')}", "direct subscript map for dimension 1 must produce exactly 1 result, but produces 2"),
    (f"{V}\n  {I}\n  §%t = {gather(shape='256')}", "result type rank (1) must match variables_space_set dimensions (2)"),
    (f"{V}\n  {F}\n  §%t = {gather(types='memref<8x64xf16>, memref<4xf16>')}", "an index memref holds integers, not f16"),
    (f"{V}\n  {I}\n  §%t = {gather(order='affine_map<(a, b) -> (b, b)>')}", "variables_space_order is no permutation"),
    (f"{V}\n  {I}\n  §%t = {gather(shape='4x63')}", "variables_space_set walked in variables_space_order gives a tile of 4x64, the result type says 4x63"),
    (f"{V}\n  {I}\n  §%t = {gather('ind(%i[%a]), (%b + 1)')}", "coordinates 1 to 64 of dim 1 are outside its extent 64"),
    (f"{V}\n  {I}\n  §%t = {gather('ind(%i[%a * 2]), (%b)')}", "coordinates 0 to 6 of dim 0 are outside its extent 4"),
    (f"{V}\n  {I}\n  §%t = {gather('ind(%i[3 - %a]), (63 - %b * 2)')}", "coordinates -63 to 63 of dim 1 are outside its extent 64"),
    # loads and stores
    (f"{V}\n  %t = {tile()}\n  §%y = ktdp.load %t : <4x64xindex> -> tensor<4x32xf16>", "access tile shape must match result tensor shape"),
    (f"{V}\n  %t = {tile()}\n  %x = arith.constant dense<1.0> : tensor<64x4xf16>\n  §ktdp.store %x, %t : tensor<64x4xf16>, <4x64xindex>", "data tile shape must match access tile shape"),
    (f"{V}\n  %t = {tile()}\n  §%y = \"ktdp.load\"(%t) : (!ktdp.access_tile<4x64xindex>) -> f16", "f16"),
    # run-time arguments
    ("§%r = ktdp.runtime_arg_extract value from %l : <index, granularity=64> -> i32", "result type (i32) must match runtime_arg underlying type (index) when extracting value"),
    ("§%r = ktdp.runtime_arg_extract upperbound from %l : <index, granularity=64> -> index", "cannot extract upperbound from runtime_arg that doesn't have one"),
    ("§%r = ktdp.runtime_arg_extract granularity from %l : <index, granularity=64> -> i64", "result type must be index when extracting granularity, but got i64"),
    # upstream ops
    ("§%z = \"arith.cmpi\"(%s, %s) <{predicate = 0 : i64}> : (f16, f16) -> i1", "f16"),
    (f"{X}\n  %e = tensor.empty() : tensor<4xf16>\n  §%y = linalg.reduce {{ arith.addf }} ins(%x : tensor<4x64xf16>) outs(%e : tensor<4xf16>) dimensions = [0]", "leaves (64,), not tensor<4xf16>"),
    (f"{X}\n  %e = tensor.empty() : tensor<4xf16>\n  §%y = linalg.reduce {{ arith.addf }} ins(%x : tensor<4x64xf16>) outs(%e : tensor<4xf16>) dimensions = [2]", "do not fit a tensor of rank 2"),
    (f"{X}\n  §%y = linalg.matmul ins(%x, %x : tensor<4x64xf16>, tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) -> tensor<4x64xf16>", "dimension"),
    (f"{X}\n  §%y = linalg.broadcast ins(%x : tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) dimensions = [0]", ""),
    (f"{X}\n  §%y = tensor.collapse_shape %x [[0, 1]] : tensor<4x64xf16> into tensor<255xf16>", "collapsing tensor<4x64xf16> gives 256, not tensor<255xf16>"),
    (f"{X}\n  §%y = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 64] : tensor<4x64xf16> into tensor<2x3x64xf16>", ""),
    (f"{X}\n  §%y = tensor.extract_slice %x[0, 0] [4] [1, 1] : tensor<4x64xf16> to tensor<4xf16>", "1 sizes for a tensor of rank 2"),
    ("§%z = arith.extf %s : f16 to f16", "cannot widen f16 to f16"),
    ("§%z = arith.truncf %s : f16 to f32", "cannot narrow f16 to f32"),
    ("%c = arith.constant 1 : index\n  §%z = scf.for %k = %c to %n step %c iter_args(%a = %s) -> (f16) {\n    %w = arith.extf %a : f16 to f32\n    scf.yield %w : f32\n  }", ""),
    ("%c = arith.constant true\n  §%z = scf.if %c -> (f16) {\n    scf.yield %s : f16\n  }", "yields values but has no else"),
    ("%c = arith.constant true\n  §%z = scf.if %c -> (f16) {\n    scf.yield %s : f16\n  } else {\n    %w = arith.extf %s : f16 to f32\n    scf.yield %w : f32\n  }", "a side yields f32, the results are f16"),
    (f"{X}\n  §%y = tensor.extract_slice %x[2, 0] [3, 64] [1, 1] : tensor<4x64xf16> to tensor<3x64xf16>", "elements 2 to 4 of dim 0 are outside its extent 4"),
    (f"{X}\n  §%y = tensor.extract_slice %x[0, 0] [2, 64] [1, 1] : tensor<4x64xf16> to tensor<3x64xf16>", "the sizes are 2x64, the type of the slice is tensor<3x64xf16>"),
    (f"{X}\n  §%y = tensor.insert_slice %x into %x[0, 0] [4, 32] [1, 1] : tensor<4x64xf16> into tensor<4x64xf16>", "the sizes are 4x32, the type of the slice is tensor<4x64xf16>"),
    ("§%e = tensor.empty(%n) : tensor<4x64xf16>", "1 sizes for 0 dynamic dims"),
    (f"{X}\n  §%y = tensor.extract %x[%n] : tensor<4x64xf16>", "1 indices for tensor<4x64xf16>"),
    ("%e = tensor.empty() : tensor<4xf32>\n  §%y = linalg.fill ins(%s : f16) outs(%e : tensor<4xf32>) -> tensor<4xf32>", "fills tensor<4xf32> with a value of type f16"),
    (f"{X}\n  §%y = linalg.generic {{indexing_maps = [{ID2}], iterator_types = [\"parallel\", \"parallel\"]}} ins(%x : tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) {{\n  ^bb0(%a: f16, %b: f16):\n    linalg.yield %a : f16\n  }} -> tensor<4x64xf16>", "expected the number of indexing_map (1) to be equal to the number of input/output operands (2)"),
    (f"{X}\n  §%y = linalg.generic {{indexing_maps = [{ID2}, {ID1}], iterator_types = [\"parallel\", \"parallel\"]}} ins(%x : tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) {{\n  ^bb0(%a: f16, %b: f16):\n    linalg.yield %a : f16\n  }} -> tensor<4x64xf16>", "expected indexing_map #1 to have 2 dim(s) to match the number of loops"),
    (f"{X}\n  §%y = linalg.generic {{indexing_maps = [{ID2}, {ID2}], iterator_types = [\"parallel\", \"parallel\"]}} ins(%x : tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) {{\n  ^bb0(%a: f16, %b: f32):\n    linalg.yield %a : f16\n  }} -> tensor<4x64xf16>", "expected type of bb argument #1 (f32)"),
    (f"{X}\n  §%y = linalg.generic {{indexing_maps = [{ID2}, affine_map<(a, b) -> (a)>], iterator_types = [\"parallel\", \"parallel\"]}} ins(%x : tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) {{\n  ^bb0(%a: f16, %b: f16):\n    linalg.yield %a : f16\n  }} -> tensor<4x64xf16>", "expected operand #1 of rank 2 to match the result count of indexing_map #1, 1"),
    (f"{X}\n  §%y = linalg.generic {{indexing_maps = [{ID2}, {ID2}], iterator_types = [\"parallel\", \"parallel\"]}} ins(%x : tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) {{\n  ^bb0(%a: f16, %b: f16):\n    %c = arith.extf %a : f16 to f32\n    linalg.yield %c : f32\n  }} -> tensor<4x64xf16>", "the body yields f32, the outs hold f16"),
    (f"{X}\n  §%y = linalg.add ins(%x, %x : tensor<4x64xf16>, tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) -> tensor<4x65xf16>", "gives tensor<4x65xf16> for outs of tensor<4x64xf16>"),
    (f"{X}\n  %y = linalg.generic {{indexing_maps = [{ID2}], iterator_types = [\"parallel\", \"parallel\"]}} outs(%x : tensor<4x64xf16>) {{\n  ^bb0(%a: f16):\n    §%b = linalg.index 2 : index\n    linalg.yield %a : f16\n  }} -> tensor<4x64xf16>", "dim 2 of 2 loops"),
    (f"{V}\n  §%w = {view(space='memory_space = #ktdp.memory_space<ct_local, ct_id = 4>')}", "ct_id 4 names no tile: the grid has 4"),
    (f"§%w = {view(space='memory_space = #ktdp.spyre_memory_space<L0>')}", "nothing is addressed in L0"),
    (f"§%w = {view(memref='8x64xf16, strided<[128, 1]>')}", "has other strides than the view"),
    (f"§%w = {view(memref='8x64xf16, affine_map<(a, b) -> (a * 64 + b)>')}", "is no list of strides"),
    ("%c = arith.constant 0 : index\n  §scf.for %k = %p to %n step %c {\n  }", "the step is 0"),
    (f"{V}\n  §%t = \"ktdp.construct_access_tile\"(%v, %n) <{{access_tile_order = {ID2}, access_tile_set = {box(4, 64)}, base_map = affine_map<()[s] -> (s, 0)>, operandSegmentSizes = array<i32: 1, 1, 0>}}> : (memref<8x64xf16>, index) -> !ktdp.access_tile<4x64xindex>", "base_map takes dims only"),
    (f"{V}\n  §%t = \"ktdp.construct_access_tile\"(%v, %n) <{{access_tile_order = {ID2}, access_tile_set = {box(4, 64)}, base_map = {ID2}, operandSegmentSizes = array<i32: 1, 1, 0>}}> : (memref<8x64xf16>, index) -> !ktdp.access_tile<4x64xindex>", "base_map expects 2 operands but got 1"),
    (f"{X}\n  §ktdp.yield_partial %x : tensor<4x64xf16>", "expects parent op 'ktdp.inter_tile_produce'"),
    # dominance
    ("§%z = arith.addf %y, %s : f16\n  %y = arith.addf %s, %s : f16", "operand 0 (%y) is used where its definition does not reach"),
]  # fmt: skip

FUTURE = "<(tensor<4x64xf16>), groups = affine_set<(g) : (g == 0)>>"
ALL, FIRST = (
    "affine_set<(t)[g] : (t - 4 * g >= 0, 4 * g + 3 - t >= 0)>",
    "affine_set<(t)[g] : (t - 4 * g == 0)>",
)


def produce(
    future: str = FUTURE,
    tiles: str = ALL,
    value: str = "%x : tensor<4x64xf16>",
    argument: str = "%g: index",
    inside: str = "",
) -> str:
    return f"%f = ktdp.inter_tile_produce producer_tiles_per_group = {tiles} -> {future} {{\n  ^bb0({argument}):\n    {inside}\n    ktdp.yield_partial {value}\n  }}"


def reduce(
    tiles: str = ALL, chosen: str = "", identity: str = "%x : tensor<4x64xf16>", result: str = "tensor<4x64xf16>",
    arguments: str = "%u: tensor<4x64xf16>, %w: tensor<4x64xf16>", inside: str = "", value: str = "%u : tensor<4x64xf16>", future: str = FUTURE,
) -> str:  # fmt: skip
    return f"ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = {tiles}, {chosen}identity({identity}) : {future} -> {result} {{\n  ^bb0({arguments}):\n    {inside}\n    ktdp.yield_reduced {value}\n  }}"


def consume(
    tiles: str = ALL, chosen: str = "", result: str = "tensor<4x64xf16>", future: str = FUTURE
) -> str:
    return f"ktdp.inter_tile_consume(%f) consumer_tiles_per_group = {tiles}{chosen} : {future} -> {result}"


LEFT = ", producer_dependency_per_consumer = affine_set<(p)[c] : (p - (c + 3) mod 4 == 0)>"
P = produce()
TWO = "<(tensor<4x64xf16>), groups = affine_set<(g) : (g >= 0, 1 - g >= 0)>>"

BETWEEN_TILES: list[tuple[str, str]] = [
    (f"§{P}", "future result must have exactly one use, but has 0"),
    (f"§{P}\n  %a = {reduce()}\n  %b = {reduce()}", "future result must have exactly one use, but has 2"),
    (f"§{produce(argument='%g: i32')}\n  %a = {reduce()}", "producer region must take a single `index` group-id argument"),
    (f"§{produce(value='%x, %x : tensor<4x64xf16>, tensor<4x64xf16>')}\n  %a = {reduce()}", "yield_partial yields 2 values but the future carries 1"),
    (f"%z = arith.constant dense<1.0> : tensor<4xf16>\n  §{produce(value='%z : tensor<4xf16>')}\n  %a = {reduce()}", "yield_partial yields tensor<4xf16> where the future has tensor<4x64xf16>"),
    (f"§{produce(tiles='affine_set<(t) : (t >= 0)>')}\n  %a = {reduce()}", "`producer_tiles_per_group` must have exactly one symbol (the group index g)"),
    (f"§{produce(tiles='affine_set<(t, u)[g] : (t >= 0)>')}\n  %a = {reduce()}", "`producer_tiles_per_group` must have exactly one dimension (the tile id i)"),
    (f"§{produce(TWO, tiles='affine_set<(t)[g] : (t >= 0, 1 - t >= 0)>')}\n  %a = {reduce(future=TWO, tiles='affine_set<(t)[g] : (t - g == 0)>')}", "producer_tiles_per_group for groups 0 and 1 are not disjoint"),
    (f"{P}\n  §%a = {reduce(identity='%s : f16')}", "identity types must match result types"),
    (f"{P}\n  %z = arith.constant dense<1.0> : tensor<4xf16>\n  §%a = {reduce(identity='%z : tensor<4xf16>', result='tensor<4xf16>')}", "result types must match future partial types"),
    (f"{P}\n  §%a = {reduce(arguments='%u: tensor<4x64xf16>')}", "reducer region must take 2 arguments, got 1"),
    (f"{P}\n  §%a = {reduce(arguments='%u: tensor<4x64xf16>, %w: f16')}", "the combiner's arguments must have the types of the partial values, twice"),
    (f"{P}\n  §%a = {reduce(value='%u, %w : tensor<4x64xf16>, tensor<4x64xf16>')}", "reducer region must end with ktdp.yield_reduced of 1 values"),
    (f"{P}\n  §%a = {reduce(value='%s : f16')}", "yield_reduced yields f16 where the future has tensor<4x64xf16>"),
    (f"{produce(tiles=FIRST)}\n  §%a = {reduce()}", "consumer_tiles_per_group for group 0 is not a subset of producer_tiles_per_group"),
    (f"{P}\n  §%a = {reduce(tiles='affine_set<(t)[g] : (t >= 0, 1 - t >= 0)>')}", "reduce-to-subset is unsupported; only all-reduce and reduce-to-one are supported"),
    (f"{P}\n  §%a = {reduce(chosen='producer_dependency_per_consumer = affine_set<(p)[c] : (p == 0)>, ')}", "does not cover producer tile 1 (no consumer has it as a dependency)"),
    (f"{produce(tiles=FIRST)}\n  §%a = {reduce(tiles=FIRST, chosen='producer_dependency_per_consumer = affine_set<(p)[c] : (p == 1)>, ')}", "producer_dependency_per_consumer of tile 0 names tile 1, which does not produce for group 0"),
    (f"{P}\n  §%a = {reduce(chosen='producer_dependency_per_consumer = affine_set<(p) : (p == 0)>, ')}", "`producer_dependency_per_consumer` must have one symbol (c) or two symbols (c, g)"),
    (f"{V}\n  {P}\n  %t = {tile()}\n  §%a = {reduce(inside='ktdp.store %u, %t : tensor<4x64xf16>, <4x64xindex>')}", "the combiner must be pure, but has ktdp.store"),
    (f"{P}\n  §%a = {consume()}", "group 0 has 4 producers, so producer_dependency_per_consumer is required to name each consumer tile's single source"),
    (f"{P}\n  §%a = {consume(chosen=', producer_dependency_per_consumer = affine_set<(p)[c] : (p >= 0, 1 - p >= 0)>')}", "tile 0 depends on 2 producers; inter_tile_consume delivers one contribution per consumer tile, so exactly one is required"),
    (f"{P}\n  §%a = {consume(chosen=', producer_dependency_per_consumer = affine_set<(p)[c] : (p - 2 == 0)>')}", "does not cover producer tile 0 (no consumer has it as a dependency)"),
    (f"{P}\n  §%a = {consume(chosen=LEFT, result='tensor<256xf16>')}", "result types must match future partial types"),
    (f"{P}\n  §%a = {consume(tiles='affine_set<(t) : (t >= 0)>', chosen=LEFT)}", "`consumer_tiles_per_group` must have exactly one symbol (the group index g)"),
    (f"{P}\n  §%a = {reduce(inside='func.call @g() : () -> ()')}", "the combiner must be pure, but has func.call"),
    (P + "\n  §func.call @h(%f) : (!ktdp.tile_future" + FUTURE + ") -> ()", "takes a future"),
    (P.replace("%w", "%y") + "\n  %m = linalg.map ins(%x : tensor<4x64xf16>) outs(%x : tensor<4x64xf16>) (%e: f16) {\n  §%a = " + reduce() + "\n  linalg.yield %e : f16\n  }", "communication inside linalg.map"),
]  # fmt: skip
TYPES: list[tuple[str, str]] = [
    ("!ktdp.access_tile<4xf32>", "tile element type must be 'index', but got: f32"),
    ("!ktdp.runtime_arg<tensor<4xf16>>", "runtime_arg underlying type must be a builtin type (index, integer, or float), but got: tensor<4xf16>"),
    ("!ktdp.runtime_arg<index, granularity=0>", "runtime_arg granularity must be positive, but got: 0"),
    ("!ktdp.runtime_arg<index, upperbound=-1>", "runtime_arg upperbound must be positive, but got: -1"),
    ("!ktdp.tile_future<(), groups = affine_set<(g) : (g == 0)>>", "tile_future must carry at least one partial type"),
    ("!ktdp.tile_future<(f16), groups = affine_set<(g) : (g == 0)>>", "tile_future carries ranked tensors only"),
    ("!ktdp.tile_future<(tensor<4xf16>), groups = affine_set<(g, h) : (g == 0)>>", "tile_future `groups` must have exactly one dimension (g)"),
    ("!ktdp.tile_future<(tensor<4xf16>), groups = affine_set<(g)[n] : (g - n == 0)>>", "tile_future `groups` must have no symbols"),
    ("memref<4xf16, §#ktdp.memory_space<global, ct_id = 1>>", "ct_id is only valid for the ct_local memory space, but got memory space 'global' with ct_id = 1"),
    ("memref<4xf16, §#ktdp.memory_space<ct_local, ct_id = -2>>", "ct_id must be non-negative, but got: -2"),
    ("memref<4xf16, §#ktdp.spyre_memory_space<HBM, core = 3>>", "core affinity is only valid for LX or L0 memory spaces, but got memory space 'HBM' with core = 3"),
    ("memref<4xf16, §#ktdp.spyre_memory_space<LX, core = -2>>", "core affinity must be non-negative, but got: -2"),
    ("!ktdp.§access_tle<4xindex>".replace("§", ""), "unknown type !ktdp.access_tle"),
    ("!ktdp.runtime_arg<index, granularity=3, granularity§=4>", "duplicate 'granularity' keyword"),
    ("!ktdp.runtime_arg<index, §step=4>", "expected 'granularity' or 'upperbound' keyword"),
]  # fmt: skip
TYPES = [(text if "§" in text else "§" + text, message) for text, message in TYPES]

FUNCTIONS: list[tuple[str, str]] = [
    ("§func.func @k(%p: index) attributes {grid = []} {\n  return\n}", "grid"),
    ("§func.func @k(%p: index) attributes {grid = [0]} {\n  return\n}", "grid"),
    ("§func.func @k(%p: index) attributes {grid = [-4]} {\n  return\n}", "grid"),
    ("§func.func @k(%p: index) attributes {grid = [\"x\"]} {\n  return\n}", "grid"),
    ("§func.func @k(%p: index) attributes {grid = 4 : i64} {\n  return\n}", "grid"),
    ("§func.func @k(%p: index) attributes {grid = [2, 2, 2, 2]} {\n  return\n}", "the grid has 4 dims, more than 3"),
    ("func.func @k() attributes {grid = [4, 8]} {\n  §%x = ktdp.get_compute_tile_id : index\n  return\n}", "1 coordinates of a grid of [4, 8]"),
    ("func.func @k() attributes {grid = [4]} {\n  §%x:3 = ktdp.get_compute_tile_id : index, index\n  return\n}", "has 2 results, but 3 names are given"),
    ("func.func @k() {\n  §%i = arith.constant 1 : i32\n  return %i : index\n}".replace("§%i = arith.constant 1 : i32\n  return ", "%i = arith.constant 1 : i32\n  return §"), "operand is used with type index"),
    ("func.func @k() {\n  return\n}\n§func.func @k() {\n  return\n}", "the name @k is taken"),
    ("func.func @k() {\n  §%c = arith.constant 1 : index\n}", "is not a terminator"),
    ("§func.func @k() {\n}", "the function has no body"),
    ("func.func @k() {\n  §call @k() : () -> ()\n  return\n}", "@k calls itself"),
    ("§func.func @k() {\n  cf.br ^a\n^a:\n  return\n}", "the function branches between 2 blocks"),
    ("func.func @k() {\n  return\n§", "expected an operation or '}', but found end of text"),
    ("func.func @k() attributes {m = §#nothing} {\n  return\n}", "undefined symbol alias '#nothing'"),
]  # fmt: skip


def _parts(text: str) -> tuple[str, str]:
    """The text without its mark, and the place of the mark."""
    before = text[: text.index("§")]
    return text.replace("§", ""), f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _inside(body: str) -> str:
    head = "func.func @k(%p: index, %q: index, %n: index, %s: f16, %l: !ktdp.runtime_arg<index, granularity=64>) attributes {grid = [4]} {"
    declared = "func.func private @g()\nfunc.func private @h(!ktdp.tile_future" + FUTURE + ")\n"
    return f"{head}\n  {body}\n  return\n}}\n{declared if '@h' in body or '@g' in body else ''}"


def _found(text: str) -> list[Diagnostic]:
    """Everything that is wrong with a text (no warnings)."""
    try:
        return [d for d in verify(parse(text, "k.mlir")) if d.severity == "error"]
    except HeadraceError as error:
        return list(error.diagnostics)


CASES = [
    *((_inside(text), message) for text, message in (*SYNTAX, *RULES)),
    *((_inside(f"{X}\n  {text}"), message) for text, message in BETWEEN_TILES),
    *((f"func.func private @f({text})", message) for text, message in TYPES),
    *FUNCTIONS,
]


def _names(cases: list[tuple[str, str]]) -> list[str]:
    return [f"{k}: {message[:50]}" for k, (_, message) in enumerate(cases)]


@pytest.mark.parametrize("text, message", CASES, ids=_names(CASES))
def test_wrong_ktir_is_told_with_its_place(text, message):
    text, place = _parts(text)
    found = _found(text)
    assert [str(d.where) for d in found] == [f"k.mlir:{place}"], [str(d) for d in found]
    assert message in found[0].message, str(found[0])


@pytest.mark.parametrize("rule", LEGALITY, ids=lambda rule: rule.rule)
def test_a_text_that_breaks_a_rule_of_communication_is_told(rule):
    if rule.verdict == "warning":
        texts = [_inside(text) for text, message in WARNINGS if rule.message in message]
    else:
        texts = [text for text, message in CASES if rule.message in message] or [
            _inside(f"%t = §{rule.message.split(chr(39))[1]}(%p)")
        ]
    assert texts
    for text in texts:
        text = _parts(text)[0]
        (found,) = verify(parse(text)) if rule.verdict == "warning" else _found(text)
        assert rule.message in found.message and found.severity == rule.verdict.replace("unread", "error")


def test_there_are_more_than_sixty():
    assert len({text for text, _ in CASES}) >= 60


@pytest.mark.parametrize("text, message", CASES, ids=_names(CASES))
def test_headrace_check_ends_with_1_and_says_so(text, message, tmp_path, capsys):
    text, place = _parts(text)
    path = tmp_path / "k.mlir"
    path.write_text(text)
    assert exit_code(["check", str(path), "--device", "tiny"]) == 1
    said = capsys.readouterr().err
    first = said.splitlines()[0]
    assert first.startswith(f"{path}:{place}: error: ") and message in first


def combined(name: str, number: str) -> str:
    """A reduction by an op of arith from an identity that is everywhere `number`."""
    identity = f"%z = arith.constant dense<{number}> : tensor<4x64xf16>"
    inside = f"%d = arith.{name} %u, %w : tensor<4x64xf16>"
    found = reduce(identity="%z : tensor<4x64xf16>", inside=inside, value="%d : tensor<4x64xf16>")
    return f"{X}\n  {identity}\n  {P}\n  §%a = {found}"


NOT_NEUTRAL = [
    ("addf", "1.0", "1"),
    ("mulf", "0.0", "0"),
    ("maximumf", "0.0", "0"),
    ("minnumf", "-1.0", "-1"),
]

WARNINGS: list[tuple[str, str]] = [
    (f"{V}\n  §%t = {tile(points=box(2, 8), order=SWAP, shape='2x8')}", "access_tile_set walked in access_tile_order gives a tile of 8x2, the result type says 2x8"),
    (f"{V}\n  %t = {tile()}\n  §%y = ktdp.load %t : <4x64xindex> -> tensor<4x64xf32>", "converts between f32 and the view's f16"),
    (f"{V}\n  %t = {tile()}\n  %x = arith.constant dense<1.0> : tensor<4x64xf32>\n  §ktdp.store %x, %t : tensor<4x64xf32>, <4x64xindex>", "converts between f32 and the view's f16"),
    (f"§%w = {view(strides='-64, 1')}", "stride -64 of dim 0 is negative"),
    (f"{V}\n  §%d = ktdp.construct_distributed_memory_view (%v, %v : memref<8x64xf16>, memref<8x64xf16>) : memref<8x64xf16>", "parts 0 and 1 overlap"),
    (f"{V}\n  %c = arith.constant true\n  scf.if %c {{\n    §%t = {tile('8, 0')}\n  }}", "coordinates 8 to 11 of dim 0 are outside its extent 8"),
    (f"{X}\n  §{produce(tiles='affine_set<(t)[g] : (t >= 0, 4 - t >= 0)>')}\n  %a = {reduce()}", "group 0 names tile 4, the grid has 4 tiles"),
    (f"§%w = {view(memref='8x64xf16, #ktdp.memory_space<ct_local>')}", "memory_space is #ktdp.memory_space<global>"),
    (f"{X}\n  {P}\n  %c = arith.constant true\n  scf.if %c {{\n    §%a = {reduce()}\n  }}", "stands in another block than the ktdp.inter_tile_produce"),
    (f"{X}\n  {P}\n  §%a = {reduce(inside='%d = arith.subf %u, %w : tensor<4x64xf16>', value='%d : tensor<4x64xf16>')}", "the order of the partial values is open, but 'sub' depends on it"),
    (f"{X}\n  {P}\n  §%a = {reduce(identity='%z : tensor<256xf16>', result='tensor<256xf16>')}".replace("{P}", "").replace(X, X + "\n  %z = arith.constant dense<1.0> : tensor<256xf16>"), "the result tensor<256xf16> reshapes the partial tensor<4x64xf16>"),
    *((combined(name, number), f"the identity {told} changes what '{name}' combines it with") for name, number, told in NOT_NEUTRAL),
]  # fmt: skip


@pytest.mark.parametrize("text, message", WARNINGS, ids=_names(WARNINGS))
def test_what_is_likely_not_meant_is_a_warning(text, message):
    text, place = _parts(_inside(text))
    (found,) = verify(parse(text, "k.mlir"))
    assert (found.severity, str(found.where)) == ("warning", f"k.mlir:{place}")
    assert message in found.message


RIGHT: list[str] = [
    f"{V}\n  {T}\n  %t = {tile('%tile * 2, 0', points=box(2, 64), shape='2x64')}",
    f"{V}\n  %t = {tile(points='affine_set<(a, b) : (a - 4 >= 0, 7 - a >= 0, b >= 0, 63 - b >= 0)>')}",
    f"{V}\n  %t = {tile(points='affine_set<(a, b) : (a >= 0, b >= 0)>')}",
    f"{V}\n  %t = {tile(points='affine_set<(a, b)[n] : (a >= 0, n - 1 - a >= 0, b >= 0, 63 - b >= 0)>', symbols=' symbols(%n)', shape='?x64')}",
    f"{V}\n  %t = {tile(points=box(2, 64), order=SWAP, shape='64x2')}",
    f"{V}\n  {T}\n  %t = {tile('%tile * 4, 0')}",
    f"{V}\n  {I}\n  %t = {gather('ind(%i[%a]), (%b mod 64)')}",
    f"%w = {view('%n, 64')}",
    f"%w = {view('8, 64', '1, 8')}",
    f"{X}\n  {P}\n  %a = {reduce()}",
    *(
        combined(name, number).replace("§", "")
        for name, number in [("addf", "-0.0"), ("mulf", "1.0"), ("maxnumf", "0xFC00"), ("minimumf", "65504.0")]
    ),
    f"{X}\n  {P}\n  %a = {consume(chosen=LEFT)}",
    f"{X}\n  {produce(tiles=FIRST)}\n  %a = {consume()}",
    f"{X}\n  %y = tensor.extract_slice %x[%n, 0] [1, 64] [1, 1] : tensor<4x64xf16> to tensor<64xf16>",
    f"{X}\n  %y = tensor.collapse_shape %x [[0, 1]] : tensor<4x64xf16> into tensor<256xf16>",
]  # fmt: skip


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right_is_not_found_fault_with(text):
    assert verify(parse(_inside(text))) == []


@pytest.mark.parametrize("at", ["6, 0", "0, -1"])
def test_an_access_outside_of_its_view_is_a_warning_where_it_is_masked(at):
    module = parse(_inside(f"{V}\n  %t = {tile(at)}"))
    assert [d.severity for d in verify(module)] == ["error"]
    (found,) = verify(module, is_masked=True)
    assert found.severity == "warning" and "outside its extent" in found.message


def test_groups_and_tiles_that_are_no_box_are_enumerated():
    even = "affine_set<(g) : (g mod 2 == 0, g >= 0, 3 - g >= 0)>"
    future = f"<(tensor<4x64xf16>), groups = {even}>"
    same = "affine_set<(t)[g] : (t >= 0, 1 - t >= 0)>"
    found = _found(
        _inside(f"{X}\n  {produce(future, tiles=same)}\n  %a = {reduce(future=future, tiles=same)}")
    )
    assert "for groups 0 and 2 are not disjoint" in found[0].message


def test_everything_that_is_wrong_is_told_at_once():
    body = f"%w = {view('9, 64', points=box(9, 64))}\n  {V}\n  %t = {tile('6, 0')}\n  %y = ktdp.load %t : <4x64xindex> -> tensor<4x32xf16>"
    assert [(d.op, d.where.line) for d in _found(_inside(body))] == [
        ("ktdp.construct_memory_view", 2),
        ("ktdp.construct_access_tile", 4),
        ("ktdp.load", 5),
    ]


def test_an_op_whose_operand_is_malformed_is_left_alone():
    body = f"%v = {view(strides='64')}\n  %t = {tile('6, 0')}"
    assert [d.op for d in _found(_inside(body))] == ["ktdp.construct_memory_view"]
