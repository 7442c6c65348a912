"""The rules of what we print, so that the public C++ tools read it: one regular expression per ktdp op, and what
holds for every line.
"""

# ruff: noqa: E501

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.ir.ktdp import Ktdp
from headrace.ir.text import parse, print_module
from headrace.numbers.dtypes import numpy_dtype
from tests.ir.op_lines import LINES, module
from tests.ir.test_foreign_ktir import READ
from tests.ir.texts import TEXTS

KERNELS = sorted(Path(__file__).parents[1].joinpath("kernels").glob("*.mlir"))
NAME = r"%[\w$.-]+(?:#\d+)?"
NAMES = rf"{NAME}(?:, {NAME})*"
RESULTS = rf"(?:{NAME}(?::\d+)?(?:, {NAME}(?::\d+)?)* = )"
SIZES = rf"\[(?:(?:{NAME}|-?\d+)(?:, (?:{NAME}|-?\d+))*)?\]"
DIM, SYMBOL = r"d\d+", r"s\d+"
EXPRESSION = rf"(?:{DIM}|{SYMBOL}|\d+|mod|floordiv|ceildiv|[-+*() ])+"
ROW = rf"{EXPRESSION} (?:>=|==) 0"
SET = rf"(?:#set\d*|affine_set<\((?:{DIM}(?:, {DIM})*)?\)(?:\[{SYMBOL}(?:, {SYMBOL})*\])? : \({ROW}(?:, {ROW})*\)>)"
MAP = rf"(?:#map\d*|affine_map<\((?:{DIM}(?:, {DIM})*)?\)(?:\[{SYMBOL}(?:, {SYMBOL})*\])? -> \((?:{EXPRESSION}(?:, {EXPRESSION})*)?\)>)"
SPACE = r"#ktdp\.memory_space<(?:global|ct_local(?:, ct_id = \d+)?)>"
SUBSCRIPT = rf"(?:{NAME}|\d+|mod|floordiv|ceildiv|[-+*() ])+"
SUBSCRIPTS = rf"\[(?:{SUBSCRIPT}(?:, {SUBSCRIPT})*)?\]"
INDIRECT = rf"(?:\({SUBSCRIPT}\)|ind\({NAME}{SUBSCRIPTS}\))"
SHAPE = r"(?:(?:\d+|\?)x)*"
MEMREF, TENSOR = r"memref<[^>]*(?:<[^>]*>)?>", rf"tensor<{SHAPE}[\w!.]+>"
TENSORS = rf"{TENSOR}(?:, {TENSOR})*"
TILE, SHORT_TILE = rf"!ktdp\.access_tile<{SHAPE}index>", rf"<{SHAPE}index>"
ARGUMENT = r"<\w+(?:, granularity=\d+)?(?:, upperbound=\d+)?>"
FUTURE = rf"<\({TENSORS}\), groups = {SET}>"
MORE = r"(?: \{[^{}]*\})?"
SYMBOLS = rf"(?: symbols\({NAMES}\))?"
GRAMMAR = {
    "get_compute_tile_id": rf"{RESULTS}ktdp\.get_compute_tile_id{MORE} : index(?:, index)*",
    "construct_memory_view": rf"{RESULTS}ktdp\.construct_memory_view {NAME}, sizes: {SIZES}, strides: {SIZES} \{{coordinate_set = {SET}, memory_space = {SPACE}\}} : {MEMREF}",
    "construct_distributed_memory_view": rf"{RESULTS}ktdp\.construct_distributed_memory_view\({NAMES} : {MEMREF}(?:, {MEMREF})*\){MORE} : {MEMREF}",
    "construct_access_tile": rf"{RESULTS}ktdp\.construct_access_tile {NAME}{SUBSCRIPTS}{SYMBOLS} \{{access_tile_order = {MAP}, access_tile_set = {SET}\}} : (?:{MEMREF}|{TENSOR}) -> {TILE}",
    "construct_indirect_access_tile": rf"{RESULTS}ktdp\.construct_indirect_access_tile intermediate_variables\((?:{NAMES})?\) {NAME}\[{INDIRECT}(?:, {INDIRECT})*\]{SYMBOLS} \{{variables_space_order = {MAP}, variables_space_set = {SET}\}} : {MEMREF}(?:, {MEMREF})* -> {TILE}",
    "load": rf"{RESULTS}ktdp\.load {NAME}{MORE} : {SHORT_TILE} -> {TENSOR}",
    "store": rf"ktdp\.store {NAME}, {NAME}{MORE} : {TENSOR}, {SHORT_TILE}",
    "runtime_arg_extract": rf"{RESULTS}ktdp\.runtime_arg_extract (?:value|granularity|upperbound) from {NAME} : {ARGUMENT}{MORE} -> \w+",
    "inter_tile_produce": rf"{RESULTS}ktdp\.inter_tile_produce producer_tiles_per_group = {SET}{MORE} -> {FUTURE} \{{",
    "inter_tile_consume": rf"{RESULTS}ktdp\.inter_tile_consume\({NAME}\) consumer_tiles_per_group = {SET}(?:, producer_dependency_per_consumer = {SET})?{MORE} : {FUTURE} -> {TENSORS}",
    "inter_tile_reduce": rf"{RESULTS}ktdp\.inter_tile_reduce\({NAMES}\) consumer_tiles_per_group = {SET}, (?:producer_dependency_per_consumer = {SET}, )?identity\((?:{NAMES} : {TENSORS})?\){MORE} : {FUTURE}(?:, {FUTURE})* -> {TENSORS} \{{",
    "yield_partial": rf"ktdp\.yield_partial(?: {NAMES} : {TENSORS})?{MORE}",
    "yield_reduced": rf"ktdp\.yield_reduced(?: {NAMES} : {TENSORS})?{MORE}",
}
"""Each op as the reference writes its grammar (sections 2 and 4), in the form a printer gives it."""
HIDDEN = "operandSegmentSizes resultSegmentSizes static_sizes static_strides base_map per_dim_subscript_kinds per_dim_subscript_maps".split()


