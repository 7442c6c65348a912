import pytest

from headrace.ir.arguments import UNKNOWN, Argument, arguments, grid, host_function
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse

MAPS = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
"""


def view(
    name: str, start: str, sizes: str, strides: str, ty: str, space: str = "global", sets: str = "#t"
) -> str:
    return (
        f"%{name} = ktdp.construct_memory_view %{start}, sizes: [{sizes}], strides: [{strides}] "
        f"{{coordinate_set = {sets}, memory_space = #ktdp.memory_space<{space}>}} : memref<{ty}>"
    )


def tile(name: str, of: str, ty: str) -> str:
    return (
        f"%{name} = ktdp.construct_access_tile %{of}[0, 0] {{access_tile_order = #id, access_tile_set = #t}} "
        f": memref<{ty}> -> !ktdp.access_tile<4x64xindex>"
    )


def load(name: str, at: str) -> str:
    return f"%{name} = ktdp.load %{at} : <4x64xindex> -> tensor<4x64xf16>"


def store(value: str, at: str) -> str:
    return f"ktdp.store %{value}, %{at} : tensor<4x64xf16>, <4x64xindex>"


def module(body: list[str], args: str = "%a: index, %b: index", attributes: str = "grid = [8]") -> object:
    text = "\n".join(body)
    return parse(f"{MAPS}\nfunc.func @f({args}) attributes {{{attributes}}} {{\n{text}\nreturn\n}}")


def test_roles_follow_loads_and_stores():
    m = module(
        [
            view("va", "a", "4, 64", "64, 1", "4x64xf16"),
            view("vb", "b", "4, 64", "64, 1", "4x64xf16"),
            *(tile(f"t{v}", f"v{v}", "4x64xf16") for v in "ab"),
            load("x", "ta"),
            load("y", "tb"),
            store("x", "tb"),
        ]
    )
    assert arguments(m) == (
        Argument("a", "memory", "f16", (4, 64), "in"),
        Argument("b", "memory", "f16", (4, 64), "inout"),
    )


def test_a_view_per_tile_counts_as_far_as_the_last_tile_reaches():
    m = module(
        [
            "%t = ktdp.get_compute_tile_id : index",
            "%c256 = arith.constant 256 : index",
            "%o = arith.muli %t, %c256 : index",
            "%p = arith.addi %a, %o : index",
            view("va", "p", "4, 64", "64, 1", "4x64xf16"),
            tile("ta", "va", "4x64xf16"),
            load("x", "ta"),
        ],
        "%a: index",
    )
    assert arguments(m)[0].shape == (8 * 256,)


def test_a_permuted_dense_view_is_given_in_the_order_of_memory():
    m = module([view("va", "a", "4, 64", "1, 4", "4x64xf16"), tile("ta", "va", "4x64xf16"), load("x", "ta")])
    assert arguments(m)[0].shape == (64, 4)
    assert arguments(m)[1] == Argument("b", "unused", "index")


def test_dynamic_extents_take_scalars_then_examples_then_are_unknown():
    body = [view("va", "a", "%n, 64", "64, 1", "?x64xf16"), tile("ta", "va", "?x64xf16"), load("x", "ta")]
    plain = module(body, "%a: index, %n: index")
    assert arguments(plain)[0].shape == (UNKNOWN, 64)
    assert arguments(plain, scalars={"n": 5})[0].shape == (5, 64)
    example = module(body, "%a: index, %n: index", "headrace.example = {n = 7 : index}")
    assert arguments(example)[0].shape == (7, 64)
    assert arguments(example)[1] == Argument("n", "scalar", "index", example=7)


def test_local_views_are_scratch_and_indices_know_their_limit():
    ids = "affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>"
    m = module(
        [
            view("va", "a", "100, 64", "64, 1", "100x64xf16"),
            view("vi", "i", "4", "1", "4xi32", sets=ids),
            view("vs", "s", "4, 64", "64, 1", "4x64xf16", "ct_local"),
            "%g = ktdp.construct_indirect_access_tile intermediate_variables(%p, %q) %va[ind(%vi[%p]), (%q)] "
            "{variables_space_order = #id, variables_space_set = #t} "
            ": memref<100x64xf16>, memref<4xi32> -> !ktdp.access_tile<4x64xindex>",
            load("x", "g"),
            tile("ts", "vs", "4x64xf16"),
            store("x", "ts"),
        ],
        "%a: index, %i: index, %s: index, %eps: f32",
    )
    found = {a.name: a for a in arguments(m)}
    assert found["i"] == Argument("i", "memory", "i32", (4,), "in", index_limit=100)
    assert found["s"].kind == "lx" and found["s"].role == "scratch" and found["s"].shape == (4, 64)
    assert found["eps"] == Argument("eps", "scalar", "f32")


def test_a_module_takes_what_its_host_function_takes():
    kernel = "\n".join(
        [view("v", "p", "4, 64", "64, 1", "4x64xf16"), tile("t", "v", "4x64xf16"), load("x", "t")]
    )
    write = (
        kernel.replace("%x = ktdp.load %t : <4x64xindex> -> tensor<4x64xf16>", "")
        + "\n"
        + "\n".join(["%e = arith.constant dense<0.0> : tensor<4x64xf16>", store("e", "t")])
    )
    text = f"""{MAPS}
    func.func private @w(%p: index) attributes {{grid = [4]}} {{ {write}
      return }}
    func.func private @r(%p: index) attributes {{grid = [2]}} {{ {kernel}
      return }}
    func.func @host(%buffer: index) {{
      func.call @w(%buffer) : (index) -> ()
      func.call @r(%buffer) : (index) -> ()
      return
    }}"""
    m = parse(text)
    host = host_function(m)
    assert host is not None and host.sym_name.data == "host"
    assert arguments(m) == (Argument("buffer", "memory", "f16", (4, 64), "out"),)
    assert arguments(m, "r") == (Argument("p", "memory", "f16", (4, 64), "in"),)
    assert [grid(f) for f in m.body.block.ops] == [(4,), (2,), (1,)]
    with pytest.raises(HeadraceError, match="no function 'q'"):
        arguments(m, "q")
