"""Every op of the documentation's tables: what is right comes back from both forms, what is wrong is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import optables
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.ir.verify import verify
from tests.ir.op_lines import LINES, WRONG, module
from tests.ir.texts import TEXTS

PARSED_ONLY = {
    *("affine.if", "affine.parallel", "affine.vector_load", "affine.vector_store", "linalg.quantized_matmul"),
    *("linalg.conv_2d_ngchw_fgchw", "linalg.conv_2d_ngchw_gfchw", "linalg.conv_2d_nhwgc_gfhwc"),
}
"""Ops xDSL has and no engine runs: they parse, and are refused with their place."""


def _runs() -> set[str]:
    known = optables.reference_ops() | optables.machine_ops()
    return {name for d in optables.DIALECTS for name in optables.registered(d) if name in known}


def _found(line: str):
    try:
        return [d for d in verify(module(line)) if d.severity == "error"]
    except HeadraceError as error:
        return list(error.diagnostics)


def _op(line: str) -> str:
    """The name of the op the last line of a case is about."""
    last = line.split("\n")[-1]
    return re.search(r"\b(?:ktdp|linalg|arith|math|tensor|scf|affine|spyreop)\.\w+", last).group()


@pytest.mark.parametrize(
    "line, message", WRONG, ids=[f"{k}: {line[:60]}" for k, (line, _) in enumerate(WRONG)]
)
def test_a_wrong_line_is_told_where_it_stands(line, message):
    found = _found(line)
    assert found, "nothing was found"
    assert message in " ".join(str(d) for d in found), [str(d) for d in found]
    assert {d.where.line for d in found} <= {2 + line.count("\n")}
    assert all("malformed" not in d.message for d in found), [str(d) for d in found]


def test_every_op_that_runs_has_a_right_and_a_wrong_line():
    texts = [parse((TEXTS / "dialects" / f"{name}.mlir").read_text()) for name in ("ktdp", "spyreop")]
    seen = {op.name for m in (*map(module, LINES), *texts) for op in m.walk()}
    names = {name for d in optables.DIALECTS for name in optables.registered(d)}
    assert names - seen == PARSED_ONLY
    wrong = {_op(line) for line, _ in WRONG}
    elsewhere = Path(__file__).with_name("test_negative_ktir.py").read_text()
    assert {n for n in _runs() - wrong if n not in elsewhere} == set()
