"""Reading and printing every language."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc

import headrace.arch
from headrace.ir.diagnostics import HeadraceError, Location
from headrace.ir.text import load_file, location, parse, print_module
from headrace.ir.verify import verify
from tests.ir.texts import TEXTS, matches

ROUND_TRIPS = sorted((TEXTS / "roundtrip").glob("*.mlir"))
DEVICES = sorted((Path(headrace.arch.__file__).parent / "devices").glob("*.mlir"))
DIALECTS = sorted((TEXTS / "dialects").glob("*.mlir"))


def _name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", [*ROUND_TRIPS, *DEVICES, *DIALECTS], ids=_name)
def test_printing_and_parsing_is_the_identity_in_both_forms(path):
    module = load_file(path)
    assert [str(d) for d in verify(module)] == []
    for generic in (False, True):
        text = print_module(module, generic)
        again = parse(text)
        assert module.is_structurally_equivalent(again)
        assert print_module(again, generic) == text


@pytest.mark.parametrize("path", DIALECTS, ids=_name)
def test_printed_text_is_canonical(path):
    assert matches(print_module(load_file(path)), path.read_text())


@pytest.mark.parametrize("path", ROUND_TRIPS, ids=_name)
def test_every_parsed_op_knows_its_line(path):
    for op in load_file(path).walk():
        if op.name not in ("builtin.module", "scf.yield", "dataflow.return", "agen.yield", "uniform.yield"):
            where = location(op)
            assert where.file == str(path) and where.line > 0


def test_a_location_names_file_line_and_column():
    module = parse("func.func @f() {\n  %x = arith.constant 1 : index\n  return\n}", "a.mlir")
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    assert location(constant) == Location("a.mlir", 2, 3)
    assert isinstance(constant.location, FileLineColLoc)


def test_a_location_in_the_text_wins_over_the_place_in_the_text():
    module = parse('func.func @f() {\n  %x = arith.constant 1 : index loc("src.py":7:9)\n  return\n}')
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    assert location(constant) == Location("src.py", 7, 9)


@pytest.mark.parametrize(
    "spelling",
    [
        '"add"("src.py":7:9)',
        'callsite("src.py":7:9 at "main.py":1:1)',
        'fused["x", "src.py":7:9, "b.py":1:1]',
    ],
)
def test_the_place_inside_a_compound_location_is_found(spelling):
    module = parse(f"func.func @f() {{\n  %x = arith.constant 1 : index loc({spelling})\n  return\n}}")
    constant = next(op for op in module.walk() if op.name == "arith.constant")
    assert location(constant) == Location("src.py", 7, 9)


def test_an_op_without_location_stands_where_its_parent_stands():
    module = parse("func.func @f() {\n  return\n}", "a.mlir")
    constant = next(op for op in module.walk() if op.name == "func.return")
    constant.location = module.location
    assert location(constant) == Location("a.mlir", 1, 1)


def test_maps_used_twice_become_aliases_and_others_stay_in_place():
    text = """func.func @f(%i: index) {
  %a = affine.apply affine_map<(x) -> (1 + x)>(%i)
  %b = affine.apply affine_map<(y) -> (y + 1)>(%i)
  %c = affine.apply affine_map<(y) -> (y * 2)>(%i)
  return
}"""
    printed = print_module(parse(text))
    assert printed.startswith("#map = affine_map<(d0) -> (d0 + 1)>\nmodule {")
    assert printed.count("#map(") == 2
    assert "affine.apply affine_map<(d0) -> (d0 * 2)>(%i)" in printed


def test_bit_patterns_of_floats_are_read_and_written_as_bits():
    text = """func.func @f() {
  %a = arith.constant dense<0xFF800000> : vector<4xf32>
  %b = arith.constant dense<[0x7C00, 0x3C00]> : vector<2xf16>
  %c = arith.constant 0x7F80 : bf16
  return
}"""
    values = [op.value for op in parse(text).walk() if op.name == "arith.constant"]
    assert set(values[0].get_values()) == {float("-inf")}
    assert list(values[1].get_values()) == [float("inf"), 1.0]
    assert values[2].value.data == float("inf")
    assert "dense<0xff800000>" in print_module(parse(text)).lower()


def test_attributes_of_unknown_dialects_are_kept():
    text = 'func.func private @f() attributes {tts.layout = #tts.layout<"a" {b}>, x = !other.type<3>}'
    assert '#tts.layout<"a" {b}>' in print_module(parse(text))


def test_names_with_numeric_suffixes_are_kept_on_values():
    function = parse("func.func @f(%x_0: index, %x_1: index) {\n  return\n}").body.block.first_op
    assert [a.name_hint for a in function.body.block.args] == ["x_0", "x_1"]


def test_two_functions_do_not_see_each_others_names():
    first = "func.func @f() {\n  %a = arith.addi %b, %b : index\n  return\n}\n"
    text = first + "func.func @g(%b: index) {\n  return\n}"
    with pytest.raises(HeadraceError, match="2:19: error: use of undefined value %b"):
        parse(text)


def test_an_unreadable_file_is_an_error_of_ours(tmp_path):
    with pytest.raises(HeadraceError, match="no such file: "):
        load_file(tmp_path / "none.mlir")


def test_the_collector_is_on_again_after_parsing():
    import gc

    parse("module {\n}")
    with pytest.raises(HeadraceError):
        parse("nonsense")
    assert gc.isenabled()


def test_a_large_program_prints_in_fewer_bytes_than_without_aliases():
    module = load_file(TEXTS / "roundtrip" / "attention.dfir.mlir")
    assert len(print_module(module)) < 1.2 * (TEXTS / "roundtrip" / "attention.dfir.mlir").stat().st_size


def test_sets_that_begin_alike_are_told_apart_in_one_text_and_between_texts():
    def sets(*bounds: int) -> list[str]:
        lines = "\n".join(
            f"#s{k} = affine_set<(i, j) : ((i + j)>= 0, (i)>= {n})>" for k, n in enumerate(bounds)
        )
        uses = ", ".join(f"s{k} = #s{k}" for k in range(len(bounds)))
        module = parse(f"{lines}\nmodule attributes {{{uses}}} {{}}")
        return [str(v) for _, v in sorted(module.attributes.items())]

    assert len(set(sets(1, 2) + sets(3))) == 3
    assert sets(1) == sets(1, 2)[:1]
