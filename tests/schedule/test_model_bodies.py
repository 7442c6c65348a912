"""Structured ops: regions, combiners, contractions and named ops become nests that compute what they say."""

from __future__ import annotations

import pytest

from headrace.ir.diagnostics import HeadraceError
from tests.schedule.ktir_texts import Text, identity, kind
from tests.schedule.model_checks import check, computes, graph_of

ROW = "affine_map<(d0, d1) -> (d0)>"
COLUMN = "affine_map<(d0, d1) -> (d1)>"


def unary(op: str, element: str = "f32") -> str:
    """y = op x on a 5 x 6 matrix."""
    t, shape = Text(), [5, 6]
    zero = t.index(0)
    x, y = t.view("x", shape, element), t.view("y", shape, element)
    value = t.load(x, shape, element, [zero, zero], shape)
    result = t.let(op.format(x=value, t=f"tensor<5x6x{element}>", e=t.empty(shape, element)))
    t.store(result, y, shape, element, [zero, zero], shape)
    return t.module()


@pytest.mark.parametrize("name", ["exp", "abs", "ceil", "floor", "tanh", "erf", "negf", "square", "round"])
def test_named_functions_are_the_math_ops(name: str) -> None:
    (nest,) = computes(check(unary(f"linalg.{name} ins({{x}} : {{t}}) outs({{e}} : {{t}}) -> {{t}}")))
    assert nest.contraction is None


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_tensor_ops_round_in_their_own_type(element: str) -> None:
    check(unary("math.tanh {x} : {t}", element))


def binary(op: str, element: str) -> str:
    t, shape = Text(), [5, 6]
    zero = t.index(0)
    views = [t.view(n, shape, element) for n in "xyz"]
    a, b = (t.load(v, shape, element, [zero, zero], shape) for v in views[:2])
    of = f"tensor<{kind(shape, element)}>"
    result = t.let(op.format(a=a, b=b, t=of, e=t.empty(shape, element)))
    t.store(result, views[2], shape, element, [zero, zero], shape)
    return t.module()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "min"])
@pytest.mark.parametrize("element", ["f16", "i32"])
def test_named_elementwise_ops(name: str, element: str) -> None:
    check(binary(f"linalg.{name} ins({{a}}, {{b}} : {{t}}, {{t}}) outs({{e}} : {{t}}) -> {{t}}", element))


def test_an_elementwise_map_takes_a_region() -> None:
    check(
        binary(
            "linalg.map ins({a}, {b} : {t}, {t}) outs({e} : {t}) (%p: f32, %q: f32) {{\n"
            "%r = arith.mulf %p, %q : f32\nlinalg.yield %r : f32\n}}",
            "f32",
        )
    )


CONTRACTIONS = {
    "matmul": ([5, 6], [6, 7], [5, 7]),
    "matmul_transpose_a": ([6, 5], [6, 7], [5, 7]),
    "matmul_transpose_b": ([5, 6], [7, 6], [5, 7]),
    "batch_matmul": ([3, 5, 6], [3, 6, 7], [3, 5, 7]),
    "batch_matmul_transpose_b": ([3, 5, 6], [3, 7, 6], [3, 5, 7]),
    "matvec": ([5, 6], [6], [5]),
    "vecmat": ([6], [6, 7], [7]),
    "batch_matvec": ([3, 5, 6], [3, 6], [3, 5]),
    "dot": ([6], [6], []),
}


def product(
    op: str, shapes: tuple[list[int], list[int], list[int]], element: str, out: str, init: str
) -> str:
    """c = init + a b."""
    t = Text()
    zero = t.index(0)
    a, b, c = shapes
    views = [t.view(n, s, e) for n, s, e in (("a", a, element), ("b", b, element), ("c", c or [1], out))]
    left, right = (t.load(v, s, element, [zero] * len(s), s) for v, s in ((views[0], a), (views[1], b)))
    start = t.fill(init, c, out)
    result = t.let(
        f"linalg.{op} ins({left}, {right} : tensor<{kind(a, element)}>, tensor<{kind(b, element)}>) "
        f"outs({start} : tensor<{kind(c, out)}>) -> tensor<{kind(c, out)}>"
    )
    if not c:
        result = t.let(
            f"tensor.expand_shape {result} [] output_shape [1] : tensor<{out}> into tensor<1x{out}>"
        )
    t.store(result, views[2], c or [1], out, [zero] * len(c or [1]), c or [1])
    return t.module()


