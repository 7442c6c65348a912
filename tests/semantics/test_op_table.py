"""The tables of ops in docs/ktir.md are true: an op they mark for the reference runs there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, TensorType, VectorType

from docs import optables
from headrace.ir.diagnostics import HeadraceError
from headrace.ir.text import parse
from headrace.numbers.dtypes import is_float, numpy_dtype
from headrace.numbers.memory import Memory
from headrace.semantics.control import TERMINATORS, run_block
from headrace.semantics.frame import Frame, Launch, element_type
from headrace.semantics.options import Options
from headrace.semantics.report import Report
from tests.ir.op_lines import ARGUMENTS, LINES

OWN = ("ktdp", "spyreop")
"""Dialects whose ops stand in no line: the kernels and test_intrinsics run them."""
PAGE = Path(__file__).parents[2] / "docs" / "ktir.md"


@pytest.mark.parametrize("dialect", optables.DIALECTS)
def test_the_table_marks_what_parses_runs_and_is_scheduled(dialect):
    table = re.search(rf"<!-- table: {dialect} ops -->\n(.*?)<!-- end -->", PAGE.read_text(), re.S).group(1)
    rows = re.findall(r"^\| `([\w.]+)` \|.*\| (✓?) ?\| (✓?) ?\| (✓?) ?\|$", table, re.M)
    reference, machine = optables.reference_ops(), optables.machine_ops()
    assert rows == [
        (name, "✓", "✓" * (name in reference), "✓" * (name in machine))
        for name in optables.registered(dialect)
    ]


def _value(kind: Any, name: str) -> Any:
    """Numbers between 1 and 2, alike from run to run; indices small enough for every line."""
    dtype = element_type(kind)
    shape = (
        tuple(5 if n == DYNAMIC_INDEX else n for n in kind.get_shape())
        if isinstance(kind, TensorType)
        else ()
    )
    if dtype == "index" and not shape:
        return {"i": 1, "j": 3}.get(name, 1)
    if name == "vi2":  # a shape
        return np.array([32], np.int32)
    if name == "k":
        return np.asarray(False)  # the condition of a loop
    numbers = 1 + np.random.default_rng(0).random(shape) * (1 if is_float(dtype) else 0)
    return np.asarray(numbers).astype(numpy_dtype(dtype))


def _function(line: str) -> Any:
    """A function of the line alone, over the arguments it names."""
    used = [f"%{n}: {kind}" for n, kind in ARGUMENTS.items() if re.search(rf"%{n}\b", line)]
    return parse(f"func.func @f({', '.join(used)}) {{\n{line}\nreturn\n}}").body.block.first_op


def _run(block: Any) -> None:
    launch = Launch(Memory(1 << 20), {}, 1 << 20, (1,), Options(empty="zero"), Report())
    frame = Frame(launch, 0, (0,))
    given = [_value(a.type, a.name_hint or "") for a in block.args]
    for _ in run_block(frame, block, given):
        raise AssertionError("waits")


def _has_memory(block: Any) -> bool:
    kinds = (v.type for op in block.walk() for v in (*op.operands, *op.results))
    return any(isinstance(kind, MemRefType | VectorType) for kind in kinds)


def test_every_op_that_the_reference_is_said_to_run_runs():
    known = optables.reference_ops() - {"func.call"} | TERMINATORS
    ran: set[str] = set()
    refused: dict[str, str] = {}
    for line in (line for line in LINES if "memref" not in line and "vector" not in line):
        block = _function(line).body.block
        if _has_memory(block) or not {op.name for op in block.ops} <= known:
            continue
        try:
            _run(block)
        except HeadraceError as error:
            refused[line] = str(error)
            continue
        ran |= {op.name for op in block.walk()}
    names = {n for d in optables.DIALECTS if d not in OWN for n in optables.registered(d)}
    assert refused == {}
    assert (names & optables.reference_ops()) - ran == set()
