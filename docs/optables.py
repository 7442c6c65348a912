"""Tables of ops for the documentation, from the code: which ops are registered, interpreted, scheduled."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DIALECTS = ("ktdp", "linalg", "arith", "math", "tensor", "scf", "affine", "spyreop")
DFIR_DIALECTS = ("dataflow", "agen", "vectorchain", "uniform", "symbol")
BESIDE_DFIR = ("scf", "affine", "arith", "math", "vector")
LONGEST = 150
"""Characters of an example; longer ones end in an ellipsis."""


def op_table(dialect: str) -> str:
    """The ops of a dialect: an example as we print it, and where the op works."""
    examples, reference, machine = found_examples(), reference_ops(), machine_ops()
    lines = ["| op | written as | parse | reference | machine |", "|---|---|---|---|---|"]
    for name in registered(dialect):
        marks = " | ".join("✓" if is_there else "" for is_there in (True, name in reference, name in machine))
        lines.append(f"| `{name}` | `{examples.get(name) or form(name)}` | {marks} |")
    return "\n".join(lines)


def dfir_table(dialect: str) -> str:
    """The ops of a dialect of DFIR: an example as we print it, and whether the machine executes it."""
    from headrace.machine.decode.executed import is_executed

    examples = found_examples()
    lines = ["| op | written as | executed |", "|---|---|---|"]
    for name in registered(dialect):
        mark = "✓" if is_executed(name) else ""
        lines.append(f"| `{name}` | `{examples.get(name) or form(name)}` | {mark} |")
    return "\n".join(lines)


def beside_dfir_table() -> str:
    """The ops of MLIR's own dialects in unit programs: which are executed, which are refused."""
    from headrace.machine.decode.executed import is_executed

    lines = ["| dialect | executed | refused |", "|---|---|---|"]
    for dialect in BESIDE_DFIR:
        names = registered(dialect)
        parts = [[n for n in names if is_executed(n) == wanted] for wanted in (True, False)]
        cells = [", ".join(f"`{n.partition('.')[2]}`" for n in part) for part in parts]
        lines.append(f"| {dialect} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def dfir_options() -> str:
    """The settings of what DFIR means."""
    from dataclasses import fields
    from typing import get_args, get_type_hints

    from headrace.machine.options import Options

    lines = ["| setting | default | values |", "|---|---|---|"]
    hints = get_type_hints(Options)
    for field in fields(Options):
        values = [f"`{v}`" for v in get_args(hints[field.name]) if v] or ["a number of bits"]
        default = f"`{field.default}`" if field.default != "" else "what the module says, else `element`"
        lines.append(f"| `{field.name}` | {default} | {', '.join(values)} |")
    return "\n".join(lines)


def registered(dialect: str) -> list[str]:
    """Every op of a dialect that has a meaning of its own, by name: no terminators."""
    from xdsl.traits import IsTerminator

    from headrace.ir.context import context

    ctx = context()
    ctx.get_optional_dialect(dialect)
    ops = [op for op in ctx.loaded_ops if op.name.startswith(f"{dialect}.")]
    return sorted(op.name for op in ops if not op.has_trait(IsTerminator))


def reference_ops() -> frozenset[str]:
    """The ops the reference interpreter has a handler for."""
    from headrace.semantics import plain  # noqa: F401  completes CONTROL
    from headrace.semantics.control import CONTROL, HANDLERS, POINTS

    return frozenset([*HANDLERS, *CONTROL, *POINTS])


def machine_ops() -> frozenset[str]:
    """The ops the scheduler has a handler for: what it models, it lowers to the machine."""
    from headrace.schedule.model import evaluate
    from headrace.schedule.model.bodies.scalar_ops import SCALAR_OPS
    from headrace.schedule.model.ops import contractions, named, shapes

    elementwise = {*named._ELEMENTWISE, *named._FUNCTIONS, "reciprocal"}
    linalg = {*contractions.KNOWN, *named._MOVES, *elementwise, "index"}
    return frozenset(
        [
            *evaluate._HANDLERS,
            *SCALAR_OPS,
            *(f"linalg.{name}" for name in linalg),
            *(f"tensor.{name}" for name in shapes._HANDLERS),
        ]
    )


def form(name: str) -> str:
    """The form of an op that no text of the repository holds."""
    if name.startswith("linalg."):
        return f"%r = {name} ins(…) outs(%o : tensor<…>) -> tensor<…>"
    return f'"{name}"(…) : (…) -> (…)'


@lru_cache(maxsize=1)
def found_examples() -> dict[str, str]:
    """The shortest line every op prints as, among the kernels and texts of the repository."""
    from headrace.ir.printer import TextPrinter

    found: dict[str, str] = {}
    for module in _modules():
        for op in module.walk():
            if op.name.split(".")[0] not in (*DIALECTS, *DFIR_DIALECTS):
                continue
            text = _first_line(TextPrinter(False).text(op))
            if op.name not in found or len(text) < len(found[op.name]):
                found[op.name] = text
    return found


def _modules() -> Iterator[Any]:
    """Everything that parses: example kernels, test kernels, test texts."""
    sys.path.insert(0, str(ROOT))
    from tests.ir import op_lines

    from headrace.ir.diagnostics import HeadraceError
    from headrace.ir.text import parse

    paths = [p for folder in ("examples", "tests") for p in sorted((ROOT / folder).rglob("*.mlir"))]
    texts = [path.read_text(encoding="utf-8") for path in paths]

    yield from map(op_lines.module, op_lines.LINES)
    for text in texts:
        try:
            yield parse(text)
        except HeadraceError:
            continue  # a text that is there to be refused


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if not line.startswith("#")]
    line = lines[0] + (" … }" if lines[0].endswith("{") else " …" if len(lines) > 1 else "")
    line = re.sub(r"affine_map<\(.*?\)(\[.*?\])? -> \(.*?\)>", "affine_map<…>", line)
    line = re.sub(r"affine_set<\(.*?\)(\[.*?\])? : \(.*?\)>", "affine_set<…>", line).replace("|", "\\|")
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"