@pytest.mark.parametrize("op", sorted(CONTRACTIONS))
def test_named_contractions_are_contractions(op: str) -> None:
    (nest,) = computes(check(product(op, CONTRACTIONS[op], "f16", "f32", "0.5")))
    assert nest.contraction is not None and len(nest.body) == 3
    roles = nest.contraction
    assert len(roles.k) == 1 and len(roles.batch) == op.startswith("batch")


@pytest.mark.parametrize(
    "element,out", [("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32"), ("i32", "i32")]
)
def test_contractions_take_every_type(element: str, out: str) -> None:
    init = "0.0" if out.startswith("f") else "3"
    (nest,) = computes(check(product("matmul", CONTRACTIONS["matmul"], element, out, init)))
    assert nest.contraction is not None and nest.body[0].dtype == element


def generic(maps: list[str], kinds: list[str], shapes: list[list[int]], body: str, init: str = "0.0") -> str:
    """out = generic over f16 inputs (the last shape is the f32 out)."""
    t = Text()
    zero = t.index(0)
    *ins, out = shapes
    values = [t.load(t.view(f"x{k}", s, "f16"), s, "f16", [zero] * len(s), s) for k, s in enumerate(ins)]
    y = t.view("y", out)
    start = t.fill(init, out, "f32")
    args = ", ".join([*(f"%a{k}: f16" for k in range(len(ins))), "%o: f32"])
    iterators = ", ".join(f'"{k}"' for k in kinds)
    inputs = ", ".join(values) + " : " + ", ".join(f"tensor<{kind(s, 'f16')}>" for s in ins)
    of = f"tensor<{kind(out, 'f32')}>"
    result = t.let(
        f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}} "
        f"ins({inputs}) outs({start} : {of}) {{\n^bb0({args}):\n{body}\n}} -> {of}"
    )
    t.store(result, y, out, "f32", [zero] * len(out), out)
    return t.module()


WIDEN = "%p = arith.extf %a0 : f16 to f32\n%q = arith.extf %a1 : f16 to f32\n"
SUM = WIDEN + "%r = arith.mulf %p, %q : f32\n%s = arith.addf %r, %o : f32\nlinalg.yield %s : f32"


def test_a_generic_product_in_any_dim_order_is_a_contraction() -> None:
    maps = [f"affine_map<(d0, d1, d2, d3, d4) -> ({m})>" for m in ("d4, d0, d2", "d1, d3, d0, d4", "d2, d3")]
    kinds = ["reduction", "reduction", "parallel", "parallel", "reduction"]
    text = generic(maps[:1] + [maps[1]] + maps[2:], kinds, [[2, 3, 4], [5, 6, 3, 2], [4, 6]], SUM)
    (nest,) = computes(check(text))
    assert nest.contraction is None  # d1 is in one operand only: a reduction, not a product of matrices
    kinds = ["reduction", "parallel", "parallel", "parallel", "reduction"]
    maps[2] = "affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2)>"
    (nest,) = computes(check(generic(maps, kinds, [[2, 3, 4], [5, 6, 3, 2], [6, 5, 4]], SUM)))
    roles = nest.contraction
    assert roles is not None and (len(roles.m), len(roles.n), len(roles.k)) == (1, 2, 2)


