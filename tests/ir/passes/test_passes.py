"""What each pass rewrites, and what it leaves alone."""

from __future__ import annotations

import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.passes import PASSES, parse_pipeline, run_pipeline
from headrace.ir.text import parse, print_module

VIEW = """
  %v = ktdp.construct_memory_view %x, sizes: [8], strides: [1] {coordinate_set = #s, memory_space = #ktdp.memory_space<global>} : memref<8xf32>
  %b = ktdp.construct_access_tile %v[%c0] {access_tile_order = #m, access_tile_set = #s} : memref<8xf32> -> !ktdp.access_tile<8xindex>
"""  # noqa: E501


def body(lines: str, pipeline: str, declaration: str = "") -> list[str]:
    """The ops of a function after a pipeline, its return left out."""
    text = f"""
#s = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>
#m = affine_map<(d0) -> (d0)>
{declaration}
func.func @f(%x: index, %n: index, %f: f32, %t: tensor<4x8xf32>, %q: i1) {{
  %c0 = arith.constant 0 : index
  {lines}
  return
}}"""
    printed = print_module(run_pipeline(parse(text), parse_pipeline(pipeline)))
    inside = [line.strip() for line in printed.splitlines()]
    return [line for line in inside if line.startswith(("%", "ktdp.store", "scf"))]


def kept(expression: str, kind: str, pipeline: str = "canonicalize") -> list[str]:
    """What is left of an expression `%r` that a call keeps alive."""
    lines = f"{expression}\n func.call @use(%r) : ({kind}) -> ()"
    return body(lines, pipeline, f"func.func private @use({kind})")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("%r = arith.addi %n, %c0 : index", "index"),
        ("%r = arith.addi %c0, %n : index", "index"),
        ("%r = arith.subi %n, %c0 : index", "index"),
        ("%k = arith.constant 1.0 : f32\n %r = arith.mulf %f, %k : f32", "f32"),
        ("%k = arith.constant -0.0 : f32\n %r = arith.addf %f, %k : f32", "f32"),
        ("%r = arith.select %q, %n, %n : index", "index"),
        ("%r = affine.apply affine_map<(d0) -> (d0)>(%n)", "index"),
        ("%w = arith.extf %f : f32 to f64\n %r = arith.truncf %w : f64 to f32", "f32"),
        ("%a = arith.negf %f : f32\n %r = arith.negf %a : f32", "f32"),
    ],
)
def test_canonicalize_finds_what_an_op_gives_back(text: str, kind: str) -> None:
    assert kept(text, kind) == []


@pytest.mark.parametrize(
    "text",
    [
        "%k = arith.constant 0.0 : f32\n %r = arith.addf %f, %k : f32",
        "%k = arith.constant 0.0 : f32\n %r = arith.mulf %f, %k : f32",
        "%h = arith.truncf %f : f32 to f16\n %r = arith.extf %h : f16 to f32",
        "%r = arith.subf %f, %f : f32",
    ],
)
def test_canonicalize_leaves_what_only_looks_like_an_identity(text: str) -> None:
    assert kept(text, "f32")


def test_shape_ops_that_undo_each_other_go() -> None:
    text = """
    %a = tensor.expand_shape %t [[0], [1, 2]] output_shape [4, 8, 1] : tensor<4x8xf32> into tensor<4x8x1xf32>
    %r = tensor.collapse_shape %a [[0], [1, 2]] : tensor<4x8x1xf32> into tensor<4x8xf32>"""
    assert kept(text, "tensor<4x8xf32>") == []


def test_branches_and_loops_that_are_known_are_inlined() -> None:
    text = """%one = arith.constant 1 : index
    %yes = arith.constant true
    %r = scf.if %yes -> (f32) {
      %s = scf.for %i = %c0 to %one step %one iter_args(%a = %f) -> (f32) {
        %b = arith.addf %a, %f : f32
        scf.yield %b : f32
      }
      scf.yield %s : f32
    } else {
      scf.yield %f : f32
    }"""
    assert kept(text, "f32") == ["%b = arith.addf %f, %f : f32"]


