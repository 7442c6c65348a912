"""`headrace bench`: the measured rows and their targets; the suites live in the checkout's benchmarks
folder.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli.options import AsJson
from headrace.ir.diagnostics import HeadraceError


def bench(
    suite: Annotated[str, typer.Argument(help="Which suite; the default one without it.")] = "schedule",
    only: Annotated[str, typer.Option(help="Run what has this in its name.")] = "",
    as_json: AsJson = False,
) -> int:
    """Measure and print one suite: name, value, unit, target, met."""
    folder = Path(__file__).resolve().parents[3] / "benchmarks"
    path = folder / f"{suite}.py"
    if not folder.is_dir():
        raise HeadraceError(
            "the benchmarks are not installed with the package", hint="run it from a checkout"
        )
    if not path.is_file() or suite.startswith("_"):
        known = ", ".join(sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_")))
        raise HeadraceError(f"no suite '{suite}'", hint=f"suites are {known}")
    module = _load(path)
    if only and "only" not in inspect.signature(module.rows).parameters:
        raise HeadraceError(f"the suite '{suite}' runs as a whole", hint="leave out --only")
    rows = module.rows(only) if only else module.rows()
    if not rows:
        raise HeadraceError(
            f"nothing in the suite '{suite}' has '{only}' in its name", hint="leave out --only"
        )
    if as_json:
        print(json.dumps({"schema": 1, "rows": rows}))
    elif hasattr(module, "tables"):
        for title, lines in module.tables(rows).items():
            print(f"{title}\n")
            _aligned(lines)
            print()
    else:
        _table(rows)
    return 0


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _table(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        value = f"{row['value']:,.3f}" if isinstance(row["value"], float) else f"{row['value']:,}"
        target = (
            "" if row["target"] is None else f"  target {row['target']}: {'met' if row['met'] else 'MISSED'}"
        )
        print(f"{row['name']:<44} {value:>16} {row['unit']:<8}{target}")


def _aligned(lines: list[list[str]]) -> None:
    """The lines of a table in columns; the first column to the left, the others to the right."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for name, *cells in lines:
        print(name.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True)), sep="  ")