PRODUCT_MAPS = [f"affine_map<(d0, d1, d2) -> ({m})>" for m in ("d0, d2", "d2, d1", "d0", "d0, d1")]
FACTORS = {
    "constant": ("%c = arith.constant 0.5 : f32\n%h = arith.mulf %r, %c : f32\n", 2),
    "row": ("%w = arith.extf %a2 : f16 to f32\n%h = arith.mulf %r, %w : f32\n", 2),
    "negative": ("%h = arith.negf %r : f32\n", 2),
    "prologue": ("%g = math.exp %p : f32\n%h = arith.mulf %g, %q : f32\n", 3),
    "both": (
        "%g = math.exp %p : f32\n%w = arith.extf %a2 : f16 to f32\n%e = arith.mulf %g, %w : f32\n"
        "%h = arith.mulf %e, %q : f32\n",
        3,
    ),
}


@pytest.mark.parametrize("init", ["0.0", "2.0"])
@pytest.mark.parametrize("name", sorted(FACTORS))
def test_a_product_with_more_in_it_is_a_plain_product_and_nests_around_it(name: str, init: str) -> None:
    lines, count = FACTORS[name]
    body = (
        WIDEN
        + "%r = arith.mulf %p, %q : f32\n"
        + lines
        + "%s = arith.addf %h, %o : f32\nlinalg.yield %s : f32"
    )
    shapes = [[4, 5], [5, 6], [4], [4, 6]]
    graph = check(generic(PRODUCT_MAPS, ["parallel", "parallel", "reduction"], shapes, body, init))
    nests = computes(graph)
    assert len(nests) == count and sum(n.contraction is not None for n in nests) == 1


def test_what_repeats_along_a_dim_is_computed_once() -> None:
    body = WIDEN + "%e = math.exp %q : f32\n%r = arith.mulf %p, %e : f32\nlinalg.yield %r : f32"
    maps = [identity(2), ROW, identity(2)]
    first, second = computes(check(generic(maps, ["parallel", "parallel"], [[4, 5], [4], [4, 5]], body)))
    assert [d.extent for d in first.dims] == [4] and first.dims[0].name == second.dims[0].name


REDUCTIONS = {
    "sub": ("%s = arith.subf %o, %p : f32", "0.0", "add"),
    "fma": ("%s = math.fma %p, %p, %o : f32", "0.0", "add"),
    "maxnum": ("%s = arith.maxnumf %p, %o : f32", "0xFF800000", "max"),
    "min": ("%s = arith.minimumf %o, %p : f32", "0x7F800000", "min"),
    "select": ("%c = arith.cmpf ogt, %p, %o : f32\n%s = arith.select %c, %p, %o : f32", "0xFF800000", "max"),
    "mirrored": (
        "%c = arith.cmpf ogt, %o, %p : f32\n%s = arith.select %c, %p, %o : f32",
        "0x7F800000",
        "min",
    ),
}


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
def test_reduction_regions_are_recognised(name: str) -> None:
    line, init, combiner = REDUCTIONS[name]
    body = f"%p = arith.extf %a0 : f16 to f32\n{line}\nlinalg.yield %s : f32"
    text = generic([identity(2), ROW], ["parallel", "reduction"], [[4, 9], [4]], body, init)
    (nest,) = computes(check(text))
    assert nest.outs[0].combiner == combiner


def test_an_accumulation_through_casts_is_one_sum() -> None:
    t = Text()
    zero, shape = t.index(0), [4, 9]
    x, y = t.view("x", shape, "f16"), t.view("y", [4], "f16")
    value, start = t.load(x, shape, "f16", [zero, zero], shape), t.fill("0.0", [4], "f16")
    result = t.let(
        f'linalg.generic {{indexing_maps = [{identity(2)}, {ROW}], iterator_types = ["parallel", '
        f'"reduction"]}} '
        f"ins({value} : tensor<4x9xf16>) outs({start} : tensor<4xf16>) {{\n^bb0(%a: f16, %o: f16):\n"
        "%p = arith.extf %a : f16 to f32\n%q = arith.extf %o : f16 to f32\n%r = arith.addf %p, %q : f32\n"
        "%s = arith.truncf %r : f32 to f16\nlinalg.yield %s : f16\n} -> tensor<4xf16>"
    )
    t.store(result, y, [4], "f16", [zero], [4])
    (nest,) = computes(check(t.module()))
    assert nest.outs[0].combiner == "add"


