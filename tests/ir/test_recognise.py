"""Which language a module is written in."""

from __future__ import annotations

import pytest

from headrace.ir.diagnostics import HeadraceError
from headrace.ir.recognise import language
from headrace.ir.text import load_file, parse
from tests.ir.texts import TEXTS


@pytest.mark.parametrize(
    "name, expected",
    [
        ("vector_add.ktir", "ktir"),
        ("elementwise.ktdf", "ktdf"),
        ("square.ktdf", "ktdf"),
        ("square.ktdflow", "ktdf"),
        ("matmul.dfir", "dfir"),
        ("device", "arch"),
    ],
)
def test_the_language_of_a_file_is_recognised(name, expected):
    assert language(load_file(TEXTS / "roundtrip" / f"{name}.mlir")) == expected


def test_a_kernel_beside_a_device_is_a_kernel():
    text = 'ktdf_arch.device @d import("d.mlir")\nfunc.func @f() {\n  return\n}'
    assert language(parse(text)) == "ktir"


def test_a_module_with_nothing_in_it_has_no_language():
    with pytest.raises(HeadraceError, match="no function and no device"):
        language(parse("module {\n}"))