def _printed() -> dict[str, str]:
    paths = [*KERNELS, TEXTS / "dialects" / "ktdp.mlir", TEXTS / "dialects" / "spyreop.mlir"]
    texts = {path.name: path.read_text() for path in paths} | READ
    return {name: print_module(parse(text)) for name, text in texts.items()}


PRINTED = _printed()


def test_every_ktdp_op_is_printed_by_its_grammar():
    seen = set()
    for name, text in PRINTED.items():
        for line in text.splitlines():
            found = re.match(rf"\s*{RESULTS}?ktdp\.(\w+)", line)
            if found:
                seen.add(found.group(1))
                assert re.fullmatch(GRAMMAR[found.group(1)], line.strip()), f"{name}: {line}"
    assert seen == set(GRAMMAR)
    ops = {op.name.removeprefix("ktdp.") for op in Ktdp.operations}
    assert ops - seen == {"region_terminator"}, "the hidden region of a gather is not printed"


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_implied_is_not_printed(name):
    for line in PRINTED[name].splitlines():
        if "ktdp." in line:
            assert not any(f"{hidden} =" in line for hidden in HIDDEN), line
        assert "spyre_memory_space" not in line and "<=" not in line


def test_the_generic_form_has_all_properties_sorted():
    text = "\n".join(print_module(parse(source), generic=True) for source in READ.values())
    for hidden in HIDDEN:
        assert hidden == "resultSegmentSizes" or f"{hidden} = " in text
    for properties in re.findall(r"<\{(.*?)\}>", text):
        keys = re.findall(
            r"(?:^|, )([A-Za-z_]\w*)(?= = |,|$)",
            re.sub(r"<[^<>]*(?:<[^<>]*>)?[^<>]*>|\[.*?\]", "", properties),
        )
        assert keys == sorted(keys), properties


def test_dictionaries_are_sorted():
    line = '%c = arith.constant {zeta = 1 : i64, alpha = "x", mid} 1 : index'
    assert '{alpha = "x", mid, zeta = 1 : i64}' in print_module(
        parse(f"func.func @k() {{\n{line}\nreturn\n}}")
    )


@pytest.mark.parametrize("line", LINES)
def test_names_aliases_and_forms_of_a_line_are_mlirs(line):
    text = print_module(module(line))
    for alias in re.findall(r"#(?:map|set)\d*\b", text):
        assert text.index(f"{alias} = ") <= text.index(alias)
    assert not re.search(r"\) -> \(\)", text), "a function or op without results has no arrow"


FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|0x[0-9A-F]+")


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
@given(data=st.data())
def test_a_float_is_a_literal_of_mlir_and_comes_back(dtype, data):
    kind = np.dtype(np.float64) if dtype == "f64" else numpy_dtype(dtype)
    raw = data.draw(st.integers(0, 2 ** (8 * kind.itemsize) - 1))
    value = np.array([raw], f"u{kind.itemsize}").view(kind)[0]
    source = f"func.func @k() {{\n%c = arith.constant 0x{raw:0{2 * kind.itemsize}X} : {dtype}\nreturn\n}}"
    text = print_module(parse(source))
    literal = re.search(r"arith.constant (\S+) :", text).group(1)
    assert FLOAT.fullmatch(literal), literal
    again = next(op for op in parse(text).walk() if op.name == "arith.constant").value.value.data
    assert np.isnan(again) if np.isnan(value) else again == float(value)