def test_an_unknown_combination_is_refused_with_a_hint() -> None:
    body = "%p = arith.extf %a0 : f16 to f32\n%s = arith.divf %o, %p : f32\nlinalg.yield %s : f32"
    text = generic([identity(2), ROW], ["parallel", "reduction"], [[4, 9], [4]], body, "1.0")
    with pytest.raises(HeadraceError, match="none of the known combinations") as error:
        graph_of(text)
    assert error.value.diagnostics[0].hint and error.value.diagnostics[0].where is not None


def test_two_reductions_of_one_generic_are_two_outs() -> None:
    t = Text()
    zero, shape = t.index(0), [4, 9]
    x, y, z = t.view("x", shape), t.view("y", [4]), t.view("z", [4])
    value = t.load(x, shape, "f32", [zero, zero], shape)
    start, low = t.fill("0.0", [4], "f32"), t.fill("0xFF800000", [4], "f32")
    t.do(
        f"%r:2 = linalg.generic {{indexing_maps = [{identity(2)}, {ROW}, {ROW}], iterator_types = "
        f'["parallel", '
        f'"reduction"]}} ins({value} : tensor<4x9xf32>) outs({start}, {low} : tensor<4xf32>, '
        f"tensor<4xf32>) {{\n"
        "^bb0(%a: f32, %o: f32, %m: f32):\n%s = arith.addf %a, %o : f32\n%n = arith.maximumf %a, %m : f32\n"
        "linalg.yield %s, %n : f32, f32\n} -> (tensor<4xf32>, tensor<4xf32>)"
    )
    t.store("%r#0", y, [4], "f32", [zero], [4])
    t.store("%r#1", z, [4], "f32", [zero], [4])
    (nest,) = computes(check(t.module()))
    assert [o.combiner for o in nest.outs] == ["add", "max"]


@pytest.mark.parametrize(
    "predicate,init", [("ogt", "0xFF800000"), ("olt", "0x7F800000"), ("oge", "0xFF800000")]
)
def test_argmax_is_the_best_value_and_where_it_stands(predicate: str, init: str) -> None:
    t = Text()
    zero, shape = t.index(0), [4, 9]
    x, y, z = t.view("x", shape, "i8"), t.view("y", [4]), t.view("z", [4], "i64")
    narrow = t.load(x, shape, "i8", [zero, zero], shape)
    few = t.fill("7", shape, "i8")
    repeated = t.let(f"arith.remsi {narrow}, {few} : tensor<4x9xi8>")
    value = t.let(f"arith.sitofp {repeated} : tensor<4x9xi8> to tensor<4x9xf32>")
    start, first = t.fill(init, [4], "f32"), t.fill("-5", [4], "i64")
    t.do(
        f"%r:2 = linalg.generic {{indexing_maps = [{identity(2)}, {ROW}, {ROW}], iterator_types = "
        f'["parallel", '
        f'"reduction"]}} ins({value} : tensor<4x9xf32>) outs({start}, {first} : tensor<4xf32>, '
        f"tensor<4xi64>) {{\n"
        "^bb0(%a: f32, %o: f32, %m: i64):\n%i = linalg.index 1 : index\n%j = arith.index_cast %i : index "
        "to i64\n"
        f"%c = arith.cmpf {predicate}, %a, %o : f32\n%s = arith.select %c, %a, %o : f32\n"
        "%n = arith.select %c, %j, %m : i64\nlinalg.yield %s, %n : f32, i64\n} -> (tensor<4xf32>, "
        "tensor<4xi64>)"
    )
    t.store("%r#0", y, [4], "f32", [zero], [4])
    t.store("%r#1", z, [4], "i64", [zero], [4])
    check(t.module())