def test_loops_carry_nothing_that_nobody_needs() -> None:
    text = """%one = arith.constant 1 : index
    %u:3 = scf.for %i = %c0 to %n step %one iter_args(%a = %f, %b = %f, %c = %f) -> (f32, f32, f32) {
      %d = arith.addf %a, %c : f32
      scf.yield %d, %b, %c : f32, f32, f32
    }
    %r = arith.addf %u#0, %u#1 : f32"""
    found = kept(text, "f32")
    loop = next(line for line in found if "scf.for" in line)
    assert loop.endswith("iter_args(%a = %f) -> (f32) {")
    assert any(line.startswith("%d = arith.addf %a, %f") for line in found)
    assert found[-1].endswith(", %f : f32")


def test_division_by_zero_is_not_folded() -> None:
    text = "%a = arith.constant 7 : i32\n %z = arith.constant 0 : i32\n %r = arith.divsi %a, %z : i32"
    assert any("divsi" in line for line in kept(text, "i32"))


def test_fold_without_floats_keeps_them() -> None:
    text = "%a = arith.constant 2.0 : f32\n %r = arith.addf %a, %a : f32"
    assert any("addf" in line for line in kept(text, "f32", "fold{with-floats=false},dce"))
    assert kept(text, "f32", "fold,dce") == ["%r = arith.constant 4.000000e+00 : f32"]


def test_subscripts_that_are_constant_move_into_the_tile() -> None:
    lines = VIEW + "%r = ktdp.load %b : <8xindex> -> tensor<8xf32>"
    assert any("%v[0]" in line for line in kept(lines, "tensor<8xf32>"))


def test_cse_takes_loads_only_when_nothing_was_written() -> None:
    lines = (
        VIEW
        + """
    %p = ktdp.load %b : <8xindex> -> tensor<8xf32>
    %o = ktdp.load %b : <8xindex> -> tensor<8xf32>
    %z = arith.addf %p, %o : tensor<8xf32>
    ktdp.store %z, %b : tensor<8xf32>, <8xindex>
    %l = ktdp.load %b : <8xindex> -> tensor<8xf32>
    ktdp.store %l, %b : tensor<8xf32>, <8xindex>"""
    )
    count = lambda pipeline: sum("ktdp.load" in line for line in body(lines, pipeline))  # noqa: E731
    assert (count("dce"), count("cse"), count("cse{with-loads=false}")) == (3, 2, 3)


def test_cse_does_not_reach_over_a_loop_that_writes() -> None:
    lines = (
        VIEW
        + """
    %one = arith.constant 1 : index
    %p = ktdp.load %b : <8xindex> -> tensor<8xf32>
    scf.for %i = %c0 to %n step %one {
      %o = ktdp.load %b : <8xindex> -> tensor<8xf32>
      %z = arith.addf %p, %o : tensor<8xf32>
      ktdp.store %z, %b : tensor<8xf32>, <8xindex>
    }"""
    )
    assert sum("ktdp.load" in line for line in body(lines, "cse")) == 2


def test_dce_keeps_what_writes() -> None:
    lines = VIEW + "%p = ktdp.load %b : <8xindex> -> tensor<8xf32>\n %q2 = arith.negf %p : tensor<8xf32>"
    assert body(lines, "dce") == []
    stored = lines + "\n ktdp.store %p, %b : tensor<8xf32>, <8xindex>"
    assert [line.split()[0] for line in body(stored, "dce")][-1] == "ktdp.store"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("canonicalise", "no pass 'canonicalise'", "did you mean canonicalize?"),
        ("inline", "no pass 'inline'", "passes are "),
        ("cse{loads=1}", "pass 'cse' has no option 'loads'", "with-loads"),
        ("dce{all}", "pass 'dce' has no option 'all'", "it takes none"),
        ("cse{with-loads=maybe}", "not true or false", ""),
        ("canonicalize{max-iterations=many}", "not a number", "the default is 10"),
        ("cse;dce", "cannot read", "pass,pass{option=value"),
        ("cse{with-loads=true", "cannot read", "pass,pass{option=value"),
    ],
)
def test_a_wrong_pipeline_is_said_to_be_wrong(text: str, message: str, hint: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        parse_pipeline(text)
    found = caught.value.diagnostics[0]
    assert message in found.message and hint in found.hint


def test_pipelines_take_options_and_spaces() -> None:
    steps = parse_pipeline("canonicalize{max-iterations=3}, cse{with-loads=false} ,dce")
    assert [s.name for s in steps] == ["canonicalize", "cse", "dce"]
    assert steps[0].options == {"max-iterations": 3} and steps[1].options == {"with-loads": False}
    assert parse_pipeline("") == ()
    assert set(PASSES) == {"canonicalize", "cse", "dce", "fold"}
