"""The table of models, from the figures `python examples/models.py --json` printed (`models.json`).

`generate.py --log "python examples/models.py --json" FILE` puts the rows of a new run in; a row it does not
have stays as it was.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COMMAND = "python examples/models.py --json"
DATA = Path(__file__).with_name("models.json")
TYPES = ("f32", "f16", "bf16")
KEPT = (
    "model dtype graphs kernels launches native_ops host_ops reasons graph_breaks max_error tolerance "
    "correct failure"
).split()
"""What of a row is kept: figures that do not depend on the machine it ran on."""

Row = Mapping[str, Any]


def keep(log: str) -> None:
    """Put the rows of a run into the data file, in the order of the models and types."""
    rows = {(row["model"], row["dtype"]): row for row in (*_rows(DATA.read_text()), *_rows(log))}
    wanted = [rows[model, kind] for model in _names() for kind in TYPES if (model, kind) in rows]
    lines = ",\n  ".join(json.dumps({key: row[key] for key in KEPT if key in row}) for row in wanted)
    DATA.write_text(f'{{"schema": 1, "models": [\n  {lines}\n]}}\n')


def table() -> str:
    """A line for each model: graphs, kernels, its error in each type, what ran on the host and why."""
    rows = _rows(DATA.read_text())
    lines = [
        f"| model | graphs | kernels | {' | '.join(f'error in {kind}' for kind in TYPES)} | on the host |",
        "|---|---|---|" + "---|" * (len(TYPES) + 1),
    ]
    for model in _names():
        own = {row["dtype"]: row for row in rows if row["model"] == model}
        errors = [_error(own.get(kind)) for kind in TYPES]
        ran = [row for row in own.values() if "failure" not in row]
        cells = [model, _span(ran, "graphs"), _span(ran, "kernels"), *errors, _host(ran)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _names() -> list[str]:
    """The models of the zoo."""
    sys.path.insert(0, str(DATA.parents[1] / "examples"))
    from zoo import MODELS

    return list(MODELS)


def _rows(text: str) -> list[Row]:
    found: list[Row] = json.loads(text)["models"]
    return found


def _error(row: Row | None) -> str:
    if row is None:
        return "not run"
    if "failure" in row:
        return f"fails: {row['failure']}"
    text = f"{row['max_error']:.0e}"
    return text if row["correct"] else f"**{text}**, more than {row['tolerance']:.0e}"


def _span(rows: Sequence[Row], key: str) -> str:
    return " / ".join(dict.fromkeys(str(row[key]) for row in rows)) or "–"


def _host(rows: Sequence[Row]) -> str:
    """Operators of compiled graphs that ran on the host, with the reason."""
    found = {op: row["reasons"].get(op, "outside any graph") for row in rows for op in row["host_ops"]}
    breaks = {reason for row in rows for reason in row["graph_breaks"]}
    parts = [f"`{op}` ({why})" for op, why in found.items()] + [f"graph break: {why}" for why in breaks]
    return "; ".join(parts) or ("nothing" if rows else "–")