def test_data_movement_needs_no_nest() -> None:
    t = Text()
    zero = t.index(0)
    x, y = t.view("x", [6, 4], "f16"), t.view("y", [3, 4, 6], "f16")
    value = t.load(x, [6, 4], "f16", [zero, zero], [6, 4])
    e1, e2 = t.empty([4, 6], "f16"), t.empty([3, 4, 6], "f16")
    turned = t.let(
        f"linalg.transpose ins({value} : tensor<6x4xf16>) outs({e1} : tensor<4x6xf16>) permutation = [1, 0]"
    )
    wide = t.let(
        f"linalg.broadcast ins({turned} : tensor<4x6xf16>) outs({e2} : tensor<3x4x6xf16>) dimensions = [0]"
    )
    result = t.let(f"math.absf {wide} : tensor<3x4x6xf16>")
    t.store(result, y, [3, 4, 6], "f16", [zero] * 3, [3, 4, 6])
    (nest,) = computes(check(t.module()))
    first, second, third = (d.name for d in nest.dims)
    assert [a.dim for a in nest.ins[0].axes] == [third, second] and first not in [
        a.dim for a in nest.ins[0].axes
    ]


def test_integer_coordinates_and_compares_make_masks() -> None:
    body = (
        "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n%c = arith.cmpi sle, %j, %i : index\n"
        "%w = arith.extf %a0 : f16 to f32\n%s = arith.select %c, %w, %o : f32\nlinalg.yield %s : f32"
    )
    check(generic([identity(2), identity(2)], ["parallel", "parallel"], [[5, 5], [5, 5]], body, "-7.0"))


def test_coordinates_that_are_not_linear_stay_in_the_body() -> None:
    body = (
        "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n%t = arith.constant 3 : index\n"
        "%k = arith.muli %i, %j : index\n%l = arith.remui %k, %t : index\n%m = arith.index_cast %l : "
        "index to i32\n"
        "%f = arith.sitofp %m : i32 to f32\n%w = arith.extf %a0 : f16 to f32\n%s = arith.addf %w, %f : f32\n"
        "linalg.yield %s : f32"
    )
    check(generic([identity(2), identity(2)], ["parallel", "parallel"], [[5, 6], [5, 6]], body))


def test_scalars_computed_from_data_are_rank_0_values() -> None:
    t = Text()
    zero, two = t.index(0), t.index(2)
    x, y = t.view("x", [4, 6]), t.view("y", [4, 6])
    value = t.load(x, [4, 6], "f32", [zero, zero], [4, 6])
    number = t.let(f"tensor.extract {value}[{two}, {zero}] : tensor<4x6xf32>")
    root = t.let(f"math.exp {number} : f32")
    positive = t.let(f"arith.cmpf ogt, {number}, {root} : f32")
    chosen = t.let(f"arith.select {positive}, {number}, {root} : f32")
    wide = t.let(f"tensor.splat {chosen} : tensor<4x6xf32>")
    result = t.let(f"arith.mulf {value}, {wide} : tensor<4x6xf32>")
    t.store(result, y, [4, 6], "f32", [zero, zero], [4, 6])
    graph = check(t.module())
    assert any(not n.dims for n in computes(graph))


def test_a_branch_on_data_selects_between_both_results() -> None:
    t = Text()
    zero = t.index(0)
    x, y = t.view("x", [4]), t.view("y", [4])
    value = t.load(x, [4], "f32", [zero], [4])
    number = t.let(f"tensor.extract {value}[{zero}] : tensor<4xf32>")
    limit = t.let("arith.constant 0.0 : f32")
    condition = t.let(f"arith.cmpf ogt, {number}, {limit} : f32")
    t.do(f"%r = scf.if {condition} -> (tensor<4xf32>) {{")
    t.do(f"%p = math.exp {value} : tensor<4xf32>\nscf.yield %p : tensor<4xf32>\n}} else {{")
    t.do(f"scf.yield {value} : tensor<4xf32>\n}}")
    t.store("%r", y, [4], "f32", [zero], [4])
    check(t.module(), seed=1)
    check(t.module(), seed=2)


@pytest.mark.parametrize("dense", ["[1.0, -2.0, 4.0]", "[0.5, 0.5, 0.5]"])
def test_small_dense_constants_are_computed(dense: str) -> None:
    t = Text()
    zero = t.index(0)
    x, y = t.view("x", [2, 3]), t.view("y", [2, 3])
    value = t.load(x, [2, 3], "f32", [zero, zero], [2, 3])
    table = t.let(f"arith.constant dense<{dense}> : tensor<3xf32>")
    empty = t.empty([2, 3], "f32")
    wide = t.let(
        f"linalg.broadcast ins({table} : tensor<3xf32>) outs({empty} : tensor<2x3xf32>) dimensions = [0]"
    )
    result = t.let(f"arith.mulf {value}, {wide} : tensor<2x3xf32>")
    t.store(result, y, [2, 3], "f32", [zero, zero], [2, 3])
    check(t.module())


def test_equal_statements_are_made_once_and_unused_ones_not_at_all() -> None:
    t = Text()
    zero = t.index(0)
    x, y = t.view("x", [4]), t.view("y", [4])
    a, b = (t.load(x, [4], "f32", [zero], [4]) for _ in range(2))
    p, q = (t.let(f"math.exp {v} : tensor<4xf32>") for v in (a, b))
    t.let(f"math.tanh {a} : tensor<4xf32>")
    result = t.let(f"arith.addf {p}, {q} : tensor<4xf32>")
    t.store(result, y, [4], "f32", [zero], [4])
    assert len(computes(check(t.module()))) == 2


def convolution(op: str, shapes: tuple[list[int], list[int], list[int]], init: str = "0.0") -> str:
    """A 2-d convolution or pooling of f32 with stride 2 and dilation 1."""
    t = Text()
    zero = t.index(0)
    image, window, out = shapes
    values = [t.load(t.view(n, s), s, "f32", [zero] * len(s), s) for n, s in (("x", image), ("w", window))]
    start = t.fill(init, out, "f32")
    types = [f"tensor<{kind(s, 'f32')}>" for s in shapes]
    result = t.let(
        f"linalg.{op} {{dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}} "
        f"ins({', '.join(values)} : {types[0]}, {types[1]}) outs({start} : {types[2]}) -> {types[2]}"
    )
    t.store(result, t.view("y", out), out, "f32", [zero] * len(out), out)
    return t.module()


def test_a_convolution_is_a_contraction_over_windows() -> None:
    shapes = ([2, 3, 9, 11], [4, 3, 3, 3], [2, 4, 4, 5])
    (nest,) = computes(check(convolution("conv_2d_nchw_fchw", shapes, "0.5")))
    roles = nest.contraction
    assert roles is not None and (len(roles.m), len(roles.n), len(roles.k)) == (3, 1, 3)


def test_a_pooling_is_a_reduction_over_windows() -> None:
    shapes = ([2, 3, 9, 11], [3, 3], [2, 3, 4, 5])
    (nest,) = computes(check(convolution("pooling_nchw_max", shapes, "0xFF800000")))
    assert nest.outs[0].combiner == "max" and nest.contraction is None


def test_a_window_map_on_a_computed_tensor_is_refused_with_a_way_out() -> None:
    text = convolution("pooling_nchw_max", ([2, 3, 9, 11], [3, 3], [2, 3, 4, 5]), "0xFF800000")
    lines = text.split("\n")
    at = next(k for k, line in enumerate(lines) if "ktdp.load" in line)
    name, of = lines[at].split(" = ")[0].strip(), "tensor<2x3x9x11xf32>"
    lines.insert(at + 1, f"%e = math.exp {name} : {of}")
    changed = "\n".join(lines[: at + 2] + [x.replace(f"ins({name},", "ins(%e,") for x in lines[at + 2 :]])
    with pytest.raises(HeadraceError, match="walks a computed tensor"):
        graph_of(changed)
